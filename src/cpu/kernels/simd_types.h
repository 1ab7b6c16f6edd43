/* The vectors and scalars, and the operations that need only one type: minimum, maximum, absolute value. See simd.h. */
#ifndef TALLY_CPU_SIMD_TYPES_H
#define TALLY_CPU_SIMD_TYPES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

/* s_TAG is an element as a scalar, e_TAG the same in the caller's memory: at any address, of any declared type. Only
 * the names distinguish floats of 16 bits. */
#define STORED_SIGNED_1   int8_t
#define STORED_SIGNED_2   int16_t
#define STORED_SIGNED_4   int32_t
#define STORED_SIGNED_8   int64_t
#define STORED_UNSIGNED_1 uint8_t
#define STORED_UNSIGNED_2 uint16_t
#define STORED_UNSIGNED_4 uint32_t
#define STORED_UNSIGNED_8 uint64_t
#define STORED_FLOAT_2    uint16_t
#define STORED_FLOAT_4    float
#define STORED_FLOAT_8    double
#define TALLY_DTYPE(ENUMERATOR, tag, kind, bytes, ...)                                                                 \
    typedef STORED_##kind##_##bytes s_##tag;                                                                           \
    typedef s_##tag e_##tag __attribute__((aligned(1), may_alias));
#include "core/dtypes.def"

/* Vectors of the types that are computed with, which processors have. A type that is only stored, as f16, adds none. */
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

/* The signed integer that is as wide as a lane type: comparisons give vectors of it. */
#define MARK_OF_i8  i8
#define MARK_OF_i16 i16
#define MARK_OF_i32 i32
#define MARK_OF_i64 i64
#define MARK_OF_u8  i8
#define MARK_OF_u16 i16
#define MARK_OF_u32 i32
#define MARK_OF_u64 i64
#define MARK_OF_f32 i32
#define MARK_OF_f64 i64

/* Loads a vector that is used twice only once. Compilers that fold a load into each use read the line again while it is
 * still on its way from the second-level cache (max of f32: 127 GB/s, 161 with one load; sum of i32: 97 and 128). */
#if defined(__AVX512F__)
#define LOADED_ONCE(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define LOADED_ONCE(v) __asm__("" : "+x"(v))
#else
#define LOADED_ONCE(v) (void)0
#endif

/* Has an array read from memory, where a loop over it goes by vectors. From a register gcc 12 takes its lanes out one
 * by one (dot of f32, three rows: 1.5 times as long). */
#define IN_MEMORY(array) __asm__("" : "+m"(array))

/* Keeps a loop over few elements from being turned into vectors with a test and a rest of their own. */
#define NOT_IN_VECTORS(i) __asm__("" : "+r"(i))

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
/* 1 or 0 by the sign of x | -x instead of a comparison: gcc 12 takes a comparison's result for a mask, -1, when it
 * vectorises sums of 16-bit ones (at -O3 with AVX2 and AVX-512; tests/conformance has the case). */
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
/* NaN wins: the comparison with itself keeps a NaN, the failing comparison takes one. */
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
/* IEEE 754-2019's minimum and maximum: -0 is below +0. The two choices differ only if the values are zeros of both
 * signs or if one of them is NaN: then one choice is NaN. Together they have the sign bit that either has, in a
 * minimum, or that both have, in a maximum. */
