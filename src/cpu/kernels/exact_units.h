/* Blocks of an exact scan whose prefixes are integers: f32, f16 and bf16 with AVX-512. A unit, a power of two, is
 * chosen such that prefixes are less than 2^62 units. If all elements are multiples of it, so are all prefixes, and
 * each result is a prefix rounded once by its conversion. The processor's inexact flag says afterwards whether they
 * were. If not, or if what came before is no multiple, each prefix is known up to an error. Then no boundary between
 * results, all of which are multiples of a larger power of two, may lie within that error; docs/exact-scans.md has the
 * argument.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_UNITS_H
#define TALLY_CPU_KERNELS_EXACT_UNITS_H

#include "cpu/kernels/exact_window.h"

enum {
    QUAD = 4, /* vectors; lane l has elements 4 l to 4 l + 3, so neighbours are added up without a shuffle */
    OF_QUAD = QUAD * W64,
    OF_PAIR = 2 * W64,
    LEVELS = 2,     /* of prefixes that are pairs of integers */
    MOST_BITS = 62, /* of one integer */
};

/* A stretch of a block, for either kind of kernel. */
typedef struct unit_block {
    const void *x;
    void *results;
    size_t groups; /* quads, or pairs of vectors */
    tally_dtype out;
    bool reverse, streamed;
    ptrdiff_t ahead;        /* bytes, of elements that are prefetched */
    float scale, unit;      /* the scale is the unit's reciprocal */
    double sigma[LEVELS];   /* of pairs */
    int64_t prefix[LEVELS]; /* of the elements before, then of those after; plus the largest error, if guarded */
    uint64_t cell, margin;  /* guarded: no prefix may be at most 'margin' above a multiple of cell + 1 */
    float least;            /* magnitude of a result in units, if guarded */
} unit_block;

#if defined(__AVX512DQ__)
#define ROUND(direction) (_MM_FROUND_##direction | _MM_FROUND_NO_EXC)

typedef struct unit_kernel {
    __m512i in[2], out[2]; /* where the elements of a quad come from, and go to */
    __m512 scale, unit;
    __m512i prefix, cell, margin, least;
    __m512i most; /* results, as bits, less the least */
} unit_kernel;

/* Elements in quads. */
ALWAYS_INLINE void load_quad(const unit_block *b, const unit_kernel *k, size_t i, const tally_dtype in,
                             __m512i v[QUAD]) {
    const size_t bytes = in == TALLY_F32 ? sizeof(float) : sizeof(uint16_t);
    const char *const x = (const char *)b->x + (b->reverse ? b->groups - 1 - i : i) * OF_QUAD * bytes;
    __m512 pairs[2];
    for (size_t line = 0; line < OF_QUAD * bytes; line += 64)
        __builtin_prefetch(x + b->ahead + line);
    if (in == TALLY_F32) {
        const __m512 first = _mm512_mul_ps(_mm512_loadu_ps(x), k->scale);
        const __m512 second = _mm512_mul_ps(_mm512_loadu_ps(x + 64), k->scale);
        UNROLL_8 for (int j = 0; j < 2; j++) pairs[j] = _mm512_permutex2var_ps(first, k->in[j], second);
    } else if (in == TALLY_BF16) {
        const __m512i words = _mm512_loadu_si512(x);
        UNROLL_8 for (int j = 0; j < 2; j++) pairs[j] =
            _mm512_mul_ps(_mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, k->in[j], words)), k->scale);
    } else {
        const __m512i words = _mm512_permutexvar_epi16(k->in[0], _mm512_loadu_si512(x));
        pairs[0] = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(words)), k->scale);
        pairs[1] = _mm512_mul_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1)), k->scale);
    }
    UNROLL_8 for (int j = 0; j < 2; j++) {
        v[2 * j] = _mm512_cvtps_epi64(_mm512_castps512_ps256(pairs[j]));
        v[2 * j + 1] = _mm512_cvtps_epi64(_mm512_extractf32x8_ps(pairs[j], 1));
    }
    UNROLL_8 for (int j = 1; j < QUAD; j++) v[j] = _mm512_add_epi64(v[j], v[j - 1]);
}

/* Prefixes of a vector's lanes. */
ALWAYS_INLINE __m512i prefixes_of_units(__m512i v) {
    const __m512i second = _mm512_setr_epi64(0, 0, 1, 1, 4, 4, 5, 5), fourth = _mm512_set1_epi64(3);
    v = _mm512_add_epi64(v, _mm512_unpacklo_epi64(_mm512_setzero_si512(), v));
    v = _mm512_add_epi64(v, _mm512_maskz_permutexvar_epi64(0xcc, second, v));
    return _mm512_add_epi64(v, _mm512_maskz_permutexvar_epi64(0xf0, fourth, v));
}

