/* Exact sums of f64 and f32.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_FLOATS_H
#define TALLY_CPU_KERNELS_EXACT_FLOATS_H

#include "cpu/kernels/exact_stream.h"

/* ------------------------------------------------------------------------------------ sums of f64 -------- */

/* A few values, for which the kernels' beginning and end cost more than integer deposits. */
static bool add_few(tally_superaccumulator *accumulator, const void *x, size_t n, tally_dtype type, bool magnitudes) {
    if (n > FEW_VALUES)
        return false;
    count_summands(accumulator, x, n, type, magnitudes);
    for (size_t i = 0; i < n; i++) {
        const double value = value_at(x, i, type);
        tally_superaccumulator_deposit_value(accumulator, magnitudes ? __builtin_fabs(value) : value);
    }
    return true;
}

static bool add_few_products(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n,
                             tally_dtype type) {
    if (n > FEW_PRODUCTS)
        return false;
    count_products(accumulator, x, y, n, type);
    for (size_t i = 0; i < n; i++)
        tally_superaccumulator_deposit_product(accumulator, value_at(x, i, type), value_at(y, i, type));
    return true;
}

static void add_doubles(tally_superaccumulator *accumulator, const void *x, size_t n, source from) {
    const bool magnitudes = from == MAGNITUDES_OF_DOUBLES;
    if (add_few(accumulator, x, n, TALLY_F64, magnitudes))
        return;
    stream s;
    const tally_fpenv caller = tally_fpenv_enter();
    begin_stream(&s, accumulator, 53);
    count_summands(accumulator, x, n, TALLY_F64, magnitudes);
    const e_f64 *p = x;
    for (; n >= BLOCK64; n -= BLOCK64, p += BLOCK64)
        add_block(&s, p, NULL, from, BLOCK64);
    const size_t whole = n / STEP64 * STEP64;
    if (whole > 0)
        add_block(&s, p, NULL, from, whole);
    if (n > whole) {
        const size_t padded = pad(s.scratch, p + whole, n - whole, STEP64, sizeof(double));
        add_block(&s, s.scratch, NULL, from, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

static void add_f64(tally_superaccumulator *accumulator, const void *x, size_t n) {
    add_doubles(accumulator, x, n, DOUBLES);
}

static void add_magnitudes_f64(tally_superaccumulator *accumulator, const void *x, size_t n) {
    add_doubles(accumulator, x, n, MAGNITUDES_OF_DOUBLES);
}

/* ------------------------------------------------------------------------------------ sums of f32 -------- */

/* Doubles have 29 bits more than floats, so their plain sum is mostly exact. n is a multiple of STEP64. */
ALWAYS_INLINE bool sum_wide(const e_f32 *x, size_t n, const source from, double *sum) {
    block_sums out;
    v_f64 r[CHAINS];
    tally_fpenv_clear();
    UNROLL_8 for (int j = 0; j < CHAINS; j++) r[j] = (v_f64){0};
    for (size_t i = 0; i < n; i += STEP64)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch(x + i + j * W64, j * W64 * sizeof(float));
            r[j] += load_source(x, NULL, i + j * W64, from);
        }
    out.rest = sum_lanes_f64(r);
    *sum = out.rest;
    return was_exact(&out);
}

static __attribute__((noinline)) bool sum_floats(const e_f32 *x, size_t n, double *sum) {
    return sum_wide(x, n, FLOATS, sum);
}

static __attribute__((noinline)) bool sum_float_magnitudes(const e_f32 *x, size_t n, double *sum) {
    return sum_wide(x, n, MAGNITUDES_OF_FLOATS, sum);
}

/* Floats whose plain sum was not exact, through the windows of doubles. */
static void add_floats_by_windows(stream *s, const e_f32 *x, size_t n, source from) {
    for (size_t done = 0; done < n; done += BLOCK64)
        add_block(s, x + done, NULL, from, n - done < BLOCK64 ? n - done : BLOCK64);
}

typedef struct shortcut {
    int wait; /* blocks until it is tried again */
} shortcut;

static void add_block_f32(stream *s, shortcut *plain, const e_f32 *x, size_t n, source from) {
    double sum;
    if (s->flags_work && --plain->wait < 0) {
        if (from == FLOATS ? sum_floats(x, n, &sum) : sum_float_magnitudes(x, n, &sum)) {
            plain->wait = 0;
            tally_superaccumulator_deposit_value(s->accumulator, sum);
            return;
        }
        plain->wait = BLOCKS_PER_LOOK;
    }
    add_floats_by_windows(s, x, n, from);
}

static void add_floats(tally_superaccumulator *accumulator, const void *x, size_t n, source from) {
    const bool magnitudes = from == MAGNITUDES_OF_FLOATS;
    if (add_few(accumulator, x, n, TALLY_F32, magnitudes))
        return;
    stream s;
    shortcut plain = {0};
    const tally_fpenv caller = tally_fpenv_enter();
    begin_stream(&s, accumulator, 24);
    count_summands(accumulator, x, n, TALLY_F32, magnitudes);
    const e_f32 *p = x;
    for (; n >= BLOCK32; n -= BLOCK32, p += BLOCK32)
        add_block_f32(&s, &plain, p, BLOCK32, from);
    if (n > 0) {
        float last[BLOCK32];
        add_block_f32(&s, &plain, last, pad(last, p, n, STEP64, sizeof(float)), from);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

static void add_f32(tally_superaccumulator *accumulator, const void *x, size_t n) {
    add_floats(accumulator, x, n, FLOATS);
}

static void add_magnitudes_f32(tally_superaccumulator *accumulator, const void *x, size_t n) {
    add_floats(accumulator, x, n, MAGNITUDES_OF_FLOATS);
}

#endif
