/* Reductions by runs of keys, and a user's operator by segments, in the tiles of group_tiles.comp. A bit that begins a
 * group also ends the one before. The groups that end in a tile are put side by side in shared memory, and neighbouring
 * threads write neighbouring results. A group that began before the tile comes from the tile before or, where a chunk
 * begins, from the spine of groups.comp. */
const uint STAGED = STAGED_SLOTS * BLOCK;

shared uint thread_heads[BLOCK]; /* of the threads before */
/* The position in the tile where a group ends; from bit 16 on, the position where it began, plus 1; 0: before the tile.
 */
#define STAGED_END(slot) spare_words[slot]

/* Stores the groups that heads [begin, begin + STAGED) of the tile end. */
#define STAGE_ITEM(k)                                                                                                  \
    {                                                                                                                  \
        const item_t item = ITEM(items, k);                                                                            \
        const bool ends = (items.heads >> (k) & 1u) != 0;                                                              \
        if (ends)                                                                                                      \
            stage_run(part_of(run), ahead, items.heads & (1u << (k)) - 1u, lie.first, k, begin);                                  \
        run = continued(run, item);                                                                                    \
        CHOOSE(run, ends, begun(item))                                                                                 \
    }
void stage_run(part_t part, tile_part ahead, uint below, uint first, uint k, uint begin) {
    const uint slot = ahead.count - begin + bitCount(below);
    if (slot >= STAGED)
        return;
    uint head = ahead.head;
    if (below == 0)
        part = join(ahead.part, part);
    else
        head = first + findMSB(below) + 1;
    staged[slot] = part;
    STAGED_END(slot) = first + k | head << 16;
}
void stage(tile_items items, tile_part ahead, uint begin) {
    const item_layout lie = layout_of_items();
    run_t run = no_run();
    if (items.heads == 0)
        return;
    EACH_ITEM(STAGE_ITEM)
}

layout(buffer_reference, std430, buffer_reference_align = 8) buffer pair_at {
    uvec2 pair;
};
/* One access where it is aligned. */
uvec2 near_bits(address at, uint log) {
    if (is_aligned(at, log))
        return load_aligned(at, log);
    return load_bits(at, log);
}
void store_near(address at, uint log, uvec2 bits) {
    if (log == 2 && (at.x & 3u) == 0)
        words_at(at).word[0] = bits.x;
    else if (log == 3 && (at.x & 7u) == 0)
        pair_at(at).pair = bits;
    else
        store_bits(at, log, bits);
}

/* The result of a group that waits in a slot, and ends at a place of the tile. */
result_t staged_result(wide first, record_t before, uint slot) {
    const uint note = STAGED_END(slot), began = note >> 16, end = note & 0xffffu;
    const wide ahead = minus(first, before.head);
    return lower(in_group(staged[slot], began, before, ahead), since(end + 1, began, ahead), wide(0));
}
uvec2 staged_key(wide first, uint slot) {
    const uint log = log_bytes(INDEX);
    return near_bits(plus(p_keys, shifted_up(minus(plus(first, STAGED_END(slot) & 0xffffu), 1u), log)), log);
}

/* Results of less than a word are stored as words, of neighbours. Each word at its ends may have some of other tiles. */
#define IN_WORDS(log) ((log) < 2)
struct narrow_word {
    uint bits, mask;
};
void add_narrow(inout narrow_word word, uint log, uint k, uvec2 bits) {
    const uint shift = k << log + 3, mask = (256u << (8 << log)) / 256u - 1u;
    word.bits |= (bits.x & mask) << shift;
    word.mask |= mask << shift;
}

