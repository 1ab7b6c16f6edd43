/* Vectors as wide as the level's registers, through the compilers' vector extensions: s_TAG is a scalar and v_TAG a
 * vector of lane type TAG (i8 to f64). What the extensions lack (minimum, maximum, streaming stores, half floats) is
 * defined here, by intrinsics where the level has them. */
#ifndef TALLY_CPU_SIMD_H
#define TALLY_CPU_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cpu/kernels/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define LANES_OF(type) (VECTOR_BYTES / sizeof(type))
#define ALWAYS_INLINE  static inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define UNROLL_8 _Pragma("clang loop unroll(full)")
#else
#define UNROLL_8 _Pragma("GCC unroll 8")
#endif

typedef int8_t s_i8;
typedef int16_t s_i16;
typedef int32_t s_i32;
typedef int64_t s_i64;
typedef uint8_t s_u8;
typedef uint16_t s_u16;
typedef uint32_t s_u32;
typedef uint64_t s_u64;
typedef float s_f32;
typedef double s_f64;
/* Halves are told apart by their names only. */
typedef uint16_t s_f16;
typedef uint16_t s_bf16;

/* The same where they lie in the caller's memory: at any address, of any declared type. */
#define IN_MEMORY __attribute__((aligned(1), may_alias))
typedef s_i8 e_i8 IN_MEMORY;
typedef s_i16 e_i16 IN_MEMORY;
typedef s_i32 e_i32 IN_MEMORY;
typedef s_i64 e_i64 IN_MEMORY;
typedef s_u8 e_u8 IN_MEMORY;
typedef s_u16 e_u16 IN_MEMORY;
typedef s_u32 e_u32 IN_MEMORY;
typedef s_u64 e_u64 IN_MEMORY;
typedef s_f32 e_f32 IN_MEMORY;
typedef s_f64 e_f64 IN_MEMORY;
typedef s_f16 e_f16 IN_MEMORY;
typedef s_bf16 e_bf16 IN_MEMORY;

typedef s_i8 v_i8 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_i16 v_i16 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_i32 v_i32 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_i64 v_i64 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_u8 v_u8 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_u16 v_u16 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_u32 v_u32 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_u64 v_u64 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_f32 v_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef s_f64 v_f64 __attribute__((vector_size(VECTOR_BYTES)));

/* A vector that is used twice is loaded once: compilers that fold a load into each use read the line again while it is
 * still on its way from the second cache (max of f32 127 GB/s so, 161 with one load; sum of i32 97 and 128). */
#if defined(__AVX512F__)
#define LOADED_ONCE(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define LOADED_ONCE(v) __asm__("" : "+x"(v))
#else
#define LOADED_ONCE(v) (void)0
#endif

/* ------------------------------------------------------------------------------------ constants ---------- */

#define HIGHEST_i8  INT8_MAX
#define HIGHEST_i16 INT16_MAX
#define HIGHEST_i32 INT32_MAX
#define HIGHEST_i64 INT64_MAX
#define HIGHEST_u8  UINT8_MAX
#define HIGHEST_u16 UINT16_MAX
#define HIGHEST_u32 UINT32_MAX
#define HIGHEST_u64 UINT64_MAX
#define HIGHEST_f32 INFINITY
#define HIGHEST_f64 ((double)INFINITY)
#define LOWEST_i8   INT8_MIN
#define LOWEST_i16  INT16_MIN
#define LOWEST_i32  INT32_MIN
#define LOWEST_i64  INT64_MIN
#define LOWEST_u8   0
#define LOWEST_u16  0
#define LOWEST_u32  0
#define LOWEST_u64  0
#define LOWEST_f32  (-INFINITY)
#define LOWEST_f64  (-(double)INFINITY)

/* ------------------------------------------------------------------------------------ scalars ------------ */

#define DEFINE_SCALAR_INTEGER(tag)                                                                                     \
    ALWAYS_INLINE s_##tag scalar_min_##tag(s_##tag a, s_##tag b) {                                                     \
        return a < b ? a : b;                                                                                          \
    }                                                                                                                  \
    ALWAYS_INLINE s_##tag scalar_max_##tag(s_##tag a, s_##tag b) {                                                     \
        return a > b ? a : b;                                                                                          \
    }
