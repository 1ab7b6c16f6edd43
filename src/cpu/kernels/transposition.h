/* Transpositions by whole vectors, to[b][a] = from[a][b]: for instructions.c, and for the packing of narrow columns. */
#ifndef TALLY_CPU_TRANSPOSITION_H
#define TALLY_CPU_TRANSPOSITION_H

#include "cpu/interleave.h"
#include "cpu/kernels/simd.h"

/* Blocks of W x W elements, as in packing.c, but of whole vectors: 8192 elements of 32 bits took 0.08 ns each with
 * vectors of 16 bytes. The last blocks overlap those before. */
#if VECTOR_BYTES == 64
#define LANES_u32 16
#define LANES_u64 8
#elif VECTOR_BYTES == 32
#define LANES_u32 8
#define LANES_u64 4
#else
#define LANES_u32 4
#define LANES_u64 2
#endif
#define DEFINE_TRANSPOSE_(tag, W)                                                                                      \
    ALWAYS_INLINE void transpose_block_##tag(const s_##tag *from, size_t apart, s_##tag *to, size_t to_apart) {        \
        v_##tag v[W], w[W];                                                                                            \
        UNROLL_16 for (size_t i = 0; i < W; i++) memcpy(&v[i], from + i * apart, sizeof v[i]);                         \
        TRANSPOSE(v_##tag, W, v, w)                                                                                    \
        UNROLL_16 for (size_t i = 0; i < W; i++) memcpy(to + i * to_apart, &v[i], sizeof v[i]);                        \
    }                                                                                                                  \
    static void transpose_##tag(const s_##tag *from, size_t rows, size_t columns, s_##tag *to) {                       \
        for (size_t a = 0; a < rows; a += W) {                                                                         \
            const size_t a_at = a + W <= rows ? a : rows - W;                                                          \
            for (size_t b = 0; b < columns; b += W) {                                                                  \
                const size_t b_at = b + W <= columns ? b : columns - W;                                                \
                transpose_block_##tag(from + a_at * columns + b_at, columns, to + b_at * rows + a_at, rows);           \
            }                                                                                                          \
        }                                                                                                              \
    }
#define DEFINE_TRANSPOSE(tag, W) DEFINE_TRANSPOSE_(tag, W)
DEFINE_TRANSPOSE(u32, LANES_u32)
DEFINE_TRANSPOSE(u64, LANES_u64)

#if defined(__AVX512BW__)
/* ---- one side is a few elements ---- */

/* As many vectors as the short side has elements, 'few', hold a vector's length of the long side, whichever way round.
 * An output vector is the first of them, into which one after the other is chosen by a shuffle of two vectors. */
enum {
    /* Reductions by packing took 0.35 to 0.6 of the time of blocks of 16 bytes with 2 to 4, 0.41 to 0.84 with 5 and 6,
     * 1.06 with 7 of 64 and 8 of 32 bits; of 16 bits, whose shuffles are two steps, 0.8 with 4 and 1.2 with 5. */
    MOST_FEW = 6,
    MOST_FEW_16 = 4,
    /* With more, the indices are made at each call: minmax scanned in 28 rows of 5 u32 took 1.16 of the time. */
    INDICES_READY = 4,
    LEAST_FOR_INDICES = 64
};

