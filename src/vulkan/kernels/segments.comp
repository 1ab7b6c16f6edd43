/* Reductions by segments, for monoids whose order does not matter. Up to a length, a team of threads folds each
 * segment, or tiled_segments.comp has it. Whole workgroups fold the longer ones: each of a list, or, if a segment is
 * longer than a chunk of the input, what it has in each chunk, as a chunk has two such parts at most. join_tiles.comp
 * joins these parts. */

#if COMMUTES
wide segment_of_team(uint group, uint teams_log) {
    return plus(shifted_up(wide_of(group), teams_log), THREAD >> findMSB(p_team));
}
/* The offsets of the next segments are loaded ahead. */
void short_segments() {
    begin_kernel();
    const uint part = THREAD & p_team - 1;
    const uint teams_log = uint(findMSB(BLOCK) - findMSB(p_team));
    wide g = segment_of_team(group_number(), teams_log);
    uvec2 begin_bits = bits_of_offset(least(g, p_segments)), end_bits = bits_of_offset(least(plus(g, 1u), p_segments));
    if (CONTROL.refused != 0)
        return;
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        const bool is_there = less(g, p_segments);
        const wide begin = offset_of_bits(begin_bits), end = offset_of_bits(end_bits);
        const wide then = segment_of_team(group + group_count(), teams_log);
        begin_bits = bits_of_offset(least(then, p_segments));
        end_bits = bits_of_offset(least(plus(then, 1u), p_segments));
        const bool is_short = is_there && is_below(minus(end, begin), p_most_short + 1);
        acc_t acc = identity();
        if (is_short)
            acc = fold_vectors(stretch_of(begin, end.x - begin.x, begin), part, p_team);
        acc = fold_block(acc, 1, p_team);
        if (is_short && part == 0)
            store_result(p.out_at, g, lower(acc, minus(end, begin), begin));
        g = then;
    }
}

/* What a workgroup folds: some elements, which are no more than a chunk. */
struct long_part {
    bool is_there;
    wide begin, end;
    wide segment; /* of which they are all; not looked at if they lie in a chunk */
};
/* The chunk's part of the segment that begins before it. The segment ends in the chunk or after it. */
long_part lead_of_chunk(uint chunk) {
    const wide first = times(chunk, p.chunk), e = load_wide(p_places, chunk);
    if (e == wide(0) || less(p_segments, e))
        return long_part(false, wide(0), wide(0), wide(0));
    const wide begin = offset_at(minus(e, 1u)), end = offset_at(e);
    return long_part(spans_chunks(begin, end), first, least(end, plus(first, p.chunk)), wide(0));
}
/* The chunk's part of the segment that begins in it and ends after it. */
long_part tail_of_chunk(uint chunk) {
    const wide first = times(chunk, p.chunk), after = plus(first, p.chunk);
    const wide e = chunk + 1 < p.chunks ? load_wide(p_places, chunk + 1) : wide(0);
    if (e == wide(0) || less(p_segments, e))
        return long_part(false, wide(0), wide(0), wide(0));
    const wide begin = offset_at(minus(e, 1u)), end = offset_at(e);
    return long_part(!less(begin, first) && spans_chunks(begin, end), begin, after, wide(0));
}
long_part listed_segment(uint i) {
    const wide g = load_wide(p_listed, i);
    return long_part(true, offset_at(g), offset_at(plus(g, 1u)), g);
}

shared uint left_count;
shared uint left_groups[BLOCK];
const uint TEAM_OF_LEFT = 32;

void long_segments() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    const uint parts_of_all = CONTROL.any_long != 0 ? 2 * p.chunks + CONTROL.piece_count : 0;
    for (uint i = group_number(); i < parts_of_all; i += group_count()) {
        const bool is_lead = i < p.chunks, is_listed = i >= 2 * p.chunks;
        const uint chunk = is_lead ? i : i - p.chunks;
        long_part s;
        if (is_listed)
            s = listed_segment(i - 2 * p.chunks);
        else if (is_lead)
            s = lead_of_chunk(chunk);
        else
            s = tail_of_chunk(chunk);
        if (!s.is_there)
            continue;
        const acc_t acc = fold_together(s.begin, s.end.x - s.begin.x);
        if (THREAD != 0)
            continue;
        if (is_listed)
            store_result(p.out_at, s.segment, lower(acc, minus(s.end, s.begin), s.begin));
        else if (is_lead)
            leave_lead(chunk, acc);
        else
            leave_tail(chunk, acc);
    }
    /* groups that are too long for tiled_segments.comp, mostly since they have a long segment: the others of each */
    const bool may_be_tiled = !GIVES_INDEX && TILE_SLOTS > 1 && p_at_once != 0;
    const uint part = THREAD & TEAM_OF_LEFT - 1, teams = BLOCK / TEAM_OF_LEFT;
    for (uint first = group_number() * BLOCK; may_be_tiled && first < p.panels; first += group_count() * BLOCK) {
        const wide of_group = least(times(first + THREAD, p_at_once), p_segments);
        const uint count = first + THREAD < p.panels ? at_most(minus(p_segments, of_group), p_at_once) : 0;
        barrier();
        if (THREAD == 0)
            left_count = 0;
        barrier();
        if (!is_below(minus(offset_at(plus(of_group, count)), offset_at(of_group)), p_most_tiled))
            left_groups[atomicAdd(left_count, 1u)] = first + THREAD;
        barrier();
        for (uint k = 0; k < left_count; k++) {
            const wide group = times(left_groups[k], p_at_once), after = least(plus(group, p_at_once), p_segments);
            for (uint at = 0; at < p_at_once; at += teams) {
                const wide g = plus(group, at + THREAD / TEAM_OF_LEFT);
                const bool is_there = less(g, after);
                const wide begin = is_there ? offset_at(g) : wide(0), end = is_there ? offset_at(plus(g, 1u)) : begin;
                const bool is_short = is_there && is_below(minus(end, begin), p_most_short + 1);
                acc_t acc = identity();
                if (is_short)
                    acc = fold_vectors(stretch_of(begin, end.x - begin.x, begin), part, TEAM_OF_LEFT);
                acc = fold_block(acc, 1, TEAM_OF_LEFT);
                if (is_short && part == 0)
                    store_result(p.out_at, g, lower(acc, minus(end, begin), begin));
            }
        }
    }
}
#else
void short_segments() {}
void long_segments() {}
#endif