/* 1 or 0 by the sign of x | -x and not by a comparison, whose result gcc 12 takes for a mask, -1, when it vectorises
 * sums of 16-bit ones (at -O3 with AVX2 and AVX-512; tests/conformance has it). */
#define DEFINE_SCALAR_SIGNED(tag, unsigned_tag)                                                                        \
    DEFINE_SCALAR_INTEGER(tag)                                                                                         \
    ALWAYS_INLINE s_##tag scalar_nonzero_##tag(s_##tag x) {                                                            \
        return (s_##tag)((s_##unsigned_tag)(x | -x) >> (8 * sizeof x - 1));                                            \
    }                                                                                                                  \
    ALWAYS_INLINE s_##tag scalar_abs_##tag(s_##tag x) {                                                                \
        return (s_##tag)(x < 0 ? -x : x);                                                                              \
    }
#define DEFINE_SCALAR_UNSIGNED(tag, signed_tag)                                                                        \
    DEFINE_SCALAR_INTEGER(tag)                                                                                         \
    ALWAYS_INLINE s_##tag scalar_abs_##tag(s_##tag x) {                                                                \
        return x;                                                                                                      \
    }                                                                                                                  \
    ALWAYS_INLINE s_##tag scalar_magnitude_##tag(s_##tag x) {                                                          \
        return (s_##tag)scalar_abs_##signed_tag((s_##signed_tag)x);                                                    \
    }
/* NaN wins over everything: the comparison with itself lets it stay, the failing comparison lets it in. */
#define DEFINE_SCALAR_FLOAT(tag, abs)                                                                                  \
    ALWAYS_INLINE s_##tag scalar_min_##tag(s_##tag a, s_##tag b) {                                                     \
        return ((a < b) | (a != a)) ? a : b;                                                                           \
    }                                                                                                                  \
    ALWAYS_INLINE s_##tag scalar_max_##tag(s_##tag a, s_##tag b) {                                                     \
        return ((a > b) | (a != a)) ? a : b;                                                                           \
    }                                                                                                                  \
    ALWAYS_INLINE s_##tag scalar_abs_##tag(s_##tag x) {                                                                \
        return abs(x);                                                                                                 \
    }
DEFINE_SCALAR_SIGNED(i8, u8)
DEFINE_SCALAR_SIGNED(i16, u16)
DEFINE_SCALAR_SIGNED(i32, u32)
DEFINE_SCALAR_SIGNED(i64, u64)
DEFINE_SCALAR_UNSIGNED(u8, i8)
DEFINE_SCALAR_UNSIGNED(u16, i16)
DEFINE_SCALAR_UNSIGNED(u32, i32)
DEFINE_SCALAR_UNSIGNED(u64, i64)
DEFINE_SCALAR_FLOAT(f32, __builtin_fabsf)
DEFINE_SCALAR_FLOAT(f64, __builtin_fabs)

/* ------------------------------------------------------------------------------------ minimum, maximum --- */

