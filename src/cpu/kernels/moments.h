/* The fold of the moments, in blocks that stay in the first cache and are combined by the table's formula. Included in
 * pairs.h.
 *
 * Narrow integers: their sum and sum of squares are integers, so a block's deviations are exact. Everything else: one
 * pass over the differences d from a shift near the mean, M2 = sum(d^2) - sum(d)^2 / n. The shift is the mean so far;
 * where it turns out to be far off, so that the subtraction would cancel, the block is passed once more with its own
 * mean as the shift (the two-pass algorithm). */

enum { NAME(BLOCK) = 4096 };

#if !ELEMENT_IS_FLOAT && ELEMENT_BITS <= 16
ALWAYS_INLINE A_T NAME(block)(const E_T *x, size_t n, s_f64 shift, bool far) {
    (void)shift, (void)far;
    const int64_t count = (int64_t)n;
    const int64_t sum = (int64_t)fold_values_SUM_sum(x, x, n, 0);
    const int64_t squares = (int64_t)fold_values_SQUARE_sumsq(x, x, n, 0);
    /* at most 2^12 * 2^12 * 2^32 */
    const int64_t deviations = count * squares - sum * sum;
    return (A_T){(s_f64)n, (s_f64)sum / (s_f64)n, (s_f64)deviations / (s_f64)n};
}
#else

#define D_T           PASTE2(s_, DEVIATION_LANE)
#define D_V           PASTE2(v_, DEVIATION_LANE)
#define D_LANES       LANES_OF(D_T)
#define D_LOAD(p)     PASTE4(load_, DEVIATION_LANE, _from_, ELEMENT)(p)
#define D_LOAD_ONE(p) PASTE4(scalar_, DEVIATION_LANE, _from_, ELEMENT)(*(p))

/* Sums of d and of its square. */
ALWAYS_INLINE void NAME(deviations)(const E_T *x, size_t n, D_T shift, bool far, s_f64 *sum, s_f64 *squares) {
    D_V first[4], second[4];
    const D_V shifts = (D_V){0} + shift;
    UNROLL_8 for (int j = 0; j < 4; j++) first[j] = second[j] = (D_V){0};
    size_t i = 0;
    for (; i + 4 * D_LANES <= n; i += 4 * D_LANES) {
        if (far)
            fetch_bytes((const char *)(x + i) + FETCH_AHEAD, 4 * D_LANES * sizeof(E_T));
        UNROLL_8 for (int j = 0; j < 4; j++) {
            D_V d = D_LOAD(x + i + (size_t)j * D_LANES) - shifts;
            first[j] += d;
            second[j] = PASTE2(add_product_, DEVIATION_LANE)(second[j], d, d);
        }
    }
    for (; i + D_LANES <= n; i += D_LANES) {
        D_V d = D_LOAD(x + i) - shifts;
        first[0] += d;
        second[0] = PASTE2(add_product_, DEVIATION_LANE)(second[0], d, d);
    }
    first[0] += first[1] + (first[2] + first[3]);
    second[0] += second[1] + (second[2] + second[3]);
    for (size_t l = 0; l < D_LANES; l++) {
        *sum += first[0][l];
        *squares += second[0][l];
    }
    for (; i < n; i++) {
        D_T d = D_LOAD_ONE(x + i) - shift;
        *sum += d;
        *squares += d * d;
    }
}

ALWAYS_INLINE A_T NAME(block)(const E_T *x, size_t n, s_f64 shift, bool far) {
    for (int pass = 0;; pass++) {
        s_f64 sum = 0, squares = 0;
        const D_T near = (D_T)shift;
        NAME(deviations)(x, n, near, far, &sum, &squares);
        const s_f64 off = sum / (s_f64)n, m2 = squares - sum * off;
        /* a NaN or infinity among the elements is there in every pass */
        if (pass > 0 || !(squares > 8 * m2))
            return (A_T){(s_f64)n, near + off, m2 < 0 ? 0 : m2};
        shift = near + off;
    }
}
#undef D_T
#undef D_V
#undef D_LANES
#undef D_LOAD
#undef D_LOAD_ONE
#endif

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    const bool far = n * sizeof(E_T) >= FAR_BYTES;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        size_t length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        s_f64 shift = acc.c0 > 0 && acc.c1 - acc.c1 == 0 ? acc.c1 : (s_f64)LOAD_ONE(x + done);
        acc = NAME(combine)(m, acc, NAME(block)(x + done, length, shift, far));
    }
    return acc;
}
#define FOLD NAME(fold_in_blocks)
