/* Elements as values, results, and the vocabulary of core/monoids.def, after floats.comp. */

/* ---- elements as values ---- */

/* Leaving NaNs out: where there is an element that changes nothing, a NaN becomes that. Others are left to value_of_bits(),
 * the lanes and lower(). */
bool are_nan(uvec2 bits) {
    return is_float(IN) && less(infinity_bits(IN), bits & ~sign_bit(IN));
}
uvec2 without_nan(uvec2 bits) {
    return SKIPS_NAN && are_nan(bits) ? NEUTRAL_BITS : bits;
}

VALUE value_of_bits(uvec2 bits) {
#if HAS_NEUTRAL
    bits = without_nan(bits);
#endif
#if VALUE_KIND == KIND_BITS
    return bits;
#elif VALUE_KIND == KIND_U64 || VALUE_KIND == KIND_I64
    return VALUE(u64_of(extend(bits, IN)));
#elif VALUE_KIND == KIND_I32 || VALUE_KIND == KIND_U32
    const uint unused = 32u - (8u << IN_LOG);
    return is_signed(IN) ? VALUE(int(bits.x << unused) >> unused) : VALUE(bits.x);
#elif VALUE_KIND == KIND_ORDER32
    return last_if_left_out(order_of(floatBitsToInt(float_of(bits, IN))));
#elif VALUE_KIND == KIND_ORDER64
    return last_if_left_out(order_of(int64_t(u64_of(bits))));
#elif VALUE_KIND == KIND_F32
    return float_of(bits, IN);
#else
    if (is_float(IN))
        return double_of(bits, IN);
    if (IN_LOG <= 2)
        return double_of_word(extend(bits, IN).x, is_signed(IN));
    return double_of_integer(extend(bits, IN), is_signed(IN));
#endif
}

/* The address of an element, of the input's type. */
address element_at(address first, wide i) {
    return plus(first, shifted_up(i, IN_LOG));
}
address element_at(address first, uint i) {
    return plus(first, i << IN_LOG);
}

/* ---- results ---- */

wide output_of_integer(wide x, bool is_signed) {
    const bool negative = is_signed && int(x.y) < 0;
    return is_float(OUT) ? round_float(negative, negative ? minus(wide(0), x) : x, 0, OUT) : x;
}
wide output_of(uint x) {
    return output_of_integer(wide_of(x), false);
}
wide output_of(int x) {
    return output_of_integer(wide_of(x), true);
}
wide output_of(float x) {
    return convert_float(wide_of(floatBitsToUint(x)), F32, OUT);
}
#if HAS_INT64
wide output_of(uint64_t x) {
    return output_of_integer(words_of(x), false);
}
wide output_of(int64_t x) {
    return output_of_integer(words_of(uint64_t(x)), true);
}
#endif
#if HAS_DOUBLE
wide output_of(double x) {
    if (ROUNDS_TO_F32 && OUT == F32)
        return is_nan(x) ? nan_bits(F32) : wide_of(floatBitsToUint(float(x)));
    return convert_float(unpackDouble2x32(x), F64, OUT);
}
#endif

/* One result: an output element, or two. */
struct result_t {
    wide first, second;
};
result_t single(wide bits) {
    return result_t(bits, wide(0));
}

void store_result(address out_at, wide i, result_t result) {
#if PER_RESULT == 2
    const address at = plus(out_at, shifted_up(i, OUT_LOG + 1));
    store_bits(at, OUT_LOG, result.first);
    store_bits(plus(at, 1u << OUT_LOG), OUT_LOG, result.second);
#else
    store_bits(plus(out_at, shifted_up(i, OUT_LOG)), OUT_LOG, result.first);
#endif
}

/* ---- the vocabulary ---- */

int smallest_i32() {
    return IN == I8 ? -128 : IN == I16 ? -32768 : -2147483647 - 1;
}
uint largest_u32() {
    return IN == U8 ? 255u : IN == U16 ? 65535u : ~0u;
}
#if VALUE_KIND == KIND_I32
#define LOWEST  smallest_i32()
#define HIGHEST (-1 - smallest_i32())
#elif VALUE_KIND == KIND_U32
#define LOWEST  0u
#define HIGHEST largest_u32()
#elif VALUE_KIND == KIND_I64
#define LOWEST  int64_t(uint64_t(1) << 63)
#define HIGHEST int64_t((uint64_t(1) << 63) - 1)
#elif VALUE_KIND == KIND_U64
#define LOWEST  uint64_t(0)
#define HIGHEST (~uint64_t(0))
#elif VALUE_KIND == KIND_ORDER32
#define LOWEST  (LARGEST ? value_of_none() : order_of(int(0xff800000u)))
#define HIGHEST (LARGEST ? order_of(0x7f800000) : value_of_none())
#elif VALUE_KIND == KIND_ORDER64
#define LOWEST  (LARGEST ? value_of_none() : order_of(int64_t(uint64_t(0xfff00000u) << 32)))
#define HIGHEST (LARGEST ? order_of(int64_t(uint64_t(0x7ff00000u) << 32)) : value_of_none())
#elif VALUE_KIND == KIND_F32
#define LOWEST  uintBitsToFloat(0xff800000u)
#define HIGHEST uintBitsToFloat(0x7f800000u)
#else
#define LOWEST  packDouble2x32(uvec2(0, 0xfff00000u))
#define HIGHEST packDouble2x32(uvec2(0, 0x7ff00000u))
#endif
#define NO_INDEX wide(~0u)

