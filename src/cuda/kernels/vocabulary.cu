/* The vocabulary of core/monoids.def, and accumulators that lanes exchange and that lie in memory. */

template <class T> struct range;
#define RANGE(T, lowest_value, highest_value)                                                                          \
    template <> struct range<T> {                                                                                      \
        static T lowest() {                                                                                            \
            return lowest_value;                                                                                       \
        }                                                                                                              \
        static T highest() {                                                                                           \
            return highest_value;                                                                                      \
        }                                                                                                              \
    };
RANGE(int8, -128, 127)
RANGE(int16, -32768, 32767)
RANGE(int32, -2147483647 - 1, 2147483647)
RANGE(int64, -9223372036854775807ll - 1, 9223372036854775807ll)
RANGE(uint8, 0, 255)
RANGE(uint16, 0, 65535)
RANGE(uint32, 0, 4294967295u)
RANGE(uint64, 0, 18446744073709551615ull)
RANGE(float, -__int_as_float(0x7f800000), __int_as_float(0x7f800000))
RANGE(double, -__longlong_as_double(0x7ff0000000000000ll), __longlong_as_double(0x7ff0000000000000ll))
template <class T> constexpr T GREATEST_FINITE = 0x1.fffffep127f;
template <> constexpr double GREATEST_FINITE<double> = 0x1.fffffffffffffp1023;

/* T is the type of the component that an expression is for. */
#define HIGHEST  range<T>::highest()
#define LOWEST   range<T>::lowest()
#define NO_INDEX 18446744073709551615ull

template <class T> inline bool is_nan(T x) {
    return x != x;
}
/* With EXACT_EXTREMUM, -0 is below +0, as IEEE 754-2019's minimum and maximum have it. */
template <class T> inline bool is_negative(T) {
    return false;
}
inline bool is_negative(float x) {
    return __float_as_int(x) < 0;
}
inline bool is_negative(double x) {
    return __double_as_longlong(x) < 0;
}
template <class T> inline T smaller(T a, T b) {
    return a < b || is_nan(NAN_IS_IDENTITY ? b : a) || (EXACT_EXTREMUM && a == b && is_negative(a)) ? a : b;
}
template <class T> inline T larger(T a, T b) {
    return a > b || is_nan(NAN_IS_IDENTITY ? b : a) || (EXACT_EXTREMUM && a == b && !is_negative(a)) ? a : b;
}
#if TALLY_ARCHITECTURE >= 80
inline float smaller(float a, float b) {
    return NAN_IS_IDENTITY ? min_of_numbers(a, b) : min_or_nan(a, b);
}
inline float larger(float a, float b) {
    return NAN_IS_IDENTITY ? max_of_numbers(a, b) : max_or_nan(a, b);
}
#endif
/* Whether v at index i goes before w at j: a NaN before all, or behind all if it is the identity; equals by index. */
template <class T> inline bool goes_first(bool beats, bool loses, T v, uint64 i, T w, uint64 j) {
    bool a = is_nan(v), b = is_nan(w);
    return a != b ? a != NAN_IS_IDENTITY : beats || (!loses && i < j);
}

inline float absolute(float x) {
    return fabsf(x);
}
inline double absolute(double x) {
    return fabs(x);
}
inline uint8 absolute(int8 x) {
    return (uint8)(x < 0 ? 0 - (uint8)x : x);
}
inline uint16 absolute(int16 x) {
    return (uint16)(x < 0 ? 0 - (uint16)x : x);
}
inline uint32 absolute(int32 x) {
    return x < 0 ? 0u - (uint32)x : (uint32)x;
}
inline uint64 absolute(int64 x) {
    return x < 0 ? 0ull - (uint64)x : (uint64)x;
}
template <class T> inline T absolute(T x) {
    return x;
}

/* As many of a word's lowest bits as 'bits' says, which may be below 0 or above 32. */
inline uint32 lowest_bits(int bits) {
    return __funnelshift_lc(~0u, 0, bits < 0 ? 0 : bits);
}
/* A whole number of up to 32 bits as the low bits of 2^52, without a conversion, of which a processor makes a quarter
 * as many as of additions. */
