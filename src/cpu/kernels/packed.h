/* Folds of integers that are narrower than their accumulators, without the cost of widening: whole vectors of elements
 * are taken at once. fold.h includes it (FAST_FOLD) through packed_sum.h and packed_square.h, which define how: a
 * vector of elements is added to NAME(sums), in at most PACKED_FLUSH steps. These are a vector, or the split sums of
 * the type PACKED_SPLIT. */

enum { NAME(PACKED_FLUSH) = 1 << 14 }; /* and one more */

#ifdef PACKED_SPLIT
ALWAYS_INLINE void NAME(join)(NAME(sums) * sums, const NAME(sums) * other) {
    PASTE2(split_join_, PACKED_SPLIT)(sums, other);
}
ALWAYS_INLINE v_u64 NAME(wide)(const NAME(sums) * sums) {
    return PASTE2(split_wide_, PACKED_SPLIT)(sums);
}
#else
ALWAYS_INLINE void NAME(join)(NAME(sums) * sums, const NAME(sums) * other) {
    *sums += *other;
}
ALWAYS_INLINE v_u64 NAME(wide)(const NAME(sums) * sums) {
    if (sizeof(*sums)[0] == sizeof(uint64_t))
        return (v_u64)*sums;
    return _Generic((*sums)[0], s_i32 : pairs_i32, default : pairs_u32)((v_u32)*sums);
}
#endif

/* The last elements are a vector with zeros behind them. */
ALWAYS_INLINE A_T NAME(fold_packed)(tally_monoid m, const E_T *x, const E_T *y, size_t n, A_T acc) {
    const size_t step = VECTOR_BYTES / sizeof(E_T), y_step = m == TALLY_MONOID_dot ? step : 0;
    const bool far = n * sizeof(E_T) >= FAR_BYTES;
    while (n) {
        size_t count = n / step < NAME(PACKED_FLUSH) ? n / step : (size_t)NAME(PACKED_FLUSH), i = 0;
        const NAME(sums) none = {0};
        NAME(sums) s[4];
        UNROLL_8 for (size_t j = 0; j < 4; j++) s[j] = none;
        for (; i + 4 <= count; i += 4, x += 4 * step, y += 4 * y_step) {
            if (far)
                fetch_bytes((const char *)x + FETCH_AHEAD, 4 * VECTOR_BYTES);
            UNROLL_8 for (size_t j = 0; j < 4; j++) NAME(take)(m, &s[j], x + j * step, y + j * y_step);
        }
        for (; i < count; i++, x += step, y += y_step)
            NAME(take)(m, &s[0], x, y);
        n -= count * step;
        if (n && n < step) {
            E_T own[2][VECTOR_BYTES / sizeof(E_T)];
            load_bytes(x, n * sizeof(E_T), own[0]);
            if (m == TALLY_MONOID_dot)
                load_bytes(y, n * sizeof(E_T), own[1]);
            NAME(take)(m, &s[1], own[0], own[1]);
            n = 0;
            count++;
        }
        NAME(join)(&s[0], &s[1]);
        NAME(join)(&s[2], &s[3]);
        NAME(join)(&s[0], &s[2]);
        acc += (A_T)total_u64(NAME(wide)(&s[0])) - (A_T)(count * step) * PACKED_BIAS(m);
    }
    return acc;
}

ALWAYS_INLINE size_t NAME(fast_fold)(tally_monoid m, const E_T *x, const E_T *y, size_t n, A_T *acc) {
    if (!NAME(is_packed)(m))
        return 0;
    *acc = NAME(fold_packed)(m, x, y, n, *acc);
    return n;
}
#undef PACKED_BIAS
#undef PACKED_SPLIT
