/* Exact mode: kernels for rows, columns and segments. */

/* Adds a stretch of elements to the state. All threads of a team call this. */
void add_elements(address x, address y, uint count, wide apart) {
#if HAS_MOMENTS
    adds_squares = false;
    add_stretch(x, x, count, apart);
    adds_squares = true;
#endif
    add_stretch(x, y, count, apart);
}

/* Chunks of rows and columns: a team of 'many' threads each. No team does two, so that loops stay short. */
void exact_rows() {
    begin_kernel();
    form_teams(p_team);
    const wide number = plus(times(group_number(), BLOCK / team_size), team), extent = extent_of_run();
    const bool is_there = less(number, times(p.columns, p.chunks));
    wide column;
    const uint chunk = divided(number, p.columns, column).x;
    uint length;
    const wide first = elements_before(column, begin_of_chunk(chunk, extent, length));
    const wide apart = shifted_up(BY_AXIS ? p.inner : wide_of(1u), IN_LOG);
    clear_words();
    if (is_there && !given(p.slots) && given(p.carry))
        add_stored(sum_at(p.carry, column));
    barrier();
    if (is_there)
        add_elements(element_at(p.x, first), element_at(p.y, first), length, apart);
    sum_numbers_of_team();
    if (!is_there)
        return;
    if (given(p.slots))
        store_words(sum_at(p.slots, number));
    else if (given(p.total))
        store_words(sum_at(p.total, column));
    else
        give(column, extent);
}

/* Adds the sums of 'count' chunks, which lie 'apart' sums from each other. Neighbouring threads take neighbouring pairs
 * of a chunk's words (two pairs have the kinds of values seen, and the elements left out) and load several chunks at a time. */
const uint CHUNKS_AHEAD = 16, PAIRS = STATE_WORDS / 2 + (SKIPS_NAN ? 2 : 1);
void add_chunks(address sums, uint count, wide apart) {
    const uint across = min(BLOCK, 1u << findMSB(2 * PAIRS - 1)), sharing = BLOCK / across;
    for (uint i = THREAD % across; i < PAIRS; i += across) {
        ivec2 sum = ivec2(0);
        uint saw = 0;
        wide skipped = wide(0);
        for (uint first = THREAD / across; first < count; first += CHUNKS_AHEAD * sharing) {
            uvec2 some[CHUNKS_AHEAD];
            UNROLLED for (uint k = 0; k < CHUNKS_AHEAD; k++) {
                const uint chunk = first + k * sharing;
                const address at = sum_at(sums, times(apart, chunk));
                some[k] = chunk < count ? load_bits(plus(at, 8 * i), 3) : uvec2(0);
            }
            UNROLLED for (uint k = 0; k < CHUNKS_AHEAD; k++) {
                sum += ivec2(some[k]);
                saw |= some[k].x;
                if (SKIPS_NAN)
                    skipped = plus(skipped, some[k]);
            }
        }
        if (i == STATE_WORDS / 2 + 1) {
            skip(skipped);
        } else if (i == STATE_WORDS / 2) {
            atomicOr(all_saw[0], saw);
        } else {
            atomicAdd(words[first_words + 2 * i], sum.x);
            atomicAdd(words[first_words + 2 * i + 1], sum.y);
        }
    }
    barrier();
}

/* Adds up a row's chunks and the sum of earlier pieces, or only the latter if there are no more chunks. */
void exact_merge() {
    begin_kernel();
    const wide column = wide_of(group_number());
    if (!less(column, p.columns))
        return;
    form_teams(BLOCK);
    clear_words();
    add_chunks(sum_at(p.slots, column), p.chunks, p.columns);
    if (given(p.carry))
        add_stored(sum_at(p.carry, column));
    barrier();
    if (given(p.total))
        store_words(sum_at(p.total, column));
    else
        give(column, plus(p.before, extent_of_run()));
}

/* Any number 'count' of elements from 'first' on. All threads call this. */
void add_group(wide first, wide count) {
    const uint MOST_STRETCH = 1u << 27;
    while (count != wide(0)) {
        const uint some = at_most(count, MOST_STRETCH);
        add_elements(element_at(p.x, first), element_at(p.y, first), some, wide_of(1u << IN_LOG));
        first = plus(first, some);
        count = minus(count, some);
    }
    sum_numbers_of_team();
}

/* ---- segments ---- */

/* Long segments are cut into pieces of 'chunk' elements, which workgroups take one by one. A list has the segment of each
 * piece, 64 bits, and the piece's number in it. The order of segments in the list may differ between runs; it does not
 * show, as sums are exact. */
struct piece {
    wide segment, begin, count; /* the segment's elements */
    uint number;
};
address piece_at(uint i) {
    return plus(p_pieces, times(i, 16));
}
piece piece_of(uint i) {
    piece of;
    of.segment = wide(words_at(piece_at(i)).word[0], words_at(piece_at(i)).word[1]);
    of.number = words_at(piece_at(i)).word[2];
    of.begin = offset_at(of.segment);
    of.count = minus(offset_at(plus(of.segment, 1u)), of.begin);
    return of;
}
bool is_only(piece of) {
    return is_below(of.count, p.chunk + 1);
}
uint pieces_of(wide count) {
    wide rest;
    return divided(plus(count, p.chunk - 1), wide_of(p.chunk), rest).x;
}

void list_pieces(wide segment, wide count) {
    const uint pieces = pieces_of(count), first = atomicAdd(CONTROL.piece_count, pieces);
    for (uint k = 0; k < pieces; k++) {
        words_at(piece_at(first + k)).word[0] = segment.x;
        words_at(piece_at(first + k)).word[1] = segment.y;
        words_at(piece_at(first + k)).word[2] = k;
    }
}

/* A team for each segment, which lists a long one. */
void exact_segments() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    form_teams(p_team);
    const wide g = plus(times(group_number(), BLOCK / team_size), team);
    const bool is_there = less(g, p_segments);
    const wide begin = is_there ? offset_at(g) : wide(0), end = is_there ? offset_at(plus(g, 1u)) : wide(0);
    const wide count = minus(end, begin);
    const bool is_long = !is_below(count, p_most_short + 1);
    clear_words();
    add_group(begin, is_long ? wide(0) : count);
    if (is_long && part == 0)
        list_pieces(g, count);
    else if (is_there && !is_long)
        give(g, count);
}

/* A workgroup for each piece. */
void exact_pieces() {
    begin_kernel();
    form_teams(BLOCK);
    for (uint i = group_number(); i < CONTROL.piece_count; i += group_count()) {
        const piece of = piece_of(i);
        const wide first = times(of.number, p.chunk);
        clear_words();
        add_group(plus(of.begin, first), least(minus(of.count, first), wide_of(p.chunk)));
        if (is_only(of))
            give(of.segment, of.count);
        else
            store_words(sum_at(p.slots, wide_of(i)));
    }
}

/* The workgroup of a segment's first piece adds up all of them. */
void exact_join() {
    begin_kernel();
    form_teams(BLOCK);
    for (uint i = group_number(); i < CONTROL.piece_count; i += group_count()) {
        const piece of = piece_of(i);
        if (of.number != 0 || is_only(of))
            continue;
        clear_words();
        add_chunks(sum_at(p.slots, wide_of(i)), pieces_of(of.count), wide_of(1u));
        give(of.segment, of.count);
    }
}
