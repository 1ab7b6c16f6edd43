/* Reductions by segments of any lengths, for monoids whose order does not matter and whose accumulators are short. A
 * workgroup takes a chunk of the input, tile by tile. Where no segment ends in a tile, threads go on adding up vectors. In
 * others each vector's accumulator waits in shared memory, and a team of threads adds up what a segment has in the tile:
 * its whole vectors, and the elements that it has of a vector at either end, which are loaded again. Teams are as large as
 * there are threads for each. Parts that are long for a team are put into a list, from which subgroups take them. What lies
 * before a chunk's first end, and after its last one, is left to join_tiles().
 *
 * Tiles begin where vectors do, the first one some elements before the array. Places in them count from there. */
#if COMMUTES && HAS_RUNNING == 0
const uint STAGED_VECTORS = TILE_SLOTS * BLOCK;
#define STAGED_TILE (STAGED_VECTORS * VECTOR)
const uint FAR = 32; /* vectors of a part for each thread of its team, at most; not tuned */

shared acc_t carried[2]; /* what tiles before have of the segment that goes on, and what this tile has */
shared uint far_count, far_parts[STAGED_VECTORS / FAR];

struct staged_tile {
    wide first;     /* the number of its first element, which may lie before the array */
    uint low, high; /* of its elements those that are in the array */
    wide from, to;  /* the offsets in it */
};
staged_tile staged_tile_of(uint tile, uint lead) {
    staged_tile t;
    const wide first = times(tile, STAGED_TILE), end = plus(p.extent, lead);
    t.first = minus(first, lead);
    t.low = tile == 0 ? lead : 0;
    t.high = less(end, first) ? 0 : at_most(minus(end, first), STAGED_TILE);
    places_of(tile, tile + 1, tile + 1 == p.chunks * p_tiles_a_chunk, t.from, t.to);
    return t;
}

/* What a tile has of a segment. */
struct segment_part {
    wide e;          /* the offset that ends it; the segment after the last one goes on */
    wide start, end; /* of the segment */
    uint low, high;  /* elements of the tile */
};
segment_part part_of_segment(staged_tile t, wide e) {
    segment_part s;
    s.e = e;
    s.start = e == wide(0) ? wide(0) : inspected_offset(minus(e, 1u));
    s.end = e == t.to ? s.start : inspected_offset(e);
    s.low = e == t.from ? t.low : minus(s.start, t.first).x;
    s.high = e == t.to ? max(t.high, s.low) : minus(s.end, t.first).x;
    return s;
}

/* The elements [low, high) of a tile that lie in its vector v. */
void add_end(inout sum total, staged_tile t, uint v, uint low, uint high) {
    const uint log = IN_LOG, first = v * VECTOR, begin = max(low, first) - first, end = min(high - first, VECTOR);
    const wide number = plus(t.first, first);
    const uvec4 x = load_part(element_at(p.x, number), begin << log, end << log);
    const uvec4 y = TWO_INPUTS ? load_part(element_at(p.y, number), begin << log, end << log) : uvec4(0);
    UNROLLED_LANES for (uint k = 0; k < VECTOR; k++)
        if (k >= begin && k < end)
            total.lane = added(total.lane, lift_bits(pick(x, k, log), TWO_INPUTS ? pick(y, k, log) : uvec2(0),
                                                     plus(number, k)));
}

/* Thread 'part' of a team. */
acc_t fold_part(staged_tile t, segment_part s, uint part, uint team) {
    const uint begin = (s.low + VECTOR - 1) / VECTOR, end = s.high / VECTOR;
    acc_t acc = identity();
    for (uint v = begin + part; v < end; v += team)
        acc = combine(acc, tile_slots[spread(v)]);
    if (part == 0) {
        sum ends = empty_sum();
        if (s.low < min(begin * VECTOR, s.high))
            add_end(ends, t, begin - 1, s.low, s.high);
        if (end >= begin && end * VECTOR < s.high)
            add_end(ends, t, end, end * VECTOR, s.high);
        acc = combine(acc, widen(ends.lane));
    }
    return acc;
}

/* Part k is that which offset t.from + k ends, and the last one the segment that goes on. Where many segments are empty,
 * each element may have a part instead. */
bool is_part(staged_tile t, uint k, bool is_crowded, out wide e) {
    e = plus(t.from, k);
    if (!is_crowded)
        return !less(t.to, e);
    e = t.to;
    return k == STAGED_TILE || (k >= t.low && k <= t.high && has_offset(plus(t.first, k), e) && less(e, t.to));
}

void give_part(staged_tile t, segment_part s, uint chunk, bool is_lead, uint side, acc_t acc) {
    if (s.e == t.from)
        acc = combine(carried[side], acc);
    if (s.e == t.to)
        carried[1 - side] = acc;
    else if (s.e == t.from && is_lead)
        leave_lead(chunk, acc);
    else if (s.e != wide(0))
        store_result(p.out_at, minus(s.e, 1u), lower(acc, minus(s.end, s.start), s.start));
}

