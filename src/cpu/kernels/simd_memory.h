/* Between vectors and memory: loads that convert, and stores past the caches. See simd.h. */
#ifndef TALLY_CPU_SIMD_MEMORY_H
#define TALLY_CPU_SIMD_MEMORY_H

#include "cpu/kernels/half.h"
#include "cpu/kernels/simd_types.h"

/* ------------------------------------------------------------------------------------ loads -------------- */

/* load_LANE_from_ELEMENT(p) reads as many elements as a vector has lanes and converts them; scalar_LANE_from_ELEMENT
 * converts one. Widening loads use the level's intrinsic if there is one, since gcc 12 makes three instructions of one
 * __builtin_convertvector. */
#define DEFINE_LOAD_VECTOR(lane, element)                                                                              \
    ALWAYS_INLINE v_##lane load_##lane##_from_##element(const e_##element *p) {                                        \
        typedef s_##element part __attribute__((vector_size(LANES_OF(s_##lane) * sizeof(s_##element))));               \
        part elements;                                                                                                 \
        memcpy(&elements, p, sizeof elements);                                                                         \
        return __builtin_convertvector(elements, v_##lane);                                                            \
    }
#define DEFINE_LOAD_SCALAR(lane, element)                                                                              \
    ALWAYS_INLINE s_##lane scalar_##lane##_from_##element(s_##element x) {                                             \
        return (s_##lane)x;                                                                                            \
    }
#define DEFINE_LOAD(lane, element)                                                                                     \
    DEFINE_LOAD_VECTOR(lane, element)                                                                                  \
    DEFINE_LOAD_SCALAR(lane, element)

#define BITS_64(p)  _mm_loadl_epi64((const __m128i *)(const void *)(p))
#define BITS_128(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define BITS_256(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
ALWAYS_INLINE int bits_32(const void *p) {
    int bits;
    memcpy(&bits, p, sizeof bits);
    return bits;
}
#define BITS_32(p) _mm_cvtsi32_si128(bits_32(p))

#if defined(__AVX512DQ__) && defined(__AVX512BW__)
#define DEFINE_WIDENING(lane, element, bits_512, bits_256_at, convert_512, convert_256)                                \
    ALWAYS_INLINE v_##lane load_##lane##_from_##element(const e_##element *p) {                                        \
        return (v_##lane)_mm512_##convert_512(bits_512(p));                                                            \
    }                                                                                                                  \
    DEFINE_LOAD_SCALAR(lane, element)
#elif defined(__AVX2__)
#define DEFINE_WIDENING(lane, element, bits_512, bits_256_at, convert_512, convert_256)                                \
    ALWAYS_INLINE v_##lane load_##lane##_from_##element(const e_##element *p) {                                        \
        return (v_##lane)_mm256_##convert_256(bits_256_at(p));                                                         \
    }                                                                                                                  \
    DEFINE_LOAD_SCALAR(lane, element)
#else
#define DEFINE_WIDENING(lane, element, bits_512, bits_256_at, convert_512, convert_256) DEFINE_LOAD(lane, element)
#endif
#define DEFINE_WIDENING_INTEGER(lane, element, bits_512, bits_256_at, convert)                                         \
    DEFINE_WIDENING(lane, element, bits_512, bits_256_at, convert, convert)
DEFINE_WIDENING_INTEGER(i64, i8, BITS_64, BITS_32, cvtepi8_epi64)
DEFINE_WIDENING_INTEGER(i64, i16, BITS_128, BITS_64, cvtepi16_epi64)
DEFINE_WIDENING_INTEGER(i64, i32, BITS_256, BITS_128, cvtepi32_epi64)
DEFINE_WIDENING_INTEGER(u64, u8, BITS_64, BITS_32, cvtepu8_epi64)
DEFINE_WIDENING_INTEGER(u64, u16, BITS_128, BITS_64, cvtepu16_epi64)
DEFINE_WIDENING_INTEGER(u64, u32, BITS_256, BITS_128, cvtepu32_epi64)
DEFINE_WIDENING_INTEGER(i32, i8, BITS_128, BITS_64, cvtepi8_epi32)
DEFINE_WIDENING_INTEGER(i32, i16, BITS_256, BITS_128, cvtepi16_epi32)
DEFINE_WIDENING_INTEGER(u32, u8, BITS_128, BITS_64, cvtepu8_epi32)
DEFINE_WIDENING_INTEGER(u32, u16, BITS_256, BITS_128, cvtepu16_epi32)
#undef DEFINE_WIDENING_INTEGER

