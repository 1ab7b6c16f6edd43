/* number.c: see number.h. The C library's strtod and strtof round correctly and do the hard cases; short decimals,
 * which are nearly all, take the exact path of Clinger (How to read floating point numbers accurately, 1990): a
 * mantissa below 2^53 times or over a power of ten up to 10^22 is one correctly rounded operation.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool equals_word(const char *text, const char *word) {
    size_t i = 0;
    for (; word[i]; i++) {
        const char c = text[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != word[i])
            return false;
    }
    return text[i] == 0;
}

/* Skips digits by the given test and counts them. */
static const char *skip_digits(const char *p, bool (*is)(char), size_t *count) {
    while (is(*p)) {
        p++;
        ++*count;
    }
    return p;
}

static bool is_exponent(const char *p) {
    size_t digits = 0;
    if (*p == '+' || *p == '-')
        p++;
    p = skip_digits(p, is_digit, &digits);
    return digits > 0 && *p == 0;
}

/* An unsigned float after the sign: decimal, hexadecimal or a word. */
static bool is_float_text(const char *p) {
    size_t digits = 0;
    if (equals_word(p, "inf") || equals_word(p, "infinity") || equals_word(p, "nan"))
        return true;
    const bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    bool (*const is)(char) = hex ? is_hex_digit : is_digit;
    p = skip_digits(p + (hex ? 2 : 0), is, &digits);
    if (*p == '.')
        p = skip_digits(p + 1, is, &digits);
    if (digits == 0)
        return false;
    if (*p == 0)
        return true;
    const char lower = (char)(*p | 0x20);
    return lower == (hex ? 'p' : 'e') && is_exponent(p + 1);
}

/* Digits to u64; false when they do not fit. */
static bool digits_to_u64(const char *p, uint64_t *value) {
    uint64_t v = 0;
    for (; *p; p++) {
        const uint64_t digit = (uint64_t)(*p - '0');
        if (v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - digit)
            return false;
        v = v * 10 + digit;
    }
    *value = v;
    return true;
}

/* Splits an integer text; false for what is no decimal integer. 'fits' says if the magnitude fits u64. */
static bool split_integer(const char *text, bool *negative, uint64_t *magnitude, bool *fits) {
    size_t digits = 0;
    const char *p = text;
    *negative = *p == '-';
    if (*p == '+' || *p == '-')
        p++;
    if (*skip_digits(p, is_digit, &digits) != 0 || digits == 0)
        return false;
    *fits = digits_to_u64(p, magnitude);
    return true;
}

number_kind number_classify(const char *text, size_t length) {
    bool negative, fits;
    uint64_t magnitude = 0;
    if (length == 0 || strlen(text) != length)
        return NUMBER_NO_NUMBER;
    if (split_integer(text, &negative, &magnitude, &fits)) {
        if (fits && magnitude <= (uint64_t)INT64_MAX + (uint64_t)negative)
            return NUMBER_I64;
        return fits && !negative ? NUMBER_U64 : NUMBER_BIG_INTEGER;
    }
    return is_float_text(text + (*text == '+' || *text == '-')) ? NUMBER_FLOAT : NUMBER_NO_NUMBER;
}

/* The bits of an element, which fill the lowest of the number's. */
static uint64_t read_bits(const void *element, size_t bytes) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1:
        memcpy(&one, element, 1);
        return one;
    case 2:
        memcpy(&two, element, 2);
        return two;
    case 4:
        memcpy(&four, element, 4);
        return four;
    default:
        memcpy(&eight, element, 8);
        return eight;
    }
}

static void write_bits(void *element, size_t bytes, uint64_t bits) {
    const uint8_t one = (uint8_t)bits;
    const uint16_t two = (uint16_t)bits;
    const uint32_t four = (uint32_t)bits;
    memcpy(element,
           bytes == 1   ? (const void *)&one
           : bytes == 2 ? (const void *)&two
           : bytes == 4 ? (const void *)&four
                        : (const void *)&bits,
           bytes);
}

