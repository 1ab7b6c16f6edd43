/* Exact sums of products.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_PRODUCTS_H
#define TALLY_CPU_KERNELS_EXACT_PRODUCTS_H

#include "cpu/kernels/exact_stream.h"

static void add_products_f32(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    if (add_few_products(accumulator, x, y, n, TALLY_F32))
        return;
    stream s;
    const tally_fpenv caller = tally_fpenv_enter();
    begin_stream(&s, accumulator, 48);
    count_products(accumulator, x, y, n, TALLY_F32);
    const e_f32 *p = x, *q = y;
    for (; n >= BLOCK64; n -= BLOCK64, p += BLOCK64, q += BLOCK64)
        add_block(&s, p, q, PRODUCTS_OF_FLOATS, BLOCK64);
    if (n > 0) {
        float last_p[BLOCK64], last_q[BLOCK64];
        const size_t padded = pad(last_p, p, n, STEP64, sizeof(float));
        pad(last_q, q, n, STEP64, sizeof(float));
        add_block(&s, last_p, last_q, PRODUCTS_OF_FLOATS, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

ALWAYS_INLINE void add_products_16(tally_superaccumulator *accumulator, const e_u16 *x, const e_u16 *y, size_t n,
                                   const bool brain) {
    if (add_few_products(accumulator, x, y, n, brain ? TALLY_BF16 : TALLY_F16))
        return;
    stream s;
    float p[BLOCK64], q[BLOCK64];
    uint16_t last[BLOCK64];
    const tally_fpenv caller = tally_fpenv_enter();
    begin_stream(&s, accumulator, brain ? 16 : 22);
    count_products(accumulator, x, y, n, brain ? TALLY_BF16 : TALLY_F16);
    for (; n >= BLOCK64; n -= BLOCK64, x += BLOCK64, y += BLOCK64) {
        widen_halves(x, BLOCK64, brain, p);
        widen_halves(y, BLOCK64, brain, q);
        add_block(&s, p, q, PRODUCTS_OF_FLOATS, BLOCK64);
    }
    if (n > 0) {
        const size_t padded = pad(last, x, n, STEP32, sizeof(uint16_t));
        widen_halves(last, padded, brain, p);
        pad(last, y, n, STEP32, sizeof(uint16_t));
        widen_halves(last, padded, brain, q);
        add_block(&s, p, q, PRODUCTS_OF_FLOATS, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

static void add_products_f16(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    add_products_16(accumulator, x, y, n, false);
}

static void add_products_bf16(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    add_products_16(accumulator, x, y, n, true);
}

#if HAVE_FMA

ALWAYS_INLINE v_f64 multiply_quietly(v_f64 a, v_f64 b) {
#if QUIET_ADDITION
    return _mm512_mul_round_pd(a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return a * b;
#endif
}

/* a * b - c with one rounding. */
ALWAYS_INLINE v_f64 multiply_subtract(v_f64 a, v_f64 b, v_f64 c) {
#if defined(__AVX512F__)
    return _mm512_fmsub_pd(a, b, c);
#elif defined(__FMA__)
    return _mm256_fmsub_pd(a, b, c);
#else
    v_f64 r;
    for (int l = 0; l < W64; l++)
        r[l] = __builtin_fma(a[l], b[l], -c[l]);
    return r;
#endif
}

/* Each product as its rounded value and its error, side by side in 'pairs'. The flag is raised by products that are so
 * small that their error is not a double. */
static bool multiply_exactly(const e_f64 *x, const e_f64 *y, size_t n, double *pairs) {
    tally_fpenv_clear();
#if !QUIET_ADDITION
    for (size_t i = 0; i < n; i += W64) {
        const v_f64 product = load_f64_from_f64(x + i) * load_f64_from_f64(y + i);
        memcpy(pairs + 2 * i, &product, sizeof product);
    }
    __asm__ volatile("" : : "r"(pairs) : "memory");
    tally_fpenv_clear();
#endif
    for (size_t i = 0; i < n; i += W64) {
        const v_f64 a = load_f64_from_f64(x + i), b = load_f64_from_f64(y + i);
#if QUIET_ADDITION
        const v_f64 product = multiply_quietly(a, b);
        memcpy(pairs + 2 * i, &product, sizeof product);
#else
        const v_f64 product = load_f64_from_f64((const e_f64 *)pairs + 2 * i);
#endif
        const v_f64 lack = multiply_subtract(a, b, product);
        memcpy(pairs + 2 * i + W64, &lack, sizeof lack);
    }
    return !tally_fpenv_inexact(pairs);
}

#else

/* Without a fused multiply-add the integer path is as good. */
static bool multiply_exactly(const e_f64 *x, const e_f64 *y, size_t n, double *pairs) {
    (void)x, (void)y, (void)n, (void)pairs;
    return false;
}

#endif

/* A product's 106 bits go to two bins. */
static void add_products_to_bins(stream *s, const e_f64 *x, const e_f64 *y, size_t n) {
    if (n < BINS_WORTHWHILE / 2) {
        for (size_t i = 0; i < n; i++)
            tally_superaccumulator_deposit_product(s->accumulator, x[i], y[i]);
        return;
    }
    use_bins(s, BINS_OF_PRODUCTS);
    for (size_t done = 0; done < n; done += VALUES_PER_CHECK / 2) {
        const size_t end = n - done < VALUES_PER_CHECK / 2 ? n : done + VALUES_PER_CHECK / 2;
        for (size_t i = done; i < end; i++) {
            const placed p = placed_of(x[i]), q = placed_of(y[i]);
            if (__builtin_expect(p.finite && q.finite, 1)) {
                int64_t low;
                const int64_t high = multiply_wide(p.significand, q.significand, &low);
                s->bins[p.place + q.place] += low;
                s->bins[p.place + q.place + 53] += high;
            } else {
                tally_superaccumulator_deposit_product(s->accumulator, x[i], y[i]);
            }
        }
        check_bins(s);
    }
}

/* n is at most BLOCK64 / 2 and a multiple of STEP64. */
static void add_products_of_doubles(stream *s, const e_f64 *x, const e_f64 *y, size_t n) {
    if (s->flags_work && --s->products_wait < 0) {
        if (multiply_exactly(x, y, n, s->scratch) && add_block(s, s->scratch, NULL, DOUBLES, 2 * n)) {
            s->products_wait = 0;
            return;
        }
        s->products_wait = BLOCKS_PER_LOOK;
    }
    add_products_to_bins(s, x, y, n);
}

static void add_products_f64(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    if (add_few_products(accumulator, x, y, n, TALLY_F64))
        return;
    enum { BLOCK = BLOCK64 / 2 };
    stream s;
    const tally_fpenv caller = tally_fpenv_enter();
    begin_stream(&s, accumulator, 53);
    s.pairs = true;
    count_products(accumulator, x, y, n, TALLY_F64);
    const e_f64 *p = x, *q = y;
    for (; n >= BLOCK; n -= BLOCK, p += BLOCK, q += BLOCK)
        add_products_of_doubles(&s, p, q, BLOCK);
    if (n > 0) {
        double last_p[BLOCK], last_q[BLOCK];
        const size_t padded = pad(last_p, p, n, STEP64, sizeof(double));
        pad(last_q, q, n, STEP64, sizeof(double));
        add_products_of_doubles(&s, last_p, last_q, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

#endif
