/* A scan's finishers and summers in a window (exact_scan.cu). A thread adds its few elements up as doubles
 * (window_levels.cu), and only the sums of stretches are integers. */

/* The sum of some elements in doubles. */
template <int Levels> struct few_elements {
    typedef levels_of_window<Levels, LOWER_BITS_OF_SUMS> window;
    const window w;
    const float large = __uint_as_float((uint32)(the_window.bottom + LARGE_BITS + 127) << 23);
    /* Sums, so that an addition does not wait for the one before. 2^28 f16 took 381 us with one, 368 with 2, 366 with 4. */
    enum { CHAINS = BY_BITS ? 4 : 2 };
    double of[CHAINS][MOST_LEVELS] = {};

    /* Adds element k of some words. */
    void add(const uint32 *words, int k, bool is_there = true) {
        double *sum = of[k % CHAINS];
        const scaled x = number_at(words, k, is_there);
#if BY_BITS
        if (Levels == 1 || fabsf(__int_as_float(at_top(words[k / 2], k))) >= large)
            sum[0] = add_number(sum[0], x);
        else
            sum[1] = add_number(sum[1], x);
#else
        add_to(sum, w, x);
#endif
    }
    /* The upper level's sum in u: a double below 2^51 units shows it when 1.5 * 2^52 units are added. */
    int64 units() const {
        return __double_as_longlong(__dadd_rn(level(0), w.sigma)) - __double_as_longlong(w.sigma);
    }
    double level(int l) const {
        double sum = of[0][l];
#pragma unroll
        for (int c = 1; c < CHAINS; c++)
            sum = __dadd_rn(sum, of[c][l]);
        return sum;
    }
    /* The sum as an integer, of the upper level's. */
    acc_t words(int64 first) const {
        acc_t r = identity_as<acc_t>();
        const double magic = 1.5 * power(the_window.bottom + 52);
        const int64 second = Levels == 2
                                 ? __double_as_longlong(__dadd_rn(level(1), magic)) - __double_as_longlong(magic)
                                 : 0;
        const uint32 low = (uint32)first, high = (uint32)(first >> 32), sign = (uint32)(first >> 63);
        const uint32 by = w.shift % 32;
        const uint32 moved[3] = {low << by, __funnelshift_l(low, high, by), __funnelshift_l(high, sign, by)};
        constexpr int skipped = SCAN_WORDS == 4 || Levels == 2; /* words: 'shift' is at least 32 then */
        memcpy(r.word + skipped, moved, (SCAN_WORDS == 4 ? 3 : SCAN_WORDS - skipped) * sizeof *moved);
        if (Levels == 2) {
            const uint32 minus = (uint32)(second >> 63);
#if SCAN_WORDS == 3
            add_words(r.word, (uint32)second, (uint32)(second >> 32), minus);
#else
            const uint32 words[4] = {(uint32)second, (uint32)(second >> 32), minus, minus};
            add_words(r.word, words, 0);
#endif
        }
        return r;
    }
};

/* The results of a thread's elements, whose sums up to each are high + sum[0] + sum[1] without any rounding. In one
 * level, what is left below u becomes u / 2: that is as good for rounding if results are from 2^25 u on, since
 * boundaries between results are multiples of u there.
 *
 * IsWhole, one double holds the sums, since they are less than 2^52 u. Those of f16 may be larger: then they are rounded,
 * but results are infinite.
 *
 * Other results of 16 bits, in no level, are NEAR: the double rounds, by so little that only a result NEAR a boundary
 * may be wrong. */
