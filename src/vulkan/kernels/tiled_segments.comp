/* Reductions by short segments, for monoids whose order does not matter and whose accumulators are short. A workgroup
 * takes neighbouring segments, whose elements lie next to each other, tile by tile. Neighbouring threads load
 * neighbouring vectors, whatever their segment, and store each vector's accumulator in shared memory. There a team of
 * threads, mostly of one, adds up its segment, and loads again those elements that fill no whole vector. The next tile
 * and the offsets of the next segments are loaded meanwhile. Long segments, and neighbours that are much longer than the
 * mean, are left to segments.comp. */

#if COMMUTES
const uint VECTORS_OF_TILE = TILE_SLOTS * BLOCK;
/* Slots, or elements, that a thread loads before it adds any: one after the other they would take 40 cycles each. */
#if IS_LONG
const uint AT_ONCE = 1;
#else
const uint AT_ONCE = 8;
#endif

/* A workgroup's segments, and the segment of a team of its threads. */
struct some_segments {
    wide begin, end; /* elements of all */
    wide own_begin, own_end;
};
struct bits_of_segments { /* as they are in memory */
    uvec2 begin, end, own_begin, own_end;
};
bits_of_segments load_segments(uint group, uint team) {
    const wide first = least(times(group, p_at_once), p_segments);
    const uint count = group < p.panels ? at_most(minus(p_segments, first), p_at_once) : 0;
    return bits_of_segments(bits_of_offset(first), bits_of_offset(plus(first, count)),
                            bits_of_offset(plus(first, min(team, count))),
                            bits_of_offset(plus(first, min(team + 1, count))));
}
some_segments segments_of(bits_of_segments s) {
    return some_segments(offset_of_bits(s.begin), offset_of_bits(s.end), offset_of_bits(s.own_begin),
                         offset_of_bits(s.own_end));
}

/* Elements of the first vector that lie before the first segment, so that vectors are aligned. If elements are not
 * aligned to their own size, vectors begin with the first element. */
uint phase_of(some_segments s) {
    const uint low = element_at(p.x, s.begin).x & 15u;
    return (low & (1u << IN_LOG) - 1u) == 0 ? low >> IN_LOG : 0;
}
uint vectors_of_segments(some_segments s) {
    const wide length = minus(s.end, s.begin);
    return is_below(length, p_most_tiled) ? length.x + phase_of(s) >> 4u - IN_LOG : 0;
}

/* Whole vectors from 'at' on; the first does not count if another segment has a part of it. */
void load_tile_vectors(address array, some_segments s, uint at, out uvec4 x[TILE_SLOTS]) {
    const uint phase = phase_of(s), first = phase != 0 ? 1 : 0, end = vectors_of_segments(s);
    const address from = minus(element_at(array, s.begin), phase << IN_LOG);
    if ((from.x & 15u) == 0) {
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++) {
            const uint v = at + u * BLOCK + THREAD;
            if (v >= first && v < end)
                x[u] = vectors_at(from).vector[v];
        }
    } else {
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++) {
            const uint v = at + u * BLOCK + THREAD;
            if (v >= first && v < end)
                x[u] = load_shifted(plus(from, 16 * v));
        }
    }
}

/* Elements [begin, end) and [more, end_of_more), counted from one position; a team shares them. */
acc_t fold_few(wide place, uint begin, uint end, uint more, uint end_of_more, uint part) {
    const uint count = end - begin, all = count + (end_of_more - more);
    lane_t lane = lane_identity();
    const uint each = min(AT_ONCE, (32u >> IN_LOG) - 2u);
    for (uint k = part; k < all; k += each * p_team) {
        uvec2 x[AT_ONCE], y[AT_ONCE];
        UNROLLED for (uint u = 0; u < each; u++) { /* all are loaded, as loads must not wait for questions */
            const uint here = min(k + u * p_team, all - 1);
            const wide i = plus(place, here < count ? begin + here : more + (here - count));
            x[u] = load_bits(element_at(p.x, i), IN_LOG);
            y[u] = load_partner(element_at(p.y, i));
        }
        UNROLLED for (uint u = 0; u < each; u++)
            if (k + u * p_team < all)
                lane = added(lane, lift_bits(x[u], y[u], wide(0)));
    }
    return widen(lane);
}

