/* Lanes of two vectors sorted by position, and masks of the first lanes, for sums of short rows. */
#ifndef TALLY_CPU_LANES_H
#define TALLY_CPU_LANES_H

#include "cpu/kernels/simd.h"

#if defined(__clang__)
#define UNROLL_16 UNROLL_8
#else
#define UNROLL_16 _Pragma("GCC unroll 16")
#endif

/* Lanes first, first + 2, first + 4 ... of a and b side by side; first is 0 or 1. */
#if defined(__clang__)
#define DEFINE_EVERY_SECOND(tag, index_tag)                                                                            \
    ALWAYS_INLINE v_##tag every_second_##tag(v_##tag a, v_##tag b, size_t first) {                                     \
        v_##tag picked = a;                                                                                            \
        _Pragma("clang loop unroll(full)") for (size_t l = 0; l < LANES_OF(s_##tag); l++) picked[l] =                  \
            2 * l < LANES_OF(s_##tag) ? a[2 * l + first] : b[2 * l + first - LANES_OF(s_##tag)];                       \
        return picked;                                                                                                 \
    }
#else
#define DEFINE_EVERY_SECOND(tag, index_tag)                                                                            \
    ALWAYS_INLINE v_##tag every_second_##tag(v_##tag a, v_##tag b, size_t first) {                                     \
        v_##index_tag from;                                                                                            \
        for (size_t l = 0; l < LANES_OF(s_##tag); l++)                                                                 \
            from[l] = (s_##index_tag)(2 * l + first);                                                                  \
        return __builtin_shuffle(a, b, from);                                                                          \
    }
#endif
DEFINE_EVERY_SECOND(i32, i32)
DEFINE_EVERY_SECOND(u32, i32)
DEFINE_EVERY_SECOND(f32, i32)
DEFINE_EVERY_SECOND(i64, i64)
DEFINE_EVERY_SECOND(u64, i64)
DEFINE_EVERY_SECOND(f64, i64)

/* Their inverse: lanes of a and b in turns, from the lower halves or the upper ones. */
ALWAYS_INLINE v_f64 in_turns_f64(v_f64 a, v_f64 b, bool upper) {
    enum { LANES = LANES_OF(s_f64) };
    const size_t first = upper ? LANES / 2 : 0;
#if defined(__clang__)
    v_f64 taken = a;
    _Pragma("clang loop unroll(full)") for (size_t l = 0; l < LANES; l++) taken[l] =
        l % 2 ? b[first + l / 2] : a[first + l / 2];
    return taken;
#else
    v_i64 from;
    for (size_t l = 0; l < LANES; l++)
        from[l] = (s_i64)(first + l / 2 + l % 2 * LANES);
    return __builtin_shuffle(a, b, from);
#endif
}

/* Ones and then zeros, read from the middle on: one load gives the mask for any number of lanes, where a comparison
 * takes two of the uops that shuffles need (AVX-512). */
#define ONES_16 -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
static const s_i8 ones_then_zeros[2 * VECTOR_BYTES] = {ONES_16,
#if VECTOR_BYTES >= 32
                                                       ONES_16,
#endif
#if VECTOR_BYTES >= 64
                                                       ONES_16, ONES_16
#endif
};

/* All ones in the first n bytes, zero in the others. */
ALWAYS_INLINE v_u8 first_bytes(size_t n) {
    v_u8 mask;
    memcpy(&mask, ones_then_zeros + VECTOR_BYTES - n, sizeof mask);
    return mask;
}

#define DEFINE_FIRST_LANES(tag)                                                                                        \
    /* x in the first n lanes, zero in the others */                                                                   \
    ALWAYS_INLINE v_##tag first_lanes_##tag(v_##tag x, size_t n) {                                                     \
        return (v_##tag)((v_u8)x & first_bytes(n * sizeof(s_##tag)));                                                  \
    }
DEFINE_FIRST_LANES(i32)
DEFINE_FIRST_LANES(u32)
DEFINE_FIRST_LANES(f32)
DEFINE_FIRST_LANES(i64)
DEFINE_FIRST_LANES(u64)
DEFINE_FIRST_LANES(f64)

/* Keeps the loads on both sides of it in order. gcc sorts them by registers, and from the second-level cache a
 * processor reads out of order more slowly (Zen 5: sums of i64 and largest of u64 130 GB/s by gcc's order, 200 so). */
#define IN_ORDER(pointer) __asm__ volatile("" : "+r"(pointer))

/* n bytes, 1 to VECTOR_BYTES, as a vector of them and zeros in 'to'. No byte behind them is read. Without masked loads
 * they are two parts of one length, which overlap. */
#if defined(__AVX512BW__)
ALWAYS_INLINE void load_bytes(const void *from, size_t n, void *to) {
    const __m512i v = _mm512_maskz_loadu_epi8((__mmask64)_bzhi_u64(UINT64_MAX, (unsigned)n), from);
    memcpy(to, &v, sizeof v);
}
#else
static __attribute__((noinline, unused)) void load_bytes(const void *from, size_t n, void *to) {
    const char *const source = from;
    char *const target = to;
    memset(to, 0, VECTOR_BYTES);
#define COPY_PARTS(bytes) memcpy(target, source, bytes), memcpy(target + (n - bytes), source + (n - bytes), bytes)
    if (n >= 16)
        COPY_PARTS(16);
    else if (n >= 8)
        COPY_PARTS(8);
    else if (n >= 4)
        COPY_PARTS(4);
    else if (n >= 2)
        COPY_PARTS(2);
    else
        target[0] = source[0];
#undef COPY_PARTS
}
#endif

/* Every part of 'bytes' bytes in the place of its neighbour. 'bytes' is a power of two and a constant where this is
 * inlined. */
ALWAYS_INLINE v_u8 swapped_parts(v_u8 x, size_t bytes) {
    if (bytes == 1)
        return (v_u8)((v_u16)x >> 8 | (v_u16)x << 8);
    if (bytes == 2)
        return (v_u8)((v_u32)x >> 16 | (v_u32)x << 16);
#if defined(__AVX512F__)
    const __m512i v = (__m512i)x;
    return bytes == 4    ? (v_u8)_mm512_shuffle_epi32(v, 0xb1)
           : bytes == 8  ? (v_u8)_mm512_shuffle_epi32(v, 0x4e)
           : bytes == 16 ? (v_u8)_mm512_shuffle_i64x2(v, v, 0xb1)
                         : (v_u8)_mm512_shuffle_i64x2(v, v, 0x4e);
#elif defined(__AVX2__)
    const __m256i v = (__m256i)x;
    return bytes == 4 ? (v_u8)_mm256_shuffle_epi32(v, 0xb1)
           : bytes == 8 ? (v_u8)_mm256_shuffle_epi32(v, 0x4e)
                        : (v_u8)_mm256_permute2x128_si256(v, v, 1);
#elif defined(__SSE2__)
    const __m128i v = (__m128i)x;
    return bytes == 4 ? (v_u8)_mm_shuffle_epi32(v, 0xb1) : (v_u8)_mm_shuffle_epi32(v, 0x4e);
#else
    v_u8 moved;
    for (size_t l = 0; l < VECTOR_BYTES; l++)
        moved[l] = x[l ^ bytes];
    return moved;
#endif
}

/* The sum of all lanes. gcc 12 takes them out one by one if a loop adds them up. */
ALWAYS_INLINE s_u64 total_u64(v_u64 x) {
    UNROLL_8 for (size_t bytes = VECTOR_BYTES / 2; bytes >= sizeof(s_u64); bytes /= 2) x +=
        (v_u64)swapped_parts((v_u8)x, bytes);
    return x[0];
}
#endif
