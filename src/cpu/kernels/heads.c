/* Heads of runs: elements whose key differs from the one before. AVX-512 compares 64 keys at a time, whose bits are
 * marks or become indices; the branch-free loop of the other levels takes 0.2 ns a key more. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
enum { AT_ONCE = 16, A_WORD = 64 };
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
#define DEFINE_WORD(tag)                                                                                               \
    ALWAYS_INLINE uint64_t word_##tag(const e_##tag *key) {                                                            \
        uint64_t word = 0;                                                                                             \
        UNROLL_8 for (uint32_t j = 0; j < A_WORD; j += AT_ONCE) word |= (uint64_t)differ_##tag(key + j) << j;          \
        return word;                                                                                                   \
    }
DEFINE_WORD(u8)
DEFINE_WORD(u16)
DEFINE_WORD(u32)
DEFINE_WORD(u64)

/* Four at a time, of which some may mean nothing: how many there are is not foreseen. Many are compressed. */
ALWAYS_INLINE uint32_t put_heads(uint64_t word, uint32_t first, uint32_t *heads) {
    enum { PUT_AT_ONCE = 4, MANY = 12 };
    const uint32_t count = (uint32_t)__builtin_popcountll(word);
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (uint32_t j = 0; count > MANY && j < A_WORD; j += AT_ONCE) {
        const __mmask16 some = (__mmask16)(word >> j);
        const __m512i numbers = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)(first + j)));
        _mm512_storeu_si512(heads, _mm512_maskz_compress_epi32(some, numbers));
        heads += __builtin_popcount(some);
    }
    if (count > MANY)
        return count;
    for (uint32_t k = 0; k < count; k += PUT_AT_ONCE)
        UNROLL_8 for (uint32_t j = 0; j < PUT_AT_ONCE; j++) {
            heads[k + j] = first + (uint32_t)_tzcnt_u64(word);
            word &= word - 1;
        }
    return count;
}
#else
enum { A_WORD = 1 };
#define DEFINE_WORD(tag)                                                                                               \
    ALWAYS_INLINE uint64_t word_##tag(const e_##tag *key) {                                                            \
        return key[0] != key[-1];                                                                                      \
    }
DEFINE_WORD(u8)
DEFINE_WORD(u16)
DEFINE_WORD(u32)
DEFINE_WORD(u64)
ALWAYS_INLINE uint32_t put_heads(uint64_t differs, uint32_t first, uint32_t *heads) {
    *heads = first;
    return (uint32_t)differs;
}
#endif

/* __builtin_popcount is a call if the processor's instruction may not be used. */
ALWAYS_INLINE uint32_t ones_of(uint64_t word) {
    return A_WORD == 1 ? (uint32_t)word : (uint32_t)__builtin_popcountll(word);
}

/* Where heads are rare, blocks of four vectors are first asked whether they have any. (Keys in runs of 5000, one
 * thread, f32 by i16 keys: 0.15 and 0.09 ns an element. Where every other block has one, the branch would be taken at
 * random.) */
enum { BLOCK_BYTES = 4 * VECTOR_BYTES, BLOCKS_APART = 8, KEYS_APART = 256 };

