/* Steps of running sums, products and exclusive ors of lanes of 4 bytes, four vectors at a time: for scan_vectors.h and
 * running_sums.c, which include it with NAME, LANE, L_V, COMBINE and COMBINE_BESIDE.
 *
 * Four vectors are a block. It is transposed within 16 bytes, so that three additions make the prefixes in all of
 * these, and their totals are one vector. In each of the next steps neighbours swap totals, which gives the value
 * before each 16 bytes, and at last the block's total in every lane. So a block waits for the one before it for one
 * operation only. It takes 37 operations instead of 44, of which 2 instead of 20 move lanes across 16 bytes (5 cycles
 * each).
 *
 * They are a chain of some 50 cycles, and operations that wait fill the processor's schedulers. So a turn of a loop
 * begins a block, goes on with the one before, and ends the one before that. (Zen 5, cycles a vector in the first-level
 * cache, vectors one by one, blocks one by one, blocks so: f32 5.5, 4.6, 3.6; i32 4.7, 4.2, 3.2. Two vectors of 8-byte
 * lanes a block: f64 4.3 and 4.1, i64 3.3 and 4.1.) */
#if defined(__AVX512BW__)
enum { NAME(BLOCK_) = 4 }; /* vectors */

typedef struct NAME(block_) {
    L_V r[NAME(BLOCK_)]; /* in the order of the scan */
    L_V before, total;   /* of the parts whose totals have been swapped */
} NAME(block_);

/* For parts of 4, 8, 16 and 32 bytes: a bit for each lane that comes after its neighbour's. */
typedef struct NAME(later_lanes_) {
    __mmask16 of_4, of_8, of_16, of_32;
} NAME(later_lanes_);

ALWAYS_INLINE NAME(later_lanes_) NAME(later_lanes_of_)(bool reverse) {
    return reverse ? (NAME(later_lanes_)){0x5555, 0x3333, 0x0f0f, 0x00ff}
                   : (NAME(later_lanes_)){0xaaaa, 0xcccc, 0xf0f0, 0xff00};
}

/* Its own inverse. */
ALWAYS_INLINE void NAME(transpose_block_)(L_V *r) {
    const __m512i a = (__m512i)r[0], b = (__m512i)r[1], c = (__m512i)r[2], d = (__m512i)r[3];
    const __m512i e = _mm512_unpacklo_epi32(a, b), f = _mm512_unpackhi_epi32(a, b);
    const __m512i g = _mm512_unpacklo_epi32(c, d), h = _mm512_unpackhi_epi32(c, d);
    r[0] = (L_V)_mm512_unpacklo_epi64(e, g);
    r[1] = (L_V)_mm512_unpackhi_epi64(e, g);
    r[2] = (L_V)_mm512_unpacklo_epi64(f, h);
    r[3] = (L_V)_mm512_unpackhi_epi64(f, h);
}

ALWAYS_INLINE void NAME(turn_block_)(L_V *r) {
    const L_V first = r[0], second = r[1];
    r[0] = r[3], r[1] = r[2], r[2] = second, r[3] = first;
}

/* Of b->r alone. */
ALWAYS_INLINE void NAME(begin_block_)(tally_monoid m, bool reverse, NAME(block_) * b) {
    const bool numbers = false;
    NAME(transpose_block_)(b->r);
    if (reverse)
        NAME(turn_block_)(b->r);
    UNROLL_8 for (size_t k = 1; k < NAME(BLOCK_); k++) b->r[k] = COMBINE(b->r[k - 1], b->r[k]);
}

/* The first swap, of 16 bytes. */
ALWAYS_INLINE void NAME(open_totals_)(tally_monoid m, L_V identity, __mmask16 later, NAME(block_) * b) {
    const bool numbers = false;
    const L_V own = b->r[NAME(BLOCK_) - 1], other = (L_V)swapped_parts((v_u8)own, 16);
    b->before = PASTE2(chosen_, LANE)(later, other, identity);
    b->total = COMBINE(own, other);
}

ALWAYS_INLINE void NAME(swap_totals_)(tally_monoid m, size_t bytes, __mmask16 later, NAME(block_) * b) {
    const bool numbers = false;
    const L_V other = (L_V)swapped_parts((v_u8)b->total, bytes);
    b->before = PASTE2(chosen_, LANE)(later, COMBINE(b->before, other), b->before);
    b->total = COMBINE(b->total, other);
}

/* results[] = the block's prefixes; 'start' is b->before with what came before the block. */
ALWAYS_INLINE void NAME(end_block_)(tally_monoid m, bool reverse, bool exclusive, L_V start, const NAME(block_) * b,
                                    L_V *results) {
    const bool numbers = false;
    UNROLL_8 for (size_t k = 0; k < NAME(BLOCK_); k++) results[k] = COMBINE_BESIDE(start, b->r[k]);
    if (exclusive) {
        UNROLL_8 for (size_t k = NAME(BLOCK_) - 1; k > 0; k--) results[k] = results[k - 1];
        results[0] = start;
    }
    if (reverse)
        NAME(turn_block_)(results);
    NAME(transpose_block_)(results);
}
#endif
