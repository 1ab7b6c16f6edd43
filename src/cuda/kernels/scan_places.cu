/* Finishers of running argmin and argmax, from the first element on. Within a tile a place is a number of 32 bits, and an
 * element's is a constant of the code, so an element is compared by its value alone: places rise, and the first of equals
 * stays. By the general way, whose
 * accumulators have indices of 64 bits, argmax of i32 by segments took a hundred instructions an element. */
#if FINDS_PLACES
typedef components<decltype(lane_t::a0), uint32> short_lane; /* with places in the tile */
typedef since_head<short_lane, uint32> short_state;

/* Whether an element goes before the best of those that precede it. A NaN is better than any number, and the first one
 * stays. */
template <class T> inline bool goes_before_best(T next, T best) {
    return (IS_ARGMIN ? !(best <= next) : !(best >= next)) && best == best;
}

inline void finish_places(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                          int in_turn, bool has_base, const acc_t &base) {
    typedef decltype(lane_t::a0) value;
    const span mine = begin_stretch(s, p, t, here, team, thread);
    const int first = mine.stretch * ITEMS; /* place of the stretch's first element */
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift_of(p.x + t.low), mine.stretch);

    /* Warps of whole stretches without a head have code of their own. */
    const bool is_plain = !__ballot_sync(ALL_LANES, mine.heads != 0 || mine.there < ITEMS);
    const auto in_its_way = [&](auto loop) {
        if (is_plain)
            loop(with_heads<false>());
        else
            loop(with_heads<true>());
    };

    /* the best of the stretch since its last head */
    short_lane own = identity_as<short_lane>();
    in_its_way([&](auto way) {
        constexpr bool IS_PLAIN = !decltype(way)::VALUE;
        value best = (value)value_of(items[0]);
        int where = 0;
#pragma unroll
        for (int k = 1; k < ITEMS; k++) {
            const value x = (value)value_of(items[k]);
            const bool is_better = (goes_before_best(x, best) && (IS_PLAIN || k < mine.there)) ||
                                   (!IS_PLAIN && (mine.heads >> k & 1));
            best = is_better ? x : best;
            where = is_better ? k : where;
        }
        if (IS_PLAIN || mine.there)
            own = {best, (uint32)(first + where)};
    });
    const short_state of_stretch = short_state::of(own, mine.heads != 0, (uint32)(first + mine.last()));
    const short_state before = scan_team(s.of_finishers[team][in_turn], team, thread, of_stretch);
    const auto wide = [&](const short_lane &lane) {
        acc_t acc = identity_as<acc_t>();
        acc.a0 = lane.a0;
        if (lane.a1 != (uint32)NO_INDEX)
            acc.a1 = index_of(p, t.low + lane.a1, mine.column + lane.a1 - first);
        return acc;
    };
#if HAS_ONE_TILE
    const short_state of_tile = join(before, of_stretch);
    const record prefix =
        sum_before(s, p, t, since_head<acc_t, uint32>::of(wide(of_tile.acc), of_tile.has_head(), of_tile.start()));
#else
    s.ready[here.at].wait(here.parity);
    const record prefix = *(const record *)s.prefix[here.at];
#endif
    /* What precedes the stretch in its group, and how much more an index is than a place in the stretch. */
    const bool open = !before.has_head();
    const acc_t carried = !open ? identity_as<acc_t>() : has_base ? combine(base, prefix.acc) : prefix.acc;
    const bool has_before = before.acc.a1 != (uint32)NO_INDEX;
    const bool counts_from_start = GROUPS == SEGMENTS || GROUPS == KEYS;
    const uint64 start = !counts_from_start ? 0 : open ? prefix.start() : t.first + before.start();
    uint64 more = counts_from_start ? t.first + first - start : mine.column;
    value best = before.acc.a0;
    uint64 index = more + (int64)((int)before.acc.a1 - first);
    if (carried.a1 != NO_INDEX && !(has_before && goes_before_best((value)before.acc.a0, (value)carried.a0))) {
        best = carried.a0;
        index = carried.a1 - start;
    }
    const bool is_first = carried.a1 == NO_INDEX && !has_before;
    if (p.total && mine.there && mine.first + mine.there == p.n) {
        acc_t last = wide(own);
        if (!mine.heads) {
            short_lane in_tile = before.acc;
            last = combine(combine(carried, wide(in_tile)), last);
        }
        p.total->write(last);
    }
    results_writer results(shift_of_results(p, t));
    uint8 *memory = s.tile[here.at];
    in_its_way([&](auto way) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const value x = (value)value_of(items[k]);
            const bool is_head = decltype(way)::VALUE && (mine.heads >> k & 1);
            const bool is_better = goes_before_best(x, best) || is_head || (k == 0 && is_first);
            best = is_better ? x : best;
            if (is_head)
                more = (GROUPS == ROWS ? p.before : 0) - k;
            if (is_better)
                index = more + k;
            const acc_t acc = {best, index};
            results.put(memory, mine.stretch, k, lower(acc, 0, 0));
        }
    });
    results.words.end(memory, mine.stretch);
    hand_over(s, p, t, here, team, thread);
}
#endif
