/* Moving elements of 1 and 2 bytes within a vector, for scans in their own width. 'bytes' is an element's; it is a
 * constant where these functions are inlined, as are the other sizes. Lanes that nothing moves into become 0. For AVX2
 * and AVX-512, which shuffle bytes. */
#ifndef TALLY_CPU_NARROW_LANES_H
#define TALLY_CPU_NARROW_LANES_H

#include "cpu/kernels/lanes.h"
#include "cpu/kernels/simd.h"

/* Every element takes what lies 'by' bytes below it in its 64 bits. */
ALWAYS_INLINE v_u8 up_in_64(v_u8 x, size_t by) {
    return (v_u8)((v_u64)x << 8 * by);
}

/* last_below(x, half, bytes): in parts of 2 * half bytes, the last element of the lower half in all of the upper one.
 * last_element(x, bytes): the last one everywhere. up_one(x, fill, bytes): every element takes the one below it, the
 * lowest takes fill's last. reversed_elements(x, bytes): from last to first. */
#if defined(__AVX512BW__)
#define IN_EACH_PART(...) _mm512_broadcast_i32x4(_mm_setr_epi8(__VA_ARGS__))
#define SHUFFLE(x, from)  _mm512_shuffle_epi8(x, from)
#else
#define IN_EACH_PART(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))
#define SHUFFLE(x, from)  _mm256_shuffle_epi8(x, from)
#endif

typedef __typeof__(IN_EACH_PART(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) narrow_bits;

ALWAYS_INLINE narrow_bits last_of_16(v_u8 x, size_t bytes) {
    return SHUFFLE((narrow_bits)x, bytes == 1
                                       ? IN_EACH_PART(15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15)
                                       : IN_EACH_PART(14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15));
}
ALWAYS_INLINE v_u8 last_of_8_below(v_u8 x, size_t bytes) {
    return (v_u8)SHUFFLE((narrow_bits)x, bytes == 1
                                             ? IN_EACH_PART(-1, -1, -1, -1, -1, -1, -1, -1, 7, 7, 7, 7, 7, 7, 7, 7)
                                             : IN_EACH_PART(-1, -1, -1, -1, -1, -1, -1, -1, 6, 7, 6, 7, 6, 7, 6, 7));
}
ALWAYS_INLINE narrow_bits reversed_in_16(v_u8 x, size_t bytes) {
    return SHUFFLE((narrow_bits)x, bytes == 1 ? IN_EACH_PART(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
                                              : IN_EACH_PART(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
}

#if defined(__AVX512BW__)
ALWAYS_INLINE v_u8 last_below(v_u8 x, size_t half, size_t bytes) {
    if (half == 8)
        return last_of_8_below(x, bytes);
    const __m512i last = last_of_16(x, bytes);
    return (v_u8)(half == 16 ? _mm512_maskz_shuffle_i64x2(0xcc, last, last, 0xa0)
                             : _mm512_maskz_shuffle_i64x2(0xf0, last, last, 0x55));
}
ALWAYS_INLINE v_u8 last_element(v_u8 x, size_t bytes) {
    const __m512i last = last_of_16(x, bytes);
    return (v_u8)_mm512_shuffle_i64x2(last, last, 0xff);
}
ALWAYS_INLINE v_u8 up_one(v_u8 x, v_u8 fill, size_t bytes) {
    const __m512i v = (__m512i)x, below = _mm512_alignr_epi64(v, (__m512i)fill, 6);
    return (v_u8)(bytes == 1 ? _mm512_alignr_epi8(v, below, 15) : _mm512_alignr_epi8(v, below, 14));
}
ALWAYS_INLINE v_u8 reversed_elements(v_u8 x, size_t bytes) {
    const __m512i parts = reversed_in_16(x, bytes);
    return (v_u8)_mm512_shuffle_i64x2(parts, parts, 0x1b);
}
#else
ALWAYS_INLINE v_u8 last_below(v_u8 x, size_t half, size_t bytes) {
    if (half == 8)
        return last_of_8_below(x, bytes);
    const __m256i last = last_of_16(x, bytes);
    return (v_u8)_mm256_permute2x128_si256(last, last, 0x08);
}
ALWAYS_INLINE v_u8 last_element(v_u8 x, size_t bytes) {
    const __m256i last = last_of_16(x, bytes);
    return (v_u8)_mm256_permute2x128_si256(last, last, 0x11);
}
ALWAYS_INLINE v_u8 up_one(v_u8 x, v_u8 fill, size_t bytes) {
    const __m256i v = (__m256i)x, below = _mm256_permute2x128_si256((__m256i)fill, v, 0x21);
    return (v_u8)(bytes == 1 ? _mm256_alignr_epi8(v, below, 15) : _mm256_alignr_epi8(v, below, 14));
}
ALWAYS_INLINE v_u8 reversed_elements(v_u8 x, size_t bytes) {
    const __m256i parts = reversed_in_16(x, bytes);
    return (v_u8)_mm256_permute2x128_si256(parts, parts, 1);
}
#endif

/* to[0 .. n - 1] = the first n bytes of a vector, n up to VECTOR_BYTES. */
#if defined(__AVX512BW__)
ALWAYS_INLINE void store_bytes(void *to, v_u8 v, size_t n) {
    _mm512_mask_storeu_epi8(to, (__mmask64)_bzhi_u64(UINT64_MAX, (unsigned)n), (__m512i)v);
}
#else
ALWAYS_INLINE void store_bytes(void *to, v_u8 v, size_t n) {
    char *target = to;
    const char *const source = (const char *)&v;
    for (size_t part = VECTOR_BYTES / 2, at = 0; part > 0; part /= 2)
        if (n & part) {
            memcpy(target + at, source + at, part);
            at += part;
        }
    if (n & VECTOR_BYTES)
        memcpy(target, source, VECTOR_BYTES);
}
#endif

/* As many marks as a vector has elements, each of them an element of zeros or ones. */
ALWAYS_INLINE v_u8 load_marks(const int8_t *marks, size_t bytes) {
    v_u8 v;
    if (bytes == 1) {
        memcpy(&v, marks, sizeof v);
        return v;
    }
#if defined(__AVX512BW__)
    return (v_u8)_mm512_cvtepi8_epi16(BITS_256(marks));
#else
    return (v_u8)_mm256_cvtepi8_epi16(BITS_128(marks));
#endif
}

/* 16 bytes as the first ones of a vector. By way of memory a vector would wait for the stores of its parts. */
ALWAYS_INLINE v_u8 read_16(const void *from) {
#if defined(__AVX512BW__)
    return (v_u8)_mm512_zextsi128_si512(BITS_128(from));
#else
    return (v_u8)_mm256_zextsi128_si256(BITS_128(from));
#endif
}

/* A number as every element of a vector. */
ALWAYS_INLINE v_u8 splat_element(s_u16 value, size_t bytes) {
    return bytes == 1 ? (s_u8)value - (v_u8){0} : (v_u8)(value - (v_u16){0});
}
ALWAYS_INLINE s_u16 first_element(v_u8 x, size_t bytes) {
    return bytes == 1 ? x[0] : ((v_u16)x)[0];
}

#endif
