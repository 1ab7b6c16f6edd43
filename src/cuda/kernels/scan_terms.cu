/* Finishers of logsumexp and of moments. To combine two of their accumulators takes an exponential or a division. But
 * relative to a number near the elements, they are sums of terms: of exp(x - r), or of x - r and of its powers. So a
 * team takes one r for each group's part of a tile, adds terms up, and makes an accumulator of them for each result
 * only. Tiles whose elements are too far apart for that, or not finite, are left to finish_tile().
 *
 * In the pipeline the sum before a tile is known before r is chosen. A block with one tile (scan_one_wave.cu) publishes
 * its tile's sum first, relative to an r that the tile alone gives, and then moves the terms of the open group. */

#if IS_LOGSUMEXP
typedef decltype(acc_t::a0) real;
#else
typedef double real;
#endif

#if IS_LOGSUMEXP
struct terms {
    real exps = 0;

    void add(value_t x, real r) {
        exps += exp_below((real)x - r);
    }
};
#else
struct terms : powers {
#if SKIPS_NAN
    uint32 count = 0; /* of elements that are not left out */
#endif

    void add(value_t x, double r) {
        const bool counts = !SKIPS_NAN || !is_nan(x);
        add_distance(counts ? (double)x - r : 0);
#if SKIPS_NAN
        count += counts;
#endif
    }
    /* The result behind n elements. */
    result_t result(double n) const {
#if MOMENTS == 2
        return variance_of<true>(distances, squares, n);
#else
        return moment_of(*this, n);
#endif
    }
    /* The elements that were added, 'all' of them if none is left out. */
    uint32 number(uint32 all) const {
#if SKIPS_NAN
        return count;
#else
        return all;
#endif
    }
};
#endif
inline terms combine(const terms &a, const terms &b) {
    terms sum = a;
#if IS_LOGSUMEXP
    sum.exps += b.exps;
#else
    sum.add_powers(b);
#if SKIPS_NAN
    sum.count += b.count;
#endif
#endif
    return sum;
}

#if IS_LOGSUMEXP
/* exp(x - r). Those of bytes are looked up, and r is 0. */
struct power_of_element {
    real r;
    const double *powers = stays_in_shared(powers_of_bytes());

    power_of_element(real r) : r(r) {}
    real operator()(in_t x) const {
        if constexpr (LOOKS_UP_BYTES)
            return powers[(uint8)(int32)value_of(x)];
        else
            return exp_below((real)value_of(x) - r);
    }
};
/* Whether a sum can be added to exponentials of bytes: there is none, or its largest element has a power. */
inline bool has_power(const acc_t &sum) {
    return sum.a0 == identity_as<acc_t>().a0 || (sum.a0 >= -700 && sum.a0 <= 700);
}
/* 1 / m and log m of the middles of intervals of mantissas. With 1 in the middle of one, logarithms near 0 keep their
 * digits. */
struct log_of_interval {
    double inverse, log;
};
enum {
    LOG_INTERVALS = sizeof(real) == 8 ? 128 : 1,
    LOG_SHIFT = 13,           /* bits of the upper half of a double that number those of an interval */
    LOWEST_MANTISSA = 0x3fe6b000 /* likewise 0.709, from which on mantissas go to twice that */
};
inline log_of_interval *log_intervals() {
    __shared__ alignas(16) log_of_interval all[LOG_INTERVALS];
    return all;
}
/* The logarithm of a normal number: log m = log(1 / inverse) + log(1 + r), and |r| < 2^-8 leaves an error of 2^-58 after
 * six terms. That is half the work of log_of_normal(). */