static number_status parse_integer(const char *text, const tally_type_traits *type, void *element) {
    bool negative, fits;
    uint64_t magnitude = 0;
    if (!split_integer(text, &negative, &magnitude, &fits))
        return NUMBER_NOT_INTEGER;
    const unsigned bits = (unsigned)(8 * type->bytes) - (type->is_signed ? 1 : 0);
    const uint64_t top = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const uint64_t limit = negative ? (type->is_signed ? top + 1 : 0) : top;
    if (!fits || magnitude > limit)
        return NUMBER_OUT_OF_RANGE;
    write_bits(element, type->bytes, negative ? 0 - magnitude : magnitude);
    return NUMBER_OK;
}

/* Clinger's exact case; false when the text is not one. Limits: f64 2^53 and 10^22, f32 2^24 and 10^10. The mantissa
 * is compared as an integer: as a double 2^53 + 1 would be 2^53. */
static bool parse_short_decimal(const char *text, uint64_t mantissa_limit, int power_limit, double *mantissa,
                                int *power) {
    const char *p = text + (*text == '+' || *text == '-');
    uint64_t m = 0;
    int digits = 0, scale = 0, exponent = 0;
    for (; is_digit(*p); p++, digits++)
        m = m * 10 + (uint64_t)(*p - '0');
    if (*p == '.')
        for (p++; is_digit(*p); p++, digits++, scale++)
            m = m * 10 + (uint64_t)(*p - '0');
    if (digits == 0 || digits > 18)
        return false;
    if ((*p | 0x20) == 'e') {
        const char *e = p + 1 + (p[1] == '+' || p[1] == '-');
        int count = 0;
        for (; is_digit(*e) && count < 4; e++, count++)
            exponent = exponent * 10 + (*e - '0');
        if (*e || count == 0)
            return false;
        if (p[1] == '-')
            exponent = -exponent;
    } else if (*p) {
        return false;
    }
    *power = exponent - scale;
    *mantissa = (double)m;
    return m <= mantissa_limit && *power <= power_limit && *power >= -power_limit;
}

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t F64_MANTISSA = UINT64_C(1) << 53;
enum { F64_POWER = 22, F32_MANTISSA = 1 << 24, F32_POWER = 10 };

static double scale_short_decimal(const char *text, double mantissa, int power) {
    const double value = power < 0 ? mantissa / powers_of_ten[-power] : mantissa * powers_of_ten[power];
    return *text == '-' ? -value : value;
}

static float parse_f32(const char *text) {
    double mantissa;
    int power;
    if (!parse_short_decimal(text, F32_MANTISSA, F32_POWER, &mantissa, &power))
        return strtof(text, NULL);
    const float m = (float)mantissa, scale = (float)powers_of_ten[power < 0 ? -power : power];
    const float value = power < 0 ? m / scale : m * scale;
    return *text == '-' ? -value : value;
}

/* The decimal rounded to odd in 53 bits, from which rounding to 11 or 8 bits gives what rounding the decimal itself
 * would (Boldo and Melquiond, When double rounding is odd, 2005). Plain strtod would round twice. */
static double parse_to_odd(const char *text) {
    const int mode = fegetround();
    fesetround(FE_DOWNWARD);
    const double below = strtod(text, NULL);
    fesetround(FE_UPWARD);
    const double above = strtod(text, NULL);
    fesetround(mode);
    if (below == above || isnan(below))
        return below;
    double value = fabs(below) < fabs(above) ? below : above;
    uint64_t bits;
    memcpy(&bits, &value, 8);
    bits |= 1;
    memcpy(&value, &bits, 8);
    return value;
}

/* A narrow float's layout, as in IEEE 754. */
typedef struct layout {
    int fraction_bits, min_exponent; /* of normal numbers */
    uint64_t infinity, sign;
} layout;

static layout layout_of(const tally_type_traits *type) {
    const int bits = 8 * (int)type->bytes, exponent_bits = bits - type->precision;
    return (layout){type->precision - 1, 2 - (1 << (exponent_bits - 1)),
                    ((UINT64_C(1) << exponent_bits) - 1) << (type->precision - 1), UINT64_C(1) << (bits - 1)};
}

