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

/* The vectors of a tile that are whole. */
uint first_whole(staged_tile t) {
    return (t.low + VECTOR - 1) / VECTOR;
}
uint end_of_whole(staged_tile t) {
    return t.high / VECTOR;
}

/* How they are aligned is asked once, because nothing must come between loads. */
void load_two(staged_tile t, address array, uint v, uint w, out uvec4 x, out uvec4 y) {
    const address from = element_at(array, t.first);
    if ((from.x & 15u) == 0) {
        x = vectors_at(from).vector[v];
        y = vectors_at(from).vector[w];
    } else {
        x = load_shifted(plus(from, 16 * v));
        y = load_shifted(plus(from, 16 * w));
    }
}

/* Adds the elements [low, high) of a tile, as far as they lie in its vector v. */
void add_some(inout lane_t lane, staged_tile t, uint v, uvec4 x, uvec4 y, uint low, uint high) {
    const uint log = IN_LOG, first = v * VECTOR;
    const wide number = plus(t.first, first);
    UNROLLED_LANES for (uint k = 0; k < VECTOR; k++) {
        const uvec2 partner = TWO_INPUTS ? pick(y, k, log) : uvec2(0);
        const lane_t more = added(lane, lift_bits(pick(x, k, log), partner, plus(number, k)));
        lane = chosen(first + k >= low && first + k < high, more, lane);
    }
}
/* The words of it that are there, of a vector at an end of the array. */
uvec4 load_end(staged_tile t, address array, uint v, uint low, uint high) {
    const uint first = v * VECTOR;
    return load_part(element_at(array, plus(t.first, first)), max(low, first) - first << IN_LOG,
                     min(high - first, VECTOR) << IN_LOG);
}

/* The part of 'team' threads that thread 'part' of them has. The vectors at its ends are loaded whatever it has of them, so
 * that no load waits for a question. */
acc_t fold_part(staged_tile t, segment_part s, uint part, uint team) {
    const uint begin = (s.low + VECTOR - 1) / VECTOR, end = s.high / VECTOR;
    const uint least = first_whole(t), end_of_all = end_of_whole(t);
    const uint one = s.low / VECTOR, other = end;
    const bool has_one = part == 0 && s.low < min(begin * VECTOR, s.high);
    const bool has_other = part == 0 && end >= begin && end * VECTOR < s.high;
    const bool is_inside = least < end_of_all;
    uvec4 x = uvec4(0), y = x, other_x = x, other_y = x;
    if (is_inside) {
        const uint here = clamp(one, least, end_of_all - 1), there = clamp(other, least, end_of_all - 1);
        load_two(t, p.x, here, there, x, other_x);
        if (TWO_INPUTS)
            load_two(t, p.y, here, there, y, other_y);
    }
    if (has_one && (one < least || one >= end_of_all)) {
        x = load_end(t, p.x, one, s.low, s.high);
        y = TWO_INPUTS ? load_end(t, p.y, one, s.low, s.high) : y;
    }
    if (has_other && (other < least || other >= end_of_all)) {
        other_x = load_end(t, p.x, other, s.low, s.high);
        other_y = TWO_INPUTS ? load_end(t, p.y, other, s.low, s.high) : y;
    }
    acc_t acc = identity();
    for (uint v = begin + part; v < end; v += team)
        acc = combine(acc, tile_slots[spread(v)]);
    lane_t lane = lane_identity();
    add_some(lane, t, one, x, y, s.low, has_one ? s.high : 0);
    add_some(lane, t, other, other_x, other_y, end * VECTOR, has_other ? s.high : 0);
    return combine(acc, widen(lane));
}

/* Part k is that which offset t.from + k ends, and the last one the segment that goes on. Where many segments are empty,
 * each element may have a part instead. */
