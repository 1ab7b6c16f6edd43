/* What every kernel of this folder starts from: elements in memory, conversions, and the vocabulary of
 * core/monoids.def. Before this text specialize.c puts the version, the extensions and the choices:
 *
 *   VALUE, VALUE_KIND  what elements are computed with, and which of the KIND_ symbols it is
 *   HAS_DOUBLE         1 where VALUE or an accumulator is a double
 *   TWO_INPUTS         true for dot
 *   UNROLL             vectors that a thread of a reduction has on their way
 *   UNROLLED           before loops over these: where they stay loops, vectors lie in memory. Nothing for monoids whose
 *                      text is long, a user's too
 *   MOST_COLUMNS       neighbouring columns a thread, in fold_columns
 *   CHOOSES            1 for monoids that choose an element, LARGEST or smallest, or, if it GIVES_INDEX, its place
 *
 * and after it the types and functions of one monoid:
 *
 *   acc_t, lane_t      an accumulator, and a narrower one for LANE_LIMIT elements
 *   identity(), lift(x, y, i), combine(a, b), lane_identity(), lane_lift(), widen(lane), lower(acc, n, start),
 *   raise(bits)
 *
 * The types of elements are specialization constants, or, where these are 0, told with each run. Memory is reached by
 * address, in words of 32 bits: so elements of any size may lie anywhere, and no feature for small types is needed.
 * Nothing here depends on the size of subgroups. */
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint IN_GIVEN = 0;
layout(constant_id = 2) const uint OUT_GIVEN = 0;
layout(constant_id = 3) const uint INDEX_GIVEN = 0;
layout(constant_id = 4) const uint OPERATOR_GIVEN = 0; /* and 1 */
layout(constant_id = 5) const uint FORM_GIVEN = 0;     /* FORM_ symbols, and 1 */

/* What a run tells: IN + 16 * OUT + 256 * INDEX + 4096 * (OPERATOR + 1) + 2^20 * (FORM + 1), and ddof. */
uint told_types;
int told_ddof;

#define IN       (IN_GIVEN != 0 ? IN_GIVEN : told_types & 15u)
#define OUT      (OUT_GIVEN != 0 ? OUT_GIVEN : told_types >> 4 & 15u)
#define INDEX    (INDEX_GIVEN != 0 ? INDEX_GIVEN : told_types >> 8 & 15u)
#define OPERATOR ((OPERATOR_GIVEN != 0 ? OPERATOR_GIVEN : told_types >> 12 & 255u) - 1u)
#define FORM     ((FORM_GIVEN != 0 ? FORM_GIVEN : told_types >> 20) - 1u)

/* Bits of a form. */
#define INCLUSIVE  ((FORM & 1u) != 0)
#define REVERSE    ((FORM & 2u) != 0)
#define IS_SCAN    ((FORM & 4u) != 0)
#define BY_KEYS    ((FORM & 8u) != 0)
#define BLOCK    gl_WorkGroupSize.x
#define THREAD   gl_LocalInvocationID.x

