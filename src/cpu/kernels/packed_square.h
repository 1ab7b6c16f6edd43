/* Sums of squares of integers of up to 32 bits, and of products of 32-bit integers; see packed.h. Included from AVX2
 * on, and not for u16, whose squares no instruction adds in pairs. */
#define PACKED_BIAS 0

ALWAYS_INLINE bool NAME(is_packed)(tally_monoid m) {
    return m == TALLY_MONOID_sumsq || (m == TALLY_MONOID_dot && ELEMENT_BITS == 32);
}

#if ELEMENT_BITS == 8
/* Words of bytes: four squares make one sum, of at most 4 * 255^2, which 32 bits hold 2^14 times. */
typedef v_u32 NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)m, (void)y;
    const char *half = (const char *)x + VECTOR_BYTES / 2;
#if defined(__AVX512BW__)
    __m512i a = ELEMENT_IS_SIGNED ? _mm512_cvtepi8_epi16(BITS_256(x)) : _mm512_cvtepu8_epi16(BITS_256(x));
    __m512i b = ELEMENT_IS_SIGNED ? _mm512_cvtepi8_epi16(BITS_256(half)) : _mm512_cvtepu8_epi16(BITS_256(half));
    *sums += (v_u32)_mm512_madd_epi16(a, a) + (v_u32)_mm512_madd_epi16(b, b);
#else
    __m256i a = ELEMENT_IS_SIGNED ? _mm256_cvtepi8_epi16(BITS_128(x)) : _mm256_cvtepu8_epi16(BITS_128(x));
    __m256i b = ELEMENT_IS_SIGNED ? _mm256_cvtepi8_epi16(BITS_128(half)) : _mm256_cvtepu8_epi16(BITS_128(half));
    *sums += (v_u32)_mm256_madd_epi16(a, a) + (v_u32)_mm256_madd_epi16(b, b);
#endif
}
#elif ELEMENT_BITS == 16
/* Two squares make one sum, of at most 2^31. */
#define PACKED_SPLIT u32
typedef split_sum_u32 NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    (void)m, (void)y;
#if defined(__AVX512BW__)
    const __m512i words = _mm512_loadu_si512((const void *)x);
    split_add_u32(sums, (v_u32)_mm512_madd_epi16(words, words));
#else
    const __m256i words = BITS_256(x);
    split_add_u32(sums, (v_u32)_mm256_madd_epi16(words, words));
#endif
}
#else
/* The even elements are in place for the multiplication; the odd ones are moved there. */
typedef L_V NAME(sums);

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    L_V p = (L_V)PASTE4(load_, ELEMENT, _from_, ELEMENT)(x);
    L_V q;
    LOADED_ONCE(p);
    if (m == TALLY_MONOID_dot) {
        q = (L_V)PASTE4(load_, ELEMENT, _from_, ELEMENT)(y);
        LOADED_ONCE(q);
    } else {
        q = p;
    }
    const L_V p_odd = (L_V)odd_halves((v_u64)p), q_odd = m == TALLY_MONOID_dot ? (L_V)odd_halves((v_u64)q) : p_odd;
    *sums += PASTE2(product_, LANE)(p, q);
    *sums += PASTE2(product_, LANE)(p_odd, q_odd);
}
#endif

#include "cpu/kernels/packed.h"
