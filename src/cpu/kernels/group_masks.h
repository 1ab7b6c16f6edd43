/* Marks of where groups begin as masks of lanes, for scans of 4- and 8-byte elements (scan.h). The words of a block are
 * made together, by vectors; a vector's mask is a part of a word. */
#ifndef TALLY_CPU_GROUP_MASKS_H
#define TALLY_CPU_GROUP_MASKS_H

#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__)
/* Elements of a block, and its words with others before and behind, which loops that run ahead read. */
enum { MASKED_BLOCK = 1024, MASK_MARGIN = 8, MASK_WORDS = MASKED_BLOCK / 64 + 2 * MASK_MARGIN, MASKED_STEPS = 4 };

/* Bit j of the words behind the margin is element j in the direction of the scan. */
typedef struct group_masks {
    _Alignas(64) uint64_t takes[MASKED_STEPS][MASK_WORDS]; /* the one 1, 2, 4, 8 before it is of its group and vector */
    uint64_t open[MASK_WORDS];                             /* its group began before its vector */
    uint64_t passes[MASK_WORDS];                           /* no group begins in its vector */
} group_masks;

/* The masks of n elements, at most a block. */
#define FIND_MASKS PASTE4(tally_cpu_find_masks, _, TALLY_LEVEL, )
void FIND_MASKS(const int8_t *heads, size_t n, size_t lanes, bool reverse, group_masks *masks);

/* The mask of vector k, of 8 or 16 lanes. gcc loads it by way of a general register, which is one a cycle, so with 8
 * lanes the loop would wait for that (i64 by segments of 20 0.31 ns an element, and 0.29 so; f32 0.23 either way). */
ALWAYS_INLINE __mmask16 mask_of_vector(const uint64_t *words, size_t k, size_t lanes) {
    if (lanes == 16)
        return ((const e_u16 *)(words + MASK_MARGIN))[k];
    __mmask16 mask;
    __asm__("kmovb %1, %0" : "=k"(mask) : "m"(((const e_u8 *)(words + MASK_MARGIN))[k]));
    return mask;
}

/* selected(mask, no, yes), and shifted_up(mask, fill, x, by): lanes of the mask take the one 'by' below. */
ALWAYS_INLINE v_u32 selected_32(__mmask16 mask, v_u32 no, v_u32 yes) {
    return (v_u32)_mm512_mask_mov_epi32((__m512i)no, mask, (__m512i)yes);
}
ALWAYS_INLINE v_u32 selected_64(__mmask16 mask, v_u32 no, v_u32 yes) {
    return (v_u32)_mm512_mask_mov_epi64((__m512i)no, (__mmask8)mask, (__m512i)yes);
}
#define SHIFTED_UP(bits, count) (v_u32) _mm512_mask_alignr_epi##bits((__m512i)fill, mask, (__m512i)x, (__m512i)x, count)
ALWAYS_INLINE v_u32 shifted_up_32(__mmask16 mask, v_u32 fill, v_u32 x, size_t by) {
    return by == 1   ? SHIFTED_UP(32, 15)
           : by == 2 ? SHIFTED_UP(32, 14)
           : by == 4 ? SHIFTED_UP(32, 12)
                     : SHIFTED_UP(32, 8);
}
ALWAYS_INLINE v_u32 shifted_up_64(__mmask16 lanes, v_u32 fill, v_u32 x, size_t by) {
    const __mmask8 mask = (__mmask8)lanes;
    return by == 1 ? SHIFTED_UP(64, 7) : by == 2 ? SHIFTED_UP(64, 6) : SHIFTED_UP(64, 4);
}
#undef SHIFTED_UP
#endif

#endif