/* To doubles: 32-bit elements by one instruction, narrower ones through 32 bits, 64-bit ones if the level is AVX-512.
 * SSE2 has intrinsics, too, for compiled for size, gcc converts one number at a time into a register that it has not
 * cleared. Each conversion waits for the one before then, and moments took up to 4 times as long. */
#if defined(__AVX512DQ__)
#define TO_DOUBLES(element, EXPRESSION_512, EXPRESSION_256, EXPRESSION_128)                                            \
    ALWAYS_INLINE v_f64 load_f64_from_##element(const e_##element *p) {                                                \
        return EXPRESSION_512;                                                                                         \
    }
#elif defined(__AVX2__)
#define TO_DOUBLES(element, EXPRESSION_512, EXPRESSION_256, EXPRESSION_128)                                            \
    ALWAYS_INLINE v_f64 load_f64_from_##element(const e_##element *p) {                                                \
        return EXPRESSION_256;                                                                                         \
    }
#elif defined(__SSE2__) && defined(__x86_64__)
#define TO_DOUBLES(element, EXPRESSION_512, EXPRESSION_256, EXPRESSION_128)                                            \
    ALWAYS_INLINE v_f64 load_f64_from_##element(const e_##element *p) {                                                \
        return EXPRESSION_128;                                                                                         \
    }
#else
#define TO_DOUBLES(element, EXPRESSION_512, EXPRESSION_256, EXPRESSION_128) DEFINE_LOAD_VECTOR(f64, element)
#endif
TO_DOUBLES(i8, _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(BITS_64(p))), _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(BITS_32(p))),
           _mm_cvtepi32_pd(_mm_setr_epi32(p[0], p[1], 0, 0)))
TO_DOUBLES(u8, _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(BITS_64(p))), _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(BITS_32(p))),
           _mm_cvtepi32_pd(_mm_setr_epi32(p[0], p[1], 0, 0)))
TO_DOUBLES(i16, _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(BITS_128(p))),
           _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(BITS_64(p))),
           _mm_cvtepi32_pd(_mm_srai_epi32(_mm_unpacklo_epi16(BITS_32(p), BITS_32(p)), 16)))
TO_DOUBLES(u16, _mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(BITS_128(p))),
           _mm256_cvtepi32_pd(_mm_cvtepu16_epi32(BITS_64(p))),
           _mm_cvtepi32_pd(_mm_unpacklo_epi16(BITS_32(p), _mm_setzero_si128())))
TO_DOUBLES(i32, _mm512_cvtepi32_pd(BITS_256(p)), _mm256_cvtepi32_pd(BITS_128(p)), _mm_cvtepi32_pd(BITS_64(p)))
TO_DOUBLES(u32, _mm512_cvtepu32_pd(BITS_256(p)),
           (v_f64)((v_u64)_mm256_cvtepu32_epi64(BITS_128(p)) | 0x4330000000000000) - 0x1p52,
           (v_f64)((v_u64)_mm_unpacklo_epi32(BITS_64(p), _mm_setzero_si128()) | 0x4330000000000000) - 0x1p52)
TO_DOUBLES(f32, _mm512_cvtps_pd(_mm256_loadu_ps((const float *)(const void *)(p))),
           _mm256_cvtps_pd(_mm_loadu_ps((const float *)(const void *)(p))), _mm_cvtps_pd(_mm_castsi128_ps(BITS_64(p))))
#undef TO_DOUBLES

/* Halves of 32 bits below 2^52 and 2^84, exact each; their sum is rounded once. */
#if defined(__SSE2__) && defined(__x86_64__) && !defined(__AVX2__)
ALWAYS_INLINE v_f64 load_f64_from_u64(const e_u64 *p) {
    const v_u64 x = (v_u64)BITS_128(p), low = (x & 0xffffffff) | 0x4330000000000000;
    const v_u64 high = x >> 32 | 0x4530000000000000;
    return ((v_f64)high - (0x1p84 + 0x1p52)) + (v_f64)low;
}
ALWAYS_INLINE v_f64 load_f64_from_i64(const e_i64 *p) {
    const v_u64 x = (v_u64)BITS_128(p), low = (x & 0xffffffff) | 0x4330000000000000;
    const v_u64 high = x >> 32 ^ 0x4530000080000000;
    return ((v_f64)high - (0x1p84 + 0x1p63 + 0x1p52)) + (v_f64)low;
}
#define DEFINE_SCALAR_F64(element, EXPRESSION)                                                                         \
    ALWAYS_INLINE s_f64 scalar_f64_from_##element(s_##element x) {                                                     \
        return _mm_cvtsd_f64(EXPRESSION);                                                                              \
    }