template <int Levels, bool IsWhole> struct few_results {
    enum {
        NEAR = Levels == 0,
        TOLERANCE = 1 << OUT_PRECISION % 32 + 2, /* in units of the 32nd bit behind a result's */
        FLOOR = -16 /* of a NEAR result, in powers of two beside the most that sums may become */
    };
    double high, sum[MOST_LEVELS];
    float smallest = range<float>::highest(), bound = 0; /* of NEAR ones, doubles' upper halves as floats */
    uint32 nearest = ~0u;                                /* to a boundary, beyond TOLERANCE */
    bool is_unsure = false;

    /* The elements of the stretch add up to no more than 'reach'. */
    few_results(const acc_t &before, const levels_of_window<Levels> &w, float reach) {
        static_assert(!NEAR || ITEMS <= 64);
        if (NEAR) {
            const int64 upper = (int64)((uint64)before.word[SCAN_WORDS - 1] << 32 | before.word[SCAN_WORDS - 2]);
            high = sum[1] = 0;
            sum[0] = __fma_rn((double)upper, power(the_window.bottom + 32),
                              (double)before.word[0] * power(the_window.bottom));
            const double least = (fabs(sum[0]) + reach) * power(FLOOR), normal = power(OUT_LOWEST + OUT_PRECISION);
            bound = __int_as_float(__double2hiint(least > normal ? least : normal) + 1);
            return;
        }
        if (HAS_TWO_PARTS && Levels == 2) {
            const int64 upper = (int64)((uint64)before.word[2] << 32 | before.word[1]);
            const uint64 lower = (uint64)(before.word[1] & ((1u << LOWER_BITS - 32) - 1)) << 32 | before.word[0];
            high = 0;
            sum[0] = (double)(upper >> LOWER_BITS - 32) * power(w.unit);
            sum[1] = (double)(int64)lower * power(the_window.bottom);
            return;
        }
        enum { TOP = SCAN_WORDS - 1, LOW = SCAN_WORDS - 3 }; /* 'shift' begins in word LOW */
        const uint32 by = w.shift % 32, rest = before.word[LOW] & ((1u << by) - 1);
        const uint64 multiples = ((uint64)before.word[LOW + 1] << 32 | before.word[LOW]) >> by;
        const bool has_rest = Levels == 1 && rest;
        high = (double)(int32)before.word[TOP] * power(the_window.bottom + 32 * TOP);
        sum[0] = (double)(int64)(2 * multiples + has_rest) * power(w.unit - 1);
        sum[1] = 0;
        if (Levels == 2)
            sum[1] = (double)(int64)(LOW ? (uint64)rest << 32 | before.word[0] : rest) * power(the_window.bottom);
        bound = OUT_BITS == 32 && has_rest ? (float)power(w.unit + 25) : 0;
        if (OUT_BITS == 16 && has_rest)
            is_unsure = fabs(__dadd_rn(high, sum[0])) < 2 * (double)reach + power(w.unit + 25);
        if (IsWhole) {
            sum[0] = __dadd_rn(high, sum[0]);
            high = 0;
            is_unsure |= !TAKES_F16 && fabs(sum[0]) >= power(w.unit + 51);
        }
    }
    /* Sums begin anew with what 'other' has. */
    void begin(const few_results &other) {
        high = other.high;
        sum[0] = other.sum[0];
        sum[1] = other.sum[1];
    }
    void expect(const few_results &other) {
        is_unsure |= other.is_unsure;
        bound = bound > other.bound ? bound : other.bound;
    }
    result_t next(const levels_of_window<Levels> &w, const scaled &x) {
        const double before[2] = {sum[0], sum[1]};
        add_to(sum, w, x);
        return INCLUSIVE ? rounded(sum) : rounded(before);
    }
    /* A double near the whole sum rounds as that does, unless it is on a boundary between two results and is not the
     * whole sum. */
    result_t rounded(const double *of) {
        const double most = IsWhole || NEAR || (HAS_TWO_PARTS && Levels == 2) ? of[0] : __dadd_rn(high, of[0]);
        double near = most, rest = 0, below = 0;
        if (HAS_TWO_PARTS && Levels == 2) {
            near = __dadd_rn(most, of[1]);
            rest = __dadd_rn(of[1], -__dadd_rn(near, -most));
        } else if (Levels == 2) {
            below = __dadd_rn(of[0], -__dadd_rn(most, -high));
            const double added = __dadd_rn(below, of[1]);
            near = __dadd_rn(most, added);
            rest = __dadd_rn(added, -__dadd_rn(near, -most));
        }
#if OUT_BITS == 64
        /* If nothing is below 'most', it and of[1] are the whole sum, ties included: so it is where a group begins. */
        const double twice = rest + rest;
        is_unsure |= rest != 0 && below != 0 && __dadd_rn(__dadd_rn(near, twice), -near) == twice;
        return near;
#else
        const uint32 low = (uint32)__double2loint(near), upper = (uint32)__double2hiint(near);
        if (NEAR) {
            const uint32 beyond = __funnelshift_l(low, upper, 11 + OUT_PRECISION) - 0x80000000u + TOLERANCE;
            nearest = beyond < nearest ? beyond : nearest;
            smallest = smaller(smallest, fabsf(__uint_as_float(upper)));
        } else if (Levels == 2) { /* boundaries between subnormal numbers have fewer bits */
            is_unsure |= rest != 0 && (low & 0x0fffffff) == 0;
        } else if (!IsWhole) { /* all subnormal results are exact */
            is_unsure |= (low & 0x1fffffff) == 0x10000000;
        }
#if OUT_BITS == 32
        const float result = (float)near;
        if (Levels == 1)
            smallest = smaller(smallest, fabsf(result));
        return result;
#else
        return output<out_t>::of(near);
#endif
#endif
    }
    bool are_right() const {
        return !is_unsure && nearest > 2 * TOLERANCE && smallest >= bound;
    }
};

