/* Running variances down columns and in short slabs. */

/* ---- scans of columns ---- */

/* A thread's chunk of a column, as in scan_columns.comp. The shift moves to the mean every ROWS_IN_FLIGHT elements. */
void scan_moments_of_chunk(uint chunk, wide column) {
    uint length;
    const wide begin = begin_of_chunk(chunk, p.extent, length);
    const wide row = REVERSE ? minus(minus(p.extent, begin), 1u) : begin;
    scan_place at = place_of(elements_before(column, row), row);
    const scan_place apart = scan_place(shifted_up(p.inner, IN_LOG), wide(0), shifted_up(p.inner, OUT_LOG), wide(0));
    const acc_t base = given(p.slots) ? read_slot(p.slots, number_of_slot(chunk, column)) : base_of(column);
    double n = double_of_integer(plus(p.before, begin), false);
    moments_t run = moments_from(base, wide(0), length > 0 ? value_of_bits(load_bits(at.x, IN_LOG)) : 0.0lf);
    const bool aligned = is_aligned(p.x, IN_LOG), has_words = OUT_LOG >= 2 && (p.out_at.x & 3u) == 0;
    const bool is_empty = length == 0;
    double inverse = inverse_of_count(n);
    while (length > 0) {
        const uint count = min(length, ROWS_IN_FLIGHT);
        uvec2 x[ROWS_IN_FLIGHT];
        address ahead = at.x;
        UNROLLED_LANES for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
            if (k < count)
                x[k] = aligned ? load_aligned(ahead, IN_LOG) : load_bits(ahead, IN_LOG);
            ahead = moved(ahead, apart.x);
        }
        UNROLLED_LANES for (uint k = 0; k < ROWS_IN_FLIGHT; k++)
            if (k < count) {
                n += 1;
                run = with_element(run, value_of_bits(x[k]), n, inverse);
                const wide bits = output_of_moments(run.squares, n);
                if (has_words) {
                    words_at(at.out_at).word[0] = bits.x;
                    if (OUT_LOG == 3)
                        words_at(at.out_at).word[1] = bits.y;
                } else {
                    store_bits(at.out_at, OUT_LOG, bits);
                }
                at.out_at = moved(at.out_at, apart.out_at);
            }
        at.x = ahead;
        run = about_mean(run, n);
        length -= count;
    }
    if (!given(p.slots) && given(p.total))
        write_slot(p.total, column, is_empty ? base : acc_from(run, n));
}

void moment_columns() {
    begin_kernel();
    const wide all = times(p.columns, p.chunks);
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        const wide number = plus(times(group, BLOCK), THREAD);
        if (less(number, all)) {
            wide column;
            const uint chunk = divided(number, p.columns, column).x;
            scan_moments_of_chunk(chunk, column);
        }
    }
}

/* ---- scans of slabs ---- */

double value_of_cell(uint at) {
    return value_of_bits(cell(at));
}
uint row_of_cell(uint k) {
    return REVERSE ? p.extent.x - 1 - k : k;
}
moments_t moments_before_column(some_slabs s, uint column) {
    return moments_from(base_of(plus(s.first, column)), wide(0),
                        value_of_cell(cell_of(column) + row_of_cell(0) * p.inner.x));
}

/* As scan_columns_of() of slabs.comp: the threads of a team scan distances from one shift, then squares. */
void scan_moments_of_slabs(some_slabs s) {
    const uint parts = p_team, part = THREAD & parts - 1, each = (p.extent.x + parts - 1) / parts;
    const uint begin = min(part * each, p.extent.x), end = min(begin + each, p.extent.x);
    const double before = double_of_integer(plus(p.before, begin), false);
    moments_t run;
    if (parts > 1) {
        const bool there = THREAD / parts < s.count;
        const uint at = cell_of(there ? THREAD / parts : 0);
        double n = before, inverse = inverse_of_count(n), own = 0;
        if (there)
            run = moments_before_column(s, THREAD / parts);
        for (uint k = begin; k < end && there; k++)
            own += value_of_cell(at + row_of_cell(k) * p.inner.x) - run.shift;
        unit_sums[THREAD] = own;
        barrier();
        for (uint k = THREAD - part; k < THREAD; k++)
            run.distances += unit_sums[k];
        moments_t next = run;
        next.squares = 0;
        for (uint k = begin; k < end && there; k++) {
            n += 1;
            next = with_element(next, value_of_cell(at + row_of_cell(k) * p.inner.x), n, inverse);
        }
        unit_sums[BLOCK + THREAD] = next.squares;
        barrier();
        for (uint k = THREAD - part; k < THREAD; k++)
            run.squares += unit_sums[BLOCK + k];
    }
    for (uint column = THREAD / parts; column < s.count; column += BLOCK / parts) {
        const uint at = cell_of(column);
        if (parts == 1)
            run = moments_before_column(s, column);
        double n = before, inverse = inverse_of_count(n);
        for (uint k = begin; k < end; k++) {
            const uint e = at + row_of_cell(k) * p.inner.x;
            n += 1;
            run = with_element(run, value_of_cell(e), n, inverse);
            put_cell(e, output_of_moments(run.squares, n));
        }
        if (given(p.total) && part == parts - 1)
            write_slot(p.total, plus(s.first, column), acc_from(run, n));
    }
    barrier();
    store_cells(plus(p.out_at, shifted_up(times(s.first, p.extent.x), OUT_LOG)), s.count * p.extent.x);
}

void moment_slabs() {
    begin_kernel();
    divide_cells();
    uvec4 x[STAGE_VECTORS];
    some_slabs now, next = slabs_of(group_number());
    for (uint group = group_number(); true;) {
        load_stretch(p.x, next, x);
        if (group != group_number())
            scan_moments_of_slabs(now);
        if (group >= p.panels)
            return;
        barrier(); /* earlier use of the memory */
        now = next;
        put_stretch(p.x, now, x, 0);
        barrier();
        group += group_count();
        next = slabs_of(group);
    }
}
