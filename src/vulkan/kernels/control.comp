/* What runs by segments and keys take besides: finding out what is wrong before anything is written, and telling it.
 * These know no monoid, and are the same in every module; their pipelines are made of one. */

/* In the workspace; the library reads it under the same names. Zero at the start. */
layout(buffer_reference, std430, buffer_reference_align = 8) buffer control_block {
    uint64_t runs;  /* of keys */
    uint not_bad;   /* ~ the least segment whose offsets are bad */
    uint not_empty; /* ~ the least that is empty where the operator has no value of nothing */
    uint refused;   /* REFUSED_ bits: nothing is written */
    uint unused;
};
const uint REFUSED_BAD = 1, REFUSED_EMPTY = 2, REFUSED_RUNS = 4;

#define CONTROL  control_block(p.total)
#define SEGMENTS p.columns
#define PLACES   p.before /* segments: where each tile's begin, tiles + 1 */

uint64_t offset_at(uint64_t e) {
    const uint log = log_bytes(INDEX);
    return extend(load_bits(p.index + (e << log), log), INDEX);
}

void clear_control() {
    begin_kernel();
    if (group_number() == 0 && THREAD == 0) {
        CONTROL.runs = 0;
        CONTROL.not_bad = CONTROL.not_empty = CONTROL.refused = CONTROL.unused = 0;
    }
}

/* The first offset that is not less than, or, for reverse scans, greater than a bound. */
uint64_t search(uint64_t bound, bool greater) {
    uint64_t low = 0, high = SEGMENTS + 1;
    while (low < high) {
        const uint64_t middle = (low + high) / 2, offset = offset_at(middle);
        if (offset < bound || (greater && offset == bound))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Checks every segment, and finds each tile's: 'chunk' elements a tile here. */
void inspect_segments() {
    begin_kernel();
    const uint64_t threads = group_count() * BLOCK, begin_at = group_number() * BLOCK + THREAD;
    for (uint64_t g = begin_at; g <= SEGMENTS; g += threads) {
        const uint64_t begin = offset_at(g), end = g < SEGMENTS ? offset_at(g + 1) : begin;
        const uint place = uint(min(g, uint64_t(~0u)));
        if (begin > end || end > p.extent) {
            atomicOr(CONTROL.refused, REFUSED_BAD);
            atomicMax(CONTROL.not_bad, ~place);
        } else if (p.width != 0 && g < SEGMENTS && begin == end) {
            atomicOr(CONTROL.refused, REFUSED_EMPTY);
            atomicMax(CONTROL.not_empty, ~place);
        }
    }
    for (uint64_t tile = begin_at; tile < p.chunks; tile += threads) {
        const uint64_t first = tile * p.chunk;
        store_bits(PLACES + tile * 8, 3, words_of(search(REVERSE ? p.extent - first : first, REVERSE)));
    }
}

/* To where the host, or the caller's kernels, can read it. */
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
