/* The fold of the third and fourth moments, in blocks that stay in the first cache and are combined by the table's
 * formula. Included in pairs.h.
 *
 * Two passes over a block: one for the mean, one for the sums of the powers of the distances from it. What the mean
 * lost to rounding is known from the sum of these distances, and corrects the others. */

enum { NAME(BLOCK) = 2048, NAME(WAYS) = 8 };

ALWAYS_INLINE A_T NAME(block)(const E_T *x, size_t n) {
    s_f64 sums[NAME(WAYS)] = {0}, powers[4][NAME(WAYS)] = {{0}};
    const s_f64 first = (s_f64)LOAD_ONE(x);
    for (size_t i = 0; i < n; i++)
        sums[i % NAME(WAYS)] += (s_f64)LOAD_ONE(x + i) - first;
    s_f64 sum = 0, p[4] = {0};
    for (int w = 0; w < NAME(WAYS); w++)
        sum += sums[w];
    const s_f64 mean = first + sum / (s_f64)n;
    for (size_t i = 0; i < n; i++) {
        const s_f64 d = (s_f64)LOAD_ONE(x + i) - mean, square = d * d;
        powers[0][i % NAME(WAYS)] += d;
        powers[1][i % NAME(WAYS)] += square;
        powers[2][i % NAME(WAYS)] += square * d;
        powers[3][i % NAME(WAYS)] += square * square;
    }
    for (int k = 0; k < 4; k++)
        for (int w = 0; w < NAME(WAYS); w++)
            p[k] += powers[k][w];
    const s_f64 off = p[0] / (s_f64)n;
    A_T acc = {.c0 = (s_f64)n, .c1 = mean, .c2 = off, .c3 = p[1] - off * p[0]};
    acc.c4 = p[2] - off * (3 * p[1] - 2 * off * p[0]);
    FOR_C5(acc.c5 = p[3] - off * (4 * p[2] - off * (6 * p[1] - 3 * off * p[0]));)
    return acc;
}

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    for (size_t done = 0; done < n; done += NAME(BLOCK))
        acc = NAME(combine)(m, acc, NAME(block)(x + done, n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK)));
    return acc;
}
#define FOLD NAME(fold_in_blocks)
