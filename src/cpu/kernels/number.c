/* What scans of groups make of the marks where groups begin: the number of each element in its group, and masks of
 * lanes (group_masks.h). A running maximum of the places of marks, in bytes, tells as many elements as a vector has
 * bytes where their group begins. Running counts of what is true are sums of as many bytes. */
#include "cpu/kernels/group_masks.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

/* Whole blocks from where the scan begins; returns how many elements these are. */
#if defined(__AVX2__)
#include "cpu/kernels/narrow_lanes.h"

enum { BLOCK = VECTOR_BYTES, BLOCKS = 16 };

/* Bytes of a block whose sign is set, the first one lowest. */
ALWAYS_INLINE uint64_t signs_of(v_u8 x) {
#if defined(__AVX512BW__)
    return _mm512_movepi8_mask((__m512i)x);
#else
    return (uint32_t)_mm256_movemask_epi8((__m256i)x);
#endif
}

/* The elements of blocks: how many of their group come before them; or, where no group begins before them in the block
 * and opens is -1, their place in it, from 1 on. begun: where groups begin, in the direction of the scan. */
typedef struct numbered {
    v_u8 numbers[BLOCKS], opens[BLOCKS];
    uint64_t begun[BLOCKS];
} numbered;

/* The lanes' numbers, from 1 on. */
ALWAYS_INLINE v_u8 places(void) {
    v_u8 place;
    for (size_t l = 0; l < BLOCK; l++)
        place[l] = (s_u8)(l + 1);
    return place;
}

ALWAYS_INLINE void number_in_block(const int8_t *heads, bool reverse, v_u8 place, numbered *to, size_t block) {
    v_u8 marks;
    memcpy(&marks, heads, sizeof marks);
    marks = reverse ? reversed_elements(marks, 1) : marks;
    v_u8 head = marks & place; /* the place of the last mark; 0: there is none yet */
    UNROLL_8 for (size_t by = 1; by < 8; by *= 2) head = max_u8(head, up_in_64(head, by));
    UNROLL_8 for (size_t half = 8; half < BLOCK; half *= 2) head = max_u8(head, last_below(head, half, 1));
    const v_u8 number = place - head, open = (v_u8)(head == 0);
    to->begun[block] = signs_of(marks);
    to->numbers[block] = reverse ? reversed_elements(number, 1) : number;
    to->opens[block] = reverse ? reversed_elements(open, 1) : open;
}

/* A loop makes the numbers in blocks, and another the numbers in groups: a block's steps wait for each other, so a
 * processor needs several blocks under way. */
ALWAYS_INLINE size_t number_blocks(const int8_t *heads, size_t n, bool reverse, uint64_t first, uint64_t *before,
                                   uint64_t *counts) {
    const v_u8 place = places();
    uint64_t was = *before;
    size_t done = 0;
    for (size_t blocks; (blocks = (n - done) / BLOCK) > 0; done += blocks * BLOCK) {
        numbered in;
        blocks = blocks < BLOCKS ? blocks : BLOCKS;
        const size_t from = reverse ? n - done : done;
        for (size_t k = 0; k < blocks; k++)
            number_in_block(reverse ? heads + from - (k + 1) * BLOCK : heads + from + k * BLOCK, reverse, place, &in,
                            k);
        for (size_t k = 0; k < blocks; k++) {
            uint64_t *const to = counts + (reverse ? from - (k + 1) * BLOCK : from + k * BLOCK);
            const e_u8 *const numbers = (const e_u8 *)&in.numbers[k];
            const e_i8 *const opens = (const e_i8 *)&in.opens[k];
            for (size_t l = 0; l < BLOCK; l += LANES_OF(s_u64)) {
                const v_u64 is_open = (v_u64)load_i64_from_i8(opens + l);
                const v_u64 count = load_u64_from_u8(numbers + l) + first + (is_open & (was - 1));
                memcpy(to + l, &count, sizeof count);
            }
            was = in.begun[k] ? (uint64_t)__builtin_clzll(in.begun[k]) - (64 - BLOCK) + 1 : was + BLOCK;
        }
    }
    *before = was;
    return done;
}
#else
ALWAYS_INLINE size_t number_blocks(const int8_t *heads, size_t n, bool reverse, uint64_t first, uint64_t *before,
                                   uint64_t *counts) {
    (void)heads, (void)n, (void)reverse, (void)first, (void)before, (void)counts;
    return 0;
}
#endif

uint64_t PASTE4(tally_cpu_number, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, bool reverse, uint64_t first,
                                                    uint64_t before, uint64_t *counts);
