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
    moments_t run = moments_from(base, wide(0), length > 0 ? value_of_bits(load_bits(at.x, IN_LOG)) : 0.0lf);
    const bool aligned = is_aligned(p.x, IN_LOG), has_words = OUT_LOG >= 2 && (p.out_at.x & 3u) == 0;
    const bool is_empty = length == 0;
    count_t c = count_of(double_of_integer(plus(p.before, begin), false));
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
                c = next_count(c);
                run = with_element(run, value_of_bits(x[k]), c);
                const wide bits = output_of_moments(run.squares, c.n, inverse_of_divisor(c));
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
        run = about_mean(run, c.n);
        length -= count;
    }
    if (!given(p.slots) && given(p.total))
        write_slot(p.total, column, is_empty ? base : acc_from(run, c.n));
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
        count_t c = count_of(before);
        double own = 0;
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
            c = next_count(c);
            next = with_element(next, value_of_cell(at + row_of_cell(k) * p.inner.x), c);
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
        count_t c = count_of(before);
        for (uint k = begin; k < end; k++) {
            const uint e = at + row_of_cell(k) * p.inner.x;
            c = next_count(c);
            run = with_element(run, value_of_cell(e), c);
            put_cell(e, output_of_moments(run.squares, c.n, inverse_of_divisor(c)));
        }
        if (given(p.total) && part == parts - 1)
            write_slot(p.total, plus(s.first, column), acc_from(run, c.n));
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
        load_stretch(p.x, first_of_slabs(next), next.count * p.extent.x, x);
        if (group != group_number())
            scan_moments_of_slabs(now);
        if (group >= p.panels)
            return;
        barrier(); /* earlier use of the memory */
        now = next;
        put_stretch(p.x, first_of_slabs(now), now.count * p.extent.x, x, 0);
        barrier();
        group += group_count();
        next = slabs_of(group);
    }
}

/* ---- scans of few columns that are not short: see tall_slabs() ---- */

uint row_of_tile(rows_tile t, uint k) {
    return REVERSE ? t.rows - 1 - k : k;
}
moments_t scan_moments_of_rows(rows_tile t, moments_t run) {
    const uint parts = p_team, part = THREAD & parts - 1, column = THREAD >> findMSB(parts), inner = p.inner.x;
    const uint each = (t.rows + parts - 1) >> findMSB(parts);
    const uint begin = min(part * each, t.rows), end = min(begin + each, t.rows);
    const bool is_there = column < inner;
    const double before = double_of_integer(plus(rows_counted, begin), false);
    if (parts > 1) {
        count_t c = count_of(before);
        double own = 0;
        for (uint k = begin; k < end && is_there; k++)
            own += value_of_cell(column + row_of_tile(t, k) * inner) - run.shift;
        barrier(); /* earlier use of the memory */
        unit_sums[THREAD] = own;
        barrier();
        for (uint k = THREAD - part; k < THREAD; k++)
            run.distances += unit_sums[k];
        moments_t next = run;
        next.squares = 0;
        for (uint k = begin; k < end && is_there; k++) {
            c = next_count(c);
            next = with_element(next, value_of_cell(column + row_of_tile(t, k) * inner), c);
        }
        unit_sums[BLOCK + THREAD] = next.squares;
        barrier();
        for (uint k = THREAD - part; k < THREAD; k++)
            run.squares += unit_sums[BLOCK + k];
    }
    count_t c = count_of(before);
    for (uint k = begin; k < end && is_there; k++) {
        const uint e = column + row_of_tile(t, k) * inner;
        c = next_count(c);
        run = with_element(run, value_of_cell(e), c);
        put_cell(e, output_of_moments(run.squares, c.n, inverse_of_divisor(c)));
    }
    if (parts > 1) {
        barrier();
        if (part == parts - 1) {
            unit_sums[THREAD / parts] = run.distances;
            unit_sums[BLOCK + THREAD / parts] = run.squares;
        }
        barrier();
        run.distances = unit_sums[THREAD / parts];
        run.squares = unit_sums[BLOCK + THREAD / parts];
    }
    return about_mean(run, double_of_integer(plus(rows_counted, t.rows), false));
}

void moment_tall() {
    begin_kernel();
    divide_cells();
    const uint parts = p_team, column = THREAD >> findMSB(parts), inner = p.inner.x;
    for (uint number = group_number(); number < p.panels * p.chunks; number += group_count()) {
        const uint chunk = number / p.panels, slab = number % p.panels;
        uint length;
        const wide begin = begin_of_chunk(chunk, p.extent, length), own = plus(times(p.inner, slab), column);
        acc_t base = identity();
        if (column < inner && given(p.slots))
            base = read_slot(p.slots, number_of_slot(chunk, own));
        else if (column < inner)
            base = base_of(own);
        moments_t run;
        uvec4 x[STAGE_VECTORS];
        rows_tile now, next = tile_of_rows(slab, begin, 0, length);
        for (uint at = 0; true;) {
            load_stretch(p.x, next.first, next.rows * inner, x);
            if (at > 0) {
                begin_tile_of_rows(now);
                if (at == now.rows)
                    run = moments_from(base, wide(0),
                                       column < inner ? value_of_cell(column + row_of_tile(now, 0) * inner) : 0.0lf);
                run = scan_moments_of_rows(now, run);
                barrier();
                store_cells(plus(p.out_at, shifted_up(now.first, OUT_LOG)), now.rows * inner);
            }
            barrier(); /* earlier use of the memory */
            if (at >= length)
                break;
            now = next;
            put_stretch(p.x, now.first, now.rows * inner, x, 0);
            barrier();
            at += now.rows;
            next = tile_of_rows(slab, begin, at, length);
        }
        if (!given(p.slots) && given(p.total) && column < inner && (THREAD & parts - 1) == parts - 1)
            write_slot(p.total, own,
                       length > 0 ? acc_from(run, double_of_integer(plus(p.before, p.extent), false)) : base);
    }
}