/* ---- summers ---- */

/* Adds up a summer's share of elements [from, to) of a tile. In no level if doubles do not hold it. */
template <int Levels>
inline seen_elements sum_few_in(const uint8 *memory, uint32 shift, int thread, int from, int to,
                                few_elements<Levels> &few) {
    constexpr int a_vector = 16 / sizeof(in_t), vectors = TILE / a_vector, at_once = ITEMS / a_vector;
    sizes_of_elements sizes;
    const auto add = [&](int v, bool is_aligned, bool all) {
        uint4 bits = ((const uint4 *)memory)[v];
        uint32 words[4];
        if (!is_aligned)
            bits = straddling(bits, ((const uint4 *)memory)[v + 1], shift);
        memcpy(words, &bits, 16);
#pragma unroll
        for (int k = 0; k < a_vector; k++)
            if (!all && (v * a_vector + k < from || v * a_vector + k >= to)) {
                const in_t zero = in_t();
                memcpy((uint8 *)words + k * sizeof zero, &zero, sizeof zero);
            }
        see_all(sizes, words);
#pragma unroll
        for (int k = 0; k < a_vector; k++)
            few.add(words, k);
    };
    if (from == 0 && to == TILE && shift == 0) {
#pragma unroll at_once
        for (int v = thread; v < vectors; v += SUMMERS)
            add(v, true, true);
    } else {
#pragma unroll 1
        for (int v = from / a_vector + thread; v * a_vector < to; v += SUMMERS)
            add(v, shift == 0, false);
    }
    const sizes_of_few all = sizes;
    const int levels = levels_of(all); /* -0 does not matter here */
    return {levels > Levels ? 0 : levels, all.largest()};
}

#if SUMMERS_TELL
/* What the summers have told of a tile. */
inline seen_elements seen_of_tile(scratch &s, const place &here) {
    s.is_seen[here.at].wait(here.parity);
    seen_elements all = s.seen[here.at][0];
#pragma unroll
    for (int w = 1; w < SUMMERS / WARP; w++) {
        const seen_elements next = s.seen[here.at][w];
        const int most = next.levels > all.levels ? next.levels : all.levels;
        all.levels = next.levels && all.levels ? most : 0;
        all.largest = larger(all.largest, next.largest);
    }
    return all;
}
#endif

/* ---- finishers ---- */

/* Where a stretch's result lies among those of the ring. */
inline result_t *place_of_result(uint8 *memory, int stretch, int at) {
    const int byte = (stretch * ITEMS + at) * (int)sizeof(result_t);
    return (result_t *)(memory + 16 * vector_of_results(byte / 16) + byte % 16);
}