/* Lane by lane where the mask is all ones, else the other. */
#define SELECT_LANES(tag, mask, yes, no)                                                                               \
    ((v_##tag)((mask & (__typeof__(mask))(yes)) | (~mask & (__typeof__(mask))(no))))

#define DEFINE_MINMAX_BY_COMPARISON(tag)                                                                               \
    ALWAYS_INLINE v_##tag min_##tag(v_##tag a, v_##tag b) {                                                            \
        return SELECT_LANES(tag, (a < b), a, b);                                                                       \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag max_##tag(v_##tag a, v_##tag b) {                                                            \
        return SELECT_LANES(tag, (a > b), a, b);                                                                       \
    }
#define DEFINE_MINMAX_512(tag, suffix)                                                                                 \
    ALWAYS_INLINE v_##tag min_##tag(v_##tag a, v_##tag b) {                                                            \
        return (v_##tag)_mm512_min_##suffix((__m512i)a, (__m512i)b);                                                   \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag max_##tag(v_##tag a, v_##tag b) {                                                            \
        return (v_##tag)_mm512_max_##suffix((__m512i)a, (__m512i)b);                                                   \
    }
#define DEFINE_MINMAX_256(tag, suffix)                                                                                 \
    ALWAYS_INLINE v_##tag min_##tag(v_##tag a, v_##tag b) {                                                            \
        return (v_##tag)_mm256_min_##suffix((__m256i)a, (__m256i)b);                                                   \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag max_##tag(v_##tag a, v_##tag b) {                                                            \
        return (v_##tag)_mm256_max_##suffix((__m256i)a, (__m256i)b);                                                   \
    }
#if defined(__AVX512BW__)
DEFINE_MINMAX_512(i8, epi8)
DEFINE_MINMAX_512(i16, epi16)
DEFINE_MINMAX_512(i32, epi32)
DEFINE_MINMAX_512(i64, epi64)
DEFINE_MINMAX_512(u8, epu8)
DEFINE_MINMAX_512(u16, epu16)
DEFINE_MINMAX_512(u32, epu32)
DEFINE_MINMAX_512(u64, epu64)
#elif defined(__AVX2__)
DEFINE_MINMAX_256(i8, epi8)
DEFINE_MINMAX_256(i16, epi16)
DEFINE_MINMAX_256(i32, epi32)
DEFINE_MINMAX_BY_COMPARISON(i64)
DEFINE_MINMAX_256(u8, epu8)
DEFINE_MINMAX_256(u16, epu16)
DEFINE_MINMAX_256(u32, epu32)
DEFINE_MINMAX_BY_COMPARISON(u64)
#else
DEFINE_MINMAX_BY_COMPARISON(i8)
DEFINE_MINMAX_BY_COMPARISON(i16)
DEFINE_MINMAX_BY_COMPARISON(i32)
DEFINE_MINMAX_BY_COMPARISON(i64)
DEFINE_MINMAX_BY_COMPARISON(u8)
DEFINE_MINMAX_BY_COMPARISON(u16)
DEFINE_MINMAX_BY_COMPARISON(u32)
DEFINE_MINMAX_BY_COMPARISON(u64)
#endif

/* For floats NaN must propagate. x86's own minimum gives its second operand when either is NaN, so only a NaN in the
 * first has to be put back. */
#if defined(__AVX512F__)
#define DEFINE_MINMAX_FLOAT(tag, type, suffix)                                                                         \
    ALWAYS_INLINE v_##tag min_##tag(v_##tag a, v_##tag b) {                                                            \
        return _mm512_mask_mov_##suffix(_mm512_min_##suffix(a, b), _mm512_cmp_##suffix##_mask(a, a, _CMP_UNORD_Q), a); \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag max_##tag(v_##tag a, v_##tag b) {                                                            \
        return _mm512_mask_mov_##suffix(_mm512_max_##suffix(a, b), _mm512_cmp_##suffix##_mask(a, a, _CMP_UNORD_Q), a); \
    }
#elif defined(__AVX2__)
#define DEFINE_MINMAX_FLOAT(tag, type, suffix)                                                                         \
    ALWAYS_INLINE v_##tag min_##tag(v_##tag a, v_##tag b) {                                                            \
        return _mm256_blendv_##suffix(_mm256_min_##suffix(a, b), a, _mm256_cmp_##suffix(a, a, _CMP_UNORD_Q));          \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag max_##tag(v_##tag a, v_##tag b) {                                                            \
        return _mm256_blendv_##suffix(_mm256_max_##suffix(a, b), a, _mm256_cmp_##suffix(a, a, _CMP_UNORD_Q));          \
    }
#else
#define DEFINE_MINMAX_FLOAT(tag, type, suffix)                                                                         \
    ALWAYS_INLINE v_##tag min_##tag(v_##tag a, v_##tag b) {                                                            \
        return SELECT_LANES(tag, ((a < b) | (a != a)), a, b);                                                          \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag max_##tag(v_##tag a, v_##tag b) {                                                            \
        return SELECT_LANES(tag, ((a > b) | (a != a)), a, b);                                                          \
    }