inline double small_number(uint32 x) {
    return __longlong_as_double(0x4330000000000000ll | x) - 0x1p52;
}
/* 1 / x of a normal number whose reciprocal is one, to an ulp. A division would also handle all others, by a branch. */
inline double reciprocal(double x) {
    const double r = reciprocal_nearby(x), rest = __fma_rn(-x, r, 1.0);
    return __fma_rn(__fma_rn(rest, rest, rest), r, r);
}
/* p / q, given 1 / q of a q as above: rounded as a division is, or wrong by an ulp or two. An infinite p stays, unless
 * p is known to be finite. */
template <bool IsRounded, bool IsFinite = false> inline double divided(double p, double q, double r) {
    const double near = p * r;
    if (!IsRounded)
        return near;
    const double nearest = __fma_rn(__fma_rn(-q, near, p), r, near);
    return !IsFinite && is_nan(nearest) ? near : nearest;
}
/* The same of a q as above, or of two zeros, for which it is 0. */
template <bool IsRounded> inline double ratio(double p, double q) {
    q = __double2hiint(q) == 0 ? 1 : q;
    return divided<IsRounded>(p, q, reciprocal(q));
}
/* The square root, without a branch, so several roots overlap. */
template <bool IsRounded> inline double root(double x) {
    if (IsRounded) { /* as IEEE's, by the steps of the device's own, which takes a branch where they would overflow */
        const bool is_small = x < 0x1p-900;
        const double scaled = is_small ? x * 0x1p200 : x, r = inverse_root_nearby(scaled);
        const double rest = __fma_rn(scaled, -(r * r), 1.0);
        const double nearer = __fma_rn(__fma_rn(rest, 0.375, 0.5), rest * r, r), near = scaled * nearer;
        const double nearest = __fma_rn(__fma_rn(-near, near, scaled), 0.5 * nearer, near);
        return x > 0 && x <= GREATEST_FINITE<double> ? is_small ? nearest * 0x1p-100 : nearest : x;
    }
    /* To an ulp, by two of Newton's steps from an approximation. Roots of numbers below 1e-280 or above 1e300 are no
     * good, but zero or infinite in a narrower type all the same. */
    const double bounded = x > 1e300 ? 1e300 : x, r = inverse_root_nearby(bounded + 1e-300), half_r = 0.5 * r;
    const double near = bounded * r, nearer = __fma_rn(__fma_rn(-near, near, bounded), half_r, near);
    return __fma_rn(__fma_rn(-nearer, nearer, bounded), half_r, nearer);
}
template <bool IsRounded> inline float root(float x) {
    const float r = inverse_root_nearby(x), near = x * r;
    const float nearer = __fmaf_rn(__fmaf_rn(-near, near, x), 0.5f * r, near);
    return x > 0 && x <= GREATEST_FINITE<float> ? nearer : x;
}

/* e^x for x <= 0. The hardware's powers of 2 have errors of about 2^-23; below 2^-126 they are 0. */
inline float exp_below(float x) {
    return power_of_2(x * 1.4426950408889634f);
}
inline float exp_nearby(float x) {
    return exp_below(x);
}
/* Coefficients of polynomials, from the highest on. From constant memory an instruction takes one as it is; otherwise it
 * would take two more to make each. */
static __constant__ double exp_terms[] = {0x1.ad966effa95afp-26, 0x1.28ad6d313b05bp-22, 0x1.71df16aea034cp-19,
                                          0x1.a0199a11b7d4fp-16, 0x1.a01a0130df71bp-13, 0x1.6c16c18427c50p-10,
                                          0x1.1111111126912p-7,  0x1.5555555550892p-5,  0x1.55555555554fep-3,
                                          0x1.000000000000ap-1};
static __constant__ double of_exponent[] = {0x1.71547652b82fep0, -0x1.62e42fefa39efp-1, -0x1.abc9e3b39803fp-56};
static __constant__ double log_terms[] = {0x1.2f06fc88e789dp-3, 0x1.39a198aaf4637p-3, 0x1.74663ff61e861p-3,
                                          0x1.c71c5205981b7p-3, 0x1.24924941f4022p-2, 0x1.999999997fda6p-2,
                                          0x1.5555555555592p-1};