inline bool is_minus_zero(float x) {
    return __float_as_uint(x) == 0x80000000u;
}
inline bool is_minus_zero(double x) {
    return x == 0 && __double2hiint(x);
}
inline bool is_zero(const acc_t &acc) {
    uint32 all = 0;
#pragma unroll
    for (int w = 0; w < SCAN_WORDS; w++)
        all |= acc.word[w];
    return !all;
}

/* Elements that are not whole stretches, or that doubles do not hold, one by one in words. */
struct stretch_in_words {
    alignas(16) in_t elements[ITEMS]; /* a copy in memory, for the loop, in the order of memory */
    int absent, there; /* items in logical order: those before the first, and the number of the others */
    bits_t heads;

    stretch_in_words(const stretch_of<in_t, ITEMS> &items, int absent, int there, bits_t heads)
        : absent(absent), there(there), heads(heads) {
        memcpy(elements, items.word, sizeof elements);
    }
    in_t item(int k) const {
        return elements[REVERSE ? ITEMS - 1 - k : k];
    }
    /* The sum since the last head. */
    __noinline__ acc_t sum() const {
        running<acc_t> run;
#pragma unroll 1
        for (int k = absent; k < absent + there; k++) {
            if (GROUPS != ALL && (heads >> k & 1))
                run = {};
            run.add(value_of(item(k)), 0, 0);
        }
        return run.sum();
    }
    /* A sum of nothing but -0 is -0. Whether it is one is known of groups that begin here; where others have a sum of 0
     * and add -0, the window fails. */
    __noinline__ void finish(acc_t before, bool has_base, const acc_t &base, uint8 *memory, int stretch) const {
        running<acc_t> run = before;
        bool is_known = false, is_minus = false;
#pragma unroll 1
        for (int k = absent; k < absent + there; k++) {
            const bool is_head = GROUPS != ALL && (heads >> k & 1);
            if (is_head) {
                run = base;
                is_known = true;
                is_minus = false;
            }
            const value_t x = value_of(item(k));
            const acc_t sum = run.sum();
            const bool was_minus = is_minus;
            run.add(x, 0, 0);
            if (GROUPS != ALL) {
                const bool adds_nothing = is_minus_zero(x) && is_zero(run.sum());
                is_minus = adds_nothing && (is_minus || (is_head && !has_base));
                if (adds_nothing && (!is_known || (is_minus && !INCLUSIVE && k == absent + there - 1)))
                    the_window.fail();
            }
            result_t result = lower(INCLUSIVE ? run.sum() : sum, 0, 0);
            if (INCLUSIVE ? is_minus : was_minus)
                result = element_of_bits<out_t>(1ull << (OUT_BITS - 1));
            *place_of_result(memory, stretch, REVERSE ? ITEMS - 1 - k : k) = result;
        }
    }
};

/* Makes zeros of a stretch's items from physical place 'there' on. */
inline void clear_behind(stretch_of<in_t, ITEMS> &items, int there) {
#pragma unroll
    for (int w = 0; w < (int)(sizeof items.word / 4); w++) {
        const int bytes = there * (int)sizeof(in_t) - 4 * w; /* of the word that are there */
        items.word[w] = bytes >= 4 ? items.word[w] : bytes > 0 ? items.word[w] & 0xffff : 0;
    }
}

template <int Levels>
inline acc_t sum_of_stretch(const stretch_of<in_t, ITEMS> &items, bits_t heads) {
    const bits_t later = GROUPS == ALL ? 0 : heads & (bits_t)0 - 2; /* the first item's is no matter here */
    const int last = later ? (sizeof(bits_t) == 4 ? 31 - __clz((uint32)later) : 63 - __clzll(later)) : 0;
    few_elements<Levels> sum;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        sum.add(items.word, REVERSE ? ITEMS - 1 - k : k, k >= last);
    return sum.words(sum.units());
}
/* False if some results may be wrong. Groups that begin in the stretch begin with 'base'. */
template <int Levels, bool IsWhole>
inline bool finish_stretch(const stretch_of<in_t, ITEMS> &items, bits_t heads, const acc_t &before, const acc_t &base,
                           float reach, uint8 *memory, int stretch) {
    const levels_of_window<Levels> w;
    few_results<Levels, IsWhole> few(before, w, reach), of_base = few;
    if (GROUPS != ALL && heads) {
        of_base = few_results<Levels, IsWhole>(base, w, reach);
        few.expect(of_base);
    }
    if (few.is_unsure)
        return false;
    results_writer writer;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (GROUPS != ALL && (heads >> k & 1))
            few.begin(of_base);
        writer.put(memory, stretch, k, few.next(w, number_at(items.word, REVERSE ? ITEMS - 1 - k : k)));
    }
    return few.are_right();
}