#endif
DEFINE_MINMAX_FLOAT(f32, float, ps)
DEFINE_MINMAX_FLOAT(f64, double, pd)

/* x where it comes before (after) the running value, else the running value: NaN in x is passed over. One instruction
 * on x86, whose minimum gives its second operand when either is NaN. Whether there was a NaN is asked of two vectors at
 * a time: ordered_TAG takes the answer so far, all_ordered at first, and is_ordered tells whether none has come yet. */
#if defined(__AVX512F__)
typedef __mmask16 ordered_lanes;
#define all_ordered ((ordered_lanes)-1)
#define DEFINE_EXTREMES(tag, suffix)                                                                                   \
    ALWAYS_INLINE v_##tag smaller_##tag(v_##tag x, v_##tag running) {                                                  \
        return _mm512_min_##suffix(x, running);                                                                        \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag larger_##tag(v_##tag x, v_##tag running) {                                                   \
        return _mm512_max_##suffix(x, running);                                                                        \
    }                                                                                                                  \
    ALWAYS_INLINE ordered_lanes ordered_##tag(ordered_lanes so_far, v_##tag a, v_##tag b) {                            \
        return _mm512_mask_cmp_##suffix##_mask(so_far, a, b, _CMP_ORD_Q);                                              \
    }
ALWAYS_INLINE bool is_ordered(ordered_lanes lanes, unsigned count) {
    return (lanes & ((1u << count) - 1)) == (1u << count) - 1;
}
#elif defined(__AVX2__)
typedef v_u32 ordered_lanes;
#define all_ordered ((v_u32){0} - 1u)
#define DEFINE_EXTREMES(tag, suffix)                                                                                   \
    ALWAYS_INLINE v_##tag smaller_##tag(v_##tag x, v_##tag running) {                                                  \
        return _mm256_min_##suffix(x, running);                                                                        \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag larger_##tag(v_##tag x, v_##tag running) {                                                   \
        return _mm256_max_##suffix(x, running);                                                                        \
    }                                                                                                                  \
    ALWAYS_INLINE ordered_lanes ordered_##tag(ordered_lanes so_far, v_##tag a, v_##tag b) {                            \
        return so_far & (v_u32)_mm256_cmp_##suffix(a, b, _CMP_ORD_Q);                                                  \
    }
ALWAYS_INLINE bool is_ordered(ordered_lanes lanes, unsigned count) {
    (void)count;
    return _mm256_movemask_epi8((__m256i)lanes) == -1;
}
#else
typedef v_u32 ordered_lanes;
#define all_ordered ((v_u32){0} - 1u)
#define DEFINE_EXTREMES(tag, suffix)                                                                                   \
    ALWAYS_INLINE v_##tag smaller_##tag(v_##tag x, v_##tag running) {                                                  \
        return SELECT_LANES(tag, (x < running), x, running);                                                           \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag larger_##tag(v_##tag x, v_##tag running) {                                                   \
        return SELECT_LANES(tag, (x > running), x, running);                                                           \
    }                                                                                                                  \
    ALWAYS_INLINE ordered_lanes ordered_##tag(ordered_lanes so_far, v_##tag a, v_##tag b) {                            \
        return so_far & (v_u32)((a == a) & (b == b));                                                                  \
    }
ALWAYS_INLINE bool is_ordered(ordered_lanes lanes, unsigned count) {
    (void)count;
    bool ordered = true;
    for (size_t l = 0; l < LANES_OF(s_u32); l++)
        ordered = ordered && lanes[l];
    return ordered;
}
#endif
DEFINE_EXTREMES(f32, ps)
DEFINE_EXTREMES(f64, pd)

#define DEFINE_EXTREMES_OF_INTEGERS(tag)                                                                               \
    ALWAYS_INLINE v_##tag smaller_##tag(v_##tag x, v_##tag running) {                                                  \
        return min_##tag(x, running);                                                                                  \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag larger_##tag(v_##tag x, v_##tag running) {                                                   \
        return max_##tag(x, running);                                                                                  \
    }
