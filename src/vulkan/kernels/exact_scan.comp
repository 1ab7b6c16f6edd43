/* Exact scans: the rounding of a sum, and the passes. The host's are in exact_scan.c. */
wide rounded_sum() {
    wide bits;
    if (is_decided(saw, bits))
        return bits;
    if (is_zero_sum())
        return saw == SAW_MINUS_ZERO ? sign_bit(OUT) : wide(0);
    int count = int(high - low) + 1;
    if (digit(int(high)) == 0)
        count--;
    const unrounded u = unrounded_sum(magnitude(int(low), count, SCAN_BOTTOM + 32 * int(low), is_negative_sum()));
    return round_float(is_negative_sum(), u.leading, u.exponent, OUT);
}

/* ---- chunks ---- */

/* Whether the scan in a window, which comes first, gave the results (scan_window.comp: 'refused' and 'failed'). */
bool was_done_in_window() {
    return given(p_window) && words_at(p_window).word[3] == 0 && words_at(p_window).word[4] == 0;
}

struct exact_chunk {
    wide number; /* among chunks x columns */
    wide column, begin;
    uint chunk, items;
};
wide column_count() {
    return p_in_groups != 0 ? wide_of(1u) : p.columns;
}
wide extent_of_column() {
    return p_in_groups != 0 ? p.extent : extent_of_run();
}

/* The thread's chunk of 'extent' elements or sums. False: it has none, or the offsets are bad. */
bool find_chunk(wide extent, out exact_chunk c) {
    begin_kernel();
    if ((p_in_groups != 0 && CONTROL.refused != 0) || was_done_in_window())
        return false;
    c.number = plus(times(group_number(), BLOCK), THREAD);
    const wide chunk = divided(c.number, column_count(), c.column);
    c.chunk = chunk.x;
    c.begin = begin_of_chunk(c.chunk, extent, c.items);
    clear_sum();
    has_head = false;
    return is_below(chunk, p.chunks);
}

/* ---- groups ---- */

/* The first position from 'at' on where a segment begins or the last one ends, or the extent. */
wide next_segment(wide at) {
    const wide e = search(REVERSE ? minus(p.extent, at) : at, REVERSE);
    if (REVERSE)
        return e == wide(0) ? p.extent : minus(p.extent, offset_at(minus(e, 1u)));
    return less(p_segments, e) ? p.extent : offset_at(e);
}
/* What a group starts from. */
void add_base(wide column) {
    if (p_in_groups == 0 && given(p.carry))
        add_sum(sum_at(p.carry, column));
    else if (given(p.initial))
        add_float(load_bits(p.initial, OUT_LOG), OUT);
}

/* Adds the elements of a chunk, and gives their results or not. Neighbours are loaded as vectors, and so are results of
 * the same size stored: a thread's next element is in the same cache line, but another thread's is not. */
void take_elements(exact_chunk c, wide extent, bool gives) {
    const bool segments = p_in_groups != 0 && !BY_KEYS, keys = p_in_groups != 0 && BY_KEYS;
    const bool are_neighbours = p_in_groups != 0 || p.inner == wide(1, 0);
    const uint vector = 16u >> IN_LOG;
    const wide from = segments ? offset_at(wide(0)) : wide(0), to = segments ? offset_at(p_segments) : wide(~0u);
    wide next = segments ? next_segment(c.begin) : wide(0);
    for (uint k = 0; k < c.items;) {
        const wide i = plus(c.begin, k), row = REVERSE ? minus(minus(extent, i), 1u) : i;
        const wide element = p_in_groups != 0 ? row : elements_before(c.column, row);
        const uint count = are_neighbours && c.items - k >= vector ? vector : 1;
        const wide first = REVERSE ? minus(element, count - 1) : element, last = plus(first, count - 1); /* in memory */
        const address x = element_at(p.x, first), out_at = plus(p.out_at, shifted_up(first, OUT_LOG));
        const uvec4 some = count > 1 ? load_vector(x) : uvec4(load_bits(x, IN_LOG), 0, 0);
        const bool as_vector = count << OUT_LOG == 16 && (out_at.x & 15u) == 0 && !less(first, from) && less(last, to);
        uvec4 results = uvec4(0);
        for (uint v = 0; v < count; v++) {
            const uint place = REVERSE ? count - 1 - v : v;
            const wide at = plus(i, v), in_memory = plus(first, place);
            const uvec2 bits = pick(some, place, IN_LOG);
            if ((segments && at == next) || (keys && begins_run(at))) {
                clear_sum();
                has_head = true;
                if (gives)
                    add_base(c.column);
                if (segments)
                    next = next_segment(plus(at, 1u));
            }
            wide result = gives && !INCLUSIVE ? rounded_sum() : wide(0);
            add_float(SKIPS_NAN && are_nan(bits) ? uvec2(0) : bits, IN);
            if (gives && INCLUSIVE)
                result = rounded_sum();
            if (as_vector)
                gather(results, place << OUT_LOG, result);
            else if (gives && !less(in_memory, from) && less(in_memory, to))
                store_result(p.out_at, in_memory, single(result));
        }
        if (gives && as_vector)
            vectors_at(out_at).vector[0] = results;
        k += count;
    }
}

/* ---- passes ---- */

void sum_chunks() {
    const wide extent = extent_of_column();
    exact_chunk c;
    if (!find_chunk(extent, c))
        return;
    take_elements(c, extent, false);
    store_sum(sum_at(p.slots, c.number));
}

/* p.x has sums. With p.out_at, each chunk of them is added up and stored there. Without it, each sum becomes that of
 * itself and those before it. p.slots, if it is given, has the sums of what lies before the chunks. */
void scan_sums() {
    exact_chunk c;
    if (!find_chunk(p.extent, c))
        return;
    const bool adds_up = given(p.out_at);
    if (!adds_up && given(p.slots) && c.chunk > 0)
        add_sum(sum_at(p.slots, minus(c.number, column_count())));
    for (uint k = 0; k < c.items; k++) {
        const address at = sum_at(p.x, plus(times(plus(c.begin, k), column_count()), c.column));
        add_sum(at);
        if (!adds_up)
            store_sum(at);
    }
    if (adds_up)
        store_sum(sum_at(p.out_at, c.number));
}

void give_prefixes() {
    const wide extent = extent_of_column();
    exact_chunk c;
    if (!find_chunk(extent, c))
        return;
    if (given(p.slots) && c.chunk > 0)
        add_sum(sum_at(p.slots, minus(c.number, column_count())));
    add_base(c.column);
    take_elements(c, extent, true);
    if (p_in_groups == 0 && given(p.total) && c.chunk + 1 == p.chunks)
        store_sum(sum_at(p.total, c.column));
}
