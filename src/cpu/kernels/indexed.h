/* The fold of argmin and argmax: the extremum at the speed of min and max. After each block a test finds whether the
 * best value has changed, which is rare. Only the block that holds the best value is searched for its position, once,
 * at the end. Included in pairs.h. */

#define L_V     PASTE2(v_, LANE)
#define LANES   LANES_OF(L_T)
#define LOAD(p) PASTE4(load_, LANE, _from_, ELEMENT)(p)

/* The test costs a dozen instructions, and the search half a block. */
enum { NAME(BLOCK) = 8192 / sizeof(E_T) };

ALWAYS_INLINE L_V NAME(extreme)(tally_monoid m, L_V x, L_V running) {
    return m == TALLY_MONOID_argmin ? PASTE2(smaller_, LANE)(x, running) : PASTE2(larger_, LANE)(x, running);
}

ALWAYS_INLINE bool NAME(is_better)(tally_monoid m, L_T value, L_T best) {
    return (m == TALLY_MONOID_argmin ? value < best : value > best) | (IS_NAN(value) & !IS_NAN(best));
}

/* The lanes that have the value (NaN: any NaN). */
ALWAYS_INLINE v_u64 NAME(lanes_with)(L_V v, L_T value) {
    v_u64 found = (v_u64)(v == value);
#if ELEMENT_IS_FLOAT
    found |= IS_NAN(value) ? (v_u64)(v != v) : (v_u64){0};
#endif
    return found;
}

/* The first position of the value in the block (NaN: of the first NaN). The block contains it. */
ALWAYS_INLINE size_t NAME(place_of)(const E_T *x, size_t n, L_T value) {
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        v_u64 found = {0};
        UNROLL_8 for (size_t j = 0; j < 4; j++) found |= NAME(lanes_with)(LOAD(x + i + j * LANES), value);
        if (any_bit(found))
            break;
    }
    for (; i + LANES < n; i += LANES) {
        const v_u64 found = NAME(lanes_with)(LOAD(x + i), value);
        if (any_bit(found))
            return i + first_set_byte(found) / sizeof(L_T);
    }
    E_T last[VECTOR_BYTES / sizeof(E_T)];
    load_bytes(x + i, (n - i) * sizeof(E_T), last);
    return i + first_set_byte(NAME(lanes_with)(LOAD(last), value)) / sizeof(L_T);
}

/* Takes eight vectors a round; the lanes become the best of themselves and the elements. False if there was a NaN. */
ALWAYS_INLINE bool NAME(extremes_of)(tally_monoid m, const E_T *x, size_t rounds, L_V *lanes) {
#if ELEMENT_IS_FLOAT
    ordered_lanes ordered[4] = {all_ordered, all_ordered, all_ordered, all_ordered};
#endif
    for (size_t i = 0; i < rounds; i++, x += 8 * LANES) {
        UNROLL_8 for (size_t j = 0; j < 8; j += 2) {
            L_V first = LOAD(x + j * LANES), second = LOAD(x + (j + 1) * LANES);
#if ELEMENT_IS_FLOAT
            LOADED_ONCE(first);
            LOADED_ONCE(second);
            ordered[j / 2] = PASTE2(ordered_, LANE)(ordered[j / 2], first, second);
#endif
            lanes[j] = NAME(extreme)(m, first, lanes[j]);
            lanes[j + 1] = NAME(extreme)(m, second, lanes[j + 1]);
            IN_ORDER(x);
        }
    }
#if ELEMENT_IS_FLOAT
    return has_no_nan(ordered[0] & ordered[1] & ordered[2] & ordered[3], LANES);
#else
    return true;
#endif
}

/* The best of eight vectors, if it is better than 'best', else 'best'. */
ALWAYS_INLINE L_T NAME(best_of)(tally_monoid m, const L_V *lanes, L_T best) {
    const L_V splat = best - (L_V){0};
    L_V top[4];
    UNROLL_8 for (int j = 0; j < 4; j++) top[j] = NAME(extreme)(m, lanes[j], lanes[j + 4]);
    top[0] = NAME(extreme)(m, NAME(extreme)(m, top[0], top[2]), NAME(extreme)(m, top[1], top[3]));
    if (!any_bit((v_u64)NAME(extreme)(m, top[0], splat) ^ (v_u64)splat))
        return best;
    /* better than 'best', or there would be no other bits, unless one zero stands for the other */
    const L_T value = m == TALLY_MONOID_argmin ? horizontal_VALUE(TALLY_MONOID_min, top[0])
                                               : horizontal_VALUE(TALLY_MONOID_max, top[0]);
    return NAME(is_better)(m, value, best) ? value : best;
}