/* A prefix in units as a float; for 16 bits rounded to odd. */
ALWAYS_INLINE __m256 round_units(__m512i sum, const bool is_narrow, const bool guarded) {
    if (!is_narrow)
        return _mm512_cvt_roundepi64_ps(sum, ROUND(TO_NEAREST_INT));
    if (guarded) /* never exact, so what was cut off becomes a one, further on */
        return _mm512_cvt_roundepi64_ps(sum, ROUND(TO_ZERO));
    const __m256 below = _mm512_cvt_roundepi64_ps(sum, ROUND(TO_NEG_INF));
    const __m256 above = _mm512_cvt_roundepi64_ps(sum, ROUND(TO_POS_INF));
    const __mmask8 odd = _mm256_test_epi32_mask(_mm256_castps_si256(below), _mm256_set1_epi32(1));
    return _mm256_mask_blend_ps(odd, above, below);
}

ALWAYS_INLINE void store_line(void *to, __m512i v, bool streamed) {
    if (streamed)
        _mm512_stream_si512(to, v);
    else
        _mm512_storeu_si512(to, v);
}

/* gcc's intrinsic raises the inexact flag. */
ALWAYS_INLINE __m256i narrow_quietly(__m512 v) {
    __m256i rounded;
    __asm__("vcvtps2ph $0, %{sae%}, %1, %0" : "=v"(rounded) : "v"(v));
    return rounded;
}

ALWAYS_INLINE void store_quad(const unit_block *b, const unit_kernel *k, size_t i, const bool is_narrow,
                              const __m512 pairs[2]) {
    const size_t bytes = is_narrow ? sizeof(uint16_t) : sizeof(float);
    char *const to = (char *)b->results + (b->reverse ? b->groups - 1 - i : i) * OF_QUAD * bytes;
    if (!is_narrow) {
        UNROLL_8 for (int j = 0; j < 2; j++) store_line(
            to + 64 * j, _mm512_castps_si512(_mm512_permutex2var_ps(pairs[0], k->out[j], pairs[1])), b->streamed);
    } else if (b->out == TALLY_BF16) {
        __m512i bits[2];
        UNROLL_8 for (int j = 0; j < 2; j++) {
            bits[j] = _mm512_castps_si512(pairs[j]);
            const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits[j], 16), _mm512_set1_epi32(1));
            bits[j] = _mm512_add_epi32(bits[j], _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));
        }
        store_line(to, _mm512_permutex2var_epi16(bits[0], k->out[0], bits[1]), b->streamed);
    } else {
        const __m512i words =
            _mm512_inserti64x4(_mm512_castsi256_si512(narrow_quietly(pairs[0])), narrow_quietly(pairs[1]), 1);
        store_line(to, _mm512_permutexvar_epi16(k->out[1], words), b->streamed);
    }
}

ALWAYS_INLINE void finish_quad(const unit_block *b, unit_kernel *k, size_t i, const __m512i v[QUAD], __m512i lanes,
                               const bool is_narrow, const bool guarded) {
    const __m512i base = _mm512_add_epi64(k->prefix, _mm512_sub_epi64(lanes, v[QUAD - 1]));
    k->prefix = _mm512_add_epi64(k->prefix, _mm512_permutexvar_epi64(_mm512_set1_epi64(W64 - 1), lanes));
    __m256 rounded[QUAD];
    __m512 pairs[2];
    UNROLL_8 for (int j = 0; j < QUAD; j++) {
        const __m512i sum = _mm512_add_epi64(v[j], base);
        rounded[j] = round_units(sum, is_narrow, guarded);
        if (guarded)
            k->margin = _mm512_min_epu64(k->margin, _mm512_and_si512(sum, k->cell));
    }
    UNROLL_8 for (int j = 0; j < 2; j++) {
        pairs[j] = _mm512_insertf32x8(_mm512_castps256_ps512(rounded[2 * j]), rounded[2 * j + 1], 1);
        __m512i bits = _mm512_castps_si512(pairs[j]);
        if (is_narrow && guarded)
            pairs[j] = _mm512_castsi512_ps(bits = _mm512_or_si512(bits, _mm512_set1_epi32(1)));
        bits = _mm512_add_epi32(bits, bits); /* without the sign */
        if (guarded)
            bits = _mm512_sub_epi32(bits, k->least);
        k->most = _mm512_max_epu32(k->most, bits);
        pairs[j] = _mm512_mul_round_ps(pairs[j], k->unit, ROUND(TO_NEAREST_INT));
    }
    store_quad(b, k, i, is_narrow, pairs);
}

