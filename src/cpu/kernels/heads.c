/* Heads of runs: elements whose key differs from the one before. AVX-512 compares sixteen keys at a time and compresses
 * the indices of those that differ, which takes 0.2 ns a key less than the branch-free loop of the other levels. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
enum { AT_ONCE = 16 };
ALWAYS_INLINE uint32_t differ_u8(const e_u8 *key) {
    return _mm_cmpneq_epi8_mask(_mm_loadu_si128((const void *)key), _mm_loadu_si128((const void *)(key - 1)));
}
ALWAYS_INLINE uint32_t differ_u16(const e_u16 *key) {
    return _mm256_cmpneq_epi16_mask(_mm256_loadu_si256((const void *)key), _mm256_loadu_si256((const void *)(key - 1)));
}
ALWAYS_INLINE uint32_t differ_u32(const e_u32 *key) {
    return _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(key), _mm512_loadu_si512(key - 1));
}
ALWAYS_INLINE uint32_t differ_u64(const e_u64 *key) {
    uint32_t low = _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(key), _mm512_loadu_si512(key - 1));
    uint32_t high = _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(key + 8), _mm512_loadu_si512(key + 7));
    return low | high << 8;
}
/* Writes sixteen indices; only the first ones, as many as 'differ' has bits, count. */
ALWAYS_INLINE void put_heads(uint32_t differ, uint32_t first, uint32_t *heads) {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i numbers = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)first));
    _mm512_storeu_si512(heads, _mm512_maskz_compress_epi32((__mmask16)differ, numbers));
}
#else
enum { AT_ONCE = 1 };
#define DEFINE_DIFFER(tag)                                                                                             \
    ALWAYS_INLINE uint32_t differ_##tag(const e_##tag *key) {                                                          \
        return key[0] != key[-1];                                                                                      \
    }
DEFINE_DIFFER(u8)
DEFINE_DIFFER(u16)
DEFINE_DIFFER(u32)
DEFINE_DIFFER(u64)
ALWAYS_INLINE void put_heads(uint32_t differ, uint32_t first, uint32_t *heads) {
    (void)differ;
    *heads = first;
}
#endif

/* __builtin_popcount is a call if the processor's instruction may not be used. */
ALWAYS_INLINE uint32_t ones_of(uint32_t differ) {
    return AT_ONCE == 1 ? differ : (uint32_t)__builtin_popcount(differ);
}

/* Where heads are rare, blocks of four vectors are first asked whether they have any. (Keys in runs of 5000, one
 * thread, f32 by i16 keys: 0.15 and 0.09 ns an element. Where every other block has one, the branch would be taken at
 * random.) */
enum { BLOCK_BYTES = 4 * VECTOR_BYTES, BLOCKS_APART = 8 };

/* No key of a block differs from the one before if none differs from the one before the block. */
#define DEFINE_HAS_HEAD(tag)                                                                                           \
    ALWAYS_INLINE bool has_head_##tag(const e_##tag *key) {                                                            \
        const v_##tag before = key[-1] - (v_##tag){0};                                                                 \
        v_u64 differ = {0};                                                                                            \
        UNROLL_8 for (size_t j = 0; j < BLOCK_BYTES; j += VECTOR_BYTES) {                                              \
            v_##tag own;                                                                                               \
            memcpy(&own, (const char *)key + j, sizeof own);                                                           \
            differ |= (v_u64)(own ^ before);                                                                           \
        }                                                                                                              \
        return any_bit(differ);                                                                                        \
    }
DEFINE_HAS_HEAD(u8)
DEFINE_HAS_HEAD(u16)
DEFINE_HAS_HEAD(u32)
DEFINE_HAS_HEAD(u64)

#define DEFINE_HEADS(tag)                                                                                              \
    static uint32_t find_##tag(const void *keys, uint32_t n, uint32_t number, uint32_t *heads) {                       \
        const e_##tag *key = keys;                                                                                     \
        const uint32_t block = BLOCK_BYTES / sizeof *key;                                                              \
        uint32_t count = 0, i = 0;                                                                                     \
        while (i + AT_ONCE <= n) {                                                                                     \
            uint32_t end = i + AT_ONCE;                                                                                \
            if (count * BLOCKS_APART * block < i + block && i + block <= n) {                                          \
                end = i + block;                                                                                       \
                if (!has_head_##tag(key + i)) {                                                                        \
                    i = end;                                                                                           \
                    continue;                                                                                          \
                }                                                                                                      \
            }                                                                                                          \
            for (; i < end; i += AT_ONCE) {                                                                            \
                const uint32_t differ = differ_##tag(key + i);                                                         \
                put_heads(differ, number + i, heads + count);                                                          \
                count += ones_of(differ);                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            heads[count] = number + i;                                                                                 \
            count += key[i] != key[(int64_t)i - 1];                                                                    \
        }                                                                                                              \
        return count;                                                                                                  \
    }                                                                                                                  \
    static uint32_t count_##tag(const void *keys, uint32_t n) {                                                        \
        const e_##tag *key = keys;                                                                                     \
        uint32_t count = 0, i = 0;                                                                                     \
        for (; i + AT_ONCE <= n; i += AT_ONCE)                                                                         \
            count += ones_of(differ_##tag(key + i));                                                                   \
        for (; i < n; i++)                                                                                             \
            count += key[i] != key[(int64_t)i - 1];                                                                    \
        return count;                                                                                                  \
    }                                                                                                                  \
    /* to[i] = keys[heads[i]] */                                                                                       \
    static void pick_##tag(const void *keys, const uint32_t *heads, size_t count, void *to) {                          \
        const e_##tag *key = keys;                                                                                     \
        e_##tag *out = to;                                                                                             \
        for (size_t i = 0; i < count; i++)                                                                             \
            out[i] = key[heads[i]];                                                                                    \
    }
DEFINE_HEADS(u8)
DEFINE_HEADS(u16)
DEFINE_HEADS(u32)
DEFINE_HEADS(u64)

const tally_cpu_heads PASTE4(tally_cpu_heads, _, TALLY_LEVEL, )[4];
const tally_cpu_heads PASTE4(tally_cpu_heads, _, TALLY_LEVEL, )[4] = {{find_u8, count_u8, pick_u8},
                                                                      {find_u16, count_u16, pick_u16},
                                                                      {find_u32, count_u32, pick_u32},
                                                                      {find_u64, count_u64, pick_u64}};
