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
    if (p_in_groups != 0 && CONTROL.refused != 0)
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
/* Whether an element belongs to a group. */
bool is_in_group(wide element) {
    return p_in_groups == 0 || BY_KEYS || (!less(element, offset_at(wide(0))) && less(element, offset_at(p_segments)));
}

/* What a group starts from. */
void add_base(wide column) {
    if (p_in_groups == 0 && given(p.carry))
        add_sum(sum_at(p.carry, column));
    else if (given(p.initial))
        add_float(load_bits(p.initial, OUT_LOG), OUT);
}

/* Adds the elements of a chunk, and gives their results or not. */
void take_elements(exact_chunk c, wide extent, bool gives) {
    const bool segments = p_in_groups != 0 && !BY_KEYS, keys = p_in_groups != 0 && BY_KEYS;
    wide next = segments ? next_segment(c.begin) : wide(0);
    for (uint k = 0; k < c.items; k++) {
        const wide i = plus(c.begin, k), row = REVERSE ? minus(minus(extent, i), 1u) : i;
        const wide element = p_in_groups != 0 ? row : elements_before(c.column, row);
        if ((segments && i == next) || (keys && begins_run(i))) {
            clear_sum();
            has_head = true;
            if (gives)
                add_base(c.column);
            if (segments)
                next = next_segment(plus(i, 1u));
        }
        const uvec2 bits = load_bits(element_at(p.x, element), IN_LOG);
        const bool is_given = gives && is_in_group(element);
        if (is_given && !INCLUSIVE)
            store_result(p.out_at, element, single(rounded_sum()));
        add_float(SKIPS_NAN && are_nan(bits) ? uvec2(0) : bits, IN);
        if (is_given && INCLUSIVE)
            store_result(p.out_at, element, single(rounded_sum()));
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

/* Of the sums at p.x: those of chunks of them, to p.out_at; or, without that, each becomes the sum up to it, from those
 * of chunks at p.slots if they are given. */
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
