/* Scans of short rows and of rows of a few columns on levels without masks of lanes. A part of scan.h, which includes
 * it for each class and output type. */

/* ---- short rows ---- */

/* Every lane takes the one 'by' below it in its row, whose unit of 32 bits place[..] each is. */
ALWAYS_INLINE L_V NAME(up_in_row_)(L_V x, L_V fill, v_u32 place, size_t by) {
    const s_u32 units = (s_u32)(by * (sizeof(L_T) / sizeof(s_u32)));
    return (L_V)permute_units_from((v_u32)x, unit_numbers() - units, place, units, (v_u32)fill);
}

ALWAYS_INLINE L_V NAME(scan_steps_by_rows_)(tally_monoid m, L_V x, v_u32 place, size_t extent, bool exclusive,
                                            bool numbers, L_V identity, L_V start) {
    UNROLL_8 for (size_t by = 1; by < LANES; by *= 2) if (by < extent) x =
        COMBINE(NAME(up_in_row_)(x, identity, place, by), x);
    return COMBINE(start, exclusive ? NAME(up_in_row_)(x, identity, place, 1) : x);
}
ALWAYS_INLINE L_V NAME(scan_vector_by_rows_)(tally_monoid m, L_V x, v_u32 place, size_t extent, bool reverse,
                                             bool exclusive, L_V identity, L_V start) {
    x = reverse ? REVERSED(x) : x;
    x = ARE_NUMBERS(x, start) ? NAME(scan_steps_by_rows_)(m, x, place, extent, exclusive, true, identity, start)
                              : NAME(scan_steps_by_rows_)(m, x, place, extent, exclusive, false, identity, start);
    return reverse ? REVERSED(x) : x;
}

/* Rows of up to a vector: as many at once as it holds, and behind them lanes that mean nothing, which the next vector
 * overwrites. */
ALWAYS_INLINE void NAME(scan_rows_at_once_)(tally_monoid m, const E_T *x, size_t rows, size_t extent, bool reverse,
                                            bool exclusive, L_T start, O_T *out) {
    enum { UNITS = sizeof(L_T) / sizeof(s_u32) };
    const size_t step = LANES / extent * extent, n = rows * extent;
    const size_t vectors = n < LANES ? 0 : (n - LANES) / step + 1, rest = n - vectors * step;
    const v_u32 from_front = numbers_modulo(extent * UNITS);
    const v_u32 from_back = (s_u32)((extent - 1) * UNITS) - from_front + 2 * (unit_numbers() % UNITS);
    const v_u32 place = reverse ? (v_u32)REVERSED((L_V)from_back) : from_front;
    const L_V identity = NAME(kept_identity_)(m);
    E_T last[LANES] = {0};
    memcpy(last, x + n - rest, rest * sizeof *x);
    L_V next = LOAD(vectors ? x : last), v;
    for (size_t k = 0; k < vectors; k++) {
        v = next; /* x may be out */
        next = LOAD(k + 1 == vectors ? last : x + (k + 1) * step);
        v = NAME(scan_vector_by_rows_)(m, v, place, extent, reverse, exclusive, identity, SPLAT(start));
        memcpy(out + k * step, &v, sizeof v);
    }
    v = NAME(scan_vector_by_rows_)(m, next, place, extent, reverse, exclusive, identity, SPLAT(start));
    memcpy(out + n - rest, &v, rest * sizeof *out);
}

/* 'extent' is a constant where this is inlined. */
ALWAYS_INLINE void NAME(scan_rows_of_)(tally_monoid m, const E_T *x, size_t rows, size_t extent,
                                       tally_cpu_scan_options how, L_T start, O_T *out) {
    for (size_t r = 0; r < rows; r++)
        NAME(scan_scalars_)(m, x + r * extent, extent, how.reverse, how.exclusive, start, out + r * extent);
}

/* The commonest form has a loop of its own: sums of f32 in rows of 2, AVX2, 0.14 ns an element so, else 0.28. */
ALWAYS_INLINE void NAME(scan_two_or_three_)(tally_monoid m, const E_T *x, size_t rows, size_t extent,
                                            tally_cpu_scan_options how, L_T start, O_T *out) {
    const tally_cpu_scan_options forward = {false, false, false, 0};
    const bool is_forward = !how.reverse && !how.exclusive;
    if (extent == 2 && is_forward)
        NAME(scan_rows_of_)(m, x, rows, 2, forward, start, out);
    else if (extent == 2)
        NAME(scan_rows_of_)(m, x, rows, 2, how, start, out);
    else if (is_forward)
        NAME(scan_rows_of_)(m, x, rows, 3, forward, start, out);
    else
        NAME(scan_rows_of_)(m, x, rows, 3, how, start, out);
}