DEFINE_EXTREMES_OF_INTEGERS(i8)
DEFINE_EXTREMES_OF_INTEGERS(i16)
DEFINE_EXTREMES_OF_INTEGERS(i32)
DEFINE_EXTREMES_OF_INTEGERS(i64)
DEFINE_EXTREMES_OF_INTEGERS(u8)
DEFINE_EXTREMES_OF_INTEGERS(u16)
DEFINE_EXTREMES_OF_INTEGERS(u32)
DEFINE_EXTREMES_OF_INTEGERS(u64)

/* Whether any bit is set. */
ALWAYS_INLINE bool any_bit(v_u64 x) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)x, (__m512i)x) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)x, (__m256i)x);
#else
    uint64_t bits = 0;
    for (size_t l = 0; l < LANES_OF(s_u64); l++)
        bits |= x[l];
    return bits != 0;
#endif
}

/* ------------------------------------------------------------------------------------ absolute value ----- */

#define DEFINE_ABS_SIGNED(tag, unsigned_tag)                                                                           \
    ALWAYS_INLINE v_##tag abs_##tag(v_##tag x) {                                                                       \
        v_##tag sign = x >> (8 * (int)sizeof(s_##tag) - 1);                                                            \
        return (x ^ sign) - sign;                                                                                      \
    }                                                                                                                  \
    ALWAYS_INLINE v_##unsigned_tag abs_##unsigned_tag(v_##unsigned_tag x) {                                            \
        return x;                                                                                                      \
    }                                                                                                                  \
    ALWAYS_INLINE v_##unsigned_tag magnitude_##unsigned_tag(v_##unsigned_tag x) {                                      \
        return (v_##unsigned_tag)abs_##tag((v_##tag)x);                                                                \
    }
DEFINE_ABS_SIGNED(i8, u8)
DEFINE_ABS_SIGNED(i16, u16)
DEFINE_ABS_SIGNED(i32, u32)
DEFINE_ABS_SIGNED(i64, u64)
ALWAYS_INLINE v_f32 abs_f32(v_f32 x) {
    return (v_f32)((v_u32)x & 0x7fffffffu);
}
ALWAYS_INLINE v_f64 abs_f64(v_f64 x) {
    return (v_f64)((v_u64)x & 0x7fffffffffffffffull);
}

/* ------------------------------------------------------------------------------------ loads -------------- */

/* load_LANE_from_ELEMENT(p) reads as many elements as a vector has lanes and converts them. scalar_LANE_from_ELEMENT
 * converts one. Where the level has an instruction for a widening load it is named, since gcc 12 makes three of one
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

/* To doubles: 32-bit elements by one instruction, narrower ones by way of 32 bits, 64-bit ones where AVX-512 has it. */
#if defined(__AVX512DQ__)
#define TO_DOUBLES(name, element, EXPRESSION_512, EXPRESSION_256)                                                      \
    ALWAYS_INLINE v_f64 load_f64_from_##element(const e_##element *p) {                                                \
        return EXPRESSION_512;                                                                                         \
    }                                                                                                                  \
    DEFINE_LOAD_SCALAR(f64, element)
#elif defined(__AVX2__)
#define TO_DOUBLES(name, element, EXPRESSION_512, EXPRESSION_256)                                                      \
    ALWAYS_INLINE v_f64 load_f64_from_##element(const e_##element *p) {                                                \
        return EXPRESSION_256;                                                                                         \
    }                                                                                                                  \
    DEFINE_LOAD_SCALAR(f64, element)
#else
#define TO_DOUBLES(name, element, EXPRESSION_512, EXPRESSION_256) DEFINE_LOAD(f64, element)
#endif
TO_DOUBLES(f64, i8, _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(BITS_64(p))),
           _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(BITS_32(p))))
TO_DOUBLES(f64, u8, _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(BITS_64(p))),
           _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(BITS_32(p))))
