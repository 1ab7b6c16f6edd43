/* Exact sums in one file; tally_exact.h describes it. Written by tools/tally_exact/generate.py from tally's src/exact.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "tally_exact.h"

#include <string.h>

#if (-1 >> 1) != -1
#error "the right shift of a negative integer must keep its sign"
#endif

/* ---- what the sources take from the rest of the library, of floats alone ---- */

typedef enum tally_status { TALLY_OK, TALLY_BAD_STATE } tally_status;
typedef enum tally_op { TALLY_SUM, TALLY_MEAN, TALLY_DOT, TALLY_USER } tally_op;
typedef enum tally_dtype { TALLY_DEFAULT, TALLY_F32, TALLY_F64, TALLY_DTYPE_COUNT } tally_dtype;

/* The layout of a float: a sign, the exponent, and the significand without its leading bit. */
typedef struct tally_float_format {
    int precision;          /* bits of the significand, the leading one included */
    int lowest;             /* the smallest subnormal is 2^lowest */
    int bits;               /* of the whole format */
    uint64_t infinity, one; /* the bits of these numbers */
    uint64_t nan;           /* of the quiet NaN that is returned */
} tally_float_format;

/* The codes are those of docs/accumulator-format.md. Only states of doubles are saved here: 0 is no code. */
static const struct {
    unsigned char saved_code;
    tally_float_format format;
} tally_dtypes[TALLY_DTYPE_COUNT] = {
    {0, {0, 0, 0, 0, 0, 0}},
    {0, {24, -149, 32, 0x7f800000, 0x3f800000, 0x7fc00000}},
    {4, {53, -1074, 64, UINT64_C(0x7ff0000000000000), UINT64_C(0x3ff0000000000000), UINT64_C(0x7ff8000000000000)}},
};

typedef struct tally_operator {
    unsigned char saved_code;
} tally_operator;

static const tally_operator *tally_operator_of(tally_op op) {
    static const tally_operator operators[] = {{1}, {2}, {5}};
    return &operators[op];
}

static bool tally_exact_has_products(tally_op op) {
    return op == TALLY_DOT;
}

#define tally_fail(status, ...) (status)

static tally_status bad(const char *what) {
    (void)what;
    return TALLY_BAD_STATE;
}

/* Integers have no states here. */
#define tally_dtype_is_float(type)         ((void)(type), true)
#define tally_dtype_size(type)             ((size_t)8)
#define tally_monoid_of_integers(op, type) 0
#define TALLY_MONOID_user                  0

/* x is not 0. */
static int tally_leading_zeros(uint64_t x) {
#if defined(__GNUC__) && __GNUC__ >= 4
    return __builtin_clzll(x);
#else
    int zeros = 0;
    for (int width = 32; width > 0; width /= 2)
        if (x >> (64 - width) == 0) {
            x <<= width;
            zeros += width;
        }
    return zeros;
#endif
}

/* ---- from tally's src/exact ---- */

/* The layout for elements of type 'in' (f16, bf16, f32 or f64), or for products of two of them. */
static inline tally_exact_layout tally_exact_layout_of(tally_dtype in, bool products) {
    if (in == TALLY_F64)
        return products ? TALLY_LAYOUT_PRODUCT_F64 : TALLY_LAYOUT_SUM_F64;
    return products ? TALLY_LAYOUT_PRODUCT_F32 : TALLY_LAYOUT_SUM_F32;
}

/* limbs * 32 >= highest - lowest + 64, with a limb to spare for the third one that a deposit touches. */
static const struct {
    int32_t lowest, highest, limbs;
} layouts[TALLY_LAYOUT_COUNT] = {
    [TALLY_LAYOUT_SUM_F32] = {-149, 128, 11},
    [TALLY_LAYOUT_SUM_F64] = {-1074, 1024, 70},
    [TALLY_LAYOUT_PRODUCT_F32] = {-298, 256, 21},
    [TALLY_LAYOUT_PRODUCT_F64] = {-2148, 2048, 136},
};

/* The range of a layout's summands: multiples of 2^lowest, less than 2^highest. */
static int32_t tally_layout_lowest(tally_exact_layout layout) {
    return layouts[layout].lowest;
}

static int32_t tally_layout_highest(tally_exact_layout layout) {
    return layouts[layout].highest;
}

static int32_t tally_layout_limbs(tally_exact_layout layout) {
    return layouts[layout].limbs;
}

