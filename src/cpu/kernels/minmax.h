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
