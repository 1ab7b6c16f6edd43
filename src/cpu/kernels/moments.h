/* The folds and prefixes of the moments, in blocks that stay in the first cache and are combined by the table's
 * formula. Included in pairs.h.
 *
 * Narrow integers: their sum and sum of squares are integers, so a block's moments are exact. Everything else: one pass
 * over the distances d from a shift near the mean, M2 = sum(d^2) - sum(d)^2 / n. The shift is the mean so far; where it
 * turns out to be far off, so that the subtraction would cancel, the block is passed once more with its own mean as the
 * shift (the two-pass algorithm). Where a square overflows or an element is not finite, the block goes by the table's
 * formula, element by element: that keeps the two apart. */

enum {
    NAME(BLOCK) = 4096,
    NAME(STRIP) = 256,    /* rows of columns */
    NAME(ROWS) = 32,      /* of them, added one by one; their sums are added then */
    NAME(PREFIXES) = 128, /* elements of a block of prefixes, at most */
    NAME(FIRST) = 8       /* and of the first */
};

/* The moments of n elements, share = 1 / n, by the sums of d and of d^2. */
ALWAYS_INLINE A_T NAME(of_sums)(s_f64 n, s_f64 share, s_f64 shift, s_f64 sum, s_f64 squares) {
    const s_f64 off = sum * share, m2 = squares - sum * off;
    return (A_T){n, shift, off, m2 < 0 ? 0 : m2};
}

/* Whether the subtraction lost no more than three bits. */
ALWAYS_INLINE bool NAME(is_near)(s_f64 squares, A_T acc) {
    return squares <= 8 * acc.c3;
}

ALWAYS_INLINE bool NAME(overflows)(s_f64 squares) {
    return squares - squares != 0;
}

/* The mean so far; before there is one, that of the first four elements. One alone is further off: in 8 of 100 blocks
 * of N(0, 1) two bits were lost, where the mean of four loses them in 5 of 10,000. Elements further on are not in the
 * cache yet. */
ALWAYS_INLINE s_f64 NAME(shift_for)(A_T acc, const E_T *x, size_t n, size_t stride) {
    if (acc.c0 > 0 && acc.c1 - acc.c1 == 0)
        return acc.c1 + acc.c2;
    if (n < 8)
        return LOAD_ONE(x);
    return 0.25 * LOAD_ONE(x) + 0.25 * LOAD_ONE(x + stride) + 0.25 * LOAD_ONE(x + 2 * stride) +
           0.25 * LOAD_ONE(x + 3 * stride);
}

/* Few elements, 'stride' apart. */
ALWAYS_INLINE A_T NAME(fold_apart)(tally_monoid m, const E_T *x, size_t n, size_t stride, s_f64 shift) {
    for (int pass = 0;; pass++) {
        s_f64 sum = 0, squares = 0;
        for (size_t i = 0; i < n;) {
            const size_t end = n - i < NAME(ROWS) ? n : i + NAME(ROWS);
            s_f64 sum_of_rows = 0, squares_of_rows = 0;
            for (; i < end; i++) {
                const s_f64 d = LOAD_ONE(x + i * stride) - shift;
                sum_of_rows += d;
                squares_of_rows += d * d;
            }
            sum += sum_of_rows;
            squares += squares_of_rows;
        }
        const A_T acc = NAME(of_sums)((s_f64)n, 1 / (s_f64)n, shift, sum, squares);
        if (NAME(overflows)(squares))
            break;
        if (pass > 0 || NAME(is_near)(squares, acc))
            return acc;
        shift += acc.c2;
    }
    A_T acc = NAME(identity_of)(m);
    for (size_t i = 0; i < n; i++)
        acc = NAME(combine)(m, acc, NAME(lift)(m, LOAD_ONE(x + i * stride), 0));
    return acc;
}

ALWAYS_INLINE A_T NAME(fold_few)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    if (n == 0)
        return acc;
    const A_T own = NAME(fold_apart)(m, x, n, 1, NAME(shift_for)(NAME(identity_of)(m), x, n, 1));
    return acc.c0 == 0 ? own : NAME(combine)(m, acc, own);
}
#define FOLD_FEW NAME(fold_few)

