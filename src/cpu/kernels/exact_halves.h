/* Exact sums of f16 and bf16.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_HALVES_H
#define TALLY_CPU_KERNELS_EXACT_HALVES_H

#include "cpu/kernels/exact_stream.h"

/* What a block's elements are, and what is added: they, or their absolute values. */
typedef struct halves {
    bool brain, magnitudes;
} halves;

ALWAYS_INLINE v_f32 load_half(const e_u16 *x, const bool brain) {
    return brain ? load_f32_from_bf16(x) : load_f32_from_f16(x);
}

ALWAYS_INLINE v_f32 load_summand(const e_u16 *x, const halves kind) {
    const v_f32 v = load_half(x, kind.brain);
    return kind.magnitudes ? (v_f32)((v_i32)v & INT32_MAX) : v;
}

/* As units_f64; a lane stays below 2^22 units, so eight of them fit 32 bits. */
ALWAYS_INLINE bool units_f32(const v_f32 *level, v_f32 sigma, int64_t *units) {
    v_u32 sum = {0}, strayed = {0};
    UNROLL_8 for (int j = 0; j < CHAINS; j++) {
        sum += (v_u32)level[j] - (v_u32)sigma;
        strayed |= (v_u32)level[j] ^ (v_u32)sigma;
    }
    int64_t total = 0;
    uint32_t exponents = 0;
    for (int l = 0; l < W32; l++) {
        total += (int32_t)sum[l];
        exponents |= strayed[l];
    }
    *units = total;
    return exponents >> 23 == 0;
}

/* The lanes of floats have no bits to spare for each other, so they are added as doubles. */
ALWAYS_INLINE double sum_lanes_f32(const v_f32 *r) {
    float lanes[CHAINS * W32];
    v_f64 wide[CHAINS];
    memcpy(lanes, r, sizeof lanes);
    UNROLL_8 for (int j = 0; j < CHAINS; j++) wide[j] =
        load_wide(lanes + j * W64) + load_wide(lanes + (j + CHAINS) * W64);
    return sum_lanes_f64(wide);
}

/* Two levels in floats; n is a multiple of STEP32. */
ALWAYS_INLINE bool sum_halves(const e_u16 *x, size_t n, int top, const halves kind, block_sums *out) {
    v_f32 r[CHAINS], s[CHAINS];
    const v_f32 sigma = splat_f32(sigma_f32(top));
    UNROLL_8 for (int j = 0; j < CHAINS; j++) {
        s[j] = sigma;
        r[j] = (v_f32){0};
    }
#if QUIET_ADDITION
    tally_fpenv_clear();
    for (size_t i = 0; i < n; i += STEP32)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch(x + i + j * W32, j * W32 * sizeof(uint16_t));
            const v_f32 v = load_summand(x + i + j * W32, kind);
            const v_f32 t = add_quietly_f32(s[j], v);
            r[j] += v - (t - s[j]);
            s[j] = t;
        }
    const v_f32 *last = s;
#else
    v_f32 sums[CHAINS + BLOCK16 / W32];
    const size_t vectors = n / W32;
    memcpy(sums, s, sizeof s);
    for (size_t i = 0; i < vectors; i += CHAINS)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch(x + (i + j) * W32, j * W32 * sizeof(uint16_t));
            s[j] += load_summand(x + (i + j) * W32, kind);
            sums[CHAINS + i + j] = s[j];
        }
    __asm__ volatile("" : : "r"(sums) : "memory");
    tally_fpenv_clear();
    for (size_t i = 0; i < vectors; i += CHAINS)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            const v_f32 v = load_summand(x + (i + j) * W32, kind);
            r[j] += v - (sums[CHAINS + i + j] - sums[i + j]);
        }
    const v_f32 *last = sums + vectors;
#endif
    out->rest = sum_lanes_f32(r);
    const bool exact = was_exact(out);
    return units_f32(last, sigma, &out->units[0]) && exact;
}

#define DEFINE_SUM_HALVES(name, brain, magnitudes)                                                                     \
    static __attribute__((noinline)) bool name(const e_u16 *x, size_t n, int top, block_sums *out) {                   \
        return sum_halves(x, n, top, (halves){brain, magnitudes}, out);                                                \
    }
DEFINE_SUM_HALVES(sum_f16, false, false)
DEFINE_SUM_HALVES(sum_bf16, true, false)
DEFINE_SUM_HALVES(sum_magnitudes_f16, false, true)
DEFINE_SUM_HALVES(sum_magnitudes_bf16, true, true)

