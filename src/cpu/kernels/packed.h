/* Sums of 8- and 16-bit integers, which would lose most of their speed in widening: instructions that add neighbours
 * take 64 bytes at once. Included in fold.h for the class SUM (FAST_VECTORS); 'rounds' are of one vector. */

#if ELEMENT_BITS == 8
/* Eight bytes make one sum of at most 2040 in 64 bits. Signed bytes are moved up by 128 first. */
#define BIAS (ELEMENT_IS_SIGNED ? 128 : 0)
ALWAYS_INLINE v_u64 NAME(sum_of_neighbours)(const E_T *x) {
    v_u8 bytes = (v_u8)PASTE4(load_, ELEMENT, _from_, ELEMENT)(x) ^ (uint8_t)BIAS;
#if defined(__AVX512BW__)
    return (v_u64)_mm512_sad_epu8((__m512i)bytes, _mm512_setzero_si512());
#elif defined(__AVX2__)
    return (v_u64)_mm256_sad_epu8((__m256i)bytes, _mm256_setzero_si256());
#else
    return (v_u64)_mm_sad_epu8((__m128i)bytes, _mm_setzero_si128());
#endif
}
#else
/* Two neighbours make one sum in 32 bits; of those, the lower and the upper are collected apart. Unsigned words are
 * moved down by 2^15 before, and all sums up by 2^16 after, so that both halves are counted without a sign. */
#define BIAS (ELEMENT_IS_SIGNED ? 32768 : 0)
ALWAYS_INLINE v_u64 NAME(sum_of_neighbours)(const E_T *x) {
    v_u16 words = (v_u16)PASTE4(load_, ELEMENT, _from_, ELEMENT)(x) ^ (uint16_t)(ELEMENT_IS_SIGNED ? 0 : 32768);
#if defined(__AVX512BW__)
    v_u32 sums = (v_u32)_mm512_madd_epi16((__m512i)words, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
    v_u32 sums = (v_u32)_mm256_madd_epi16((__m256i)words, _mm256_set1_epi16(1));
#else
    v_u32 sums = (v_u32)_mm_madd_epi16((__m128i)words, _mm_set1_epi16(1));
#endif
    v_u64 pairs = (v_u64)(sums + 65536u);
    return (pairs & 0xffffffffu) + (pairs >> 32);
}
#endif

ALWAYS_INLINE A_T NAME(packed_sum)(const E_T *x, size_t vectors, A_T acc) {
    const size_t elements = VECTOR_BYTES / sizeof(E_T);
    v_u64 total[4] = {{0}, {0}, {0}, {0}};
    size_t i = 0;
    for (; i + 4 <= vectors; i += 4) {
        UNROLL_8 for (int j = 0; j < 4; j++) total[j] += NAME(sum_of_neighbours)(x + (i + (size_t)j) * elements);
    }
    for (; i < vectors; i++)
        total[0] += NAME(sum_of_neighbours)(x + i * elements);
    total[0] += total[1] + (total[2] + total[3]);
    for (size_t l = 0; l < LANES_OF(s_u64); l++)
        acc += (A_T)total[0][l];
    return acc - (A_T)(vectors * elements) * BIAS;
}

/* fold's vectors are of lanes, four or two to a vector of elements. */
ALWAYS_INLINE size_t NAME(fast_vectors)(tally_monoid m, const E_T *x, const E_T *y, size_t vectors, A_T *acc) {
    (void)y;
    if (m != TALLY_MONOID_sum)
        return 0;
    size_t packed = vectors * LANES / (VECTOR_BYTES / sizeof(E_T));
    *acc = NAME(packed_sum)(x, packed, *acc);
    return packed * (VECTOR_BYTES / sizeof(E_T)) / LANES;
}
#undef BIAS
