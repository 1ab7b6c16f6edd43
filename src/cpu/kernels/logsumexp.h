/* The fold of logsumexp. It finds the largest value of each block first, so that every element costs one exponential.
 * Floats of up to 32 bits take theirs in f32; integers look up e^-d of their distance d from the largest. Included in
 * pairs.h. */

enum {
    NAME(BLOCK) = 1024,
    NAME(BLOCK_ROWS) = 64 /* of columns: one combination for so many exponentials */
};

/* Values are compared as K_T, and their exponentials are F_T. Both have as many lanes. */
#define K_T PASTE2(s_, VALUE_LANE)
#define K_V PASTE2(v_, VALUE_LANE)
#if ELEMENT_IS_FLOAT
#define F_LANE VALUE_LANE
#define F_SUM  horizontal_SUM
#define F_EXP  PASTE2(shifted_exp_, VALUE_LANE)
/* x is at most m, which is finite or NaN. */
#define F_EXP_NEAR(x, m) PASTE2(exp_, VALUE_LANE)((x) - (m))
#define F_IS_INFINITE(m) __builtin_isinf(m)
/* The larger one, which passes NaNs over: one instruction instead of three. The sums show them. */
#define F_LARGER               PASTE2(larger_, VALUE_LANE)
#define F_OR_NAN(largest, sum) ((largest) + ((sum) - (sum)))
#else
#define F_LANE                 f64
#define F_SUM                  horizontal_F64
#define F_EXP                  integer_exp
#define F_EXP_NEAR             integer_exp
#define F_IS_INFINITE(m)       false
#define F_LARGER               PASTE2(max_, VALUE_LANE)
#define F_OR_NAN(largest, sum) (largest)
#endif
#define F_T       PASTE2(s_, F_LANE)
#define F_V       PASTE2(v_, F_LANE)
#define F_LANES   LANES_OF(F_T)
#define F_LOAD(p) PASTE4(load_, VALUE_LANE, _from_, ELEMENT)(p)

/* The sum of exp(x - largest), of at most BLOCK elements. */
ALWAYS_INLINE s_f64 NAME(sum_exp)(const E_T *x, size_t n, K_T largest) {
    const K_V m = largest - (K_V){0};
    F_V sum[2] = {{0}, {0}};
    size_t i = 0;
    if (F_IS_INFINITE(largest)) /* and so is the result, whatever the sum */
        return (s_f64)n;
    for (; i + 2 * F_LANES <= n; i += 2 * F_LANES) {
        sum[0] += F_EXP_NEAR(F_LOAD(x + i), m);
        sum[1] += F_EXP_NEAR(F_LOAD(x + i + F_LANES), m);
    }
    if (i + F_LANES <= n) {
        sum[0] += F_EXP_NEAR(F_LOAD(x + i), m);
        i += F_LANES;
    }
    if (i < n) {
        E_T rest[F_LANES];
        load_bytes(x + i, (n - i) * sizeof(E_T), rest);
        sum[1] += PASTE2(first_lanes_, F_LANE)(F_EXP_NEAR(F_LOAD(rest), m), n - i);
    }
    return F_SUM(TALLY_MONOID_sum, sum[0] + sum[1]);
}

/* The largest element so far serves a block that has none above it, as most have. */
ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    K_T largest = PASTE4(scalar_, VALUE_LANE, _from_, ELEMENT)(x[0]);
    s_f64 sum = 0;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        const size_t length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        const s_f64 before = (s_f64)largest;
        largest = fold_values_VALUE_max(x + done, x + done, length, largest);
        if (sum != 0 && before != (s_f64)largest)
            sum *= exp(before - (s_f64)largest);
        sum += NAME(sum_exp)(x + done, length, largest);
    }
    const A_T own = {(s_f64)largest, sum};
    return acc.c1 == 0 ? own : NAME(combine)(m, acc, own);
}

/* ---- columns: the same, side by side ---- */