#if !ELEMENT_IS_FLOAT && ELEMENT_BITS <= 16
ALWAYS_INLINE A_T NAME(block)(tally_monoid m, const E_T *x, size_t n, s_f64 shift, bool far) {
    (void)m, (void)shift, (void)far;
    const int64_t count = (int64_t)n;
    const int64_t sum = (int64_t)fold_values_SUM_sum(x, x, n, 0);
    const int64_t squares = (int64_t)fold_values_SQUARE_sumsq(x, x, n, 0);
    /* at most 2^12 * 2^12 * 2^32 */
    const int64_t deviations = count * squares - sum * sum, mean = sum / count;
    return (A_T){(s_f64)n, (s_f64)mean, (s_f64)(sum - mean * count) / (s_f64)n, (s_f64)deviations / (s_f64)n};
}
#else

#define D_T       PASTE2(s_, DEVIATION_LANE)
#define D_V       PASTE2(v_, DEVIATION_LANE)
#define D_LANES   LANES_OF(D_T)
#define D_LOAD(p) PASTE4(load_, DEVIATION_LANE, _from_, ELEMENT)(p)
#if ELEMENT_IS_FLOAT
#define D_TOTAL(v) horizontal_SUM(TALLY_MONOID_sum, v)
#else
#define D_TOTAL(v) horizontal_F64(TALLY_MONOID_sum, v)
#endif

/* A lane takes 128 elements: squares of numbers with few bits round the same way each time, so with 512 of them the
 * variance of 4096 values N(1e9, 1) was wrong by 6e-15 of itself. */
#define FLUSH_DEVIATIONS ((size_t)512 * D_LANES)

/* Sums of d and of its square. */
ALWAYS_INLINE void NAME(deviations)(const E_T *x, size_t n, D_T shift, bool far, s_f64 *sum, s_f64 *squares) {
    D_V first[4], second[4];
    const D_V shifts = (D_V){0} + shift;
    UNROLL_8 for (int j = 0; j < 4; j++) first[j] = second[j] = (D_V){0};
    size_t i = 0;
    for (; i + 4 * D_LANES <= n; i += 4 * D_LANES) {
        if (far)
            fetch_bytes((const char *)(x + i) + FETCH_AHEAD, 4 * D_LANES * sizeof(E_T));
        UNROLL_8 for (int j = 0; j < 4; j++) {
            D_V d = D_LOAD(x + i + (size_t)j * D_LANES) - shifts;
            first[j] += d;
            second[j] = PASTE2(add_product_, DEVIATION_LANE)(second[j], d, d);
        }
    }
    for (; i + D_LANES <= n; i += D_LANES) {
        D_V d = D_LOAD(x + i) - shifts;
        first[0] += d;
        second[0] = PASTE2(add_product_, DEVIATION_LANE)(second[0], d, d);
    }
    if (i < n) {
        E_T rest[VECTOR_BYTES / sizeof(E_T)];
        load_bytes(x + i, (n - i) * sizeof(E_T), rest);
        const D_V d = PASTE2(first_lanes_, DEVIATION_LANE)(D_LOAD(rest) - shifts, n - i);
        first[1] += d;
        second[1] = PASTE2(add_product_, DEVIATION_LANE)(second[1], d, d);
    }
    *sum += D_TOTAL(first[0] + first[1] + (first[2] + first[3]));
    *squares += D_TOTAL(second[0] + second[1] + (second[2] + second[3]));
}