TO_DOUBLES(f64, i16, _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(BITS_128(p))),
           _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(BITS_64(p))))
TO_DOUBLES(f64, u16, _mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(BITS_128(p))),
           _mm256_cvtepi32_pd(_mm_cvtepu16_epi32(BITS_64(p))))
TO_DOUBLES(f64, i32, _mm512_cvtepi32_pd(BITS_256(p)), _mm256_cvtepi32_pd(BITS_128(p)))
TO_DOUBLES(f64, f32, _mm512_cvtps_pd(_mm256_loadu_ps((const float *)(const void *)(p))),
           _mm256_cvtps_pd(_mm_loadu_ps((const float *)(const void *)(p))))
#undef TO_DOUBLES
DEFINE_LOAD(f64, u32)
DEFINE_LOAD(f64, i64)
DEFINE_LOAD(f64, u64)
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
/* The bits of floats, for counting what is not zero. */
DEFINE_LOAD(i16, f16)
DEFINE_LOAD(i16, bf16)
ALWAYS_INLINE s_i32 scalar_i32_from_f32(s_f32 x) {
    return (s_i32)tally_bits_of_float(x);
}
ALWAYS_INLINE s_i64 scalar_i64_from_f64(s_f64 x) {
    return (s_i64)tally_bits_of_double(x);
}
ALWAYS_INLINE v_i32 load_i32_from_f32(const e_f32 *p) {
    return (v_i32)load_f32_from_f32(p);
}
ALWAYS_INLINE v_i64 load_i64_from_f64(const e_f64 *p) {
    return (v_i64)load_f64_from_f64(p);
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
    v_u32 magnitude = (half & 0x7fffu) << 13;
    v_u32 bits = (v_u32)((v_f32)magnitude * 0x1p112f);
    bits |= (v_u32)((v_i32)magnitude >= 0x0f800000) & 0x7f800000u;
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

/* ------------------------------------------------------------------------------------ products ---------- */

/* The product of lanes that hold numbers of at most 32 bits: one multiplication instead of three. */
#define DEFINE_PRODUCT(tag)                                                                                            \
    ALWAYS_INLINE v_##tag product_##tag(v_##tag x, v_##tag y) {                                                        \
        return x * y;                                                                                                  \
    }
#if defined(__AVX512F__)
ALWAYS_INLINE v_i64 product_i64(v_i64 x, v_i64 y) {
    return (v_i64)_mm512_mul_epi32((__m512i)x, (__m512i)y);
}
ALWAYS_INLINE v_u64 product_u64(v_u64 x, v_u64 y) {
    return (v_u64)_mm512_mul_epu32((__m512i)x, (__m512i)y);
}
#elif defined(__AVX2__)
ALWAYS_INLINE v_i64 product_i64(v_i64 x, v_i64 y) {
    return (v_i64)_mm256_mul_epi32((__m256i)x, (__m256i)y);
}
ALWAYS_INLINE v_u64 product_u64(v_u64 x, v_u64 y) {
    return (v_u64)_mm256_mul_epu32((__m256i)x, (__m256i)y);
}
#else
DEFINE_PRODUCT(i64)
DEFINE_PRODUCT(u64)
#endif
DEFINE_PRODUCT(i32)
DEFINE_PRODUCT(u32)
DEFINE_PRODUCT(f32)
DEFINE_PRODUCT(f64)

/* Every odd 32-bit unit in the lower half of its 64 bits, where product_i64 and product_u64 read it. */
#if defined(__AVX512F__)
ALWAYS_INLINE v_u64 odd_halves(v_u64 x) {
    return (v_u64)_mm512_shuffle_epi32((__m512i)x, 0xf5);
}
#elif defined(__AVX2__)
ALWAYS_INLINE v_u64 odd_halves(v_u64 x) {
    return (v_u64)_mm256_shuffle_epi32((__m256i)x, 0xf5);
}
#endif