#if VALUE_KIND == KIND_F32 || VALUE_KIND == KIND_F64
#define IS_NAN(x)   is_nan(x)
#define LESS(a, b)  is_less(a, b)
#else
#define IS_NAN(x)   false
#define LESS(a, b)  ((a) < (b))
#endif

#if VALUE_KIND == KIND_F32
float absolute(float x) {
    return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
}
#elif VALUE_KIND == KIND_F64
double absolute(double x) {
    return packDouble2x32(magnitude_bits(x));
}
#else
/* x may be a signed number in an unsigned type. */
VALUE absolute(VALUE x) {
#if VALUE_KIND == KIND_U32
    return is_signed(IN) && int(x) < 0 ? 0u - x : x;
#elif VALUE_KIND == KIND_U64
    return is_signed(IN) && int64_t(x) < 0 ? uint64_t(0) - x : x;
#else
    return x;
#endif
}
#endif

#if VALUE_KIND == KIND_BITS
/* -0 is zero. */
uint is_nonzero(uvec2 bits) {
    return (is_float(IN) ? bits & ~sign_bit(IN) : bits) != uvec2(0) ? 1u : 0u;
}
#else
/* One of two, of which NaNs decide unless they are left out. Everything is asked first: a compiler may make a branch of
 * each question that depends on another. */
VALUE preferred(VALUE a, VALUE b, bool is_before) {
    const bool a_decides = SKIPS_NAN ? IS_NAN(b) : IS_NAN(a), b_decides = SKIPS_NAN ? IS_NAN(a) : IS_NAN(b);
    const bool is_first = is_before && !b_decides;
    return a_decides || is_first ? a : b;
}
VALUE smaller(VALUE a, VALUE b) {
    return preferred(a, b, LESS(a, b));
}
VALUE larger(VALUE a, VALUE b) {
#if MAGNITUDES && VALUE_KIND == KIND_F32
    return uintBitsToFloat(max(floatBitsToUint(a), floatBitsToUint(b))); /* of all magnitudes NaNs' bits are the largest */
#elif MAGNITUDES && VALUE_KIND == KIND_F64
    return less(unpackDouble2x32(a), unpackDouble2x32(b)) ? b : a;
#else
    return preferred(a, b, LESS(b, a));
#endif
}
/* Whether v at index i goes before w at j: a NaN before all, equals by index. */
bool goes_first(bool beats, bool loses, VALUE v, wide i, VALUE w, wide j) {
    const bool a = IS_NAN(v), b = IS_NAN(w);
    return a != b ? a : !a && beats || (a || !loses) && less(i, j);
}
#endif

#define ABS(x)                 absolute(x)
#define MIN(a, b)              smaller(a, b)
#define MAX(a, b)              larger(a, b)
#define IS_NONZERO(x)          is_nonzero(x)
#define BEFORE_MIN(v, i, w, j) goes_first(LESS(v, w), LESS(w, v), v, i, w, j)
#define BEFORE_MAX(v, i, w, j) goes_first(LESS(w, v), LESS(v, w), v, i, w, j)
#define SQRT(x)                sqrt(x)
#define RATIO(p, q)            ratio(p, q)
#define SUM_OF_EXPS(m, s, n, t) sum_of_exps(m, s, n, t)
#define LOG(x)                 log_of(x)
#define IS_FINITE(x)           is_finite(x)
#define ZERO_OR_NAN(x)         (is_finite(x) ? 0.0lf : NOT_A_NUMBER)
#if VALUE_KIND == KIND_F32
#define NOT_A_NUMBER           uintBitsToFloat(nan_bits(F32).x)
#else
#define NOT_A_NUMBER           packDouble2x32(nan_bits(F64))
#endif

#if VALUE_KIND == KIND_U64
#define WORD(x)        (x)
#define SIGN(x)        (is_signed(IN) && int64_t(x) < 0 ? ~uint64_t(0) : uint64_t(0))
#define HIGH_SQUARE(x) high_square(absolute(x))
#define CARRY(a, b)    ((a) + (b) < (a) ? uint64_t(1) : uint64_t(0))

/* The upper 64 bits of x * x = h h 2^64 + h l 2^33 + l l. */
uint64_t high_square(uint64_t x) {
    const wide w = words_of(x);
    const uint64_t hl = u64_of(times(w.y, w.x)), ll = u64_of(times(w.x, w.x));
    return u64_of(times(w.y, w.y)) + (hl >> 31) + ((hl << 33) + ll < ll ? uint64_t(1) : uint64_t(0));
}
#endif

#if VALUE_KIND == KIND_F64
/* Without a branch, so that a compiler divides once where a monoid's text asks for the same ratio several times. */
double ratio(double p, double q) {
    return p / (q == 0 ? 1.0lf : q);
}

