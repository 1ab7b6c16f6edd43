/* Sums of short rows and of short segments. Included in fold.h for the classes that have the sum
 * (FAST_ROWS).
 *
 * As many rows as a vector has lanes are summed together. Each is loaded into a vector of its own, and a mask removes
 * what does not belong to it. A tree that adds neighbouring lanes of neighbouring vectors leaves one vector of results.
 * This takes three instructions per row; summing one vector's lanes takes four times as many. */

/* The fold sums longer segments one by one, which costs about 10 ns each. */
#define SHORT_SEGMENT 64

/* Half as many vectors, of the sums of neighbouring lanes. */
ALWAYS_INLINE void NAME(add_neighbours)(L_V *v, size_t vectors) {
    UNROLL_8 for (size_t i = 0; i < vectors / 2; i++) {
        L_V even = PASTE2(every_second_, LANE)(v[2 * i], v[2 * i + 1], 0);
        v[i] = even + PASTE2(every_second_, LANE)(v[2 * i], v[2 * i + 1], 1);
    }
}

/* acc[0 .. LANES - 1] = sums of that many rows, which lie side by side in 'vectors' vectors; a power of two, up to
 * LANES. Zero is added as in the fold, where the sum of only -0 is 0. */
ALWAYS_INLINE void NAME(add_rows)(L_V *v, size_t vectors, A_T *acc) {
    if (vectors >= 16)
        NAME(add_neighbours)(v, 16);
    if (vectors >= 8)
        NAME(add_neighbours)(v, 8);
    if (vectors >= 4)
        NAME(add_neighbours)(v, 4);
    if (vectors >= 2)
        NAME(add_neighbours)(v, 2);
    L_T sum[LANES];
    memcpy(sum, &v[0], sizeof sum);
    for (size_t l = 0; l < LANES; l++)
        acc[l] = (A_T)sum[l] + 0;
}

/* 'extent' is a constant where this is inlined: a power of two, up to LANES. Returns the number of rows summed. */
ALWAYS_INLINE size_t NAME(packed_rows)(const E_T *x, size_t rows, size_t extent, A_T *acc) {
    size_t done = 0;
    for (; done + LANES <= rows; done += LANES, x += LANES * extent) {
        L_V v[LANES];
        UNROLL_16 for (size_t i = 0; i < extent; i++) v[i] = LOAD(x + i * LANES);
        NAME(add_rows)(v, extent, acc + done);
    }
    return done;
}

/* The same for rows of a whole number of vectors. */
ALWAYS_INLINE size_t NAME(whole_rows)(const E_T *x, size_t rows, size_t extent, A_T *acc) {
    size_t done = 0;
    for (; done + LANES <= rows; done += LANES, x += LANES * extent) {
        L_V v[LANES];
        UNROLL_16 for (size_t i = 0; i < LANES; i++) v[i] = LOAD(x + i * extent);
        for (size_t first = LANES; first < extent; first += LANES) {
            UNROLL_16 for (size_t i = 0; i < LANES; i++) v[i] += LOAD(x + i * extent + first);
        }
        NAME(add_rows)(v, LANES, acc + done);
    }
    return done;
}

/* LANES segments of up to SHORT_SEGMENT elements; 'lengths' is at least the longest. Reads up to LANES elements past
 * the last one. */
ALWAYS_INLINE void NAME(short_segments)(const E_T *x, const uint64_t *offsets, uint64_t lengths, A_T *acc) {
    L_V v[LANES];
    if (lengths <= LANES) {
        UNROLL_16 for (size_t r = 0; r < LANES; r++) v[r] =
            PASTE2(first_lanes_, LANE)(LOAD(x + offsets[r]), offsets[r + 1] - offsets[r]);
        NAME(add_rows)(v, LANES, acc);
        return;
    }
    for (size_t r = 0; r < LANES; r++) {
        uint64_t from = offsets[r], end = offsets[r + 1];
        L_V sum = SPLAT(0);
        for (; end - from > LANES; from += LANES)
            sum += LOAD(x + from);
        v[r] = sum + PASTE2(first_lanes_, LANE)(LOAD(x + from), end - from);
    }
    NAME(add_rows)(v, LANES, acc);
}

/* If fewer than LANES elements follow the segments, sums them from a copy. */
static void NAME(add_segments)(NAME(fold_function) * fold, const E_T *x, const uint64_t *offsets, size_t count,
                               A_T *acc) {
    const uint64_t end = offsets[count];
    for (size_t i = 0; i < count;) {
        const size_t group = count - i < LANES ? count - i : LANES;
        const uint64_t *o = offsets + i;
        const E_T *from = x;
        E_T copy[LANES * (SHORT_SEGMENT + 1)];
        uint64_t copied[LANES + 1], lengths = group < LANES ? SHORT_SEGMENT + 1 : 0;
        for (size_t r = 0; r < group; r++)
            lengths |= o[r + 1] - o[r];
        if (lengths <= SHORT_SEGMENT && end - o[LANES] < LANES) {
            for (size_t r = 0; r <= LANES; r++)
                copied[r] = o[r] - o[0];
            memcpy(copy, x + o[0], copied[LANES] * sizeof(E_T));
            memset(copy + copied[LANES], 0, LANES * sizeof(E_T));
            from = copy, o = copied;
        }
        if (lengths <= SHORT_SEGMENT)
            NAME(short_segments)(from, o, lengths, acc + i);
        else
            for (size_t r = 0; r < group; r++)
                acc[i + r] = fold(x + o[r], x, o[r + 1] - o[r], 0);
        i += group;
    }
}

/* Rows of one length; true if this length is fast here and the rows have been summed. */
ALWAYS_INLINE bool NAME(fast_rows)(tally_monoid m, NAME(fold_function) * fold, const E_T *x, size_t rows, size_t extent,
                                   A_T *acc) {
    if (m != TALLY_MONOID_sum || extent > SHORT_SEGMENT || extent == 3)
        return false;
    size_t done = 0;
    if (extent == 2)
        done = NAME(packed_rows)(x, rows, 2, acc);
    else if (extent == 4 && LANES > 4)
        done = NAME(packed_rows)(x, rows, 4, acc);
    else if (extent == 8 && LANES > 8)
        done = NAME(packed_rows)(x, rows, 8, acc);
    else if (extent % LANES == 0)
        done = NAME(whole_rows)(x, rows, extent, acc);
    uint64_t offsets[8 * LANES + 1];
    for (size_t r = 0; done < rows && r <= 8 * LANES; r++)
        offsets[r] = r * extent;
    for (size_t batch; done < rows; done += batch) {
        batch = rows - done < 8 * LANES ? rows - done : 8 * LANES;
        NAME(add_segments)(fold, x + done * extent, offsets, batch, acc + done);
    }
    return true;
}

/* Segments of any lengths, likewise. */
ALWAYS_INLINE bool NAME(fast_segments)(tally_monoid m, NAME(fold_function) * fold, const E_T *x,
                                       const uint64_t *offsets, size_t count, A_T *acc) {
    if (m != TALLY_MONOID_sum)
        return false;
    NAME(add_segments)(fold, x, offsets, count, acc);
    return true;
}

#undef SHORT_SEGMENT
