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

/* Vectors from element i on that are closed up into 'to', as long as they are whole; 'keeps' has the bits of those that
 * stay. A compressed vector is stored whole, which takes less time than storing its elements alone. */
#ifdef __AVX512BW__
#define CLOSE_UP(lanes, keeps, compress)                                                                               \
    for (; i + (lanes) <= n; i += (lanes)) {                                                                           \
        const unsigned kept_lanes = keeps;                                                                             \
        compress;                                                                                                      \
        kept += (size_t)__builtin_popcount(kept_lanes);                                                                \
    }
#define COMPRESS_16                                                                                                    \
    _mm256_storeu_si256((void *)(to + kept), _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(                        \
                                                 (__mmask16)kept_lanes, _mm512_cvtepu16_epi32(LOAD_256(x + i)))))
#define COMPRESS_32                                                                                                    \
    _mm512_storeu_si512(to + kept, _mm512_maskz_compress_epi32((__mmask16)kept_lanes, _mm512_loadu_si512(x + i)))
#define COMPRESS_64                                                                                                    \
    _mm512_storeu_si512(to + kept, _mm512_maskz_compress_epi64((__mmask8)kept_lanes, _mm512_loadu_si512(x + i)))
#define LOAD_128(p) _mm_loadu_si128((const void *)(p))
#define LOAD_256(p) _mm256_loadu_si256((const void *)(p))
#define NUMBERS_OF_16(infinity)                                                                                        \
    _mm256_cmple_epi16_mask(_mm256_and_si256(LOAD_256(x + i), _mm256_set1_epi16(0x7fff)), _mm256_set1_epi16(infinity))
#define CLOSE_UP_NUMBERS_f16  CLOSE_UP(16, NUMBERS_OF_16(0x7c00), COMPRESS_16)
#define CLOSE_UP_NUMBERS_bf16 CLOSE_UP(16, NUMBERS_OF_16(0x7f80), COMPRESS_16)
#define CLOSE_UP_NUMBERS_f32                                                                                           \
    CLOSE_UP(16, _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_loadu_ps(x + i), _CMP_ORD_Q), COMPRESS_32)
#define CLOSE_UP_NUMBERS_f64                                                                                           \
    CLOSE_UP(8, _mm512_cmp_pd_mask(_mm512_loadu_pd(x + i), _mm512_loadu_pd(x + i), _CMP_ORD_Q), COMPRESS_64)
#define UNMARKED_16        _mm_testn_epi8_mask(LOAD_128(marks + i), _mm_set1_epi8(1))
#define CLOSE_UP_MARKED_16 CLOSE_UP(16, UNMARKED_16, COMPRESS_16)
#define CLOSE_UP_MARKED_32 CLOSE_UP(16, UNMARKED_16, COMPRESS_32)
#define CLOSE_UP_MARKED_64                                                                                             \
    CLOSE_UP(8, 0xff & _mm_testn_epi8_mask(_mm_loadl_epi64((const void *)(marks + i)), _mm_set1_epi8(1)), COMPRESS_64)
#else
#define CLOSE_UP_NUMBERS_f16  (void)0
#define CLOSE_UP_NUMBERS_bf16 (void)0
#define CLOSE_UP_NUMBERS_f32  (void)0
#define CLOSE_UP_NUMBERS_f64  (void)0
#define CLOSE_UP_MARKED_16    (void)0
#define CLOSE_UP_MARKED_32    (void)0
#define CLOSE_UP_MARKED_64    (void)0
#endif

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
    static size_t replace_counting_##tag(const void *elements, size_t n, const void *by, void *target) {               \
        const e_##tag *restrict x = elements;                                                                          \
        e_##tag *restrict to = target;                                                                                 \
        e_##tag value;                                                                                                 \
        size_t total = 0;                                                                                              \
        memcpy(&value, by, sizeof value);                                                                              \
        for (size_t done = 0, end; done < n; done = end) {                                                             \
            uint##bits##_t found = 0;                                                                                  \
            end = n - done < COUNTED ? n : done + COUNTED;                                                             \
            for (size_t i = done; i < end; i++) {                                                                      \
                const int is_nan = IS_NAN_##tag(x[i]);                                                                 \
                to[i] = is_nan ? value : x[i];                                                                         \
                found = (uint##bits##_t)(found + is_nan);                                                              \
            }                                                                                                          \
            total += found;                                                                                            \
        }                                                                                                              \
        return total;                                                                                                  \
    }                                                                                                                  \
    static void replace_columns_##tag(const void *elements, size_t n, const void *by, void *target,                    \
                                      uint32_t *restrict counts) {                                                     \
        const e_##tag *restrict x = elements, *restrict values = by;                                                   \
        e_##tag *restrict to = target;                                                                                 \
        for (size_t j = 0; j < n; j++) {                                                                               \
            const int is_nan = IS_NAN_##tag(x[j]);                                                                     \
            to[j] = is_nan ? values[j] : x[j];                                                                         \
            counts[j] += is_nan;                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static size_t keep_numbers_##tag(const void *elements, size_t n, void *target) {                                   \
        const e_##tag *x = elements;                                                                                   \
        e_##tag *to = target;                                                                                          \
        size_t kept = 0, i = 0;                                                                                        \
        CLOSE_UP_NUMBERS_##tag;                                                                                        \
        for (; i < n; i++) {                                                                                           \
            to[kept] = x[i];                                                                                           \
            kept += !IS_NAN_##tag(x[i]);                                                                               \
        }                                                                                                              \
        return kept;                                                                                                   \
    }
DEFINE_FOR_TYPE(f16, 16)
DEFINE_FOR_TYPE(bf16, 16)
DEFINE_FOR_TYPE(f32, 32)
DEFINE_FOR_TYPE(f64, 64)

/* Without branches, which would be mispredicted where NaNs are frequent. */
#define DEFINE_KEEP(bits)                                                                                              \
    static size_t keep_##bits(const void *elements, const uint8_t *marks, size_t n, void *target) {                    \
        const e_u##bits *x = elements;                                                                                 \
        e_u##bits *to = target;                                                                                        \
        size_t kept = 0, i = 0;                                                                                        \
        CLOSE_UP_MARKED_##bits;                                                                                        \
        for (; i < n; i++) {                                                                                           \
            to[kept] = x[i];                                                                                           \
            kept += !marks[i];                                                                                         \
        }                                                                                                              \
        return kept;                                                                                                   \
    }
DEFINE_KEEP(16)
DEFINE_KEEP(32)
DEFINE_KEEP(64)

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

extern const tally_cpu_nans PASTE4(tally_cpu_nans, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
#define ENTRY(tag, bits)                                                                                               \
    {                                                                                                                  \
        any_##tag, mark_##tag, replace_##tag, replace_counting_##tag, replace_columns_##tag, replace_marked_##bits,    \
            keep_numbers_##tag, keep_##bits                                                                            \
    }
const tally_cpu_nans PASTE4(tally_cpu_nans, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_F16] = ENTRY(f16, 16),
    [TALLY_BF16] = ENTRY(bf16, 16),
    [TALLY_F32] = ENTRY(f32, 32),
    [TALLY_F64] = ENTRY(f64, 64),
};