/* e^x for x <= 0; of what is below 2^-1021 it is 0. x = n log(2) + r with |r| <= log(2) / 2. The polynomial of e^r, by
 * Lawson's algorithm, has an error of 2^-58. GLSL has neither exp nor log for doubles. */
double exp_below(double x) {
    precise const double shifted = fma(x, 1.4426950408889634lf, 6755399441055744.0lf);
    precise const double n = shifted - 6755399441055744.0lf;
    const double r = fma(n, -2.3190468138462996e-17lf, fma(n, -0.6931471805599453lf, x));
    double sum = 2.5005291169824334e-08lf;
    sum = fma(sum, r, 2.763024041358173e-07lf);
    sum = fma(sum, r, 2.7557569731166098e-06lf);
    sum = fma(sum, r, 2.480149311778523e-05lf);
    sum = fma(sum, r, 0.00019841269525138695lf);
    sum = fma(sum, r, 0.0013888888943609685lf);
    sum = fma(sum, r, 0.008333333333486102lf);
    sum = fma(sum, r, 0.04166666666653031lf);
    sum = fma(sum, r, 0.16666666666666424lf);
    sum = fma(sum, r, 0.5000000000000011lf);
    sum = fma(sum, r, 1.0lf);
    sum = fma(sum, r, 1.0lf);
    const uint high = unpackDouble2x32(x).y; /* of -707 and below, but NaN: 0 */
    const bool is_0 = high >= 0xc0861800u && high <= 0xfff00000u;
    return is_0 ? 0.0lf : sum * packDouble2x32(uvec2(0, unpackDouble2x32(shifted).x + 1023 << 20));
}
double sum_of_exps(double m, double s, double n, double t) {
    const double e = m == n ? 1.0lf : exp_below(m < n ? m - n : n - m);
    return m < n ? s * e + t : s + t * e;
}
/* log(m 2^e) = e log(2) + 2 artanh((m - 1) / (m + 1)), m between sqrt(1/2) and sqrt(2). Subnormals do not come. */
double log_of(double x) {
    if (is_nan(x) || x < 0)
        return packDouble2x32(nan_bits(F64));
    if (x == 0)
        return LOWEST;
    const uvec2 bits = unpackDouble2x32(x);
    if (!is_finite(x))
        return x;
    int e = int(bits.y >> 20) - 1023;
    double m = packDouble2x32(uvec2(bits.x, bits.y & 0xfffffu | 1023u << 20));
    if (m > 1.4142135623730951lf) {
        m *= 0.5lf;
        e++;
    }
    const double s = (m - 1.0lf) / (m + 1.0lf), z = s * s;
    double sum = 0.043478260869565216lf; /* 1/23, 1/21 ... */
    sum = fma(sum, z, 0.047619047619047616lf);
    sum = fma(sum, z, 0.05263157894736842lf);
    sum = fma(sum, z, 0.058823529411764705lf);
    sum = fma(sum, z, 0.06666666666666667lf);
    sum = fma(sum, z, 0.07692307692307693lf);
    sum = fma(sum, z, 0.09090909090909091lf);
    sum = fma(sum, z, 0.1111111111111111lf);
    sum = fma(sum, z, 0.14285714285714285lf);
    sum = fma(sum, z, 0.2lf);
    sum = fma(sum, z, 0.3333333333333333lf);
    sum = fma(sum, z, 1.0lf);
    return double(e) * 6.93147180369123816490e-01lf + (double(e) * 1.90821492927058770002e-10lf + 2.0lf * s * sum);
}
#elif VALUE_KIND == KIND_F32
float ratio(float p, float q) {
    return p / (q == 0 ? 1.0 : q);
}
/* Devices' powers of 2 have errors of some 2^-22; their logarithms have too large ones near 1. */
float exp_below(float x) {
    return exp2(x * 1.44269504);
}
float sum_of_exps(float m, float s, float n, float t) {
    const float e = m == n ? 1.0 : exp_below(m < n ? m - n : n - m);
    return m < n ? s * e + t : s + t * e;
}
/* As of doubles. */
float log_of(float x) {
    const uint bits = floatBitsToUint(x);
    if (is_nan(x) || int(bits) < 0)
        return NOT_A_NUMBER;
    if (bits == 0 || bits == 0x7f800000u)
        return bits == 0 ? LOWEST : x;
    int e = int(bits >> 23) - 127;
    float m = uintBitsToFloat(bits & 0x7fffffu | 127u << 23);
    if (m > 1.41421354) {
        m *= 0.5;
        e++;
    }
    const float s = (m - 1.0) / (m + 1.0), z = s * s;
    float sum = 0.111111112;
    sum = fma(sum, z, 0.142857149);
    sum = fma(sum, z, 0.2);
    sum = fma(sum, z, 0.333333343);
    return float(e) * 0.693145752 + (float(e) * 1.42860677e-06 + 2.0 * fma(s * z, sum, s));
}
#endif

#if CHOOSES
bool goes_before(VALUE a, VALUE b) {
    return LARGEST ? a > b : a < b;
}
#endif
