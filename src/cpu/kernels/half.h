/* f16 and bf16 to and from the wider floats, by their bits: exact to the wider type, rounded once (to nearest, ties to
 * even) to the narrower. Both types are passed as uint16_t. */
#ifndef TALLY_CPU_HALF_H
#define TALLY_CPU_HALF_H

#include <stdint.h>
#include <string.h>

static inline float tally_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t tally_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t tally_bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The magnitude moves to f32's position, and the exponent's bias is corrected, twice for infinity and NaN. A subnormal
 * takes 2^-14 as its leading bit and loses it again. No step has a subnormal f32, for which processors take 100 cycles.
 */
enum { TALLY_F16_BIAS = 112 << 23, TALLY_F16_NORMAL = 1 << 23, TALLY_F16_INFINITE = 31 << 23 };
static inline float tally_f32_of_f16(uint16_t half) {
    const uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13, sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t biased = magnitude + TALLY_F16_BIAS;
    const float subnormal = tally_float_of_bits(biased + TALLY_F16_NORMAL) - 0x1p-14f;
    const uint32_t bits = biased + (magnitude >= TALLY_F16_INFINITE ? TALLY_F16_BIAS : 0);
    return tally_float_of_bits((magnitude < TALLY_F16_NORMAL ? tally_bits_of_float(subnormal) : bits) | sign);
}

static inline float tally_f32_of_bf16(uint16_t bf16) {
    return tally_float_of_bits((uint32_t)bf16 << 16);
}

/* Rounds a double to a format of 16 bits with the given number of stored mantissa bits; the exponent takes the rest. */
static inline uint16_t tally_round_to_16_bits(double value, int mantissa_bits) {
    uint64_t bits = tally_bits_of_double(value);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    int exponent_bits = 15 - mantissa_bits;
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << mantissa_bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & 0xfffffffffffffull;
    if (exponent == 0x7ff)
        return (uint16_t)(sign | infinity | (mantissa ? 1 << (mantissa_bits - 1) : 0));
    int biased = exponent - 1023 + bias;
    if (exponent == 0 || biased < -mantissa_bits)
        return sign; /* below half the smallest subnormal (a double's own subnormals too) */
    mantissa |= 1ull << 52;
    int drop = 52 - mantissa_bits + (biased < 1 ? 1 - biased : 0);
    uint64_t kept = mantissa >> drop, rest = mantissa & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    /* kept still has its leading bit, which adds one to the exponent field below; so does a carry */
    uint64_t result = biased < 1 ? kept : kept + ((uint64_t)(biased - 1) << mantissa_bits);
    return (uint16_t)(sign | (result >= infinity ? infinity : result));
}

static inline uint16_t tally_f16_of_f64(double value) {
    return tally_round_to_16_bits(value, 10);
}
static inline uint16_t tally_bf16_of_f64(double value) {
    return tally_round_to_16_bits(value, 7);
}

#endif
