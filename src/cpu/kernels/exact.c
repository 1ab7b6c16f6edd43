/* Exact sums by windowed levels. Adding x to S = 1.5 * 2^top and subtracting S again splits x, without error, into a
 * multiple of S's unit, which stays in S, and a residual for the next level; the last level is a plain sum. Every step
 * is exact if S outweighs x and the last sum has enough bits. Nothing about the data is proved for that: the
 * processor's sticky inexact flag says afterwards whether an operation rounded. A block that was exact costs four
 * additions a vector and no comparison. Any other block is examined and done again with a window that fits, with more
 * levels, or in integer bins, which take anything.
 *
 * The split itself, S + x, rounds on purpose. AVX-512 adds without raising flags. Elsewhere the additions are done
 * first, and the flags cleared, before the differences that must be exact.
 *
 * Sources: Rump, Ogita, Oishi, "Accurate floating-point summation I" (2008) for the extraction; Demmel, Hida, "Fast and
 * accurate floating point summation" (2004); Neal, "Fast exact summation using small and large superaccumulators"
 * (2015) for the bins.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernels/exact_few.h"
#include "cpu/kernels/exact_floats.h"
#include "cpu/kernels/exact_halves.h"
#include "cpu/kernels/exact_products.h"
#include "cpu/kernels/exact_scan.h"

#define DEFINE_SMALL(tag, type)                                                                                        \
    static bool small_sum_##tag(const void *x, size_t n, tally_exact_pair *sum) {                                      \
        return small_total(x, NULL, n, type, false, sum);                                                              \
    }                                                                                                                  \
    static bool small_magnitudes_##tag(const void *x, size_t n, tally_exact_pair *sum) {                               \
        return small_total(x, NULL, n, type, true, sum);                                                               \
    }                                                                                                                  \
    static bool small_products_##tag(const void *x, const void *y, size_t n, tally_exact_pair *sum) {                  \
        return small_total(x, y, n, type, false, sum);                                                                 \
    }
#define FLOATS_SIGNED(...)
#define FLOATS_UNSIGNED(...)
#define FLOATS_FLOAT(...)                       __VA_ARGS__
#define TALLY_DTYPE(ENUMERATOR, tag, kind, ...) FLOATS_##kind(DEFINE_SMALL(tag, TALLY_##ENUMERATOR))
#include "core/dtypes.def"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

const tally_exact_kernels PASTE2(tally_exact_kernels_, TALLY_LEVEL) = {
    .level = STRING(TALLY_LEVEL),
    .types =
        {
#define TALLY_DTYPE(ENUMERATOR, tag, kind, ...)                                                                        \
    FLOATS_##kind([TALLY_##ENUMERATOR] = {add_##tag, add_magnitudes_##tag, add_products_##tag, small_sum_##tag,        \
                                          small_magnitudes_##tag, small_products_##tag, scan_##tag}, )
#include "core/dtypes.def"
        },
};
