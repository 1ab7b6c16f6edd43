/* The folds of sums of several words. Included in pairs.h.
 *
 * Vectors take what is added in halves of 32 bits, so that 2^32 elements cannot overflow a lane and no lane carries
 * into another. Signed elements enter with their sign bit flipped, that is, larger by 2^63, which is subtracted at the
 * end. */

enum { NAME(BLOCK) = 1 << 30 };

#define LANES   LANES_OF(s_u64)
#define LOAD(p) PASTE4(load_, LANE, _from_, ELEMENT)(p)

/* of[k] has the weight 2^shift, of k as below. */
#ifdef C2
enum { NAME(SUMS) = 6 };
static const unsigned NAME(shifts)[NAME(SUMS)] = {0, 32, 33, 65, 64, 96};
#else
enum { NAME(SUMS) = 2 };
static const unsigned NAME(shifts)[NAME(SUMS)] = {0, 32};
#endif

typedef struct NAME(sums) {
    v_u64 of[NAME(SUMS)];
} NAME(sums);

ALWAYS_INLINE void NAME(add_word)(v_u64 *low, v_u64 *high, v_u64 word) {
    *low += word & ((v_u64){0} + UINT32_MAX);
    *high += word >> 32;
}

ALWAYS_INLINE void NAME(add_lanes)(tally_monoid m, NAME(sums) * s, PASTE2(v_, LANE) x) {
    (void)m;
#ifdef C2 /* (h 2^32 + l)^2 = h h 2^64 + h l 2^33 + l l */
    const v_u64 magnitude = ELEMENT_IS_SIGNED ? magnitude_u64((v_u64)x) : (v_u64)x;
    const v_u64 l = magnitude & ((v_u64){0} + UINT32_MAX), h = magnitude >> 32;
    NAME(add_word)(&s->of[0], &s->of[1], product_u64(l, l));
    NAME(add_word)(&s->of[2], &s->of[3], product_u64(h, l));
    NAME(add_word)(&s->of[4], &s->of[5], product_u64(h, h));
#else
    const v_u64 flip = (v_u64){0} + ((uint64_t)ELEMENT_IS_SIGNED << 63);
#if ELEMENT_BITS <= 32
    if (m == TALLY_MONOID_wide_sumsq) {
        NAME(add_word)(&s->of[0], &s->of[1], (v_u64)PASTE2(product_, LANE)(x, x));
        return;
    }
#endif
    NAME(add_word)(&s->of[0], &s->of[1], (v_u64)x ^ flip);
#endif
}

/* Adds sum * 2^shift. */
ALWAYS_INLINE A_T NAME(add_shifted)(tally_monoid m, A_T acc, uint64_t sum, unsigned shift) {
    s_u64 words[4] = {0};
    A_T term;
    words[shift / 64] = sum << shift % 64;
    words[shift / 64 + 1] = shift % 64 ? sum >> (64 - shift % 64) : 0;
    memcpy(&term, words, sizeof term);
    return NAME(combine)(m, acc, term);
}

/* Subtracts what flipping the signs of n elements has added. */
ALWAYS_INLINE A_T NAME(unflip)(tally_monoid m, A_T acc, uint64_t n) {
    if (!ELEMENT_IS_SIGNED || m != TALLY_MONOID_wide_sum)
        return acc;
    const uint64_t low = 0 - (n << 63);
    return NAME(combine)(m, acc, (A_T){.c0 = low, .c1 = 0 - (n >> 1) - (low != 0)});
}

