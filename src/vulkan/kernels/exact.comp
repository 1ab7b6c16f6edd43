/* Exact mode: kernels for rows, columns and segments. */

/* Chunks of rows and columns: a team of 'many' threads each, of which none does two, so that loops stay short. */
void exact_rows() {
    begin_kernel();
    form_teams(p.many);
    const uint64_t number = group_number() * (BLOCK / team_size) + team;
    const bool is_there = number < p.columns * p.chunks;
    const uint64_t chunk = p.chunks == 1 ? uint64_t(0) : number / p.columns, column = number - chunk * p.columns;
    const uint64_t first = first_of_column(column) << IN_LOG, extent = extent_of_run();
    const uint64_t begin = min(chunk * p.chunk, extent), end = is_there ? min(begin + p.chunk, extent) : begin;
    clear_words();
    if (is_there && p.slots == 0 && p.carry != 0)
        add_stored(p.carry + column * SUM_BYTES);
    barrier();
    add_elements(p.x + first, p.y + first, begin, end, p.inner);
    if (!is_there)
        return;
    if (p.slots != 0)
        store_words(p.slots + number * SUM_BYTES);
    else if (p.total != 0)
        store_words(p.total + column * SUM_BYTES);
    else
        give(column, extent);
}

/* A row's chunks, added up, with what earlier pieces came to; also that alone, when there are no more. Neighbouring
 * threads take neighbouring pairs of a chunk's words, the last of which is what was seen, and have some chunks on their
 * way. */
const uint CHUNKS_AHEAD = 16, PAIRS = WORDS / 2 + 1;
void exact_merge() {
    begin_kernel();
    const uint64_t column = group_number();
    if (column >= p.columns)
        return;
    form_teams(BLOCK);
    clear_words();
    const uint across = min(BLOCK, 1u << findMSB(2 * PAIRS - 1)), sharing = BLOCK / across;
    for (uint i = THREAD % across; i < PAIRS; i += across) {
        ivec2 sum = ivec2(0);
        uint saw = 0;
        for (uint64_t first = THREAD / across; first < p.chunks; first += CHUNKS_AHEAD * sharing) {
            uvec2 some[CHUNKS_AHEAD];
            UNROLLED for (uint k = 0; k < CHUNKS_AHEAD; k++) {
                const uint64_t chunk = first + k * sharing, at = p.slots + (chunk * p.columns + column) * SUM_BYTES;
                some[k] = chunk < p.chunks ? load_bits(at + 8 * i, 3) : uvec2(0);
            }
            UNROLLED for (uint k = 0; k < CHUNKS_AHEAD; k++) {
                sum += ivec2(some[k]);
                saw |= some[k].x;
            }
        }
        if (i == PAIRS - 1) {
            atomicOr(all_saw[0], saw);
        } else {
            atomicAdd(words[first_words + 2 * i], sum.x);
            atomicAdd(words[first_words + 2 * i + 1], sum.y);
        }
    }
    barrier();
    if (p.carry != 0)
        add_stored(p.carry + column * SUM_BYTES);
    barrier();
    if (p.total != 0)
        store_words(p.total + column * SUM_BYTES);
    else
        give(column, p.before + extent_of_run());
}

/* A team each. */
void exact_segments() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    form_teams(p.many);
    const uint64_t g = group_number() * (BLOCK / team_size) + team;
    const bool is_there = g < SEGMENTS;
    const uint64_t begin = is_there ? offset_at(g) : 0, end = is_there ? offset_at(g + 1) : 0;
    clear_words();
    add_elements(p.x, p.y, begin, end, 1);
    if (is_there)
        give(g, end - begin);
}
