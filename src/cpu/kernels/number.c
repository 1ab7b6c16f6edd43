/* The number of each element in its group, from marks of where groups begin. A running maximum of the places of marks,
 * in bytes, tells sixteen elements where their group begins. */
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

/* Whole blocks of sixteen from where the scan begins; returns how many elements these are. */
#if defined(__AVX2__)
enum { BLOCK = 16 };

ALWAYS_INLINE __m128i reversed_bytes(__m128i x) {
    return _mm_shuffle_epi8(x, _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
}

/* Numbers of sixteen elements, and -1 where the group began before, else 0. Returns the bits of marks. */
ALWAYS_INLINE uint32_t number_block(const int8_t *heads, bool reverse, e_u8 *numbers, e_i8 *opens) {
    const __m128i place = _mm_setr_epi8(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    __m128i marks = _mm_loadu_si128((const void *)heads);
    marks = reverse ? reversed_bytes(marks) : marks;
    __m128i head = _mm_and_si128(marks, place); /* the place of the last mark; 0: there is none yet */
    head = _mm_max_epu8(head, _mm_slli_si128(head, 1));
    head = _mm_max_epu8(head, _mm_slli_si128(head, 2));
    head = _mm_max_epu8(head, _mm_slli_si128(head, 4));
    head = _mm_max_epu8(head, _mm_slli_si128(head, 8));
    __m128i number = _mm_sub_epi8(place, head), open = _mm_cmpeq_epi8(head, _mm_setzero_si128());
    number = reverse ? reversed_bytes(number) : number;
    open = reverse ? reversed_bytes(open) : open;
    memcpy(numbers, &number, sizeof number);
    memcpy(opens, &open, sizeof open);
    return (uint32_t)_mm_movemask_epi8(marks);
}

ALWAYS_INLINE size_t number_blocks(const int8_t *heads, size_t n, bool reverse, uint64_t first, uint64_t *before,
                                   uint64_t *counts) {
    size_t done = 0;
    for (; n - done >= BLOCK; done += BLOCK) {
        const size_t at = reverse ? n - done - BLOCK : done;
        e_u8 numbers[BLOCK];
        e_i8 opens[BLOCK];
        const uint32_t begun = number_block(heads + at, reverse, numbers, opens);
        /* a place counts from 1, and so does the number of an element whose group began before */
        for (size_t l = 0; l < BLOCK; l += LANES_OF(s_u64)) {
            const v_u64 is_open = (v_u64)load_i64_from_i8(opens + l);
            const v_u64 count = load_u64_from_u8(numbers + l) + first + (is_open & (*before - 1));
            memcpy(counts + at + l, &count, sizeof count);
        }
        *before = begun ? (uint64_t)__builtin_clz(begun) - 15 : *before + BLOCK;
    }
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

uint32_t PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, uint32_t first,
                                                           uint32_t before, uint32_t *numbers);
uint32_t PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, uint32_t first,
                                                           uint32_t before, uint32_t *numbers) {
    size_t k = 0;
#if defined(__AVX512BW__)
    const __m512i place = _mm512_broadcast_i32x4(_mm_setr_epi8(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
    for (; k + 4 * BLOCK <= n; k += 4 * BLOCK) { /* four blocks at a time */
        const __m512i marks = _mm512_loadu_si512(heads + k);
        __m512i head = _mm512_and_si512(marks, place);
        head = _mm512_max_epu8(head, _mm512_bslli_epi128(head, 1));
        head = _mm512_max_epu8(head, _mm512_bslli_epi128(head, 2));
        head = _mm512_max_epu8(head, _mm512_bslli_epi128(head, 4));
        head = _mm512_max_epu8(head, _mm512_bslli_epi128(head, 8));
        e_u8 own[4 * BLOCK];
        _mm512_storeu_si512(own, _mm512_sub_epi8(place, head));
        uint64_t begun = _mm512_movepi8_mask(marks), open = _mm512_testn_epi8_mask(head, head);
        for (size_t l = 0; l < 4 * BLOCK; l += BLOCK, begun >>= BLOCK, open >>= BLOCK) {
            const __m512i number = _mm512_add_epi32((__m512i)load_u32_from_u8(own + l), _mm512_set1_epi32((int)first));
            _mm512_storeu_si512(numbers + k + l, _mm512_mask_add_epi32(number, (__mmask16)open, number,
                                                                       _mm512_set1_epi32((int)before - 1)));
            const uint32_t bits = (uint32_t)begun & 0xffff;
            before = bits ? (uint32_t)__builtin_clz(bits) - 15 : before + BLOCK;
        }
    }
#endif
#if defined(__AVX2__)
    for (; k + BLOCK <= n; k += BLOCK) {
        e_u8 own[BLOCK];
        e_i8 opens[BLOCK];
        const uint32_t begun = number_block(heads + k, false, own, opens);
        for (size_t l = 0; l < BLOCK; l += LANES_OF(s_u32)) {
            const v_u32 is_open = (v_u32)load_i32_from_i8(opens + l);
            const v_u32 number = load_u32_from_u8(own + l) + first + (is_open & (before - 1));
            memcpy(numbers + k + l, &number, sizeof number);
        }
        before = begun ? (uint32_t)__builtin_clz(begun) - 15 : before + BLOCK;
    }
#endif
    for (; k < n; k++) {
        before &= ~(uint32_t)(int32_t)heads[k];
        numbers[k] = before++ + first;
    }
    return before;
}
