/* Exact sums, dot products and means of doubles and floats: the result is the true value, rounded once, to nearest,
 * ties to even. So it does not depend on the order of the elements, on how they were split, or on the machine.
 *
 * tally_exact.c and tally_exact.h are all that is needed: C99, no dependency, no memory from the heap, no global state.
 * All of it is integer arithmetic, so neither the rounding mode, flushed subnormal numbers nor -ffast-math changes a
 * bit. It takes compilers whose right shift of negative integers keeps the sign, and floats and doubles of IEEE 754.
 *
 * A sum is NaN if an element is NaN or both infinities occur, infinite if one infinity occurs or the rounded value is
 * too large, -0 for elements that are all -0, +0 for no elements and for every other exact zero. Products follow the
 * same rules; infinity times zero is NaN. The mean of no elements is NaN. NaNs that are returned are quiet and
 * positive.
 *
 * These files are written by tools/tally_exact/generate.py of the tally library, which computes the same bits tens of
 * times faster, on CPUs and GPUs. single/README.md tells how to test them.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_EXACT_H
#define TALLY_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ---- */

/* The sum of x[0] to x[n - 1]; x may be NULL if n is 0, here and below. */
double tally_exact_sum(const double *x, size_t n);
float tally_exact_sum_f32(const float *x, size_t n);

/* Their mean, which does not overflow. */
double tally_exact_mean(const double *x, size_t n);
float tally_exact_mean_f32(const float *x, size_t n);

/* The sum of x[i] * y[i]. */
double tally_exact_dot(const double *x, const double *y, size_t n);
float tally_exact_dot_f32(const float *x, const float *y, size_t n);

/* ---- accumulators ---- */

/* A sum that goes on. It needs no cleaning up, may be copied by assignment, and belongs to one thread at a time. It
 * takes up to 2^64 - 1 elements. The members are the implementation's. */

enum { TALLY_LIMBS_MAX = 136 };

/* The range of a state: bit 0 of limb 0 is the smallest unit in the last place of a summand, and there is room for 2^64
 * of the largest summands. The layouts differ in nothing else. f16 and bf16 use those of f32. */
typedef enum tally_exact_layout {
    TALLY_LAYOUT_SUM_F32,     /* bit 0 is 2^-149 */
    TALLY_LAYOUT_SUM_F64,     /* bit 0 is 2^-1074 */
    TALLY_LAYOUT_PRODUCT_F32, /* bit 0 is 2^-298 */
    TALLY_LAYOUT_PRODUCT_F64, /* bit 0 is 2^-2148 */
    TALLY_LAYOUT_COUNT
} tally_exact_layout;

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

typedef struct tally_superaccumulator tally_exact;

/* Begins a sum of elements, or of products. What is added must be of that kind, and states that are merged of the same
 * kind; doubles and floats may be mixed. */
void tally_exact_begin(tally_exact *sum);
void tally_exact_begin_dot(tally_exact *dot);

void tally_exact_add(tally_exact *sum, const double *x, size_t n);
void tally_exact_add_f32(tally_exact *sum, const float *x, size_t n);
void tally_exact_add_dot(tally_exact *dot, const double *x, const double *y, size_t n);
void tally_exact_add_dot_f32(tally_exact *dot, const float *x, const float *y, size_t n);

/* Adds the elements of 'from', which may be 'into'. */
void tally_exact_merge(tally_exact *into, const tally_exact *from);

/* The elements that were added. */
uint64_t tally_exact_count(const tally_exact *sum);

/* The sum so far, and the mean, rounded from the exact value to a double or to a float. */
double tally_exact_value(const tally_exact *sum);
float tally_exact_value_f32(const tally_exact *sum);
double tally_exact_mean_value(const tally_exact *sum);
float tally_exact_mean_value_f32(const tally_exact *sum);

/* Saving writes the bytes that tally_accumulator_save of the library writes for the same elements, at most
 * TALLY_EXACT_SAVED_MAX, and returns how many: little-endian, with a checksum, the same for the same elements in any
 * order. Loading returns whether the bytes are such a state, of doubles; else *sum is untouched.
 * docs/accumulator-format.md of the library describes the form. */
enum { TALLY_EXACT_SAVED_MAX = 60 + 4 * TALLY_LIMBS_MAX };
size_t tally_exact_save(const tally_exact *sum, void *bytes);
bool tally_exact_load(tally_exact *sum, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
