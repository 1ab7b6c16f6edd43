/* The fold of the number, the sum and the sum of squares of integers: by the folds of both sums, over pieces that stay
 * in the first cache. Included in pairs.h. */

ALWAYS_INLINE A_T NAME(piece)(const E_T *x, size_t n) {
#if ELEMENT_BITS == 8 /* 64 bits hold both sums */
    A_T piece = NAME(lift)(TALLY_MONOID_wide_moments, (L_T)fold_values_SUM_sum(x, x, n, 0), 0);
    piece.c3 = (s_u64)fold_values_SQUARE_sumsq(x, x, n, 0);
    piece.c4 = 0;
#else
    const acc_INTEGERS2 sum = fold_values_INTEGERS2_wide_sum(x, n, 0, (acc_INTEGERS2){0});
#if ELEMENT_BITS == 64
    const acc_INTEGERS3 squares = fold_values_INTEGERS3_widest_sumsq(x, n, 0, (acc_INTEGERS3){0});
    const s_u64 highest = squares.c2;
#else
    const acc_INTEGERS2 squares = fold_values_INTEGERS2_wide_sumsq(x, n, 0, (acc_INTEGERS2){0});
    const s_u64 highest = 0;
#endif
    A_T piece = {.c1 = sum.c0, .c2 = sum.c1, .c3 = squares.c0, .c4 = squares.c1, .c5 = highest};
#endif
    piece.c0 = n;
    return piece;
}

ALWAYS_INLINE A_T NAME(fold_pieces)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    enum { PIECE = 16384 / sizeof(E_T) };
    (void)index;
    for (size_t done = 0; done < n; done += PIECE)
        acc = NAME(combine)(m, acc, NAME(piece)(x + done, n - done < PIECE ? n - done : PIECE));
    return acc;
}
#define FOLD NAME(fold_pieces)
