/* Scans along an axis whose elements do not lie next to each other, and along short rows: a thread takes a chunk of a
 * column, and neighbouring threads take neighbouring columns. */
const uint ROWS_IN_FLIGHT = 16;

/* A thread's position in memory and in the column. */
struct scan_place {
    address x, y, out_at;
    wide row;
};
scan_place place_of(wide element, wide row) {
    return scan_place(element_at(p.x, element), element_at(p.y, element),
                      plus(p.out_at, shifted_up(times(element, PER_RESULT), OUT_LOG)), row);
}
wide moved(wide at, wide by) {
    return REVERSE ? minus(at, by) : plus(at, by);
}
scan_place next_place(scan_place at, scan_place apart) {
    return scan_place(moved(at.x, apart.x), moved(at.y, apart.y), moved(at.out_at, apart.out_at),
                      moved(at.row, wide_of(1u)));
}

/* Stores an element's result, for which 'count' elements have been combined. Returns the value that the next element
 * starts from. */
acc_t scan_element(acc_t run, uvec2 x, uvec2 y, scan_place at, wide count) {
    const acc_t next = combine(run, acc_of(lift_bits(x, y, plus(p.before, at.row))));
    store_result(at.out_at, wide(0), lower(INCLUSIVE ? next : run, count, wide(0)));
    return next;
}

void scan_chunk(uint chunk, wide column) {
    uint length;
    const wide begin = begin_of_chunk(chunk, p.extent, length);
    wide count = plus(plus(p.before, begin), INCLUSIVE ? 1u : 0u);
    const wide row = REVERSE ? minus(minus(p.extent, begin), 1u) : begin;
    scan_place at = place_of(elements_before(column, row), row);
    const scan_place apart =
        scan_place(shifted_up(p.inner, IN_LOG), shifted_up(p.inner, IN_LOG),
                   shifted_up(times(p.inner, PER_RESULT), OUT_LOG), wide(0));
    const bool aligned = is_aligned(p.x, IN_LOG) && (!TWO_INPUTS || is_aligned(p.y, IN_LOG));
    acc_t run = given(p.slots) ? read_slot(p.slots, number_of_slot(chunk, column)) : base_of(column);
    for (; length >= ROWS_IN_FLIGHT; length -= ROWS_IN_FLIGHT) {
        uvec2 x[ROWS_IN_FLIGHT], y[ROWS_IN_FLIGHT];
        scan_place ahead = at;
        if (aligned) {
            UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
                x[k] = load_aligned(ahead.x, IN_LOG);
                y[k] = TWO_INPUTS ? load_aligned(ahead.y, IN_LOG) : uvec2(0);
                ahead = next_place(ahead, apart);
            }
        } else {
            UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
                x[k] = load_bits(ahead.x, IN_LOG);
                y[k] = load_partner(ahead.y);
                ahead = next_place(ahead, apart);
            }
        }
        UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
            run = scan_element(run, x[k], y[k], at, plus(count, k));
            at = next_place(at, apart);
        }
        count = plus(count, ROWS_IN_FLIGHT);
    }
    for (; length > 0; length--) {
        run = scan_element(run, load_bits(at.x, IN_LOG), load_partner(at.y), at, count);
        at = next_place(at, apart);
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
