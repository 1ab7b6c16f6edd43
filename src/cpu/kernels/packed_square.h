/* Sums of squares of integers of up to 32 bits, and of products of those of 8 and 32 bits; see packed.h. Included from
 * AVX2 on, and not for u16, whose squares no instruction adds in pairs. */
#define PACKED_BIAS(m) 0

ALWAYS_INLINE bool NAME(is_packed)(tally_monoid m) {
    return m == TALLY_MONOID_sumsq || (m == TALLY_MONOID_dot && ELEMENT_BITS != 16);
}

#if ELEMENT_BITS == 8
/* Words of bytes: four products make one sum, of at most 4 * 255^2, which 32 bits hold 2^14 times; of at most 4 * 2^14
 * if they have signs, which 31 bits hold. */
#if ELEMENT_IS_SIGNED
typedef v_i32 NAME(sums);
#else
typedef v_u32 NAME(sums);
#endif
#if defined(__AVX512BW__)
typedef __m512i NAME(words);
ALWAYS_INLINE NAME(words) NAME(words_of)(const E_T *x) {
    return ELEMENT_IS_SIGNED ? _mm512_cvtepi8_epi16(BITS_256(x)) : _mm512_cvtepu8_epi16(BITS_256(x));
}
#define ADD_PRODUCTS(a, b) _mm512_madd_epi16(a, b)
#else
typedef __m256i NAME(words);
ALWAYS_INLINE NAME(words) NAME(words_of)(const E_T *x) {
    return ELEMENT_IS_SIGNED ? _mm256_cvtepi8_epi16(BITS_128(x)) : _mm256_cvtepu8_epi16(BITS_128(x));
}
#define ADD_PRODUCTS(a, b) _mm256_madd_epi16(a, b)
#endif

ALWAYS_INLINE void NAME(take)(tally_monoid m, NAME(sums) * sums, const E_T *x, const E_T *y) {
    UNROLL_8 for (size_t i = 0; i < VECTOR_BYTES; i += VECTOR_BYTES / 2) {
        const NAME(words) a = NAME(words_of)(x + i), b = m == TALLY_MONOID_dot ? NAME(words_of)(y + i) : a;
        *sums += (NAME(sums))ADD_PRODUCTS(a, b);
    }
}
#undef ADD_PRODUCTS
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