/* No key of a block differs from the one before if none differs from the one before the block. */
#define DEFINE_HAS_HEAD(tag)                                                                                           \
    ALWAYS_INLINE bool has_head_##tag(const e_##tag *key, size_t bytes) {                                              \
        const v_##tag before = key[-1] - (v_##tag){0};                                                                 \
        v_u64 differ = {0};                                                                                            \
        UNROLL_8 for (size_t j = 0; j < bytes; j += VECTOR_BYTES) {                                                    \
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
        const uint32_t block = BLOCK_BYTES > A_WORD * sizeof *key ? BLOCK_BYTES / sizeof *key : A_WORD;                \
        uint32_t count = 0, i = 0;                                                                                     \
        while (i + A_WORD <= n) {                                                                                      \
            uint32_t end = i + A_WORD;                                                                                 \
            if (count * BLOCKS_APART * block < i + block && i + block <= n) {                                          \
                end = i + block;                                                                                       \
                if (!has_head_##tag(key + i, block * sizeof *key)) {                                                   \
                    i = end;                                                                                           \
                    continue;                                                                                          \
                }                                                                                                      \
            }                                                                                                          \
            for (; i < end; i += A_WORD)                                                                               \
                count += put_heads(word_##tag(key + i), number + i, heads + count);                                    \
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
        for (; i + A_WORD <= n; i += A_WORD)                                                                           \
            count += ones_of(word_##tag(key + i));                                                                     \
        for (; i < n; i++) {                                                                                           \
            NOT_IN_VECTORS(i); /* fewer than a word */                                                                 \
            count += key[i] != key[(int64_t)i - 1];                                                                    \
        }                                                                                                              \
        return count;                                                                                                  \
    }                                                                                                                  \
    /* to[i] = keys[heads[i]] */                                                                                       \
    static void pick_##tag(const void *keys, const uint32_t *heads, size_t count, void *to) {                          \
        const e_##tag *key = keys;                                                                                     \
        e_##tag *out = to;                                                                                             \
        for (size_t i = 0; i < count; i++)                                                                             \
            out[i] = key[heads[i]];                                                                                    \
    }
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define DEFINE_MARK(tag)                                                                                               \
    static uint32_t mark_##tag(const void *keys, uint32_t n, uint64_t *marks) {                                        \
        const e_##tag *key = keys;                                                                                     \
        uint32_t count = 0, i = 0;                                                                                     \
        for (; i + A_WORD <= n; i += A_WORD, marks++) {                                                                \
            const bool are_rare = count * KEYS_APART < i;                                                              \
            *marks = are_rare && !has_head_##tag(key + i, A_WORD * sizeof *key) ? 0 : word_##tag(key + i);             \
            count += ones_of(*marks);                                                                                  \
        }                                                                                                              \
        *marks = 0;                                                                                                    \
        for (uint32_t j = 0; i + j < n; j++) {                                                                         \
            NOT_IN_VECTORS(j);                                                                                         \
            *marks |= (uint64_t)(key[i + j] != key[(int64_t)i + j - 1]) << j;                                          \
        }                                                                                                              \
        return count + ones_of(*marks);                                                                                \
    }
DEFINE_MARK(u8)
DEFINE_MARK(u16)
DEFINE_MARK(u32)
DEFINE_MARK(u64)

static uint32_t list(const uint64_t *marks, size_t n, uint32_t *heads) {
    uint32_t count = 0;
    for (size_t i = 0; i < n; i += A_WORD, marks++)
        count += *marks ? put_heads(*marks, (uint32_t)i, heads + count) : 0;
    return count;
}

static uint64_t spread(const uint64_t *marks, size_t n, int8_t *heads) {
    uint64_t count = 0;
    for (size_t i = 0; i < n; i += A_WORD, marks++) {
        _mm512_storeu_si512(heads + i, _mm512_movm_epi8(*marks));
        count += ones_of(*marks);
    }
    return count;
}
#define MARK(tag) mark_##tag
#define LIST      list
#define SPREAD    spread
#else
#define MARK(tag) NULL
#define LIST      NULL
#define SPREAD    NULL
#endif

DEFINE_HEADS(u8)
DEFINE_HEADS(u16)
DEFINE_HEADS(u32)
DEFINE_HEADS(u64)

const tally_cpu_heads PASTE4(tally_cpu_heads, _, TALLY_LEVEL, )[4];
const tally_cpu_heads PASTE4(tally_cpu_heads, _,
                             TALLY_LEVEL, )[4] = {{find_u8, count_u8, MARK(u8), LIST, SPREAD, pick_u8},
                                                  {find_u16, count_u16, MARK(u16), LIST, SPREAD, pick_u16},
                                                  {find_u32, count_u32, MARK(u32), LIST, SPREAD, pick_u32},
                                                  {find_u64, count_u64, MARK(u64), LIST, SPREAD, pick_u64}};