/* sum + x * y, rounded once where the level has an instruction for it. */
#if defined(__AVX512F__)
#define DEFINE_ADD_PRODUCT(tag, suffix)                                                                                \
    ALWAYS_INLINE v_##tag add_product_##tag(v_##tag sum, v_##tag x, v_##tag y) {                                       \
        return _mm512_fmadd_##suffix(x, y, sum);                                                                       \
    }
#elif defined(__FMA__)
#define DEFINE_ADD_PRODUCT(tag, suffix)                                                                                \
    ALWAYS_INLINE v_##tag add_product_##tag(v_##tag sum, v_##tag x, v_##tag y) {                                       \
        return _mm256_fmadd_##suffix(x, y, sum);                                                                       \
    }
#else
#define DEFINE_ADD_PRODUCT(tag, suffix)                                                                                \
    ALWAYS_INLINE v_##tag add_product_##tag(v_##tag sum, v_##tag x, v_##tag y) {                                       \
        return sum + x * y;                                                                                            \
    }
#endif
DEFINE_ADD_PRODUCT(f32, ps)
DEFINE_ADD_PRODUCT(f64, pd)

/* ------------------------------------------------------------------------------------ wide sums ---------- */

/* Sums of 32-bit lanes without widening them: all is the sum as far as 32 bits hold it, upper that of the upper 16 bits
 * alone, so all - upper * 2^16 is the sum of the lower ones, which 32 bits hold for 2^16 elements. Three instructions a
 * vector, where two loads that widen and two additions are four. */
#define DEFINE_SPLIT_SUM(tag, wide)                                                                                    \
    typedef struct split_sum_##tag {                                                                                   \
        v_u32 all;                                                                                                     \
        v_##tag upper;                                                                                                 \
    } split_sum_##tag;                                                                                                 \
    ALWAYS_INLINE void split_add_##tag(split_sum_##tag *sum, v_##tag x) {                                              \
        sum->all += (v_u32)x;                                                                                          \
        sum->upper += x >> 16;                                                                                         \
    }                                                                                                                  \
    ALWAYS_INLINE void split_join_##tag(split_sum_##tag *sum, const split_sum_##tag *other) {                          \
        sum->all += other->all;                                                                                        \
        sum->upper += other->upper;                                                                                    \
    }                                                                                                                  \
    ALWAYS_INLINE s_##wide split_total_##tag(const split_sum_##tag *sum) {                                             \
        const v_u32 lower = sum->all - ((v_u32)sum->upper << 16);                                                      \
        s_##wide total = 0;                                                                                            \
        for (size_t l = 0; l < LANES_OF(s_u32); l++)                                                                   \
            total += (s_##wide)sum->upper[l] * 65536 + (s_##wide)lower[l];                                             \
        return total;                                                                                                  \
    }
DEFINE_SPLIT_SUM(i32, i64)
DEFINE_SPLIT_SUM(u32, u64)

/* ------------------------------------------------------------------------------------ moving lanes ------- */

/* move_up(x, fill, units): every 32-bit unit takes the one 'units' below it, the lowest ones take fill's, which are all
 * the same. 'units' is a power of two and a constant where this is inlined. gcc 12 builds the index vector of a
 * __builtin_shuffle anew in every step of a loop, so the instructions are named. */
