/* Conversions between element types, for results whose type is not the accumulator's. Integers go to every type,
 * wrapping as C's conversions do; floats go to floats only, rounded once. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#define DEFINE_CONVERT(from, to, EXPRESSION)                                                                           \
    static void convert_##from##_##to(const void *source, size_t n, void *target) {                                    \
        const e_##from *restrict in = source;                                                                          \
        e_##to *restrict out = target;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const s_##from v = in[i];                                                                                  \
            out[i] = (s_##to)(EXPRESSION);                                                                             \
        }                                                                                                              \
    }
/* To 16 bits in chunks, so that each step is a loop in vectors: to f64, to f32 rounded to odd, to 16 bits. A double
 * rounding by way of a value that was rounded to odd is right (Boldo and Melquiond, 2008). */
enum { CHUNK = 64 };

/* Bits of f32: those of the next value toward zero, and the last one set, where the double has no f32. */
ALWAYS_INLINE void round_to_odd(const double *values, size_t n, uint32_t *bits) {
    size_t i = 0;
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
    for (; i + 8 <= n; i += 8) { /* gcc 12 makes five times as many instructions of the loop below */
        const __m512d value = _mm512_loadu_pd(values + i);
        const __m256 nearest = _mm512_cvtpd_ps(value);
        const __m512d back = _mm512_cvtps_pd(nearest);
        const __mmask8 inexact = _mm512_cmp_pd_mask(back, value, _CMP_NEQ_UQ);
        const __mmask8 away = _mm512_cmp_pd_mask(_mm512_abs_pd(back), _mm512_abs_pd(value), _CMP_GT_OQ);
        const __m256i one = _mm256_set1_epi32(1);
        __m256i odd = _mm256_castps_si256(nearest);
        odd = _mm256_mask_sub_epi32(odd, away, odd, one);
        odd = _mm256_mask_or_epi32(odd, inexact, odd, one);
        _mm256_storeu_si256((__m256i *)(void *)(bits + i), odd);
    }
#endif
    for (; i < n; i++) {
        const float nearest = (float)values[i];
        const double back = nearest;
        bits[i] =
            (tally_bits_of_float(nearest) - (__builtin_fabs(back) > __builtin_fabs(values[i]))) | (back != values[i]);
    }
}

ALWAYS_INLINE void bf16_of_bits(const uint32_t *bits, size_t n, e_bf16 *out) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t rounded = (bits[i] + 0x7fff + (bits[i] >> 16 & 1)) >> 16;
        const uint32_t quiet = (bits[i] >> 16 & 0x8000) | 0x7fc0;
        out[i] = (uint16_t)((bits[i] & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
    }
}

/* The processor keeps a NaN's payload, the loop for the rest does not; nobody should see a difference. */
ALWAYS_INLINE void f16_of_bits(const uint32_t *bits, size_t n, e_f16 *out) {
    size_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        __m256 value = _mm256_loadu_ps((const float *)(const void *)(bits + i));
        const __m256 sign = _mm256_and_ps(value, _mm256_set1_ps(-0.0f));
        const __m256 quiet = _mm256_or_ps(sign, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
        value = _mm256_blendv_ps(value, quiet, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
        _mm_storeu_si128((__m128i *)(void *)(out + i), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < n; i++)
        out[i] = tally_f16_of_f64(tally_float_of_bits(bits[i]));
}

#define DEFINE_TO_HALF(from, to, EXPRESSION)                                                                           \
    static void convert_##from##_##to(const void *source, size_t n, void *target) {                                    \
        const e_##from *restrict in = source;                                                                          \
        e_##to *restrict out = target;                                                                                 \
        for (size_t done = 0; done < n; done += CHUNK) {                                                               \
            const size_t count = n - done < CHUNK ? n - done : CHUNK;                                                  \
            double values[CHUNK];                                                                                      \
            uint32_t bits[CHUNK];                                                                                      \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const s_##from v = in[done + i];                                                                       \
                values[i] = EXPRESSION;                                                                                \
            }                                                                                                          \
            round_to_odd(values, count, bits);                                                                         \
            to##_of_bits(bits, count, out + done);                                                                     \
        }                                                                                                              \
    }
#define DEFINE_TO_FLOATS(from)                                                                                         \
    DEFINE_TO_HALF(from, f16, (double)v)                                                                               \
    DEFINE_TO_HALF(from, bf16, (double)v)                                                                              \
    DEFINE_CONVERT(from, f32, v)                                                                                       \
    DEFINE_CONVERT(from, f64, v)
#define DEFINE_TO_INTEGERS(from)                                                                                       \
    DEFINE_CONVERT(from, i8, v)                                                                                        \
    DEFINE_CONVERT(from, i16, v)                                                                                       \
    DEFINE_CONVERT(from, i32, v)                                                                                       \
    DEFINE_CONVERT(from, i64, v)                                                                                       \
    DEFINE_CONVERT(from, u8, v)                                                                                        \
    DEFINE_CONVERT(from, u16, v)                                                                                       \
    DEFINE_CONVERT(from, u32, v)                                                                                       \
    DEFINE_CONVERT(from, u64, v)
