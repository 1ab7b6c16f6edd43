/* Floats by their bits, after prelude.comp: no rounding mode and no flushing of subnormals has a say. */

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

/* m / 2^drop to nearest, ties to even, for drop from 1 to 31. */
uint rounded(uint m, uint drop) {
    return m + (1u << drop - 1u) - 1u + (m >> drop & 1u) >> drop;
}
/* The magnitude of an f64 in the bits of an f32, rounded down; 'rest' are the 31 bits that follow, of which the last one
 * stands for all after it, too. */
uint cut_to_f32(uvec2 magnitude, out uint rest) {
    uint kept = magnitude.y - (896u << 20) << 3 | magnitude.x >> 29, below = magnitude.x << 3;
    if (magnitude.y < 897u << 20) { /* it is subnormal */
        const uint drop = min(897u - (magnitude.y >> 20), 31u);
        const uint m = 0x800000u | (magnitude.y & 0xfffffu) << 3 | magnitude.x >> 29;
        kept = m >> drop;
        below = m << 32u - drop | below >> drop | min(below << 32u - drop, 1u);
    }
    rest = below >> 1 | below & 1u;
    if (magnitude.y >= 1151u << 20) {
        kept = 0x7f800000u;
        rest = 0;
    }
    return kept;
}
/* From f32 or f64 to a narrower type, as scans do with each result: by words of 32 bits, with few branches. */
wide narrowed(wide bits, uint from, uint to) {
    const wide magnitude = bits & ~sign_bit(from);
    const uint negative = (from == F64 ? bits.y : bits.x) >> 31;
    uint kept = magnitude.x, rest = 0;
    if (from == F64)
        kept = cut_to_f32(magnitude, rest);
    if (to == F32) {
        kept += rest + (kept & 1u) > 1u << 30 ? 1u : 0u;
    } else {
        kept |= min(rest, 1u);
        const bool is_half = to == F16, is_small = is_half && kept < 0x38800000u; /* subnormal as f16 */
        const uint m = is_small ? kept & 0x7fffffu | 0x800000u : is_half ? kept - 0x38000000u : kept;
        kept = rounded(m, is_small ? min(126u - (kept >> 23), 31u) : is_half ? 13u : 16u);
        kept = min(kept, infinity_bits(to).x);
    }
    if (less(infinity_bits(from), magnitude))
        return nan_bits(to);
    return wide(kept | negative << (to == F32 ? 31 : 15), 0);
}

/* From one float type to another. */
wide convert_float(wide bits, uint from, uint to) {
    if (from == to)
        return bits;
    if (log_bytes(from) >= 2 && log_bytes(to) < log_bytes(from))
        return narrowed(bits, from, to);
    const parts x = take_apart(bits, from);
    if (is_nan_of(x, from))
        return nan_bits(to);
    if (!x.finite)
        return x.negative ? infinity_bits(to) | sign_bit(to) : infinity_bits(to);
    return round_float(x.negative, x.significand, x.exponent, to);
}

/* ---- what decides exact sums besides their elements' sum ---- */

const uint SAW_NAN = 1, SAW_PLUS = 2, SAW_MINUS = 4, SAW_OTHER = 8 /* than -0 */, SAW_MINUS_ZERO = 16;

uint special(bool nan, bool negative) {
    return nan ? SAW_NAN : negative ? SAW_MINUS : SAW_PLUS;
}
/* Whether infinities or NaNs decide, and the output then. */
bool is_decided(uint saw, out wide bits) {
    const uint both = SAW_PLUS | SAW_MINUS;
    const bool is_nan = (saw & SAW_NAN) != 0 || (saw & both) == both;
    bits = is_nan ? nan_bits(OUT) : (saw & SAW_PLUS) != 0 ? infinity_bits(OUT) : infinity_bits(OUT) | sign_bit(OUT);
    return (saw & (SAW_NAN | both)) != 0;
}

/* An output of which every NaN has no sign and no payload: devices give 0 / 0 signs of their own. */
wide plain_nan(wide bits) {
    return less(infinity_bits(OUT), bits & ~sign_bit(OUT)) ? nan_bits(OUT) : bits;
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
    return bits ^ int(uint(bits >> 31) >> 1);
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
    if (!KEEPS_SUBNORMALS && (word & 0x7f800000u) == 0) { /* the hardware may flush it */
        const double subnormal = double(word & 0x7fffffu) * 1.40129846432481707092e-45lf;
        return packDouble2x32(unpackDouble2x32(subnormal) | uvec2(0, word & 0x80000000u));
    }
    return double(uintBitsToFloat(word));
}
/* Words become the low bits of 2^84 and 2^52, which are taken off again, so that one addition rounds. A conversion is a
 * quarter as fast as an addition. */
double double_of_integer(wide x, bool is_signed) {
    const uint flip = is_signed ? 0x80000000u : 0;
    const double high =
        packDouble2x32(uvec2(x.y ^ flip, 0x45300000u)) - packDouble2x32(uvec2(flip | 0x100000u, 0x45300000u));
    return high + packDouble2x32(uvec2(x.x, 0x43300000u));
}
wide magnitude_bits(double x) {
    return unpackDouble2x32(x) & wide(~0u, 0x7fffffffu);
}
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
    if (order == (LARGEST ? MOST : LEAST) || (SKIPS_NAN && !IS_SCAN && order == (LARGEST ? LEAST : MOST)))
        return nan_bits(OUT);
    if (SKIPS_NAN && order == (LARGEST ? LEAST : MOST))
        return infinity_bits(OUT) | (LARGEST ? sign_bit(OUT) : wide(0));
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
    if (order == (LARGEST ? MOST : LEAST) || (SKIPS_NAN && !IS_SCAN && order == (LARGEST ? LEAST : MOST)))
        return nan_bits(OUT);
    if (SKIPS_NAN && order == (LARGEST ? LEAST : MOST))
        return infinity_bits(OUT) | (LARGEST ? sign_bit(OUT) : wide(0));
    return convert_float(words_of(uint64_t(order >= 0 ? order : ~order | LEAST)), F64, OUT);
}
#elif CHOOSES
#define LEAST LOWEST
#define MOST  HIGHEST
#endif

#if CHOOSES
/* No value comes after this one. A NaN that is left out becomes it, so a reduction of nothing but such NaNs has it. */
#define last_value() (LARGEST ? LEAST : MOST)
#endif
#if VALUE_KIND == KIND_ORDER32 || VALUE_KIND == KIND_ORDER64
VALUE last_if_left_out(VALUE order) {
    return SKIPS_NAN && order == -1 - last_value() ? last_value() : order;
}
/* A scan of none gives an infinity. */
VALUE value_of_none() {
#if VALUE_KIND == KIND_ORDER32
    const VALUE infinity = order_of(int(infinity_bits(F32).x) | (LARGEST ? LEAST : 0));
#else
    const VALUE infinity = order_of(int64_t(u64_of(infinity_bits(F64))) | (LARGEST ? LEAST : int64_t(0)));
#endif
    return SKIPS_NAN && !(IS_SCAN && !GIVES_INDEX) ? last_value() : infinity;
}
#endif
