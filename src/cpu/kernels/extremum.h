/* Minimum and maximum of floats without the price of NaN. The processor's own minimum gives its second operand when one
 * is NaN, so with the running value second NaN is skipped; whether there was one is asked of two vectors at a time, and
 * makes the result NaN at the end. Included in fold.h for the class VALUE of floats (FAST_VECTORS). */

#if defined(__AVX512F__)
#define DEFINE_EXTREMUM(name, suffix)                                                                                  \
    ALWAYS_INLINE A_T NAME(name)(tally_monoid m, const E_T *x, size_t vectors, A_T acc) {                              \
        L_V lanes[8];                                                                                                  \
        __mmask16 nan = 0;                                                                                             \
        UNROLL_8 for (int j = 0; j < 8; j++) lanes[j] = SPLAT(m == TALLY_MONOID_min ? INFINITY : -INFINITY);           \
        for (size_t i = 0; i < vectors; i += 8, x += 8 * LANES) {                                                      \
            UNROLL_8 for (int j = 0; j < 8; j += 2) {                                                                  \
                L_V first = LOAD(x + j * LANES), second = LOAD(x + (j + 1) * LANES);                                   \
                nan |= _mm512_cmp_##suffix##_mask(first, second, _CMP_UNORD_Q);                                        \
                lanes[j] = m == TALLY_MONOID_min ? _mm512_min_##suffix(first, lanes[j])                                \
                                                 : _mm512_max_##suffix(first, lanes[j]);                               \
                lanes[j + 1] = m == TALLY_MONOID_min ? _mm512_min_##suffix(second, lanes[j + 1])                       \
                                                     : _mm512_max_##suffix(second, lanes[j + 1]);                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL_8 for (int j = 1; j < 8; j++) lanes[0] =                                                                \
            m == TALLY_MONOID_min ? _mm512_min_##suffix(lanes[j], lanes[0]) : _mm512_max_##suffix(lanes[j], lanes[0]); \
        acc = NAME(combine_acc)(m, acc, NAME(horizontal)(m, lanes[0]));                                                \
        return nan ? NAN : acc;                                                                                        \
    }
#else
#define DEFINE_EXTREMUM(name, suffix)                                                                                  \
    ALWAYS_INLINE A_T NAME(name)(tally_monoid m, const E_T *x, size_t vectors, A_T acc) {                              \
        L_V lanes[8], nan = SPLAT(0);                                                                                  \
        UNROLL_8 for (int j = 0; j < 8; j++) lanes[j] = SPLAT(m == TALLY_MONOID_min ? INFINITY : -INFINITY);           \
        for (size_t i = 0; i < vectors; i += 8, x += 8 * LANES) {                                                      \
            UNROLL_8 for (int j = 0; j < 8; j += 2) {                                                                  \
                L_V first = LOAD(x + j * LANES), second = LOAD(x + (j + 1) * LANES);                                   \
                nan = _mm256_or_##suffix(nan, _mm256_cmp_##suffix(first, second, _CMP_UNORD_Q));                       \
                lanes[j] = m == TALLY_MONOID_min ? _mm256_min_##suffix(first, lanes[j])                                \
                                                 : _mm256_max_##suffix(first, lanes[j]);                               \
                lanes[j + 1] = m == TALLY_MONOID_min ? _mm256_min_##suffix(second, lanes[j + 1])                       \
                                                     : _mm256_max_##suffix(second, lanes[j + 1]);                      \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL_8 for (int j = 1; j < 8; j++) lanes[0] =                                                                \
            m == TALLY_MONOID_min ? _mm256_min_##suffix(lanes[j], lanes[0]) : _mm256_max_##suffix(lanes[j], lanes[0]); \
        acc = NAME(combine_acc)(m, acc, NAME(horizontal)(m, lanes[0]));                                                \
        return _mm256_movemask_##suffix(nan) ? NAN : acc;                                                              \
    }
#endif

#if ELEMENT_BITS == 64
DEFINE_EXTREMUM(extremum, pd)
#else
DEFINE_EXTREMUM(extremum, ps)
#endif
#undef DEFINE_EXTREMUM

ALWAYS_INLINE size_t NAME(fast_vectors)(tally_monoid m, const E_T *x, const E_T *y, size_t vectors, A_T *acc) {
    (void)y;
    size_t whole = vectors / 8 * 8;
    if (whole)
        *acc = NAME(extremum)(m, x, whole, *acc);
    return whole;
}