/* The absolute value as digits of base 2^32, lowest first, neither end zero. Zero has no digits and no sign. */
typedef struct tally_magnitude {
    bool negative;
    int32_t exponent; /* bit 0 of digits[0] is 2^exponent */
    int32_t count;
    uint32_t digits[TALLY_LIMBS_MAX + 4];
} tally_magnitude;

/* Brings every limb but the highest into [0, 2^32); the highest takes the sign. The same value gives the same limbs. */
static void tally_superaccumulator_normalise(tally_superaccumulator *accumulator);

/* 2^30 deposits of less than 2^32 per limb leave half of the limb's 2^63 free, which a merge needs. */
#define TALLY_PENDING_MAX (UINT32_C(1) << 30)

/* Adds mantissa * 2^exponent. Bits below the layout's lowest must be zero, because they are shifted out. */
static inline void tally_superaccumulator_deposit(tally_superaccumulator *accumulator, int64_t mantissa,
                                                  int32_t exponent) {
    int32_t position = exponent - accumulator->lowest;
    if (mantissa == 0)
        return;
    if (position < 0) {
        mantissa >>= position < -63 ? 63 : -position;
        position = 0;
    }
    const int32_t limb = position >> 5;
    const int shift = position & 31;
    const int64_t upper = mantissa >> (32 - shift);
    accumulator->limbs[limb] += (int64_t)(uint32_t)((uint64_t)mantissa << shift);
    accumulator->limbs[limb + 1] += (int64_t)(uint32_t)upper;
    accumulator->limbs[limb + 2] += upper >> 32;
    if (limb < accumulator->first)
        accumulator->first = limb;
    if (limb + 3 > accumulator->end)
        accumulator->end = limb + 3;
    if (++accumulator->pending >= TALLY_PENDING_MAX)
        tally_superaccumulator_normalise(accumulator);
}

static void tally_superaccumulator_init(tally_superaccumulator *accumulator, tally_exact_layout layout) {
    accumulator->lowest = tally_layout_lowest(layout);
    accumulator->limb_count = tally_layout_limbs(layout);
    accumulator->first = accumulator->limb_count;
    accumulator->end = 0;
    accumulator->pending = 0;
    accumulator->layout = layout;
    accumulator->count = 0;
    accumulator->positive_infinities = 0;
    accumulator->negative_infinities = 0;
    accumulator->nans = 0;
    accumulator->others = 0;
    memset(accumulator->limbs, 0, (size_t)accumulator->limb_count * sizeof accumulator->limbs[0]);
}

static void tally_superaccumulator_normalise(tally_superaccumulator *accumulator) {
    int64_t carry = 0;
    int32_t i = accumulator->first;
    for (; i < accumulator->limb_count - 1 && (i < accumulator->end || carry != 0); i++) {
        const int64_t limb = accumulator->limbs[i] + carry;
        accumulator->limbs[i] = (int64_t)(uint32_t)limb;
        carry = limb >> 32;
    }
    if (carry != 0)
        accumulator->limbs[i++] += carry;
    if (i > accumulator->end)
        accumulator->end = i;
    accumulator->pending = 0;
}

/* Adds the state of 'from'; the layouts must be the same. */
static void tally_superaccumulator_merge(tally_superaccumulator *into, const tally_superaccumulator *from) {
    if (into->pending + from->pending >= TALLY_PENDING_MAX)
        tally_superaccumulator_normalise(into);
    for (int32_t i = from->first; i < from->end; i++)
        into->limbs[i] += from->limbs[i];
    if (from->first < into->first)
        into->first = from->first;
    if (from->end > into->end)
        into->end = from->end;
    into->pending += from->pending + 1;
    if (into->pending >= TALLY_PENDING_MAX)
        tally_superaccumulator_normalise(into);
    into->count += from->count;
    into->positive_infinities += from->positive_infinities;
    into->negative_infinities += from->negative_infinities;
    into->nans += from->nans;
    into->others |= from->others;
}

/* Carries from limb to limb, which gives digits in two's complement; the last carry is the sign. */
static bool propagate(const tally_superaccumulator *accumulator, tally_magnitude *magnitude) {
    int64_t carry = 0;
    int32_t count = 0;
    for (int32_t i = accumulator->first; i < accumulator->end; i++) {
        const int64_t limb = accumulator->limbs[i];
        const int64_t low = (int64_t)(uint32_t)limb + (int64_t)(uint32_t)carry;
        magnitude->digits[count++] = (uint32_t)low;
        carry = (limb >> 32) + (carry >> 32) + (low >> 32);
    }
    while (carry != 0 && carry != -1 && count < TALLY_LIMBS_MAX + 2) {
        magnitude->digits[count++] = (uint32_t)carry;
        carry >>= 32;
    }
    magnitude->count = count;
    return carry < 0;
}