/* acc[l] = itself combined with a largest element and a sum, for as many columns as a vector of doubles has lanes. */
ALWAYS_INLINE void NAME(combine_lanes)(v_f64 largest, v_f64 sum, A_T *acc) {
    v_f64 low, high;
    memcpy(&low, acc, sizeof low);
    memcpy(&high, (const char *)acc + sizeof low, sizeof high);
    const v_f64 a0 = every_second_f64(low, high, 0), a1 = every_second_f64(low, high, 1);
    if (any_bit((v_u64)a1)) { /* else nothing came before */
        sum = sum_of_exps_f64(a0, a1, largest, sum);
        largest = max_f64(a0, largest);
    }
    low = in_turns_f64(largest, sum, false);
    high = in_turns_f64(largest, sum, true);
    memcpy(acc, &low, sizeof low);
    memcpy((char *)acc + sizeof low, &high, sizeof high);
}

ALWAYS_INLINE void NAME(combine_columns)(const K_T *largest, const F_T *sum, A_T *acc) {
    for (size_t l = 0; l < F_LANES; l += LANES_OF(s_f64))
        NAME(combine_lanes)
    (PASTE2(load_f64_from_, VALUE_LANE)((const PASTE2(e_, VALUE_LANE) *)(largest + l)),
     PASTE2(load_f64_from_, F_LANE)((const PASTE2(e_, F_LANE) *)(sum + l)), acc + l);
}

/* acc[i] = itself combined with other[i]. */
ALWAYS_INLINE void NAME(combine_all)(tally_monoid m, size_t count, const A_T *other, A_T *acc) {
    size_t i = 0;
    for (; i + LANES_OF(s_f64) <= count; i += LANES_OF(s_f64)) {
        v_f64 low, high;
        memcpy(&low, other + i, sizeof low);
        memcpy(&high, (const char *)(other + i) + sizeof low, sizeof high);
        NAME(combine_lanes)(every_second_f64(low, high, 0), every_second_f64(low, high, 1), acc + i);
    }
    for (; i < count; i++) {
        NOT_IN_VECTORS(i);
        acc[i] = NAME(combine)(m, acc[i], other[i]);
    }
}
#define COMBINE_ALL NAME(combine_all)

/* A vector of columns. */
ALWAYS_INLINE void NAME(fold_strip)(const E_T *x, size_t rows, size_t stride, A_T *acc) {
    for (size_t done = 0, count; done < rows; done += count, x += count * stride) {
        count = rows - done < NAME(BLOCK_ROWS) ? rows - done : (size_t)NAME(BLOCK_ROWS);
        K_V largest = F_LOAD(x);
        F_V sum = {0};
        for (size_t r = 1; r < count; r++)
            largest = F_LARGER(F_LOAD(x + r * stride), largest);
        if (count == 1) /* a scan's row */
            sum += 1;
        else
            for (size_t r = 0; r < count; r++)
                sum += F_EXP(F_LOAD(x + r * stride), largest);
        largest = F_OR_NAN(largest, sum);
        K_T largest_of[F_LANES];
        F_T sum_of[F_LANES];
        memcpy(largest_of, &largest, sizeof largest), memcpy(sum_of, &sum, sizeof sum);
        NAME(combine_columns)(largest_of, sum_of, acc);
    }
}

ALWAYS_INLINE void NAME(fold_strips)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                     uint64_t index, A_T *acc) {
    size_t j = 0;
    if (width < F_LANES) {
        NAME(fold_columns_one_by_one)(m, x, rows, width, stride, index, acc);
        return;
    }
    for (; j + F_LANES <= width; j += F_LANES)
        NAME(fold_strip)(x + j, rows, stride, acc + j);
    if (j < width) { /* with columns before them, whose lanes are dropped */
        A_T last[F_LANES];
        const size_t back = width - F_LANES;
        memcpy(last, acc + back, sizeof last);
        NAME(fold_strip)(x + back, rows, stride, last);
        memcpy(acc + j, last + (j - back), (width - j) * sizeof *acc);
    }
}

#undef K_T
#undef K_V
#undef F_LANE
#undef F_T
#undef F_V
#undef F_LANES
#undef F_LOAD
#undef F_EXP
#undef F_EXP_NEAR
#undef F_IS_INFINITE
#undef F_LARGER
#undef F_OR_NAN
#undef F_SUM
#define FOLD         NAME(fold_in_blocks)
#define FOLD_FROM    2
#define FOLD_COLUMNS NAME(fold_strips)