ALWAYS_INLINE A_T NAME(block)(tally_monoid m, const E_T *x, size_t n, s_f64 shift, bool far) {
    for (int pass = 0;; pass++) {
        s_f64 sum = 0, squares = 0;
        const D_T near = (D_T)shift;
        for (size_t done = 0; done < n; done += FLUSH_DEVIATIONS)
            NAME(deviations)
        (x + done, n - done < FLUSH_DEVIATIONS ? n - done : FLUSH_DEVIATIONS, near, far, &sum, &squares);
        const A_T acc = NAME(of_sums)((s_f64)n, 1 / (s_f64)n, near, sum, squares);
        if (NAME(overflows)(squares))
            return NAME(fold_one_by_one)(m, x, n, 0, NAME(identity_of)(m));
        if (pass > 0 || NAME(is_near)(squares, acc))
            return acc;
        shift = near + acc.c2;
    }
}
#undef FLUSH_DEVIATIONS
#undef D_T
#undef D_V
#undef D_LANES
#undef D_LOAD
#undef D_TOTAL
#endif

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    (void)index;
    const bool far = n * sizeof(E_T) >= FAR_BYTES;
    for (size_t done = 0; done < n; done += NAME(BLOCK)) {
        size_t length = n - done < NAME(BLOCK) ? n - done : (size_t)NAME(BLOCK);
        const A_T own = NAME(block)(m, x + done, length, NAME(shift_for)(acc, x + done, length, 1), far);
        acc = acc.c0 == 0 ? own : NAME(combine)(m, acc, own);
    }
    return acc;
}
#define FOLD      NAME(fold_in_blocks)
#define FOLD_FROM 12

/* ---- columns: the same, side by side ---- */

#define LOAD_F64(p) PASTE2(load_f64_from_, ELEMENT)(p)

/* Vectors of a component each as the accumulators of a vector of columns. */
ALWAYS_INLINE void NAME(put_columns)(v_f64 c0, v_f64 c1, v_f64 c2, v_f64 c3, A_T *acc) {
    const v_f64 even[2] = {in_turns_f64(c0, c2, false), in_turns_f64(c0, c2, true)};
    const v_f64 odd[2] = {in_turns_f64(c1, c3, false), in_turns_f64(c1, c3, true)};
    UNROLL_8 for (int k = 0; k < 4; k++) {
        const v_f64 columns = in_turns_f64(even[k / 2], odd[k / 2], k % 2);
        memcpy((char *)acc + (size_t)k * sizeof columns, &columns, sizeof columns);
    }
}

/* Combines a vector of columns whose accumulators have elements, or some of which must be passed once more. */
static __attribute__((noinline)) void NAME(combine_columns)(tally_monoid m, const E_T *x, size_t rows, size_t stride,
                                                            const s_f64 *squares, const A_T *columns, A_T *acc) {
    for (size_t l = 0; l < LANES_OF(s_f64); l++) {
        A_T own = columns[l];
        if (NAME(overflows)(squares[l]) || !NAME(is_near)(squares[l], own))
            own = NAME(fold_apart)(m, x + l, rows, stride, own.c1 + own.c2);
        acc[l] = acc[l].c0 == 0 ? own : NAME(combine)(m, acc[l], own);
    }
}

/* As many columns as 'vectors' have lanes, and few enough rows that those that must be passed twice are in the second
 * cache still. 'vectors' is a constant where this is inlined.
 *
 * With 256 rows added one by one, the variance of N(1e9, 1) was wrong by up to 103 units of rounding (2^-53 of itself),
 * and by 51 with 78 rows, where log n allows 38. By 32 rows the most in 60,000 columns is 13, and 23 at N(0, 1). */