/* x = n ln 2 + r with |r| <= ln(2) / 2, and a polynomial of e^r, which is 1 + r + ... with an error of 2^-58 (by
 * Lawson's algorithm). The error is 0.6 of an ulp; below 2^-1021 the power is 0. The library's exp is as good and takes
 * branches for larger x. */
template <bool IsNear> inline double exp_of(double x) {
    const double shifted = __fma_rn(x, of_exponent[0], 0x1.8p52), n = shifted - 0x1.8p52;
    const double r = __fma_rn(n, of_exponent[2], __fma_rn(n, of_exponent[1], x));
    double sum = exp_terms[0];
#pragma unroll
    for (int k = 1; k < (int)(sizeof exp_terms / sizeof *exp_terms); k++)
        sum = __fma_rn(sum, r, exp_terms[k]);
    sum = __fma_rn(sum, r, 1.0);
    sum = __fma_rn(sum, r, 1.0);
    const double power = __longlong_as_double((__double_as_longlong(shifted) + 1023) << 52);
    const bool is_0 = (uint32)__double2hiint(x) - 0xc0861800u <= 0xfff00000u - 0xc0861800u; /* -infinity <= x <= -707 */
    return !IsNear && is_0 ? 0 : sum * power;
}
inline double exp_below(double x) {
    return exp_of<false>(x);
}
/* The same of -700 < x < 700. */
inline double exp_nearby(double x) {
    return exp_of<true>(x);
}
/* With the larger one's exponential 1, an error of the other's weighs little. */
template <class T> inline T sum_of_exps(T m, T s, T n, T t) {
    const T away = m < n ? m - n : n - m, e = exp_below(m == n ? T(0) : away); /* both may be infinite */
    return m < n ? s * e + t : s + t * e;
}
/* The logarithm of a normal number. x = 2^n m with m from sqrt(1/2) to sqrt(2), and log m = 2 atanh f with f = (m - 1) / (m + 1), by a polynomial with an
 * error of 2^-59 (by Lawson's algorithm). The error is an ulp or two. The library's log takes branches, so no two of them
 * would overlap. */
inline double log_of_normal(double x) {
    const int shifted = __double2hiint(x) - 0x3fe6a09e, n = shifted >> 20;
    const double m = __hiloint2double((shifted & 0xfffff) + 0x3fe6a09e, __double2loint(x));
    const double f = (m - 1) * reciprocal(m + 1), z = f * f;
    double sum = log_terms[0];
#pragma unroll
    for (int k = 1; k < (int)(sizeof log_terms / sizeof *log_terms); k++)
        sum = __fma_rn(sum, z, log_terms[k]);
    const double exponent = small_number((uint32)(n + 1024)) - 1024;
    const double log_m = f + __fma_rn(f, z * sum, __fma_rn(exponent, -of_exponent[2], f));
    const double log_x = __fma_rn(exponent, -of_exponent[1], log_m);
    return log_x;
}
/* Scans and groups have so many logarithms that they take the hardware's, whose error is 2^-22. */
inline float logarithm(float x) {
    return IS_SCAN || GROUPS == SEGMENTS || GROUPS == KEYS ? log2_nearby(x) * 0.6931471805599453f : log(x);
}
inline double logarithm(double x) {
#if (IS_SCAN || GROUPS == SEGMENTS || GROUPS == KEYS || GROUPS == ROWS) && IS_LOGSUMEXP /* a sum of exponentials of which the largest is 1, if it is not 0, infinite or NaN */
    const double near = log_of_normal(x);
    return x > 0 && x <= GREATEST_FINITE<double> ? near : x == 0 ? range<double>::lowest() : x;
#else
    return log(x);
#endif
}

/* The bits above an integer's. */
inline uint64 sign_of(int64 x) {
    return (uint64)(x >> 63);
}
inline uint64 sign_of(uint64) {
    return 0;
}