/* Where in 32 elements those of a quad are, and where in a quad 32 elements are. */
static const uint8_t elements_of_quad[OF_QUAD] = {0, 4, 8,  12, 16, 20, 24, 28, 1, 5, 9,  13, 17, 21, 25, 29,
                                                  2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31};
static const uint8_t places_in_quad[OF_QUAD] = {0, 8,  16, 24, 1, 9,  17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
                                                4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31};

ALWAYS_INLINE void set_places(unit_kernel *k, const unit_block *b, const tally_dtype in, const bool is_narrow) {
    const __m256i turned = _mm256_set1_epi8(b->reverse ? OF_QUAD - 1 : 0);
    const __m256i from = _mm256_xor_si256(_mm256_loadu_si256((const void *)elements_of_quad), turned);
    const __m256i to = _mm256_xor_si256(_mm256_loadu_si256((const void *)places_in_quad), turned);
    k->in[0] = _mm512_cvtepu8_epi32(_mm256_castsi256_si128(from));
    k->in[1] = _mm512_cvtepu8_epi32(_mm256_extracti128_si256(from, 1));
    if (in == TALLY_BF16) /* goes to the upper half of a float */
        UNROLL_8 for (int j = 0; j < 2; j++) k->in[j] = _mm512_slli_epi32(k->in[j], 16);
    if (in == TALLY_F16)
        k->in[0] = _mm512_cvtepu8_epi16(from);
    k->out[0] = _mm512_cvtepu8_epi32(_mm256_castsi256_si128(to));
    k->out[1] = _mm512_cvtepu8_epi32(_mm256_extracti128_si256(to, 1));
    if (is_narrow) { /* bf16 is the upper half of a float */
        k->out[1] = _mm512_cvtepu8_epi16(to);
        k->out[0] = _mm512_add_epi16(_mm512_slli_epi16(k->out[1], 1), _mm512_set1_epi16(1));
    }
}

/* The quads overlap in time: one is loaded, the lanes of the one before are added up, and the one before that is
 * rounded. One after the other they took 1.4 times as long, since each waits for its own results. */
ALWAYS_INLINE bool scan_quads(unit_block *b, const tally_dtype in, const bool is_narrow, const bool guarded) {
    const uint32_t least = guarded ? 2 * tally_bits_of_float(b->least) : 0;
    unit_kernel k = {
        .scale = _mm512_set1_ps(b->scale),
        .unit = _mm512_set1_ps(b->unit),
        .prefix = _mm512_set1_epi64(b->prefix[0]),
        .cell = _mm512_set1_epi64((int64_t)b->cell),
        .margin = _mm512_set1_epi64(-1),
        .least = _mm512_set1_epi32((int32_t)least),
        .most = _mm512_setzero_si512(),
    };
    set_places(&k, b, in, is_narrow);
    const size_t last = b->groups - 1;
    __m512i now[QUAD], next[QUAD], later[QUAD];
    load_quad(b, &k, 0, in, now);
    load_quad(b, &k, last > 0, in, next);
    __m512i lanes = prefixes_of_units(now[QUAD - 1]);
    for (size_t i = 0; i <= last; i++) {
        load_quad(b, &k, i + 2 < last ? i + 2 : last, in, later);
        const __m512i next_lanes = prefixes_of_units(next[QUAD - 1]);
        finish_quad(b, &k, i, now, lanes, is_narrow, guarded);
        lanes = next_lanes;
        memcpy(now, next, sizeof now);
        memcpy(next, later, sizeof next);
    }
    b->prefix[0] = _mm_cvtsi128_si64(_mm512_castsi512_si128(k.prefix));
    const uint32_t most = 2 * tally_bits_of_float(0x1p62f) - least;
    return _mm512_reduce_max_epu32(k.most) < most && (!guarded || _mm512_reduce_min_epu64(k.margin) > b->margin);
}

#define DEFINE_RUN_UNITS(tag, type)                                                                                    \
    static __attribute__((noinline)) bool run_units_##tag(unit_block *b, bool guarded) {                               \
        if (b->out == TALLY_F32)                                                                                       \
            return guarded ? scan_quads(b, type, false, true) : scan_quads(b, type, false, false);                     \
        return guarded ? scan_quads(b, type, true, true) : scan_quads(b, type, true, false);                           \
    }
DEFINE_RUN_UNITS(f16, TALLY_F16)
DEFINE_RUN_UNITS(bf16, TALLY_BF16)
DEFINE_RUN_UNITS(f32, TALLY_F32)

static bool run_quads(unit_block *b, tally_dtype in, bool guarded) {
    return in == TALLY_F16    ? run_units_f16(b, guarded)
           : in == TALLY_BF16 ? run_units_bf16(b, guarded)
                              : run_units_f32(b, guarded);
}

#endif

#endif