ALWAYS_INLINE void NAME(fold_strip)(tally_monoid m, const E_T *x, size_t rows, size_t stride, int vectors, A_T *acc) {
    enum { LANES = LANES_OF(s_f64), STRIP_AHEAD = 1024 };
    const s_f64 n = (s_f64)rows, share = 1 / n;
    v_f64 shift[4], sum[4], squares[4];
    for (int v = 0; v < vectors; v++) {
        const E_T *first = x + v * LANES;
        /* All columns have as many elements. What is loaded as vectors must not have been stored one by one just now:
         * four rows took 2.8 ns a value so, 0.9 this way. */
        if (acc->c0 != 0) {
            s_f64 shifts[LANES];
            for (int l = 0; l < (int)LANES; l++)
                shifts[l] = NAME(shift_for)(acc[v * LANES + l], first + l, rows, stride);
            memcpy(&shift[v], shifts, sizeof shifts);
        } else if (rows < 8)
            shift[v] = LOAD_F64(first);
        else
            shift[v] = 0.25 * LOAD_F64(first) + 0.25 * LOAD_F64(first + stride) + 0.25 * LOAD_F64(first + 2 * stride) +
                       0.25 * LOAD_F64(first + 3 * stride);
    }
    UNROLL_8 for (int v = 0; v < vectors; v++) sum[v] = squares[v] = (v_f64){0};
    for (size_t r = 0; r < rows;) {
        const size_t end = rows - r < NAME(ROWS) ? rows : r + NAME(ROWS);
        v_f64 sum_of_rows[4], squares_of_rows[4];
        UNROLL_8 for (int v = 0; v < vectors; v++) sum_of_rows[v] = squares_of_rows[v] = (v_f64){0};
        for (; r < end; r++) {
            /* The processor does not see that the next strips continue each row: four rows took 2.2 ns a value
             * without. */
            fetch_bytes((const char *)(x + r * stride) + STRIP_AHEAD, (size_t)vectors * LANES * sizeof(E_T));
            UNROLL_8 for (int v = 0; v < vectors; v++) {
                const v_f64 d = LOAD_F64(x + r * stride + v * LANES) - shift[v];
                sum_of_rows[v] += d;
                squares_of_rows[v] = add_product_f64(squares_of_rows[v], d, d);
            }
        }
        UNROLL_8 for (int v = 0; v < vectors; v++) {
            sum[v] += sum_of_rows[v];
            squares[v] += squares_of_rows[v];
        }
    }
    for (int v = 0; v < vectors; v++) {
        const v_f64 off = sum[v] * share, rest = squares[v] - sum[v] * off;
        const v_f64 m2 = (v_f64)((v_i64)rest & ~(v_i64)(rest < 0));
        const v_i64 is_right = (squares[v] <= 8 * m2) & (squares[v] - squares[v] == 0);
        A_T *const to = acc + v * LANES;
        bool is_fresh = true;
        for (int l = 0; l < (int)LANES; l++)
            is_fresh &= to[l].c0 == 0;
        if (is_fresh && !any_bit((v_u64)~is_right)) {
            NAME(put_columns)((v_f64){0} + n, shift[v], off, m2, to);
            continue;
        }
        A_T own[LANES];
        s_f64 own_squares[LANES];
        NAME(put_columns)((v_f64){0} + n, shift[v], off, m2, own);
        memcpy(own_squares, &squares[v], sizeof own_squares);
        NAME(combine_columns)(m, x + v * LANES, rows, stride, own_squares, own, to);
    }
}

/* One row, as scans take it: the table's formula where b is one element, a vector of columns at a time. Accumulators
 * are turned into vectors of a component each, and back. (394 columns of f32, running deviations: 1.55 ns an element
 * one by one, 1.1 so.) */
ALWAYS_INLINE void NAME(fold_row)(tally_monoid m, const E_T *x, size_t width, uint64_t index, A_T *acc) {
    enum { LANES = LANES_OF(s_f64) };
    const v_f64 one = (v_f64){0} + 1.0;
    size_t j = 0;
    for (; j + LANES <= width; j += LANES) {
        v_f64 first, second, third, fourth;
        const char *const from = (const char *)(acc + j);
        memcpy(&first, from, sizeof first);
        memcpy(&second, from + sizeof first, sizeof second);
        memcpy(&third, from + 2 * sizeof first, sizeof third);
        memcpy(&fourth, from + 3 * sizeof first, sizeof fourth);
        const v_f64 even = every_second_f64(first, second, 0), odd = every_second_f64(first, second, 1);
        const v_f64 even_2 = every_second_f64(third, fourth, 0), odd_2 = every_second_f64(third, fourth, 1);
        const v_f64 a0 = every_second_f64(even, even_2, 0), a2 = every_second_f64(even, even_2, 1);
        const v_f64 a1 = every_second_f64(odd, odd_2, 0), a3 = every_second_f64(odd, odd_2, 1);
        const v_f64 b1 = LOAD_F64(x + j), start = SELECT_LANES(f64, (a0 == 0), b1, a1), part = one / (a0 + one);
        const v_f64 apart = (b1 - start) - a2, moved = a2 + apart * part, mean = start + moved;
        const v_f64 squares = a3 + (b1 - b1);
        const v_f64 c0 = a0 + one, c2 = moved - (mean - start);
        const v_f64 c3 = SELECT_LANES(f64, (squares - squares == 0), squares + apart * (apart * (a0 * part)), squares);
        NAME(put_columns)(c0, mean, c2, c3, acc + j);
    }
    for (; j < width; j++) {
        NOT_IN_VECTORS(j);
        acc[j] = NAME(combine)(m, acc[j], NAME(lift)(m, LOAD_ONE(x + j), (int64_t)index));
    }
}

