/* A scan's finishers and summers in a window (exact_scan.cu). A thread adds its few elements up as doubles, which do not
 * round them, and only the sums of stretches are integers. docs/exact-scans.md shows that results are right.
 *
 * Let u be 2^(bottom + shift), 2^h the bound of elements, and FEW such that a thread adds up fewer than 2^FEW of them: u
 * is 2^(h + FEW - 51). In one level, all elements are multiples of u, and their sums are less than 2^51 u. In two, each is
 * split into a multiple of u and a rest of at most u / 2, which is a multiple of the window's unit, 2^bottom.
 *
 * Elements of 16 bits become doubles BY_BITS: a conversion would take eight cycles of a unit, a fifth of the time that an
 * element has. Their bits are moved to where a double has them, which gives a number that is a power of two smaller, and
 * a fused multiplication makes up for that where the number is added. All f16 that are numbers fit in one level. */

enum { MOST_LEVELS = 2, LEAST_LEVELS = sizeof(value_t) == 8 ? 2 : 1 };

/* Two levels hold any sum of three words. The lower one has so many bits, the upper one has the others. */
enum { HAS_TWO_PARTS = SCAN_WORDS == 3, LOWER_BITS = 43 };

/* A double that is 2^exponent. */
inline double power(int exponent) {
    return __hiloint2double((exponent + 1023) << 20, 0);
}

/* ---- elements ---- */

/* Element k of some words, divided by SCALE, and its sum with a double. */
#if BY_BITS
#define SCALE (TAKES_F16 ? 0x1p1008 : 0x1p896)
inline double number_at(const uint32 *words, int k) {
    const int32 at_top = (int32)(k % 2 ? words[k / 2] : words[k / 2] << 16);
    return __hiloint2double(TAKES_F16 ? at_top >> 6 & 0x81fffc00 : at_top >> 3 & 0x8fffe000, 0);
}
inline double add_number(double sum, double number) {
    return __fma_rn(number, SCALE, sum);
}
#else
inline in_t element_at(const uint32 *words, int k) {
    in_t x;
    memcpy(&x, (const uint8 *)words + k * sizeof x, sizeof x);
    return x;
}
inline double number_at(const uint32 *words, int k) {
    return value_of(element_at(words, k));
}
inline double add_number(double sum, double number) {
    return __dadd_rn(sum, number);
}
#endif

/* The sizes of some elements: of 2 |x| as integers, of doubles the upper half. */
struct sizes_of_few {
    enum { FIELD_AT = sizeof(value_t) == 8 ? 21 : 24 };
    uint32 most = 0, least = ~0u; /* of those that are not zero; of floats less 1 */
    bool has_minus_zero = false; /* by groups; such stretches are finished one by one */

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
        if (most >= (the_window.highest + 1) << FIELD_AT)
            return 0;
        return LEAST_LEVELS == 1 && least >= begins(lowest_of_one) - 1 ? 1 : least >= begins(lowest_of_two) - 1 ? 2 : 0;
    }
};


#if BY_BITS
/* The same of elements of 16 bits, two in a word. */
struct sizes_of_pairs {
    uint32 most = 0, least = ~0u; /* the least of those that are not zero, less 1 */
    uint32 nearest = ~0u;         /* to -0 */

    void see(uint32 two) {
        const uint32 sizes = two & 0x7fff7fff;
        most = most_by_halves(sizes, most);
        if (!TAKES_F16)
            least = least_by_halves(sizes, least);
        if (GROUPS != ALL)
            nearest = __vminu2(nearest, two ^ 0x80008000);
    }
    operator sizes_of_few() const {
        const auto smaller_half = [](uint32 two) { return two >> 16 < (two & 0xffff) ? two >> 16 : two & 0xffff; };
        const uint32 largest = most >> 16 > (most & 0xffff) ? most >> 16 : most & 0xffff, smallest = smaller_half(least);
        sizes_of_few sizes;
        sizes.most = TAKES_F16 ? (largest < 0x7c00 ? 0 : ~0u) : largest << 17;
        sizes.least = TAKES_F16 || smallest == 0xffff ? ~0u : (smallest + 1 << 17) - 1;
        sizes.has_minus_zero = GROUPS != ALL && !smaller_half(nearest);
        return sizes;
    }
};
#endif