ALWAYS_INLINE void NAME(scan_rows_)(tally_monoid m, NAME(scan_function_) * scan, const E_T *x, size_t rows,
                                    size_t extent, tally_cpu_scan_options how, const A_T *start, O_T *out) {
    L_T buffer[NAME(BUFFER_)];
    const tally_cpu_scan_options cached = {how.reverse, how.exclusive, false, 0};
    const size_t most = how.stream ? NAME(BUFFER_) / extent : rows;
    /* AVX2: sums of f64 in rows of 3 0.28 ns an element so, 0.46 by vectors; maxima of f32 3.0 and 0.44. */
    const bool one_by_one = VECTOR_BYTES < 64 && (!MOVES_ANY_LANE || m == TALLY_MONOID_sum || m == TALLY_MONOID_prod);
    for (size_t done = 0; done < rows; done += most) {
        const size_t block = rows - done < most ? rows - done : most;
        const E_T *const from = x + done * extent;
        O_T *const to = how.stream ? (O_T *)buffer : out + done * extent;
        if (one_by_one && (extent == 2 || extent == 3))
            NAME(scan_two_or_three_)(m, from, block, extent, cached, (L_T)*start, to);
        else if (MOVES_ANY_LANE && extent <= LANES)
            NAME(scan_rows_at_once_)(m, from, block, extent, how.reverse, how.exclusive, (L_T)*start, to);
        else
            for (size_t r = 0; r < block; r++)
                scan(from + r * extent, extent, cached, start, to + r * extent);
        if (how.stream)
            stream_bytes(out + done * extent, buffer, block * extent * sizeof *buffer);
    }
    if (how.stream)
        end_stream();
}

/* ---- rows narrower than a vector ---- */

/* Every lane takes the one 'units' of 32 bits below it; the lowest take fill's. */
ALWAYS_INLINE L_V NAME(rows_up_)(L_V x, L_V fill, size_t units) {
    const v_u32 unit = unit_numbers();
    return (L_V)permute_units_from((v_u32)x, unit - (s_u32)units, unit, (s_u32)units, (v_u32)fill);
}

/* As many whole rows of 'width' elements as a vector holds: 'rows' of them, and behind them lanes that mean nothing.
 * Lane l of *before is the value before them of column l % width, and becomes the one after. */
ALWAYS_INLINE L_V NAME(scan_vector_of_rows_)(tally_monoid m, L_V x, size_t rows, size_t width, bool exclusive,
                                             L_V identity, L_V *before) {
    if (SETTLES(m) && NAME(is_settled_)(m, x, *before))
        return *before;
    const size_t row = width * (sizeof(L_T) / sizeof(s_u32));
    const v_u32 in_last_row = numbers_modulo(row) + (s_u32)((rows - 1) * row);
    for (size_t by = row; by < rows * row; by *= 2)
        x = NAME(scan_combine_)(m, NAME(rows_up_)(x, identity, by), x);
    const L_V result = NAME(scan_combine_)(m, *before, exclusive ? NAME(rows_up_)(x, identity, row) : x);
    *before = NAME(scan_combine_)(m, *before, (L_V)permute_units((v_u32)x, in_last_row));
    return result;
}

ALWAYS_INLINE void NAME(scan_narrow_rows_)(tally_monoid m, const E_T *x, size_t rows, size_t width, bool reverse,
                                           bool exclusive, L_V *before, O_T *out) {
    const size_t n = rows * width, at_once = LANES / width, step = at_once * width;
    const size_t vectors = n < LANES ? 0 : (n - LANES) / step + 1, rest = n - vectors * step;
    const L_V identity = NAME(kept_identity_)(m);
    /* a vector overlaps the one after it, so what that one reads is read before this one is written */
    E_T last[LANES] = {0};
    L_V next, v;
    memcpy(last + (reverse ? LANES - rest : 0), x + (reverse ? 0 : n - rest), rest * sizeof *x);
    next = LOAD(vectors ? x + (reverse ? n - LANES : 0) : last);
    for (size_t k = 0; k < vectors; k++) {
        const size_t i = reverse ? n - LANES - k * step : k * step;
        v = reverse ? REVERSED(next) : next;
        next = LOAD(k + 1 == vectors ? last : reverse ? x + i - step : x + i + step);
        v = NAME(scan_vector_of_rows_)(m, v, at_once, width, exclusive, identity, before);
        v = reverse ? REVERSED(v) : v;
        memcpy(out + i, &v, sizeof v);
    }
    if (rest) {
        L_T results[LANES];
        v = reverse ? REVERSED(next) : next;
        v = NAME(scan_vector_of_rows_)(m, v, rest / width, width, exclusive, identity, before);
        v = reverse ? REVERSED(v) : v;
        memcpy(results, &v, sizeof v);
        memcpy(out + (reverse ? 0 : n - rest), results + (reverse ? LANES - rest : 0), rest * sizeof *out);
    }
}

ALWAYS_INLINE void NAME(scan_narrow_columns_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t rows,
                                              size_t width, tally_cpu_scan_options how, L_T *values, O_T *out) {
    (void)shared;
    L_T buffer[NAME(BUFFER_)], lane[LANES] = {0};
    /* whole vectors of rows, so that the bits do not depend on whether the output is streamed */
    const size_t at_once = LANES / width, most = how.stream ? NAME(BUFFER_) / (at_once * width) * at_once : rows;
    L_V before;
    for (size_t j = 0; j < width; j++)
        lane[how.reverse ? width - 1 - j : j] = values ? values[j] : NAME(scan_identity_)(m);
    memcpy(&before, lane, sizeof before);
    before = (L_V)permute_units((v_u32)before, numbers_modulo(width * (sizeof(L_T) / sizeof(s_u32))));
    for (size_t done = 0; done < rows; done += most) {
        const size_t block = rows - done < most ? rows - done : most;
        const size_t at = (how.reverse ? rows - done - block : done) * width;
        NAME(scan_narrow_rows_)
        (m, x + at, block, width, how.reverse, how.exclusive, &before, how.stream ? (O_T *)buffer : out + at);
        if (how.stream)
            stream_bytes(out + at, buffer, block * width * sizeof *buffer);
    }
    memcpy(lane, &before, sizeof before);
    for (size_t j = 0; values && j < width; j++)
        values[j] = lane[how.reverse ? width - 1 - j : j];
}