static void tally_superaccumulator_magnitude(const tally_superaccumulator *accumulator, tally_magnitude *magnitude) {
    magnitude->negative = propagate(accumulator, magnitude);
    if (magnitude->negative) {
        uint64_t carry = 1;
        for (int32_t i = 0; i < magnitude->count; i++) {
            carry += (uint32_t)~magnitude->digits[i];
            magnitude->digits[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry != 0) /* minus a power of the base: all digits were zero */
            magnitude->digits[magnitude->count++] = 1;
    }
    int32_t low = 0;
    while (magnitude->count > 0 && magnitude->digits[magnitude->count - 1] == 0)
        magnitude->count--;
    while (low < magnitude->count && magnitude->digits[low] == 0)
        low++;
    magnitude->count -= low;
    magnitude->exponent = magnitude->count > 0 ? accumulator->lowest + 32 * (accumulator->first + low) : 0;
    if (low > 0)
        memmove(magnitude->digits, magnitude->digits + low, (size_t)magnitude->count * sizeof magnitude->digits[0]);
}

/* x = significand * 2^exponent for a finite x, the sign left out. */
typedef struct parts {
    uint64_t significand;
    int32_t exponent;
    bool negative, finite;
} parts;

static parts take_apart(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int32_t field = (int32_t)(bits >> 52) & 0x7ff;
    parts p = {bits & UINT64_C(0xfffffffffffff), -1074, bits >> 63 != 0, field != 0x7ff};
    if (field != 0) {
        p.significand |= UINT64_C(1) << 52;
        p.exponent = field - 1075;
    }
    return p;
}

static void count_special(tally_superaccumulator *accumulator, bool is_nan, bool negative) {
    if (is_nan)
        accumulator->nans++;
    else if (negative)
        accumulator->negative_infinities++;
    else
        accumulator->positive_infinities++;
}

/* Adds a value, or the product of two, by integer arithmetic only, so neither a rounding mode nor the data changes the
 * result. Specials are counted as IEEE 754 defines them. The caller, who knows the summands, updates 'count' and
 * 'others'. */
static void tally_superaccumulator_deposit_value(tally_superaccumulator *accumulator, double x) {
    const parts p = take_apart(x);
    if (!p.finite) {
        count_special(accumulator, p.significand != UINT64_C(1) << 52, p.negative);
        return;
    }
    const int64_t sign = -(int64_t)p.negative; /* without a branch, which signs at random would mispredict */
    tally_superaccumulator_deposit(accumulator, ((int64_t)p.significand ^ sign) - sign, p.exponent);
}

static void tally_superaccumulator_deposit_product(tally_superaccumulator *accumulator, double x, double y) {
    const parts p = take_apart(x), q = take_apart(y);
    const bool negative = p.negative != q.negative;
    if (!p.finite || !q.finite) {
        const bool is_nan = (!p.finite && p.significand != UINT64_C(1) << 52) ||
                            (!q.finite && q.significand != UINT64_C(1) << 52) || p.significand == 0 ||
                            q.significand == 0;
        count_special(accumulator, is_nan, negative);
        return;
    }
    if (p.significand == 0 || q.significand == 0)
        return;
    /* 53 x 53 bits by halves of 27 and 26: every partial product fits an int64. */
    const int64_t ph = (int64_t)(p.significand >> 27), pl = (int64_t)(p.significand & 0x7ffffff);
    const int64_t qh = (int64_t)(q.significand >> 27), ql = (int64_t)(q.significand & 0x7ffffff);
    const int64_t sign = 1 - 2 * (int64_t)negative;
    const int32_t exponent = p.exponent + q.exponent;
    tally_superaccumulator_deposit(accumulator, sign * (ph * qh), exponent + 54);
    tally_superaccumulator_deposit(accumulator, sign * (ph * ql + pl * qh), exponent + 27);
    tally_superaccumulator_deposit(accumulator, sign * (pl * ql), exponent);
}

typedef tally_float_format format;

/* leading * 2^exponent and, if 'more', a little above it (less than one unit of leading). The top bit of leading is
 * set, unless the value is zero. */
typedef struct unrounded {
    uint64_t leading;
    int32_t exponent;
    bool negative, more;
} unrounded;

static uint64_t round_bits(unrounded u, const format *f) {
    const uint64_t sign = (uint64_t)u.negative << (f->bits - 1);
    if (u.leading == 0)
        return sign;
    int32_t unit = u.exponent + 64 - f->precision; /* exponent of the result's last place */
    if (unit < f->lowest)
        unit = f->lowest;
    const int32_t drop = unit - u.exponent; /* at least 11 */
    if (drop > 64)
        return sign; /* less than half of the smallest subnormal */
    uint64_t kept = drop == 64 ? 0 : u.leading >> drop;
    const uint64_t half = UINT64_C(1) << (drop - 1);
    const uint64_t rest = u.leading & (half - 1);
    if ((u.leading & half) != 0 && (rest != 0 || u.more || (kept & 1) != 0))
        kept++;
    if (unit - f->lowest > 1 << 16) /* keeps the shift below in range */
        return sign | f->infinity;
    /* The leading bit of 'kept' adds one to the exponent's field, which is right for normal numbers. Subnormal numbers
     * have no leading bit there. A carry out of the significand moves to the next exponent by itself. */
    const uint64_t bits = ((uint64_t)(unit - f->lowest) << (f->precision - 1)) + kept;
    return sign | (bits < f->infinity ? bits : f->infinity);
}

static void store(uint64_t bits, const format *f, void *value) {
    const uint32_t four = (uint32_t)bits;
    const uint16_t two = (uint16_t)bits;
    const uint8_t one = (uint8_t)bits;
    memcpy(value,
           f->bits == 64   ? (const void *)&bits
           : f->bits == 32 ? (const void *)&four
           : f->bits == 16 ? (const void *)&two
                           : &one,
           (size_t)f->bits / 8);
}

static unrounded of_magnitude(const tally_magnitude *m) {
    const int32_t n = m->count;
    if (n == 0)
        return (unrounded){0, 0, false, false};
    const uint64_t top = m->digits[n - 1];
    const uint64_t second = n > 1 ? m->digits[n - 2] : 0;
    const uint64_t third = n > 2 ? m->digits[n - 3] : 0;
    const int shift = tally_leading_zeros(top) - 32;
    unrounded u;
    u.leading = (top << 32 | second) << shift | (third << shift) >> 32;
    u.exponent = m->exponent + 32 * (n - 2) - shift;
    u.negative = m->negative;
    u.more = (uint32_t)(third << shift) != 0 || n > 3; /* the lowest digit is never zero */
    return u;
}

/* The digits from the top, one bit at a time, followed by any number of zeros. */
typedef struct bit_reader {
    const tally_magnitude *magnitude;
    int32_t position; /* of the next bit, counted from bit 0 of digits[0]; may go below 0 */
} bit_reader;

static unsigned next_bit(bit_reader *reader) {
    const int32_t position = reader->position--;
    return position < 0 ? 0 : reader->magnitude->digits[position >> 5] >> (position & 31) & 1;
}

/* Whether any bit not read yet is set; the lowest digit is never zero. */
static bool bits_left(const bit_reader *reader) {
    if (reader->position < 0 || reader->position >= 32)
        return reader->position >= 0;
    return (reader->magnitude->digits[0] & ((UINT64_C(2) << reader->position) - 1)) != 0;
}

/* Long division by digits while divisor and remainder fit 32 bits: 64 by 32 bits, until the quotient has 64 bits. */
static unrounded divide_short(const tally_magnitude *m, uint32_t divisor) {
    uint64_t remainder = 0, quotient = 0;
    int32_t i = m->count - 1, exponent = m->exponent + 32 * m->count;
    while (quotient >> 32 == 0) {
        const uint64_t digit = i >= 0 ? m->digits[i] : 0;
        const uint64_t part = remainder << 32 | digit;
        quotient = quotient << 32 | part / divisor;
        remainder = part % divisor;
        exponent -= 32;
        i--;
    }
    /* 33 to 64 bits so far, fewer than f64 needs with its guard bit. One more digit is added; its excess becomes
     * 'more'. */
    const uint64_t part = remainder << 32 | (i >= 0 ? m->digits[i] : 0);
    const uint64_t next = part / divisor;
    const int shift = tally_leading_zeros(quotient);
    unrounded u = {quotient, exponent - shift, m->negative, false};
    if (shift > 0)
        u.leading = quotient << shift | next >> (32 - shift);
    u.more = (uint32_t)(next << shift) != 0 || part % divisor != 0 || i > 0;
    return u;
}

/* Long division one bit at a time, for divisors of any size. */
static unrounded divide_long(const tally_magnitude *m, uint64_t divisor) {
    bit_reader reader = {m, 32 * m->count - 1};
    uint64_t remainder = 0, quotient = 0;
    while (quotient >> 63 == 0) {
        const bool carry = remainder >> 63 != 0;
        remainder = remainder << 1 | next_bit(&reader);
        quotient <<= 1;
        if (carry || remainder >= divisor) {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    return (unrounded){quotient, m->exponent + reader.position + 1, m->negative, remainder != 0 || bits_left(&reader)};
}

static unrounded quotient_of(const tally_magnitude *m, uint64_t divisor) {
    if (m->count == 0)
        return (unrounded){0, 0, false, false};
    return divisor >> 32 == 0 ? divide_short(m, (uint32_t)divisor) : divide_long(m, divisor);
}

/* Results that follow from the counts alone; false if the finite part is needed. */
static bool special_bits(const tally_superaccumulator *a, const format *f, uint64_t *bits) {
    if (a->nans != 0 || (a->positive_infinities != 0 && a->negative_infinities != 0))
        *bits = f->nan;
    else if (a->positive_infinities != 0)
        *bits = f->infinity;
    else if (a->negative_infinities != 0)
        *bits = f->infinity | UINT64_C(1) << (f->bits - 1);
    else
        return false;
    return true;
}

static bool zero_is_negative(const tally_superaccumulator *a) {
    return a->count != 0 && a->others == 0;
}

/* Each writes one element of type 'out' (f16, bf16, f32 or f64) to 'value', which may be misaligned.
 *
 * tally_round_sum:   the sum. NaN if there was a NaN or both infinities; -0 if there were summands and all were -0;
 *                    +0 for every other exact zero and for no summands.
 * tally_round_mean:  the sum divided by accumulator->count, NaN for no summands. Zeros as above.
 * tally_round_root:  the square root of the sum, which is NaN below zero. */
static void tally_round_sum(const tally_superaccumulator *accumulator, tally_dtype out, void *value) {
    const format *f = &tally_dtypes[out].format;
    uint64_t bits;
    if (!special_bits(accumulator, f, &bits)) {
        tally_magnitude magnitude;
        tally_superaccumulator_magnitude(accumulator, &magnitude);
        unrounded u = of_magnitude(&magnitude);
        if (u.leading == 0)
            u.negative = zero_is_negative(accumulator);
        bits = round_bits(u, f);
    }
    store(bits, f, value);
}

static void tally_round_mean(const tally_superaccumulator *accumulator, tally_dtype out, void *value) {
    const format *f = &tally_dtypes[out].format;
    uint64_t bits;
    if (accumulator->count == 0) {
        bits = f->nan;
    } else if (!special_bits(accumulator, f, &bits)) {
        tally_magnitude magnitude;
        tally_superaccumulator_magnitude(accumulator, &magnitude);
        unrounded u = quotient_of(&magnitude, accumulator->count);
        if (u.leading == 0)
            u.negative = zero_is_negative(accumulator);
        bits = round_bits(u, f);
    }
    store(bits, f, value);
}

enum { TALLY_SAVED_VERSION = 1, TALLY_SAVED_MAX = 56 + 4 * TALLY_LIMBS_MAX + 4 };

static const uint8_t magic[8] = {'T', 'A', 'L', 'L', 'Y', 'A', 'C', 'C'};

/* The positions of the fields; docs/accumulator-format.md has the same table. */
enum {
    AT_VERSION = 8,
    AT_OP = 10,
    AT_TYPE = 11,
    AT_FLAGS = 12,
    AT_COUNT = 16,
    AT_POSITIVE_INFINITIES = 24,
    AT_NEGATIVE_INFINITIES = 32,
    AT_NANS = 40,
    AT_LOWEST_DIGIT = 48,
    AT_DIGIT_COUNT = 52,
    AT_DIGITS = 56,
    CHECKSUM_BYTES = 4
};

enum { FLAG_NEGATIVE = 1, FLAG_OTHERS = 2 };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static void put(uint8_t *bytes, uint64_t value, int width) {
    for (int i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *bytes, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* CRC-32C (Castagnoli), bit by bit, since a state has a few hundred bytes and is saved once. */
static uint32_t checksum(const uint8_t *bytes, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
    }
    return ~crc;
}

/* Writes at most TALLY_SAVED_MAX bytes and returns how many. 'op' and 'in' are of those that accumulators take. */
static size_t tally_saved_write(const tally_superaccumulator *accumulator, tally_op op, tally_dtype in,
                                uint8_t *bytes) {
    tally_magnitude magnitude;
    tally_superaccumulator_magnitude(accumulator, &magnitude);
    memset(bytes, 0, AT_DIGITS);
    memcpy(bytes, magic, sizeof magic);
    put(bytes + AT_VERSION, TALLY_SAVED_VERSION, 2);
    bytes[AT_OP] = tally_operator_of(op)->saved_code;
    bytes[AT_TYPE] = tally_dtypes[in].saved_code;
    bytes[AT_FLAGS] =
        (uint8_t)((magnitude.negative ? FLAG_NEGATIVE : 0) | (accumulator->others != 0 ? FLAG_OTHERS : 0));
    put(bytes + AT_COUNT, accumulator->count, 8);
    put(bytes + AT_POSITIVE_INFINITIES, accumulator->positive_infinities, 8);
    put(bytes + AT_NEGATIVE_INFINITIES, accumulator->negative_infinities, 8);
    put(bytes + AT_NANS, accumulator->nans, 8);
    const int32_t lowest = magnitude.count > 0 ? (magnitude.exponent - accumulator->lowest) / 32 : 0;
    put(bytes + AT_LOWEST_DIGIT, (uint64_t)lowest, 4);
    put(bytes + AT_DIGIT_COUNT, (uint64_t)magnitude.count, 4);
    for (int32_t i = 0; i < magnitude.count; i++)
        put(bytes + AT_DIGITS + 4 * i, magnitude.digits[i], 4);
    const size_t size = AT_DIGITS + 4 * (size_t)magnitude.count;
    put(bytes + size, checksum(bytes, size), CHECKSUM_BYTES);
    return size + CHECKSUM_BYTES;
}

/* Checks size, checksum and the fields that say what the state is. */
static tally_status read_header(const uint8_t *bytes, size_t size, tally_op *op, tally_dtype *in) {
    if (size < AT_DIGITS + CHECKSUM_BYTES)
        return tally_fail(TALLY_BAD_STATE, "saved accumulator: %zu bytes are too few", size);
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return bad("does not begin as one");
    const unsigned version = (unsigned)get(bytes + AT_VERSION, 2);
    if (version != TALLY_SAVED_VERSION)
        return tally_fail(TALLY_BAD_STATE, "saved accumulator: version %u, this library reads version %d", version,
                          TALLY_SAVED_VERSION);
    const uint64_t digits = get(bytes + AT_DIGIT_COUNT, 4);
    if (digits > TALLY_LIMBS_MAX || size != AT_DIGITS + 4 * digits + CHECKSUM_BYTES)
        return tally_fail(TALLY_BAD_STATE, "saved accumulator: %zu bytes do not agree with %" PRIu64 " digits", size,
                          digits);
    if (get(bytes + size - CHECKSUM_BYTES, CHECKSUM_BYTES) != checksum(bytes, size - CHECKSUM_BYTES))
        return bad("the checksum is wrong, bytes were damaged");
    bool known_op = false, known_type = false;
    for (int known = 0; known < TALLY_USER; known++)
        if (bytes[AT_OP] && tally_operator_of((tally_op)known)->saved_code == bytes[AT_OP]) {
            *op = (tally_op)known;
            known_op = true;
        }
    for (int type = 1; type < TALLY_DTYPE_COUNT; type++)
        if (bytes[AT_TYPE] && tally_dtypes[type].saved_code == bytes[AT_TYPE]) {
            *in = (tally_dtype)type;
            known_type = true;
        }
    if (!known_op || !known_type)
        return bad("unknown operator or type");
    if ((bytes[AT_FLAGS] & ~(FLAG_NEGATIVE | FLAG_OTHERS)) != 0 || get(bytes + AT_FLAGS + 1, 3) != 0)
        return bad("unknown flags");
    return TALLY_OK;
}

static int length_of(uint64_t x) {
    return x != 0 ? 64 - tally_leading_zeros(x) : 0;
}

/* Whether bits are set below that of 2^0; the lowest digit is not zero. */
static bool has_fraction(const tally_superaccumulator *a, const tally_magnitude *m, int32_t lowest) {
    const int32_t place = -a->lowest - 32 * lowest;
    return place >= 32 || (place > 0 && (m->digits[0] & ((UINT32_C(1) << place) - 1)) != 0);
}

/* Refuses counts that no input can give, and numbers that are not canonical or larger than that many summands can make.
 */
static const char *find_contradiction(const tally_superaccumulator *a, const tally_magnitude *m, uint32_t lowest,
                                      tally_op op, tally_dtype in) {
    const bool is_float = tally_dtype_is_float(in);
    if (m->count > 0 && (m->digits[0] == 0 || m->digits[m->count - 1] == 0))
        return "digits of zero at an end";
    if (m->count == 0 && (m->negative || lowest != 0))
        return "zero with a sign or a place";
    if (lowest > (uint32_t)a->limb_count || (int32_t)lowest + m->count > a->limb_count)
        return "digits out of range";
    uint64_t finite = a->count;
    const uint64_t specials[] = {a->nans, a->positive_infinities, a->negative_infinities};
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        if (specials[i] > finite)
            return "more specials than elements";
        finite -= specials[i];
    }
    const bool nothing_but_zeros = finite == a->count && m->count == 0;
    if (a->others == 0 ? !nothing_but_zeros : a->count == 0)
        return "the flags and the counts disagree";
    if (!is_float && tally_monoid_of_integers(tally_operator_of(op), in) == TALLY_MONOID_user)
        return "an operator that has no states of integers";
    if (!is_float && (finite != a->count || (a->count > 0 && a->others == 0)))
        return "integers that are none";
    if (m->count > 0) {
        const int bits = (int)(8 * tally_dtype_size(in)) << tally_exact_has_products(op);
        const int highest = is_float ? tally_layout_highest(a->layout) : bits;
        const int length = 32 * ((int32_t)lowest + m->count - 1) + length_of(m->digits[m->count - 1]);
        if (length > highest - a->lowest + length_of(finite) || finite == 0)
            return "larger than its elements can sum to";
        if (!is_float && has_fraction(a, m, (int32_t)lowest))
            return "integers with a fraction";
    }
    return NULL;
}

/* Reads them back. TALLY_BAD_STATE, with the reason and the outputs untouched, for bytes that tally_saved_write would
 * not have written. */
static tally_status tally_saved_read(const uint8_t *bytes, size_t size, tally_superaccumulator *accumulator,
                                     tally_op *op, tally_dtype *in) {
    tally_superaccumulator read;
    tally_magnitude magnitude;
    tally_op read_op = TALLY_SUM;
    tally_dtype read_in = TALLY_F64;
    const tally_status status = read_header(bytes, size, &read_op, &read_in);
    if (status != TALLY_OK)
        return status;
    tally_superaccumulator_init(&read, tally_exact_layout_of(read_in, tally_exact_has_products(read_op)));
    magnitude.negative = (bytes[AT_FLAGS] & FLAG_NEGATIVE) != 0;
    magnitude.count = (int32_t)get(bytes + AT_DIGIT_COUNT, 4);
    for (int32_t i = 0; i < magnitude.count; i++)
        magnitude.digits[i] = (uint32_t)get(bytes + AT_DIGITS + 4 * i, 4);
    read.count = get(bytes + AT_COUNT, 8);
    read.positive_infinities = get(bytes + AT_POSITIVE_INFINITIES, 8);
    read.negative_infinities = get(bytes + AT_NEGATIVE_INFINITIES, 8);
    read.nans = get(bytes + AT_NANS, 8);
    read.others = (bytes[AT_FLAGS] & FLAG_OTHERS) != 0;
    const uint32_t lowest = (uint32_t)get(bytes + AT_LOWEST_DIGIT, 4);
    const char *contradiction = find_contradiction(&read, &magnitude, lowest, read_op, read_in);
    if (contradiction)
        return bad(contradiction);
    for (int32_t i = 0; i < magnitude.count; i++) {
        const int64_t digit = magnitude.digits[i];
        read.limbs[(int32_t)lowest + i] = magnitude.negative ? -digit : digit;
    }
    if (magnitude.count > 0) {
        read.first = (int32_t)lowest;
        read.end = (int32_t)lowest + magnitude.count;
        read.pending = 1;
    }
    *accumulator = read;
    *op = read_op;
    *in = read_in;
    return TALLY_OK;
}

/* ---- the functions of the header ---- */

/* A float as a double, by integers: a conversion may flush subnormal numbers. */
static double double_of_float(const float *x) {
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    const uint64_t sign = (uint64_t)(bits >> 31) << 63, fraction = bits & 0x7fffff;
    const uint32_t field = bits >> 23 & 0xff;
    uint64_t wide = sign | (uint64_t)(field + 896) << 52 | fraction << 29;
    double value;
    if (field == 0xff)
        wide = sign | UINT64_C(0x7ff) << 52 | fraction << 29;
    else if (field == 0 && fraction == 0)
        wide = sign;
    else if (field == 0) {
        const int zeros = tally_leading_zeros(fraction) - 40; /* to the place of the leading bit that is not stored */
        wide = sign | (uint64_t)(897 - zeros) << 52 | ((fraction << (zeros + 29)) & UINT64_C(0xfffffffffffff));
    }
    memcpy(&value, &wide, sizeof value);
    return value;
}

static bool is_negative_zero(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == UINT64_C(1) << 63;
}

/* A product is -0 if a factor is zero, the other one finite, and the signs differ. */
static bool is_negative_zero_product(double x, double y) {
    const parts p = take_apart(x), q = take_apart(y);
    return p.finite && q.finite && (p.significand == 0 || q.significand == 0) && p.negative != q.negative;
}

void tally_exact_begin(tally_exact *sum) {
    tally_superaccumulator_init(sum, TALLY_LAYOUT_SUM_F64);
}

void tally_exact_begin_dot(tally_exact *dot) {
    tally_superaccumulator_init(dot, TALLY_LAYOUT_PRODUCT_F64);
}

static void count_elements(tally_exact *sum, size_t n, bool others) {
    sum->count += n;
    sum->others |= others;
}

void tally_exact_add(tally_exact *sum, const double *x, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        tally_superaccumulator_deposit_value(sum, x[i]);
        others |= !is_negative_zero(x[i]);
    }
    count_elements(sum, n, others);
}

void tally_exact_add_f32(tally_exact *sum, const float *x, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        const double wide = double_of_float(x + i);
        tally_superaccumulator_deposit_value(sum, wide);
        others |= !is_negative_zero(wide);
    }
    count_elements(sum, n, others);
}

void tally_exact_add_dot(tally_exact *dot, const double *x, const double *y, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        tally_superaccumulator_deposit_product(dot, x[i], y[i]);
        others |= !is_negative_zero_product(x[i], y[i]);
    }
    count_elements(dot, n, others);
}

