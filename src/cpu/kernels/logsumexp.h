/* The fold of logsumexp. It finds the largest value of each block first, so that every element costs one exponential.
 * Floats of up to 32 bits take theirs in f32; integers look up e^-d of their distance d from the largest. Included in
 * pairs.h. */

enum {
    NAME(BLOCK) = 1024,
    NAME(BLOCK_ROWS) = 64, /* of columns: one combination for so many exponentials */
    NAME(PREFIXES) = 256   /* elements of a block of prefixes */
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
/* Whether this largest value stands for itself as K_T. */
#define F_IS_EXACT(largest) true
#else
#define F_LANE                 f64
#define F_SUM                  horizontal_F64
#define F_EXP                  integer_exp
#define F_EXP_NEAR             integer_exp
#define F_IS_INFINITE(m)       false
#define F_LARGER               PASTE2(max_, VALUE_LANE)
#define F_OR_NAN(largest, sum) (largest)
#define F_IS_EXACT(largest)    ((largest) < 0x1p53 && (largest) > -0x1p53)
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

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        const size_t length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        const K_T largest = fold_values_VALUE_max(x + done, x + done, length, PASTE2(LOWEST_, VALUE_LANE));
        const A_T block = {(s_f64)largest, NAME(sum_exp)(x + done, length, largest)};
        acc = acc.c1 == 0 ? block : NAME(combine)(m, acc, block);
    }
    return acc;
}

/* ---- columns: the same, side by side ---- */

/* acc[l] = itself combined with the block of column l, in lanes. */
ALWAYS_INLINE void NAME(combine_columns)(const K_T *largest, const F_T *sum, A_T *acc) {
    enum { LANES = LANES_OF(s_f64) };
    for (size_t first = 0; first < F_LANES; first += LANES) {
        v_f64 low, high;
        memcpy(&low, acc + first, sizeof low);
        memcpy(&high, (const char *)(acc + first) + sizeof low, sizeof high);
        const v_f64 a0 = every_second_f64(low, high, 0), a1 = every_second_f64(low, high, 1);
        const v_f64 b0 = PASTE2(load_f64_from_, VALUE_LANE)((const PASTE2(e_, VALUE_LANE) *)(largest + first));
        const v_f64 b1 = PASTE2(load_f64_from_, F_LANE)((const PASTE2(e_, F_LANE) *)(sum + first));
        v_f64 m = b0, both = b1;
        if (any_bit((v_u64)a1)) { /* else nothing came before */
            m = max_f64(a0, b0);
            both = sum_of_exps_f64(a0, a1, b0, b1);
        }
        low = in_turns_f64(m, both, false);
        high = in_turns_f64(m, both, true);
        memcpy(acc + first, &low, sizeof low);
        memcpy((char *)(acc + first) + sizeof low, &high, sizeof high);
    }
}

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

/* ---- prefixes ---- */

/* sums[k + 1] = sums[0] and each[0 .. k], for k < count rounded up to whole vectors. */
ALWAYS_INLINE void NAME(scan_exps)(const F_T *each, size_t count, s_f64 *sums) {
    enum { LANES = LANES_OF(s_f64) };
    v_f64 before = sums[0] - (v_f64){0};
    for (size_t k = 0; k < count; k += LANES) {
        v_f64 v = PASTE2(load_f64_from_, F_LANE)((const PASTE2(e_, F_LANE) *)(each + k));
        UNROLL_8 for (size_t shift = 1; shift < LANES; shift *= 2) v += shift_up_f64(v, (v_f64){0}, shift);
        const v_f64 result = before + v;
        memcpy(sums + k + 1, &result, sizeof result);
        before += last_f64(v);
    }
}

/* prefixes[k], or in a reverse scan prefixes[count - 1 - k], is of the sum number k. */
ALWAYS_INLINE void NAME(write_prefixes)(s_f64 largest, const s_f64 *sums, size_t count, bool reverse, A_T *prefixes) {
    enum { LANES = LANES_OF(s_f64) };
    const v_f64 splat = largest - (v_f64){0};
    size_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        v_f64 sum;
        memcpy(&sum, sums + k, sizeof sum);
        sum = reverse ? reversed_f64(sum) : sum;
        const v_f64 pairs[2] = {in_turns_f64(splat, sum, false), in_turns_f64(splat, sum, true)};
        memcpy(prefixes + (reverse ? count - LANES - k : k), pairs, sizeof pairs);
    }
    for (; k < count; k++)
        prefixes[reverse ? count - 1 - k : k] = (A_T){largest, sums[k]};
}