static __constant__ double log_series[] = {-1.0 / 6, 0.2, -0.25, 1.0 / 3, -0.5};
inline double log_by_interval(const log_of_interval *all, double x) {
    const int shifted = __double2hiint(x) - LOWEST_MANTISSA, n = shifted >> 20;
    const double m = __hiloint2double((shifted & 0xfffff) + LOWEST_MANTISSA, __double2loint(x));
    const log_of_interval near = all[shifted >> LOG_SHIFT & LOG_INTERVALS - 1];
    const double r = __fma_rn(m, near.inverse, -1.0), exponent = small_number((uint32)(n + 1024)) - 1024;
    double sum = log_series[0];
#pragma unroll
    for (int k = 1; k < (int)(sizeof log_series / sizeof *log_series); k++)
        sum = __fma_rn(sum, r, log_series[k]);
    const double rest = __fma_rn(r * r, sum, __fma_rn(exponent, -of_exponent[2], r));
    return __fma_rn(exponent, -of_exponent[1], near.log + rest);
}
/* Fills the tables, which are known after the next barrier. */
inline void prepare_terms(uint32 threads) {
    make_powers_of_bytes(threads);
    for (uint32 k = threadIdx.x; k < LOG_INTERVALS && sizeof(real) == 8; k += threads) {
        const int middle = LOWEST_MANTISSA + (int)(2 * k + 1 << LOG_SHIFT - 1);
        const double inverse = middle == 0x3ff00000 ? 1 : reciprocal(__hiloint2double(middle, 0));
        log_intervals()[k] = {inverse, -log_of_normal(inverse)};
    }
}

/* No elements give the logarithm of 0. There is no branch, so several logarithms overlap. */
struct log_of_sum {
    const log_of_interval *all = stays_in_shared(log_intervals());

    float operator()(float sum) const {
        return logarithm(sum);
    }
    double operator()(double sum) const {
        const double x = log_by_interval(all, sum);
        return INCLUSIVE || sum > 0 ? x : range<double>::lowest();
    }
};
#endif

#if !IS_LOGSUMEXP
/* Makes the terms of n elements relative to their mean, as a Real, instead of r, and returns that: fewer bits of what
 * follows are lost. */
template <class Real> inline double move_to_mean(terms *sum, double n, double r) {
    const double mean = (Real)__fma_rn(sum->distances, reciprocal(n), r), away = mean - r;
    const double rest = __fma_rn(-n, away, sum->distances);
    sum->move_higher(n, -away);
    sum->squares = __fma_rn(-away, sum->distances + rest, sum->squares);
    sum->distances = rest;
    return mean;
}
/* A tile's sum, of its terms relative to 'middle'. */
inline acc_t sum_of_terms(double count, const terms &all, double middle) {
    acc_t sum;
    const double away = all.distances * reciprocal(count), rest = __fma_rn(-all.distances, away, all.squares);
    sum.a0 = count;
    sum.a1 = middle + away;
    const double part = sum.a1 - middle;
    sum.a2 = middle - (sum.a1 - part) + (away - part); /* Knuth's two-sum */
    sum.a3 = rest < 0 ? 0 : rest;
    powers higher = all;
    higher.move_higher(count, -away);
    higher.give_higher(&sum);
    return sum;
}
#endif

#if HAS_ONE_TILE
/* The fold of what a block's threads give, in an order of its own, for all of them. */
template <class Fold> inline real fold_of_block(real mine, Fold fold) {
    __shared__ real of_warps[FINISHERS / WARP];
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        mine = fold(mine, from_across(mine, d));
    if (threadIdx.x % WARP == 0)
        of_warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    real all = of_warps[0];
#pragma unroll
    for (int w = 1; w < FINISHERS / WARP; w++)
        all = fold(all, of_warps[w]);
    return all;
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
inline int highest_bit(bits_t bits) { /* -1 if there is none */
    return sizeof(bits_t) == 4 ? 31 - __clz((uint32)bits) : 63 - __clzll(bits);
}
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
    const bits_t those_there = there ? ((bits_t)2 << (there - 1)) - 1 << absent : 0;
    [[maybe_unused]] const bits_t absent_items = ~those_there & ((bits_t)2 << (ITEMS - 1)) - 1;
    bits_t heads = 0;
#if GROUPS == KEYS
    mark_keys(s, p, t, here.at, team, thread);
#endif
    if (GROUPS != ALL && there) {
        const uint64 column = GROUPS == ROWS ? remainder(first, p.extent) : 0;
        heads = find_heads(s, p, t, here.at, team, stretch, column);
        if (GROUPS == ROWS)
            heads <<= absent;
        heads &= those_there;
    }
    const int shift = shift_of(p.x + t.low);
    const in_t *elements = (const in_t *)(s.tile[here.at] + shift);
#if TAKES_VECTORS
    const vectors_of_stretch vectors(s.tile[here.at], shift, stretch);
    [[maybe_unused]] const auto each_item = [&](bits_t others, auto use) { vectors.each_by_way(others, use); };
#else
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift, stretch);
    [[maybe_unused]] const auto each_item = [&](bits_t others, auto use) {
        const auto each = [&](auto way) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                use(way, k, value_of(items[k]), others >> k & 1);
        };
        if (MOMENTS > 2 || __ballot_sync(ALL_LANES, others != 0))
            each(with_heads<true>());
        else
            each(with_heads<false>());
    };