#define MIN(a, b)               smaller(a, b)
#define MAX(a, b)               larger(a, b)
#define ABS(x)                  absolute(x)
#define IS_NONZERO(x)           ((x) != 0)
#define SQRT(x)                 root<sizeof(out_t) == 8>(x)
#define LOG(x)                  logarithm(x)
#define IS_FINITE(x)            ((x) - (x) == 0)
#define ZERO_OR_NAN(x)          ((x) - (x))
#define NOT_A_NUMBER            __longlong_as_double(0x7ff8000000000000ll)
#define BEFORE_MIN(v, i, w, j)  goes_first((v) < (w), (w) < (v), v, i, w, j)
#define BEFORE_MAX(v, i, w, j)  goes_first((v) > (w), (w) > (v), v, i, w, j)
#define RATIO(p, q)             ratio<sizeof(out_t) == 8>(p, q)
/* of integers, a cannot be infinite; n is not 0 */
#define MEAN_OF(a, n)           divided<sizeof(out_t) == 8, value_t(0.5) == value_t(0)>(a, n, reciprocal(n))
#define SUM_OF_EXPS(m, s, n, t) sum_of_exps(m, s, n, t)
#define WORD(x)                 ((uint64)(x))
#define SIGN(x)                 sign_of(x)
#define HIGH_SQUARE(x)          __umul64hi(absolute(x), absolute(x))
#define CARRY(a, b)             ((uint64)((a) + (b) < (a)))

/* ---- accumulators ---- */

/* Moves a value to another lane word by word, as shuffles take at most 32 bits: large values in a loop, to keep the
 * code short. */
template <class T, class Move> inline T by_words(T value, Move move) {
    constexpr int words = (sizeof(T) + 3) / 4, at_once = words <= 16 ? words : 1;
    uint32 word[words];
    memcpy(word, &value, sizeof(T));
#pragma unroll at_once
    for (int w = 0; w < words; w++)
        word[w] = move(word[w]);
    memcpy(&value, word, sizeof(T));
    return value;
}
template <class T> inline T from_above(T value, int distance) {
    return by_words(value, [=](uint32 w) { return __shfl_down_sync(ALL_LANES, w, distance); });
}
template <class T> inline T from_below(T value, int distance) {
    return by_words(value, [=](uint32 w) { return __shfl_up_sync(ALL_LANES, w, distance); });
}
template <class T> inline T from_across(T value, int distance) {
    return by_words(value, [=](uint32 w) { return __shfl_xor_sync(ALL_LANES, w, distance); });
}
template <class T> inline T from_lane(T value, int lane) {
    return by_words(value, [=](uint32 w) { return __shfl_sync(ALL_LANES, w, lane); });
}

/* The bits that any lane has. All lanes call this. */
inline uint32 or_lanes(uint32 value) {
#if TALLY_ARCHITECTURE >= 80
    return __reduce_or_sync(ALL_LANES, value);
#else
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        value |= __shfl_xor_sync(ALL_LANES, value, d);
    return value;
#endif
}

/* An accumulator in global memory: SLOT_BYTES bytes, a multiple of 4 and of its alignment. It is read past the
 * first-level cache, which other blocks' writes do not reach. */
template <class T, int Bytes> struct alignas(Bytes % 16 == 0 ? 16 : Bytes % 8 == 0 ? 8 : 4) slot_of {
    typedef typename word_of<Bytes % 16 == 0 ? 16 : Bytes % 8 == 0 ? 8 : 4>::type access;
    enum { ACCESSES = Bytes / sizeof(access) };
    uint32 word[Bytes / 4];

    T read() const {
        access copy[ACCESSES];
#pragma unroll
        for (int k = 0; k < ACCESSES; k++)
            copy[k] = __ldcg((const access *)word + k);
        T value;
        memcpy(&value, copy, sizeof(T));
        return value;
    }
    void write(T value) {
        access copy[ACCESSES] = {};
        memcpy(copy, &value, sizeof(T));
#pragma unroll
        for (int k = 0; k < ACCESSES; k++)
            __stcg((access *)word + k, copy[k]);
    }
};
