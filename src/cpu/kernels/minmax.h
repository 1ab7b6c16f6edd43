/* The fold of minmax: a minimum and a maximum of each block, the second from the first-level cache. Included in
 * pairs.h. */

enum { NAME(BLOCK) = 8192 / sizeof(E_T) };

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)m, (void)index;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        size_t block = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        acc.c0 = PASTE4(fold_values_, EXTREMA, _, min)(x + done, x + done, block, acc.c0);
        acc.c1 = PASTE4(fold_values_, EXTREMA, _, max)(x + done, x + done, block, acc.c1);
    }
    return acc;
}
#define FOLD NAME(fold_in_blocks)
#if ELEMENT_IS_FLOAT
#define FOLD_FROM 8 /* of integers the compiler makes vectors one by one, too (31 i64: 5.9 ns, in blocks 10.9) */
#endif

/* The smallest and the largest of some columns apart, from the cache the second time. */
ALWAYS_INLINE void NAME(fold_strips)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                     uint64_t index, A_T *acc) {
    enum { COLUMNS = 256, ROWS = 32, FEW = ELEMENT_IS_FLOAT ? 3 : 6 };
    if (rows <= FEW) { /* one by one and apart: of 3 and 6 i32 0.08, 0.07 and 0.11, 0.08, of 4 f32 0.12 and 0.11 */
        NAME(fold_columns_one_by_one)(m, x, rows, width, stride, index, acc);
        return;
    }
    for (size_t j = 0, columns; j < width; j += columns) {
        L_T low[COLUMNS], high[COLUMNS];
        columns = width - j < COLUMNS ? width - j : (size_t)COLUMNS;
        for (size_t r = 0, count; r < rows; r += count) {
            const E_T *const from = x + r * stride + j;
            count = rows - r < ROWS ? rows - r : (size_t)ROWS;
            PASTE4(fold_block_, EXTREMA, _, min)
            (from, from, count, columns, stride, r == 0 ? TALLY_CPU_NOTHING : TALLY_CPU_SOME, low);
            PASTE4(fold_block_, EXTREMA, _, max)
            (from, from, count, columns, stride, r == 0 ? TALLY_CPU_NOTHING : TALLY_CPU_SOME, high);
        }
        for (size_t l = 0; l < columns; l++)
            acc[j + l] = NAME(combine)(m, acc[j + l], (A_T){low[l], high[l]});
    }
}
#define FOLD_COLUMNS NAME(fold_strips)

/* Prefixes. Blocks that change nothing, as most do far behind a group's beginning, are seen by their fold. */
ALWAYS_INLINE A_T NAME(prefixes_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, bool reverse,
                                           bool exclusive, A_T acc, A_T *prefixes) {
    enum { FEW = 32, MOST = 128, FAR_BEHIND = 16 * MOST };
    for (size_t done = 0, count; done < n; done += count) {
        count = n - done < MOST ? n - done : MOST;
        const size_t at = reverse ? n - done - count : done;
        bool changes = count < FEW || index + at < FAR_BEHIND;
        if (!changes) {
            const A_T after = NAME(fold_in_blocks)(m, x + at, count, index, acc);
            changes = memcmp(&after, &acc, sizeof acc) != 0;
        }
        if (changes)
            acc = NAME(prefixes_by_table)(m, x + at, count, index, reverse, exclusive, acc, prefixes + at);
        else
            for (size_t i = 0; i < count; i++)
                prefixes[at + i] = acc;
    }
    return acc;
}
#define PREFIXES NAME(prefixes_in_blocks)
