/* The fold of logsumexp. It finds the largest value of each block first, so that every element costs one exponential.
 * Included in pairs.h. */

enum { NAME(BLOCK) = 1024 };

#define F_V         v_f64
#define F_LANES     LANES_OF(s_f64)
#define LOAD_F64(p) PASTE4(load_, f64, _from_, ELEMENT)(p)

ALWAYS_INLINE s_f64 NAME(add_lanes)(F_V v) {
    s_f64 lane[F_LANES];
    memcpy(lane, &v, sizeof lane);
    for (size_t half = F_LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

/* The sum of exp(x - largest). The rest of a vector is filled up with values whose exponential is 0. */
ALWAYS_INLINE s_f64 NAME(sum_exp)(const E_T *x, size_t n, s_f64 largest) {
    const F_V m = largest - (F_V){0};
    F_V sum[2] = {{0}, {0}};
    size_t i = 0;
    for (; i + 2 * F_LANES <= n; i += 2 * F_LANES) {
        sum[0] += shifted_exp_f64(LOAD_F64(x + i), m);
        sum[1] += shifted_exp_f64(LOAD_F64(x + i + F_LANES), m);
    }
    for (; i < n; i += F_LANES) {
        F_V v;
        if (n - i >= F_LANES) {
            v = LOAD_F64(x + i);
            sum[0] += shifted_exp_f64(v, m);
        } else {
            s_f64 rest[F_LANES];
            for (size_t l = 0; l < F_LANES; l++)
                rest[l] = i + l < n ? LOAD_ONE(x + i + l) : 0;
            memcpy(&v, rest, sizeof v);
            v = shifted_exp_f64(v, m);
            memcpy(rest, &v, sizeof v);
            for (size_t l = n - i; l < F_LANES; l++)
                rest[l] = 0;
            memcpy(&v, rest, sizeof v);
            sum[1] += v;
        }
    }
    return NAME(add_lanes)(sum[0] + sum[1]);
}

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        size_t length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        A_T block;
        block.c0 = (s_f64)fold_values_VALUE_max(x + done, x + done, length, PASTE2(LOWEST_, VALUE_LANE));
        block.c1 = NAME(sum_exp)(x + done, length, block.c0);
        acc = acc.c1 == 0 ? block : NAME(combine)(m, acc, block);
    }
    return acc;
}

/* Prefixes of a block with the largest value of all of it, so that each element costs one exponential. The first prefix
 * must not lie far below that: the logarithm of its sum would take digits from the result. Where it does, as at the
 * beginning, the largest value is that of each prefix, one by one, for a while. */
ALWAYS_INLINE A_T NAME(prefixes_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, bool reverse,
                                           bool exclusive, A_T acc, A_T *prefixes) {
    enum { MOST = 256, FEW = 32, NEAR = 4 };
    for (size_t done = 0, count; done < n; done += count) {
        count = n - done < MOST ? n - done : MOST;
        size_t at = reverse ? n - done - count : done;
        const E_T *from = x + at;
        const s_f64 first = LOAD_ONE(reverse ? from + count - 1 : from);
        const s_f64 own = (s_f64)fold_values_VALUE_max(from, from, count, PASTE2(LOWEST_, VALUE_LANE));
        const s_f64 largest = acc.c0 > own ? acc.c0 : own;
        const s_f64 lowest = acc.c0 > first || (exclusive && acc.c1 > 0) ? acc.c0 : first;
        if (!(largest - lowest < NEAR) || count < F_LANES) { /* or NaN */
            count = count < FEW ? count : FEW;
            at = reverse ? n - done - count : done;
            acc = NAME(prefixes_by_table)(m, x + at, count, index, reverse, exclusive, acc, prefixes + at);
            continue;
        }
        s_f64 each[MOST];
        const F_V splat = largest - (F_V){0};
        for (size_t i = 0; i < count; i += F_LANES) { /* the last vector overlaps the one before */
            const size_t place = i + F_LANES <= count ? i : count - F_LANES;
            const F_V value = shifted_exp_f64(LOAD_F64(from + place), splat);
            memcpy(each + place, &value, sizeof value);
        }
        s_f64 sum = acc.c1 == 0 ? 0 : acc.c1 * exp(acc.c0 - largest);
        for (size_t k = 0; k < count; k++) {
            const size_t i = reverse ? count - 1 - k : k;
            const s_f64 before = sum;
            sum += each[i];
            prefixes[at + i] = (A_T){largest, exclusive ? before : sum};
        }
        acc = (A_T){largest, sum};
    }
    return acc;
}
#undef F_V
#undef F_LANES
#undef LOAD_F64
#define FOLD      NAME(fold_in_blocks)
#define FOLD_FROM 2
#define PREFIXES  NAME(prefixes_in_blocks)
