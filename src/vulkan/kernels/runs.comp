/* Reductions by runs of keys and by short segments: the input in tiles, whatever its groups. A thread has ITEMS
 * neighbours in registers; a bit for each says whether a group begins there, and where one begins, another has ended.
 * What the threads' last groups come to is scanned, once a tile; then the groups that end in the tile are put side by
 * side in shared memory, and neighbouring threads give neighbouring results. A group that began before the tile comes
 * with it from there, or, where a chunk begins, from the spine of groups.comp. */
const uint RUN_TILE = ITEMS * BLOCK, STAGED = TILE_SLOTS * BLOCK;

shared uint shared_notes[BLOCK], team_notes[BLOCK / TEAM];
shared uint thread_heads[BLOCK];  /* of the threads before */
shared uint run_heads[RUN_TILE / 32];
shared uint staged_ends[STAGED]; /* where a group that ends in the tile does, and upwards of bit 16 where it began and 1; 0: before */

/* Of some neighbours: their last group, where in the tile it begins, and 1, if it begins there, and heads from bit 16 on. */
struct stretch_of_groups {
    acc_t acc;
    uint note;
};
stretch_of_groups no_groups() {
    return stretch_of_groups(identity(), 0);
}
stretch_of_groups join(stretch_of_groups left, stretch_of_groups right) {
    const uint heads = left.note + right.note & 0xffff0000u;
    if ((right.note & 0xffffu) != 0)
        return stretch_of_groups(right.acc, heads | right.note & 0xffffu);
    return stretch_of_groups(combine(left.acc, right.acc), heads | left.note & 0xffffu);
}

/* As scan_threads(). */
stretch_of_groups scan_stretches(stretch_of_groups own, out stretch_of_groups all) {
    const uint team = THREAD / TEAM;
    barrier();
    shared_slots[THREAD] = own.acc;
    shared_notes[THREAD] = own.note;
    barrier();
    if (THREAD < BLOCK / TEAM) {
        stretch_of_groups sum = no_groups();
        UNROLLED for (uint k = 0; k < TEAM; k++)
            sum = join(sum, stretch_of_groups(shared_slots[THREAD * TEAM + k], shared_notes[THREAD * TEAM + k]));
        team_slots[THREAD] = sum.acc;
        team_notes[THREAD] = sum.note;
    }
    barrier();
    stretch_of_groups before = no_groups();
    all = no_groups();
    UNROLLED for (uint k = 0; k < BLOCK / TEAM; k++) {
        if (k == team)
            before = all;
        all = join(all, stretch_of_groups(team_slots[k], team_notes[k]));
    }
    UNROLLED for (uint k = 0; k < TEAM; k++)
        if (k < THREAD % TEAM)
            before = join(before, stretch_of_groups(shared_slots[team * TEAM + k], shared_notes[team * TEAM + k]));
    return before;
}

/* ---- a thread's elements ---- */

/* ITEMS neighbours in vectors, of which a type of few bytes fills one in part. */
const uint MOST_VECTORS = ITEMS * 8u / 16u;
uint vectors_of(uint log) {
    return max(ITEMS >> 4u - log, 1u);
}
uint taken_of_vector(uint log) {
    return min(16u >> log, ITEMS);
}

/* What is past the end is anything: there, after the last group, one begins that nobody asks for. */
uvec4 load_up_to_end(uint64_t from, uint64_t first, uint log) {
    const uint vector = 16u >> log;
    if (first + vector <= p.extent)
        return load_vector(from + (first << log));
    uvec4 loaded = uvec4(0);
    for (uint k = 0; k < vector && first + k < p.extent; k++) {
        const uvec2 bits = load_bits(from + (first + k << log), log);
        const uint word = k << log >> 2;
        loaded[word] |= bits.x << 8u * (k << log & 3u);
        if (log == 3)
            loaded[word + 1] = bits.y;
    }
    return loaded;
}

struct neighbours {
    uvec4 x[MOST_VECTORS], y[MOST_VECTORS];
    uint64_t first;
    uint heads; /* a bit for each that begins a group */
};
void load_neighbours(uint64_t first, out neighbours n) {
    const uint log = IN_LOG, taken = taken_of_vector(log);
    n.first = first;
    UNROLLED for (uint v = 0; v < vectors_of(log); v++) {
        n.x[v] = load_up_to_end(p.x, first + v * taken, log);
        n.y[v] = TWO_INPUTS ? load_up_to_end(p.y, first + v * taken, log) : uvec4(0);
    }
}
lane_t lift_neighbour(neighbours n, uint v, uint k) {
    const uvec2 partner = TWO_INPUTS ? pick(n.y[v], k, IN_LOG) : uvec2(0);
    return lift_bits(pick(n.x[v], k, IN_LOG), partner, n.first + v * taken_of_vector(IN_LOG) + k);
}

/* Of keys; one more group begins at the end of all, which ends the last. */
uint key_heads(uint64_t first) {
    const uint log = log_bytes(INDEX), taken = taken_of_vector(log);
    uvec4 keys[MOST_VECTORS];
    uint heads = 0;
    UNROLLED for (uint v = 0; v < vectors_of(log); v++)
        keys[v] = load_up_to_end(p.index, first + v * taken, log);
    uvec2 left = first > 0 && first <= p.extent ? key_at(first - 1) : ~pick(keys[0], 0, log);
    UNROLLED for (uint v = 0; v < vectors_of(log); v++)
        UNROLLED for (uint k = 0; k < taken; k++) {
            const uvec2 key = pick(keys[v], k, log);
            heads |= key != left ? 1u << v * taken + k : 0;
            left = key;
        }
    if (first + ITEMS <= p.extent)
        return heads;
    if (first > p.extent)
        return 0;
    const uint end = uint(p.extent - first);
    return heads & (1u << end) - 1u | 1u << end;
}

