/* The superaccumulator's slow half: carries, merging, conversion to a magnitude, and adding single values by integer
 * arithmetic. See superaccumulator.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "superaccumulator.h"

#include <string.h>

void tally_superaccumulator_init(tally_superaccumulator *accumulator, tally_exact_layout layout) {
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

void tally_superaccumulator_normalise(tally_superaccumulator *accumulator) {
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

void tally_superaccumulator_merge(tally_superaccumulator *into, const tally_superaccumulator *from) {
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

void tally_superaccumulator_magnitude(const tally_superaccumulator *accumulator, tally_magnitude *magnitude) {
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

void tally_superaccumulator_deposit_value(tally_superaccumulator *accumulator, double x) {
    const parts p = take_apart(x);
    if (!p.finite) {
        count_special(accumulator, p.significand != UINT64_C(1) << 52, p.negative);
        return;
    }
    const int64_t sign = -(int64_t)p.negative; /* without a branch, which signs at random would mispredict */
    tally_superaccumulator_deposit(accumulator, ((int64_t)p.significand ^ sign) - sign, p.exponent);
}

void tally_superaccumulator_deposit_product(tally_superaccumulator *accumulator, double x, double y) {
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
