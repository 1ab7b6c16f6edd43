/* Between a scan's two passes: turns the chunks' accumulators into the values before each chunk, with the carry or the
 * initial value. Workgroups take 'width' columns; the threads of a column take neighbouring chunks. */
void spine() {
    begin_kernel();
    const uint parts = BLOCK / p.width, part = THREAD / p.width;
    const uint each = (p.chunks + parts - 1) / parts;
    for (uint panel = group_number(); panel < p.panels; panel += group_count()) {
        const wide column = plus(times(panel, p.width), THREAD % p.width);
        const bool there = less(column, p.columns);
        const uint first = min(part * each, p.chunks), end = there ? min(first + each, p.chunks) : first;
        acc_t sum = identity(), all;
        for (uint c = first; c < end; c++)
            sum = combine(sum, read_slot(p.slots, number_of_slot(c, column)));
        acc_t run = scan_block(sum, p.width, all);
        if (there && has_base()) {
            const acc_t base = base_of(column);
            run = combine(base, run);
            all = combine(base, all);
        }
        for (uint c = first; c < end; c++) {
            const wide number = number_of_slot(c, column);
            const acc_t chunk = read_slot(p.slots, number);
            write_slot(p.slots, number, run);
            run = combine(run, chunk);
        }
        if (there && part == 0 && given(p.total))
            write_slot(p.total, column, all);
    }
}