/* The vectors of a tile that are whole. */
void load_staged(staged_tile t, address array, out uvec4 x[TILE_SLOTS]) {
    const address from = element_at(array, t.first);
    const uint low = (t.low + VECTOR - 1) / VECTOR, end = t.high / VECTOR;
    if ((from.x & 15u) == 0) {
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++)
            if (u * BLOCK + THREAD >= low && u * BLOCK + THREAD < end)
                x[u] = vectors_at(from).vector[u * BLOCK + THREAD];
    } else {
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++)
            if (u * BLOCK + THREAD >= low && u * BLOCK + THREAD < end)
                x[u] = load_shifted(plus(from, 16 * (u * BLOCK + THREAD)));
    }
}

/* The segments that end in a tile, whose vectors' accumulators are in shared memory. */
void give_parts(staged_tile t, uint chunk, bool is_lead, uint side) {
    const bool is_crowded = are_crowded(STAGED_TILE, t.from, t.to);
    const uint parts = is_crowded ? STAGED_TILE + 1 : minus(t.to, t.from).x + 1;
    const uint log = parts < BLOCK ? uint(findMSB(BLOCK / parts)) : 0, team = 1u << log, part = THREAD & team - 1;
    wide e;
    if (is_crowded && THREAD == 0)
        atomicOr(CONTROL.any_crowded, 1u);
    for (uint first = 0; first < parts; first += BLOCK >> log) {
        const uint k = first + (THREAD >> log);
        const bool is_there = k < parts && is_part(t, k, is_crowded, e);
        segment_part s;
        acc_t acc = identity();
        bool is_far = false;
        if (is_there) {
            s = part_of_segment(t, e);
            is_far = s.high - s.low > FAR * VECTOR << log;
            if (!is_far)
                acc = fold_part(t, s, part, team);
        }
        acc = fold_block(acc, 1, team);
        if (is_far && part == 0)
            far_parts[atomicAdd(far_count, 1u)] = k;
        else if (is_there && !is_far && part == 0)
            give_part(t, s, chunk, is_lead, side, acc);
    }
    barrier();
    for (uint i = THREAD / LANES; i < far_count; i += BLOCK / LANES) {
        is_part(t, far_parts[i], is_crowded, e);
        const segment_part s = part_of_segment(t, e);
        const acc_t acc = fold_block(fold_part(t, s, THREAD % LANES, LANES), 1, LANES);
        if (THREAD % LANES == 0)
            give_part(t, s, chunk, is_lead, side, acc);
    }
}

void fold_segments_of(uint chunk, uint lead) {
    const uint end = (chunk + 1) * p_tiles_a_chunk;
    uvec4 x[TILE_SLOTS], y[TILE_SLOTS];
    sum open = empty_sum();
    bool is_open = false, is_lead = true; /* no segment ended yet */
    uint side = 0;
    staged_tile t = staged_tile_of(chunk * p_tiles_a_chunk, lead);
    load_staged(t, p.x, x);
    if (TWO_INPUTS)
        load_staged(t, p.y, y);
    barrier(); /* earlier use of the memory */
    if (THREAD == 0)
        carried[0] = identity();
    for (uint tile = chunk * p_tiles_a_chunk; tile < end; tile++) {
        const uint low = (t.low + VECTOR - 1) / VECTOR, end_of_whole = t.high / VECTOR;
        const bool has_ends = less(t.from, t.to);
        const staged_tile own = t;
        barrier(); /* earlier use of the memory */
        if (has_ends && is_open) {
            const acc_t acc = fold_block(combine(open.acc, widen(open.lane)), 1, BLOCK);
            if (THREAD == 0)
                carried[side] = combine(carried[side], acc);
            open = empty_sum();
            is_open = false;
        }
        if (!has_ends)
            expect(open, (TILE_SLOTS + 1) * VECTOR);
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++) {
            const uint v = u * BLOCK + THREAD;
            if (v >= low && v < end_of_whole) {
                sum total = open;
                add_vector(total, x[u], y[u], plus(t.first, v * VECTOR));
                if (has_ends)
                    tile_slots[spread(v)] = widen(total.lane);
                else
                    open = total;
            }
        }
        if (tile + 1 < end) {
            t = staged_tile_of(tile + 1, lead);
            load_staged(t, p.x, x);
            if (TWO_INPUTS)
                load_staged(t, p.y, y);
        }
        if (!has_ends) {
            if (THREAD == 0 && own.low > 0)
                add_end(open, own, 0, own.low, own.high);
            is_open = true;
            continue;
        }
        if (THREAD == 0)
            far_count = 0;
        barrier();
        give_parts(own, chunk, is_lead, side);
        is_lead = false;
        side = 1 - side;
    }
    barrier();
    const acc_t acc = fold_block(combine(open.acc, widen(open.lane)), 1, BLOCK);
    if (THREAD == 0) {
        const acc_t tail = combine(carried[side], acc);
        leave_tail(chunk, tail);
        if (is_lead)
            leave_lead(chunk, tail);
    }
}

void segment_chunks() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count())
        fold_segments_of(chunk, lead_of_array());
}
#else
void segment_chunks() {}
#endif