ALWAYS_INLINE void NAME(fold_strips)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                     uint64_t index, A_T *acc) {
    enum { LANES = LANES_OF(s_f64) };
    if (rows == 1) {
        NAME(fold_row)(m, x, width, index, acc);
        return;
    }
    for (size_t r = 0, height; r < rows; r += height, x += height * stride) {
        height = rows - r < NAME(STRIP) ? rows - r : (size_t)NAME(STRIP);
        A_T last[LANES];
        if (width > LANES && width % LANES)
            memcpy(last, acc + width - LANES, sizeof last);
        size_t j = 0;
        for (; j + 4 * LANES <= width; j += 4 * LANES)
            NAME(fold_strip)(m, x + j, height, stride, 4, acc + j);
        for (; j < width && width >= LANES; j += LANES) {
            const bool is_rest = j + LANES > width; /* with columns before it, whose lanes are dropped */
            const size_t at = is_rest ? width - LANES : j;
            NAME(fold_strip)(m, x + at, height, stride, 1, is_rest ? last : acc + j);
            if (is_rest)
                memcpy(acc + j, last + (j - at), (width - j) * sizeof *acc);
        }
        for (; j < width; j++) {
            const A_T own = NAME(fold_apart)(m, x + j, height, stride, NAME(shift_for)(acc[j], x + j, height, stride));
            acc[j] = acc[j].c0 == 0 ? own : NAME(combine)(m, acc[j], own);
        }
    }
}
#undef LOAD_F64
#define FOLD_COLUMNS NAME(fold_strips)

/* ---- prefixes ---- */

/* A block of at most as many elements as came before, whose mean is the shift, so that of the squares a third is left
 * at least; or the first elements of all, FIRST at most, and the first of them as the shift, which leaves an eighth.
 * False if the squares overflow. */
ALWAYS_INLINE bool NAME(prefix_block)(const E_T *x, size_t n, bool reverse, A_T *acc, A_T *prefixes) {
    const bool is_first = acc->c0 == 0;
    const s_f64 shift = is_first ? (s_f64)LOAD_ONE(reverse ? x + n - 1 : x) : acc->c1 + acc->c2;
    const s_f64 low = is_first ? 0 : acc->c2 - (shift - acc->c1);
    const s_f64 sum_before = acc->c0 * low, squares_before = acc->c3 + sum_before * low;
    s_f64 sum = 0, squares = 0, sums[NAME(PREFIXES)], sums_of_squares[NAME(PREFIXES)];
    for (size_t k = 0; k < n; k++) {
        const size_t i = reverse ? n - 1 - k : k;
        const s_f64 d = LOAD_ONE(x + i) - shift;
        sums[i] = sum += d;
        sums_of_squares[i] = squares += d * d;
    }
    if (NAME(overflows)(squares_before + squares))
        return false;
    for (size_t i = 0; i < n; i++) {
        const s_f64 count = acc->c0 + (s_f64)(int32_t)(reverse ? n - i : i + 1);
        prefixes[i] = NAME(of_sums)(count, 1 / count, shift, sum_before + sums[i], squares_before + sums_of_squares[i]);
    }
    *acc = prefixes[reverse ? 0 : n - 1];
    return true;
}

ALWAYS_INLINE A_T NAME(prefixes_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, bool reverse,
                                           bool exclusive, A_T acc, A_T *prefixes) {
    for (size_t done = 0, length; done < n; done += length) {
        length = acc.c0 < NAME(FIRST) ? NAME(FIRST) : acc.c0 < NAME(PREFIXES) ? (size_t)acc.c0 : (size_t)NAME(PREFIXES);
        length = n - done < length ? n - done : length;
        const size_t first = reverse ? n - done - length : done;
        if (exclusive || !NAME(prefix_block)(x + first, length, reverse, &acc, prefixes + first))
            acc = NAME(prefixes_by_table)(m, x + first, length, index, reverse, exclusive, acc, prefixes + first);
    }
    return acc;
}
#define PREFIXES NAME(prefixes_in_blocks)
