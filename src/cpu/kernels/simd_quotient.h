/* Quotients and square roots of doubles in lanes. See simd.h.
 *
 * A processor with 512-bit vectors divides a lane in two cycles, and takes three for a root. An estimate of 14 bits and
 * Newton's method take less than half of that. The last step knows what is left to the true result, so it rounds as the
 * processor's own operation does (Markstein, 1990). Each step waits for the one before: a loop should do little else,
 * so that the processor has several vectors under way. */
#ifndef TALLY_CPU_SIMD_QUOTIENT_H
#define TALLY_CPU_SIMD_QUOTIENT_H

#include "cpu/kernels/simd_lanes.h"

/* x / by, whose reciprocal is 'share'. 'by' is an integer, or x and it are between 2^-500 and 2^500 in magnitude; an
 * integer's x may be anything. */
ALWAYS_INLINE v_f64 quotient_by_f64(v_f64 x, v_f64 by, v_f64 share) {
#if defined(__AVX512F__)
    enum { NOT_NORMAL = 0xbf }; /* infinite, NaN, 0 or subnormal: it has no exact rest */
    const v_f64 near = x * share;
    __mmask8 others = _mm512_fpclass_pd_mask(near, NOT_NORMAL);
    v_f64 quotient = _mm512_mask3_fmadd_pd(add_product_f64(x, -near, by), share, near, (__mmask8)~others);
    /* The quotient of zero is right already. The variance of each group's first element is one. */
    if (others && (others = _mm512_mask_cmp_pd_mask(others, x, _mm512_setzero_pd(), _CMP_NEQ_UQ)) != 0)
        quotient = _mm512_mask_div_pd(quotient, others, x, by);
    return quotient;
#else
    (void)share;
    return x / by;
#endif
}

ALWAYS_INLINE v_f64 quotient_f64(v_f64 x, v_f64 by) {
    v_f64 share = {0};
#if defined(__AVX512F__)
    share = _mm512_rcp14_pd(by);
    UNROLL_8 for (int step = 0; step < 2; step++) share =
        add_product_f64(share, share, add_product_f64((v_f64){0} + 1.0, -share, by));
#endif
    return quotient_by_f64(x, by, share);
}

#if defined(__AVX512F__)
/* The roots of x / by in these lanes, of which zeros need none: the variance of each group's first element, say. */
ALWAYS_INLINE v_f64 roots_of_others(v_f64 root, __mmask8 others, v_f64 x, v_f64 by) {
    root = _mm512_mask_mov_pd(root, others, x);
    others = _mm512_mask_cmp_pd_mask(others, x, _mm512_setzero_pd(), _CMP_NEQ_UQ);
    return others ? (v_f64)_mm512_mask_sqrt_pd(root, others, x / by) : root;
}
#endif

/* By the processor's own instruction. */
ALWAYS_INLINE v_f64 root_by_processor(v_f64 x) {
#if defined(__AVX512F__)
    return _mm512_sqrt_pd(x);
#elif defined(__AVX2__)
    return _mm256_sqrt_pd(x);
#else
    for (size_t l = 0; l < LANES_OF(s_f64); l++)
        x[l] = __builtin_sqrt(x[l]);
    return x;
#endif
}

ALWAYS_INLINE v_f64 root_f64(v_f64 x) {
#if defined(__AVX512F__)
    /* Numbers from 2^-959 to the largest. Others are 0, infinite, NaN or negative, or the rest is not exact. */
    const uint64_t least = (uint64_t)64 << 52, infinity = (uint64_t)2047 << 52;
    const __mmask8 others =
        _mm512_cmpge_epu64_mask((__m512i)((v_u64)x - least), _mm512_set1_epi64((int64_t)(infinity - least)));
    const v_f64 one_half = (v_f64){0} + 0.5, guess = _mm512_rsqrt14_pd(x);
    v_f64 root = x * guess, half = guess * one_half;
    UNROLL_8 for (int step = 0; step < 2; step++) {
        const v_f64 off = add_product_f64(one_half, -root, half);
        root = add_product_f64(root, root, off);
        half = add_product_f64(half, half, off);
    }
    root = add_product_f64(root, add_product_f64(x, -root, root), half);
    return others ? roots_of_others(root, others, x, (v_f64){0} + 1.0) : root;
#else
    return root_by_processor(x);
#endif
}

/* sqrt(x / by), to hardly more than a unit in the last place; 'by' is an integer from 1 to 2^100. */
ALWAYS_INLINE v_f64 root_of_quotient_f64(v_f64 x, v_f64 by) {
#if defined(__AVX512F__)
    const uint64_t least = (uint64_t)123 << 52, most = (uint64_t)1923 << 52; /* 2^-900 and 2^900 */
    const __mmask8 others =
        _mm512_cmpge_epu64_mask((__m512i)((v_u64)x - least), _mm512_set1_epi64((int64_t)(most - least)));
    const v_f64 one_half = (v_f64){0} + 0.5, guess = _mm512_rsqrt14_pd(x * by);
    v_f64 root = x * guess, half = guess * one_half;
    const v_f64 off = add_product_f64(one_half, -(root * by), half);
    root = add_product_f64(root, root, off);
    half = add_product_f64(half, half, off);
    root = add_product_f64(root, add_product_f64(x, -(root * by), root), half);
    return others ? roots_of_others(root, others, x, by) : root;
#else
    return root_f64(x / by);
#endif
}

/* Quotients and roots with 28 bits, for results that are rounded to f32 or less: of x between 2^-500 and 2^500, or 0.
 * The root of NaN has no payload. */
ALWAYS_INLINE v_f64 near_quotient(v_f64 x, v_f64 by) {
#if defined(__AVX512F__)
    const v_f64 share = _mm512_rcp14_pd(by);
    return x * add_product_f64(share, share, add_product_f64((v_f64){0} + 1.0, -share, by));
#else
    return x / by;
#endif
}
ALWAYS_INLINE v_f64 near_root(v_f64 x) {
#if defined(__AVX512F__)
    enum { ITS_OWN_ROOT = 0x9f }; /* 0, infinite or NaN */
    const v_f64 one_half = (v_f64){0} + 0.5, guess = _mm512_rsqrt14_pd(x), root = x * guess;
    const v_f64 off = add_product_f64(one_half, -root, guess * one_half), near = add_product_f64(root, root, off);
    const __mmask8 others = _mm512_fpclass_pd_mask(x, ITS_OWN_ROOT); /* rare, but at the beginning of a scan */
    if (others == 0)
        return near;
    return _mm512_mask_mov_pd(near, others, SELECT_LANES(f64, (x == x), x, (v_f64){0} + (double)NAN));
#else
    return root_f64(x);
#endif
}
ALWAYS_INLINE v_f64 near_root_of_quotient(v_f64 x, v_f64 by) {
#if defined(__AVX512F__)
    const v_f64 product = x * by, one_half = (v_f64){0} + 0.5;
    const v_f64 guess = _mm512_maskz_rsqrt14_pd(_mm512_test_epi64_mask((__m512i)x, (__m512i)x), product);
    const v_f64 root = x * guess, off = add_product_f64(one_half, -(product * guess), guess * one_half);
    return add_product_f64(root, root, off);
#else
    return root_f64(x / by);
#endif
}

#endif
