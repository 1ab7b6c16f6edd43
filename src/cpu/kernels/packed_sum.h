/* Sums of integers of up to 32 bits, and of their absolute values; see packed.h. */

ALWAYS_INLINE bool NAME(is_packed)(tally_monoid m) {
    return m == TALLY_MONOID_sum || m == TALLY_MONOID_sumabs;
}
ALWAYS_INLINE bool NAME(is_signed)(tally_monoid m) {
    return ELEMENT_IS_SIGNED && m == TALLY_MONOID_sum;
}

ALWAYS_INLINE PASTE2(v_u, ELEMENT_BITS) NAME(words_of)(tally_monoid m, const E_T *x) {
    const PASTE2(v_u, ELEMENT_BITS) words = (PASTE2(v_u, ELEMENT_BITS))PASTE4(load_, ELEMENT, _from_, ELEMENT)(x);
    return ELEMENT_IS_SIGNED && m == TALLY_MONOID_sumabs ? PASTE2(magnitude_u, ELEMENT_BITS)(words) : words;
}

#if ELEMENT_BITS == 8
/* Eight bytes make one sum of at most 2040 in 64 bits. Signed bytes are first shifted up by 128. */
#define PACKED_BIAS(m) (NAME(is_signed)(m) ? 128 : 0)
typedef v_u64 NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)y;
    const v_u8 bytes = NAME(words_of)(m, x) ^ (uint8_t)PACKED_BIAS(m);
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
#define PACKED_BIAS(m) (NAME(is_signed)(m) ? 0 : -32768)
typedef v_i32 NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)y;
    const v_u16 words = NAME(words_of)(m, x) ^ (uint16_t)(NAME(is_signed)(m) ? 0 : 32768);
#if defined(__AVX512BW__)
    *sums += (v_i32)_mm512_madd_epi16((__m512i)words, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
    *sums += (v_i32)_mm256_madd_epi16((__m256i)words, _mm256_set1_epi16(1));
#else
    *sums += (v_i32)_mm_madd_epi16((__m128i)words, _mm_set1_epi16(1));
#endif
}
#else
#define PACKED_BIAS(m) 0
#define PACKED_SPLIT   ELEMENT
typedef PASTE2(split_sum_, ELEMENT) NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)y;
    v_u32 words = NAME(words_of)(m, x);
    LOADED_ONCE(words);
    if (m == TALLY_MONOID_sum) {
        PASTE2(split_add_, ELEMENT)(sums, (PASTE2(v_, ELEMENT))words);
    } else { /* the upper halves have no sign */
        sums->all += words;
        sums->upper += (PASTE2(v_, ELEMENT))(words >> 16);
    }
}
#endif

#include "cpu/kernels/packed.h"
