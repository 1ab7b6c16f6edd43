/* Finishers of logsumexp, var and std. To combine two of their accumulators takes an exponential or a division. But
 * relative to a number near the elements, they are sums of terms: of exp(x - r), or of x - r and of its square. So a
 * team takes one r for each group's part of a tile, adds terms up, and makes an accumulator of them for each result
 * only. Tiles whose elements are too far apart for that, or not finite, are left to finish_tile(). */

#if IS_LOGSUMEXP
typedef decltype(acc_t::a0) real;
#else
typedef double real;
#endif

struct terms {
#if IS_LOGSUMEXP
    real exps = 0;

    void add(value_t x, real r) {
        exps += exp_below((real)x - r);
    }
#else
    double distances = 0, squares = 0;

    void add(value_t x, double r) {
        const double away = (double)x - r;
        distances += away;
        squares = __fma_rn(away, away, squares);
    }
#endif
};
inline terms combine(const terms &a, const terms &b) {
    terms sum;
#if IS_LOGSUMEXP
    sum.exps = a.exps + b.exps;
#else
    sum.distances = a.distances + b.distances;
    sum.squares = a.squares + b.squares;
#endif
    return sum;
}

#if IS_LOGSUMEXP
/* No elements give the logarithm of 0. There is no branch, so several logarithms overlap. */
inline float log_of(float sum) {
    return logarithm(sum);
}
inline double log_of(double sum) {
    const double x = log_of_normal(sum);
    return INCLUSIVE || sum > 0 ? x : range<double>::lowest();
}
#endif

#if !IS_LOGSUMEXP
/* Makes the terms of n elements relative to their mean instead of r, and returns that: fewer bits of what follows are
 * lost. */
inline double move_to_mean(terms *sum, double n, double r) {
    const double mean = __fma_rn(sum->distances, reciprocal(n), r), away = mean - r;
    const double rest = __fma_rn(-n, away, sum->distances);
    sum->squares = __fma_rn(-away, sum->distances + rest, sum->squares);
    sum->distances = rest;
    return mean;
}
/* The result for n elements. 'squares' are of the elements before the tile, relative to their mean. */
inline result_t variance_of(const terms &sum, double squares, double n) {
    const double of_n = reciprocal(n), rest = squares + __fma_rn(-sum.distances * of_n, sum.distances, sum.squares);
    /* Only rounding can make it negative. Too few elements give NaN: lower() would take a branch for that, and no two
     * results would overlap. */
    const double powers = !(n > DDOF) ? NOT_A_NUMBER : rest < 0 ? 0 : rest;
    const double variance = DDOF ? RATIO(powers, n - DDOF) : divided<sizeof(out_t) == 8>(powers, n, of_n);
    return output_of_real<out_t>(IS_STD ? SQRT(variance) : variance);
}
#endif

/* The sum of the terms before a thread in its team, since the last head. */
struct terms_before {
    terms sum;
    bool has_head;
    bool is_astray; /* some thread of the team is */
};
struct terms_of_warp {
    terms sum;
    uint32 flags; /* 1: has a head; 2: is astray */
};
static_assert(sizeof(terms_of_warp) <= sizeof(lane_t) + 16);

/* All threads of a team call this. 'mine' are the thread's terms since its last head. */
inline terms_before add_up_terms(uint8 *memory, int team, int thread, terms mine, bool has_head, bool is_astray) {
    terms_of_warp *of_warp = (terms_of_warp *)memory;
    const int warp = thread / WARP, lane = thread % WARP;
    const uint32 heads = GROUPS == ALL ? 0 : __ballot_sync(ALL_LANES, has_head),
                 up_to = heads & 0xffffffffu >> 31 - lane;
    const int since = up_to ? lane - (31 - __clz(up_to)) : lane; /* lanes before this one since the last head */
    const uint32 astray = __ballot_sync(ALL_LANES, is_astray);
    terms sum = mine;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const terms left = from_below(sum, d);
        if (d <= since)
            sum = combine(left, sum);
    }
    if (lane == WARP - 1)
        of_warp[warp] = {sum, (heads ? 1u : 0) | (astray ? 2u : 0)};
    terms_before before = {from_below(sum, 1), (heads & (1u << lane) - 1) != 0, false};
    if (lane == 0)
        before.sum = {};
    sync_some<FINISHERS>(OF_TEAMS + team);
    terms warps;
    bool has_any = false;