ALWAYS_INLINE A_T NAME(block)(tally_monoid m, const E_T *x, size_t n, A_T acc) {
    const bool far = n * sizeof(E_T) >= FAR_BYTES;
    const size_t whole = n - n % (2 * LANES);
    NAME(sums) s[2] = {{{(v_u64){0}}}};
    for (size_t i = 0; i < whole; i += 2 * LANES) {
        if (far)
            fetch_bytes((const char *)(x + i) + FETCH_AHEAD, 2 * LANES * sizeof(E_T));
        NAME(add_lanes)(m, &s[0], LOAD(x + i));
        NAME(add_lanes)(m, &s[1], LOAD(x + i + LANES));
    }
    for (int k = 0; k < NAME(SUMS); k++) {
        const v_u64 both = s[0].of[k] + s[1].of[k];
        uint64_t sum = 0;
        for (size_t l = 0; l < LANES; l++)
            sum += both[l];
        acc = NAME(add_shifted)(m, acc, sum, NAME(shifts)[k]);
    }
    return NAME(fold_one_by_one)(m, x + whole, n - whole, 0, NAME(unflip)(m, acc, whole));
}

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    for (size_t done = 0, length; done < n; done += length) {
        length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
#if ELEMENT_BITS == 32 /* 64 bits hold the sum of a block */
        if (m == TALLY_MONOID_wide_sum) {
            const L_T sum = fold_values_SUM_sum(x + done, x + done, length, 0);
            acc = NAME(combine)(m, acc, NAME(lift)(m, sum, 0));
            continue;
        }
#elif ELEMENT_BITS == 16
        if (m == TALLY_MONOID_wide_sumsq) {
            acc = NAME(add_shifted)(m, acc, (s_u64)fold_values_SQUARE_sumsq(x + done, x + done, length, 0), 0);
            continue;
        }
#endif
        acc = NAME(block)(m, x + done, length, acc);
    }
    return acc;
}
#define FOLD NAME(fold_in_blocks)

/* Shorter runs: 64 bits hold the sum of a few. */
ALWAYS_INLINE A_T NAME(fold_few)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
#if ELEMENT_BITS <= 32
    const bool squares = m == TALLY_MONOID_wide_sumsq;
    if (!squares || ELEMENT_BITS == 16) {
        L_T sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += squares ? (L_T)LOAD_ONE(x + k) * LOAD_ONE(x + k) : LOAD_ONE(x + k);
        A_T few = NAME(lift)(TALLY_MONOID_wide_sum, sum, 0);
        return NAME(combine)(m, acc, few);
    }
#endif
    return NAME(fold_one_by_one)(m, x, n, index, acc);
}
#define FOLD_FEW NAME(fold_few)

/* As many columns as VECTORS have lanes. */
enum { NAME(VECTORS) = NAME(SUMS) == 2 ? 4 : 1 };

ALWAYS_INLINE void NAME(fold_strip)(tally_monoid m, const E_T *x, size_t rows, size_t stride, A_T *acc) {
    enum { STRIP_AHEAD = 1024 };
    NAME(sums) s[NAME(VECTORS)] = {{{(v_u64){0}}}};
    for (size_t r = 0; r < rows; r++) {
        /* The processor does not see that the next strips continue each row. */
        fetch_bytes((const char *)(x + r * stride) + STRIP_AHEAD, NAME(VECTORS) * LANES * sizeof(E_T));
        UNROLL_8 for (int v = 0; v < NAME(VECTORS); v++)
            NAME(add_lanes)(m, &s[v], LOAD(x + r * stride + (size_t)v * LANES));
    }
    for (int v = 0; v < NAME(VECTORS); v++)
        for (size_t l = 0; l < LANES; l++) {
            A_T *own = acc + (size_t)v * LANES + l;
            for (int k = 0; k < NAME(SUMS); k++)
                *own = NAME(add_shifted)(m, *own, s[v].of[k][l], NAME(shifts)[k]);
            *own = NAME(unflip)(m, *own, rows);
        }
}

/* Rows that stay in the second cache until all columns have taken them. */
ALWAYS_INLINE void NAME(fold_strips)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                     uint64_t index, A_T *acc) {
    enum { STRIP = 256, LEAST_ROWS = 4, STEP = NAME(VECTORS) * LANES };
    for (size_t r = 0, height; r < rows; r += height, x += height * stride) {
        height = rows - r < STRIP ? rows - r : (size_t)STRIP;
        size_t j = 0;
        for (; height >= LEAST_ROWS && j + STEP <= width; j += STEP)
            NAME(fold_strip)(m, x + j, height, stride, acc + j);
        NAME(fold_columns_one_by_one)(m, x + j, height, width - j, stride, index, acc + j);
    }
}
#define FOLD_COLUMNS NAME(fold_strips)
#undef LANES
#undef LOAD
