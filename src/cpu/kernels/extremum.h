/* Minimum and maximum of floats without the cost of NaN. The comparisons pass over NaN; a test of two vectors at a time
 * finds whether there was one, and makes the result NaN at the end. They also take -0 and +0 for equal, so strict
 * kernels fold again what gave a zero. Included in fold.h for the class VALUE of floats (FAST_FOLD). */

ALWAYS_INLINE L_V NAME(extreme)(tally_monoid m, L_V x, L_V running) {
    return m == TALLY_MONOID_min ? PASTE2(smaller_, LANE)(x, running) : PASTE2(larger_, LANE)(x, running);
}

/* The answers are collected in separate variables, because each waits for the one before. */
ALWAYS_INLINE A_T NAME(extremum)(tally_monoid m, const E_T *x, size_t n, A_T acc) {
    const size_t rounds = n / (8 * LANES);
    L_V lanes[8];
    ordered_lanes ordered[4] = {all_ordered, all_ordered, all_ordered, all_ordered};
    UNROLL_8 for (int j = 0; j < 8; j++) lanes[j] = SPLAT(NAME(identity_of)(m));
    for (size_t i = 0; i < rounds; i++, x += 8 * LANES) {
        UNROLL_8 for (int j = 0; j < 8; j += 2) {
            L_V first = LOAD(x + j * LANES), second = LOAD(x + (j + 1) * LANES);
            LOADED_ONCE(first);
            LOADED_ONCE(second);
            ordered[j / 2] = PASTE2(ordered_, LANE)(ordered[j / 2], first, second);
            lanes[j] = NAME(extreme)(m, first, lanes[j]);
            lanes[j + 1] = NAME(extreme)(m, second, lanes[j + 1]);
            IN_ORDER(x);
        }
    }
    if (rounds) {
        UNROLL_8 for (int j = 1; j < 8; j++) lanes[0] = NAME(extreme)(m, lanes[j], lanes[0]);
        ordered[0] = ordered[0] & ordered[1] & ordered[2] & ordered[3];
        n %= 8 * LANES;
    }
    for (; n >= LANES; n -= LANES, x += LANES) {
        L_V next = LOAD(x);
        LOADED_ONCE(next);
        ordered[0] = PASTE2(ordered_, LANE)(ordered[0], next, next);
        lanes[0] = NAME(extreme)(m, next, lanes[0]);
    }
    if (n) {
        const L_V last = NAME(last_elements)(m, x, x, n);
        ordered[0] = PASTE2(ordered_, LANE)(ordered[0], last, last);
        lanes[0] = NAME(extreme)(m, last, lanes[0]);
    }
    UNROLL_8 for (size_t bytes = VECTOR_BYTES / 2; bytes >= sizeof(L_T); bytes /= 2) lanes[0] =
        NAME(extreme)(m, (L_V)swapped_parts((v_u8)lanes[0], bytes), lanes[0]);
    return has_no_nan(ordered[0], LANES) ? NAME(combine_acc)(m, acc, (A_T)lanes[0][0]) : NAN;
}

ALWAYS_INLINE size_t NAME(fast_fold)(tally_monoid m, const E_T *x, const E_T *y, size_t n, A_T *acc) {
    const A_T found = NAME(extremum)(m, x, n, *acc);
    *acc = IS_STRICT && found == 0 ? NAME(fold_lanes)(m, x, y, n, *acc) : found;
    return n;
}
