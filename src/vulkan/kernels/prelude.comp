/* What every kernel of this folder starts from: elements in memory, conversions, and the vocabulary of
 * core/monoids.def. Before this text specialize.c puts the version, the extensions, what types are like (log_bytes,
 * is_signed, is_float, significand_bits, lowest_exponent, infinity_bits of core/dtypes.def), and the choices:
 *
 *   VALUE, VALUE_KIND  what elements are computed with, and which of the KIND_ symbols it is
 *   HAS_DOUBLE         1 where VALUE or an accumulator is a double
 *   HAS_INT64          1 where one is an integer of 64 bits. Elsewhere none is used: wide.comp
 *   TWO_INPUTS         true for dot
 *   UNROLL             vectors that a thread of a reduction has on their way
 *   UNROLLED           before loops over these: where they stay loops, vectors lie in memory. Nothing for monoids whose
 *                      text is long, a user's too
 *   UNROLLED_LANES     the same before loops that only load, and add elements to lanes
 *   HAS_RUNNING        1 where lanes are those of running_moments.comp or running_logsumexp.comp
 *   MOST_COLUMNS       neighbouring columns a thread, in fold_columns
 *   SCANS_ONCE         1 for monoids that scan_once.comp takes: accumulators of one number, elements of one array
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
layout(constant_id = 9) const bool KEEPS_HALVES = false; /* else the device may take subnormal f16 for zeros */

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

/* More than 65535 workgroups take a second dimension. What they take turns at is fewer than 2^31: path.c. */
uint group_number() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}
uint group_count() {
    return gl_NumWorkGroups.y * gl_NumWorkGroups.x;
}

/* ---- types ---- */

#define IN_LOG  log_bytes(IN)
#define OUT_LOG log_bytes(OUT)

/* The bits of an integer, extended to 64; what is above them in a word is ignored. */
wide extend(uvec2 bits, uint type) {
    if (log_bytes(type) == 3)
        return bits;
    const uint unused = 32u - (8u << log_bytes(type));
    if (!is_signed(type))
        return wide_of(bits.x << unused >> unused);
    return wide_of(int(bits.x << unused) >> unused);
}

/* ---- memory ---- */

