/* Exact sums of a few values, as a pair of doubles if it can hold them.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_FEW_H
#define TALLY_CPU_KERNELS_EXACT_FEW_H

#include "cpu/kernels/exact_stream.h"

/* a + b exactly, as the rounded sum and its error, in any order of magnitude (Knuth). */
ALWAYS_INLINE double two_sum(double a, double b, double *lack) {
    const double sum = a + b, b_part = sum - a;
    *lack = (a - (sum - b_part)) + (b - b_part);
    return sum;
}

/* Two cascaded sums; the errors of the second must be zero. Needs no window and no flag. */
ALWAYS_INLINE bool small_total(const void *x, const void *y, size_t n, const tally_dtype type, const bool magnitudes,
                               tally_exact_pair *total) {
    double high = n > 0 ? -0.0 : 0.0, low = 0;
    bool exact = true;
    for (size_t i = 0; i < n; i++) {
        double value = value_at(x, i, type), lack, lost;
        if (magnitudes)
            value = __builtin_fabs(value);
        if (y) {
            const double factor = value, other = value_at(y, i, type);
            value = factor * other;
            if (type == TALLY_F64) {
#if HAVE_FMA
                /* Far from where a product's error could underflow; a true zero is fine. */
                const double magnitude = __builtin_fabs(value);
                exact &= magnitude > 0x1p-900 || factor == 0 || other == 0;
                low = two_sum(low, __builtin_fma(factor, other, -value), &lost);
                exact &= lost == 0;
#else
                return false;
#endif
            }
        }
        high = two_sum(high, value, &lack);
        low = two_sum(low, lack, &lost);
        exact &= lost == 0;
    }
    total->high = low == 0 ? high : two_sum(high, low, &total->low);
    if (low == 0)
        total->low = 0;
    return exact && total->high - total->high == 0;
}

#endif
