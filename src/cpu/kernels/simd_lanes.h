/* Arithmetic that the vector extensions lack or compile badly, and moving lanes. See simd.h. */
#ifndef TALLY_CPU_SIMD_LANES_H
#define TALLY_CPU_SIMD_LANES_H

#include "cpu/kernels/simd_types.h"

/* ------------------------------------------------------------------------------------ products ---------- */

/* The product of lanes that hold numbers of at most 32 bits: one multiplication instead of three. */
#define DEFINE_PRODUCT(tag)                                                                                            \
    ALWAYS_INLINE v_##tag product_##tag(v_##tag x, v_##tag y) {                                                        \
        return x * y;                                                                                                  \
    }
#if defined(__AVX512F__)
ALWAYS_INLINE v_i64 product_i64(v_i64 x, v_i64 y) {
    return (v_i64)_mm512_mul_epi32((__m512i)x, (__m512i)y);
}
ALWAYS_INLINE v_u64 product_u64(v_u64 x, v_u64 y) {
    return (v_u64)_mm512_mul_epu32((__m512i)x, (__m512i)y);
}
#elif defined(__AVX2__)
ALWAYS_INLINE v_i64 product_i64(v_i64 x, v_i64 y) {
    return (v_i64)_mm256_mul_epi32((__m256i)x, (__m256i)y);
}
ALWAYS_INLINE v_u64 product_u64(v_u64 x, v_u64 y) {
    return (v_u64)_mm256_mul_epu32((__m256i)x, (__m256i)y);
}
#else
DEFINE_PRODUCT(i64)
DEFINE_PRODUCT(u64)
#endif
DEFINE_PRODUCT(i32)
DEFINE_PRODUCT(u32)
DEFINE_PRODUCT(f32)
DEFINE_PRODUCT(f64)

/* The upper 64 bits of x * x. */
ALWAYS_INLINE s_u64 scalar_high_square(s_u64 x) {
    return (s_u64)((unsigned __int128)x * x >> 64);
}

/* Moves every odd 32-bit unit to the lower half of its 64 bits, where product_i64 and product_u64 read it. */
#if defined(__AVX512F__)
ALWAYS_INLINE v_u64 odd_halves(v_u64 x) {
    return (v_u64)_mm512_shuffle_epi32((__m512i)x, 0xf5);
}
#elif defined(__AVX2__)
ALWAYS_INLINE v_u64 odd_halves(v_u64 x) {
    return (v_u64)_mm256_shuffle_epi32((__m256i)x, 0xf5);
}
#endif

/* sum + x * y, rounded once where the level has an instruction for it. */
#if defined(__AVX512F__)
#define DEFINE_ADD_PRODUCT(tag, suffix)                                                                                \
    ALWAYS_INLINE v_##tag add_product_##tag(v_##tag sum, v_##tag x, v_##tag y) {                                       \
        return _mm512_fmadd_##suffix(x, y, sum);                                                                       \
    }
#elif defined(__FMA__)
#define DEFINE_ADD_PRODUCT(tag, suffix)                                                                                \
    ALWAYS_INLINE v_##tag add_product_##tag(v_##tag sum, v_##tag x, v_##tag y) {                                       \
        return _mm256_fmadd_##suffix(x, y, sum);                                                                       \
    }
#else
#define DEFINE_ADD_PRODUCT(tag, suffix)                                                                                \
    ALWAYS_INLINE v_##tag add_product_##tag(v_##tag sum, v_##tag x, v_##tag y) {                                       \
        return sum + x * y;                                                                                            \
    }
#endif
DEFINE_ADD_PRODUCT(f32, ps)
DEFINE_ADD_PRODUCT(f64, pd)

/* The same as a + b. Where processors add floats and move lanes by the same ports, and multiply by others, a sum that
 * is a product with 1 leaves room for moves (Zen 5: running sums of f64 4.4 cycles a vector, and 3.8 so). */
#if defined(__AVX512F__)
#define DEFINE_SUM_BESIDE(tag)                                                                                         \
    ALWAYS_INLINE v_##tag sum_beside_##tag(v_##tag a, v_##tag b) {                                                     \
        v_##tag one = (v_##tag){0} + 1;                                                                                \
        __asm__("" : "+v"(one));                                                                                       \
        return add_product_##tag(b, a, one);                                                                           \
    }
#else
#define DEFINE_SUM_BESIDE DEFINE_PLAIN_SUM
#endif
#define DEFINE_PLAIN_SUM(tag)                                                                                          \
    ALWAYS_INLINE v_##tag sum_beside_##tag(v_##tag a, v_##tag b) {                                                     \
        return a + b;                                                                                                  \
    }
DEFINE_SUM_BESIDE(f32)
DEFINE_SUM_BESIDE(f64)
DEFINE_PLAIN_SUM(i32)
DEFINE_PLAIN_SUM(u32)
DEFINE_PLAIN_SUM(i64)
DEFINE_PLAIN_SUM(u64)

