/* Running smallest and largest elements of columns: a strip of columns keeps both in registers, and writes them side by
 * side. */
#include <math.h>

#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__)

/* The pairs of the lower or the upper lanes of a and b. */
ALWAYS_INLINE __m512i pairs_64(__m512i a, __m512i b, bool upper) {
    const __m512i from = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    return _mm512_permutex2var_epi64(a, upper ? _mm512_add_epi64(from, _mm512_set1_epi64(4)) : from, b);
}
ALWAYS_INLINE __m512i pairs_32(__m512i a, __m512i b, bool upper) {
    const __m512i from = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_epi32(a, upper ? _mm512_add_epi32(from, _mm512_set1_epi32(8)) : from, b);
}
/* The neighbours of two 128-bit parts, which are then put in order. */
ALWAYS_INLINE __m512i in_order(__m512i low, __m512i high, bool upper) {
    const __m512i from = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    return _mm512_permutex2var_epi64(low, upper ? _mm512_add_epi64(from, _mm512_set1_epi64(4)) : from, high);
}
ALWAYS_INLINE __m512i pairs_16(__m512i a, __m512i b, bool upper) {
    return in_order(_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b), upper);
}
ALWAYS_INLINE __m512i pairs_8(__m512i a, __m512i b, bool upper) {
    return in_order(_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b), upper);
}

/* The first so many bytes of a vector, or all. */
ALWAYS_INLINE __mmask64 first(size_t bytes) {
    return _bzhi_u64(UINT64_MAX, bytes < VECTOR_BYTES ? (unsigned)bytes : VECTOR_BYTES);
}

/* Extremes pass NaNs over, and lanes that had one show it: a row waits for one instruction of the row before. */
#define WITHOUT_NANS(v)        0
#define AS_IT_IS(tag, x, nans) (x)
#define NANS_OF_f32(v)         _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q)
#define NANS_OF_f64(v)         _mm512_cmp_pd_mask(v, v, _CMP_UNORD_Q)
#define OR_NAN(tag, x, nans)   OR_NAN_##tag(x, nans)
#define OR_NAN_f32(x, nans)    _mm512_mask_mov_ps(x, nans, _mm512_set1_ps(NAN))
#define OR_NAN_f64(x, nans)    _mm512_mask_mov_pd(x, (__mmask8)(nans), _mm512_set1_pd((double)NAN))

#define DEFINE_MINMAX(tag, bits, NANS_OF, SHOWN)                                                                       \
    static void minmax_##tag(const void *elements, size_t rows, size_t width, ptrdiff_t stride, void *smallest,        \
                             void *largest, void *target, ptrdiff_t target_stride) {                                   \
        for (size_t j = 0; j < width; j += LANES_OF(s_##tag)) {                                                        \
            const size_t bytes = (width - j) * sizeof(e_##tag);                                                        \
            const __mmask64 strip = first(bytes), lower = first(2 * bytes),                                            \
                            upper = bytes > VECTOR_BYTES / 2 ? first(2 * bytes - VECTOR_BYTES) : 0;                    \
            const char *from = (const char *)((const e_##tag *)elements + j);                                          \
            e_##tag *const low_at = (e_##tag *)smallest + j, *const high_at = (e_##tag *)largest + j;                  \
            v_##tag low = (v_##tag)_mm512_maskz_loadu_epi8(strip, smallest ? (const void *)low_at : from);             \
            v_##tag high = (v_##tag)_mm512_maskz_loadu_epi8(strip, smallest ? (const void *)high_at : from);           \
            char *to = (char *)((e_##tag *)target + 2 * j);                                                            \
            __mmask16 nans = 0;                                                                                        \
            for (size_t r = 0; r < rows; r++) {                                                                        \
                const v_##tag v = (v_##tag)_mm512_maskz_loadu_epi8(strip, from);                                       \
                nans = (__mmask16)(nans | NANS_OF(v));                                                                 \
                low = smaller_##tag(v, low);                                                                           \
                high = larger_##tag(v, high);                                                                          \
                const __m512i a = (__m512i)SHOWN(tag, low, nans), b = (__m512i)SHOWN(tag, high, nans);                 \
                _mm512_mask_storeu_epi8(to, lower, pairs_##bits(a, b, false));                                         \
                _mm512_mask_storeu_epi8(to + VECTOR_BYTES, upper, pairs_##bits(a, b, true));                           \
                from += stride * (ptrdiff_t)sizeof(e_##tag);                                                           \
                to += target_stride * 2 * (ptrdiff_t)sizeof(e_##tag);                                                  \
            }                                                                                                          \
            if (!smallest)                                                                                             \
                continue;                                                                                              \
            _mm512_mask_storeu_epi8(low_at, strip, (__m512i)SHOWN(tag, low, nans));                                    \
            _mm512_mask_storeu_epi8(high_at, strip, (__m512i)SHOWN(tag, high, nans));                                  \
        }                                                                                                              \
    }
DEFINE_MINMAX(i8, 8, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(u8, 8, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(i16, 16, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(u16, 16, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(i32, 32, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(u32, 32, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(i64, 64, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(u64, 64, WITHOUT_NANS, AS_IT_IS)
DEFINE_MINMAX(f32, 32, NANS_OF_f32, OR_NAN)
DEFINE_MINMAX(f64, 64, NANS_OF_f64, OR_NAN)
#define MINMAX(tag) minmax_##tag
#else
#define MINMAX(tag) NULL
#endif

extern tally_cpu_minmax_columns *const PASTE4(tally_cpu_minmax_columns, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
tally_cpu_minmax_columns *const PASTE4(tally_cpu_minmax_columns, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_I8] = MINMAX(i8),   [TALLY_U8] = MINMAX(u8),   [TALLY_I16] = MINMAX(i16), [TALLY_U16] = MINMAX(u16),
    [TALLY_I32] = MINMAX(i32), [TALLY_U32] = MINMAX(u32), [TALLY_I64] = MINMAX(i64), [TALLY_U64] = MINMAX(u64),
    [TALLY_F32] = MINMAX(f32), [TALLY_F64] = MINMAX(f64),
};