#define STRICT_MIN(p, q)       ((p) | (q))
#define STRICT_MAX(p, q, sign) (((p) | (q)) ^ (((p) ^ (q)) & (sign)))
#define SIGN_f32               0x80000000u
#define SIGN_f64               0x8000000000000000u
#define DEFINE_SCALAR_STRICT(tag, bits_tag)                                                                            \
    ALWAYS_INLINE s_##tag scalar_strict_min_##tag(s_##tag a, s_##tag b) {                                              \
        const s_##tag first = a < b ? a : b, second = b < a ? b : a;                                                   \
        s_##bits_tag p, q;                                                                                             \
        memcpy(&p, &first, sizeof p);                                                                                  \
        memcpy(&q, &second, sizeof q);                                                                                 \
        p = STRICT_MIN(p, q);                                                                                          \
        memcpy(&a, &p, sizeof a);                                                                                      \
        return a;                                                                                                      \
    }                                                                                                                  \
    ALWAYS_INLINE s_##tag scalar_strict_max_##tag(s_##tag a, s_##tag b) {                                              \
        const s_##tag first = a > b ? a : b, second = b > a ? b : a;                                                   \
        s_##bits_tag p, q;                                                                                             \
        memcpy(&p, &first, sizeof p);                                                                                  \
        memcpy(&q, &second, sizeof q);                                                                                 \
        p = STRICT_MAX(p, q, SIGN_##tag);                                                                              \
        memcpy(&a, &p, sizeof a);                                                                                      \
        return a;                                                                                                      \
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
DEFINE_SCALAR_STRICT(f32, u32)
DEFINE_SCALAR_STRICT(f64, u64)

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

/* 1 where a lane is not 0. (A comparison's lanes of -1 gcc 12 makes by an instruction that waits for what its register
 * held, the row before: any of i32 in rows of 33 0.28 ns an element, 0.083 so.) */
#if defined(__AVX512BW__)
#define DEFINE_NONZERO(bits)                                                                                           \
    ALWAYS_INLINE v_i##bits nonzero_i##bits(v_i##bits x) {                                                             \
        return (v_i##bits)min_u##bits((v_u##bits)x, 1 - (v_u##bits){0});                                               \
    }
#else
#define DEFINE_NONZERO(bits)                                                                                           \
    ALWAYS_INLINE v_i##bits nonzero_i##bits(v_i##bits x) {                                                             \
        return -(v_i##bits)(x != 0);                                                                                   \
    }
#endif
DEFINE_NONZERO(8)
DEFINE_NONZERO(16)
DEFINE_NONZERO(32)
DEFINE_NONZERO(64)

/* For floats NaN must propagate. x86's minimum gives its second operand if either is NaN, so only a NaN in the first
 * must be put back. */
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

/* x if it comes before (after) the running value, else the running value; a NaN in x is passed over. This is one
 * instruction on x86, whose minimum gives its second operand if either is NaN. NaNs are found for two vectors at a
 * time: ordered_TAG updates the answer, all_ordered at first, and has_no_nan says whether no NaN has come yet. */
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
ALWAYS_INLINE bool has_no_nan(ordered_lanes lanes, unsigned count) {
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
ALWAYS_INLINE bool has_no_nan(ordered_lanes lanes, unsigned count) {
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
ALWAYS_INLINE bool has_no_nan(ordered_lanes lanes, unsigned count) {
    (void)count;
    bool ordered = true;
    for (size_t l = 0; l < LANES_OF(s_u32); l++)
        ordered = ordered && lanes[l];
    return ordered;
}
#endif
DEFINE_EXTREMES(f32, ps)
DEFINE_EXTREMES(f64, pd)

#define DEFINE_STRICT(tag, bits_tag)                                                                                   \
    ALWAYS_INLINE v_##tag strict_min_##tag(v_##tag a, v_##tag b) {                                                     \
        const v_##bits_tag p = (v_##bits_tag)smaller_##tag(a, b), q = (v_##bits_tag)smaller_##tag(b, a);               \
        return (v_##tag)STRICT_MIN(p, q);                                                                              \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag strict_max_##tag(v_##tag a, v_##tag b) {                                                     \
        const v_##bits_tag p = (v_##bits_tag)larger_##tag(a, b), q = (v_##bits_tag)larger_##tag(b, a);                 \
        return (v_##tag)STRICT_MAX(p, q, SIGN_##tag);                                                                  \
    }
DEFINE_STRICT(f32, u32)
DEFINE_STRICT(f64, u64)

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

/* The number of the first byte that is all ones, in a mask of lanes that has one. */
ALWAYS_INLINE size_t first_set_byte(v_u64 mask) {
#if defined(__AVX512BW__)
    return (size_t)__builtin_ctzll(_mm512_movepi8_mask((__m512i)mask));
#elif defined(__AVX2__)
    return (size_t)__builtin_ctz((unsigned)_mm256_movemask_epi8((__m256i)mask));
#elif defined(__SSE2__)
    return (size_t)__builtin_ctz((unsigned)_mm_movemask_epi8((__m128i)mask));
#else
    size_t place = 0;
    while (((v_u8)mask)[place] == 0)
        place++;
    return place;
#endif
}

/* ------------------------------------------------------------------------------------ absolute value ----- */

/* Of x, a vector. gcc 12 makes these instructions of no other expression, and a shift of bytes takes four. */
#if defined(__AVX512BW__)
#define ABS_BY_BITS(bits) (v_i##bits) _mm512_abs_epi##bits((__m512i)x)
#define ABS_64            ABS_BY_BITS(64)
#elif defined(__AVX2__)
#define ABS_BY_BITS(bits) (v_i##bits) _mm256_abs_epi##bits((__m256i)x)
#define ABS_64            ABS_BY_SIGN(64)
#else
#define ABS_BY_BITS ABS_BY_SIGN
#define ABS_64      ABS_BY_SIGN(64)
#endif
#define ABS_BY_SIGN(bits) (x ^ x >> (bits - 1)) - (x >> (bits - 1))
#define DEFINE_ABS_SIGNED(bits, absolute)                                                                              \
    ALWAYS_INLINE v_i##bits abs_i##bits(v_i##bits x) {                                                                 \
        return absolute;                                                                                               \
    }                                                                                                                  \
    ALWAYS_INLINE v_u##bits abs_u##bits(v_u##bits x) {                                                                 \
        return x;                                                                                                      \
    }                                                                                                                  \
    ALWAYS_INLINE v_u##bits magnitude_u##bits(v_u##bits x) {                                                           \
        return (v_u##bits)abs_i##bits((v_i##bits)x);                                                                   \
    }
DEFINE_ABS_SIGNED(8, ABS_BY_BITS(8))
DEFINE_ABS_SIGNED(16, ABS_BY_BITS(16))
DEFINE_ABS_SIGNED(32, ABS_BY_BITS(32))
DEFINE_ABS_SIGNED(64, ABS_64)
ALWAYS_INLINE v_f32 abs_f32(v_f32 x) {
    return (v_f32)((v_u32)x & 0x7fffffffu);
}
ALWAYS_INLINE v_f64 abs_f64(v_f64 x) {
    return (v_f64)((v_u64)x & 0x7fffffffffffffffull);
}

#endif
