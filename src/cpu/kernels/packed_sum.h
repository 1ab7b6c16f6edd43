/* Sums of integers of up to 32 bits; see packed.h. */

ALWAYS_INLINE bool NAME(is_packed)(tally_monoid m) {
    return m == TALLY_MONOID_sum;
}

#if ELEMENT_BITS == 8
/* Eight bytes make one sum of at most 2040 in 64 bits. Signed bytes are first shifted up by 128. */
#define PACKED_BIAS (ELEMENT_IS_SIGNED ? 128 : 0)
typedef v_u64 NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)m, (void)y;
    v_u8 bytes = (v_u8)PASTE4(load_, ELEMENT, _from_, ELEMENT)(x) ^ (uint8_t)PACKED_BIAS;
#if defined(__AVX512BW__)
    *sums += (v_u64)_mm512_sad_epu8((__m512i)bytes, _mm512_setzero_si512());
#elif defined(__AVX2__)
    *sums += (v_u64)_mm256_sad_epu8((__m256i)bytes, _mm256_setzero_si256());
#else
    *sums += (v_u64)_mm_sad_epu8((__m128i)bytes, _mm_setzero_si128());
#endif
}
#elif ELEMENT_BITS == 16
/* Two neighbours make one sum in 32 bits. Unsigned words are first shifted down by 2^15. */
#define PACKED_BIAS (ELEMENT_IS_SIGNED ? 0 : -32768)
typedef v_i32 NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)m, (void)y;
    v_u16 words = (v_u16)PASTE4(load_, ELEMENT, _from_, ELEMENT)(x) ^ (uint16_t)(ELEMENT_IS_SIGNED ? 0 : 32768);
#if defined(__AVX512BW__)
    *sums += (v_i32)_mm512_madd_epi16((__m512i)words, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
    *sums += (v_i32)_mm256_madd_epi16((__m256i)words, _mm256_set1_epi16(1));
#else
    *sums += (v_i32)_mm_madd_epi16((__m128i)words, _mm_set1_epi16(1));
#endif
}
#else
#define PACKED_BIAS  0
#define PACKED_SPLIT ELEMENT
typedef PASTE2(split_sum_, ELEMENT) NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)m, (void)y;
    PASTE2(v_, ELEMENT) words = PASTE4(load_, ELEMENT, _from_, ELEMENT)(x);
    LOADED_ONCE(words);
    PASTE2(split_add_, ELEMENT)(sums, words);
}
#endif

#include "cpu/kernels/packed.h"
