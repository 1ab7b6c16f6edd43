/* The fold of logsumexp. A float x near the first one counts as e^x 2^-K, and K is the same for all; f32 and narrower
 * ones are computed in f32. If one lies further away, the largest value of each block is found first. So every element
 * costs one exponential there, too. Integers look up e^-d of their distance d from the largest. Included in pairs.h. */

enum {
    NAME(BLOCK) = 1024,
    NAME(BLOCK_ROWS) = 64, /* of columns: one combination for so many exponentials */
    /* Fewer have their largest found: a centre takes some 15 ns (f32 in rows of 100 0.9 of the time so, of 300 1.07).
     */
    NAME(LEAST_NEAR) = 256,
    NAME(LEAST_NEAR_ROWS) = 16
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
ALWAYS_INLINE A_T NAME(fold_apart)(const E_T *x, size_t n) {
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
    return (A_T){(s_f64)largest, sum};
}

#if ELEMENT_IS_FLOAT
#define F_SEEN    PASTE2(octaves_, F_LANE)
#define F_NEAR(x) PASTE2(exp_about_, F_LANE)(F_LARGER(lowest, x), magic, &seen)

/* The sum of e^x 2^-octaves, of at most BLOCK elements; NaN if one is far above or not a number. */
ALWAYS_INLINE s_f64 NAME(sum_near)(const E_T *x, size_t n, s_f64 octaves) {
    const F_V zero = {0}, magic = zero + (F_T)(PASTE2(EXP_MAGIC_, F_LANE) - EXP_UNITS * octaves),
              lowest = zero + (F_T)((octaves - LOST_OCTAVES) * LN2);
    F_V sum[2] = {{0}, {0}};
    F_SEEN seen = {0};
    size_t i = 0;
    if (!(octaves <= PASTE2(MOST_OCTAVES_, F_LANE) && -octaves <= PASTE2(MOST_OCTAVES_, F_LANE)))
        return (s_f64)NAN;
    for (; i + 2 * F_LANES <= n; i += 2 * F_LANES) {
        sum[0] += F_NEAR(F_LOAD(x + i));
        sum[1] += F_NEAR(F_LOAD(x + i + F_LANES));
    }
    if (i + F_LANES <= n) {
        sum[0] += F_NEAR(F_LOAD(x + i));
        i += F_LANES;
    }
    if (i < n) {
        E_T rest[F_LANES];
        const F_SEEN before = seen;
        load_bytes(x + i, (n - i) * sizeof(E_T), rest);
        sum[1] += PASTE2(first_lanes_, F_LANE)(F_NEAR(F_LOAD(rest)), n - i);
        seen = before | (F_SEEN)PASTE2(first_lanes_, F_LANE)((F_V)seen, n - i);
    }
    return PASTE2(OCTAVES_SEEN_, F_LANE)(seen) ? (s_f64)NAN : F_SUM(TALLY_MONOID_sum, sum[0] + sum[1]);
}

/* False, and nothing is done, where an element is not finite, or too large for a centre. */
ALWAYS_INLINE bool NAME(fold_near)(const E_T *x, size_t n, A_T *acc) {
    s_f64 octaves = nearest_octave(x[0]), sum = 0;
    bool again = false;
    for (size_t done = 0; done < n;) {
        const size_t length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        const s_f64 own = NAME(sum_near)(x + done, length, octaves);
        if (own == own) {
            sum += own;
            done += length;
            again = false;
            continue;
        }
        if (again)
            return false;
        const s_f64 before = octaves;
        octaves = nearest_octave(fold_values_VALUE_max(x + done, x + done, length, x[done]));
        sum = sum == 0 ? 0 : sum * exp((before - octaves) * LN2);
        again = true;
    }
    v_f64 sums = (v_f64){0} + sum;
    acc->c0 = centres_of_octaves((v_f64){0} + octaves, &sums)[0];
    acc->c1 = sums[0];
    return true;
}
#endif

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    A_T own;
#if ELEMENT_IS_FLOAT
    if (n < NAME(LEAST_NEAR) || !NAME(fold_near)(x, n, &own))
#endif
        own = NAME(fold_apart)(x, n);
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

/* 'largest' may be octaves. */
ALWAYS_INLINE void NAME(combine_columns)(K_V largest, F_V sum, bool are_octaves, A_T *acc) {
    K_T largest_of[F_LANES];
    F_T sum_of[F_LANES];
    memcpy(largest_of, &largest, sizeof largest), memcpy(sum_of, &sum, sizeof sum);
    for (size_t l = 0; l < F_LANES; l += LANES_OF(s_f64)) {
        v_f64 centres = PASTE2(load_f64_from_, VALUE_LANE)((const PASTE2(e_, VALUE_LANE) *)(largest_of + l)),
              sums = PASTE2(load_f64_from_, F_LANE)((const PASTE2(e_, F_LANE) *)(sum_of + l));
        if (are_octaves)
            centres = centres_of_octaves(centres, &sums);
        NAME(combine_lanes)(centres, sums, acc + l);
    }
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

#if ELEMENT_IS_FLOAT
/* A vector of columns. False, and nothing is done, if an element is far above the first of its column, or not finite.
 */
ALWAYS_INLINE bool NAME(fold_near_strip)(const E_T *x, size_t rows, size_t stride, A_T *acc) {
    const F_V zero = {0}, octaves = PASTE2(nearest_octaves_, F_LANE)(F_LOAD(x)),
              most = zero + PASTE2(MOST_OCTAVES_, F_LANE),
              magic = PASTE2(EXP_MAGIC_, F_LANE) - (F_T)EXP_UNITS * octaves,
              lowest = (octaves - (F_T)LOST_OCTAVES) * (F_T)LN2;
    F_V sum = zero;
    F_SEEN seen = {0};
    for (size_t r = 0; r < rows; r++) {
        __builtin_prefetch(x + r * stride + 2 * F_LANES); /* rows off a line have read the next one already */
        sum += F_NEAR(F_LOAD(x + r * stride));
    }
    if (PASTE2(OCTAVES_SEEN_, F_LANE)(seen) || any_bit((v_u64) ~((octaves <= most) & (-octaves <= most))))
        return false;
    NAME(combine_columns)(octaves, sum, true, acc);
    return true;
}
#endif

/* A vector of columns. */
ALWAYS_INLINE void NAME(fold_strip)(const E_T *x, size_t rows, size_t stride, A_T *acc) {
    for (size_t done = 0, count; done < rows; done += count, x += count * stride) {
        count = rows - done < NAME(BLOCK_ROWS) ? rows - done : (size_t)NAME(BLOCK_ROWS);
#if ELEMENT_IS_FLOAT
        if (count >= NAME(LEAST_NEAR_ROWS) && NAME(fold_near_strip)(x, count, stride, acc))
            continue;
#endif
        K_V largest = F_LOAD(x);
        F_V sum = {0};
        for (size_t r = 1; r < count; r++)
            largest = F_LARGER(F_LOAD(x + r * stride), largest);
        if (count == 1) /* a scan's row */
            sum += 1;
        else
            for (size_t r = 0; r < count; r++)
                sum += F_EXP(F_LOAD(x + r * stride), largest);
        NAME(combine_columns)(F_OR_NAN(largest, sum), sum, false, acc);
    }
}

ALWAYS_INLINE void NAME(fold_strips)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                     uint64_t index, A_T *acc) {
    if (width < F_LANES) {
        NAME(fold_columns_one_by_one)(m, x, rows, width, stride, index, acc);
        return;
    }
    for (size_t j = 0; j < width; j += F_LANES) {
        A_T last[F_LANES], *to = acc + j;
        const size_t from = j + F_LANES <= width ? j : width - F_LANES;
        if (from < j) /* with columns before them, whose lanes are dropped */
            to = memcpy(last, acc + from, sizeof last);
        NAME(fold_strip)(x + from, rows, stride, to);
        if (from < j)
            memcpy(acc + j, last + (j - from), (width - j) * sizeof *acc);
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
#undef F_SEEN
#undef F_NEAR
#define FOLD         NAME(fold_in_blocks)
#define FOLD_FROM    2
#define FOLD_COLUMNS NAME(fold_strips)
