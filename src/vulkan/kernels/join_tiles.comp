/* Segments of several tiles of segment_tiles.comp, or of several chunks of segments.comp: what a tile leaves of those
 * that it has in part, and a dispatch that joins these parts. */

/* What a tile leaves: the elements before its first bit, or all; and those after its last one. */
void leave_lead(uint tile, acc_t acc) {
    write_slot(p.slots, times(tile, 2u), acc);
}
void leave_tail(uint tile, acc_t acc) {
    write_slot(p.slots, plus(times(tile, 2u), 1u), acc);
}
acc_t lead_of(uint tile) {
    return read_slot(p.slots, times(tile, 2u));
}
acc_t tail_of(uint tile) {
    return read_slot(p.slots, plus(times(tile, 2u), 1u));
}

/* Whether a segment is longer than a chunk, so that workgroups fold its parts. */
bool spans_chunks(wide begin, wide end) {
    return !is_below(minus(end, begin), p.chunk + 1);
}

const uint MOST_ALONE = 32; /* tiles that one thread joins; not tuned */
shared uint spanning_count;
shared uint spanning_tiles[BLOCK];

/* The segment that begins in another tile and ends in this one, and the tile where it begins. */
struct spanning {
    wide end; /* its number, and 1; 0: there is none */
    uint origin;
};
spanning spanning_of(uint tile) {
    wide from, to;
    if (tile >= p.chunks)
        return spanning(wide(0), 0);
    places_of(tile, tile + 1, tile + 1 == p.chunks, from, to);
    if (from == wide(0) || !less(from, to))
        return spanning(wide(0), 0);
    const wide begin = inspected_offset(minus(from, 1u));
    if (p_most_short != 0 && !spans_chunks(begin, inspected_offset(from)))
        return spanning(wide(0), 0);
    return spanning(from, shifted_down(begin, uint(findMSB(p.chunk))).x);
}
/* What tiles [first, end) leave. */
acc_t join_leads(uint first, uint end) {
    acc_t acc = identity();
    for (uint tile = first; tile < end; tile++)
        acc = combine(acc, lead_of(tile));
    return acc;
}
void give_spanning(spanning s, acc_t leads) {
    const wide g = minus(s.end, 1u), start = inspected_offset(g);
    store_result(p.out_at, g, lower(combine(tail_of(s.origin), leads), minus(inspected_offset(s.end), start), start));
}

/* Workgroups have equal shares of all segments. */
void give_empty_segments() {
    const wide share = plus(shifted_down(p_segments, findMSB(group_count())), 1u); /* or somewhat more than that */
    const wide from = times(share, group_number()), to = least(plus(from, share), p_segments);
    for (wide g = plus(from, THREAD); less(g, to); g = plus(g, BLOCK)) {
        const wide start = inspected_offset(g);
        if (start == inspected_offset(plus(g, 1u)))
            store_result(p.out_at, g, lower(identity(), wide(0), start));
    }
}

/* This is the last kernel of a run, so it also tells the findings, and clears the control block of the next run. */
void join_tiles() {
    begin_kernel();
    if (group_number() == 0 && THREAD == 0) {
        if (given(p_outcome))
            tell_findings(p_outcome);
        if (given(p_next_control))
            clear_block(p_next_control);
    }
    if (CONTROL.refused != 0 || p_most_short != 0 && CONTROL.any_long == 0)
        return;
    if (CONTROL.any_crowded != 0)
        give_empty_segments();
    for (uint first = group_number() * BLOCK; first < p.chunks; first += group_count() * BLOCK) {
        const uint tile = first + THREAD;
        const spanning own = spanning_of(tile);
        const bool is_there = own.end != wide(0), is_long = is_there && tile - own.origin > MOST_ALONE;
        barrier();
        if (THREAD == 0)
            spanning_count = 0;
        barrier();
        if (is_long)
            spanning_tiles[atomicAdd(spanning_count, 1u)] = THREAD;
        else if (is_there)
            give_spanning(own, join_leads(own.origin + 1, tile + 1));
        barrier();
        for (uint k = 0; k < spanning_count; k++) {
            const uint end = first + spanning_tiles[k];
            const spanning s = spanning_of(end);
            const uint count = end - s.origin, each = (count + BLOCK - 1) / BLOCK;
            const uint begin = s.origin + 1 + min(THREAD * each, count);
            acc_t acc = join_leads(begin, min(begin + each, end + 1));
            acc = fold_block(acc, 1, BLOCK);
            if (THREAD == 0)
                give_spanning(s, acc);
        }
    }
}