#if BY_BITS
typedef sizes_of_pairs sizes_of_elements;
#else
typedef sizes_of_few sizes_of_elements;
#endif
template <int Words> inline void see_all(sizes_of_elements &sizes, const uint32 (&words)[Words]) {
#pragma unroll
#if BY_BITS
    for (int w = 0; w < Words; w++)
        sizes.see(words[w]);
#else
    for (int k = 0; k < Words * 4 / (int)sizeof(in_t); k++)
        sizes.see(value_of(element_at(words, k)));
#endif
}

/* In how many levels elements can be added up; 0: in none. */
inline int levels_of(const sizes_of_few &sizes) {
    constexpr int bias = (sizeof(value_t) == 8 ? 1023 : 127) + SCAN_PRECISION - 1;
    const int bottom = the_window.bottom + bias, levels = sizes.levels(bottom + (int)the_window.shift, bottom);
    return levels == 1 ? (int)the_window.levels : levels; /* with the warp's other lanes */
}

/* What a thread knows of the window. */
template <int Levels> struct levels_of_window {
    uint32 shift; /* u is 2^unit, and unit is bottom + shift */
    int unit;
    double sigma;

    levels_of_window() {
        shift = HAS_TWO_PARTS && Levels == 2 ? (uint32)LOWER_BITS : the_window.shift;
        unit = the_window.bottom + (int)shift;
        sigma = 1.5 * power(unit + 52);
    }
    double multiple(double number) const {
        return __dadd_rn(add_number(sigma, number), -sigma);
    }
};

/* Adds an element to a sum of Levels doubles. */
template <int Levels> inline void add_to(double *sum, const levels_of_window<Levels> &w, double number) {
    if (Levels == 1) {
        sum[0] = add_number(sum[0], number);
    } else {
        const double first = w.multiple(number);
        sum[0] = __dadd_rn(sum[0], first);
        sum[1] = __dadd_rn(sum[1], add_number(-first, number));
    }
}

