/* Blocks of an exact scan whose prefixes are pairs of integers: f64, and f32 with a wide range, with AVX-512. Additions
 * of two sigmas, as for windows, split an element into multiples of two units, 2^41 apart. Within a binade the bits of
 * a double are an integer, so the multiples are added up as integers. If the processor's inexact flag says that nothing
 * was left, a prefix is the sum of two doubles, and is rounded once.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_TWO_UNITS_H
#define TALLY_CPU_KERNELS_EXACT_TWO_UNITS_H

#include "cpu/kernels/exact_units.h"

#if defined(__AVX512DQ__)

enum { PAIR = 2 /* vectors; lane l has elements 2 l and 2 l + 1 */ };

typedef struct pair_kernel {
    __m512i in[PAIR], out[PAIR]; /* where the elements of a pair of vectors come from, and go to */
    __m512d sigma[LEVELS];
    __m512i prefix[LEVELS];
    __m512i strayed; /* by how its bits differ from those of its sigma, a number or a sum has left the binade */
} pair_kernel;

ALWAYS_INLINE void load_pair(const unit_block *b, pair_kernel *k, size_t i, const tally_dtype in,
                             __m512i v[LEVELS][PAIR]) {
    const size_t bytes = in == TALLY_F64 ? sizeof(double) : sizeof(float);
    const char *const x = (const char *)b->x + (b->reverse ? b->groups - 1 - i : i) * OF_PAIR * bytes;
    for (size_t line = 0; line < OF_PAIR * bytes; line += 64)
        __builtin_prefetch(x + b->ahead + line);
    const __m512d first = (__m512d)load_lanes(x, 0, in), second = (__m512d)load_lanes(x, W64, in);
    UNROLL_8 for (int j = 0; j < PAIR; j++) {
        const __m512d value = _mm512_permutex2var_pd(first, k->in[j], second);
        const __m512d upper = (__m512d)add_quietly_f64((v_f64)value, (v_f64)k->sigma[0]);
        const __m512d lower = (value - (upper - k->sigma[0])) + k->sigma[1];
        const __m512i difference = _mm512_xor_si512((__m512i)upper, (__m512i)k->sigma[0]);
        k->strayed = _mm512_or_si512(k->strayed, difference);
        v[0][j] = _mm512_sub_epi64((__m512i)upper, (__m512i)k->sigma[0]);
        v[1][j] = _mm512_sub_epi64((__m512i)lower, (__m512i)k->sigma[1]);
    }
    UNROLL_8 for (int l = 0; l < LEVELS; l++) v[l][1] = _mm512_add_epi64(v[l][1], v[l][0]);
}

/* The sum of two doubles as a float. It is rounded to odd first. */
ALWAYS_INLINE __m512 round_pair(__m512d high, __m512d low) {
    const __m512d below = _mm512_add_round_pd(high, low, ROUND(TO_NEG_INF));
    const __m512d above = _mm512_add_round_pd(high, low, ROUND(TO_POS_INF));
    const __mmask8 odd = _mm512_test_epi64_mask((__m512i)below, _mm512_set1_epi64(1));
    return _mm512_castps256_ps512(
        _mm512_cvt_roundpd_ps(_mm512_mask_blend_pd(odd, above, below), ROUND(TO_NEAREST_INT)));
}