layout(buffer_reference, std430, buffer_reference_align = 4) buffer words_at {
    uint word[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer vectors_at {
    uvec4 vector[];
};

uint load_word(address at) {
    return words_at(at).word[0];
}
address word_below(address at) {
    return address(at.x & ~3u, at.y);
}

/* 1 << log bytes from any address. Words that hold none of them are not touched. */
uvec2 load_bits(address at, uint log) {
    const uint byte = at.x & 3u, shift = 8u * byte, back = 31u - shift;
    words_at from = words_at(word_below(at));
    const uint w0 = from.word[0];
    if (log == 0)
        return uvec2(w0 >> shift & 255u, 0);
    const uint w1 = byte + (1u << log) > 4 ? from.word[1] : 0;
    const uint low = w0 >> shift | w1 << 1 << back;
    if (log == 1)
        return uvec2(low & 65535u, 0);
    if (log == 2)
        return uvec2(low, 0);
    const uint w2 = byte != 0 ? from.word[2] : 0;
    return uvec2(low, w1 >> shift | w2 << 1 << back);
}

/* Elements that fill whole words, or lie in one, take no questions: asked once of an array, it is known of all. */
bool is_aligned(address array, uint log) {
    return (array.x & (1u << min(log, 2u)) - 1u) == 0;
}
uvec2 load_aligned(address at, uint log) {
    words_at from = words_at(word_below(at));
    if (log >= 2)
        return uvec2(from.word[0], log == 3 ? from.word[1] : 0);
    return uvec2(from.word[0] >> 8u * (at.x & 3u) & (log == 1 ? 65535u : 255u), 0);
}

/* A vector is 16 bytes. From any address: */
uvec4 load_shifted(address at) {
    const uint byte = at.x & 3u, shift = 8u * byte, back = 31u - shift;
    words_at from = words_at(word_below(at));
    const uvec4 low = uvec4(from.word[0], from.word[1], from.word[2], from.word[3]);
    const uint last = byte != 0 ? from.word[4] : 0;
    return low >> shift | uvec4(low.yzw, last) << 1 << back;
}
uvec4 load_vector(address at) {
    return (at.x & 15u) == 0 ? vectors_at(at).vector[0] : load_shifted(at);
}

/* The first 'count' of UNROLL vectors that lie 'apart' from each other. How they are aligned is asked once. */
void load_vectors(address at, uint apart, uint count, out uvec4 x[UNROLL]) {
    if ((at.x & 15u) == 0) {
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++)
            if (u < count)
                x[u] = vectors_at(at).vector[u * apart];
    } else {
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++)
            if (u < count)
                x[u] = load_shifted(plus(at, 16 * u * apart));
    }
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
void merge_word(address at, uint mask, uint bits) {
    if (mask == ~0u) {
        words_at(at).word[0] = bits;
    } else if (mask != 0) {
        atomicAnd(words_at(at).word[0], ~mask);
        atomicOr(words_at(at).word[0], bits & mask);
    }
}
void merge_bytes(address at, uint mask, uint bits) {
    const uint shift = 8u * (at.x & 3u), back = 31u - shift;
    const address to = word_below(at);
    merge_word(to, mask << shift, bits << shift);
    if ((mask >> 1 >> back) != 0)
        merge_word(plus(to, 4), mask >> 1 >> back, bits >> 1 >> back);
}
void store_bits(address at, uint log, uvec2 bits) {
    merge_bytes(at, log == 0 ? 255u : log == 1 ? 65535u : ~0u, bits.x);
    if (log == 3)
        merge_bytes(plus(at, 4), ~0u, bits.y);
}
void store_vector(address at, uvec4 vector) {
    if ((at.x & 15u) == 0) {
        vectors_at(at).vector[0] = vector;
    } else {
        store_bits(at, 3, vector.xy);
        store_bits(plus(at, 8), 3, vector.zw);
    }
}

/* Inserts an element's result into a vector, at 'byte' of 16. */
void gather(inout uvec4 words, uint byte, uvec2 bits) {
    const uint log = OUT_LOG;
    if (log == 3) {
        words[byte >> 2] = bits.x;
        words[(byte >> 2) + 1] = bits.y;
    } else {
        words[byte >> 2] |= (bits.x & (log == 2 ? ~0u : log == 1 ? 65535u : 255u)) << 8u * (byte & 3u);
    }
}

/* ---- floats by their bits: no rounding mode and no flushing of subnormals has a say ---- */

wide nan_bits(uint type) {
    return infinity_bits(type) | shifted_up(wide_of(1u), significand_bits(type) - 2u);
}
wide sign_bit(uint type) {
    return type == F64 ? wide(0, 0x80000000u) : wide(1u << (8u << log_bytes(type)) - 1u, 0);
}

/* m * 2^exponent in the bits of a type, rounded once to nearest, ties to even. */
wide round_float(bool negative, wide m, int exponent, uint type) {
    const int digits = int(significand_bits(type));
    const wide sign = negative ? sign_bit(type) : wide(0);
    if (m == wide(0))
        return sign;
    const int unit = max(exponent + top_bit(m) + 1 - digits, lowest_exponent(type)), drop = unit - exponent;
    wide kept = wide(0);
    if (drop <= 0) {
        kept = shifted_up(m, uint(-drop));
    } else if (drop <= 64) {
        const bool half_unit = (shifted_down(m, uint(drop - 1)).x & 1u) != 0;
        const bool more = shifted_up(m, uint(65 - drop)) != wide(0);
        kept = shifted_down(m, uint(drop));
        if (half_unit && (more || (kept.x & 1u) != 0))
            kept = plus(kept, 1u);
    }
    const wide bits = plus(shifted_up(wide_of(uint(unit - lowest_exponent(type))), uint(digits - 1)), kept);
    return sign | least(bits, infinity_bits(type));
}

/* significand * 2^exponent. */
struct parts {
    wide significand;
    int exponent;
    bool negative, finite;
};
parts take_apart(uvec2 bits, uint type) {
    const uint width = 8u << log_bytes(type), stored = significand_bits(type) - 1u;
    const wide leading = shifted_up(wide_of(1u), stored);
    const uint fields = (1u << width - 1u - stored) - 1u, field = shifted_down(bits, stored).x & fields;
    parts x;
    x.negative = (bits & sign_bit(type)) != wide(0);
    x.finite = field != fields;
    x.significand = bits & minus(leading, 1u);
    if (field != 0)
        x.significand |= leading;
    x.exponent = lowest_exponent(type) + int(max(field, 1u)) - 1;
    return x;
}
bool is_nan_of(parts x, uint type) {
    return !x.finite && x.significand != shifted_up(wide_of(1u), significand_bits(type) - 1u);
}

/* From one float type to another. */
wide convert_float(wide bits, uint from, uint to) {
    if (from == to)
        return bits;
    const parts x = take_apart(bits, from);
    if (is_nan_of(x, from))
        return nan_bits(to);
    if (!x.finite)
        return x.negative ? infinity_bits(to) | sign_bit(to) : infinity_bits(to);
    return round_float(x.negative, x.significand, x.exponent, to);
}

/* An output of which every NaN has no sign and no payload: devices give 0 / 0 signs of their own. */
wide plain_nan(wide bits) {
    return is_nan_of(take_apart(bits, OUT), OUT) ? nan_bits(OUT) : bits;
}

float float_of(uvec2 bits, uint type) {
    if (type == F32)
        return uintBitsToFloat(bits.x);
    if (type == BF16)
        return uintBitsToFloat(bits.x << 16);
    if (KEEPS_HALVES)
        return unpackHalf2x16(bits.x).x;
    const uint sign = (bits.x & 0x8000u) << 16, magnitude = bits.x & 0x7fffu;
    if (magnitude >= 0x7c00u)
        return uintBitsToFloat(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u)
        return uintBitsToFloat(sign | (magnitude + 0x1c000u) << 13);
    const float subnormal = float(magnitude) * 5.9604644775390625e-8;
    return sign != 0 ? -subnormal : subnormal;
}
float float_of_count(wide n) {
    return uintBitsToFloat(round_float(false, n, 0, F32).x);
}
bool is_nan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
/* Integers in the order of floats, -0 below +0. */
int rank_of(float x) {
    const int bits = floatBitsToInt(x);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}
bool is_less(float a, float b) {
    return rank_of(a) < rank_of(b);
}

#if HAS_DOUBLE
double double_of(uvec2 bits, uint type) {
    if (type == F64)
        return packDouble2x32(bits);
    if (type == F16)
        return double(float_of(bits, type));
    const uint word = type == BF16 ? bits.x << 16 : bits.x;
    if ((word & 0x7f800000u) == 0) { /* the hardware may flush it */
        const double subnormal = double(word & 0x7fffffu) * 1.40129846432481707092e-45lf;
        return packDouble2x32(unpackDouble2x32(subnormal) | uvec2(0, word & 0x80000000u));
    }
    return double(uintBitsToFloat(word));
}
double double_of_integer(wide x, bool is_signed) {
    return (is_signed ? double(int(x.y)) : double(x.y)) * 4294967296.0lf + double(x.x);
}
wide magnitude_bits(double x) {
    return unpackDouble2x32(x) & wide(~0u, 0x7fffffffu);
}
/* Of at most 32 bits, as the low ones of 2^52: conversions are a quarter as fast as additions. */
double double_of_word(uint x, bool is_signed) {
    const uint flip = is_signed ? 0x80000000u : 0;
    return packDouble2x32(uvec2(x ^ flip, 0x43300000u)) - packDouble2x32(uvec2(flip, 0x43300000u));
}
bool is_nan(double x) {
    return less(infinity_bits(F64), magnitude_bits(x));
}
bool is_finite(double x) {
    return less(magnitude_bits(x), infinity_bits(F64));
}
wide rank_of(double x) {
    const wide bits = unpackDouble2x32(x);
    return (bits.y & 0x80000000u) != 0 ? ~bits : bits | wide(0, 0x80000000u);
}
bool is_less(double a, double b) {
    return less(rank_of(a), rank_of(b));
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
int ordered_of_bits(uvec2 from, uint type) {
    return order_of(int(convert_float(from, type, F32).x));
}
wide output_of_ordered(int order) {
    if (order == (LARGEST ? MOST : LEAST))
        return nan_bits(OUT);
    return convert_float(wide_of(uint(order >= 0 ? order : ~order | LEAST)), F32, OUT);
}
#elif VALUE_KIND == KIND_ORDER64
#define LEAST int64_t(uint64_t(1) << 63)
#define MOST  int64_t(~(uint64_t(1) << 63))
int64_t order_of(int64_t bits) {
    const int64_t magnitude = bits & MOST, order = bits >= 0 ? bits : GIVES_INDEX ? -magnitude : ~magnitude;
    return magnitude > int64_t(u64_of(infinity_bits(F64))) ? LARGEST ? MOST : LEAST : order;
}
int64_t ordered_of_bits(uvec2 from, uint type) {
    return order_of(int64_t(u64_of(convert_float(from, type, F64))));
}
wide output_of_ordered(int64_t order) {
    if (order == (LARGEST ? MOST : LEAST))
        return nan_bits(OUT);
    return convert_float(words_of(uint64_t(order >= 0 ? order : ~order | LEAST)), F64, OUT);
}
#elif CHOOSES
#define LEAST LOWEST
#define MOST  HIGHEST
#endif

/* ---- elements as values ---- */

VALUE value_of_bits(uvec2 bits) {
#if VALUE_KIND == KIND_BITS
    return bits;
#elif VALUE_KIND == KIND_U64 || VALUE_KIND == KIND_I64
    return VALUE(u64_of(extend(bits, IN)));
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

#if VALUE_KIND == KIND_BITS
/* Of raw bits: -0 is zero. */
uint is_nonzero(uvec2 bits) {
    return (is_float(IN) ? bits & ~sign_bit(IN) : bits) != uvec2(0) ? 1u : 0u;
}
#else
VALUE smaller(VALUE a, VALUE b) {
    return IS_NAN(a) || (!IS_NAN(b) && LESS(a, b)) ? a : b;
}
VALUE larger(VALUE a, VALUE b) {
    return IS_NAN(a) || (!IS_NAN(b) && LESS(b, a)) ? a : b;
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
double ratio(double p, double q) {
    return q == 0 ? 0.0lf : p / q;
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
    return q == 0 ? 0.0 : p / q;
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
/* None comes after it. */
VALUE last_value() {
    return LARGEST ? LEAST : MOST;
}
#endif