/* ------------------------------------------------------------------------------------ wide sums ---------- */

/* Sums of neighbouring lanes of 32 bits, in 64 bits. Those with a sign are first shifted up by 2^31. */
ALWAYS_INLINE v_u64 pairs_u32(v_u32 x) {
    return ((v_u64)x & UINT32_MAX) + ((v_u64)x >> 32);
}
ALWAYS_INLINE v_u64 pairs_i32(v_u32 x) {
    return pairs_u32(x ^ UINT32_C(0x80000000)) - (UINT64_C(1) << 32);
}

/* Sums of 32-bit lanes without widening them. 'all' is the sum modulo 2^32, 'upper' the sum of only the upper 16 bits.
 * So all - upper * 2^16 is the sum of the lower 16 bits, which 32 bits hold for 2^16 elements. This takes three
 * instructions a vector; two widening loads and two additions take four. */
#define DEFINE_SPLIT_SUM(tag)                                                                                          \
    typedef struct split_sum_##tag {                                                                                   \
        v_u32 all;                                                                                                     \
        v_##tag upper;                                                                                                 \
    } split_sum_##tag;                                                                                                 \
    ALWAYS_INLINE void split_add_##tag(split_sum_##tag *sum, v_##tag x) {                                              \
        sum->all += (v_u32)x;                                                                                          \
        sum->upper += x >> 16;                                                                                         \
    }                                                                                                                  \
    ALWAYS_INLINE void split_join_##tag(split_sum_##tag *sum, const split_sum_##tag *other) {                          \
        sum->all += other->all;                                                                                        \
        sum->upper += other->upper;                                                                                    \
    }                                                                                                                  \
    ALWAYS_INLINE v_u64 split_wide_##tag(const split_sum_##tag *sum) {                                                 \
        const v_u32 lower = sum->all - ((v_u32)sum->upper << 16);                                                      \
        return (pairs_##tag((v_u32)sum->upper) << 16) + pairs_u32(lower);                                              \
    }
DEFINE_SPLIT_SUM(i32)
DEFINE_SPLIT_SUM(u32)

/* ------------------------------------------------------------------------------------ moving lanes ------- */

/* move_up(x, fill, units): every 32-bit unit takes the value 'units' below it; the lowest take fill's, which are all
 * equal. 'units' is a power of two and a constant where this is inlined. gcc 12 rebuilds the index vector of a
 * __builtin_shuffle in every step of a loop, so this uses intrinsics. */
#if defined(__AVX512F__)
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    const __m512i v = (__m512i)x, f = (__m512i)fill;
    switch (units) {
    case 1:
        return (v_u32)_mm512_alignr_epi32(v, f, 15);
    case 2:
        return (v_u32)_mm512_alignr_epi32(v, f, 14);
    case 4:
        return (v_u32)_mm512_alignr_epi32(v, f, 12);
    default:
        return (v_u32)_mm512_alignr_epi32(v, f, 8);
    }
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    const __m512i from = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return (v_u32)_mm512_permutexvar_epi32(from, (__m512i)x);
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32)_mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), (__m512i)x);
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32)_mm512_permutexvar_epi32(_mm512_set1_epi32(15), (__m512i)x);
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32)_mm512_permutexvar_epi64(_mm512_set1_epi64(7), (__m512i)x);
}
#elif defined(__AVX2__)
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    const __m256i v = (__m256i)x, f = (__m256i)fill;
    switch (units) {
    case 1:
        return (v_u32)_mm256_blend_epi32(_mm256_permutevar8x32_epi32(v, _mm256_set_epi32(6, 5, 4, 3, 2, 1, 0, 0)), f,
                                         1);
    case 2:
        return (v_u32)_mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x90), f, 3);
    default:
        return (v_u32)_mm256_permute2x128_si256(v, f, 0x02);
    }
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    return (v_u32)_mm256_permutevar8x32_epi32((__m256i)x, _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32)_mm256_permute4x64_epi64((__m256i)x, 0x1b);
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32)_mm256_permutevar8x32_epi32((__m256i)x, _mm256_set1_epi32(7));
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32)_mm256_permute4x64_epi64((__m256i)x, 0xff);
}
#elif defined(__SSE2__)
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    const __m128i v = (__m128i)x, f = (__m128i)fill;
    if (units == 1)
        return (v_u32)_mm_or_si128(_mm_slli_si128(v, 4), _mm_srli_si128(f, 12));
    return (v_u32)_mm_unpacklo_epi64(f, v);
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    return (v_u32)_mm_shuffle_epi32((__m128i)x, 0x1b);
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32)_mm_shuffle_epi32((__m128i)x, 0x4e);
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32)_mm_shuffle_epi32((__m128i)x, 0xff);
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32)_mm_unpackhi_epi64((__m128i)x, (__m128i)x);
}
#else
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    v_u32 moved = fill;
    for (size_t l = units; l < LANES_OF(s_u32); l++)
        moved[l] = x[l - units];
    return moved;
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    return (v_u32){x[3], x[2], x[1], x[0]};
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32){x[2], x[3], x[0], x[1]};
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32){x[3], x[3], x[3], x[3]};
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32){x[2], x[3], x[2], x[3]};
}
#endif

