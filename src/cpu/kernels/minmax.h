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
