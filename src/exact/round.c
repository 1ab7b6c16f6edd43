/* Rounding. The number to round (digits, a quotient, a root, a pair of doubles) is first reduced to its leading 64 bits
 * and one bit that says whether anything follows. A single function then rounds to every format.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "round.h"

#include <string.h>

#include "core/dtype.h"
#include "core/operator.h"

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

/* Shifts the top bit of leading into place; the bits that come in below are zero, so nothing may follow yet. */
static unrounded justify(uint64_t leading, int32_t exponent, bool negative, bool more) {
    unrounded u = {leading, exponent, negative, more};
    if (leading != 0) {
        const int shift = tally_leading_zeros(leading);
        u.leading <<= shift;
        u.exponent -= shift;
    }
    return u;
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

static int32_t bit_length(const tally_magnitude *m) {
    return 32 * m->count - (tally_leading_zeros(m->digits[m->count - 1]) - 32);
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

/* The largest root whose square is at most x, which has one of its two top bits set (Zimmermann, Karatsuba Square Root,
 * INRIA 3805, 1999): its upper half by the schoolbook's method, bit by bit, the lower by a division, which may be one
 * too large. */
static uint64_t root_of_wide(unsigned __int128 x) {
    uint64_t rest = (uint64_t)(x >> 64), upper = 0;
    for (uint64_t bit = UINT64_C(1) << 62; bit != 0; bit >>= 2) {
        const uint64_t trial = upper + bit;
        upper >>= 1;
        if (rest >= trial) {
            rest -= trial;
            upper += bit;
        }
    }
    const unsigned __int128 left = (unsigned __int128)rest << 32 | (uint32_t)(x >> 32);
    const uint64_t lower = (uint64_t)(left / (2 * upper));
    const uint64_t root = upper << 32 | (lower < UINT32_MAX ? lower : UINT32_MAX);
    return (unsigned __int128)root * root > x ? root - 1 : root;
}

/* The root of the leading 128 bits, or 127 so that the exponent is even, has 64. */
static unrounded root_of(const tally_magnitude *m) {
    if (m->count == 0)
        return (unrounded){0, 0, false, false};
    int32_t length = bit_length(m);
    length += (m->exponent + length) & 1; /* a zero above the top bit */
    const int32_t lowest = length - 128;  /* the place of the lowest of these bits, from bit 0 of digits[0] */
    unsigned __int128 leading = 0;
    bool more = false;
    for (int32_t i = m->count - 1; i >= 0; i--) {
        const int32_t place = 32 * i - lowest;
        if (place >= 0)
            leading |= (unsigned __int128)m->digits[i] << place;
        else if (place > -32)
            leading |= m->digits[i] >> -place;
        more |= place < 0 && (place <= -32 || (m->digits[i] & ((UINT32_C(1) << -place) - 1)) != 0);
    }
    const uint64_t root = root_of_wide(leading);
    return justify(root, (m->exponent + lowest) / 2, false, more || (unsigned __int128)root * root != leading);
}

/* ---- variances: (n * sum of squares - sum^2) / (n (n - ddof)) ---- */

/* Digits of zero at either end are dropped. */
static void trim(tally_magnitude *m) {
    int32_t low = 0;
    while (m->count > 0 && m->digits[m->count - 1] == 0)
        m->count--;
    while (low < m->count && m->digits[low] == 0)
        low++;
    m->count -= low;
    m->exponent += 32 * low;
    if (low > 0)
        memmove(m->digits, m->digits + low, (size_t)m->count * sizeof m->digits[0]);
}

static void multiply(const tally_magnitude *a, const tally_magnitude *b, tally_magnitude *product) {
    product->negative = a->negative != b->negative;
    product->exponent = a->exponent + b->exponent;
    product->count = a->count + b->count;
    memset(product->digits, 0, (size_t)product->count * sizeof product->digits[0]);
    for (int32_t i = 0; i < a->count; i++) {
        uint64_t carry = 0;
        for (int32_t j = 0; j < b->count; j++) {
            carry += (uint64_t)a->digits[i] * b->digits[j] + product->digits[i + j];
            product->digits[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product->digits[i + b->count] = (uint32_t)carry;
    }
    trim(product);
}

static uint32_t digit_at(const tally_magnitude *m, int32_t exponent) {
    const int32_t i = (exponent - m->exponent) / 32;
    return exponent >= m->exponent && i < m->count ? m->digits[i] : 0;
}

/* a - b; false if that is below 0. The exponents differ by whole digits. */
static bool subtract(const tally_magnitude *a, const tally_magnitude *b, tally_magnitude *difference) {
    const bool b_lower = b->count > 0 && (a->count == 0 || b->exponent < a->exponent);
    const int32_t a_end = a->exponent + 32 * a->count, b_end = b->exponent + 32 * b->count;
    difference->negative = false;
    difference->exponent = b_lower ? b->exponent : a->exponent;
    difference->count = 0;
    if (b->count > 0 && (a->count == 0 || b_end > a_end))
        return false;
    difference->count = (a_end - difference->exponent) / 32;
    int64_t borrow = 0;
    for (int32_t i = 0; i < difference->count; i++) {
        const int32_t exponent = difference->exponent + 32 * i;
        borrow += (int64_t)digit_at(a, exponent) - digit_at(b, exponent);
        difference->digits[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    trim(difference);
    return borrow == 0;
}

/* The next 32 bits of a quotient. */
static uint32_t divide_digit(unsigned __int128 *remainder, uint32_t digit, unsigned __int128 divisor) {
    if (divisor >> 96 == 0) {
        const unsigned __int128 part = *remainder << 32 | digit;
        *remainder = part % divisor;
        return (uint32_t)(part / divisor);
    }
    uint32_t quotient = 0;
    for (int bit = 31; bit >= 0; bit--) {
        const bool carry = *remainder >> 127 != 0;
        *remainder = *remainder << 1 | (digit >> bit & 1);
        quotient <<= 1;
        if (carry || *remainder >= divisor) {
            *remainder -= divisor;
            quotient |= 1;
        }
    }
    return quotient;
}

/* The five leading digits of a quotient, at least 129 bits; true if anything follows. */
static bool leading_quotient(const tally_magnitude *m, unsigned __int128 divisor, tally_magnitude *quotient) {
    enum { DIGITS = 5 };
    unsigned __int128 remainder = 0;
    uint32_t digits[DIGITS];
    int32_t i = m->count, count = 0;
    while (count < DIGITS) {
        i--;
        const uint32_t digit = divide_digit(&remainder, i >= 0 ? m->digits[i] : 0, divisor);
        if (digit != 0 || count > 0)
            digits[DIGITS - ++count] = digit;
    }
    *quotient = (tally_magnitude){.exponent = m->exponent + 32 * i, .count = DIGITS};
    memcpy(quotient->digits, digits, sizeof digits);
    trim(quotient);
    return remainder != 0 || i > 0;
}

/* The root of a quotient's leading digits is that of the quotient as far as it has 64 bits: both have the same integer
 * part if the digits' exponent is even, as those of products, and so of variances, are. */
static uint64_t variance_bits(const tally_magnitude *sum, const tally_magnitude *squares, uint64_t n, uint64_t ddof,
                              bool root, const format *f) {
    const tally_magnitude count = {.count = 2, .digits = {(uint32_t)n, (uint32_t)(n >> 32)}};
    tally_magnitude n_squares, square, numerator, quotient;
    multiply(squares, &count, &n_squares);
    multiply(sum, sum, &square);
    if (!subtract(&n_squares, &square, &numerator))
        return f->nan; /* no elements have these sums, which came in words */
    if (numerator.count == 0)
        return 0;
    const bool more = leading_quotient(&numerator, (unsigned __int128)n * (n - ddof), &quotient);
    unrounded u = root ? root_of(&quotient) : of_magnitude(&quotient);
    u.more |= more;
    return round_bits(u, f);
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

void tally_round_sum(const tally_superaccumulator *accumulator, tally_dtype out, void *value) {
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

void tally_round_mean(const tally_superaccumulator *accumulator, tally_dtype out, void *value) {
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

void tally_round_root(const tally_superaccumulator *accumulator, tally_dtype out, void *value) {
    const format *f = &tally_dtypes[out].format;
    uint64_t bits;
    if (!special_bits(accumulator, f, &bits)) {
        tally_magnitude magnitude;
        tally_superaccumulator_magnitude(accumulator, &magnitude);
        unrounded u = root_of(&magnitude);
        if (u.leading == 0)
            u.negative = zero_is_negative(accumulator); /* the root of -0 is -0 */
        bits = magnitude.negative ? f->nan : round_bits(u, f);
    } else if (bits == (f->infinity | UINT64_C(1) << (f->bits - 1))) {
        bits = f->nan;
    }
    store(bits, f, value);
}

static bool is_deviation(tally_op op) {
    return tally_operator_of(op)->exact == TALLY_EXACTLY_DEVIATION;
}

void tally_round_moments(const tally_superaccumulator *sum, const tally_superaccumulator *squares, uint64_t ddof,
                         tally_op op, tally_dtype out, void *value) {
    const format *f = &tally_dtypes[out].format;
    uint64_t bits = f->nan;
    if (sum->count > ddof && sum->nans == 0 && sum->positive_infinities == 0 && sum->negative_infinities == 0) {
        tally_magnitude x, x_squares;
        tally_superaccumulator_magnitude(sum, &x);
        tally_superaccumulator_magnitude(squares, &x_squares);
        bits = variance_bits(&x, &x_squares, sum->count, ddof, is_deviation(op), f);
    }
    store(bits, f, value);
}

void tally_round_result(const tally_superaccumulator *accumulator, tally_op op, tally_dtype out, void *value) {
    switch (tally_operator_of(op)->exact) {
    case TALLY_EXACTLY_MEAN:
        tally_round_mean(accumulator, out, value);
        break;
    case TALLY_EXACTLY_ROOT:
        tally_round_root(accumulator, out, value);
        break;
    default:
        tally_round_sum(accumulator, out, value);
    }
}

/* The digits of an integer of several words. */
static void magnitude_of_words(const uint64_t *words, int word_count, bool is_signed, tally_magnitude *m) {
    uint32_t digits[8];
    uint64_t carry = 1;
    int32_t low = 0, end = 0;
    m->negative = is_signed && words[word_count - 1] >> 63 != 0;
    for (int32_t i = 0; i < 2 * word_count; i++) {
        digits[i] = (uint32_t)(words[i / 2] >> 32 * (i % 2));
        if (m->negative) {
            carry += (uint32_t)~digits[i];
            digits[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (digits[i] != 0)
            end = i + 1;
    }
    while (low < end && digits[low] == 0)
        low++;
    m->exponent = 32 * low;
    m->count = end - low;
    memcpy(m->digits, digits + low, (size_t)m->count * sizeof *digits);
}

void tally_round_integer(const uint64_t *words, int word_count, bool is_signed, uint64_t count, tally_op op,
                         tally_dtype out, void *value) {
    const format *f = &tally_dtypes[out].format;
    tally_magnitude magnitude;
    const bool is_mean = tally_operator_of(op)->exact == TALLY_EXACTLY_MEAN;
    if (is_mean && count == 0) {
        store(f->nan, f, value);
        return;
    }
    magnitude_of_words(words, word_count, is_signed, &magnitude);
    store(round_bits(is_mean ? quotient_of(&magnitude, count) : root_of(&magnitude), f), f, value);
}

void tally_round_integer_moments(const uint64_t words[6], bool is_signed, uint64_t ddof, tally_op op, tally_dtype out,
                                 void *value) {
    const format *f = &tally_dtypes[out].format;
    uint64_t bits = f->nan;
    if (words[0] > ddof) {
        tally_magnitude sum, squares;
        magnitude_of_words(words + 1, 2, is_signed, &sum);
        magnitude_of_words(words + 3, 3, false, &squares);
        bits = variance_bits(&sum, &squares, words[0], ddof, is_deviation(op), f);
    }
    store(bits, f, value);
}

void tally_round_pair(tally_exact_pair sum, tally_dtype out, void *value) {
    const format *f = &tally_dtypes[out].format;
    uint64_t bits;
    memcpy(&bits, &sum.high, sizeof bits);
    if (out != TALLY_F64) {
        uint64_t low_bits;
        memcpy(&low_bits, &sum.low, sizeof low_bits);
        const int32_t field = (int32_t)(bits >> 52) & 0x7ff;
        const uint64_t fraction = bits & UINT64_C(0xfffffffffffff);
        const uint64_t significand = field != 0 ? fraction | UINT64_C(1) << 52 : fraction;
        unrounded u = justify(significand, field != 0 ? field - 1075 : -1074, bits >> 63 != 0, false);
        if (u.leading != 0 && low_bits << 1 != 0) {
            /* At most half a unit of high, so the bits below its last are a run of zeros or of ones, and a rest. */
            u.more = true;
            if ((low_bits ^ bits) >> 63 != 0)
                u.leading--;
        }
        bits = round_bits(u, f);
    }
    store(bits, f, value);
}