#pragma unroll
    for (int w = 0; w < FINISHERS / WARP; w++) {
        const terms_of_warp next = of_warp[w];
        before.is_astray |= next.flags >> 1;
        if (w < warp) {
            warps = GROUPS != ALL && next.flags & 1 ? next.sum : combine(warps, next.sum);
            has_any |= next.flags & 1;
        }
    }
    if (!before.has_head)
        before.sum = combine(warps, before.sum);
    before.has_head |= has_any;
    return before;
}

#if GROUPS != ALL
/* The last head before a thread's stretch: its item in the tile, in logical order; -1 if there is none. 'last' is the
 * thread's own last. */
inline int head_before(int *of_warp, int team, int thread, int last) {
    const int warp = thread / WARP, lane = thread % WARP;
    const uint32 heads = __ballot_sync(ALL_LANES, last >= 0), below = heads & (1u << lane) - 1;
    const int before = __shfl_sync(ALL_LANES, last, below ? 31 - __clz(below) : 0);
    const int of_all = __shfl_sync(ALL_LANES, last, heads ? 31 - __clz(heads) : 0);
    if (lane == 0)
        of_warp[warp] = of_all;
    sync_some<FINISHERS>(OF_TEAMS + team);
    int found = -1;
#pragma unroll
    for (int w = 0; w < FINISHERS / WARP; w++)
        found = w < warp && of_warp[w] >= 0 ? of_warp[w] : found;
    return below ? before : found;
}
#endif

/* finish_tile() as a call, so that it takes no registers from the other way. Its arguments are copies: the address of
 * the kernel's would move those to local memory. */
__noinline__ void finish_in_general(scratch &s, const scan_args p, const tile t, const place here, int team, int thread,
                                    int in_turn, bool has_base, const acc_t base) {
    finish_tile(s, p, t, here, team, thread, in_turn, has_base, base);
}

#if !BY_LOOK_BACK
/* Finishes a tile. Returns false, to all threads of the team and before any result is written, if terms do not hold it.
 */
inline bool finish_terms(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                         int in_turn, bool has_base, const acc_t &base) {
    const int stretch = REVERSE ? FINISHERS - 1 - thread : thread, there = items_there(t, stretch);
    const int absent = REVERSE ? ITEMS - there : 0;
    const uint64 low = t.low + stretch * ITEMS, first = REVERSE ? p.n - low - there : low;
    if ((has_base && GROUPS != ALL) || p.total)
        return false;
    s.full[here.at].wait(here.parity);
    bits_t heads = 0;
#if GROUPS == KEYS
    mark_keys(s, p, t, here.at, team, thread);
#endif
    if (GROUPS != ALL && there) {
        const uint64 column = GROUPS == ROWS ? remainder(first, p.extent) : 0;
        heads = find_heads(s, p, t, here.at, team, stretch, column);
        if (GROUPS == ROWS)
            heads <<= absent;
        heads &= ((bits_t)2 << (there - 1)) - 1 << absent;
    }
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift_of(p.x + t.low), stretch);
    const in_t *elements = (const in_t *)(s.tile[here.at] + shift_of(p.x + t.low));
    const auto element = [&](int k) { return value_of(load(elements + (REVERSE ? t.count - 1 - k : k))); };
    const auto is_there = [&](int k) { return REVERSE ? k >= absent : k < there; };
    const auto is_head = [&](int k) { return GROUPS != ALL && (heads >> k & 1); };

    s.ready[here.at].wait(here.parity);
    acc_t prefix = ((const record *)s.prefix[here.at])->acc;
    if (has_base)
        prefix = combine(base, prefix);
    bool is_astray = false;

    /* the terms of the stretch since its last head */
    terms mine;
