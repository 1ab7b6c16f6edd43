/* Conversions from the element type to the others, for results whose type is not the accumulator's; a part of type.h.
 * Integers go to every type, wrapping as C's conversions do; floats go to floats, rounded once; floats of 16 bits,
 * which nothing accumulates in, go to the wider ones. */
/* To 16 bits in chunks, so that each step is a loop in vectors: to f64, to f32 rounded to odd, to 16 bits. A double
 * rounding by way of a value that was rounded to odd is right (Boldo and Melquiond, 2008). */
enum { CONVERT_CHUNK = 64 };

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

/* An element as a double that rounds to 16 bits as the element itself would. If bits of an integer are cut off, the
 * lowest remaining bit is set to say so. */
ALWAYS_INLINE double exactly_enough(uint64_t v) {
    return v >> 53 ? (double)((v & ~(uint64_t)0x7ff) | ((v & 0x7ff) ? 0x800 : 0)) : (double)v;
}
#if ELEMENT_IS_FLOAT || ELEMENT_BITS < 64
#define AS_DOUBLE(v) (double)(v)
#elif ELEMENT_IS_SIGNED
#define AS_DOUBLE(v) ((v) < 0 ? -exactly_enough(-(uint64_t)(v)) : exactly_enough((uint64_t)(v)))
#else
#define AS_DOUBLE(v) exactly_enough(v)
#endif

#define DEFINE_CONVERT(to)                                                                                             \
    static void convert_to_##to(const void *source, size_t n, void *target) {                                          \
        const PASTE2(e_, ELEMENT) *restrict in = source;                                                               \
        e_##to *restrict out = target;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const PASTE2(s_, ELEMENT) v = in[i];                                                                       \
            out[i] = (s_##to)v;                                                                                        \
        }                                                                                                              \
    }
/* What floats of 32 bits hold needs no rounding to odd. */
#if ELEMENT_BITS <= (ELEMENT_IS_FLOAT ? 32 : 16)
#define BITS_TO_NARROW(in, count, bits)                                                                                \
    for (size_t i = 0; i < (count); i++)                                                                               \
    bits[i] = tally_bits_of_float((float)(in)[i])
#else
#define BITS_TO_NARROW(in, count, bits)                                                                                \
    do {                                                                                                               \
        double values[CONVERT_CHUNK];                                                                                  \
        for (size_t i = 0; i < (count); i++) {                                                                         \
            const PASTE2(s_, ELEMENT) v = (in)[i];                                                                     \
            values[i] = AS_DOUBLE(v);                                                                                  \
        }                                                                                                              \
        round_to_odd(values, count, bits);                                                                             \
    } while (0)
#endif

#define DEFINE_CONVERT_TO_NARROW(to)                                                                                   \
    static void convert_to_##to(const void *source, size_t n, void *target) {                                          \
        const PASTE2(e_, ELEMENT) *restrict in = source;                                                               \
        e_##to *restrict out = target;                                                                                 \
        for (size_t done = 0; done < n; done += CONVERT_CHUNK) {                                                       \
            const size_t count = n - done < CONVERT_CHUNK ? n - done : CONVERT_CHUNK;                                  \
            uint32_t bits[CONVERT_CHUNK];                                                                              \
            BITS_TO_NARROW(in + done, count, bits);                                                                    \
            to##_of_bits(bits, count, out + done);                                                                     \
        }                                                                                                              \
    }
/* By the loads that convert. */
#define DEFINE_CONVERT_FROM_NARROW(to)                                                                                 \
    static void convert_to_##to(const void *source, size_t n, void *target) {                                          \
        const PASTE2(e_, ELEMENT) *in = source;                                                                        \
        e_##to *out = target;                                                                                          \
        size_t i = 0;                                                                                                  \
        for (; i + LANES_OF(s_##to) <= n; i += LANES_OF(s_##to)) {                                                     \
            const v_##to v = PASTE4(load_, to, _from_, ELEMENT)(in + i);                                               \
            memcpy(out + i, &v, sizeof v);                                                                             \
        }                                                                                                              \
        for (; i < n; i++)                                                                                             \
            out[i] = PASTE4(scalar_, to, _from_, ELEMENT)(in[i]);                                                      \
    }

/* Which of dtypes.def there is a conversion to. */
#if !ELEMENT_IS_FLOAT
#define TO_INTEGERS KEEP
#define TO_NARROW   KEEP
#define TO_WIDE     DEFINE_CONVERT
#elif ELEMENT_BITS >= 32
#define TO_INTEGERS DROP
#define TO_NARROW   KEEP
#define TO_WIDE     DEFINE_CONVERT
#else
#define TO_INTEGERS DROP
#define TO_NARROW   DROP
#define TO_WIDE     DEFINE_CONVERT_FROM_NARROW
#endif
#define TO_FLOAT_2(...) TO_NARROW(__VA_ARGS__)
#define TO_FLOAT_4(...) KEEP(__VA_ARGS__)
#define TO_FLOAT_8(...) KEEP(__VA_ARGS__)

#define DEFINE_SIGNED(bytes, tag)   TO_INTEGERS(DEFINE_CONVERT(tag))
#define DEFINE_UNSIGNED(bytes, tag) TO_INTEGERS(DEFINE_CONVERT(tag))
#define DEFINE_FLOAT(bytes, tag)    TO_FLOAT_##bytes(DEFINE_FLOAT_##bytes(tag))
#define DEFINE_FLOAT_2(tag)         DEFINE_CONVERT_TO_NARROW(tag)
#define DEFINE_FLOAT_4(tag)         TO_WIDE(tag)
#if !ELEMENT_IS_FLOAT && !ELEMENT_IS_SIGNED &&                                                                         \
    ELEMENT_BITS == 32 /* where gcc 12 makes three times as many operations */
#define DEFINE_FLOAT_8(tag) DEFINE_CONVERT_FROM_NARROW(tag)
#else
#define DEFINE_FLOAT_8(tag) TO_WIDE(tag)
#endif
#define TALLY_DTYPE(ENUMERATOR, tag, kind, bytes, ...) DEFINE_##kind(bytes, tag)
#include "core/dtypes.def"

#define ENTRY_OF_SIGNED(bytes, ...)   TO_INTEGERS(__VA_ARGS__)
#define ENTRY_OF_UNSIGNED(bytes, ...) TO_INTEGERS(__VA_ARGS__)
#define ENTRY_OF_FLOAT(bytes, ...)    TO_FLOAT_##bytes(__VA_ARGS__)
static tally_cpu_convert *const converters[TALLY_DTYPE_COUNT] = {
#define TALLY_DTYPE(ENUMERATOR, tag, kind, bytes, ...) ENTRY_OF_##kind(bytes, [TALLY_##ENUMERATOR] = convert_to_##tag, )
#include "core/dtypes.def"
};