uint64_t PASTE4(tally_cpu_number, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, bool reverse, uint64_t first,
                                                    uint64_t before, uint64_t *counts) {
    size_t k = reverse ? number_blocks(heads, n, true, first, &before, counts)
                       : number_blocks(heads, n, false, first, &before, counts);
    for (; k < n; k++) {
        const size_t i = reverse ? n - 1 - k : k;
        before &= ~(uint64_t)(int64_t)heads[i]; /* a branch would be taken at random */
        counts[i] = before + first;
        before++;
    }
    return before;
}

/* ---- counts ---- */

#if defined(__AVX2__)
/* Bytes of a block are counts in it. 'heads' may be NULL, which is a constant where this is inlined; numbers[] hold the
 * elements' counts, begun[] the last one, and whether a group begins in the block in the bit above. */
enum { BEGINS = 256 };
ALWAYS_INLINE void count_in_block(const uint8_t *truths, const int8_t *heads, bool reverse, bool exclusive,
                                  numbered *to, size_t block) {
    v_u8 own, marks, begun = {0};
    memcpy(&own, truths, sizeof own);
    own = reverse ? reversed_elements(own, 1) : own;
    v_u8 count = own;
    if (heads) {
        memcpy(&marks, heads, sizeof marks);
        begun = reverse ? reversed_elements(marks, 1) : marks;
    }
    UNROLL_8 for (size_t by = 1; by < 8; by *= 2) {
        count += up_in_64(count, by) & ~begun;
        begun |= heads ? up_in_64(begun, by) : begun;
    }
    UNROLL_8 for (size_t half = 8; half < BLOCK; half *= 2) {
        count += last_below(count, half, 1) & ~begun;
        begun |= heads ? last_below(begun, half, 1) : begun;
    }
    to->begun[block] = count[BLOCK - 1] | (heads && begun[BLOCK - 1] ? BEGINS : 0);
    count -= exclusive ? own : (v_u8){0};
    to->numbers[block] = reverse ? reversed_elements(count, 1) : count;
    if (heads)
        to->opens[block] = reverse ? reversed_elements(~begun, 1) : ~begun;
}

ALWAYS_INLINE size_t count_blocks(const uint8_t *truths, const int8_t *heads, size_t n, bool reverse, bool exclusive,
                                  uint64_t start, uint64_t *before, char *counts) {
    uint64_t was = *before - start;
    size_t done = 0;
    for (size_t blocks; (blocks = (n - done) / BLOCK) > 0; done += blocks * BLOCK) {
        numbered in;
        blocks = blocks < BLOCKS ? blocks : BLOCKS;
        for (size_t k = 0; k < blocks; k++) {
            const size_t at = reverse ? n - done - (k + 1) * BLOCK : done + k * BLOCK;
            count_in_block(truths + at, heads ? heads + at : NULL, reverse, exclusive, &in, k);
        }
        for (size_t k = 0; k < blocks; k++) {
            const size_t at = reverse ? n - done - (k + 1) * BLOCK : done + k * BLOCK;
            const e_u8 *const numbers = (const e_u8 *)&in.numbers[k];
            const e_i8 *const opens = (const e_i8 *)&in.opens[k];
            for (size_t l = 0; l < BLOCK; l += LANES_OF(s_u64)) {
                const v_u64 open = heads ? (v_u64)load_i64_from_i8(opens + l) & was : was - (v_u64){0};
                const v_u64 count = load_u64_from_u8(numbers + l) + (open + start);
                memcpy(counts + (at + l) * sizeof(s_u64), &count, sizeof count);
            }
            was = in.begun[k] >= BEGINS ? in.begun[k] - BEGINS : was + in.begun[k];
        }
    }
    *before = was + start;
    return done;
}

tally_cpu_count PASTE4(tally_cpu_count, _, TALLY_LEVEL, );
uint64_t PASTE4(tally_cpu_count, _, TALLY_LEVEL, )(const uint8_t *truths, const int8_t *heads, size_t n, bool reverse,
                                                   bool exclusive, uint64_t start, uint64_t before, void *counts) {
    e_u64 *const to = counts;
    size_t k = heads ? count_blocks(truths, heads, n, reverse, exclusive, start, &before, counts)
                     : count_blocks(truths, NULL, n, reverse, exclusive, start, &before, counts);
    for (; k < n; k++) {
        const size_t i = reverse ? n - 1 - k : k;
        before = heads && heads[i] ? start : before;
        to[i] = before + (exclusive ? 0 : truths[i]);
        before += truths[i];
    }
    return before;
}
#endif