void tally_exact_add_dot_f32(tally_exact *dot, const float *x, const float *y, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        const double wide_x = double_of_float(x + i), wide_y = double_of_float(y + i);
        tally_superaccumulator_deposit_product(dot, wide_x, wide_y);
        others |= !is_negative_zero_product(wide_x, wide_y);
    }
    count_elements(dot, n, others);
}

void tally_exact_merge(tally_exact *into, const tally_exact *from) {
    const tally_exact copy = *from;
    tally_superaccumulator_merge(into, &copy);
}

uint64_t tally_exact_count(const tally_exact *sum) {
    return sum->count;
}

double tally_exact_value(const tally_exact *sum) {
    double value;
    tally_round_sum(sum, TALLY_F64, &value);
    return value;
}

float tally_exact_value_f32(const tally_exact *sum) {
    float value;
    tally_round_sum(sum, TALLY_F32, &value);
    return value;
}

double tally_exact_mean_value(const tally_exact *sum) {
    double value;
    tally_round_mean(sum, TALLY_F64, &value);
    return value;
}

float tally_exact_mean_value_f32(const tally_exact *sum) {
    float value;
    tally_round_mean(sum, TALLY_F32, &value);
    return value;
}

double tally_exact_sum(const double *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add(&sum, x, n);
    return tally_exact_value(&sum);
}