bool is_part(staged_tile t, uint k, bool is_crowded, out wide e) {
    e = plus(t.from, k);
    if (!is_crowded)
        return !less(t.to, e);
    e = t.to;
    return k >= STAGED_TILE || (k >= t.low && k <= t.high && has_offset(plus(t.first, k), e) && less(e, t.to));
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

void load_staged(staged_tile t, address array, out uvec4 x[TILE_SLOTS]) {
    const address from = element_at(array, t.first);
    const uint low = first_whole(t), end = end_of_whole(t);
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

/* How the parts of a tile are shared out: as large a team each as there are threads. */
struct shares {
    uint parts, log;
    bool is_crowded;
};
shares shares_of(staged_tile t) {
    shares all;
    all.is_crowded = are_crowded(STAGED_TILE, t.from, t.to);
    all.parts = all.is_crowded ? STAGED_TILE + 1 : minus(t.to, t.from).x + 1;
    all.log = all.parts < BLOCK ? uint(findMSB(BLOCK / all.parts)) : 0;
    return all;
}

/* Part k with what the tile has of it, if there is one. */
segment_part some_part(staged_tile t, uint k, shares all, out bool is_there) {
    wide e;
    is_there = k < all.parts && is_part(t, k, all.is_crowded, e);
    if (is_there)
        return part_of_segment(t, e);
    return segment_part(wide(0), wide(0), wide(0), 0, 0);
}

/* The segments that end in a tile, whose vectors' accumulators are in shared memory. 's' is the first part of each thread's
 * team. After the last round come those of the list. */
void give_parts(staged_tile t, shares all, segment_part s, bool is_there, uint chunk, bool is_lead, uint side) {
    const uint teams = BLOCK >> all.log, subgroups = BLOCK / LANES;
    uint first = 0, far = 0, log = all.log; /* the first part of a round, or number in the list */
    bool in_list = false;
    while (true) {
        const uint team = 1u << log, part = THREAD & team - 1;
        const bool is_far = !in_list && is_there && s.high - s.low > FAR * VECTOR << log;
        segment_part next;
        bool is_next_there = false;
        if (!in_list && first + teams < all.parts) /* early, as offsets are waited for */
            next = some_part(t, first + teams + (THREAD >> log), all, is_next_there);
        acc_t acc = identity();
        if (is_there && !is_far)
            acc = fold_part(t, s, part, team);
        acc = fold_block(acc, 1, team);
        if (is_far && part == 0)
            far_parts[atomicAdd(far_count, 1u)] = first + (THREAD >> log);
        else if (is_there && part == 0)
            give_part(t, s, chunk, is_lead, side, acc);
        if (in_list)
            far += subgroups;
        else
            first += teams;
        if (!in_list && first >= all.parts) {
            barrier();
            in_list = true;
            log = uint(findMSB(LANES));
        }
        if (in_list && far >= far_count)
            return;
        if (in_list) {
            const uint i = far + THREAD / LANES;
            next = some_part(t, i < far_count ? far_parts[i] : ~0u, all, is_next_there);
        }
        s = next;
        is_there = is_next_there;
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
        const uint low = first_whole(t), whole = end_of_whole(t);
        const bool has_ends = less(t.from, t.to);
        const staged_tile own = t;
        shares all;
        segment_part s;
        bool is_there = false;
        if (has_ends) {
            all = shares_of(own);
            s = some_part(own, THREAD >> all.log, all, is_there);
        }
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
            if (v >= low && v < whole) {
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
                add_some(open.lane, own, 0, load_end(own, p.x, 0, own.low, own.high),
                         TWO_INPUTS ? load_end(own, p.y, 0, own.low, own.high) : uvec4(0), own.low, min(own.high, VECTOR));
            is_open = true;
            continue;
        }
        if (THREAD == 0) {
            far_count = 0;
            if (all.is_crowded)
                atomicOr(CONTROL.any_crowded, 1u);
        }
        barrier();
        give_parts(own, all, s, is_there, chunk, is_lead, side);
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
