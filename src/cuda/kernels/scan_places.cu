/* Finishers of running argmin and argmax, from the first element on. Within a tile a place is a number of 32 bits, and an
 * element's is a constant of the code, so an element is compared by its value alone: places rise, and the first of equals
 * stays. By the general way, whose accumulators have indices of 64 bits, argmax of i32 by segments took a hundred
 * instructions an element. */
#if FINDS_PLACES
typedef decltype(lane_t::a0) place_value;

/* Whether an element goes before the best of those that precede it. A NaN is better than any number, and the first one
 * stays. */
template <class T> inline bool goes_before_best(T next, T best) {
    return (IS_ARGMIN ? !(best <= next) : !(best >= next)) && best == best;
}

/* The best of some elements. */
struct best_of_some {
    enum { NONE = -1 };
    place_value best;
    int place; /* in the tile */
};
/* Those on the left come first. */
inline best_of_some combine(const best_of_some &a, const best_of_some &b) {
    const bool is_taken = a.place == best_of_some::NONE || goes_before_best(b.best, a.best);
    return {is_taken ? b.best : a.best, is_taken ? b.place : a.place};
}
template <> inline best_of_some identity_as<best_of_some>() {
    return {identity_as<lane_t>().a0, best_of_some::NONE};
}
typedef since_head<best_of_some, uint32> best_place;

inline void finish_places(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                          int in_turn, bool has_base, const acc_t &base) {
    span mine = begin_stretch(s, p, t, here, team, thread);
    if (has_base) /* it is of earlier pieces of the only row */
        mine.heads = 0;
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
    best_of_some own_best = identity_as<best_of_some>();
    in_its_way([&](auto way) {
        constexpr bool IS_PLAIN = !decltype(way)::VALUE;
        place_value best = (place_value)value_of(items[0]);
        int where = 0;
#pragma unroll
        for (int k = 1; k < ITEMS; k++) {
            const place_value x = (place_value)value_of(items[k]);
            const bool is_better = (goes_before_best(x, best) && (IS_PLAIN || k < mine.there)) ||
                                   (!IS_PLAIN && (mine.heads >> k & 1));
            best = is_better ? x : best;
            where = is_better ? k : where;
        }
        if (IS_PLAIN || mine.there)
            own_best = {best, first + where};
    });
    const best_place own = best_place::of(own_best, mine.heads != 0, first + mine.last());
    const best_place before_stretch = scan_team(s.of_finishers[team][in_turn], team, thread, own);
    const best_of_some before = before_stretch.acc;
    const auto wide = [&](const best_of_some &of) {
        acc_t acc = identity_as<acc_t>();
        if (of.place != best_of_some::NONE)
            acc = {of.best, index_of(p, t.low + of.place, mine.column + of.place - first)};
        return acc;
    };
#if HAS_ONE_TILE
    const best_place of_tile = join(before_stretch, own);
    const auto published = since_head<acc_t, uint32>::of(wide(of_tile.acc), of_tile.has_head(), of_tile.start());
    const record prefix = sum_before(s, p, t, published);
#else
    s.ready[here.at].wait(here.parity);
    const record prefix = *(const record *)s.prefix[here.at];
#endif
    /* What precedes the stretch in its group, and how much more an index is than a place in the stretch. */
    const bool open = !before_stretch.has_head();
    const acc_t carried = !open ? identity_as<acc_t>() : has_base ? combine(base, prefix.acc) : prefix.acc;
    const bool has_before = before.place != best_of_some::NONE;
    const bool counts_from_start = GROUPS == SEGMENTS || GROUPS == KEYS;
    const uint64 start = !counts_from_start ? 0 : open ? prefix.start() : t.first + before_stretch.start();
    uint64 more = counts_from_start ? t.first + first - start : mine.column;
    place_value best = before.best;
    uint64 index = more + (int64)(before.place - first);
    if (carried.a1 != NO_INDEX && !(has_before && goes_before_best(before.best, (place_value)carried.a0))) {
        best = carried.a0;
        index = carried.a1 - start;
    }
    const bool is_first = carried.a1 == NO_INDEX && !has_before;
    if (p.total && mine.there && mine.first + mine.there == p.n) {
        acc_t last = wide(own_best);
        if (!mine.heads)
            last = combine(combine(carried, wide(before)), last);
        p.total->write(last);
    }
    results_writer results(shift_of_results(p, t));
    uint8 *memory = s.tile[here.at];
    in_its_way([&](auto way) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const place_value x = (place_value)value_of(items[k]);
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
