/* Further kernels for runs by segments and keys: they find errors before anything is written, and report them. They do
 * not depend on the monoid and are the same in every module; their pipelines are made from one module. */

/* In the workspace; the library reads it under the same names. Zero at the start. */
layout(buffer_reference, std430, buffer_reference_align = 8) buffer control_block {
    wide runs;      /* of keys */
    uint not_bad;   /* ~ the least segment whose offsets are bad */
    uint not_empty; /* ~ the least empty one, if that is an error */
    uint refused;   /* REFUSED_ bits: nothing is written */
    uint any_long;  /* not zero: a segment is longer than a team folds */
};
const uint REFUSED_BAD = 1, REFUSED_EMPTY = 2, REFUSED_RUNS = 4;

#define CONTROL  control_block(p.total)
#define SEGMENTS p.columns
#define PLACES   p.before /* segments: where each tile's begin, tiles + 1 */
#define MOST_SHORT p.width  /* elements of a segment that a team folds */

wide offset_at(wide e) {
    const uint log = log_bytes(INDEX);
    return extend(load_bits(plus(p.index, shifted_up(e, log)), log), INDEX);
}

/* An array of 64-bit numbers of the library's own. */
wide load_wide(address array, uint i) {
    return load_bits(plus(array, times(i, 8)), 3);
}
void store_wide(address array, uint i, wide value) {
    store_bits(plus(array, times(i, 8)), 3, value);
}

void clear_control() {
    begin_kernel();
    if (group_number() == 0 && THREAD == 0) {
        CONTROL.runs = wide(0);
        CONTROL.not_bad = CONTROL.not_empty = CONTROL.refused = CONTROL.any_long = 0;
    }
}

/* 'columns' words at 'slots'. */
void clear_tiles() {
    begin_kernel();
    const uint threads = group_count() * BLOCK;
    for (wide w = wide_of(group_number() * BLOCK + THREAD); less(w, p.columns); w = plus(w, threads))
        words_at(plus(p.slots, shifted_up(w, 2))).word[0] = 0;
}

/* The first offset that is not less than, or, for reverse scans, greater than a bound. */
wide search(wide bound, bool greater) {
    wide low = wide(0), high = plus(SEGMENTS, 1u);
    while (less(low, high)) {
        const wide middle = shifted_down(plus(low, high), 1), offset = offset_at(middle);
        if (less(offset, bound) || (greater && offset == bound))
            low = plus(middle, 1u);
        else
            high = middle;
    }
    return low;
}

/* Checks every segment, and finds each tile's: 'chunk' elements a tile here. */
void inspect_segments() {
    begin_kernel();
    const wide threads = times(group_count(), BLOCK), begin_at = plus(times(group_number(), BLOCK), THREAD);
    for (wide g = begin_at; !less(SEGMENTS, g); g = plus(g, threads)) {
        const wide begin = offset_at(g), end = less(g, SEGMENTS) ? offset_at(plus(g, 1u)) : begin;
        const uint place = at_most(g, ~0u);
        if (less(end, begin) || less(p.extent, end)) {
            atomicOr(CONTROL.refused, REFUSED_BAD);
            atomicMax(CONTROL.not_bad, ~place);
        } else if (p.many != 0 && less(g, SEGMENTS) && begin == end) {
            atomicOr(CONTROL.refused, REFUSED_EMPTY);
            atomicMax(CONTROL.not_empty, ~place);
        } else if (MOST_SHORT != 0 && !is_below(minus(end, begin), MOST_SHORT + 1)) {
            atomicOr(CONTROL.any_long, 1u);
        }
    }
    for (wide tile = begin_at; is_below(tile, p.chunks); tile = plus(tile, threads)) {
        const wide first = times(tile, p.chunk);
        store_wide(PLACES, tile.x, search(REVERSE ? minus(p.extent, first) : first, REVERSE));
    }
}

/* Copies the counts to where the host, or the caller's kernels, can read them. */
void report() {
    begin_kernel();
    if (group_number() == 0 && THREAD == 0)
        control_block(p.out_at).runs = CONTROL.runs;
    if (group_number() == 0 && THREAD == 0 && p.width == 0) {
        control_block(p.out_at).not_bad = CONTROL.not_bad;
        control_block(p.out_at).not_empty = CONTROL.not_empty;
        control_block(p.out_at).refused = CONTROL.refused;
    }
}