/* A double to a narrow float, to nearest even. */
static uint64_t narrow(double value, const layout *to) {
    const uint64_t sign = signbit(value) ? to->sign : 0;
    if (isnan(value))
        return sign | to->infinity | UINT64_C(1) << (to->fraction_bits - 1);
    const double magnitude = fabs(value);
    if (isinf(magnitude) || magnitude == 0)
        return sign | (magnitude == 0 ? 0 : to->infinity);
    int exponent;
    frexp(magnitude, &exponent);
    exponent = exponent - 1 < to->min_exponent ? to->min_exponent : exponent - 1;
    /* In units of the last place; a sum with 2^52 rounds to an integer, to even. */
    const double units = ldexp(magnitude, to->fraction_bits - exponent);
    const double rounded = (units + 4503599627370496.0) - 4503599627370496.0;
    const uint64_t whole = (uint64_t)rounded; /* below 2^(fraction_bits + 1), or equal to it after a carry */
    const uint64_t bits = ((uint64_t)(exponent - to->min_exponent) << to->fraction_bits) + whole;
    return sign | (bits >= to->infinity ? to->infinity : bits);
}

static number_status parse_narrow(const char *text, const tally_type_traits *type, void *element) {
    double value, mantissa;
    int power;
    if (parse_short_decimal(text, F64_MANTISSA, 0, &mantissa, &power)) /* an integer: exact */
        value = *text == '-' ? -mantissa : mantissa;
    else
        value = parse_to_odd(text);
    const layout to = layout_of(type);
    const uint64_t bits = narrow(value, &to);
    if (!isinf(value) && !isnan(value) && (bits & ~to.sign) == to.infinity)
        return NUMBER_OUT_OF_RANGE;
    write_bits(element, type->bytes, bits);
    return NUMBER_OK;
}

static bool names_infinity(const char *text) {
    const char *p = text + (*text == '+' || *text == '-');
    return *p == 'i' || *p == 'I';
}

number_status number_parse(const char *text, size_t length, tally_dtype dtype, void *element) {
    double mantissa;
    int power;
    if (dtype == TALLY_F64 && length > 0 && strlen(text) == length &&
        parse_short_decimal(text, F64_MANTISSA, F64_POWER, &mantissa, &power)) {
        const double value = scale_short_decimal(text, mantissa, power);
        memcpy(element, &value, 8);
        return NUMBER_OK;
    }
    const bool is_wide = dtype == TALLY_F64 || dtype == TALLY_F32;
    const tally_type_traits type = is_wide ? (tally_type_traits){.is_float = 1} : number_traits(dtype);
    if (!type.is_float && length > 0 && strlen(text) == length) {
        const number_status status = parse_integer(text, &type, element);
        if (status != NUMBER_NOT_INTEGER)
            return status;
    }
    if (number_classify(text, length) == NUMBER_NO_NUMBER)
        return NUMBER_NONE;
    if (!type.is_float)
        return NUMBER_NOT_INTEGER;
    if (dtype == TALLY_F64) {
        const double value = strtod(text, NULL);
        if (isinf(value) && !names_infinity(text))
            return NUMBER_OUT_OF_RANGE;
        memcpy(element, &value, 8);
        return NUMBER_OK;
    }
    if (dtype == TALLY_F32) {
        const float value = parse_f32(text);
        if (isinf(value) && !names_infinity(text))
            return NUMBER_OUT_OF_RANGE;
        memcpy(element, &value, 4);
        return NUMBER_OK;
    }
    return parse_narrow(text, &type, element);
}

/* ---- writing ---- */

/* A narrow float to a double, exactly. */
static double widen(const tally_type_traits *type, const void *element) {
    const layout from = layout_of(type);
    const uint64_t bits = read_bits(element, type->bytes), magnitude = bits & ~from.sign;
    const double sign = (bits & from.sign) != 0 ? -1.0 : 1.0;
    if (magnitude >= from.infinity)
        return magnitude > from.infinity ? (double)NAN : sign * (double)INFINITY;
    const int field = (int)(magnitude >> from.fraction_bits), unit = from.min_exponent - from.fraction_bits;
    const uint64_t leading = UINT64_C(1) << from.fraction_bits, fraction = magnitude & (leading - 1);
    return sign * ldexp((double)(field == 0 ? fraction : leading | fraction), unit + (field == 0 ? 0 : field - 1));
}

