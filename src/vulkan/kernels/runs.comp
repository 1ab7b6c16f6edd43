/* Reductions by runs of keys, in the tiles of group_tiles.comp. A bit that begins a
 * group also ends the one before. The groups that end in a tile are put side by side in shared memory, and neighbouring
 * threads write neighbouring results. A group that began before the tile comes from the tile before or, where a chunk
 * begins, from the spine of groups.comp. */
const uint STAGED = STAGED_SLOTS * BLOCK;

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

record_t give_runs_of_tile(wide first, tile_items items, record_t before) {
    tile_part all;
    const tile_part ahead = scan_tile_parts(items, before.acc, all);
    for (uint begin = 0; begin == 0 || begin < all.count; begin += STAGED) {
        barrier();
        stage(items, ahead, begin);
        barrier();
        give_staged_runs(first, before, plus(before.runs, begin), min(STAGED, all.count - begin));
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
    return COMMUTES != 0 && ends <= MOST_LONG && ends <= (length << IN_LOG) / LONG_BYTES;
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
        if (!is_first)
            before = give_runs_of_tile(plus(t.before, t.first), items, before);
        items = loaded;
        t = next;
        next.first += GROUP_TILE;
    }
}
void give_runs() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const record_t before = read_record(chunk);
        if (!takes_long_runs(ends_of_chunk(chunk, before.runs), p.chunk))
            give_runs_of_tiles(chunk, chunk_of_groups(chunk), before);
    }
}