#endif
    const auto element = [&](int k) { return value_of(load(elements + (REVERSE ? t.count - 1 - k : k))); };
    const auto is_there = [&](int k) { return REVERSE ? k >= absent : k < there; };
    const auto is_head = [&](int k) { return GROUPS != ALL && (heads >> k & 1); };

#if ONE_WAVE /* known once the tile's sum is */
    acc_t prefix = identity_as<acc_t>();
#else
    s.ready[here.at].wait(here.parity);
    acc_t prefix = ((const record *)s.prefix[here.at])->acc;
    if (has_base)
        prefix = combine(base, prefix);
#endif
    bool is_astray = false;

    /* the terms of the stretch since its last head */
    terms mine;
#if IS_LOGSUMEXP
    /* exp(x - r) is no larger than e^MOST, and each group's sum no smaller than e^-MOST, so that no digit is lost. */
    constexpr real MOST = sizeof(real) == 8 ? 20 : 8;
#if ONE_WAVE
    real highest = range<real>::lowest();
#pragma unroll
    for (int k = 0; k < ITEMS && !LOOKS_UP_BYTES; k++)
        highest = is_there(k) ? larger(highest, (real)value_of(items[k])) : highest;
    real r = LOOKS_UP_BYTES ? 0 : fold_of_block(highest, [](real a, real b) { return larger(a, b); });
#else
    const real r = LOOKS_UP_BYTES ? 0 : larger(prefix.a0, *(const real *)s.largest[here.at]);
#endif
    const real opening = LOOKS_UP_BYTES ? 0 : larger(prefix.a0, (real)element(0));
    if (LOOKS_UP_BYTES ? !has_power(prefix) : !(r - opening <= MOST && opening - r <= MOST)) /* NaN, too */
        return false;
    const power_of_element power_of = r;
    real kept[LOOKS_UP_BYTES ? 1 : ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (is_head(k))
            mine = {};
        if (GROUPS != ALL && !LOOKS_UP_BYTES) {
            const real away = (real)value_of(items[k]) - r;
            is_astray |= (is_head(k) && !(away >= -MOST)) || (is_there(k) && !(away <= MOST));
        }
        if (!INCLUSIVE)
            kept[LOOKS_UP_BYTES ? 0 : k] = mine.exps;
        if (SUMS_ABSENT || is_there(k))
            mine.exps += power_of(items[k]);
        if (INCLUSIVE)
            kept[LOOKS_UP_BYTES ? 0 : k] = mine.exps;
    }
#else
    const double of_prefix = prefix.a0 != 0 ? prefix.a1 : (double)element(0);
    double r = of_prefix;
    int from = 0;                                       /* the first item of the group that the stretch begins in */
    bool open = true;                                   /* whether that began before the tile */
    bits_t seeds = heads;                               /* a group's first element that is not left out */
#if GROUPS != ALL
    const int begins = (int)(first - t.first) - absent; /* item 0 */
