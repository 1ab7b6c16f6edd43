/* Blocks of running moments, and the sums that they begin with (moments_scan.c). */
#ifndef TALLY_CPU_MOMENTS_SUMS_H
#define TALLY_CPU_MOMENTS_SUMS_H

#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

enum {
    LANES = LANES_OF(s_f64),
    BLOCK = 128 * LANES, /* elements that have one shift; */
    ROWS = 64,           /* or rows, whose sums are added one after the other */
    FIRST = 8,           /* elements at the beginning, if they have one shift */
    REBASED = 4          /* elements of a group, of which the mean becomes its shift */
};

/* Sums that a block begins with, of distances from its shift. */
typedef struct sums {
    double shift, sum, squares;
} sums;

static sums begin(const tally_cpu_moments *acc, double first, bool narrow) {
    if (acc->count == 0)
        return (sums){first, 0, 0};
    const double mean = acc->mean + acc->low, shift = narrow ? (double)(float)mean : mean;
    const double low = acc->low - (shift - acc->mean), sum = acc->count * low;
    return (sums){shift, sum, acc->squares + sum * low};
}

static tally_cpu_moments end(double count, sums s) {
    const double off = s.sum / count, squares = s.squares - s.sum * off;
    return (tally_cpu_moments){count, s.shift, off, squares < 0 ? 0 : squares};
}

/* Elements of the next block, of which 'count' come before. 'one_shift': the first ones have their first as a shift. */
static size_t block_after(double count, size_t n, bool narrow, bool one_shift) {
    const bool is_any = narrow || count >= BLOCK || (count < 1 && !one_shift);
    const size_t more = is_any ? (size_t)BLOCK : count < 1 ? (size_t)FIRST : (size_t)count * (FIRST - 1);
    const size_t most = more < BLOCK ? more : (size_t)BLOCK;
    return n < most ? n : most;
}

/* Whether no product that a result is made of overflows. */
static bool is_finite(double squares, double count) {
    const double product = squares * count;
    return product - product == 0;
}

/* The moment M2 of 'count' elements, times count. */
ALWAYS_INLINE v_f64 moment(v_f64 sum, v_f64 squares, v_f64 count) {
    return larger_f64(add_product_f64(-(sum * sum), squares, count), (v_f64){0});
}

/* The first n lanes, or all; others are 0. */
ALWAYS_INLINE v_f64 some_lanes(const void *from, size_t n) {
    v_f64 v = {0};
    if (n >= LANES)
        memcpy(&v, from, sizeof v);
    else
#if defined(__AVX512F__)
        v = _mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), from);
#else
        memcpy(&v, from, n * sizeof(double));
#endif
    return v;
}
ALWAYS_INLINE v_f64 some_floats(const void *from, size_t n) {
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(n >= LANES ? _mm256_loadu_ps(from) : _mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1), from));
#else
    e_f32 own[LANES] = {0};
    if (n >= LANES)
        return load_f64_from_f32(from);
    memcpy(own, from, n * sizeof *own);
    return load_f64_from_f32(own);
#endif
}
ALWAYS_INLINE void put_lanes(v_f64 v, size_t n, double *to) {
    if (n >= LANES)
        memcpy(to, &v, sizeof v);
    else
#if defined(__AVX512F__)
        _mm512_mask_storeu_pd(to, (__mmask8)((1u << n) - 1), v);
#else
        memcpy(to, &v, n * sizeof *to);
#endif
}

#endif