/* The sum of some elements in doubles. */
template <int Levels> struct few_elements {
    /* Sums, so that an addition does not wait for the one before. 2^28 f16 took 381 us with one, 368 with 2, 366 with 4. */
    enum { CHAINS = BY_BITS ? 4 : 2 };
    double of[CHAINS][MOST_LEVELS] = {};

    void add(const levels_of_window<Levels> &w, double number, int k) {
        add_to<Levels>(of[k % CHAINS], w, number);
    }
    /* As an integer: a double below 2^51 units shows it when 1.5 * 2^52 units are added. */
    acc_t words(const levels_of_window<Levels> &w) const {
        acc_t r = identity_as<acc_t>();
        double sum[MOST_LEVELS] = {of[0][0], of[0][1]};
#pragma unroll
        for (int c = 1; c < CHAINS; c++)
            for (int l = 0; l < Levels; l++)
                sum[l] = __dadd_rn(sum[l], of[c][l]);
        const int64 first = __double_as_longlong(__dadd_rn(sum[0], w.sigma)) - __double_as_longlong(w.sigma);
        const double magic = 1.5 * power(the_window.bottom + 52);
        const int64 second = Levels == 2
                                 ? __double_as_longlong(__dadd_rn(sum[1], magic)) - __double_as_longlong(magic)
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
 * boundaries between results are multiples of u there. For 16 bits it is shown before that all results are so large.
 *
 * IsWhole, one double holds the sums, since they are less than 2^52 u. Those of f16 may be larger: then they are rounded,
 * but results are infinite. */
template <int Levels, bool IsWhole> struct few_results {
    /* The bit behind a result's in a double's upper half. */
    enum { BOUNDARY = OUT_PRECISION < 20 ? 1 << (20 - OUT_PRECISION) : 1 };
    double high, sum[MOST_LEVELS];
    float smallest = range<float>::highest(), bound = 0;
    uint32 nearest = ~0u; /* to a boundary of narrow results, in the bits behind theirs */
    bool is_unsure = false;

    /* The elements of the stretch add up to no more than 'reach'. */
    few_results(const acc_t &before, const levels_of_window<Levels> &w, float reach) {
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
    result_t next(const levels_of_window<Levels> &w, double number) {
        const double before[2] = {sum[0], sum[1]};
        add_to<Levels>(sum, w, number);
        return INCLUSIVE ? rounded(sum) : rounded(before);
    }
    /* A double near the whole sum rounds as that does, unless it is on a boundary between two results and is not the
     * whole sum. */
    result_t rounded(const double *of) {
        const double most = IsWhole || (HAS_TWO_PARTS && Levels == 2) ? of[0] : __dadd_rn(high, of[0]);
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
        const uint32 low = (uint32)__double2loint(near);
        if (Levels == 2) /* boundaries between subnormal numbers have fewer bits */
            is_unsure |= rest != 0 && (low & 0x0fffffff) == 0;
        else if (OUT_BITS == 32 && !IsWhole) /* all subnormal results are exact */
            is_unsure |= (low & 0x1fffffff) == 0x10000000;
        else if (!IsWhole) {
            const uint32 high_bits = ((uint32)__double2hiint(near) ^ BOUNDARY) & (2 * BOUNDARY - 1);
            nearest = (high_bits | low) < nearest ? high_bits | low : nearest;
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
        return !is_unsure && nearest && smallest >= bound;
    }
};

/* ---- summers ---- */

/* Adds up a summer's share of elements [from, to) of a tile. False if doubles do not hold it. */
template <int Levels>
inline bool sum_few_in(const uint8 *memory, uint32 shift, int thread, int from, int to, acc_t *sum) {
    constexpr int a_vector = 16 / sizeof(in_t), vectors = TILE / a_vector;
    const levels_of_window<Levels> w;
    sizes_of_elements sizes;
    few_elements<Levels> few;
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
            few.add(w, number_at(words, k), k);
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
    const int levels = levels_of(sizes); /* -0 does not matter here */
    if (levels == 0 || levels > Levels)
        return false;
    *sum = few.words(w);
    return true;
}
inline bool sum_few(const uint8 *memory, uint32 shift, int thread, int from, int to, acc_t *sum) {
    return (LEAST_LEVELS == 1 && the_window.levels == 1 && sum_few_in<1>(memory, shift, thread, from, to, sum)) ||
           (!TAKES_F16 && sum_few_in<2>(memory, shift, thread, from, to, sum));
}

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
    const in_t *elements; /* in the order of memory */
    int absent, there;    /* items in logical order: those before the first, and the number of the others */
    bits_t heads;

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

template <int Levels>
inline acc_t sum_of_stretch(const stretch_of<in_t, ITEMS> &items, bits_t heads) {
    const levels_of_window<Levels> w;
    const bits_t later = GROUPS == ALL ? 0 : heads & (bits_t)0 - 2; /* the first item's is no matter here */
    const int last = later ? (sizeof(bits_t) == 4 ? 31 - __clz((uint32)later) : 63 - __clzll(later)) : 0;
    few_elements<Levels> sum;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        sum.add(w, k < last ? 0 : number_at(items.word, REVERSE ? ITEMS - 1 - k : k), k);
    return sum.words(w);
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
    stretch_of<in_t, ITEMS> items, copy; /* in memory, and only made where it is needed */
    const stretch_in_words in_words = {(const in_t *)copy.word, absent, there, heads};
    items.read(memory, shift_of(p.x + t.low), stretch);
    int levels = 0;
    bool has_minus_zero = false;
    float reach = 0;
    if (there == ITEMS) {
        sizes_of_elements elements;
        if (!TAKES_F16 || GROUPS != ALL) /* else the summers have seen them all */
            see_all(elements, items.word);
        const sizes_of_few sizes = elements;
        levels = levels_of(sizes);
        has_minus_zero = sizes.has_minus_zero;
        if (BY_BITS && !TAKES_F16)
            reach = ITEMS * __uint_as_float(sizes.most >> 1);
    }
    acc_t sum;
    if (LEAST_LEVELS == 1 && levels == 1)
        sum = sum_of_stretch<1>(items, heads);
    else if (!TAKES_F16 && levels == 2)
        sum = sum_of_stretch<2>(items, heads);
    else
        copy = items, sum = in_words.sum();
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
                    (!TAKES_F16 && finish_stretch<1, false>(items, heads, left, base, reach, memory, stretch));
    if (!TAKES_F16 && levels && !are_right)
        are_right = finish_stretch<2, false>(items, heads, left, base, reach, memory, stretch);
    if (!are_right)
        copy = items, in_words.finish(left, has_base, base, memory, stretch);
    hand_over(s, p, t, here, team, thread);
}
