/* Between a scan's two passes: turns the chunks' accumulators into what comes before each, carry or initial value
 * included. Workgroups take 'width' columns; the threads of a column take neighbouring chunks. */
void spine() {
    begin_kernel();
    const uint parts = BLOCK / p.width, part = THREAD / p.width;
    const uint64_t panels = (p.columns + p.width - 1) / p.width, each = (p.chunks + parts - 1) / parts;
    for (uint64_t panel = group_number(); panel < panels; panel += group_count()) {
        const uint64_t column = panel * p.width + THREAD % p.width;
        const bool there = column < p.columns;
        const uint64_t first = min(part * each, p.chunks), end = there ? min(first + each, p.chunks) : first;
        acc_t sum = identity(), all;
        for (uint64_t c = first; c < end; c++)
            sum = combine(sum, read_slot(p.slots, c * p.columns + column));
        acc_t run = scan_block(sum, p.width, all);
        if (there && has_base()) {
            const acc_t base = base_of(column);
            run = combine(base, run);
            all = combine(base, all);
        }
        for (uint64_t c = first; c < end; c++) {
            const acc_t chunk = read_slot(p.slots, c * p.columns + column);
            write_slot(p.slots, c * p.columns + column, run);
            run = combine(run, chunk);
        }
        if (there && part == 0 && p.total != 0)
            write_slot(p.total, column, all);
    }
}