#if defined(__AVX512F__)
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    const __m512i v = (__m512i)x, f = (__m512i)fill;
    switch (units) {
    case 1:
        return (v_u32)_mm512_alignr_epi32(v, f, 15);
    case 2:
        return (v_u32)_mm512_alignr_epi32(v, f, 14);
    case 4:
        return (v_u32)_mm512_alignr_epi32(v, f, 12);
    default:
        return (v_u32)_mm512_alignr_epi32(v, f, 8);
    }
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    const __m512i from = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return (v_u32)_mm512_permutexvar_epi32(from, (__m512i)x);
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32)_mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), (__m512i)x);
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32)_mm512_permutexvar_epi32(_mm512_set1_epi32(15), (__m512i)x);
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32)_mm512_permutexvar_epi64(_mm512_set1_epi64(7), (__m512i)x);
}
#elif defined(__AVX2__)
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    const __m256i v = (__m256i)x, f = (__m256i)fill;
    switch (units) {
    case 1:
        return (v_u32)_mm256_blend_epi32(_mm256_permutevar8x32_epi32(v, _mm256_set_epi32(6, 5, 4, 3, 2, 1, 0, 0)), f,
                                         1);
    case 2:
        return (v_u32)_mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x90), f, 3);
    default:
        return (v_u32)_mm256_permute2x128_si256(v, f, 0x02);
    }
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    return (v_u32)_mm256_permutevar8x32_epi32((__m256i)x, _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32)_mm256_permute4x64_epi64((__m256i)x, 0x1b);
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32)_mm256_permutevar8x32_epi32((__m256i)x, _mm256_set1_epi32(7));
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32)_mm256_permute4x64_epi64((__m256i)x, 0xff);
}
#elif defined(__SSE2__)
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    const __m128i v = (__m128i)x, f = (__m128i)fill;
    if (units == 1)
        return (v_u32)_mm_or_si128(_mm_slli_si128(v, 4), _mm_srli_si128(f, 12));
    return (v_u32)_mm_unpacklo_epi64(f, v);
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    return (v_u32)_mm_shuffle_epi32((__m128i)x, 0x1b);
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32)_mm_shuffle_epi32((__m128i)x, 0x4e);
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32)_mm_shuffle_epi32((__m128i)x, 0xff);
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32)_mm_unpackhi_epi64((__m128i)x, (__m128i)x);
}
#else
ALWAYS_INLINE v_u32 move_up(v_u32 x, v_u32 fill, size_t units) {
    v_u32 moved = fill;
    for (size_t l = units; l < LANES_OF(s_u32); l++)
        moved[l] = x[l - units];
    return moved;
}
ALWAYS_INLINE v_u32 reversed_32(v_u32 x) {
    return (v_u32){x[3], x[2], x[1], x[0]};
}
ALWAYS_INLINE v_u32 reversed_64(v_u32 x) {
    return (v_u32){x[2], x[3], x[0], x[1]};
}
ALWAYS_INLINE v_u32 last_32(v_u32 x) {
    return (v_u32){x[3], x[3], x[3], x[3]};
}
ALWAYS_INLINE v_u32 last_64(v_u32 x) {
    return (v_u32){x[2], x[3], x[2], x[3]};
}
#endif

/* By lane type: lane l takes lane l - by; the lanes from last to first; the last lane everywhere. */
#define DEFINE_MOVES(tag, bits)                                                                                        \
    ALWAYS_INLINE v_##tag shift_up_##tag(v_##tag x, v_##tag fill, size_t by) {                                         \
        return (v_##tag)move_up((v_u32)x, (v_u32)fill, by * (bits / 32));                                              \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag reversed_##tag(v_##tag x) {                                                                  \
        return (v_##tag)reversed_##bits((v_u32)x);                                                                     \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag last_##tag(v_##tag x) {                                                                      \
        return (v_##tag)last_##bits((v_u32)x);                                                                         \
    }
DEFINE_MOVES(i32, 32)
DEFINE_MOVES(u32, 32)
DEFINE_MOVES(f32, 32)
DEFINE_MOVES(i64, 64)
DEFINE_MOVES(u64, 64)
DEFINE_MOVES(f64, 64)

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

/* Loops of few instructions read memory at 0.6 to 0.8 of its speed if the processor is left to find out by itself what
 * they will read (variance of 2^26 f32, sum of 2^27 i16), so they ask for it so many bytes ahead: 0.94 and 0.98. In
 * cache that costs a third, so it is for folds of so many bytes, which only much larger arrays are cut into. */
enum { FETCH_AHEAD = 2048, FAR_BYTES = 128 * 1024 };

/* Asks for bytes to be brought to the second cache; any address will do. */
ALWAYS_INLINE void fetch_bytes(const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(from + i, 0, 2);
}

/* Copies to any address. */
ALWAYS_INLINE void stream_bytes(void *to, const void *from, size_t bytes) {
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

/* Streaming stores are not ordered with the flag that tells another thread that they are done. */
ALWAYS_INLINE void end_stream(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
