/* Reductions by segments of any lengths, in the tiles of group_tiles.comp, a workgroup each. A bit that begins a segment also
 * ends the one before. Segments that begin and end in a tile are put side by side in shared memory, and neighbouring
 * threads give neighbouring results. Of the others, a tile leaves what comes before its first bit, and what comes after
 * its last one, for join_tiles.comp. */
shared uint thread_heads[BLOCK]; /* of the threads before */

/* Puts what ends at the heads [begin, begin + STAGED) of the tile into shared memory. */
#define STAGE_SEGMENT(k)                                                                                               \
    {                                                                                                                  \
        const item_t item = ITEM(items, k);                                                                            \
        const bool ends = (items.heads >> (k) & 1u) != 0;                                                              \
        if (ends && slot - begin < STAGED) {                                                                           \
            part_t part = part_of(run);                                                                                \
            if (slot == ahead.count)                                                                                   \
                part = join(ahead.part, part);                                                                         \
            staged[slot - begin] = part;                                                                               \
        }                                                                                                              \
        slot += ends ? 1 : 0;                                                                                          \
        run = continued(run, item);                                                                                    \
        CHOOSE(run, ends, begun(item))                                                                                 \
    }
void stage_segments(tile_items items, tile_part ahead, uint begin) {
    const item_layout lie = layout_of_items();
    run_t run = no_run();
    uint slot = ahead.count;
    if (items.heads == 0)
        return;
    EACH_ITEM(STAGE_SEGMENT)
}

/* The number of a head among all of the tile, of its place. */
uint rank_of(uint at) {
    const uint below = head_bits[at >> 5] >> (at & 31u & ~(ITEMS - 1)) & (1u << (at & ITEMS - 1)) - 1u;
    return thread_heads[at / ITEMS] + bitCount(below);
}

/* The result of the segment that offset e ends, if it begins in the tile, too, and is empty or ends at one of the heads
 * [begin, begin + STAGED). */
bool segment_of(wide first, wide e, uint begin, out result_t r) {
    const wide start = inspected_offset(minus(e, 1u)), end = inspected_offset(e);
    acc_t acc = identity();
    uint slot = 0u - begin;
    if (start != end) {
        slot += rank_of(minus(end, first).x);
        if (slot < STAGED)
            acc = whole(staged[slot], false, identity(), first);
    }
    r = lower(acc, minus(end, start), start);
    return slot < STAGED;
}

void give_segments(wide first, wide from, wide to, uint begin) {
    const uint log = OUT_LOG;
    result_t r;
    if (!less(from, to))
        return;
    if (IN_WORDS(log) && PER_RESULT == 1 && is_aligned(p.out_at, log)) {
        const address out_at = minus(plus(p.out_at, shifted_up(from, log)), 1u << log);
        const uint each = 4u >> log, lead = (out_at.x & 3u) >> log, end = minus(to, from).x + lead;
        for (uint unit = THREAD; unit * each < end; unit += BLOCK) {
            narrow_word word = narrow_word(0, 0);
            for (uint k = 0; k < each; k++) {
                const uint place = unit * each + k;
                if (place >= lead && place < end && segment_of(first, plus(from, place - lead), begin, r))
                    add_narrow(word, log, k, r.first);
            }
            merge_word(plus(word_below(out_at), 4 * unit), word.mask, word.bits);
        }
        return;
    }
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, BLOCK))
        if (segment_of(first, e, begin, r))
            store_result(p.out_at, minus(e, 1u), r);
}

/* Among many empty segments: those that end at one of 'count' heads, and not the one that begins before the tile. */
void give_rare_segments(wide first, wide from, uint begin, uint count) {
    for (uint at = THREAD; at < GROUP_TILE; at += BLOCK) {
        const uint slot = rank_of(at) - begin;
        const wide end = plus(first, at);
        wide e;
        if ((head_bits[at >> 5] >> (at & 31u) & 1u) == 0 || slot >= count || !has_offset(end, e) || !less(from, e))
            continue;
        const wide g = minus(e, 1u), start = offset_at(g);
        store_result(p.out_at, g, lower(whole(staged[slot], false, identity(), first), minus(end, start), start));
    }
}

scan_tile tile_of_segments(uint tile) {
    scan_tile t;
    t.before = t.number = times(tile, GROUP_TILE);
    t.count = at_most(minus(p.extent, t.before), GROUP_TILE);
    t.x = element_at(p.x, t.number);
    t.y = element_at(p.y, t.number);
    t.out_at = p.out_at;
    t.first = t.from = 0;
    t.to = t.count;
    t.ahead = at_most(t.number, VECTOR);
    t.behind = at_most(minus(minus(p.extent, t.number), t.count), VECTOR);
    return t;
}

void give_tile(uint tile) {
    const scan_tile t = tile_of_segments(tile);
    tile_items items;
    tile_part all;
    wide from, to;
    load_tile_items(t, items);
    places_of(tile, tile + 1, tile + 1 == p.chunks, from, to);
    items.heads = 0;
    if (less(from, to)) {
        barrier(); /* earlier use of the memory */
        for (uint w = THREAD; w < GROUP_TILE / 32; w += BLOCK)
            head_bits[w] = 0;
        barrier();
        mark_segments(t.before, GROUP_TILE, from, to);
        barrier();
        items.heads = head_bits[FIRST_ITEM >> 5] >> (FIRST_ITEM & 31u) & (1u << ITEMS) - 1u;
    }
    const tile_part ahead = scan_tile_parts(items, identity(), all);
    if (THREAD == 0) {
        const acc_t tail = whole(all.part, false, identity(), t.before);
        leave_tail(tile, tail);
        if (all.count == 0)
            leave_lead(tile, tail);
    }
    thread_heads[THREAD] = ahead.count;
    for (uint begin = 0; begin < all.count; begin += STAGED) {
        barrier();
        stage_segments(items, ahead, begin);
        barrier();
        if (THREAD == 0 && begin == 0)
            leave_lead(tile, whole(staged[0], false, identity(), t.before));
        if (are_crowded(GROUP_TILE, from, to))
            give_rare_segments(t.before, from, begin, min(STAGED, all.count - begin));
        else
            give_segments(t.before, plus(from, 1u), to, begin);
    }
}
void segment_tiles() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint tile = group_number(); tile < p.chunks; tile += group_count())
        give_tile(tile);
}