/* Prefixes of at most FAR elements, each with a largest value of its own. */
enum { NAME(FAR) = 32 };
ALWAYS_INLINE A_T NAME(prefixes_apart)(const E_T *x, size_t n, bool reverse, bool exclusive, A_T acc, A_T *prefixes) {
    enum { LANES = LANES_OF(s_f64) };
    const v_f64 zero = {0};
    const v_u64 one_group = (v_u64)zero + INT64_MAX;
    open_group open = {zero + acc.c0, zero + acc.c1};
    s_f64 value[NAME(FAR)], largest[NAME(FAR) + 1], sum[NAME(FAR) + 1];
    for (size_t k = 0; k < n; k++)
        value[k] = LOAD_ONE(x + (reverse ? n - 1 - k : k));
    for (size_t k = n; k % LANES; k++)
        value[k] = LOWEST_f64;
    largest[0] = acc.c0, sum[0] = acc.c1;
    for (size_t k = 0; k < n; k += LANES) {
        v_f64 v;
        memcpy(&v, value + k, sizeof v);
        const open_group prefix = scan_apart(v, one_group, &open);
        memcpy(largest + 1 + k, &prefix.largest, sizeof v);
        memcpy(sum + 1 + k, &prefix.sum, sizeof v);
    }
    for (size_t k = 0; k < n; k++)
        prefixes[reverse ? n - 1 - k : k] = (A_T){largest[k + !exclusive], sum[k + !exclusive]};
    return (A_T){largest[n], sum[n]};
}

/* Prefixes of a block with the largest value of all of it, so that each element costs one exponential. The first prefix
 * must not lie far below that: the logarithm of its sum would take digits from the result. Where it does, as at the
 * beginning, each prefix has a largest value of its own, for a while. */
ALWAYS_INLINE A_T NAME(prefixes_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, bool reverse,
                                           bool exclusive, A_T acc, A_T *prefixes) {
    enum { NEAR = 4 };
    (void)m, (void)index;
    for (size_t done = 0, count; done < n; done += count) {
        count = n - done < NAME(PREFIXES) ? n - done : (size_t)NAME(PREFIXES);
        size_t at = reverse ? n - done - count : done;
        const E_T *from = x + at;
        const s_f64 first = LOAD_ONE(reverse ? from + count - 1 : from);
        const s_f64 own = (s_f64)fold_values_VALUE_max(from, from, count, PASTE2(LOWEST_, VALUE_LANE));
        const s_f64 largest = acc.c0 > own ? acc.c0 : own;
        const s_f64 lowest = acc.c0 > first || (exclusive && acc.c1 > 0) ? acc.c0 : first;
        if (!(largest - lowest < NEAR) || count < F_LANES || !F_IS_EXACT(largest)) { /* or NaN */
            count = count < NAME(FAR) ? count : (size_t)NAME(FAR);
            at = reverse ? n - done - count : done;
            acc = NAME(prefixes_apart)(x + at, count, reverse, exclusive, acc, prefixes + at);
            continue;
        }
        F_T each[NAME(PREFIXES)];
        s_f64 sums[NAME(PREFIXES) + 1];
        const K_V splat = (K_T)largest - (K_V){0};
        for (size_t i = 0; i < count; i += F_LANES) { /* the last vector overlaps the one before */
            const size_t place = i + F_LANES <= count ? i : count - F_LANES;
            const F_V value = F_EXP_NEAR(F_LOAD(from + place), splat);
            memcpy(each + place, &value, sizeof value);
        }
        for (size_t i = 0; reverse && i < count / 2; i++) {
            const F_T swapped = each[i];
            each[i] = each[count - 1 - i];
            each[count - 1 - i] = swapped;
        }
        for (size_t i = count; i % F_LANES; i++)
            each[i] = 0;
        sums[0] = acc.c1 == 0 ? 0 : acc.c1 * exp(acc.c0 - largest);
        NAME(scan_exps)(each, count, sums);
        NAME(write_prefixes)(largest, sums + !exclusive, count, reverse, prefixes + at);
        acc = (A_T){largest, sums[count]};
    }
    return acc;
}
#undef K_T
#undef K_V
#undef F_LANE
#undef F_IS_EXACT
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
#define PREFIXES     NAME(prefixes_in_blocks)