#if IS_LOGSUMEXP
    /* exp(x - r) is no larger than e^MOST, and each group's sum no smaller than e^-MOST, so that no digit is lost. */
    constexpr real MOST = sizeof(real) == 8 ? 20 : 8;
    const real r = larger(prefix.a0, *(const real *)s.largest[here.at]);
    const real opening = larger(prefix.a0, (real)element(0));
    if (!(r - opening <= MOST && opening - r <= MOST)) /* NaN, too */
        return false;
    real kept[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const real away = (real)value_of(items[k]) - r;
        if (is_head(k))
            mine = {};
        if (GROUPS != ALL)
            is_astray |= (is_head(k) && !(away >= -MOST)) || (is_there(k) && !(away <= MOST));
        if (!INCLUSIVE)
            kept[k] = mine.exps;
        if (!REVERSE || is_there(k))
            mine.exps += exp_below(away);
        if (INCLUSIVE)
            kept[k] = mine.exps;
    }
#else
    const double of_prefix = prefix.a0 != 0 ? prefix.a1 : (double)element(0);
    double r = of_prefix;
    int from = 0;                                       /* the first item of the group that the stretch begins in */
    bool open = true;                                   /* whether that began before the tile */
#if GROUPS != ALL
    const int begins = (int)(first - t.first) - absent; /* item 0 */
    const int last = heads ? sizeof(bits_t) == 4 ? 31 - __clz((uint32)heads) : 63 - __clzll(heads) : 0;
    const int found = head_before(s.head_of_finishers[team][in_turn], team, thread, heads ? begins + last : -1);
    open = found < 0;
    from = open ? 0 : found;
    r = open ? of_prefix : (double)element(found);
#endif
    const double of_stretch = r;
    /* Squares of narrower elements are finite if the elements are, else NaN or infinite, which makes results NaN. */
    constexpr bool CAN_OVERFLOW = sizeof(value_t) == 8;
    constexpr double TOO_FAR = 0x1p900; /* the square of all distances is up to as many times as large as there are */
    /* items behind the end may be added, too, as no result follows them */
    const auto counts = [&](int k) { return (!REVERSE && !CAN_OVERFLOW) || is_there(k); };
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (is_head(k)) {
            is_astray |= CAN_OVERFLOW && !(mine.squares < TOO_FAR);
            mine = {};
            r = (double)value_of(items[k]);
        }
        if (counts(k))
            mine.add(value_of(items[k]), r);
    }
    is_astray |= CAN_OVERFLOW && !(mine.squares + prefix.a3 < TOO_FAR);
#endif
    const terms_before before = add_up_terms(s.of_finishers[team][in_turn], team, thread, mine, heads != 0, is_astray);
    if (before.is_astray) {
        sync_some<FINISHERS>(OF_TEAMS + team); /* all have read what the other way writes to */
        return false;
    }

    uint8 *memory = s.tile[here.at];
    results_writer results;
#if IS_LOGSUMEXP
    real left = before.sum.exps;
    if (!before.has_head)
        left += prefix.a1 * exp_below(prefix.a0 - r);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (is_head(k))
            left = 0;
        results.put(memory, stretch, k, output_of_real<out_t>(r + log_of(left + kept[k])));
    }
#else
    terms sum = before.sum;
    double squares = 0, count = 0; /* of the elements before the tile, whose mean differs from r by a2 */
    if (open) {
        const double distances = prefix.a0 * prefix.a2;
        sum.distances += distances;
        squares = __fma_rn(distances, prefix.a2, prefix.a3);
        count = prefix.a0;
    }
    uint32 number = (uint32)((int)(first - t.first) - absent - from); /* of items since */
    r = of_stretch;
    if (sizeof(out_t) == 8 && (number || count > 0))
        r = move_to_mean(&sum, count + small_number(number), r);
    if (sizeof(acc_t) > 16) {
        const int shift = shift_of(p.x + t.low);
        items.read(s.tile[here.at], shift, stretch);
        if (!IN_LINE || shift) /* others' results take the place of what a thread reads */
            sync_some<FINISHERS>(OF_TEAMS + team);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (is_head(k)) {
            sum = {};
            r = (double)value_of(items[k]);
            squares = count = 0;
            number = 0;
        }
        if (counts(k))
            sum.add(value_of(items[k]), r);
        number++;
        results.put(memory, stretch, k, variance_of(sum, squares, count + small_number(number)));
    }
#endif
    hand_over(s, p, t, here, team, thread);
    return true;
}
#endif
