/* Scans along an axis whose elements do not lie next to each other, and along short rows: a thread takes a chunk of a
 * column, neighbouring threads neighbouring columns. */
void scan_columns() {
    begin_kernel();
    const uint log = IN_LOG;
    const uint64_t all = p.columns * p.chunks, threads = group_count() * BLOCK;
    for (uint64_t number = group_number() * BLOCK + THREAD; number < all; number += threads) {
        const uint64_t chunk = p.chunks == 1 ? uint64_t(0) : number / p.columns, column = number - chunk * p.columns;
        const uint64_t first = first_of_column(column), begin = chunk * p.chunk;
        const uint64_t end = min(begin + p.chunk, p.extent);
        acc_t run = p.slots != 0 ? read_slot(p.slots, number) : base_of(column);
        for (uint64_t logical = begin; logical < end; logical++) {
            const uint64_t row = REVERSE ? p.extent - 1 - logical : logical, i = first + row * p.inner;
            const uvec2 x = load_bits(p.x + (i << log), log);
            const acc_t next = combine(run, widen(lift_bits(x, partner_at(p.y, i << log), p.before + row)));
            store_result(p.out_at, i,
                         lower(INCLUSIVE ? next : run, p.before + logical + (INCLUSIVE ? 1 : 0), 0));
            run = next;
        }
        if (p.slots == 0 && p.total != 0)
            write_slot(p.total, column, run);
    }
}