#if SKIPS_NAN
    bits_t nans = 0;
    each_item(~(bits_t)0, [&](auto, int k, value_t x, bool) { nans |= (bits_t)(is_there(k) && is_nan(x)) << k; });
    seeds = (heads | (heads & nans) + nans) & ~nans & those_there; /* a carry goes over all that are left out */
    is_astray = highest_bit(heads) > highest_bit(seeds);
#endif
    const int found = head_before(s.head_of_finishers[team][in_turn], team, thread,
                                  seeds ? begins + highest_bit(seeds) : -1);
    open = found < 0;
    from = open ? 0 : found;
    r = open ? of_prefix : (double)element(found);
#endif
    is_astray |= SKIPS_NAN && there && is_nan(r) && !(heads >> absent & 1);
    const double of_stretch = r;
    [[maybe_unused]] const auto is_seed = [&](int k) { return GROUPS != ALL && (seeds >> k & 1); };
    /* Squares of narrower elements are finite if the elements are, else NaN or infinite, which makes results NaN. */
    /* The square of all distances is up to as many times as large as there are; fourth powers are finite. */
    constexpr double TOO_FAR = MOMENTS > 2 ? 0x1p400 : 0x1p900;
    const auto fits = [](double squares) {
        return squares < TOO_FAR && (MOMENTS == 2 || squares > 1 / TOO_FAR || squares == 0);
    };
    /* items behind the end may be added, too, as no result follows them */
    constexpr bool counts_all = !REVERSE && !CAN_OVERFLOW;
    const auto counts = [&](int k) { return counts_all || is_there(k); };
    /* where k may be no constant, the bit of an item that is a head or absent takes less than is_head() */
    [[maybe_unused]] const auto is_first = [&](int k, bool is_other) {
        return TAKES_VECTORS && !SKIPS_NAN ? is_other && is_there(k) : is_head(k);
    };
    [[maybe_unused]] const auto sums = [&](int k) { return HAS_ONE_TILE ? is_there(k) : counts(k); };
#if VARIES_IN_FLOATS
    if (there) {
        magnitudes seen;
        const float_moments part =
            moments_of_part(vectors, heads ? highest_bit(heads) : absent, absent + there, absent, &seen);
        is_astray = seen.are_wrong();
        r = heads ? part.origin : r;
        (powers &)mine = part.from(r);
    }
    is_astray |= !holds_in_floats(prefix);
#else
    each_item(SKIPS_NAN ? ~(bits_t)0 : heads | absent_items, [&](auto way, int k, value_t x, bool is_other) {
        if (decltype(way)::VALUE && is_first(k, is_other)) {
            is_astray |= CAN_OVERFLOW && !fits(mine.squares);
            mine = {};
        }
        if (decltype(way)::VALUE && (SKIPS_NAN ? is_seed(k) : is_first(k, is_other)))
            r = (double)x;
        if (!decltype(way)::VALUE || sums(k))
            mine.add(x, r);
    });
    is_astray |= CAN_OVERFLOW && !(fits(mine.squares + prefix.a3) && (MOMENTS == 2 || fits(mine.squares)));
#endif
#endif
    const terms_before before = add_up_terms(s.of_finishers[team][in_turn], team, thread, mine, heads != 0, is_astray);
    if (before.is_astray) {
        sync_some<FINISHERS>(OF_TEAMS + team); /* all have read what the other way writes to */
        return false;
    }

#if ONE_WAVE
    const terms since = heads ? mine : combine(before.sum, mine);
    acc_t own = identity_as<acc_t>();
#if IS_LOGSUMEXP
    own.a0 = r;
    own.a1 = since.exps;
    if (since.exps == 0)
        own = identity_as<acc_t>();
#else
    const uint32 in_last = since.number(t.count - (seeds ? begins + highest_bit(seeds) : from));
    if (in_last)
        own = sum_of_terms(small_number(in_last), since, r);
#endif
    prefix = sum_before(s, p, t, state::of(own, heads || before.has_head, 0)).acc;
#if IS_LOGSUMEXP
    if (LOOKS_UP_BYTES ? !has_power(prefix) : !(prefix.a0 <= GREATEST_FINITE<real>))
        return false;