static bool sum_of_kind(const e_u16 *x, size_t n, int top, halves kind, block_sums *out) {
    if (kind.magnitudes)
        return kind.brain ? sum_magnitudes_bf16(x, n, top, out) : sum_magnitudes_f16(x, n, top, out);
    return kind.brain ? sum_bf16(x, n, top, out) : sum_f16(x, n, top, out);
}

ALWAYS_INLINE void widen_halves(const e_u16 *x, size_t n, const bool brain, float *wide) {
    for (size_t i = 0; i < n; i += W32) {
        const v_f32 v = load_half(x + i, brain);
        memcpy(wide + i, &v, sizeof v);
    }
}

/* The window in floats, and whether the data examined last fit one. */
typedef struct half_window {
    bool fits;
    int top;
    int wait;
} half_window;

/* Units are 2^(top - 23) and residuals at most half a unit. The 24 bits of the last sum must reach down to 'lowest'
 * while it grows by three bits or so. Lanes need six bits above the largest value; four suffice for mixed signs. */
static void choose_half_window(const stream *s, half_window *w) {
    const int from_above = s->highest + LANE_BITS + 1, from_below = s->lowest + 24 + 24 - 3;
    w->top = from_below < from_above ? from_below : from_above + (from_below - from_above) / 2;
    w->fits = w->top >= s->highest + 4;
    if (w->top < from_above && w->fits)
        w->top = s->highest + 4 > from_below ? s->highest + 4 : from_below;
    if (w->top > from_above + 8)
        w->top = from_above + 8;
    if (w->top > 126 || w->top < -100)
        w->fits = false;
    w->wait = BLOCKS_PER_LOOK;
}

static void add_halves_wide(stream *s, const e_u16 *x, size_t n, halves kind) {
    float wide[BLOCK64] __attribute__((aligned(64)));
    for (size_t done = 0; done < n; done += BLOCK64) {
        const size_t part = n - done < BLOCK64 ? n - done : BLOCK64;
        if (kind.brain)
            widen_halves(x + done, part, true, wide);
        else
            widen_halves(x + done, part, false, wide);
        add_floats_by_windows(s, wide, part, kind.magnitudes ? MAGNITUDES_OF_FLOATS : FLOATS);
    }
}

static void add_block_16(stream *s, half_window *w, const e_u16 *x, size_t n, halves kind) {
    block_sums out;
    if (w->fits && sum_of_kind(x, n, w->top, kind, &out)) {
        tally_superaccumulator_deposit(s->accumulator, out.units[0], w->top - 23);
        tally_superaccumulator_deposit_value(s->accumulator, out.rest);
        return;
    }
    const bool choose = s->flags_work && (w->fits || --w->wait < 0);
    if (choose)
        s->levels = 0; /* so that the block is examined */
    add_halves_wide(s, x, n, kind);
    if (choose)
        choose_half_window(s, w);
}

static void add_16(tally_superaccumulator *accumulator, const void *x, size_t n, halves kind) {
    const tally_dtype type = kind.brain ? TALLY_BF16 : TALLY_F16;
    if (add_few(accumulator, x, n, type, kind.magnitudes))
        return;
    stream s;
    half_window w = {false, 0, 0};
    const tally_fpenv caller = tally_fpenv_enter();
    begin_stream(&s, accumulator, kind.brain ? 8 : 11);
    count_summands(accumulator, x, n, type, kind.magnitudes);
    const e_u16 *p = x;
    for (; n >= BLOCK16; n -= BLOCK16, p += BLOCK16)
        add_block_16(&s, &w, p, BLOCK16, kind);
    if (n > 0) {
        uint16_t last[BLOCK16];
        add_block_16(&s, &w, last, pad(last, p, n, STEP32, sizeof(uint16_t)), kind);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

#define DEFINE_ADD_HALVES(name, brain, magnitudes)                                                                     \
    static void name(tally_superaccumulator *accumulator, const void *x, size_t n) {                                   \
        add_16(accumulator, x, n, (halves){brain, magnitudes});                                                        \
    }
DEFINE_ADD_HALVES(add_f16, false, false)
DEFINE_ADD_HALVES(add_bf16, true, false)
DEFINE_ADD_HALVES(add_magnitudes_f16, false, true)
DEFINE_ADD_HALVES(add_magnitudes_bf16, true, true)

#endif