/* The runs of 'count' slots, of which the first is the one of 'rank' and 1. */
void give_staged_runs(wide first, record_t before, wide rank, uint count) {
    const uint log = OUT_LOG, key_log = log_bytes(INDEX);
    const uint none = rank == wide(0) ? 1 : 0; /* no group ends before the first element */
    if (IN_WORDS(log) && PER_RESULT == 1 && is_aligned(p.out_at, log)) {
        const address to = minus(plus(p.out_at, shifted_up(rank, log)), 1u << log);
        const uint each = 4u >> log, lead = (to.x & 3u) >> log;
        for (uint unit = THREAD; unit * each < lead + count; unit += BLOCK) {
            narrow_word word = narrow_word(0, 0);
            for (uint k = 0; k < each; k++) {
                const uint slot = unit * each + k - lead;
                if (slot >= none && slot < count)
                    add_narrow(word, log, k, staged_result(first, before, slot).first);
            }
            merge_word(plus(word_below(to), 4 * unit), word.mask, word.bits);
        }
    } else {
        for (uint slot = THREAD + none; slot < count; slot += BLOCK) {
            const result_t r = staged_result(first, before, slot);
            const address to = plus(p.out_at, shifted_up(times(minus(plus(rank, slot), 1u), PER_RESULT), log));
            store_near(to, log, r.first);
            if (PER_RESULT == 2)
                store_near(plus(to, 1u << log), log, r.second);
        }
    }
    if (given(p_keys_out) && IN_WORDS(key_log) && is_aligned(p_keys_out, key_log)) {
        const address to = minus(plus(p_keys_out, shifted_up(rank, key_log)), 1u << key_log);
        const uint each = 4u >> key_log, lead = (to.x & 3u) >> key_log;
        for (uint unit = THREAD; unit * each < lead + count; unit += BLOCK) {
            narrow_word word = narrow_word(0, 0);
            for (uint k = 0; k < each; k++) {
                const uint slot = unit * each + k - lead;
                if (slot >= none && slot < count)
                    add_narrow(word, key_log, k, staged_key(first, slot));
            }
            merge_word(plus(word_below(to), 4 * unit), word.mask, word.bits);
        }
    } else if (given(p_keys_out)) {
        for (uint slot = THREAD + none; slot < count; slot += BLOCK)
            store_near(plus(p_keys_out, shifted_up(minus(plus(rank, slot), 1u), key_log)), key_log,
                       staged_key(first, slot));
    }
}

/* The result of the segment that offset e ends, if that is one of the heads [begin, begin + STAGED), or empty and 'begin'
 * is ONLY_EMPTY; else false. */
const uint ONLY_EMPTY = ~0u;
bool segment_of(wide first, record_t before, wide e, uint begin, out result_t r) {
    const wide start = inspected_offset(minus(e, 1u)), end = inspected_offset(e), local = minus(end, first);
    const bool is_here = is_below(local, GROUP_TILE);
    if (start == end) {
        r = lower(identity(), wide(0), start);
        return begin == ONLY_EMPTY || (begin == 0 && is_here);
    }
    r = single(wide(0));
    if (begin == ONLY_EMPTY || !is_here)
        return false;
    const uint at = local.x, thread = at / ITEMS, k = at % ITEMS;
    const uint below = k == 0 ? 0 : head_word(end) >> (thread * ITEMS & 31u) & (1u << k) - 1u;
    const uint slot = thread_heads[thread] + bitCount(below) - begin;
    if (slot >= STAGED)
        return false;
    r = lower(whole(staged[slot], STAGED_END(slot) >> 16 == 0, before.acc, first), minus(end, start), start);
    return true;
}
void give_segments(wide first, record_t before, wide from, wide to, uint begin) {
    const uint log = OUT_LOG;
    result_t r;
    if (!less(from, to))
        return;
    if (IN_WORDS(log) && PER_RESULT == 1 && is_aligned(p.out_at, log)) {
        const address out_at = minus(plus(p.out_at, shifted_up(from, log)), 1u << log);
        const uint each = 4u >> log, lead = (out_at.x & 3u) >> log;
        const wide end = plus(minus(to, from), lead);
        for (wide u = wide_of(THREAD); less(times(u, each), end); u = plus(u, BLOCK)) {
            narrow_word word = narrow_word(0, 0);
            for (uint k = 0; k < each; k++) {
                const wide place = plus(times(u, each), k);
                if (less(place, wide_of(lead)))
                    continue;
                const wide e = plus(from, minus(place, lead));
                if (less(e, to) && segment_of(first, before, e, begin, r))
                    add_narrow(word, log, k, r.first);
            }
            merge_word(plus(word_below(out_at), shifted_up(u, 2)), word.mask, word.bits);
        }
        return;
    }
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, BLOCK))
        if (segment_of(first, before, e, begin, r))
            store_result(p.out_at, minus(e, 1u), r);
}