/* Every 32-bit unit takes unit from[..] of x, of which only the lowest bits count. MOVES_ANY_LANE: by one instruction.
 */
#if defined(__AVX2__)
#define MOVES_ANY_LANE 1
#else
#define MOVES_ANY_LANE 0
#endif
#if defined(__AVX512F__)
ALWAYS_INLINE v_u32 permute_units(v_u32 x, v_u32 from) {
    return (v_u32)_mm512_permutexvar_epi32((__m512i)from, (__m512i)x);
}
#elif defined(__AVX2__)
ALWAYS_INLINE v_u32 permute_units(v_u32 x, v_u32 from) {
    return (v_u32)_mm256_permutevar8x32_epi32((__m256i)x, (__m256i)from);
}
#else
ALWAYS_INLINE v_u32 permute_units(v_u32 x, v_u32 from) {
    v_u32 moved;
    for (size_t l = 0; l < LANES_OF(s_u32); l++)
        moved[l] = x[from[l] % LANES_OF(s_u32)];
    return moved;
}
#endif

/* The same where 'place' is 'least' at least; elsewhere units are fill's. By a mask with AVX-512: of a comparison gcc
 * makes lanes of -1 by an instruction that waits for what its register held, so that a vector of a loop waits for the
 * one before. (Exclusive maxima of i32 in rows of 12: 0.87 ns an element so, 0.10 by masks.) */
#if defined(__AVX512F__)
ALWAYS_INLINE v_u32 permute_units_from(v_u32 x, v_u32 from, v_u32 place, s_u32 least, v_u32 fill) {
    const __mmask16 moves = _mm512_cmpge_epu32_mask((__m512i)place, _mm512_set1_epi32((int)least));
    return (v_u32)_mm512_mask_permutexvar_epi32((__m512i)fill, moves, (__m512i)from, (__m512i)x);
}
#else
ALWAYS_INLINE v_u32 permute_units_from(v_u32 x, v_u32 from, v_u32 place, s_u32 least, v_u32 fill) {
    const v_u32 moves = (v_u32)(place >= least);
    return (moves & permute_units(x, from)) | (~moves & fill);
}
#endif

/* 0, 1, 2 ... and the remainders of these by 'divisor', which is no more than they are. */
ALWAYS_INLINE v_u32 unit_numbers(void) {
    const s_u32 numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    v_u32 units;
    memcpy(&units, numbers, sizeof units);
    return units;
}
ALWAYS_INLINE v_u32 numbers_modulo(size_t divisor) {
    const v_u32 numbers = unit_numbers(), quotients = numbers * (s_u32)(65536 / divisor + 1) >> 16;
    return numbers - quotients * (s_u32)divisor;
}

/* By lane type: lane l takes lane l - by; the lanes from last to first; the last lane everywhere. */
#define DEFINE_MOVES(tag, bits)                                                                                        \
    ALWAYS_INLINE v_##tag shift_up_##tag(v_##tag x, v_##tag fill, size_t by) {                                         \
        return (v_##tag)move_up((v_u32)x, (v_u32)fill, by * (bits / 32));                                              \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag reversed_##tag(v_##tag x) {                                                                  \
        return (v_##tag)reversed_##bits((v_u32)x);                                                                     \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag last_##tag(v_##tag x) {                                                                      \
        return (v_##tag)last_##bits((v_u32)x);                                                                         \
    }
#if defined(__AVX512F__)
/* a in the lanes whose bit is set, b in the others */
#define DEFINE_CHOSEN(tag, vector, suffix)                                                                             \
    ALWAYS_INLINE v_##tag chosen_##tag(__mmask16 lanes, v_##tag a, v_##tag b) {                                        \
        return (v_##tag)_mm512_mask_mov_##suffix((vector)b, lanes, (vector)a);                                         \
    }
DEFINE_CHOSEN(i32, __m512i, epi32)
DEFINE_CHOSEN(u32, __m512i, epi32)
DEFINE_CHOSEN(f32, __m512, ps)
DEFINE_CHOSEN(i64, __m512i, epi64)
DEFINE_CHOSEN(u64, __m512i, epi64)
DEFINE_CHOSEN(f64, __m512d, pd)
#endif

DEFINE_MOVES(i32, 32)
DEFINE_MOVES(u32, 32)
DEFINE_MOVES(f32, 32)
DEFINE_MOVES(i64, 64)
DEFINE_MOVES(u64, 64)
DEFINE_MOVES(f64, 64)

#endif