/* Element 'lane' of the result is element choice.lane of source choice.source. */
#define DEFINE_FEW(bits, epi)                                                                                          \
    ALWAYS_INLINE void choose_##bits(size_t few, bool joins, v_u##bits choices[MOST_FEW][MOST_FEW]) {                  \
        enum { LANES = 512 / bits };                                                                                   \
        v_u##bits lane;                                                                                                \
        for (size_t l = 0; l < LANES; l++)                                                                             \
            lane[l] = (s_u##bits)l;                                                                                    \
        for (size_t o = 0; o < few; o++) {                                                                             \
            const v_u##bits place = joins ? lane + (s_u##bits)(o * LANES) : lane * (s_u##bits)few + (s_u##bits)o;      \
            v_u##bits source = place / LANES, chosen = place % LANES;                                                  \
            if (joins) {                                                                                               \
                chosen = (v_u##bits){0};                                                                               \
                for (size_t k = 1; k < LANES; k++) /* place / few */                                                   \
                    chosen -= (v_u##bits)(place >= (s_u##bits)(k * few));                                              \
                source = place - chosen * (s_u##bits)few;                                                              \
            }                                                                                                          \
            for (size_t s = 1; s < few; s++) {                                                                         \
                const v_u##bits here = (v_u##bits)(source == (s_u##bits)s), other = s == 1 ? chosen : lane;            \
                choices[o][s] = (here & (chosen + LANES)) | (~here & other);                                           \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* 'few' may be a constant where this is inlined. */                                                               \
    ALWAYS_INLINE void turn_few_##bits(const s_u##bits *from, size_t few, size_t count, bool joins, s_u##bits *to) {   \
        enum { LANES = 512 / bits };                                                                                   \
        v_u##bits choices[MOST_FEW][MOST_FEW];                                                                         \
        choose_##bits(few, joins, choices);                                                                            \
        const size_t from_apart = joins ? count : LANES, from_step = joins ? 1 : few;                                  \
        const size_t to_apart = joins ? LANES : count, to_step = joins ? few : 1;                                      \
        for (size_t i = 0; i < count; i += LANES) {                                                                    \
            const size_t at = i + LANES <= count ? i : count - LANES;                                                  \
            const s_u##bits *const x = from + at * from_step;                                                          \
            UNROLL_8 for (size_t o = 0; o < few; o++) {                                                                \
                __m512i v = _mm512_loadu_si512(x);                                                                     \
                UNROLL_8 for (size_t s = 1; s < few; s++) v =                                                          \
                    _mm512_permutex2var_##epi(v, (__m512i)choices[o][s], _mm512_loadu_si512(x + s * from_apart));      \
                _mm512_storeu_si512(to + at * to_step + o * to_apart, v);                                              \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void turn_##bits(const s_u##bits *from, size_t few, size_t count, bool joins, s_u##bits *to) {              \
        if (few == 2)                                                                                                  \
            turn_few_##bits(from, 2, count, joins, to);                                                                \
        else if (few == 3)                                                                                             \
            turn_few_##bits(from, 3, count, joins, to);                                                                \
        else if (few == 4)                                                                                             \
            turn_few_##bits(from, 4, count, joins, to);                                                                \
        else                                                                                                           \
            turn_few_##bits(from, few, count, joins, to);                                                              \
    }
DEFINE_FEW(16, epi16)
DEFINE_FEW(32, epi32)
DEFINE_FEW(64, epi64)

/* No shuffle of bytes takes two vectors. So 16 elements of the long side are a quarter of a vector, and each output is
 * what one shuffle for each input leaves of it. Zen 5, ns an element by blocks of 16 bytes and so: largest of u8 in
 * rows of 2 0.166 and 0.056, of 3 0.121 and 0.051, of 5 0.098 and 0.062, of 7 0.076 and 0.065, of 8 0.067 and 0.068. */
enum { MOST_FEW_8 = 7, QUARTER = 16, QUARTERS = 4 };

ALWAYS_INLINE void choose_8(size_t few, bool joins, uint8_t choices[MOST_FEW_8][MOST_FEW_8][QUARTER]) {
    memset(choices, 0x80, MOST_FEW_8 * few * QUARTER); /* nothing */
    for (size_t place = 0, chosen = 0, of = 0; place < few * QUARTER; place++) {
        if (joins) /* element 'chosen' of source 'of' */
            choices[place / QUARTER][of][place % QUARTER] = (uint8_t)chosen;
        else
            choices[of][place / QUARTER][chosen] = (uint8_t)(place % QUARTER);
        of = of + 1 == few ? 0 : of + 1;
        chosen += of == 0;
    }
}

ALWAYS_INLINE __m512i four_quarters(const uint8_t *from, size_t apart) {
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + apart)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 2 * apart)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(from + 3 * apart)), 3);
}

/* 'few' may be a constant where this is inlined. */
ALWAYS_INLINE void turn_few_8(const uint8_t *from, size_t few, size_t count, bool joins, uint8_t *to) {
    uint8_t choices[MOST_FEW_8][MOST_FEW_8][QUARTER];
    choose_8(few, joins, choices);
    const size_t from_apart = joins ? count : QUARTER, from_step = joins ? 1 : few;
    const size_t to_apart = joins ? QUARTER : count, to_step = joins ? few : 1;
    for (size_t i = 0; i < count; i += QUARTERS * QUARTER) {
        const size_t at = i + QUARTERS * QUARTER <= count ? i : count - QUARTERS * QUARTER;
        const uint8_t *const x = from + at * from_step;
        __m512i in[MOST_FEW_8];
        for (size_t s = 0; s < few; s++)
            in[s] = four_quarters(x + s * from_apart, QUARTER * from_step);
        for (size_t o = 0; o < few; o++) {
            __m512i v = _mm512_setzero_si512();
            for (size_t s = 0; s < few; s++)
                v = _mm512_or_si512(v, _mm512_shuffle_epi8(in[s], _mm512_broadcast_i32x4(
                                                                      _mm_loadu_si128((const void *)choices[o][s]))));
            uint8_t *const out = to + at * to_step + o * to_apart;
            if (to_step == 1) {
                _mm512_storeu_si512(out, v);
                continue;
            }
            _mm_storeu_si128((void *)out, _mm512_castsi512_si128(v));
            _mm_storeu_si128((void *)(out + QUARTER * to_step), _mm512_extracti32x4_epi32(v, 1));
            _mm_storeu_si128((void *)(out + 2 * QUARTER * to_step), _mm512_extracti32x4_epi32(v, 2));
            _mm_storeu_si128((void *)(out + 3 * QUARTER * to_step), _mm512_extracti32x4_epi32(v, 3));
        }
    }
}
static void turn_8(const uint8_t *from, size_t few, size_t count, bool joins, uint8_t *to) {
    if (few == 2)
        turn_few_8(from, 2, count, joins, to);
    else if (few == 3)
        turn_few_8(from, 3, count, joins, to);
    else
        turn_few_8(from, few, count, joins, to);
}

static bool turn(const void *from, size_t bytes, size_t rows, size_t columns, void *to) {
    const bool joins = rows < columns;
    const size_t few = joins ? rows : columns, count = joins ? columns : rows;
    if (few < 2 ||
        few > (bytes == 1   ? MOST_FEW_8
               : bytes == 2 ? MOST_FEW_16
                            : MOST_FEW) ||
        count * bytes < VECTOR_BYTES || (few > INDICES_READY && count < LEAST_FOR_INDICES))
        return false;
    if (bytes == 1)
        turn_8(from, few, count, joins, to);
    else if (bytes == 2)
        turn_16(from, few, count, joins, to);
    else if (bytes == 4)
        turn_32(from, few, count, joins, to);
    else if (bytes == 8)
        turn_64(from, few, count, joins, to);
    else
        return false;
    return true;
}

/* ---- elements of 16 bytes, in blocks of 4 x 4 ----
 *
 * One by one, reductions took 1.15 to 1.9 times as long, and at some addresses twice as long again: largest of f64 in
 * 200 x 50 x 2 0.20 to 0.37 ns an element, and 0.15 so. */

ALWAYS_INLINE void transpose_block_128(const __m128i *from, size_t apart, __m128i *to, size_t to_apart) {
    __m512i v[4], w[4];
    UNROLL_8 for (size_t i = 0; i < 4; i++) v[i] = _mm512_loadu_si512(from + i * apart);
    UNROLL_8 for (size_t i = 0; i < 2; i++) {
        w[2 * i] = _mm512_shuffle_i64x2(v[2 * i], v[2 * i + 1], 0x44);
        w[2 * i + 1] = _mm512_shuffle_i64x2(v[2 * i], v[2 * i + 1], 0xee);
    }
    UNROLL_8 for (size_t i = 0; i < 2; i++) {
        _mm512_storeu_si512(to + 2 * i * to_apart, _mm512_shuffle_i64x2(w[i], w[2 + i], 0x88));
        _mm512_storeu_si512(to + (2 * i + 1) * to_apart, _mm512_shuffle_i64x2(w[i], w[2 + i], 0xdd));
    }
}

static void transpose_128(const __m128i *from, size_t rows, size_t columns, __m128i *to) {
    for (size_t a = 0; a < rows; a += 4) {
        const size_t a_at = a + 4 <= rows ? a : rows - 4;
        for (size_t b = 0; b < columns; b += 4) {
            const size_t b_at = b + 4 <= columns ? b : columns - 4;
            transpose_block_128(from + a_at * columns + b_at, columns, to + b_at * rows + a_at, rows);
        }
    }
}

/* ---- elements of several lanes ---- */

/* 'whole' vectors, and what is behind them. */
ALWAYS_INLINE void copy_each(const char *from, size_t apart, size_t whole, __mmask64 rest, size_t count, char *to,
                             size_t to_apart) {
    for (; count > 0; count--, from += apart, to += to_apart) {
        for (size_t i = 0; i < whole; i++)
            _mm512_storeu_si512(to + 64 * i, _mm512_loadu_si512(from + 64 * i));
        _mm512_mask_storeu_epi8(to + 64 * whole, rest, _mm512_maskz_loadu_epi8(rest, from + 64 * whole));
    }
}

static void turn_blocks(const char *from, size_t bytes, size_t rows, size_t columns, char *to) {
    const size_t whole = (bytes - 1) / 64;
    const __mmask64 rest = UINT64_MAX >> (64 * whole + 64 - bytes);
    if (rows < columns)
        for (size_t a = 0; a < rows; a++)
            copy_each(from + a * columns * bytes, bytes, whole, rest, columns, to + a * bytes, rows * bytes);
    else
        for (size_t b = 0; b < columns; b++)
            copy_each(from + b * bytes, columns * bytes, whole, rest, rows, to + b * rows * bytes, bytes);
}
#endif

static bool transpose(const void *from, size_t bytes, size_t rows, size_t columns, void *to) {
    if (bytes == 4 && rows >= LANES_u32 && columns >= LANES_u32) {
        transpose_u32(from, rows, columns, to);
        return true;
    }
    if (bytes == 8 && rows >= LANES_u64 && columns >= LANES_u64) {
        transpose_u64(from, rows, columns, to);
        return true;
    }
#if defined(__AVX512BW__)
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)
        return turn(from, bytes, rows, columns, to);
    if (bytes == 16 && rows >= 4 && columns >= 4) {
        transpose_128(from, rows, columns, to);
        return true;
    }
    if (bytes > 64) {
        turn_blocks(from, bytes, rows, columns, to);
        return true;
    }
#endif
    return false;
}

#endif