ALWAYS_INLINE void finish_pair(const unit_block *b, pair_kernel *k, size_t i, const __m512i v[LEVELS][PAIR],
                               const __m512i lanes[LEVELS], const target to) {
    __m512i base[LEVELS];
    __m512d sums[LEVELS][PAIR];
    UNROLL_8 for (int l = 0; l < LEVELS; l++) {
        base[l] = _mm512_add_epi64(k->prefix[l], _mm512_sub_epi64(lanes[l], v[l][1]));
        k->prefix[l] = _mm512_add_epi64(k->prefix[l], _mm512_permutexvar_epi64(_mm512_set1_epi64(W64 - 1), lanes[l]));
        UNROLL_8 for (int j = 0; j < PAIR; j++) {
            const __m512i sum = _mm512_add_epi64(base[l], v[l][j]);
            if (l == 0)
                k->strayed = _mm512_or_si512(k->strayed, _mm512_xor_si512(sum, (__m512i)k->sigma[0]));
            sums[l][j] = (__m512d)sum - k->sigma[l];
        }
    }
    const size_t place = (b->reverse ? b->groups - 1 - i : i) * OF_PAIR;
    if (to == TO_F64) {
        __m512d results[PAIR];
        UNROLL_8 for (int j = 0; j < PAIR; j++) results[j] =
            (__m512d)add_quietly_f64((v_f64)sums[0][j], (v_f64)sums[1][j]);
        UNROLL_8 for (int j = 0; j < PAIR; j++)
            store_line((double *)b->results + place + j * W64,
                       (__m512i)_mm512_permutex2var_pd(results[0], k->out[j], results[1]), b->streamed);
    } else {
        const __m512 first = round_pair(sums[0][0], sums[1][0]), second = round_pair(sums[0][1], sums[1][1]);
        store_line((float *)b->results + place, (__m512i)_mm512_permutex2var_ps(first, k->out[0], second), b->streamed);
    }
}

/* Pairs of vectors overlap in time, as quads do. */
ALWAYS_INLINE bool scan_pairs(unit_block *b, const tally_dtype in, const target to) {
    const __m512i turned = _mm512_set1_epi64(b->reverse ? OF_PAIR - 1 : 0), one = _mm512_set1_epi64(1);
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                  half = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    pair_kernel k = {.strayed = _mm512_setzero_si512()};
    k.in[0] = _mm512_xor_si512(even, turned);
    k.in[1] = _mm512_xor_si512(_mm512_add_epi64(even, one), turned);
    k.out[0] = _mm512_xor_si512(half, turned);
    k.out[1] = _mm512_xor_si512(_mm512_add_epi64(half, _mm512_set1_epi64(4)), turned);
    if (to == TO_F32)
        k.out[0] = _mm512_xor_si512(_mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                                    _mm512_set1_epi32(b->reverse ? 23 : 0));
    UNROLL_8 for (int l = 0; l < LEVELS; l++) {
        k.sigma[l] = _mm512_set1_pd(b->sigma[l]);
        k.prefix[l] = _mm512_add_epi64(_mm512_set1_epi64(b->prefix[l]), (__m512i)k.sigma[l]);
    }
    const size_t last = b->groups - 1;
    __m512i now[LEVELS][PAIR], next[LEVELS][PAIR], later[LEVELS][PAIR], lanes[LEVELS], next_lanes[LEVELS];
    load_pair(b, &k, 0, in, now);
    load_pair(b, &k, last > 0, in, next);
    UNROLL_8 for (int l = 0; l < LEVELS; l++) lanes[l] = prefixes_of_units(now[l][1]);
    for (size_t i = 0; i <= last; i++) {
        load_pair(b, &k, i + 2 < last ? i + 2 : last, in, later);
        UNROLL_8 for (int l = 0; l < LEVELS; l++) next_lanes[l] = prefixes_of_units(next[l][1]);
        finish_pair(b, &k, i, now, lanes, to);
        memcpy(lanes, next_lanes, sizeof lanes);
        memcpy(now, next, sizeof now);
        memcpy(next, later, sizeof next);
    }
    UNROLL_8 for (int l = 0; l < LEVELS; l++) b->prefix[l] =
        _mm_cvtsi128_si64(_mm512_castsi512_si128(_mm512_sub_epi64(k.prefix[l], (__m512i)k.sigma[l])));
    return _mm512_test_epi64_mask(k.strayed, _mm512_set1_epi64(INT64_MIN >> 11)) == 0;
}

#define DEFINE_RUN_PAIRS(tag, type)                                                                                    \
    static __attribute__((noinline)) bool run_pairs_##tag(unit_block *b) {                                             \
        return b->out == TALLY_F64 ? scan_pairs(b, type, TO_F64) : scan_pairs(b, type, TO_F32);                        \
    }
DEFINE_RUN_PAIRS(f32, TALLY_F32)
DEFINE_RUN_PAIRS(f64, TALLY_F64)

static bool run_pairs(unit_block *b, tally_dtype in) {
    return in == TALLY_F32 ? run_pairs_f32(b) : run_pairs_f64(b);
}
#endif

#endif
