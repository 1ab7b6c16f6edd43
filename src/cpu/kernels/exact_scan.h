/* Exact prefix sums: each result is the sum of its prefix, rounded once.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_SCAN_H
#define TALLY_CPU_KERNELS_EXACT_SCAN_H

#include "cpu/kernels/exact_stream.h"

/* Any input, element by element: a deposit, and a rounding from the limbs. */
static void walk(tally_superaccumulator *before, const void *x, size_t n, const tally_dtype in,
                 tally_cpu_scan_options how, tally_dtype out_type, void *out) {
    const size_t out_bytes = tally_dtype_size(out_type);
    for (size_t k = 0; k < n; k++) {
        const size_t i = how.reverse ? n - 1 - k : k;
        void *const result = (char *)out + i * out_bytes;
        const double value = value_at(x, i, in);
        if (how.exclusive)
            tally_round_sum(before, out_type, result);
        tally_superaccumulator_deposit_value(before, value);
        before->count++;
        before->others |= value != 0 || !is_negative(value);
        if (!how.exclusive)
            tally_round_sum(before, out_type, result);
    }
}

#define DEFINE_EXACT_SCAN(tag, type)                                                                                   \
    static void scan_##tag(tally_superaccumulator *before, const void *x, size_t n, tally_cpu_scan_options how,        \
                           tally_dtype out_type, void *out) {                                                          \
        walk(before, x, n, type, how, out_type, out);                                                                  \
    }

#endif