#define DEFINE_FROM_INTEGER(from)                                                                                      \
    DEFINE_TO_INTEGERS(from)                                                                                           \
    DEFINE_TO_FLOATS(from)
#define DEFINE_FROM_WIDE_INTEGER(from)                                                                                 \
    DEFINE_TO_INTEGERS(from)                                                                                           \
    DEFINE_TO_HALF(from, f16, exactly_enough_##from(v))                                                                \
    DEFINE_TO_HALF(from, bf16, exactly_enough_##from(v))                                                               \
    DEFINE_CONVERT(from, f32, v)                                                                                       \
    DEFINE_CONVERT(from, f64, v)

/* A 64-bit integer as a double that rounds to 16 bits as the integer itself would. If bits are cut off, the lowest
 * remaining bit is set to say so. */
ALWAYS_INLINE double exactly_enough_u64(uint64_t v) {
    return v >> 53 ? (double)((v & ~(uint64_t)0x7ff) | ((v & 0x7ff) ? 0x800 : 0)) : (double)v;
}
ALWAYS_INLINE double exactly_enough_i64(int64_t v) {
    return v < 0 ? -exactly_enough_u64(-(uint64_t)v) : exactly_enough_u64((uint64_t)v);
}

DEFINE_FROM_INTEGER(i8)
DEFINE_FROM_INTEGER(i16)
DEFINE_FROM_INTEGER(i32)
DEFINE_FROM_WIDE_INTEGER(i64)
DEFINE_FROM_INTEGER(u8)
DEFINE_FROM_INTEGER(u16)
DEFINE_FROM_INTEGER(u32)
DEFINE_FROM_WIDE_INTEGER(u64)
DEFINE_TO_FLOATS(f32)
DEFINE_TO_FLOATS(f64)
/* From 16 bits by the loads that convert. */
#define DEFINE_FROM_HALF(from, to)                                                                                     \
    static void convert_##from##_##to(const void *source, size_t n, void *target) {                                    \
        const e_##from *in = source;                                                                                   \
        e_##to *out = target;                                                                                          \
        size_t i = 0;                                                                                                  \
        for (; i + LANES_OF(s_##to) <= n; i += LANES_OF(s_##to)) {                                                     \
            const v_##to v = load_##to##_from_##from(in + i);                                                          \
            memcpy(out + i, &v, sizeof v);                                                                             \
        }                                                                                                              \
        for (; i < n; i++)                                                                                             \
            out[i] = scalar_##to##_from_##from(in[i]);                                                                 \
    }
DEFINE_FROM_HALF(f16, f32)
DEFINE_FROM_HALF(f16, f64)
DEFINE_FROM_HALF(bf16, f32)
DEFINE_FROM_HALF(bf16, f64)

#define FROM_INTEGER(from)                                                                                             \
    {                                                                                                                  \
        [TALLY_I8] = convert_##from##_i8, [TALLY_I16] = convert_##from##_i16, [TALLY_I32] = convert_##from##_i32,      \
        [TALLY_I64] = convert_##from##_i64, [TALLY_U8] = convert_##from##_u8, [TALLY_U16] = convert_##from##_u16,      \
        [TALLY_U32] = convert_##from##_u32, [TALLY_U64] = convert_##from##_u64, [TALLY_F16] = convert_##from##_f16,    \
        [TALLY_BF16] = convert_##from##_bf16, [TALLY_F32] = convert_##from##_f32, [TALLY_F64] = convert_##from##_f64   \
    }
#define FROM_FLOAT(from)                                                                                               \
    {                                                                                                                  \
        [TALLY_F16] = convert_##from##_f16, [TALLY_BF16] = convert_##from##_bf16, [TALLY_F32] = convert_##from##_f32,  \
        [TALLY_F64] = convert_##from##_f64                                                                             \
    }
#define FROM_HALF(from)                                                                                                \
    { [TALLY_F32] = convert_##from##_f32, [TALLY_F64] = convert_##from##_f64 }

extern tally_cpu_convert *const PASTE4(tally_cpu_converts, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT][TALLY_DTYPE_COUNT];
tally_cpu_convert *const PASTE4(tally_cpu_converts, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT][TALLY_DTYPE_COUNT] = {
    [TALLY_I8] = FROM_INTEGER(i8),   [TALLY_I16] = FROM_INTEGER(i16), [TALLY_I32] = FROM_INTEGER(i32),
    [TALLY_I64] = FROM_INTEGER(i64), [TALLY_U8] = FROM_INTEGER(u8),   [TALLY_U16] = FROM_INTEGER(u16),
    [TALLY_U32] = FROM_INTEGER(u32), [TALLY_U64] = FROM_INTEGER(u64), [TALLY_F32] = FROM_FLOAT(f32),
    [TALLY_F64] = FROM_FLOAT(f64),   [TALLY_F16] = FROM_HALF(f16),    [TALLY_BF16] = FROM_HALF(bf16),
};
