/* NaNs among elements: whether there are any, which ones, and copies without them. What leaves NaNs out (skipping.c) is
 * made of these, so no other kernel knows of them. */
#include <string.h>
#ifdef __AVX512BW__
#include <immintrin.h>
#endif

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

/* Floats of 16 bits are compared as integers. */
#define IS_NAN_f32(v)  ((v) != (v))
#define IS_NAN_f64(v)  ((v) != (v))
#define IS_NAN_f16(v)  (((v)&0x7fff) > 0x7c00)
#define IS_NAN_bf16(v) (((v)&0x7fff) > 0x7f80)

enum {
    PIECE = 256,      /* elements that are looked at before the answer is */
    COUNTED = 1 << 15 /* that a count of 16 bits holds */
};

#define DEFINE_FOR_TYPE(tag, bits)                                                                                     \
    static bool any_##tag(const void *elements, size_t n) {                                                            \
        const e_##tag *x = elements;                                                                                   \
        size_t done = 0;                                                                                               \
        for (; done + PIECE <= n; done += PIECE) {                                                                     \
            unsigned found = 0;                                                                                        \
            for (size_t i = 0; i < PIECE; i++)                                                                         \
                found |= (unsigned)IS_NAN_##tag(x[done + i]);                                                          \
            if (found)                                                                                                 \
                return true;                                                                                           \
        }                                                                                                              \
        unsigned found = 0;                                                                                            \
        for (; done < n; done++)                                                                                       \
            found |= (unsigned)IS_NAN_##tag(x[done]);                                                                  \
        return found;                                                                                                  \
    }                                                                                                                  \
    static void mark_##tag(const void *elements, size_t n, uint8_t *restrict marks) {                                  \
        const e_##tag *restrict x = elements;                                                                          \
        for (size_t i = 0; i < n; i++)                                                                                 \
            marks[i] |= (uint8_t)IS_NAN_##tag(x[i]);                                                                   \
    }                                                                                                                  \
    static void replace_##tag(const void *elements, size_t n, const void *by, void *target) {                          \
        const e_##tag *restrict x = elements;                                                                          \
        e_##tag *restrict to = target;                                                                                 \
        e_##tag value;                                                                                                 \
        memcpy(&value, by, sizeof value);                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = IS_NAN_##tag(x[i]) ? value : x[i];                                                                 \
    }                                                                                                                  \
    static size_t count_##tag(const void *elements, size_t n) {                                                        \
        const e_##tag *x = elements;                                                                                   \
        size_t total = 0;                                                                                              \
        for (size_t done = 0, end; done < n; done = end) {                                                             \
            uint##bits##_t found = 0;                                                                                  \
            end = n - done < COUNTED ? n : done + COUNTED;                                                             \
            for (size_t i = done; i < end; i++)                                                                        \
                found = (uint##bits##_t)(found + IS_NAN_##tag(x[i]));                                                  \
            total += found;                                                                                            \
        }                                                                                                              \
        return total;                                                                                                  \
    }
DEFINE_FOR_TYPE(f16, 16)
DEFINE_FOR_TYPE(bf16, 16)
DEFINE_FOR_TYPE(f32, 32)
DEFINE_FOR_TYPE(f64, 64)

/* Moves the elements without a mark to the front of 'to' and returns how many they are. There may be up to n writes.
 * Without branches, which would be mispredicted where NaNs are frequent. */
#define DEFINE_KEEP(bits)                                                                                              \
    static size_t keep_##bits(const void *elements, const uint8_t *marks, size_t n, void *target) {                    \
        const char *x = elements;                                                                                      \
        char *to = target;                                                                                             \
        size_t kept = 0, i = 0;                                                                                        \
        KEEP_VECTORS_##bits;                                                                                           \
        for (; i < n; i++) {                                                                                           \
            memcpy(to + kept * (bits / 8), x + i * (bits / 8), bits / 8);                                              \
            kept += !marks[i];                                                                                         \
        }                                                                                                              \
        return kept;                                                                                                   \
    }
#define KEEP_VECTORS_16 (void)0
#ifdef __AVX512BW__
/* The compressed vector is stored whole, which takes less time than storing its elements alone. */
#define KEEP_VECTORS_32                                                                                                \
    for (; i + 16 <= n; i += 16) {                                                                                     \
        const __m128i marked = _mm_loadu_si128((const void *)(marks + i));                                             \
        const __mmask16 keeps = _mm_testn_epi8_mask(marked, marked);                                                   \
        const __m512i values = _mm512_loadu_si512(x + 4 * i);                                                          \
        _mm512_storeu_si512(to + 4 * kept, _mm512_maskz_compress_epi32(keeps, values));                                \
        kept += (size_t)__builtin_popcount(keeps);                                                                     \
    }
#define KEEP_VECTORS_64                                                                                                \
    for (; i + 8 <= n; i += 8) {                                                                                       \
        const __m128i marked = _mm_loadl_epi64((const void *)(marks + i));                                             \
        const __mmask8 keeps = (__mmask8)_mm_testn_epi8_mask(marked, marked);                                          \
        const __m512i values = _mm512_loadu_si512(x + 8 * i);                                                          \
        _mm512_storeu_si512(to + 8 * kept, _mm512_maskz_compress_epi64(keeps, values));                                \
        kept += (size_t)__builtin_popcount(keeps);                                                                     \
    }
#else
#define KEEP_VECTORS_32 (void)0
#define KEEP_VECTORS_64 (void)0
#endif
#define DEFINE_REPLACE_MARKED(bits)                                                                                    \
    static void replace_marked_##bits(const void *elements, const uint8_t *restrict marks, size_t n, const void *by,   \
                                      void *target) {                                                                  \
        const e_u##bits *restrict x = elements;                                                                        \
        e_u##bits *restrict to = target;                                                                               \
        uint##bits##_t value;                                                                                          \
        memcpy(&value, by, sizeof value);                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = marks[i] ? value : x[i];                                                                           \
    }
DEFINE_REPLACE_MARKED(16)
DEFINE_REPLACE_MARKED(32)
DEFINE_REPLACE_MARKED(64)
DEFINE_KEEP(16)
DEFINE_KEEP(32)
DEFINE_KEEP(64)

extern const tally_cpu_nans PASTE4(tally_cpu_nans, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
#define ENTRY(tag, bits)                                                                                               \
    { any_##tag, count_##tag, mark_##tag, replace_##tag, replace_marked_##bits, keep_##bits }
const tally_cpu_nans PASTE4(tally_cpu_nans, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_F16] = ENTRY(f16, 16),
    [TALLY_BF16] = ENTRY(bf16, 16),
    [TALLY_F32] = ENTRY(f32, 32),
    [TALLY_F64] = ENTRY(f64, 64),
};