#else
    if (CAN_OVERFLOW && !fits(prefix.a3))
        return false;
#if VARIES_IN_FLOATS
    if (!holds_in_floats(prefix))
        return false;
#endif
#endif
#endif
    uint8 *memory = s.tile[here.at];
#if IS_LOGSUMEXP
    results_writer results;
    [[maybe_unused]] const real of_tile = r;
    const log_of_sum log_of;
    real scale = 1, left = before.sum.exps;
    if (!before.has_head) {
#if ONE_WAVE
        r = LOOKS_UP_BYTES ? 0 : larger(prefix.a0, of_tile);
        scale = exp_below(of_tile - r);
        left *= scale;
#endif
        left += prefix.a1 * exp_below(prefix.a0 - r);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (is_head(k)) {
            left = 0;
#if ONE_WAVE
            r = of_tile;
            scale = 1;
#endif
        }
        const real before_this = left;
        if (LOOKS_UP_BYTES && (!REVERSE || is_there(k))) /* from the end, absent items come first */
            left += power_of(items[k]);
        const real sum = !LOOKS_UP_BYTES ? left + kept[LOOKS_UP_BYTES ? 0 : k] * scale : INCLUSIVE ? left : before_this;
        results.put(memory, stretch, k, output_of_real<out_t>(r + log_of(sum)));
    }
#else
    terms sum = before.sum;
    double count = 0; /* of the elements before the tile, whose mean differs from r by a2 */
    const uint32 number = (uint32)((int)(first - t.first) - absent - from); /* of items since */
    r = of_stretch;
    if (open) {
#if ONE_WAVE
        if (prefix.a0 != 0) {
            sum.move(small_number(sum.number(number + absent)), r - prefix.a1);
            r = prefix.a1;
        }
#endif
        sum.add_accumulator(prefix, prefix.a2);
        count = prefix.a0;
    }
    const double in_front = count + small_number(sum.number(number + absent));
#if VARIES_IN_FLOATS
    if (in_front > 0)
        r = move_to_mean<float>(&sum, in_front, r);
    const vectors_of_stretch again(memory, shift, stretch);
    if (shift) /* others' results take the place of what a thread reads */
        sync_some<FINISHERS>(OF_TEAMS + team);
    float_variances(sum, in_front, r).replace(again, memory, stretch, heads, absent);
#else
    if (sizeof(out_t) == 8 && in_front > 0)
        r = move_to_mean<double>(&sum, in_front, r);
    double n = in_front;
    const auto add_next = [&](auto way, int k, value_t x, bool is_other) {
        if (decltype(way)::VALUE && is_first(k, is_other)) {
            sum = {};
            n = 0;
        }
        if (decltype(way)::VALUE && (SKIPS_NAN ? is_seed(k) : is_first(k, is_other)))
            r = (double)x;
        if (!decltype(way)::VALUE || counts(k)) {
            sum.add(x, r);
            n += SKIPS_NAN && is_nan(x) ? 0 : 1;
        }
    };
    const bits_t others = SKIPS_NAN ? ~(bits_t)0 : heads | (counts_all ? 0 : absent_items);
    /* others' results take the place of what a thread reads */
#if TAKES_VECTORS
    const vectors_of_stretch again(memory, shift, stretch);
    if (shift)
        sync_some<FINISHERS>(OF_TEAMS + team);
    again.replace_by_way(memory, stretch, others, [&](auto way, int k, value_t x, bool is_other) {
        add_next(way, k, x, is_other);
        return real_variance<true>(sum.distances, sum.squares, n);
    });
#else
    results_writer results;
    items.read(memory, shift, stretch);
    if (!IN_LINE || shift)
        sync_some<FINISHERS>(OF_TEAMS + team);
    each_item(others, [&](auto way, int k, value_t x, bool is_other) {
        add_next(way, k, x, is_other);
        results.put(memory, stretch, k, sum.result(n));
    });
#endif
#endif
#endif
    hand_over(s, p, t, here, team, thread);
    return true;
}
#endif