DEFINE_SCALAR_F64(i8, _mm_cvtsi32_sd(_mm_setzero_pd(), x))
DEFINE_SCALAR_F64(u8, _mm_cvtsi32_sd(_mm_setzero_pd(), x))
DEFINE_SCALAR_F64(i16, _mm_cvtsi32_sd(_mm_setzero_pd(), x))
DEFINE_SCALAR_F64(u16, _mm_cvtsi32_sd(_mm_setzero_pd(), x))
DEFINE_SCALAR_F64(i32, _mm_cvtsi32_sd(_mm_setzero_pd(), x))
DEFINE_SCALAR_F64(u32, _mm_cvtsi64_sd(_mm_setzero_pd(), x))
DEFINE_SCALAR_F64(i64, _mm_cvtsi64_sd(_mm_setzero_pd(), x))
DEFINE_SCALAR_F64(f32, _mm_cvtss_sd(_mm_setzero_pd(), _mm_set_ss(x)))
DEFINE_LOAD_SCALAR(f64, u64)
#undef DEFINE_SCALAR_F64
#else
DEFINE_LOAD_VECTOR(f64, i64)
DEFINE_LOAD_VECTOR(f64, u64)
DEFINE_LOAD_SCALAR(f64, i8)
DEFINE_LOAD_SCALAR(f64, u8)
DEFINE_LOAD_SCALAR(f64, i16)
DEFINE_LOAD_SCALAR(f64, u16)
DEFINE_LOAD_SCALAR(f64, i32)
DEFINE_LOAD_SCALAR(f64, u32)
DEFINE_LOAD_SCALAR(f64, i64)
DEFINE_LOAD_SCALAR(f64, u64)
DEFINE_LOAD_SCALAR(f64, f32)
#endif
DEFINE_LOAD(f64, f64)

DEFINE_LOAD(i64, i64)
DEFINE_LOAD(i64, u64)
DEFINE_LOAD(u64, i64)
DEFINE_LOAD(u64, u64)
DEFINE_LOAD(i8, i8)
DEFINE_LOAD(u8, u8)
DEFINE_LOAD(u8, i8)
DEFINE_LOAD(i8, u8)
DEFINE_LOAD(i16, i16)
DEFINE_LOAD(u16, u16)
DEFINE_LOAD(u16, i16)
DEFINE_LOAD(i16, u16)
DEFINE_LOAD(i32, i32)
DEFINE_LOAD(u32, i32)
DEFINE_LOAD(i32, u32)
DEFINE_LOAD(u32, u32)
DEFINE_LOAD(f32, f32)
/* The bits of floats, for counting nonzero elements: DEFINE_LOAD_OF_BITS(LANE, ELEMENT) defines the two loads for a
 * lane of the element's width. */
#define DEFINE_LOAD_OF_BITS(lane, element) DEFINE_LOAD_OF_BITS_(lane, element)
#define DEFINE_LOAD_OF_BITS_(lane, element)                                                                            \
    ALWAYS_INLINE v_##lane load_##lane##_from_##element(const e_##element *p) {                                        \
        v_##lane bits;                                                                                                 \
        memcpy(&bits, p, sizeof bits);                                                                                 \
        return bits;                                                                                                   \
    }                                                                                                                  \
    ALWAYS_INLINE s_##lane scalar_##lane##_from_##element(s_##element x) {                                             \
        s_##lane bits;                                                                                                 \
        memcpy(&bits, &x, sizeof bits);                                                                                \
        return bits;                                                                                                   \
    }

ALWAYS_INLINE s_f32 scalar_f32_from_f16(s_f16 x) {
    return tally_f32_of_f16(x);
}
ALWAYS_INLINE s_f32 scalar_f32_from_bf16(s_bf16 x) {
    return tally_f32_of_bf16(x);
}
ALWAYS_INLINE s_f64 scalar_f64_from_f16(s_f16 x) {
    return (s_f64)tally_f32_of_f16(x);
}
ALWAYS_INLINE s_f64 scalar_f64_from_bf16(s_bf16 x) {
    return (s_f64)tally_f32_of_bf16(x);
}

ALWAYS_INLINE v_f32 load_f32_from_bf16(const e_bf16 *p) {
    return (v_f32)(load_u32_from_u16(p) << 16);
}