inline void finish_in_window(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                             int in_turn, bool has_base, const acc_t &base) {
    const int stretch = REVERSE ? FINISHERS - 1 - thread : thread, there = items_there(t, stretch);
    const int absent = REVERSE ? ITEMS - there : 0;
    const uint64 low = t.low + stretch * ITEMS, first = REVERSE ? p.n - low - there : low;
    bits_t heads = 0;
    s.full[here.at].wait(here.parity);
#if GROUPS == KEYS
    mark_keys(s, p, t, here.at, team, thread);
#endif
    if (GROUPS != ALL && there) {
        heads = find_heads(s, p, t, here.at, team, stretch, GROUPS == ROWS ? remainder(first, p.extent) : first);
        if (GROUPS == ROWS)
            heads <<= absent;
        heads &= ((bits_t)2 << (there - 1)) - 1 << absent;
    }
    uint8 *memory = s.tile[here.at];
    stretch_of<in_t, ITEMS> items;
    items.read(memory, shift_of(p.x + t.low), stretch);
    /* All f16 fit in one level, and summers look for NaNs and infinities. If the compiler knew the level, it would keep
     * doubles until the results, and spill. */
    seen_elements seen = {TAKES_F16 && GROUPS == ALL ? (int)the_window.levels : 0, 0};
    bool has_minus_zero = false;
#if SUMMERS_TELL
    seen = seen_of_tile(s, here);
#endif
    if (there < ITEMS) /* zeros, whose results nobody writes */
        clear_behind(items, there);
    if (!seen.levels) {
        sizes_of_elements elements;
        see_all(elements, items.word);
        const sizes_of_few sizes = elements;
        seen = {levels_of(sizes), sizes.largest()};
        has_minus_zero = sizes.has_minus_zero;
    }
    int levels = seen.levels;
    const float reach = ITEMS * seen.largest;
    acc_t sum;
    if (LEAST_LEVELS == 1 && levels == 1)
        sum = sum_of_stretch<1>(items, heads);
    else if (!TAKES_F16 && levels == 2)
        sum = sum_of_stretch<2>(items, heads);
    else
        sum = stretch_in_words(items, absent, there, heads).sum();
    const state before = scan_team(s.of_finishers[team][in_turn], team, thread, state::of(sum, heads != 0, 0));

    s.ready[here.at].wait(here.parity);
    const record prefix = *(const record *)s.prefix[here.at];
    acc_t left = before.has_head() ? base : has_base ? combine(base, prefix.acc) : prefix.acc;
    left = combine(left, before.acc);
    if (has_minus_zero)
        levels = 0;
    /* All threads of the team have read their elements, so results may take the elements' place. */
    bool are_right = false;
    if (LEAST_LEVELS == 1 && levels == 1)
        are_right = ((BY_BITS || GROUPS != ALL) && /* of f32, many results at a group's beginning are ties */
                     finish_stretch<1, true>(items, heads, left, base, reach, memory, stretch)) ||
                    (OUT_BITS != 16 && finish_stretch<1, false>(items, heads, left, base, reach, memory, stretch));
    if (OUT_BITS == 16 && LEAST_LEVELS == 1 && !TAKES_F16 && levels && !are_right)
        are_right = finish_stretch<0, false>(items, heads, left, base, reach, memory, stretch);
    if (!TAKES_F16 && levels && !are_right)
        are_right = finish_stretch<2, false>(items, heads, left, base, reach, memory, stretch);
    if (!are_right)
        stretch_in_words(items, absent, there, heads).finish(left, has_base, base, memory, stretch);
    hand_over(s, p, t, here, team, thread);
}