/* More than 65535 workgroups take a second dimension. */
uint64_t group_number() {
    return uint64_t(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}
uint64_t group_count() {
    return uint64_t(gl_NumWorkGroups.y) * gl_NumWorkGroups.x;
}

/* ---- types ---- */

/* Two bits a type: the logarithm of its bytes. */
uint log_bytes(uint type) {
    const uint logs = 0u << 2 | 1u << 4 | 2u << 6 | 3u << 8 | 0u << 10 | 1u << 12 | 2u << 14 | 3u << 16 | 1u << 18 |
                      1u << 20 | 2u << 22 | 3u << 24;
    return logs >> 2u * type & 3u;
}
bool is_signed(uint type) {
    return type <= I64;
}
bool is_float(uint type) {
    return type >= F16;
}
#define IN_LOG  log_bytes(IN)
#define OUT_LOG log_bytes(OUT)

uint64_t u64_of(uvec2 bits) {
    return packUint2x32(bits);
}
uvec2 words_of(uint64_t bits) {
    return unpackUint2x32(bits);
}
/* The bits of an integer, extended to 64; what is above them in a word is ignored. */
uint64_t extend(uvec2 bits, uint type) {
    if (log_bytes(type) == 3)
        return u64_of(bits);
    const uint unused = 32u - (8u << log_bytes(type));
    if (!is_signed(type))
        return uint64_t(bits.x << unused >> unused);
    return uint64_t(int64_t(int(bits.x << unused) >> unused));
}

/* ---- memory ---- */

layout(buffer_reference, std430, buffer_reference_align = 4) buffer one_word {
    uint word;
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer four_words {
    uvec4 words;
};

uint load_word(uint64_t at) {
    return one_word(at).word;
}

/* 1 << log bytes from any address. Words that hold none of them are not touched. */
uvec2 load_bits(uint64_t at, uint log) {
    const uint byte = uint(at) & 3u, shift = 8u * byte, back = 31u - shift;
    const uint64_t from = at & ~uint64_t(3);
    const uint w0 = load_word(from);
    if (log == 0)
        return uvec2(w0 >> shift & 255u, 0);
    const uint w1 = byte + (1u << log) > 4 ? load_word(from + 4) : 0;
    const uint low = w0 >> shift | w1 << 1 << back;
    if (log == 1)
        return uvec2(low & 65535u, 0);
    if (log == 2)
        return uvec2(low, 0);
    const uint w2 = byte != 0 ? load_word(from + 8) : 0;
    return uvec2(low, w1 >> shift | w2 << 1 << back);
}

/* 16 bytes, from any address. */
uvec4 load_vector(uint64_t at) {
    if ((uint(at) & 15u) == 0)
        return four_words(at).words;
    if ((uint(at) & 3u) == 0)
        return uvec4(load_word(at), load_word(at + 4), load_word(at + 8), load_word(at + 12));
    const uvec2 a = load_bits(at, 3), b = load_bits(at + 8, 3);
    return uvec4(a, b);
}

/* The k-th element of a vector. */
uvec2 pick(uvec4 vector, uint k, uint log) {
    if (log == 3)
        return k == 0 ? vector.xy : vector.zw;
    const uint word = vector[k << log >> 2];
    if (log == 2)
        return uvec2(word, 0);
    return log == 1 ? uvec2(word >> 16u * (k & 1u) & 65535u, 0) : uvec2(word >> 8u * (k & 3u) & 255u, 0);
}

/* Some bits of a word whose others may be another invocation's. */
void merge_word(uint64_t at, uint mask, uint bits) {
    if (mask == ~0u) {
        one_word(at).word = bits;
    } else if (mask != 0) {
        atomicAnd(one_word(at).word, ~mask);
        atomicOr(one_word(at).word, bits & mask);
    }
}
void merge_bytes(uint64_t at, uint mask, uint bits) {
    const uint shift = 8u * (uint(at) & 3u), back = 31u - shift;
    const uint64_t to = at & ~uint64_t(3);
    merge_word(to, mask << shift, bits << shift);
    if ((mask >> 1 >> back) != 0)
        merge_word(to + 4, mask >> 1 >> back, bits >> 1 >> back);
}
void store_bits(uint64_t at, uint log, uvec2 bits) {
    merge_bytes(at, log == 0 ? 255u : log == 1 ? 65535u : ~0u, bits.x);
    if (log == 3)
        merge_bytes(at + 4, ~0u, bits.y);
}
void store_vector(uint64_t at, uvec4 vector) {
    if ((uint(at) & 15u) == 0) {
        four_words(at).words = vector;
    } else {
        store_bits(at, 3, vector.xy);
        store_bits(at + 8, 3, vector.zw);
    }
}

/* ---- floats by their bits: no rounding mode and no flushing of subnormals has a say ---- */

uint significand_bits(uint type) {
    return type == F16 ? 11u : type == BF16 ? 8u : type == F32 ? 24u : 53u;
}
int lowest_exponent(uint type) {
    return type == F16 ? -24 : type == BF16 ? -133 : type == F32 ? -149 : -1074;
}
uint64_t infinity_bits(uint type) {
    const uint high = type == F16 ? 0x7c00u : type == BF16 ? 0x7f80u : type == F32 ? 0x7f800000u : 0x7ff00000u;
    return type == F64 ? uint64_t(high) << 32 : uint64_t(high);
}
int top_bit(uint64_t x) {
    const uvec2 words = words_of(x);
    return words.y != 0 ? findMSB(words.y) + 32 : findMSB(words.x);
}

/* m * 2^exponent in the bits of a type, rounded once to nearest, ties to even. */
uint64_t round_float(bool negative, uint64_t m, int exponent, uint type) {
    const int digits = int(significand_bits(type));
    const uint64_t sign = negative ? uint64_t(1) << ((8u << log_bytes(type)) - 1u) : uint64_t(0);
    if (m == 0)
        return sign;
    const int unit = max(exponent + top_bit(m) + 1 - digits, lowest_exponent(type)), drop = unit - exponent;
    uint64_t kept = 0;
    if (drop <= 0) {
        kept = m << -drop;
    } else if (drop <= 64) {
        const uint64_t half_unit = uint64_t(1) << (drop - 1), rest = m & (half_unit + half_unit - 1);
        kept = drop == 64 ? uint64_t(0) : m >> drop;
        if (rest > half_unit || (rest == half_unit && (kept & 1) != 0))
            kept++;
    }
    const uint64_t bits = (uint64_t(unit - lowest_exponent(type)) << (digits - 1)) + kept;
    return sign | min(bits, infinity_bits(type));
}

/* From one float type to another. */
uint64_t convert_float(uint64_t bits, uint from, uint to) {
    if (from == to)
        return bits;
    const uint stored = significand_bits(from) - 1u;
    const bool negative = (bits >> ((8u << log_bytes(from)) - 1u) & 1) != 0;
    const uint64_t magnitude = bits & ~(uint64_t(1) << ((8u << log_bytes(from)) - 1u)), inf = infinity_bits(from);
    if (magnitude > inf)
        return infinity_bits(to) | uint64_t(1) << (significand_bits(to) - 2u);
    if (magnitude == inf)
        return infinity_bits(to) | (negative ? uint64_t(1) << ((8u << log_bytes(to)) - 1u) : uint64_t(0));
    const int field = int(magnitude >> stored);
    uint64_t m = magnitude & ((uint64_t(1) << stored) - 1);
    if (field != 0)
        m |= uint64_t(1) << stored;
    return round_float(negative, m, lowest_exponent(from) + max(field, 1) - 1, to);
}

float float_of(uvec2 bits, uint type) {
    if (type == F32)
        return uintBitsToFloat(bits.x);
    if (type == BF16)
        return uintBitsToFloat(bits.x << 16);
    const uint sign = (bits.x & 0x8000u) << 16, magnitude = bits.x & 0x7fffu;
    if (magnitude >= 0x7c00u)
        return uintBitsToFloat(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u)
        return uintBitsToFloat(sign | (magnitude + 0x1c000u) << 13);
    const float subnormal = float(magnitude) * 5.9604644775390625e-8;
    return sign != 0 ? -subnormal : subnormal;
}
bool is_nan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
/* Integers in the order of floats, the zeros equal. */
int rank_of(float x) {
    const int bits = floatBitsToInt(x);
    return bits < 0 ? -(bits & 0x7fffffff) : bits;
}

#if HAS_DOUBLE
double double_of_bits(uint64_t bits) {
    return packDouble2x32(words_of(bits));
}
uint64_t bits_of_double(double x) {
    return u64_of(unpackDouble2x32(x));
}
double double_of(uvec2 bits, uint type) {
    if (type == F64)
        return packDouble2x32(bits);
    if (type == F16)
        return double(float_of(bits, type));
    const uint word = type == BF16 ? bits.x << 16 : bits.x;
    if ((word & 0x7f800000u) == 0) { /* the hardware may flush it */
        const double subnormal = double(word & 0x7fffffu) * 1.40129846432481707092e-45lf;
        return double_of_bits(bits_of_double(subnormal) | uint64_t(word & 0x80000000u) << 32);
    }
    return double(uintBitsToFloat(word));
}
bool is_nan(double x) {
    return (bits_of_double(x) & ~(uint64_t(1) << 63)) > uint64_t(0x7ff00000u) << 32;
}
bool is_finite(double x) {
    return (bits_of_double(x) & ~(uint64_t(1) << 63)) < uint64_t(0x7ff00000u) << 32;
}
int64_t rank_of(double x) {
    const int64_t bits = int64_t(bits_of_double(x));
    return bits < 0 ? -(bits & int64_t(~(uint64_t(1) << 63))) : bits;
}
#endif

/* ---- floats in their order, as integers: NaNs before all else, and where places are asked for, the zeros equal ---- */

#if VALUE_KIND == KIND_ORDER32
#define LEAST (-2147483647 - 1)
#define MOST  2147483647
int order_of_number(int bits) {
    return bits >= 0 ? bits : GIVES_INDEX ? LEAST - bits : bits ^ MOST;
}
int order_of(int bits) {
    return (bits & MOST) > 0x7f800000 ? LARGEST ? MOST : LEAST : order_of_number(bits);
}
int ordered_of_bits(uint64_t from, uint type) {
    return order_of(int(words_of(convert_float(from, type, F32)).x));
}
uint64_t output_of_ordered(int order) {
    return convert_float(uint64_t(uint(order >= 0 ? order : ~order | LEAST)), F32, OUT);
}
#elif VALUE_KIND == KIND_ORDER64
#define LEAST int64_t(uint64_t(1) << 63)
#define MOST  int64_t(~(uint64_t(1) << 63))
int64_t order_of(int64_t bits) {
    const int64_t magnitude = bits & MOST, order = bits >= 0 ? bits : GIVES_INDEX ? -magnitude : ~magnitude;
    return magnitude > int64_t(infinity_bits(F64)) ? LARGEST ? MOST : LEAST : order;
}
int64_t ordered_of_bits(uint64_t from, uint type) {
    return order_of(int64_t(convert_float(from, type, F64)));
}
uint64_t output_of_ordered(int64_t order) {
    return convert_float(uint64_t(order >= 0 ? order : ~order | LEAST), F64, OUT);
}
#elif CHOOSES
#define LEAST LOWEST
#define MOST  HIGHEST
#endif

/* ---- elements as values ---- */

VALUE value_of_bits(uvec2 bits) {
#if VALUE_KIND == KIND_BITS
    return u64_of(bits);
#elif VALUE_KIND == KIND_U64 || VALUE_KIND == KIND_I64
    return VALUE(extend(bits, IN));
#elif VALUE_KIND == KIND_I32 || VALUE_KIND == KIND_U32
    const uint unused = 32u - (8u << IN_LOG);
    return is_signed(IN) ? VALUE(int(bits.x << unused) >> unused) : VALUE(bits.x);
#elif VALUE_KIND == KIND_ORDER32
    return order_of(floatBitsToInt(float_of(bits, IN)));
#elif VALUE_KIND == KIND_ORDER64
    return order_of(int64_t(u64_of(bits)));
#elif VALUE_KIND == KIND_F32
    return float_of(bits, IN);
#else
    if (is_float(IN))
        return double_of(bits, IN);
    const uint64_t whole = extend(bits, IN);
    return is_signed(IN) ? double(int64_t(whole)) : double(whole);
#endif
}

/* Element i of x, and its partner. */
uvec2 element_at(uint64_t x, uint64_t i) {
    return load_bits(x + (i << IN_LOG), IN_LOG);
}

/* ---- results ---- */

uint64_t output_of(uint64_t x) {
    return is_float(OUT) ? round_float(false, x, 0, OUT) : x;
}
uint64_t output_of(int64_t x) {
    return is_float(OUT) ? round_float(x < 0, uint64_t(x < 0 ? -x : x), 0, OUT) : uint64_t(x);
}
uint64_t output_of(uint x) {
    return output_of(uint64_t(x));
}
uint64_t output_of(int x) {
    return is_float(OUT) ? round_float(x < 0, uint64_t(x < 0 ? 0u - uint(x) : uint(x)), 0, OUT)
                         : uint64_t(int64_t(x));
}
uint64_t output_of(float x) {
    return convert_float(uint64_t(floatBitsToUint(x)), F32, OUT);
}
#if HAS_DOUBLE
uint64_t output_of(double x) {
    return convert_float(bits_of_double(x), F64, OUT);
}
#endif

/* One result: an output element, or two. */
struct result_t {
    uint64_t first, second;
};
result_t single(uint64_t bits) {
    return result_t(bits, 0);
}

void store_result(uint64_t out_at, uint64_t i, result_t result) {
#if PER_RESULT == 2
    const uint64_t at = out_at + (i << OUT_LOG + 1);
    store_bits(at, OUT_LOG, words_of(result.first));
    store_bits(at + (1u << OUT_LOG), OUT_LOG, words_of(result.second));
#else
    store_bits(out_at + (i << OUT_LOG), OUT_LOG, words_of(result.first));
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
#elif VALUE_KIND == KIND_U64 || VALUE_KIND == KIND_BITS
#define LOWEST  uint64_t(0)
#define HIGHEST (~uint64_t(0))
#elif VALUE_KIND == KIND_ORDER32
#define LOWEST  order_of(int(0xff800000u))
#define HIGHEST order_of(0x7f800000)
#elif VALUE_KIND == KIND_ORDER64
#define LOWEST  order_of(int64_t(uint64_t(0xfff00000u) << 32))
#define HIGHEST order_of(int64_t(uint64_t(0x7ff00000u) << 32))
#elif VALUE_KIND == KIND_F32
#define LOWEST  uintBitsToFloat(0xff800000u)
#define HIGHEST uintBitsToFloat(0x7f800000u)
#else
#define LOWEST  packDouble2x32(uvec2(0, 0xfff00000u))
#define HIGHEST packDouble2x32(uvec2(0, 0x7ff00000u))
#endif
#define NO_INDEX (~uint64_t(0))

#if VALUE_KIND == KIND_F32 || VALUE_KIND == KIND_F64
#define IS_NAN(x)   is_nan(x)
#define LESS(a, b)  (rank_of(a) < rank_of(b))
#define ABS(x)      absolute(x)
#else
#define IS_NAN(x)   false
#define LESS(a, b)  ((a) < (b))
#define ABS(x)      absolute(x)
#endif

#if VALUE_KIND == KIND_F32
float absolute(float x) {
    return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
}
#elif VALUE_KIND == KIND_F64
double absolute(double x) {
    return double_of_bits(bits_of_double(x) & ~(uint64_t(1) << 63));
}
#else
/* Of what may be a signed number in an unsigned type. */
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

VALUE smaller(VALUE a, VALUE b) {
    return IS_NAN(a) || (!IS_NAN(b) && LESS(a, b)) ? a : b;
}
VALUE larger(VALUE a, VALUE b) {
    return IS_NAN(a) || (!IS_NAN(b) && LESS(b, a)) ? a : b;
}
/* Whether v at index i goes before w at j: a NaN before all, equals by index. */
bool goes_first(bool beats, bool loses, VALUE v, uint64_t i, VALUE w, uint64_t j) {
    const bool a = IS_NAN(v), b = IS_NAN(w);
    return a != b ? a : !a && beats || (a || !loses) && i < j;
}

/* Of raw bits: -0 is zero. */
uint is_nonzero(uint64_t bits) {
    const uint64_t sign = uint64_t(1) << ((8u << IN_LOG) - 1u);
    return (is_float(IN) ? bits & ~sign : bits) != 0 ? 1u : 0u;
}

#define MIN(a, b)              smaller(a, b)
#define MAX(a, b)              larger(a, b)
#define IS_NONZERO(x)          is_nonzero(x)
#define BEFORE_MIN(v, i, w, j) goes_first(LESS(v, w), LESS(w, v), v, i, w, j)
#define BEFORE_MAX(v, i, w, j) goes_first(LESS(w, v), LESS(v, w), v, i, w, j)
#define SQRT(x)                sqrt(x)
#define RATIO(p, q)            ratio(p, q)
#define SHIFTED_EXP(x, m)      shifted_exp(x, m)
#define LOG(x)                 log_of(x)

#if VALUE_KIND == KIND_F64
double ratio(double p, double q) {
    return q == 0 ? 0.0lf : p / q;
}

/* GLSL has neither for doubles. e^x = 2^k e^r with |r| <= log(2) / 2, whose series ends below half an ulp. */
double exp_of(double x) {
    if (is_nan(x) || x > 709.79lf)
        return is_nan(x) ? x : HIGHEST;
    if (x < -745.2lf)
        return 0.0lf;
    const double k = floor(x * 1.4426950408889634lf + 0.5lf);
    const double r = x - k * 6.93147180369123816490e-01lf - k * 1.90821492927058770002e-10lf;
    double sum = 1.0lf;
    for (int j = 14; j >= 1; j--)
        sum = 1.0lf + sum * r / double(j);
    const int power = int(k), half_power = power / 2; /* 2^power may be subnormal */
    return sum * double_of_bits(uint64_t(1023 + half_power) << 52) *
           double_of_bits(uint64_t(1023 + power - half_power) << 52);
}
double shifted_exp(double x, double m) {
    return x == m ? 1.0lf : exp_of(x - m);
}
/* log(m 2^e) = e log(2) + 2 artanh((m - 1) / (m + 1)), m between sqrt(1/2) and sqrt(2). Subnormals do not come. */
double log_of(double x) {
    if (is_nan(x) || x < 0)
        return double_of_bits(uint64_t(0x7ff80000u) << 32);
    if (x == 0)
        return LOWEST;
    const uint64_t bits = bits_of_double(x);
    if (bits >= uint64_t(0x7ff00000u) << 32)
        return x;
    int e = int(bits >> 52) - 1023;
    double m = double_of_bits((bits & ((uint64_t(1) << 52) - 1)) | uint64_t(1023) << 52);
    if (m > 1.4142135623730951lf) {
        m *= 0.5lf;
        e++;
    }
    const double s = (m - 1.0lf) / (m + 1.0lf), z = s * s;
    double sum = 0.0lf;
    for (int j = 23; j >= 1; j -= 2)
        sum = sum * z + 1.0lf / double(j);
    return double(e) * 6.93147180369123816490e-01lf + (double(e) * 1.90821492927058770002e-10lf + 2.0lf * s * sum);
}
#elif VALUE_KIND == KIND_F32
float ratio(float p, float q) {
    return q == 0 ? 0.0 : p / q;
}
#endif

#if CHOOSES
bool goes_before(VALUE a, VALUE b) {
    return LARGEST ? a > b : a < b;
}
/* None comes after it. */
VALUE last_value() {
    return LARGEST ? LEAST : MOST;
}
#endif
