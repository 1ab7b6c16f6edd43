/* Scans of all values and along an axis whose elements lie next to each other: a workgroup takes a chunk of a row, tile
 * by tile. A thread has TILE_SLOTS vectors of a tile, BLOCK vectors apart, so that neighbouring threads load
 * neighbours; the vectors' sums are scanned in shared memory, in the order of the elements. */
struct scan_tile {
    uint64_t x, y, out_at; /* addresses of the row */
    uint64_t extent;
    uint64_t first; /* of the tile, logical */
    uint vector;    /* elements */
};

/* Elements [at, at + vector) of a row, logical, in their logical order. What is past the end is not there. */
uint64_t physical(scan_tile t, uint64_t logical) {
    return REVERSE ? t.extent - 1 - logical : logical;
}
uvec4 scan_load(scan_tile t, uint64_t from, uint64_t logical, uint64_t end) {
    const uint log = IN_LOG;
    if (logical + t.vector <= end)
        return load_vector(from + ((REVERSE ? t.extent - logical - t.vector : logical) << log));
    uvec4 vector = uvec4(0);
    for (uint k = 0; k < t.vector; k++)
        if (logical + k < end) {
            const uvec2 bits = load_bits(from + (physical(t, logical + k) << log), log);
            const uint place = REVERSE ? t.vector - 1 - k : k;
            if (log == 3) {
                vector[2 * place] = bits.x;
                vector[2 * place + 1] = bits.y;
            } else {
                vector[place << log >> 2] |= bits.x << 8u * ((place << log) & 3u);
            }
        }
    return vector;
}
acc_t scan_lift(scan_tile t, uvec4 x, uvec4 y, uint k, uint64_t logical) {
    const uint place = REVERSE ? t.vector - 1 - k : k;
    const uvec2 partner = TWO_INPUTS ? pick(y, place, IN_LOG) : uvec2(0);
    return widen(lift_bits(pick(x, place, IN_LOG), partner, p.before + physical(t, logical)));
}

/* Results of neighbouring elements, gathered into words where they lie so. */
struct gatherer {
    uvec4 words;
    uint held; /* bytes */
    uint64_t at;
};
void gather(inout gatherer g, uint64_t bits) {
    const uint log = OUT_LOG;
    if (log == 3) {
        g.words[g.held >> 2] = words_of(bits).x;
        g.words[(g.held >> 2) + 1] = words_of(bits).y;
    } else {
        const uint shift = 8u * (g.held & 3u), mask = log == 2 ? ~0u : log == 1 ? 65535u : 255u;
        g.words[g.held >> 2] |= (uint(bits) & mask) << shift;
    }
    g.held += 1u << log;
    if (g.held == 16) {
        store_vector(g.at, g.words);
        g = gatherer(uvec4(0), 0, g.at + 16);
    }
}

#define VECTOR (16u >> IN_LOG)

/* The results of a vector's elements, the first 'count' of which are there. */
void scan_vector(scan_tile t, uvec4 x, uvec4 y, uint64_t logical, uint count, acc_t run) {
    if (count == VECTOR && (PER_RESULT << OUT_LOG) * VECTOR >= 16 && !REVERSE) {
        gatherer g = gatherer(uvec4(0), 0, t.out_at + (logical * PER_RESULT << OUT_LOG));
        UNROLLED for (uint k = 0; k < VECTOR; k++) {
            const acc_t next = combine(run, scan_lift(t, x, y, k, logical + k));
            const result_t r = lower(INCLUSIVE ? next : run, p.before + logical + k + (INCLUSIVE ? 1 : 0), 0);
            gather(g, r.first);
            if (PER_RESULT == 2)
                gather(g, r.second);
            run = next;
        }
        return;
    }
    for (uint k = 0; k < count; k++) {
        const acc_t next = combine(run, scan_lift(t, x, y, k, logical + k));
        store_result(t.out_at, physical(t, logical + k),
                     lower(INCLUSIVE ? next : run, p.before + logical + k + (INCLUSIVE ? 1 : 0), 0));
        run = next;
    }
}

/* A thread's vectors of a tile. */
struct tile_vectors {
    uvec4 x[TILE_SLOTS], y[TILE_SLOTS];
};
void load_tile(scan_tile t, uint64_t end, out tile_vectors in_tile) {
    UNROLLED for (uint v = 0; v < TILE_SLOTS; v++) {
        const uint64_t logical = t.first + uint64_t((v * BLOCK + THREAD) * t.vector);
        in_tile.x[v] = scan_load(t, t.x, logical, end);
        if (TWO_INPUTS)
            in_tile.y[v] = scan_load(t, t.y, logical, end);
    }
}

acc_t scan_one_tile(scan_tile t, tile_vectors in_tile, uint64_t end, acc_t before) {
    barrier(); /* earlier use of the memory */
    UNROLLED for (uint v = 0; v < TILE_SLOTS; v++) {
        const uint64_t logical = t.first + uint64_t((v * BLOCK + THREAD) * t.vector);
        acc_t sum = identity();
        UNROLLED for (uint k = 0; k < VECTOR; k++)
            if (logical + k < end)
                sum = combine(sum, scan_lift(t, in_tile.x[v], in_tile.y[v], k, logical + k));
        tile_slots[v * BLOCK + THREAD] = sum;
    }
    barrier();
    acc_t sum = identity(), all;
    UNROLLED for (uint v = 0; v < TILE_SLOTS; v++)
        sum = combine(sum, tile_slots[THREAD * TILE_SLOTS + v]);
    acc_t run = combine(before, scan_threads(sum, all));
    UNROLLED for (uint v = 0; v < TILE_SLOTS; v++) {
        const acc_t own = tile_slots[THREAD * TILE_SLOTS + v];
        tile_slots[THREAD * TILE_SLOTS + v] = run;
        run = combine(run, own);
    }
    barrier();
    UNROLLED for (uint v = 0; v < TILE_SLOTS; v++) {
        const uint64_t logical = t.first + uint64_t((v * BLOCK + THREAD) * t.vector);
        if (logical < end)
            scan_vector(t, in_tile.x[v], in_tile.y[v], logical, uint(min(uint64_t(t.vector), end - logical)),
                        tile_slots[v * BLOCK + THREAD]);
    }
    return combine(before, all);
}

/* The next tile is on its way while one is scanned. */
void scan_rows() {
    begin_kernel();
    const uint64_t all = p.columns * p.chunks, extent = extent_of_run();
    const uint64_t tile_length = uint64_t(TILE_SLOTS * BLOCK * VECTOR);
    for (uint64_t number = group_number(); number < all; number += group_count()) {
        const uint64_t chunk = p.chunks == 1 ? uint64_t(0) : number / p.columns, row = number - chunk * p.columns;
        const uint64_t first = row * p.extent, end = min((chunk + 1) * p.chunk, extent);
        scan_tile t = scan_tile(p.x + (first << IN_LOG), p.y + (first << IN_LOG),
                                p.out_at + (first * PER_RESULT << OUT_LOG), extent, chunk * p.chunk, VECTOR);
        acc_t run = p.slots != 0 ? read_slot(p.slots, number) : base_of(row);
        tile_vectors next;
        if (t.first < end)
            load_tile(t, end, next);
        while (t.first < end) {
            const tile_vectors now = next;
            scan_tile after = t;
            after.first += tile_length;
            if (after.first < end)
                load_tile(after, end, next);
            run = scan_one_tile(t, now, end, run);
            t = after;
        }
        if (p.slots == 0 && p.total != 0 && THREAD == 0)
            write_slot(p.total, row, run);
    }
}