float tally_exact_sum_f32(const float *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add_f32(&sum, x, n);
    return tally_exact_value_f32(&sum);
}

double tally_exact_mean(const double *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add(&sum, x, n);
    return tally_exact_mean_value(&sum);
}

float tally_exact_mean_f32(const float *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add_f32(&sum, x, n);
    return tally_exact_mean_value_f32(&sum);
}

double tally_exact_dot(const double *x, const double *y, size_t n) {
    tally_exact dot;
    tally_exact_begin_dot(&dot);
    tally_exact_add_dot(&dot, x, y, n);
    return tally_exact_value(&dot);
}

float tally_exact_dot_f32(const float *x, const float *y, size_t n) {
    tally_exact dot;
    tally_exact_begin_dot(&dot);
    tally_exact_add_dot_f32(&dot, x, y, n);
    return tally_exact_value_f32(&dot);
}

size_t tally_exact_save(const tally_exact *sum, void *bytes) {
    const bool products = sum->layout == TALLY_LAYOUT_PRODUCT_F64;
    return tally_saved_write(sum, products ? TALLY_DOT : TALLY_SUM, TALLY_F64, bytes);
}

bool tally_exact_load(tally_exact *sum, const void *bytes, size_t size) {
    tally_op op;
    tally_dtype in;
    return tally_saved_read(bytes, size, sum, &op, &in) == TALLY_OK;
}
