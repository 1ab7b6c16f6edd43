/* Reductions by runs of keys, and a user's operator by segments: the input is taken in tiles, whatever its groups. A
 * thread has ITEMS neighbours in registers. A bit for each says whether a group begins there, which also ends the group
 * before. The accumulators of the threads' last groups are scanned once per tile. Then the groups that end in the tile
 * are put side by side in shared memory, and neighbouring threads write neighbouring results. A group that began before
 * the tile comes from the tile before or, where a chunk begins, from the spine of groups.comp. */
const uint RUN_TILE = ITEMS * BLOCK, STAGED = TILE_SLOTS * BLOCK;

shared uint thread_heads[BLOCK];  /* of the threads before */
shared uint run_heads[RUN_TILE / 32];
/* The position in the tile where a group ends; from bit 16 on, the position where it began, plus 1; 0: before the tile.
 */
#define STAGED_END(slot) spare_words[slot]

/* ---- a thread's elements ---- */

/* ITEMS neighbours in vectors; a type of few bytes fills only part of one. */
const uint MOST_VECTORS = ITEMS * 8u / 16u;
uint vectors_of(uint log) {
    return max(ITEMS >> 4u - log, 1u);
}
uint taken_of_vector(uint log) {
    return min(16u >> log, ITEMS);
}

/* Elements past the end may be anything: after the last group another one begins there that is not used. */
uvec4 load_up_to_end(address from, wide first, uint log) {
    const uint vector = 16u >> log;
    const uint left = less(first, p.extent) ? at_most(minus(p.extent, first), vector) : 0;
    const address at = plus(from, shifted_up(first, log));
    if (left == vector)
        return load_vector(at);
    uvec4 loaded = uvec4(0);
    for (uint k = 0; k < left; k++) {
        const uvec2 bits = load_bits(plus(at, k << log), log);
        const uint word = k << log >> 2;
        loaded[word] |= bits.x << 8u * (k << log & 3u);
        if (log == 3)
            loaded[word + 1] = bits.y;
    }
    return loaded;
}

/* A thread's elements of an array. Whether they are whole vectors is tested once, because nothing must come between
 * loads. */
void load_items(address from, wide first, uint log, out uvec4 items[MOST_VECTORS]) {
    const uint taken = taken_of_vector(log);
    const address at = plus(from, shifted_up(first, log));
    if (!less(p.extent, plus(first, max(ITEMS, 16u >> log))) && (at.x & 15u) == 0) {
        UNROLLED for (uint v = 0; v < vectors_of(log); v++)
            items[v] = vectors_at(at).vector[v];
    } else {
        UNROLLED for (uint v = 0; v < vectors_of(log); v++)
            items[v] = load_up_to_end(from, plus(first, v * taken), log);
    }
}

struct neighbours {
    uvec4 x[MOST_VECTORS], y[MOST_VECTORS];
    wide first;
    uint heads; /* a bit for each that begins a group */
};
void load_neighbours(wide first, out neighbours n) {
    n.first = first;
    load_items(p.x, first, IN_LOG, n.x);
    if (TWO_INPUTS)
        load_items(p.y, first, IN_LOG, n.y);
}
lifted_t lift_neighbour(neighbours n, uint v, uint k) {
    const uvec2 partner = TWO_INPUTS ? pick(n.y[v], k, IN_LOG) : uvec2(0);
    return lift_bits(pick(n.x[v], k, IN_LOG), partner, plus(n.first, v * taken_of_vector(IN_LOG) + k));
}

/* Heads of keys. One more group begins after the last element, which ends the last group. */
uint key_heads(wide first) {
    const uint log = log_bytes(INDEX), taken = taken_of_vector(log);
    uvec4 keys[MOST_VECTORS];
    uint heads = 0;
    load_items(p_keys, first, log, keys);
    const bool has_left = first != wide(0) && !less(p.extent, first);
    uvec2 left = has_left ? key_at(minus(first, 1u)) : ~pick(keys[0], 0, log);
    UNROLLED for (uint v = 0; v < vectors_of(log); v++)
        UNROLLED for (uint k = 0; k < taken; k++) {
            const uvec2 key = pick(keys[v], k, log);
            heads |= key != left ? 1u << v * taken + k : 0;
            left = key;
        }
    if (less(p.extent, first))
        return 0;
    const uint end = at_most(minus(p.extent, first), ITEMS);
    if (end == ITEMS)
        return heads;
    return heads & (1u << end) - 1u | 1u << end;
}

/* The same of segments: of the offsets [from, to). */
uint segment_heads(wide first, wide from, wide to) {
    for (uint w = THREAD; w < RUN_TILE / 32; w += BLOCK)
        run_heads[w] = 0;
    barrier();
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, BLOCK)) {
        const wide local = minus(offset_at(e), first);
        if (is_below(local, RUN_TILE))
            atomicOr(run_heads[local.x >> 5], 1u << (local.x & 31u));
    }
    barrier();
    const uint at = THREAD * ITEMS;
    return run_heads[at >> 5] >> (at & 31u) & ~0u >> 32u - ITEMS;
}

/* ---- a tile ---- */

