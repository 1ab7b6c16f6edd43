/* Counts of elements that are not zero, by groups: the elements of a block become bits, and a group's are cut out of
 * them. So a group takes the same few instructions whatever its length up to some 50 elements. For AVX-512. */
#include "cpu/kernels/lanes.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__)
tally_cpu_count_groups PASTE4(tally_cpu_count_groups, _, TALLY_LEVEL, );

enum { BITS_BLOCK = 4096, WORD = 64 };

/* Whole words, which are loaded soon: a load waits for stores of which it needs several. */
#define DEFINE_FIND_BITS(bits)                                                                                         \
    static void find_bits_##bits(const e_u##bits *x, size_t n, uint64_t mask, uint64_t *to) {                          \
        enum { LANES = LANES_OF(s_u##bits) };                                                                          \
        const __m512i which = _mm512_set1_epi##bits((s_i##bits)mask);                                                  \
        size_t i = 0;                                                                                                  \
        for (; i + WORD <= n; i += WORD) {                                                                             \
            uint64_t found = 0;                                                                                        \
            UNROLL_8 for (size_t k = 0; k < WORD; k += LANES) found |=                                                 \
                (uint64_t)_mm512_test_epi##bits##_mask(_mm512_loadu_si512(x + i + k), which) << k;                     \
            *to++ = found;                                                                                             \
        }                                                                                                              \
        *to = 0;                                                                                                       \
        for (size_t k = 0; i + k < n; k += LANES) {                                                                    \
            const size_t some = n - i - k < LANES ? n - i - k : LANES;                                                 \
            v_u64 v;                                                                                                   \
            load_bytes(x + i + k, some * sizeof *x, &v);                                                               \
            *to |= (uint64_t)_mm512_test_epi##bits##_mask((__m512i)v, which) << k;                                     \
        }                                                                                                              \
        to[1] = 0;                                                                                                     \
    }
DEFINE_FIND_BITS(8)
DEFINE_FIND_BITS(16)
DEFINE_FIND_BITS(32)
DEFINE_FIND_BITS(64)

static __attribute__((noinline)) void find_bits(const char *x, size_t n, size_t bytes, uint64_t mask, uint64_t *to) {
    if (bytes == 1)
        find_bits_8((const e_u8 *)x, n, mask, to);
    else if (bytes == 2)
        find_bits_16((const e_u16 *)x, n, mask, to);
    else if (bytes == 4)
        find_bits_32((const e_u32 *)x, n, mask, to);
    else
        find_bits_64((const e_u64 *)x, n, mask, to);
}

/* How many of the n bits from number 'first' on are ones. */
enum { CERTAIN = WORD - 7 }; /* bits of a word that begins with any byte */
ALWAYS_INLINE int64_t ones_of_word(const uint64_t *bits, uint64_t first, uint64_t n) {
    uint64_t word;
    memcpy(&word, (const char *)bits + first / 8, sizeof word);
    return __builtin_popcountll(_bzhi_u64(word >> first % 8, (unsigned)n));
}
static __attribute__((noinline)) int64_t ones_of_words(const uint64_t *bits, uint64_t first, uint64_t n) {
    int64_t ones = 0;
    for (; n > CERTAIN; n -= CERTAIN, first += CERTAIN)
        ones += ones_of_word(bits, first, CERTAIN);
    return ones + ones_of_word(bits, first, n);
}

/* Groups whose bits begin with number offsets[0] - first. A function of its own, in which all pointers stay in
 * registers: gcc kept some in vectors, and a group took 8 cycles more. */
static __attribute__((noinline)) void count_within(const uint64_t *bits, const uint64_t *offsets, uint64_t first,
                                                   size_t count, int64_t *counts) {
    uint64_t begin = offsets[0] - first;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = offsets[i + 1] - first, n = end - begin;
        counts[i] = n > CERTAIN ? ones_of_words(bits, begin, n) : ones_of_word(bits, begin, n);
        begin = end;
    }
}

static __attribute__((noinline)) int64_t count_long(const char *x, uint64_t n, size_t bytes, uint64_t mask) {
    uint64_t bits[BITS_BLOCK / WORD + 2];
    int64_t ones = 0;
    for (uint64_t done = 0, some; done < n; done += some) {
        some = n - done < BITS_BLOCK ? n - done : BITS_BLOCK;
        find_bits(x + done * bytes, some, bytes, mask, bits);
        ones += ones_of_words(bits, 0, some);
    }
    return ones;
}

void PASTE4(tally_cpu_count_groups, _, TALLY_LEVEL, )(const void *x, const uint64_t *offsets, size_t count,
                                                      size_t bytes, uint64_t mask, int64_t *counts) {
    uint64_t bits[BITS_BLOCK / WORD + 2];
    for (size_t i = 0; i < count;) {
        const uint64_t first = offsets[i], all = offsets[count] - first, n = all < BITS_BLOCK ? all : BITS_BLOCK;
        const char *const from = (const char *)x + first * bytes;
        if (offsets[i + 1] - first > n) {
            counts[i] = count_long(from, offsets[i + 1] - first, bytes, mask);
            i++;
            continue;
        }
        find_bits(from, n, bytes, mask, bits);
        size_t some = count - i;
        for (; offsets[i + some] - first > n; some /= 2) {
        }
        count_within(bits, offsets + i, first, some, counts + i);
        i += some;
    }
}
#endif
