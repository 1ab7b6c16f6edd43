/* A scan's finishers and summers in a window (exact_scan.cu). A thread adds its few elements up as doubles, which do not
 * round them, and only the sums of stretches are integers. docs/exact-scans.md shows that results are right.
 *
 * Let u be 2^(bottom + shift), 2^h the bound of elements, and FEW such that a thread adds up fewer than 2^FEW of them: u
 * is 2^(h + FEW - 51). In one level, all elements are multiples of u, and their sums are less than 2^51 u. In two, each is
 * split into a multiple of u and a rest of at most u / 2, which is a multiple of the window's unit, 2^bottom. */

enum { MOST_LEVELS = 2, LEAST_LEVELS = sizeof(value_t) == 8 ? 2 : 1 };

/* A double that is 2^exponent. */
inline double power(int exponent) {
    return __hiloint2double((exponent + 1023) << 20, 0);
}

/* The sizes of some elements: of 2 |x| as integers, of doubles the upper half. */
struct sizes_of_few {
    enum { FIELD_AT = sizeof(value_t) == 8 ? 21 : 24 };
    uint32 most = 0, least = ~0u; /* of those that are not zero; of floats less 1 */
    bool has_minus_zero = false;

    void see(float x) {
        const uint32 bits = __float_as_uint(x), size = bits + bits, below = size - 1;
        most = size > most ? size : most;
        least = below < least ? below : least;
        has_minus_zero |= GROUPS != ALL && bits == 0x80000000u;
    }
    void see(double x) {
        const uint32 high = (uint32)__double2hiint(x), size = high + high;
        const bool is_zero = (size | (uint32)__double2loint(x)) == 0;
        most = size > most ? size : most;
        least = !is_zero && size < least ? size : least;
        has_minus_zero |= GROUPS != ALL && is_zero && high;
    }
    /* In how many levels they can be added up; 0: in none. The elements of a level begin at an exponent's field. */
    int levels(int lowest_of_one, int lowest_of_two) const {
        const auto begins = [](int field) { return (uint32)(field < 1 ? 1 : field) << FIELD_AT; };
        if (most >= (the_window.highest + 1) << FIELD_AT || has_minus_zero)
            return 0;
        return LEAST_LEVELS == 1 && least >= begins(lowest_of_one) - 1 ? 1 : least >= begins(lowest_of_two) - 1 ? 2 : 0;
    }
};

/* What a thread knows of the window. */
struct levels_of_window {
    int unit; /* u's exponent */
    double sigma;

    levels_of_window() {
        unit = the_window.bottom + (int)the_window.shift;
        sigma = 1.5 * power(unit + 52);
    }
    int levels(const sizes_of_few &s) const {
        constexpr int bias = (sizeof(value_t) == 8 ? 1023 : 127) + SCAN_PRECISION - 1;
        return s.levels(unit + bias, the_window.bottom + bias);
    }
    double multiple(double x) const {
        return __dadd_rn(__dadd_rn(x, sigma), -sigma);
    }
};