ALWAYS_INLINE A_T NAME(fold_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    if (n == 0)
        return acc;
    A_T best = NAME(identity_of)(m);
    if (n <= NAME(BLOCK)) {
        best.c0 = m == TALLY_MONOID_argmin ? fold_values_VALUE_min(x, x, n, best.c0)
                                           : fold_values_VALUE_max(x, x, n, best.c0);
        best.c1 = (int64_t)(index + NAME(place_of)(x, n, best.c0));
        return NAME(combine)(m, acc, best);
    }
    size_t best_block = 0, whole = n / (8 * LANES) * (8 * LANES);
    L_V lanes[8];
    UNROLL_8 for (int j = 0; j < 8; j++) lanes[j] = best.c0 - (L_V){0};
    for (size_t done = 0; done < whole; done += NAME(BLOCK)) {
        const size_t block = whole - done < NAME(BLOCK) ? whole - done : (size_t)NAME(BLOCK);
        const bool ordered = NAME(extremes_of)(m, x + done, block / (8 * LANES), lanes);
        const L_T value = ordered ? NAME(best_of)(m, lanes, best.c0) : NOT_A_NUMBER;
        if (NAME(is_better)(m, value, best.c0))
            best.c0 = value, best_block = done;
        if (!ordered)
            break;
    }
    if (!IS_NAN(best.c0)) {
        const L_T value = m == TALLY_MONOID_argmin ? fold_values_VALUE_min(x + whole, x + whole, n - whole, best.c0)
                                                   : fold_values_VALUE_max(x + whole, x + whole, n - whole, best.c0);
        if (NAME(is_better)(m, value, best.c0))
            best.c0 = value, best_block = whole;
    }
    const size_t length = n - best_block < NAME(BLOCK) ? n - best_block : (size_t)NAME(BLOCK);
    best.c1 = (int64_t)(index + best_block + NAME(place_of)(x + best_block, length, best.c0));
    return NAME(combine)(m, acc, best);
}

/* Short runs in order: a later element comes before an earlier one only if it is better. No branch depends on it. */
ALWAYS_INLINE A_T NAME(fold_in_order)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    if (n == 0)
        return acc;
    L_T best = LOAD_ONE(x);
    size_t place = 0;
    for (size_t k = 1; k < n; k++) {
        const L_T v = LOAD_ONE(x + k);
        const bool better = NAME(is_better)(m, v, best);
        best = better ? v : best;
        place = better ? k : place;
    }
    return NAME(combine)(m, acc, (A_T){best, (int64_t)(index + place)});
}

/* Prefixes likewise. From the last element down, an equal one replaces the one before. */
ALWAYS_INLINE A_T NAME(prefixes_in_order)(tally_monoid m, const E_T *x, size_t n, uint64_t index, bool reverse,
                                          bool exclusive, A_T acc, A_T *prefixes) {
    for (size_t k = 0; k < n; k++) {
        const size_t i = reverse ? n - 1 - k : k;
        const L_T v = LOAD_ONE(x + i);
        const bool as_good = (v == acc.c0) | (IS_NAN(v) & IS_NAN(acc.c0));
        const bool better = NAME(is_better)(m, v, acc.c0) | (as_good & (reverse | (acc.c1 == INT64_MAX)));
        const A_T before = acc;
        acc.c0 = better ? v : acc.c0;
        acc.c1 = better ? (int64_t)(index + i) : acc.c1;
        prefixes[i] = exclusive ? before : acc;
    }
    return acc;
}

/* Blocks that change nothing, as most do once the best value is rare, are seen at the speed of min and max. */
ALWAYS_INLINE A_T NAME(prefixes_in_blocks)(tally_monoid m, const E_T *x, size_t n, uint64_t index, bool reverse,
                                           bool exclusive, A_T acc, A_T *prefixes) {
    enum { FEW = 32, MOST = 128 };
    for (size_t done = 0, count; done < n; done += count) {
        count = n - done < MOST ? n - done : MOST;
        const size_t at = reverse ? n - done - count : done;
        const E_T *from = x + at;
        bool changes = count < FEW || acc.c1 == INT64_MAX;
        if (!changes) {
            const L_T value = m == TALLY_MONOID_argmin ? fold_values_VALUE_min(from, from, count, acc.c0)
                                                       : fold_values_VALUE_max(from, from, count, acc.c0);
            changes = NAME(is_better)(m, value, acc.c0) || reverse;
        }
        if (changes)
            acc = NAME(prefixes_in_order)(m, from, count, index + at, reverse, exclusive, acc, prefixes + at);
        else
            for (size_t i = 0; i < count; i++)
                prefixes[at + i] = acc;
    }
    return acc;
}

/* Vectors of columns. Rows are numbered in lanes of the elements' width, so the accumulators take over before such a
 * number could overflow. A row waits for the comparison with the one before, so several vectors go along where there
 * are registers: of other columns or, if those that are left fill no more than one, of other rows. What is folded twice
 * so changes nothing, as the better one of two is the same. */
enum { NAME(NUMBERED_ROWS) = 127, NAME(STRIPS) = VECTOR_BYTES > 16 ? 4 : 1 };
typedef PASTE2(v_, PASTE2(MARK_OF_, LANE)) NAME(places);

