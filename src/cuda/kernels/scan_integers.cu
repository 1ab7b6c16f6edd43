/* Finishers of variances of narrow integers. A tile's sums of elements and of their squares are exact integers, so
 * stretches are added up a word at a time and need no number that distances are taken from. Only what precedes a stretch
 * becomes sums of distances, from an integer near its mean: at most half of the squares is lost there. Elements become
 * distances by one subtraction, since the bits of a number below 2^32 are those of a double near 2^52. */
#if INTEGER_TERMS
struct counted_sums : integer_sums {
    uint32 count = 0;

    /* As powers of distances from an integer. */
    powers from(int32 shift) const {
        const int64 sum = all, n = count;
        powers r;
        r.distances = (double)(int32)(sum - n * shift);
        r.squares = (double)(int64)((uint64)squares - (uint64)(shift * (2 * sum - n * shift)));
        return r;
    }
};
inline counted_sums combine(const counted_sums &a, const counted_sums &b) {
    counted_sums sum = a;
    sum.add(b);
    sum.count += b.count;
    return sum;
}
template <> inline counted_sums identity_as<counted_sums>() {
    return counted_sums();
}
typedef since_head<counted_sums, uint32> integer_state;

/* The double 2^52 + x + 2^15. */
inline double above_2_52(int32 x) {
    return __longlong_as_double(0x4330000000000000ll | (uint32)(x + (1 << 15)));
}

inline bool finish_integers(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                            int in_turn, bool has_base, const acc_t &base) {
    if ((has_base && GROUPS != ALL) || p.total)
        return false;
    const span mine = begin_stretch(s, p, t, here, team, thread);
    const int shift = shift_of(p.x + t.low);
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift, mine.stretch);

    /* the sums of the stretch since its last head */
    counted_sums own;
    const int since = mine.heads ? mine.last() : mine.absent, until = mine.absent + mine.there;
    own.count = (uint32)(until - since);
    const int from = REVERSE ? ITEMS - until : since, to = REVERSE ? ITEMS - since : until;
#pragma unroll
    for (int w = 0; w < ITEMS * (int)sizeof(in_t) / 4; w++) {
        constexpr int BITS = 8 * sizeof(in_t);
        own.add_word<in_t>(items.word[w] & lowest_bits(to * BITS - w * 32) & ~lowest_bits(from * BITS - w * 32));
    }
    const integer_state of_stretch = integer_state::of(own, mine.heads != 0, 0);
    const integer_state before = scan_team(s.of_finishers[team][in_turn], team, thread, of_stretch);
    acc_t prefix;
#if HAS_ONE_TILE
    const integer_state of_tile = join(before, of_stretch);
    prefix = sum_before(s, p, t, state::of(of_tile.acc.moments<acc_t>(of_tile.acc.count), of_tile.has_head(), 0)).acc;
#else
    s.ready[here.at].wait(here.parity);
    prefix = ((const record *)s.prefix[here.at])->acc;
#endif
    if (before.has_head())
        prefix = identity_as<acc_t>();
    else if (has_base)
        prefix = combine(base, prefix);

    /* what precedes the stretch in its group, from an integer near the mean */
    uint8 *memory = s.tile[here.at];
    items.read(memory, shift, mine.stretch);
    double n = prefix.a0 + small_number(before.acc.count);
    const double sums = __fma_rn(prefix.a0, prefix.a1, (double)before.acc.all);
    const in_t *first = (const in_t *)(memory + shift) + (REVERSE ? t.count - 1 : 0); /* of all, if nothing precedes */
    const int32 near = n > 0 ? __double2loint(sums * reciprocal(n) + 0x1.8p52) : (int32)value_of(load(first));
    powers sum = before.acc.from(near);
    sum.add_accumulator(prefix, prefix.a1 - near + prefix.a2);
    double origin = above_2_52(near);
    results_writer results;
    if (!IN_LINE || shift) /* others' results take the place of what a thread reads */
        sync_some<FINISHERS>(OF_TEAMS + team);
    const auto finish = [&](auto way) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const double x = above_2_52((int32)value_of(items[k]));
            double keeps = 1;
            if (decltype(way)::VALUE) {
                /* A head's distance is 0, and it forgets what was before it. To multiply by 0 takes less than to
                 * select. */
                const bool is_head = mine.heads >> k & 1;
                origin = is_head ? x : origin;
                keeps = is_head ? 0 : 1;
            }
            if (!REVERSE || k >= mine.absent) { /* no result follows items behind the end */
                const double away = x - origin;
                sum.distances = decltype(way)::VALUE ? __fma_rn(sum.distances, keeps, away) : sum.distances + away;
                sum.squares = decltype(way)::VALUE ? __fma_rn(sum.squares, keeps, away * away)
                                                   : __fma_rn(away, away, sum.squares);
                n = decltype(way)::VALUE ? __fma_rn(n, keeps, 1) : n + 1;
            }
            results.put(memory, mine.stretch, k, variance_of<true>(sum.distances, sum.squares, n));
        }
    };
    /* Warps without a head have code of their own. In waves and by rows most warps have one, so there is none. */
    constexpr bool MAY_HAVE_HEADS = GROUPS != ALL, HAVE_ONE_WAY = !HAS_ONE_TILE || GROUPS == ROWS;
    if (MAY_HAVE_HEADS && (HAVE_ONE_WAY || __ballot_sync(ALL_LANES, mine.heads != 0)))
        finish(with_heads<MAY_HAVE_HEADS>());
    else
        finish(with_heads<MAY_HAVE_HEADS && HAVE_ONE_WAY>());
    hand_over(s, p, t, here, team, thread);
    return true;
}
#endif
