/* Scans along an axis whose elements do not lie next to each other, and along short rows: a thread takes a chunk of a
 * column, neighbouring threads neighbouring columns. */
const uint ROWS_IN_FLIGHT = 16;

uint64_t row_of(uint64_t logical) {
    return REVERSE ? p.extent - 1 - logical : logical;
}

/* Stores an element's result; what the next one starts from. */
acc_t scan_element(acc_t run, uvec2 x, uvec2 y, uint64_t first, uint64_t logical) {
    const uint64_t row = row_of(logical);
    const acc_t next = combine(run, widen(lift_bits(x, y, p.before + row)));
    store_result(p.out_at, first + row * p.inner,
                 lower(INCLUSIVE ? next : run, p.before + logical + (INCLUSIVE ? 1 : 0), 0));
    return next;
}

void scan_columns() {
    begin_kernel();
    const uint64_t all = p.columns * p.chunks, threads = group_count() * BLOCK;
    for (uint64_t number = group_number() * BLOCK + THREAD; number < all; number += threads) {
        const uint64_t chunk = p.chunks == 1 ? uint64_t(0) : number / p.columns, column = number - chunk * p.columns;
        const uint64_t first = first_of_column(column), begin = chunk * p.chunk;
        const uint64_t end = min(begin + p.chunk, p.extent);
        acc_t run = p.slots != 0 ? read_slot(p.slots, number) : base_of(column);
        uint64_t logical = begin;
        for (; logical + ROWS_IN_FLIGHT <= end; logical += ROWS_IN_FLIGHT) {
            uvec2 x[ROWS_IN_FLIGHT], y[ROWS_IN_FLIGHT];
            UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
                const uint64_t at = first + row_of(logical + k) * p.inner << IN_LOG;
                x[k] = load_bits(p.x + at, IN_LOG);
                y[k] = partner_at(p.y, at);
            }
            UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++)
                run = scan_element(run, x[k], y[k], first, logical + k);
        }
        for (; logical < end; logical++) {
            const uint64_t at = first + row_of(logical) * p.inner << IN_LOG;
            run = scan_element(run, load_bits(p.x + at, IN_LOG), partner_at(p.y, at), first, logical);
        }
        if (p.slots == 0 && p.total != 0)
            write_slot(p.total, column, run);
    }
}
