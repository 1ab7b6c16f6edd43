/* Scans along an axis whose elements do not lie next to each other, and along short rows: a thread takes a chunk of a
 * column, neighbouring threads neighbouring columns. */
const uint ROWS_IN_FLIGHT = 16;

/* Where a thread is: elements from the array's first, and from the column's. */
struct scan_place {
    wide element, row;
};
scan_place next_place(scan_place at) {
    if (REVERSE)
        return scan_place(minus(at.element, p.inner), minus(at.row, 1u));
    return scan_place(plus(at.element, p.inner), plus(at.row, 1u));
}

/* Stores an element's result, of which 'count' go into it; what the next one starts from. */
acc_t scan_element(acc_t run, uvec2 x, uvec2 y, scan_place at, wide count) {
    const acc_t next = combine(run, widen(lift_bits(x, y, plus(p.before, at.row))));
    store_result(p.out_at, at.element, lower(INCLUSIVE ? next : run, count, wide(0)));
    return next;
}

void scan_chunk(uint chunk, wide column) {
    uint length;
    const wide begin = begin_of_chunk(chunk, p.extent, length);
    wide count = plus(plus(p.before, begin), INCLUSIVE ? 1u : 0u);
    scan_place at;
    at.row = REVERSE ? minus(minus(p.extent, begin), 1u) : begin;
    at.element = elements_before(column, at.row);
    acc_t run = given(p.slots) ? read_slot(p.slots, number_of_slot(chunk, column)) : base_of(column);
    for (; length >= ROWS_IN_FLIGHT; length -= ROWS_IN_FLIGHT) {
        uvec2 x[ROWS_IN_FLIGHT], y[ROWS_IN_FLIGHT];
        scan_place ahead = at;
        UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
            x[k] = load_bits(element_at(p.x, ahead.element), IN_LOG);
            y[k] = load_partner(element_at(p.y, ahead.element));
            ahead = next_place(ahead);
        }
        UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
            run = scan_element(run, x[k], y[k], at, plus(count, k));
            at = next_place(at);
        }
        count = plus(count, ROWS_IN_FLIGHT);
    }
    for (; length > 0; length--) {
        const uvec2 x = load_bits(element_at(p.x, at.element), IN_LOG);
        run = scan_element(run, x, load_partner(element_at(p.y, at.element)), at, count);
        at = next_place(at);
        count = plus(count, 1u);
    }
    if (!given(p.slots) && given(p.total))
        write_slot(p.total, column, run);
}

void scan_columns() {
    begin_kernel();
    const wide all = times(p.columns, p.chunks);
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        const wide number = plus(times(group, BLOCK), THREAD);
        if (less(number, all)) {
            wide column;
            const uint chunk = divided(number, p.columns, column).x;
            scan_chunk(chunk, column);
        }
    }
}
