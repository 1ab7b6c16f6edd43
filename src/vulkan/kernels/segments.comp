/* Reductions by segments, for monoids whose order does not matter. Up to a length, a team of threads folds each
 * segment. With a longer one among them, all are left to segment_tiles.comp. Where combining accumulators is long work, the
 * longer ones alone are folded by workgroups that take equal chunks of the input, whatever its segments. First
 * they fold the part of a segment that begins in a chunk and does not end there, which the spine of groups.comp carries
 * to the chunks after it. Then they fold the segments that end in a chunk. */

#if COMMUTES
bool is_left_to_tiles() {
    return HAS_RUNNING == 0 && CONTROL.any_long != 0;
}

void short_segments() {
    begin_kernel();
    if (CONTROL.refused != 0 || is_left_to_tiles())
        return;
    const uint part = THREAD & p_team - 1;
    const uint teams_log = uint(findMSB(BLOCK) - findMSB(p_team));
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        const wide g = plus(shifted_up(wide_of(group), teams_log), THREAD >> findMSB(p_team));
        const bool is_there = less(g, p_segments);
        const wide begin = is_there ? offset_at(g) : wide(0), end = is_there ? offset_at(plus(g, 1u)) : begin;
        const bool is_short = is_there && is_below(minus(end, begin), p_most_short + 1);
        acc_t acc = identity();
        if (is_short)
            acc = fold_vectors(stretch_of(begin, end.x - begin.x, begin), part, p_team);
        acc = fold_block(acc, 1, p_team);
        if (is_short && part == 0)
            store_result(p.out_at, g, lower(acc, minus(end, begin), begin));
    }
}

#if HAS_RUNNING
/* The first offset that is not before a chunk. */
wide place_of(uint chunk) {
    return chunk < p.chunks ? load_wide(p_places, chunk) : search(p.extent, false);
}

/* The part of a long segment that lies in a chunk and continues after it. */
void open_segments() {
    begin_kernel();
    if (CONTROL.refused != 0 || CONTROL.any_long == 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const wide first = times(chunk, p.chunk), end = plus(first, p.chunk), next = place_of(chunk + 1);
        record_t open = record_t(identity(), wide_of(1u), wide(0));
        if (next != wide(0) && !less(p_segments, next) && less(end, p.extent)) {
            const wide begin = offset_at(minus(next, 1u)), until = offset_at(next);
            if (less(end, until) && !is_below(minus(until, begin), p_most_short + 1)) {
                const wide inside = most(begin, first);
                open.acc = fold_together(inside, end.x - inside.x);
                open.head = less(begin, first) ? wide(0) : plus(begin, 1u);
            }
        }
        if (THREAD == 0)
            write_record(chunk, open);
    }
}

shared uint long_count;
shared uint long_segments[BLOCK];

/* Number k of the offsets that are looked through: all from one on or, in a crowded chunk, the first offset at each
 * position from one on. */
bool is_looked_at(wide from, uint k, bool is_crowded, out wide e) {
    const wide at = plus(from, k);
    e = at;
    return !is_crowded || has_offset(at, e);
}

/* Long segments that end in a chunk, among those of 'BLOCK' offsets or positions. */
void close_some(uint chunk, wide from, wide last, bool is_crowded) {
    const wide first = times(chunk, p.chunk);
    wide e;
    barrier();
    if (THREAD == 0)
        long_count = 0;
    barrier();
    if (is_looked_at(from, THREAD, is_crowded, e) && e != wide(0) && !less(last, e)) {
        const wide end = offset_at(e);
        if (less(first, end) && is_below(minus(end, first), p.chunk + 1) &&
            !is_below(minus(end, offset_at(minus(e, 1u))), p_most_short + 1))
            long_segments[atomicAdd(long_count, 1)] = THREAD;
    }
    barrier();
    for (uint k = 0; k < long_count; k++) {
        is_looked_at(from, long_segments[k], is_crowded, e);
        const wide g = minus(e, 1u), begin = offset_at(g), end = offset_at(e), inside = most(begin, first);
        acc_t acc = fold_together(inside, end.x - inside.x);
        if (THREAD == 0) {
            if (less(begin, first))
                acc = combine(read_record(chunk).acc, acc);
            store_result(p.out_at, g, lower(acc, minus(end, begin), begin));
        }
    }
}
void close_segments() {
    begin_kernel();
    if (CONTROL.refused != 0 || CONTROL.any_long == 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const wide first = times(chunk, p.chunk), from = place_of(chunk), last = least(place_of(chunk + 1), p_segments);
        if (are_crowded(p.chunk, from, last)) {
            for (uint k = 1; k < p.chunk + 1; k += BLOCK)
                close_some(chunk, plus(first, k), last, true);
            continue;
        }
        for (wide offsets = from; !less(last, offsets); offsets = plus(offsets, BLOCK))
            close_some(chunk, offsets, last, false);
    }
}
#else
void open_segments() {}
void close_segments() {}
#endif
#else
void short_segments() {}
void open_segments() {}
void close_segments() {}
#endif
