/* Elements in a window (exact_scan.cu) as doubles, and in how many levels a thread adds its few elements up, so that no
 * addition rounds. docs/exact-scans.md shows that results are right.
 *
 * Let u be 2^(bottom + shift), 2^h the bound of elements, and FEW such that a thread adds up fewer than 2^FEW of them: u
 * is 2^(h + FEW - 51). In one level, all elements are multiples of u, and their sums are less than 2^51 u. In two, each is
 * split into a multiple of u and a rest of at most u / 2, which is a multiple of the window's unit, 2^bottom.
 *
 * Every other element of 16 bits becomes a double BY_BITS: all conversions would take their unit as long as memory takes.
 * The bits are moved to where a double has them, which gives a number that is a power of two smaller, and a fused
 * multiplication makes up for that where the number is added. All f16 that are numbers fit in one level. */

enum { MOST_LEVELS = 2, LEAST_LEVELS = sizeof(value_t) == 8 ? 2 : 1 };

/* Two levels hold any sum of three words. The lower one has so many bits, the upper one has the others. BY_BITS a
 * stretch's sum splits no element: the lower level adds up those below 2^LARGE_BITS units, and all others are multiples
 * of the upper level's unit. */
enum {
    HAS_TWO_PARTS = SCAN_WORDS == 3,
    LOWER_BITS = 43,
    LOWER_BITS_OF_SUMS = BY_BITS ? 37 : LOWER_BITS,
    LARGE_BITS = LOWER_BITS_OF_SUMS + SCAN_PRECISION - 1
};
static_assert(!BY_BITS || TAKES_F16 || LARGE_BITS + 7 <= 51); /* a thread adds up fewer than 2^7 elements */

/* A double that is 2^exponent. */
inline double power(int exponent) {
    return __hiloint2double((exponent + 1023) << 20, 0);
}

/* ---- elements ---- */

/* Element k of some words, or 0 if it is not there, is number * scale. */
struct scaled {
    double number, scale;
};
/* Its sum with a double. */
inline double add_number(double sum, const scaled &x) {
    return x.scale == 1 ? __dadd_rn(sum, x.number) : __fma_rn(x.number, x.scale, sum);
}
#if BY_BITS
/* A conversion takes its unit eight cycles, and moves of bits are three or four instructions: elements take turns. */
inline double converted(uint16 bits) {
#if TAKES_F16
    return double_of_f16(bits);
#elif TALLY_ARCHITECTURE >= 90
    return double_of_bf16(bits);
#else
    return 0;
#endif
}
inline int32 at_top(uint32 word, int k) {
    return (int32)(k % 2 ? word : word << 16);
}
inline scaled number_at(const uint32 *words, int k, bool is_there = true) {
    const uint32 word = is_there ? words[k / 2] : 0;
    if ((TAKES_F16 || TALLY_ARCHITECTURE >= 90) && k % 2 == 0)
        return {converted((uint16)(word >> 16 * (k % 2))), 1};
    const int32 bits = at_top(word, k);
    return {__hiloint2double(TAKES_F16 ? bits >> 6 & 0x81fffc00 : bits >> 3 & 0x8fffe000, 0),
            TAKES_F16 ? 0x1p1008 : 0x1p896};
}
#else
inline in_t element_at(const uint32 *words, int k) {
    in_t x;
    memcpy(&x, (const uint8 *)words + k * sizeof x, sizeof x);
    return x;
}
inline scaled number_at(const uint32 *words, int k, bool is_there = true) {
    return {is_there ? value_of(element_at(words, k)) : 0, 1};
}
#endif

/* The sizes of some elements: of 2 |x| as integers, of doubles the upper half. */
struct sizes_of_few {
    enum { FIELD_AT = sizeof(value_t) == 8 ? 21 : 24 };
    uint32 most = 0, least = ~0u; /* of those that are not zero; of floats less 1 */
    bool has_minus_zero = false; /* by groups; such stretches are finished one by one */

    /* The largest magnitude, of f64 0. */
    float largest() const {
        return sizeof(value_t) == 8 ? 0 : __uint_as_float(most >> 1);
    }
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
template <int Levels, int LowerBits = LOWER_BITS> struct levels_of_window {
    uint32 shift; /* u is 2^unit, and unit is bottom + shift */
    int unit;
    double sigma;

    levels_of_window() {
        shift = HAS_TWO_PARTS && Levels == 2 ? (uint32)LowerBits : the_window.shift;
        unit = the_window.bottom + (int)shift;
        sigma = 1.5 * power(unit + 52);
    }
    double multiple(const scaled &x) const {
        return __dadd_rn(add_number(sigma, x), -sigma);
    }
};

/* Adds an element to a sum of Levels doubles. */
template <int Levels, int LowerBits>
inline void add_to(double *sum, const levels_of_window<Levels, LowerBits> &w, const scaled &x) {
    if (Levels < 2) {
        sum[0] = add_number(sum[0], x);
    } else {
        const double first = w.multiple(x);
        sum[0] = __dadd_rn(sum[0], first);
        sum[1] = __dadd_rn(sum[1], add_number(-first, x));
    }
}
