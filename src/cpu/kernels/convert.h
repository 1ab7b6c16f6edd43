/* Conversions from the element type to the others, for results whose type is not the accumulator's; a part of type.h.
 * Integers go to every type, wrapping as C's conversions do; floats go to floats, rounded once; floats of 16 bits,
 * which nothing accumulates in, go to the wider ones. */
/* To 16 bits in chunks, so that each step is a loop in vectors: to f64, to f32 rounded to odd, to 16 bits. A double
 * rounding by way of a value that was rounded to odd is right (Boldo and Melquiond, 2008). */
enum { CONVERT_CHUNK = 64 };

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
/* ---- by vectors of 16, of which the last is masked ---- */

ALWAYS_INLINE __mmask16 mask_of(size_t left) {
    return (__mmask16)(left < 16 ? (1u << left) - 1 : 0xffff);
}

/* Rounded to odd among all f32, subnormal ones, too. */
static __attribute__((noinline)) __m256i odd_of_any(__m512d value) {
    const __m256 nearest = _mm512_cvtpd_ps(value);
    const __m512d back = _mm512_cvtps_pd(nearest);
    const __mmask8 inexact = _mm512_cmp_pd_mask(back, value, _CMP_NEQ_UQ);
    const __mmask8 away = _mm512_cmp_pd_mask(_mm512_abs_pd(back), _mm512_abs_pd(value), _CMP_GT_OQ);
    const __m256i one = _mm256_set1_epi32(1), bits = _mm256_castps_si256(nearest);
    const __m256i below = _mm256_mask_sub_epi32(bits, away, bits, one);
    return _mm256_mask_or_epi32(below, inexact, below, one);
}

/* Rounded to odd in the double's own bits, which are right where the f32 is normal. */
ALWAYS_INLINE __m256i odd_of_normal(__m512d value) {
    const __m512i bits = _mm512_castpd_si512(value), dropped = _mm512_set1_epi64((1 << 29) - 1);
    const __m512i sticky = _mm512_add_epi64(_mm512_and_si512(bits, dropped), dropped);
    const __m512i odd = _mm512_ternarylogic_epi64(bits, sticky, dropped, 0x54); /* (bits | sticky) & ~dropped */
    return _mm256_castps_si256(_mm512_cvtpd_ps(_mm512_castsi512_pd(odd)));
}

ALWAYS_INLINE __m512i join_halves(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* bits[] has room for whole vectors. */
ALWAYS_INLINE void round_to_odd(const e_f64 *values, size_t n, uint32_t *bits) {
    enum { SUBNORMAL = 0x20 };
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 mask = mask_of(n - i);
        const __m512d low = _mm512_maskz_loadu_pd((__mmask8)mask, values + i),
                      high = _mm512_maskz_loadu_pd((__mmask8)(mask >> 8), values + i + 8);
        __m512i odd = join_halves(odd_of_normal(low), odd_of_normal(high));
        if (_mm512_fpclass_ps_mask(_mm512_castsi512_ps(odd), SUBNORMAL))
            odd = join_halves(odd_of_any(low), odd_of_any(high));
        _mm512_storeu_si512(bits + i, odd);
    }
}

/* NaNs lose their payload. */
ALWAYS_INLINE __m512i quiet_nans(__m512i bits) {
    const __m512 value = _mm512_castsi512_ps(bits);
    const __m512i sign = _mm512_set1_epi32((int)0x80000000), quiet = _mm512_set1_epi32(0x7fc00000);
    return _mm512_mask_ternarylogic_epi32(bits, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), sign, quiet,
                                          0xea); /* bits & sign | quiet */
}

ALWAYS_INLINE void bf16_of_bits(const e_u32 *bits, size_t n, e_bf16 *out) {
    const __m512i one = _mm512_set1_epi32(1), half = _mm512_set1_epi32(0x7fff);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 mask = mask_of(n - i);
        const __m512i x = quiet_nans(_mm512_maskz_loadu_epi32(mask, bits + i));
        const __m512i even = _mm512_and_si512(_mm512_srli_epi32(x, 16), one);
        const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(x, half), even), 16);
        _mm256_mask_storeu_epi16(out + i, mask, _mm512_cvtepi32_epi16(rounded));
    }
}

ALWAYS_INLINE void f16_of_bits(const e_u32 *bits, size_t n, e_f16 *out) {
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 mask = mask_of(n - i);
        const __m512 x = _mm512_castsi512_ps(quiet_nans(_mm512_maskz_loadu_epi32(mask, bits + i)));
        _mm256_mask_storeu_epi16(out + i, mask, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
}
#else
/* Bits of f32: those of the next value toward zero, and the last one set, where the double has no f32. */
ALWAYS_INLINE void round_to_odd(const e_f64 *values, size_t n, uint32_t *bits) {
    for (size_t i = 0; i < n; i++) {
        const float nearest = (float)values[i];
        const double back = nearest;
        bits[i] =
            (tally_bits_of_float(nearest) - (__builtin_fabs(back) > __builtin_fabs(values[i]))) | (back != values[i]);
    }
}

ALWAYS_INLINE void bf16_of_bits(const e_u32 *bits, size_t n, e_bf16 *out) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t rounded = (bits[i] + 0x7fff + (bits[i] >> 16 & 1)) >> 16;
        const uint32_t quiet = (bits[i] >> 16 & 0x8000) | 0x7fc0;
        out[i] = (uint16_t)((bits[i] & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
    }
}

/* The processor keeps a NaN's payload, the loop for the rest does not; nobody should see a difference. */
ALWAYS_INLINE void f16_of_bits(const e_u32 *bits, size_t n, e_f16 *out) {
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
#endif

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
#if !(ELEMENT_IS_FLOAT && ELEMENT_BITS == 16)
/* Elements as bits of f32: a pointer to them, or to 'room'. What floats of 32 bits hold needs no rounding to odd. */
ALWAYS_INLINE const e_u32 *bits_to_narrow(const PASTE2(e_, ELEMENT) * in, size_t count, uint32_t *room) {
#if ELEMENT_IS_FLOAT && ELEMENT_BITS == 32
    (void)count, (void)room;
    return (const e_u32 *)in;
#elif ELEMENT_BITS <= 16
    for (size_t i = 0; i < count; i++)
        room[i] = tally_bits_of_float((float)in[i]);
    return room;
#elif ELEMENT_IS_FLOAT
    round_to_odd(in, count, room);
    return room;
#else
    double values[CONVERT_CHUNK];
    for (size_t i = 0; i < count; i++) {
        const PASTE2(s_, ELEMENT) v = in[i];
        values[i] = AS_DOUBLE(v);
    }
    round_to_odd(values, count, room);
    return room;
#endif
}
#endif

#define DEFINE_CONVERT_TO_NARROW(to)                                                                                   \
    static void convert_to_##to(const void *source, size_t n, void *target) {                                          \
        const PASTE2(e_, ELEMENT) *in = source;                                                                        \
        e_##to *out = target;                                                                                          \
        for (size_t done = 0; done < n; done += CONVERT_CHUNK) {                                                       \
            const size_t count = n - done < CONVERT_CHUNK ? n - done : CONVERT_CHUNK;                                  \
            uint32_t room[CONVERT_CHUNK];                                                                              \
            to##_of_bits(bits_to_narrow(in + done, count, room), count, out + done);                                   \
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