/* Whether a later vector's lanes are better; or NaN, where no NaN came before. */
ALWAYS_INLINE NAME(places) NAME(better_lanes)(tally_monoid m, L_V later, L_V best) {
#if ELEMENT_IS_FLOAT
    return ~(m == TALLY_MONOID_argmin ? later >= best : later <= best) & (best == best);
#else
    return m == TALLY_MONOID_argmin ? later < best : later > best;
#endif
}

/* Strip s is a vector of columns that begins at x + at[s] and has 'count' rows. With 'are_rows' all strips are the same
 * columns, in other rows: strip s begins at row number[s], and the strip of the last rows comes last. */
ALWAYS_INLINE void NAME(fold_strips)(tally_monoid m, const E_T *x, const size_t *at, const uint8_t *number,
                                     size_t count, size_t stride, bool are_rows, uint64_t index, A_T *acc) {
    enum { STRIPS = NAME(STRIPS) };
    L_V best[STRIPS];
    NAME(places) place[STRIPS], row = {0};
    UNROLL_8 for (size_t s = 0; s < STRIPS; s++) {
        best[s] = LOAD(x + at[s]);
        place[s] = (NAME(places)){0};
    }
    for (size_t r = 1; r < count; r++) {
        row += 1;
        UNROLL_8 for (size_t s = 0; s < STRIPS; s++) {
            const L_V v = LOAD(x + r * stride + at[s]);
            const NAME(places) better = NAME(better_lanes)(m, v, best[s]);
            best[s] = (L_V)((better & (NAME(places))v) | (~better & (NAME(places))best[s]));
            place[s] = (better & row) | (~better & place[s]);
        }
    }
    if (are_rows) {
        UNROLL_8 for (size_t s = 1; s < STRIPS; s++) {
            const NAME(places) better = NAME(better_lanes)(m, best[s], best[0]);
            best[0] = (L_V)((better & (NAME(places))best[s]) | (~better & (NAME(places))best[0]));
            place[0] = (better & (place[s] + (PASTE2(s_, PASTE2(MARK_OF_, LANE)))number[s])) | (~better & place[0]);
        }
    }
    for (size_t s = 0; s < (are_rows ? 1 : STRIPS) && !(s > 0 && at[s] == at[s - 1]); s++) {
        A_T *const to = are_rows ? acc : acc + at[s];
        L_T values[LANES];
        PASTE2(s_, PASTE2(MARK_OF_, LANE)) places[LANES];
        memcpy(values, &best[s], sizeof values);
        memcpy(places, &place[s], sizeof places);
        const bool is_fresh = to[LANES - 1].c1 == INT64_MAX;
        for (size_t l = 0; l < LANES; l++) {
            NOT_IN_VECTORS(l);
            const A_T own = {values[l], (int64_t)index + (int64_t)places[l]};
            to[l] = is_fresh ? own : NAME(combine)(m, to[l], own);
        }
    }
}

/* Returns how many columns were folded. */
ALWAYS_INLINE size_t NAME(fold_columns_in_lanes)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                                 uint64_t index, A_T *acc) {
    size_t j = 0;
    if (rows == 1) { /* a scan's, or the rest: the accumulators alone would cost as much */
        for (; j < width; j++) {
            const L_T v = LOAD_ONE(x + j);
            const bool as_good = (v == acc[j].c0) | (IS_NAN(v) & IS_NAN(acc[j].c0));
            const bool better = NAME(is_better)(m, v, acc[j].c0) | (as_good & ((int64_t)index < acc[j].c1));
            acc[j].c0 = better ? v : acc[j].c0;
            acc[j].c1 = better ? (int64_t)index : acc[j].c1;
        }
        return width;
    }
    if (width < LANES)
        return 0;
    for (size_t first = 0; first < rows; first += NAME(NUMBERED_ROWS)) {
        const size_t count = rows - first < NAME(NUMBERED_ROWS) ? rows - first : (size_t)NAME(NUMBERED_ROWS);
        const size_t part = (count + NAME(STRIPS) - 1) / NAME(STRIPS), back = width - LANES;
        const E_T *const from = x + first * stride;
        uint8_t number[NAME(STRIPS)];
        size_t at[NAME(STRIPS)];
        for (j = 0; j < width; j += NAME(STRIPS) * LANES) {
            bool are_rows = j + LANES >= width;
            for (size_t s = 0; s < NAME(STRIPS); s++) {
                number[s] = (uint8_t)(s * part < count - part ? s * part : count - part);
                at[s] = are_rows ? back + number[s] * stride : j + s * LANES < back ? j + s * LANES : back;
            }
            NOT_IN_VECTORS(are_rows); /* nor a loop for each */
            NAME(fold_strips)
            (m, from, at, number, are_rows ? part : count, stride, are_rows, index + first,
             are_rows ? acc + back : acc);
        }
    }
    return width;
}
#undef L_V
#undef LANES
#undef LOAD
#define FOLD      NAME(fold_in_blocks)
#define FOLD_FEW  NAME(fold_in_order)
#define FOLD_FROM 16
#define PREFIXES  NAME(prefixes_in_blocks)
