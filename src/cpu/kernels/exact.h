/* The exact kernels: from arrays to a superaccumulator at nearly the speed of a plain sum. One text (exact.c) is
 * compiled once for each instruction-set level; the back end picks a level and calls through this table.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_H
#define TALLY_CPU_KERNELS_EXACT_H

#include <stdbool.h>
#include <stddef.h>

#include "cpu/kernels/exact_state.h"
#include "cpu/kernels/kernels.h"
#include "exact/round.h"
#include "exact/superaccumulator.h"

/* What a scan needs to know besides its arrays. */
typedef struct tally_exact_scan {
    tally_cpu_scan_options options;
    tally_exact_layout layout; /* of states: a SUM layout for the wider of both types */
    tally_dtype out;           /* a float */
    bool keeps;                /* *before becomes the state after the elements; else it is overwritten */
} tally_exact_scan;

/* For one element type. Pointers may be misaligned, n may be any number.
 *
 *     add:            adds n elements to an accumulator of a SUM layout and to its 'count'.
 *     add_magnitudes: the same for |x[i]|.
 *     add_products:   adds n products x[i] * y[i] to an accumulator of a PRODUCT layout; y may be x.
 *     small_sum:      the exact sum of at most TALLY_EXACT_SMALL elements without an accumulator, as a pair for
 *                     tally_round_pair; false if it does not fit two doubles or is not finite: then use add.
 *     small_magnitudes, small_products: the same for absolute values and for products.
 *     scan:           out[i] = the sum of *before and of elements 0 .. i (exclusive: 0 .. i - 1; reverse: i .. n - 1,
 *                     or i + 1 .. n - 1), rounded once to how->out. out may be x if their sizes are the same. *before
 * is overwritten.
 *
 * All of them read the processor's inexact flag, so they change the exception flags of the floating-point environment.
 * The adding ones and scan set the modes that they need and restore the caller's environment; the small ones expect
 * round-to-nearest with gradual underflow (cpu/fpenv.h). */
typedef struct tally_exact_type_kernels {
    void (*add)(tally_superaccumulator *accumulator, const void *x, size_t n);
    void (*add_magnitudes)(tally_superaccumulator *accumulator, const void *x, size_t n);
    void (*add_products)(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n);
    bool (*small_sum)(const void *x, size_t n, tally_exact_pair *sum);
    bool (*small_magnitudes)(const void *x, size_t n, tally_exact_pair *sum);
    bool (*small_products)(const void *x, const void *y, size_t n, tally_exact_pair *sum);
    void (*scan)(const tally_exact_scan *how, const void *x, size_t n, tally_exact_state *before, void *out);
} tally_exact_type_kernels;

/* Up to this many elements the small kernels are faster than the large ones. */
enum { TALLY_EXACT_SMALL = 64 };

typedef struct tally_exact_kernels {
    const char *level;
    tally_exact_type_kernels types[TALLY_DTYPE_COUNT]; /* of floats */
} tally_exact_kernels;

extern const tally_exact_kernels tally_exact_kernels_baseline;
extern const tally_exact_kernels tally_exact_kernels_avx2;
extern const tally_exact_kernels tally_exact_kernels_avx512;

/* NULL for integers. */
static inline const tally_exact_type_kernels *tally_exact_of_type(const tally_exact_kernels *kernels, tally_dtype in) {
    return kernels->types[in].add ? &kernels->types[in] : NULL;
}

#endif