/* The sum of some elements in doubles. */
template <int Levels> struct few_elements {
    double sum[MOST_LEVELS] = {};

    void add(const levels_of_window &w, double x) {
        const double first = Levels == 1 ? x : w.multiple(x);
        sum[0] = __dadd_rn(sum[0], first);
        if (Levels == 2)
            sum[1] = __dadd_rn(sum[1], __dadd_rn(x, -first));
    }
    /* As an integer: a double below 2^51 units shows it when 1.5 * 2^52 units are added. */
    acc_t words(const levels_of_window &w) const {
        acc_t r = identity_as<acc_t>();
        const int64 first = __double_as_longlong(__dadd_rn(sum[0], w.sigma)) - __double_as_longlong(w.sigma);
        const double magic = 1.5 * power(the_window.bottom + 52);
        const int64 second = Levels == 2
                                 ? __double_as_longlong(__dadd_rn(sum[1], magic)) - __double_as_longlong(magic)
                                 : 0;
        const uint32 low = (uint32)first, high = (uint32)(first >> 32), sign = (uint32)(first >> 63);
        const uint32 by = the_window.shift % 32;
        const uint32 moved[3] = {low << by, __funnelshift_l(low, high, by), __funnelshift_l(high, sign, by)};
#if SCAN_WORDS == 3
        memcpy(r.word, moved, sizeof moved);
#else
        memcpy(r.word + 1, moved, sizeof moved); /* 'shift' is at least 32 */
#endif
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
 * boundaries between results are multiples of u there. */
template <int Levels> struct few_results {
    /* The bit behind a result's in a double's upper half. */
    enum { BOUNDARY = OUT_PRECISION < 20 ? 1 << (20 - OUT_PRECISION) : 1 };
    double high, sum[MOST_LEVELS];
    float smallest, bound;
    bool is_unsure = false;

    few_results(const acc_t &before, const levels_of_window &w) : smallest(range<float>::highest()) {
        enum { TOP = SCAN_WORDS - 1, LOW = SCAN_WORDS - 3 }; /* 'shift' begins in word LOW */
        const uint32 by = the_window.shift % 32, rest = before.word[LOW] & ((1u << by) - 1);
        const uint64 multiples = ((uint64)before.word[LOW + 1] << 32 | before.word[LOW]) >> by;
        const bool has_rest = Levels == 1 && rest;
        high = (double)(int32)before.word[TOP] * power(the_window.bottom + 32 * TOP);
        sum[0] = (double)(int64)(2 * multiples + has_rest) * power(w.unit - 1);
        sum[1] = 0;
        if (Levels == 2)
            sum[1] = (double)(int64)(LOW ? (uint64)rest << 32 | before.word[0] : rest) * power(the_window.bottom);
        bound = has_rest ? (float)power(w.unit + 25) : 0;
    }
    result_t next(const levels_of_window &w, double x) {
        const double first = Levels == 1 ? x : w.multiple(x);
        const double before[2] = {sum[0], sum[1]};
        sum[0] = __dadd_rn(sum[0], first);
        if (Levels == 2)
            sum[1] = __dadd_rn(sum[1], __dadd_rn(x, -first));
        return INCLUSIVE ? rounded(sum) : rounded(before);
    }
    /* A double near the whole sum rounds as that does, unless it is on a boundary between two results and is not the
     * whole sum. */
    result_t rounded(const double *of) {
        const double most = __dadd_rn(high, of[0]);
        double near = most, rest = 0;
        if (Levels == 2) {
            const double added = __dadd_rn(__dadd_rn(of[0], -__dadd_rn(most, -high)), of[1]);
            near = __dadd_rn(most, added);
            rest = __dadd_rn(added, -__dadd_rn(near, -most));
        }
#if OUT_BITS == 64
        const double twice = rest + rest;
        is_unsure |= rest != 0 && __dadd_rn(__dadd_rn(near, twice), -near) == twice;
        return near;
#else
        const uint32 low = (uint32)__double2loint(near);
        if (Levels == 2) /* boundaries between subnormal numbers have fewer bits */
            is_unsure |= rest != 0 && (low & 0x0fffffff) == 0;
        else if (OUT_BITS == 32) /* all subnormal results are exact */
            is_unsure |= (low & 0x1fffffff) == 0x10000000;
        else
            is_unsure |= !low && ((uint32)__double2hiint(near) & (2 * BOUNDARY - 1)) == BOUNDARY;
#if OUT_BITS == 32
        const float result = (float)near;
        if (Levels == 1)
            smallest = smaller(smallest, fabsf(result));
        return result;
#else
        const float result = odd_float(__double2float_rz(near), low & 0x1fffffff);
        if (Levels == 1)
            smallest = smaller(smallest, fabsf(result));
        return output<out_t>::of(result);
#endif
#endif
    }
    bool are_right() const {
        return !is_unsure && smallest >= bound;
    }
};

/* ---- summers ---- */

/* Adds up a summer's share of elements [from, to) of a tile. False if doubles do not hold it. */
template <int Levels>
inline bool sum_few_in(const uint8 *memory, uint32 shift, int thread, int from, int to, acc_t *sum) {
    constexpr int a_vector = 16 / sizeof(in_t), vectors = TILE / a_vector;
    const levels_of_window w;
    sizes_of_few sizes;
    few_elements<Levels> few;
    const auto add = [&](int v, bool is_aligned, bool all) {
        uint4 bits = ((const uint4 *)memory)[v];
        in_t x[a_vector];
        if (!is_aligned)
            bits = straddling(bits, ((const uint4 *)memory)[v + 1], shift);
        memcpy(x, &bits, 16);
#pragma unroll
        for (int k = 0; k < a_vector; k++) {
            const int e = v * a_vector + k;
            const value_t value = all || (e >= from && e < to) ? value_of(x[k]) : 0;
            sizes.see(value);
            few.add(w, value);
        }
    };
    if (from == 0 && to == TILE && shift == 0) {
#pragma unroll 5
        for (int v = thread; v < vectors; v += SUMMERS)
            add(v, true, true);
    } else {
#pragma unroll 1
        for (int v = from / a_vector + thread; v * a_vector < to; v += SUMMERS)
            add(v, shift == 0, false);
    }
    const int levels = w.levels(sizes);
    if (levels == 0 || levels > Levels)
        return false;
    *sum = few.words(w);
    return true;
}
inline bool sum_few(const uint8 *memory, uint32 shift, int thread, int from, int to, acc_t *sum) {
    return (LEAST_LEVELS == 1 && sum_few_in<1>(memory, shift, thread, from, to, sum)) ||
           sum_few_in<2>(memory, shift, thread, from, to, sum);
}

/* ---- finishers ---- */

/* Where a stretch's result lies among those of the ring. */
inline result_t *place_of_result(uint8 *memory, int stretch, int at) {
    const int byte = (stretch * ITEMS + at) * (int)sizeof(result_t);
    return (result_t *)(memory + 16 * vector_of_results(byte / 16) + byte % 16);
}

/* The results of elements that are not whole stretches, or that doubles do not hold, one by one in words. */
struct stretch_in_words {
    const in_t *elements; /* in the ring, in the order of memory */
    int absent, there;    /* items in logical order: those before the first, and the number of the others */
    bits_t heads;

    in_t item(int k) const {
        return load(elements + (REVERSE ? ITEMS - 1 - k : k));
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
    __noinline__ void get(acc_t before, const acc_t &base, result_t *results) const {
        running<acc_t> run = before;
#pragma unroll 1
        for (int k = absent; k < absent + there; k++) {
            if (GROUPS != ALL && (heads >> k & 1))
                run = base;
            const acc_t sum = run.sum();
            run.add(value_of(item(k)), 0, 0);
            results[REVERSE ? ITEMS - 1 - k : k] = lower(INCLUSIVE ? run.sum() : sum, 0, 0);
        }
    }
};

template <int Levels>
inline acc_t sum_of_stretch(const levels_of_window &w, const stretch_of<in_t, ITEMS> &items) {
    few_elements<Levels> sum;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        sum.add(w, value_of(items[k]));
    return sum.words(w);
}
template <int Levels>
inline bool results_of_stretch(const levels_of_window &w, const stretch_of<in_t, ITEMS> &items, const acc_t &before,
                               result_t *results) {
    few_results<Levels> few(before, w);
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        results[k] = few.next(w, value_of(items[k]));
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
    const int shift = shift_of(p.x + t.low);
    const stretch_in_words in_words = {(const in_t *)(memory + shift) + stretch * ITEMS, absent, there, heads};
    const levels_of_window w;
    stretch_of<in_t, ITEMS> items;
    items.read(memory, shift, stretch);
    int levels = 0;
    if (there == ITEMS && !heads) {
        sizes_of_few sizes;
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            sizes.see(value_of(items[k]));
        levels = w.levels(sizes);
    }
    acc_t sum;
    if (LEAST_LEVELS == 1 && levels == 1)
        sum = sum_of_stretch<1>(w, items);
    else if (levels == 2)
        sum = sum_of_stretch<2>(w, items);
    else
        sum = in_words.sum();
    const state before = scan_team(s.of_finishers[team][in_turn], team, thread, state::of(sum, heads != 0, 0));

    s.ready[here.at].wait(here.parity);
    const record prefix = *(const record *)s.prefix[here.at];
    acc_t left = before.has_head() ? base : has_base ? combine(base, prefix.acc) : prefix.acc;
    left = combine(left, before.acc);
    result_t results[ITEMS], slow[ITEMS];
    bool are_right = false;
    if (LEAST_LEVELS == 1 && levels == 1)
        are_right = results_of_stretch<1>(w, items, left, results);
    if (levels && !are_right)
        are_right = results_of_stretch<2>(w, items, left, results);
    if (!are_right)
        in_words.get(left, base, slow);
    if (!IN_LINE || shift) /* others' results take the place of what a thread reads */
        sync_some<FINISHERS>(OF_TEAMS + team);
    if (are_right) {
        results_writer writer;
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            writer.put(memory, stretch, k, results[k]);
    } else {
#pragma unroll 1
        for (int k = absent; k < absent + there; k++) {
            const int at = REVERSE ? ITEMS - 1 - k : k;
            *place_of_result(memory, stretch, at) = slow[at];
        }
    }
    hand_over(s, p, t, here, team, thread);
}