/* As number_blocks, in 32 bits and forward. */
#if defined(__AVX2__)
ALWAYS_INLINE size_t number_blocks_32(const int8_t *heads, size_t n, uint32_t first, uint32_t *before,
                                      uint32_t *numbers) {
    const v_u8 place = places();
    uint32_t was = *before;
    size_t done = 0;
    for (size_t blocks; (blocks = (n - done) / BLOCK) > 0; done += blocks * BLOCK) {
        numbered in;
        blocks = blocks < BLOCKS ? blocks : BLOCKS;
        for (size_t k = 0; k < blocks; k++)
            number_in_block(heads + done + k * BLOCK, false, place, &in, k);
        for (size_t k = 0; k < blocks; k++) {
            const e_u8 *const own = (const e_u8 *)&in.numbers[k];
            const e_i8 *const opens = (const e_i8 *)&in.opens[k];
            for (size_t l = 0; l < BLOCK; l += LANES_OF(s_u32)) {
                const v_u32 is_open = (v_u32)load_i32_from_i8(opens + l);
                const v_u32 number = load_u32_from_u8(own + l) + first + (is_open & (was - 1));
                memcpy(numbers + done + k * BLOCK + l, &number, sizeof number);
            }
            was = in.begun[k] ? (uint32_t)__builtin_clzll(in.begun[k]) - (64 - BLOCK) + 1 : was + BLOCK;
        }
    }
    *before = was;
    return done;
}
#else
ALWAYS_INLINE size_t number_blocks_32(const int8_t *heads, size_t n, uint32_t first, uint32_t *before,
                                      uint32_t *numbers) {
    (void)heads, (void)n, (void)first, (void)before, (void)numbers;
    return 0;
}
#endif

uint32_t PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, uint32_t first,
                                                           uint32_t before, uint32_t *numbers);
uint32_t PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, uint32_t first,
                                                           uint32_t before, uint32_t *numbers) {
    size_t k = number_blocks_32(heads, n, first, &before, numbers);
    for (; k < n; k++) {
        before &= ~(uint32_t)(int32_t)heads[k];
        numbers[k] = before++ + first;
    }
    return before;
}

/* ---- marks as masks ---- */

#if defined(__AVX512BW__)
/* The bit of 'lane' of every vector. */
ALWAYS_INLINE uint64_t bit_of_each(size_t lanes, size_t lane) {
    return (lanes == 8 ? 0x0101010101010101 : 0x0001000100010001) << lane;
}

/* The marks of up to 64 elements. */
ALWAYS_INLINE uint64_t read_marks(const int8_t *heads, size_t n, bool reverse) {
    const __mmask64 some = _bzhi_u64(UINT64_MAX, (unsigned)n);
    const __m512i marks = _mm512_maskz_loadu_epi8(some, (const void *)heads);
    if (!reverse)
        return _mm512_movepi8_mask(marks);
    const __m512i in_16 = _mm512_broadcast_i32x4(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    const __m512i parts = _mm512_shuffle_epi8(marks, in_16);
    return _mm512_movepi8_mask(_mm512_shuffle_i64x2(parts, parts, 0x1b)) >> (64 - n);
}

/* 'lanes' is a constant where this is inlined. */
ALWAYS_INLINE void spread_marks(const uint64_t *begins, size_t words, size_t lanes, group_masks *masks) {
    for (size_t w = 0; w < words; w += LANES_OF(s_u64)) {
        v_u64 begun, lowest = bit_of_each(lanes, 0) - (v_u64){0}; /* lanes that have none so far below */
        memcpy(&begun, begins + w, sizeof begun);
        UNROLL_8 for (size_t step = 0, shift = 1; shift < lanes; step++, shift *= 2) {
            const v_u64 takes = ~(begun | lowest);
            memcpy(masks->takes[step] + MASK_MARGIN + w, &takes, sizeof takes);
            begun |= begun << shift & ~lowest;
            lowest |= lowest << shift;
        }
        const v_u64 open = ~begun, last = open & bit_of_each(lanes, lanes - 1);
        const v_u64 passes = last | (last - (last >> (lanes - 1)));
        memcpy(masks->open + MASK_MARGIN + w, &open, sizeof open);
        memcpy(masks->passes + MASK_MARGIN + w, &passes, sizeof passes);
    }
}

void FIND_MASKS(const int8_t *heads, size_t n, size_t lanes, bool reverse, group_masks *masks) {
    const size_t words = (n + 63) / 64;
    uint64_t begins[MASK_WORDS];
    for (size_t w = 0; w < words; w++) {
        const size_t some = n - 64 * w < 64 ? n - 64 * w : 64;
        begins[w] = read_marks(heads + (reverse ? n - 64 * w - some : 64 * w), some, reverse);
    }
    if (lanes == 8)
        spread_marks(begins, words, 8, masks);
    else
        spread_marks(begins, words, 16, masks);
}
#endif
