/* Blocks of narrow scans, forward: sixteen vectors, which are transposed within 16 bytes. Then the element before each
 * is in the vector before, so a vector takes one operation instead of a step for each power of two. What 16 bytes have
 * together is scanned once a block, and combined into all. Transpositions there are the cheapest moves: Zen 5 does four
 * interleaves a cycle. A part of narrow_scan.c, for AVX-512.
 *
 * A block's results are made after the next one has begun: the processor would wait some 60 cycles for what comes
 * before its 16 bytes. (Cycles a vector, exclusive or of u8 and sums of u16: 8.3 and 7.4 one vector after the
 * other, 7.3 and 5.5 in blocks without that, 4.4 and 4.2 so; exclusive 9.6 and 4.4.) */
enum { SIXTEEN = 16, BLOCK_BYTES = SIXTEEN * VECTOR_BYTES, LEAST_BLOCKS = 3 };

/* Element k of 16 bytes of v[j] becomes number j of v[k]. Interleaving halves does so if it is done as often as the
 * number of vectors, which is that of elements, can be halved. */
ALWAYS_INLINE void interleave_halves(size_t bytes, const v_u8 *v, v_u8 *w) {
    const size_t half = SIXTEEN / bytes / 2;
    UNROLL_8 for (size_t j = 0; j < half; j++) {
        const __m512i a = (__m512i)v[j], b = (__m512i)v[j + half];
        w[2 * j] = (v_u8)(bytes == 1 ? _mm512_unpacklo_epi8(a, b) : _mm512_unpacklo_epi16(a, b));
        w[2 * j + 1] = (v_u8)(bytes == 1 ? _mm512_unpackhi_epi8(a, b) : _mm512_unpackhi_epi16(a, b));
    }
}
ALWAYS_INLINE void turn_within_16(size_t bytes, v_u8 *v) {
    v_u8 w[SIXTEEN];
    interleave_halves(bytes, v, w);
    interleave_halves(bytes, w, v);
    interleave_halves(bytes, v, w);
    if (bytes == 1)
        interleave_halves(bytes, w, v);
    else
        memcpy(v, w, sizeof *v * SIXTEEN / bytes);
}

ALWAYS_INLINE v_u8 up_in_16(v_u8 x, size_t by) {
    const __m512i v = (__m512i)x;
    return (v_u8)(by == 1   ? _mm512_bslli_epi128(v, 1)
                  : by == 2 ? _mm512_bslli_epi128(v, 2)
                  : by == 4 ? _mm512_bslli_epi128(v, 4)
                            : _mm512_bslli_epi128(v, 8));
}

/* What comes before each 16 bytes, which have 'all' together: element j of a quarter is that of vector j's quarter.
 * *before, in all elements, comes before all of them, and becomes what comes behind them. */
ALWAYS_INLINE v_u8 before_each_16(const narrow_scan *s, v_u8 all, v_u8 *before) {
    const __m512i one = _mm512_maskz_shuffle_i64x2(0xfc, (__m512i)all, (__m512i)all, 0x90);
    const __m512i two = (__m512i)combined(s, (v_u8)one, (v_u8)_mm512_maskz_shuffle_i64x2(0xfc, one, one, 0x90));
    const v_u8 quarters = combined(s, (v_u8)two, (v_u8)_mm512_maskz_shuffle_i64x2(0xf0, two, two, 0x40));
    const __m512i with_last = (__m512i)combined(s, quarters, all);
    const v_u8 vectors = (v_u8)_mm512_shuffle_i64x2(with_last, with_last, 0xff);
    v_u8 below = up_in_16(vectors, s->bytes);
    UNROLL_8 for (size_t by = s->bytes; by < SIXTEEN; by *= 2) below = combined(s, below, up_in_16(below, by));
    const v_u8 was = *before;
    *before = combined(s, was, (v_u8)last_of_16(combined(s, below, vectors), s->bytes));
    return combined(s, was, combined(s, quarters, below));
}

/* A part of a block, of as many vectors as 16 bytes have elements: their prefixes within 16 bytes, turned, to held[].
 * Returns what comes before each 16 bytes. */
ALWAYS_INLINE v_u8 begin_part(const narrow_scan *s, const char *x, v_u8 *before, v_u8 *held) {
    const size_t rows = SIXTEEN / s->bytes;
    v_u8 v[SIXTEEN];
    UNROLL_16 for (size_t k = 0; k < rows; k++) v[k] = read_vector(s, x + k * VECTOR_BYTES);
    turn_within_16(s->bytes, v);
    UNROLL_16 for (size_t k = 1; k < rows; k++) v[k] = combined(s, v[k - 1], v[k]);
    memcpy(held, v, rows * sizeof *v);
    return before_each_16(s, v[rows - 1], before);
}
ALWAYS_INLINE void end_part(const narrow_scan *s, const v_u8 *held, v_u8 start, char *out) {
    const size_t rows = SIXTEEN / s->bytes;
    v_u8 v[SIXTEEN];
    v[0] = s->exclusive ? start : combined(s, start, held[0]);
    UNROLL_16 for (size_t k = 1; k < rows; k++) v[k] = combined(s, start, s->exclusive ? held[k - 1] : held[k]);
    turn_within_16(s->bytes, v);
    UNROLL_16 for (size_t k = 0; k < rows; k++) memcpy(out + k * VECTOR_BYTES, &v[k], sizeof *v);
}

/* out may be x. */
ALWAYS_INLINE v_u8 scan_parts(const narrow_scan *s, const char *x, size_t blocks, v_u8 before, char *out) {
    const size_t part = BLOCK_BYTES / s->bytes, rows = SIXTEEN / s->bytes;
    v_u8 held[2][SIXTEEN], start[2] = {{0}, {0}};
    for (size_t b = 0; b <= blocks; b++) {
        v_u8 next[2] = {{0}, {0}};
        if (b < blocks)
            UNROLL_8 for (size_t p = 0; p < s->bytes; p++) next[p] =
                begin_part(s, x + b * BLOCK_BYTES + p * part, &before, held[b % 2] + p * rows);
        if (b > 0)
            UNROLL_8 for (size_t p = 0; p < s->bytes; p++)
                end_part(s, held[(b - 1) % 2] + p * rows, start[p], out + (b - 1) * BLOCK_BYTES + p * part);
        memcpy(start, next, sizeof start);
    }
    return before;
}

/* Sums and exclusive ors: other operations mostly change nothing. Returns what comes behind the blocks. */
static __attribute__((noinline)) v_u8 scan_narrow_blocks(const narrow_scan *s, const char *x, size_t blocks,
                                                         v_u8 before, char *out) {
    if (s->bytes == 1 && s->op == ADD)
        return scan_parts(&(narrow_scan){ADD, 1, false, s->exclusive, {0}}, x, blocks, before, out);
    if (s->bytes == 1)
        return scan_parts(&(narrow_scan){XOR, 1, false, s->exclusive, {0}}, x, blocks, before, out);
    if (s->op == ADD)
        return scan_parts(&(narrow_scan){ADD, 2, false, s->exclusive, {0}}, x, blocks, before, out);
    return scan_parts(&(narrow_scan){XOR, 2, false, s->exclusive, {0}}, x, blocks, before, out);
}