ALWAYS_INLINE v_f32 load_f32_from_f16(const e_f16 *p) {
#if defined(__AVX512F__)
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    v_u32 half = load_u32_from_u16(p);
    const v_u32 magnitude = (half & 0x7fffu) << 13, biased = magnitude + TALLY_F16_BIAS;
    const v_u32 subnormal = (v_u32)((v_f32)(biased + TALLY_F16_NORMAL) - 0x1p-14f);
    const v_u32 is_subnormal = (v_u32)((v_i32)magnitude < TALLY_F16_NORMAL);
    const v_u32 is_infinite = (v_u32)((v_i32)magnitude >= TALLY_F16_INFINITE);
    const v_u32 bits = (is_subnormal & subnormal) | (~is_subnormal & (biased + (is_infinite & TALLY_F16_BIAS)));
    return (v_f32)(bits | (half & 0x8000u) << 16);
#endif
}

/* A vector of doubles takes half as many elements as one of floats. */
#if defined(__AVX512F__)
ALWAYS_INLINE v_f64 load_f64_from_f16(const e_f16 *p) {
    return _mm512_cvtps_pd(_mm256_cvtph_ps(BITS_128(p)));
}
ALWAYS_INLINE v_f64 load_f64_from_bf16(const e_bf16 *p) {
    return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(BITS_128(p)), 16)));
}
#elif defined(__AVX2__) && defined(__F16C__)
ALWAYS_INLINE v_f64 load_f64_from_f16(const e_f16 *p) {
    return _mm256_cvtps_pd(_mm_cvtph_ps(BITS_64(p)));
}
ALWAYS_INLINE v_f64 load_f64_from_bf16(const e_bf16 *p) {
    return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(BITS_64(p)), 16)));
}
#else
#define DEFINE_LOAD_F64_FROM_HALF(element)                                                                             \
    ALWAYS_INLINE v_f64 load_f64_from_##element(const e_##element *p) {                                                \
        v_f64 lanes = {0};                                                                                             \
        for (size_t l = 0; l < LANES_OF(s_f64); l++)                                                                   \
            lanes[l] = scalar_f64_from_##element(p[l]);                                                                \
        return lanes;                                                                                                  \
    }
DEFINE_LOAD_F64_FROM_HALF(f16)
DEFINE_LOAD_F64_FROM_HALF(bf16)
#endif

/* ------------------------------------------------------------------------------------ streaming stores --- */

/* Stores past the caches: the line is not read first, which saves a third of a scan's traffic when the output will not
 * be read again soon. */
#if defined(__AVX512F__)
ALWAYS_INLINE void stream_vector(void *p, v_u8 v) {
    _mm512_stream_si512(p, (__m512i)v);
}
#elif defined(__AVX2__)
ALWAYS_INLINE void stream_vector(void *p, v_u8 v) {
    _mm256_stream_si256(p, (__m256i)v);
}
#elif defined(__SSE2__)
ALWAYS_INLINE void stream_vector(void *p, v_u8 v) {
    _mm_stream_si128(p, (__m128i)v);
}
#else
ALWAYS_INLINE void stream_vector(void *p, v_u8 v) {
    memcpy(p, &v, sizeof v);
}
#endif

/* Loops of few instructions read memory at 0.6 to 0.8 of its speed if they rely on the processor's prefetcher (variance
 * of 2^26 f32, sum of 2^27 i16). Prefetching this many bytes ahead gives 0.94 and 0.98. In cache it costs a third, so
 * it is only for folds of this many bytes, which only much larger arrays are cut into. */
enum { FETCH_AHEAD = 2048, FAR_BYTES = 128 * 1024 };

/* Prefetches bytes to the second-level cache; any address is allowed. */
ALWAYS_INLINE void fetch_bytes(const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(from + i, 0, 2);
}

/* The same to the first-level cache, for what comes next. */
ALWAYS_INLINE void fetch_near(const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(from + i, 0, 3);
}

/* Copies to any address. */
static __attribute__((noinline, unused)) void stream_bytes(void *to, const void *from, size_t bytes) {
    char *target = to;
    const char *source = from;
    size_t head = (size_t)(-(uintptr_t)target) % VECTOR_BYTES;
    if (head > bytes)
        head = bytes;
    memcpy(target, source, head);
    for (; head + VECTOR_BYTES <= bytes; head += VECTOR_BYTES) {
        v_u8 v;
        memcpy(&v, source + head, sizeof v);
        stream_vector(target + head, v);
    }
    memcpy(target + head, source + head, bytes - head);
}

/* Streaming stores are not ordered before the flag that tells another thread that they are done. */
ALWAYS_INLINE void end_stream(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
