/* The fold of argmin and argmax: the extremum of each block at the speed of min and max; only the block that holds the
 * best is searched for its place, once, at the end. Included in pairs.h. */

/* A block's extremum costs a few dozen cycles besides its reading, and the one search half a block. */
enum { NAME(BLOCK) = 16384 / sizeof(E_T), NAME(STRIP) = 256 / sizeof(E_T) };

/* Where the value stands first in the block (NaN: the first NaN); it does stand there. */
ALWAYS_INLINE size_t NAME(place_of)(const E_T *x, size_t n, L_T value) {
    size_t i = 0;
    for (; i + NAME(STRIP) <= n; i += NAME(STRIP)) {
        unsigned found = 0;
        for (size_t k = 0; k < NAME(STRIP); k++) {
            const L_T v = LOAD_ONE(x + i + k);
            found |= (v == value) | (IS_NAN(v) & IS_NAN(value));
        }
        if (found)
            break;
    }
    for (; i < n; i++) {
        const L_T v = LOAD_ONE(x + i);
        if (v == value || (IS_NAN(v) && IS_NAN(value)))
            break;
    }
    return i;
}

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    if (n == 0)
        return acc;
    A_T best = NAME(identity_of)(m);
    size_t best_block = 0;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        size_t block = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        L_T value = m == TALLY_MONOID_argmin ? fold_values_VALUE_min(x + done, x + done, block, best.c0)
                                             : fold_values_VALUE_max(x + done, x + done, block, best.c0);
        bool better = m == TALLY_MONOID_argmin ? value < best.c0 : value > best.c0;
        if (better || (IS_NAN(value) && !IS_NAN(best.c0))) {
            best.c0 = value;
            best_block = done;
        }
    }
    size_t length = n - best_block < NAME(BLOCK) ? n - best_block : (size_t)NAME(BLOCK);
    best.c1 = (int64_t)(index + best_block + NAME(place_of)(x + best_block, length, best.c0));
    return NAME(combine)(m, acc, best);
}
#define FOLD NAME(fold_in_blocks)