void tiled_segments() {
    begin_kernel();
    const uint team = THREAD >> findMSB(p_team), part = THREAD & p_team - 1, log = 4u - IN_LOG;
    bits_of_segments first_bits = load_segments(group_number(), team),
                     bits = load_segments(group_number() + group_count(), team);
    if (CONTROL.refused != 0)
        return;
    uvec4 x[TILE_SLOTS], y[TILE_SLOTS];
    some_segments s = segments_of(first_bits), next = segments_of(bits);
    acc_t acc = identity();
    uint at = 0; /* vector of the tile that is in x and y */
    load_tile_vectors(p.x, s, 0, x);
    if (TWO_INPUTS)
        load_tile_vectors(p.y, s, 0, y);
    for (uint group = group_number(); group < p.panels;) {
        const uint vectors = vectors_of_segments(s);
        barrier(); /* earlier use of the memory */
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++)
            if (at + u * BLOCK + THREAD < vectors) {
                sum total = empty_sum();
                add_vector(total, x[u], y[u], wide(0)); /* accumulators that have places are longer */
                tile_slots[spread(u * BLOCK + THREAD)] = widen(total.lane);
            }
        barrier();
        const bool is_last = at + VECTORS_OF_TILE >= vectors;
        some_segments then = s;
        if (is_last)
            then = next;
        const uint then_at = is_last ? 0 : at + VECTORS_OF_TILE;
        load_tile_vectors(p.x, then, then_at, x);
        if (TWO_INPUTS)
            load_tile_vectors(p.y, then, then_at, y);
        if (is_last) /* the offsets of the group after the next one */
            bits = load_segments(group + 2 * group_count(), team);
        /* from the first vector on: elements, and whole vectors */
        const uint phase = phase_of(s);
        const uint begin = minus(s.own_begin, s.begin).x + phase, end = minus(s.own_end, s.begin).x + phase;
        const uint whole = begin + (1u << log) - 1 >> log, end_of_whole = max(end >> log, whole);
        const wide length = minus(s.own_end, s.own_begin);
        const bool is_short = is_below(length, p_most_short + 1); /* else its sum is segments.comp's */
        if (vectors != 0 && is_short) {
            const uint each = end_of_whole - whole + p_team - 1 >> findMSB(p_team);
            const uint own = min(whole + part * each, end_of_whole), end_of_own = min(own + each, end_of_whole);
            const uint end_here = min(end_of_own, at + VECTORS_OF_TILE);
            for (uint v = max(own, at); v < end_here; v += AT_ONCE) {
                acc_t some[AT_ONCE];
                UNROLLED for (uint u = 0; u < AT_ONCE; u++)
                    some[u] = tile_slots[spread(min(v + u, end_here - 1) - at)];
                UNROLLED for (uint u = 0; u < AT_ONCE; u++)
                    acc = combine(acc, chosen(v + u < end_here, some[u], identity()));
            }
        }
        at = then_at;
        if (!is_last)
            continue;
        const wide first = times(group, p_at_once);
        const bool is_tiled = is_below(minus(s.end, s.begin), p_most_tiled);
        const bool is_given = is_tiled && is_short && team < at_most(minus(p_segments, first), p_at_once);
        if (is_given)
            acc = combine(acc, fold_few(minus(s.begin, phase), begin, min(whole << log, end),
                                        min(end_of_whole << log, end), end, part));
        if (p_team > 1)
            acc = fold_block(acc, 1, p_team);
        if (is_given && part == 0)
            store_result(p.out_at, plus(first, team), lower(acc, length, s.own_begin));
        acc = identity();
        s = next;
        group += group_count();
        next = segments_of(bits);
    }
}
#else
void tiled_segments() {}
#endif
