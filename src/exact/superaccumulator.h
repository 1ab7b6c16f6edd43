/* The superaccumulator: a fixed-point integer wide enough for any sum of floating-point values (or of products of two),
 * so that adding to it never rounds. It consists of int64 limbs with a payload of 32 bits each. The upper halves
 * collect carries, which normalising moves on. So a deposit is three additions, and states merge limb by limb.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_EXACT_SUPERACCUMULATOR_H
#define TALLY_EXACT_SUPERACCUMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/layout.h"

enum { TALLY_LIMBS_MAX = 136 };

typedef struct tally_superaccumulator {
    int32_t lowest;     /* bit 0 of limb 0 is 2^lowest */
    int32_t limb_count; /* of the layout */
    int32_t first, end; /* limbs outside [first, end) are zero, so that small sums clear and round quickly */
    uint32_t pending;   /* deposits since the last normalisation */
    tally_exact_layout layout;

    uint64_t count; /* elements added, specials included */
    uint64_t positive_infinities;
    uint64_t negative_infinities;
    uint64_t nans;
    uint64_t others; /* not 0 if a summand other than -0 was added; its value has no other meaning */

    int64_t limbs[TALLY_LIMBS_MAX];
} tally_superaccumulator;

/* The absolute value as digits of base 2^32, lowest first, neither end zero. Zero has no digits and no sign. */
typedef struct tally_magnitude {
    bool negative;
    int32_t exponent; /* bit 0 of digits[0] is 2^exponent */
    int32_t count;
    uint32_t digits[TALLY_LIMBS_MAX + 4];
} tally_magnitude;

void tally_superaccumulator_init(tally_superaccumulator *accumulator, tally_exact_layout layout);

/* Brings every limb but the highest into [0, 2^32); the highest takes the sign. The same value gives the same limbs. */
void tally_superaccumulator_normalise(tally_superaccumulator *accumulator);

/* Adds the state of 'from'; the layouts must be the same. */
void tally_superaccumulator_merge(tally_superaccumulator *into, const tally_superaccumulator *from);

void tally_superaccumulator_magnitude(const tally_superaccumulator *accumulator, tally_magnitude *magnitude);

/* Adds a value, or the product of two, by integer arithmetic only, so neither a rounding mode nor the data changes the
 * result. Specials are counted as IEEE 754 defines them. The caller, who knows the summands, updates 'count' and
 * 'others'. */
void tally_superaccumulator_deposit_value(tally_superaccumulator *accumulator, double x);
void tally_superaccumulator_deposit_product(tally_superaccumulator *accumulator, double x, double y);

/* 2^30 deposits of less than 2^32 per limb leave half of the limb's 2^63 free, which a merge needs. */
#define TALLY_PENDING_MAX (UINT32_C(1) << 30)

/* x is not 0. */
static inline int tally_leading_zeros(uint64_t x) {
    return __builtin_clzll(x);
}

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

#endif