/* Among many empty segments: those that end in 'count' slots. */
void give_rare_segments(wide first, record_t before, uint count) {
    for (uint slot = THREAD; slot < count; slot += BLOCK) {
        const uint note = STAGED_END(slot);
        const wide end = plus(first, note & 0xffffu);
        wide e;
        if (!has_offset(end, e) || e == wide(0))
            continue;
        const wide g = minus(e, 1u), start = offset_at(g);
        store_result(p.out_at, g, lower(whole(staged[slot], note >> 16 == 0, before.acc, first), minus(end, start), start));
    }
}

/* Workgroups have equal shares of all segments. */
void give_empty_segments() {
    const wide share = plus(shifted_down(p_segments, findMSB(group_count())), 1u); /* or somewhat more than that */
    const wide from = plus(times(share, group_number()), 1u);
    give_segments(wide(0), no_record(), from, least(plus(from, share), plus(p_segments, 1u)), ONLY_EMPTY);
}

record_t give_runs_of_tile(wide first, tile_items items, record_t before, wide from, wide to) {
    tile_part all;
    const tile_part ahead = scan_tile_parts(items, before.acc, all);
    thread_heads[THREAD] = ahead.count;
    for (uint begin = 0; begin == 0 || begin < all.count; begin += STAGED) {
        barrier();
        stage(items, ahead, begin);
        barrier();
        const uint count = min(STAGED, all.count - begin);
        if (BY_KEYS)
            give_staged_runs(first, before, plus(before.runs, begin), count);
        else if (IS_SPARSE)
            give_rare_segments(first, before, count);
        else
            give_segments(first, before, most(from, wide_of(1u)), to, begin);
    }
    barrier();
    return after_tile_of(all, first, before);
}

/* Runs that end in a chunk; the last chunk contains the end, where one ends, too. */
uint ends_of_chunk(uint chunk, wide heads_before) {
    if (chunk + 1 < p.chunks)
        return minus(read_record(chunk + 1).runs, heads_before).x;
    return minus(CONTROL.runs, heads_before).x + 1;
}
/* Whether long_runs.comp gives them: they are few, and long on average. On an H200 sums of 5 * 10^7 f32 in runs of 150
 * take 326 us in tiles and 530 there, of f64 in runs of 1000 414 and 372, logsumexp of f32 in runs of 300 513 and 395, argmax
 * of u64 in runs of 5880 2140 and 310. */
const uint MOST_LONG = BLOCK, LONG_BYTES = SLOT_BYTES > 8 || HAS_RUNNING != 0 ? 512 : 4096;
bool takes_long_runs(uint ends, uint length) {
    return COMMUTES != 0 && BY_KEYS && ends <= MOST_LONG && ends <= (length << IN_LOG) / LONG_BYTES;
}

/* After the last element one more group begins, which ends the last one. */
uint heads_with_end(scan_tile t, bool is_last) {
    const uint at = t.first + FIRST_ITEM, heads = heads_of_items(t);
    if (!is_last || at + ITEMS <= t.count)
        return heads;
    return at > t.count ? 0 : heads & (1u << t.count - at) - 1u | 1u << t.count - at;
}

/* As scan_chunk(). */
void give_runs_of_tiles(uint chunk, scan_tile next, record_t before) {
    const bool is_last = chunk + 1 == p.chunks;
    const uint length = next.count + (is_last ? 1 : 0);
    tile_items items, loaded;
    scan_tile t = next;
    for (bool is_first = true; t.first < length || is_first; is_first = false) {
        if (next.first < length) {
            load_tile_items(next, loaded);
            loaded.heads = heads_with_end(next, is_last);
        }
        if (!is_first) {
            const uint tile = chunk * (p.chunk / GROUP_TILE) + t.first / GROUP_TILE;
            wide from = wide(0), to = wide(0);
            if (!BY_KEYS)
                places_of(tile, tile + 1, is_last && next.first >= length, from, to);
            before = give_runs_of_tile(plus(t.before, t.first), items, before, from, to);
        }
        items = loaded;
        t = next;
        next.first += GROUP_TILE;
    }
}
void give_runs() {
    begin_kernel();
    if (CONTROL.refused != 0 || is_by_teams())
        return;
    if (IS_SPARSE)
        give_empty_segments();
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const record_t before = read_record(chunk);
        if (!BY_KEYS || !takes_long_runs(ends_of_chunk(chunk, before.runs), p.chunk))
            give_runs_of_tiles(chunk, chunk_of_groups(chunk), before);
    }
}
