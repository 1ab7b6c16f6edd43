/* The fold of logsumexp. It finds the largest value of each block first, so that every element costs one exponential.
 * Included in pairs.h. */

enum { NAME(BLOCK) = 1024 };

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        size_t length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        A_T block = NAME(identity_of)(m);
        block.c0 = (s_f64)fold_values_VALUE_max(x + done, x + done, length, PASTE2(LOWEST_, VALUE_LANE));
        for (size_t i = 0; i < length; i++) {
            const s_f64 value = LOAD_ONE(x + done + i);
            block.c1 += value == block.c0 ? 1 : exp(value - block.c0);
        }
        acc = NAME(combine)(m, acc, block);
    }
    return acc;
}
#define FOLD NAME(fold_in_blocks)
