#include "number.h"

#include <float.h>
#include <math.h>
#include <string.h>

number_kind kind_of(tally_dtype type) {
    switch (type) {
    case TALLY_I8:
    case TALLY_I16:
    case TALLY_I32:
    case TALLY_I64:
        return KIND_SIGNED;
    case TALLY_U8:
    case TALLY_U16:
    case TALLY_U32:
    case TALLY_U64:
        return KIND_UNSIGNED;
    default:
        return KIND_FLOAT;
    }
}

bool is_float(tally_dtype type) {
    return kind_of(type) == KIND_FLOAT;
}

size_t size_of(tally_dtype type) {
    switch (type) {
    case TALLY_I8:
    case TALLY_U8:
        return 1;
    case TALLY_I16:
    case TALLY_U16:
    case TALLY_F16:
    case TALLY_BF16:
        return 2;
    case TALLY_I32:
    case TALLY_U32:
    case TALLY_F32:
        return 4;
    default:
        return 8;
    }
}

int precision_of(tally_dtype type) {
    return type == TALLY_F16 ? 11 : type == TALLY_BF16 ? 8 : type == TALLY_F32 ? 24 : 53;
}

int smallest_exponent_of(tally_dtype type) {
    return type == TALLY_F16 ? -24 : type == TALLY_BF16 ? -133 : type == TALLY_F32 ? -149 : -1074;
}

long double largest_of(tally_dtype type) {
    return type == TALLY_F16    ? 0x1.ffcp15L
           : type == TALLY_BF16 ? 0x1.fep127L
           : type == TALLY_F32  ? 0x1.fffffep127L
                                : 0x1.fffffffffffffp1023L;
}

/* Both halves: sign, 'width' exponent bits, and the rest fraction. */
static double decode_half(uint16_t bits, int width) {
    int fraction_bits = 15 - width, bias = (1 << (width - 1)) - 1;
    int exponent = (bits >> fraction_bits) & ((1 << width) - 1);
    int fraction = bits & ((1 << fraction_bits) - 1);
    double value;
    if (exponent == (1 << width) - 1)
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - bias - fraction_bits);
    else
        value = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return bits & 0x8000 ? -value : value;
}

static uint16_t encode_half(double value, int width) {
    int fraction_bits = 15 - width, bias = (1 << (width - 1)) - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(((1 << width) - 1) << fraction_bits);
    if (isnan(value))
        return sign | infinity | (uint16_t)(1 << (fraction_bits - 1));
    if (isinf(value))
        return sign | infinity;
    if (value == 0)
        return sign;
    int exponent;
    frexp(value, &exponent);
    int field = exponent - 1 + bias;
    if (field < 1)
        return sign | (uint16_t)ldexp(fabs(value), bias - 1 + fraction_bits);
    int significand = (int)ldexp(fabs(value), fraction_bits + 1 - exponent);
    return sign | (uint16_t)((field << fraction_bits) + (significand - (1 << fraction_bits)));
}

#define DECODE(ctype, field)                                                                                           \
    for (size_t k = 0; k < n; k++) {                                                                                   \
        ctype value;                                                                                                   \
        memcpy(&value, bytes + k * sizeof value, sizeof value);                                                        \
        cells[k].field = value;                                                                                        \
    }                                                                                                                  \
    break

void decode(tally_dtype type, const void *memory, size_t n, cell *cells) {
    const unsigned char *bytes = memory;
    switch (type) {
    case TALLY_I8:
        DECODE(int8_t, i);
    case TALLY_I16:
        DECODE(int16_t, i);
    case TALLY_I32:
        DECODE(int32_t, i);
    case TALLY_I64:
        DECODE(int64_t, i);
    case TALLY_U8:
        DECODE(uint8_t, u);
    case TALLY_U16:
        DECODE(uint16_t, u);
    case TALLY_U32:
        DECODE(uint32_t, u);
    case TALLY_U64:
        DECODE(uint64_t, u);
    case TALLY_F32:
        DECODE(float, d);
    case TALLY_F64:
        DECODE(double, d);
    default:
        for (size_t k = 0; k < n; k++) {
            uint16_t bits;
            memcpy(&bits, bytes + 2 * k, 2);
            cells[k].d = decode_half(bits, type == TALLY_F16 ? 5 : 8);
        }
    }
}

void store_bits(tally_dtype type, uint64_t bits, void *memory) {
    const uint32_t four = (uint32_t)bits;
    const uint16_t two = (uint16_t)bits;
    const uint8_t one = (uint8_t)bits;
    const size_t size = size_of(type);
    memcpy(memory,
           size == 8   ? (const void *)&bits
           : size == 4 ? (const void *)&four
           : size == 2 ? (const void *)&two
                       : &one,
           size);
}

void encode(tally_dtype type, cell value, void *memory) {
    if (type == TALLY_F64) {
        memcpy(memory, &value.d, 8);
    } else if (type == TALLY_F32) {
        float f = (float)value.d;
        memcpy(memory, &f, 4);
    } else if (is_float(type)) {
        uint16_t bits = encode_half(value.d, type == TALLY_F16 ? 5 : 8);
        memcpy(memory, &bits, 2);
    } else {
        store_bits(type, value.u, memory);
    }
}

/* The exponent of the unit in the last place at |value|, which is finite and not zero. */
static int last_place(tally_dtype type, long double value) {
    int exponent;
    frexpl(value, &exponent);
    int place = exponent - precision_of(type), lowest = smallest_exponent_of(type);
    return place < lowest ? lowest : place;
}

long double round_to(tally_dtype type, long double value) {
    if (value == 0 || isnan(value) || isinf(value))
        return value;
    if (type == TALLY_F32 || type == TALLY_F64) /* the compiler's conversions take a tenth of the time */
        return type == TALLY_F32 ? (long double)(float)value : (long double)(double)value;
    int place = last_place(type, value);
    long double rounded = ldexpl(rintl(ldexpl(value, -place)), place);
    return fabsl(rounded) > largest_of(type) ? copysignl(INFINITY, value) : rounded;
}

long double ulp_at(tally_dtype type, long double magnitude) {
    if (magnitude == 0)
        return ldexpl(1, smallest_exponent_of(type));
    if (isnan(magnitude) || isinf(magnitude))
        return 0;
    return ldexpl(1, last_place(type, magnitude));
}

cell lowest_cell(tally_dtype type) {
    cell c = {0};
    if (is_float(type))
        c.d = (double)-INFINITY;
    else if (kind_of(type) == KIND_SIGNED)
        c.i = -1 - (int64_t)(UINT64_MAX >> (65 - 8 * size_of(type)));
    return c;
}

cell highest_cell(tally_dtype type) {
    cell c = {0};
    if (is_float(type))
        c.d = (double)INFINITY;
    else if (kind_of(type) == KIND_SIGNED)
        c.i = (int64_t)(UINT64_MAX >> (65 - 8 * size_of(type)));
    else
        c.u = UINT64_MAX >> (64 - 8 * size_of(type));
    return c;
}