/* Stores the groups that heads [begin, begin + STAGED) of the tile end. */
void stage(neighbours n, last_group before, uint heads_ahead, uint begin) {
    const uint taken = taken_of_vector(IN_LOG);
    acc_t acc = before.acc;
    lane_t lane = lane_identity();
    uint head = heads_ahead - begin, start = before.head;
    UNROLLED for (uint v = 0; v < vectors_of(IN_LOG); v++)
        UNROLLED for (uint k = 0; k < taken; k++) {
            const lifted_t item = lift_neighbour(n, v, k);
            if ((n.heads >> v * taken + k & 1u) != 0) {
                const uint at = THREAD * ITEMS + v * taken + k;
                if (head < STAGED) {
                    tile_slots[head] = combine(acc, widen(lane));
                    STAGED_END(head) = at | start << 16;
                }
                head++;
                start = at + 1;
                acc = identity();
                lane = lane_of(item);
            } else {
                lane = added(lane, item);
            }
        }
}

void give_staged_run(wide first, record_t before, uint head, uint slot) {
    const uint log = log_bytes(INDEX), note = STAGED_END(slot);
    const wide heads = plus(before.runs, head), rank = minus(heads, 1u), end = plus(first, note & 0xffffu);
    const wide start = minus(note >> 16 != 0 ? plus(first, note >> 16) : before.head, 1u);
    if (heads == wide(0))
        return; /* no group ends before the first element */
    store_result(p.out_at, rank, lower(tile_slots[slot], minus(end, start), start));
    if (given(p_keys_out))
        store_bits(plus(p_keys_out, shifted_up(rank, log)), log, key_at(minus(end, 1u)));
}

/* The segment that offset e ends, if that is one of the heads [begin, begin + STAGED). */
void give_staged_segment(wide first, wide e, uint begin) {
    const wide g = minus(e, 1u), start = offset_at(g), end = offset_at(e), local = minus(end, first);
    if (!is_below(local, RUN_TILE))
        return;
    const uint at = local.x, thread = at / ITEMS;
    const uint below = run_heads[at >> 5] >> (thread * ITEMS & 31u) & (1u << at % ITEMS) - 1u;
    const uint slot = thread_heads[thread] + bitCount(below) - begin;
    if (start == end && begin == 0)
        store_result(p.out_at, g, lower(identity(), wide(0), start));
    else if (start != end && slot < STAGED)
        store_result(p.out_at, g, lower(tile_slots[slot], minus(end, start), start));
}

record_t give_tile(wide first, record_t before, wide from, wide to) {
    const uint taken = taken_of_vector(IN_LOG);
    neighbours n;
    load_neighbours(plus(first, THREAD * ITEMS), n);
    n.heads = BY_KEYS ? key_heads(n.first) : segment_heads(first, from, to);
    lane_t last = lane_identity();
    UNROLLED for (uint v = 0; v < vectors_of(IN_LOG); v++)
        UNROLLED for (uint k = 0; k < taken; k++) {
            const lifted_t item = lift_neighbour(n, v, k);
            last = (n.heads >> v * taken + k & 1u) != 0 ? lane_of(item) : added(last, item);
        }
    const uint head = n.heads != 0 ? THREAD * ITEMS + findMSB(n.heads) + 1 : 0;
    uint heads_ahead, all_heads;
    last_group all;
    last_group ahead = scan_last_groups(last_group(widen(last), head), bitCount(n.heads), heads_ahead, all, all_heads);
    thread_heads[THREAD] = heads_ahead;
    if (ahead.head == 0)
        ahead.acc = combine(before.acc, ahead.acc);
    for (uint begin = 0; begin == 0 || begin < all_heads; begin += STAGED) {
        barrier();
        stage(n, ahead, heads_ahead, begin);
        barrier();
        if (BY_KEYS)
            for (uint head = begin + THREAD; head < min(begin + STAGED, all_heads); head += BLOCK)
                give_staged_run(first, before, head, head - begin);
        else
            for (wide e = plus(most(from, wide_of(1u)), THREAD); less(e, to); e = plus(e, BLOCK))
                give_staged_segment(first, e, begin);
    }
    barrier();
    const wide runs = plus(before.runs, all_heads);
    return all.head != 0 ? record_t(all.acc, plus(first, all.head), runs)
                         : record_t(combine(before.acc, all.acc), before.head, runs);
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

void give_runs() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const bool is_last = chunk + 1 == p.chunks;
        const wide begin = times(chunk, p.chunk);
        const uint length = is_last ? minus(p.extent, begin).x + 1 : p.chunk;
        record_t before = read_record(chunk);
        if (BY_KEYS && takes_long_runs(ends_of_chunk(chunk, before.runs), p.chunk))
            continue;
        for (uint at = 0; at < length; at += RUN_TILE) {
            const wide first = plus(begin, at);
            wide from = wide(0), to = wide(0);
            if (!BY_KEYS)
                places_of(chunk * (p.chunk / RUN_TILE) + at / RUN_TILE, is_last && at + RUN_TILE >= length, from, to);
            before = give_tile(first, before, from, to);
        }
    }
}