/* How many significant digits to try first and last. A decimal of so few digits that a float's precision holds it, 15
 * of f64, comes back from printing as many digits of the nearest float, whose zeros at the end fall away; below the
 * normal range fewer digits may do. */
static void digit_range(const tally_type_traits *type, double value, int *first, int *last) {
    static const double log10_of_2 = 0.30102999566398120;
    const layout form = layout_of(type);
    *first = fabs(value) >= ldexp(1, form.min_exponent) ? (int)(form.fraction_bits * log10_of_2) : 1;
    *first += *first == 0;
    *last = (int)ceil(type->precision * log10_of_2) + 1;
}

/* Lays out "d.ddde+XX" as Python's repr does. */
static size_t lay_out(char *out, const char *scientific) {
    char digits[24];
    int count = 0;
    const char *p = scientific;
    size_t at = 0;
    if (*p == '-')
        out[at++] = *p++;
    for (; *p != 'e'; p++)
        if (is_digit(*p))
            digits[count++] = *p;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    const int exponent = atoi(p + 1);
    if (exponent < -4 || exponent >= 16) {
        out[at++] = digits[0];
        if (count > 1)
            out[at++] = '.';
        memcpy(out + at, digits + 1, (size_t)count - 1);
        at += (size_t)count - 1;
        return at + (size_t)snprintf(out + at, 8, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    }
    if (exponent < 0) {
        memcpy(out + at, "0.0000", (size_t)(1 - exponent));
        at += (size_t)(1 - exponent);
        memcpy(out + at, digits, (size_t)count);
        at += (size_t)count;
    } else {
        for (int i = 0; i < count || i <= exponent; i++) {
            if (i == exponent + 1)
                out[at++] = '.';
            out[at++] = i < count ? digits[i] : '0';
        }
    }
    out[at] = 0;
    return at;
}

static size_t format_float(char *text, tally_dtype dtype, const void *element) {
    const double value = number_to_f64(dtype, element);
    if (isnan(value) || isinf(value) || value == 0) {
        strcpy(text, isnan(value) ? "nan" : value == 0 ? (signbit(value) ? "-0" : "0") : value > 0 ? "inf" : "-inf");
        return strlen(text);
    }
    char scientific[32];
    int digits, last;
    const tally_type_traits type = number_traits(dtype);
    digit_range(&type, value, &digits, &last);
    for (;; digits++) {
        unsigned char back[8];
        snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
        if (digits >= last || (number_parse(scientific, strlen(scientific), dtype, back) == NUMBER_OK &&
                               memcmp(back, element, tally_dtype_size(dtype)) == 0))
            break;
    }
    return lay_out(text, scientific);
}

size_t number_format(char text[NUMBER_FORMAT_MAX], tally_dtype dtype, const void *element) {
    if (number_is_float(dtype))
        return format_float(text, dtype, element);
    uint64_t value = 0;
    int64_t as_signed;
    if (dtype == TALLY_U64)
        memcpy(&value, element, 8);
    else if (number_to_i64(dtype, element, &as_signed)) {
        if (as_signed < 0)
            return (size_t)snprintf(text, NUMBER_FORMAT_MAX, "%lld", (long long)as_signed);
        value = (uint64_t)as_signed;
    }
    return (size_t)snprintf(text, NUMBER_FORMAT_MAX, "%llu", (unsigned long long)value);
}

bool number_to_i64(tally_dtype dtype, const void *element, int64_t *value) {
    const tally_type_traits type = number_traits(dtype);
    if (type.bytes == 0 || type.is_float)
        return false;
    const int unused = 64 - 8 * (int)type.bytes;
    const uint64_t bits = read_bits(element, type.bytes);
    *value = type.is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return type.is_signed || bits <= (uint64_t)INT64_MAX;
}

double number_to_f64(tally_dtype dtype, const void *element) {
    const tally_type_traits type = number_traits(dtype);
    double value;
    float single;
    int64_t integer;
    if (!type.is_float)
        return number_to_i64(dtype, element, &integer) ? (double)integer : (double)read_bits(element, type.bytes);
    switch (dtype) {
    case TALLY_F64:
        memcpy(&value, element, 8);
        return value;
    case TALLY_F32:
        memcpy(&single, element, 4);
        return (double)single;
    default:
        return widen(&type, element);
    }
}