/* The same of segments: of the offsets [from, to). */
uint segment_heads(uint64_t first, uint64_t from, uint64_t to) {
    for (uint w = THREAD; w < RUN_TILE / 32; w += BLOCK)
        run_heads[w] = 0;
    barrier();
    for (uint64_t e = from + THREAD; e < to; e += BLOCK) {
        const uint64_t local = offset_at(e) - first;
        if (local < RUN_TILE)
            atomicOr(run_heads[uint(local) >> 5], 1u << (uint(local) & 31u));
    }
    barrier();
    const uint at = THREAD * ITEMS;
    return run_heads[at >> 5] >> (at & 31u) & ~0u >> 32u - ITEMS;
}

/* ---- a tile ---- */

/* Puts aside the groups that heads [begin, begin + STAGED) of the tile end. */
void stage(neighbours n, stretch_of_groups before, uint begin) {
    const uint taken = taken_of_vector(IN_LOG);
    acc_t acc = before.acc;
    lane_t lane = lane_identity();
    uint head = (before.note >> 16) - begin, start = before.note & 0xffffu;
    UNROLLED for (uint v = 0; v < vectors_of(IN_LOG); v++)
        UNROLLED for (uint k = 0; k < taken; k++) {
            const lane_t item = lift_neighbour(n, v, k);
            if ((n.heads >> v * taken + k & 1u) != 0) {
                const uint at = THREAD * ITEMS + v * taken + k;
                if (head < STAGED) {
                    tile_slots[head] = combine(acc, widen(lane));
                    staged_ends[head] = at | start << 16;
                }
                head++;
                start = at + 1;
                acc = identity();
                lane = item;
            } else {
                lane = combine(lane, item);
            }
        }
}

void give_staged_run(uint64_t first, record_t before, uint head, uint slot) {
    const uint log = log_bytes(INDEX), note = staged_ends[slot];
    const uint64_t end = first + (note & 0xffffu), rank = before.runs + head - 1;
    const uint64_t start = note >> 16 != 0 ? first + (note >> 16) - 1 : before.head - 1;
    if (before.runs + head == 0)
        return; /* nothing ends where all begins */
    store_result(p.out_at, rank, lower(tile_slots[slot], end - start, start));
    if (KEYS_OUT != 0)
        store_bits(KEYS_OUT + (rank << log), log, key_at(end - 1));
}

/* The segment that offset e ends, if that is one of the heads [begin, begin + STAGED). */
void give_staged_segment(uint64_t first, uint64_t e, uint begin) {
    const uint64_t start = offset_at(e - 1), end = offset_at(e), local = end - first;
    if (local >= RUN_TILE)
        return;
    const uint at = uint(local), thread = at / ITEMS;
    const uint below = run_heads[at >> 5] >> (thread * ITEMS & 31u) & (1u << at % ITEMS) - 1u;
    const uint slot = thread_heads[thread] + bitCount(below) - begin;
    if (start == end && begin == 0)
        store_result(p.out_at, e - 1, lower(identity(), 0, start));
    else if (start != end && slot < STAGED)
        store_result(p.out_at, e - 1, lower(tile_slots[slot], end - start, start));
}

record_t give_tile(uint64_t first, record_t before, uint64_t from, uint64_t to) {
    const uint taken = taken_of_vector(IN_LOG);
    neighbours n;
    load_neighbours(first + THREAD * ITEMS, n);
    n.heads = BY_KEYS ? key_heads(n.first) : segment_heads(first, from, to);
    lane_t last = lane_identity();
    UNROLLED for (uint v = 0; v < vectors_of(IN_LOG); v++)
        UNROLLED for (uint k = 0; k < taken; k++) {
            const lane_t item = lift_neighbour(n, v, k);
            last = (n.heads >> v * taken + k & 1u) != 0 ? item : combine(last, item);
        }
    const uint note = n.heads != 0 ? THREAD * ITEMS + findMSB(n.heads) + 1 | bitCount(n.heads) << 16 : 0;
    stretch_of_groups all, ahead = scan_stretches(stretch_of_groups(widen(last), note), all);
    thread_heads[THREAD] = ahead.note >> 16;
    if ((ahead.note & 0xffffu) == 0)
        ahead.acc = combine(before.acc, ahead.acc);
    const uint all_heads = all.note >> 16;
    for (uint begin = 0; begin == 0 || begin < all_heads; begin += STAGED) {
        barrier();
        stage(n, ahead, begin);
        barrier();
        if (BY_KEYS)
            for (uint head = begin + THREAD; head < min(begin + STAGED, all_heads); head += BLOCK)
                give_staged_run(first, before, head, head - begin);
        else
            for (uint64_t e = max(from, uint64_t(1)) + THREAD; e < to; e += BLOCK)
                give_staged_segment(first, e, begin);
    }
    barrier();
    const bool begins = (all.note & 0xffffu) != 0;
    return record_t(begins ? all.acc : combine(before.acc, all.acc), begins ? first + (all.note & 0xffffu) : before.head,
                    before.runs + all_heads);
}

void give_runs() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    const uint64_t tiles = p.extent / RUN_TILE + 1;
    for (uint64_t chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        /* the last chunk has the end in it, where a group ends, too */
        const uint64_t end = chunk + 1 == p.chunks ? p.extent + 1 : (chunk + 1) * p.chunk;
        record_t before = read_record(chunk);
        for (uint64_t first = chunk * p.chunk; first < end; first += RUN_TILE) {
            uint64_t from = 0, to = 0;
            if (!BY_KEYS)
                places_of(first / RUN_TILE, tiles, from, to);
            before = give_tile(first, before, from, to);
        }
    }
}
