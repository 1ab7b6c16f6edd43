/* Reductions by runs of keys, and a user's operator by segments: the input is taken in tiles, whatever its groups, as
 * scans take it. A head also ends the group before. The groups that end in a tile are put side by side in shared memory,
 * and neighbouring threads write neighbouring results. */
const uint STAGED = TILE_SLOTS * BLOCK;

/* The position in the tile where a group ends; from bit 16 on, the position where it began, plus 1; 0: before the tile.
 */
shared uint staged_ends[STAGED];

/* Stores the groups that heads [begin, begin + STAGED) of the tile end. 'before' are the accumulators before the thread's
 * vectors. */
void stage(scan_tile t, tile_vectors in_tile, acc_t before[TILE_SLOTS], uint begin) {
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const uint slot = v * BLOCK + THREAD, heads = heads_of(slot * VECTOR), note = TILE_NOTE(slot);
        acc_t acc = before[v];
        lane_t lane = lane_identity();
        uint head = (note >> 16) - begin, start = note & 0xffffu;
        UNROLLED for (uint k = 0; k < VECTOR; k++) {
            const uint at = slot * VECTOR + k;
            const lifted_t item = scan_lift_item(t, in_tile.x[v], in_tile.y[v], k, t.first + at);
            if ((heads >> k & 1u) != 0) {
                if (head < STAGED) {
                    tile_slots[head] = combine(acc, widen(lane));
                    staged_ends[head] = at | start << 16;
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
}

void give_staged_run(wide first, record_t before, uint head, uint slot) {
    const uint log = log_bytes(INDEX), note = staged_ends[slot];
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
    if (!is_below(local, TILE_LENGTH))
        return;
    const uint vector = local.x / VECTOR, below = (1u << local.x % VECTOR) - 1u;
    const uint slot = (TILE_NOTE(vector) >> 16) + bitCount(heads_of(vector * VECTOR) & below) - begin;
    if (start == end && begin == 0)
        store_result(p.out_at, g, lower(identity(), wide(0), start));
    else if (start != end && slot < STAGED)
        store_result(p.out_at, g, lower(tile_slots[slot], minus(end, start), start));
}

/* The tile's heads are marked; they include the offsets [from, to). */
record_t give_tile(scan_tile t, tile_vectors in_tile, record_t before, wide from, wide to) {
    const wide first = plus(t.before, t.first);
    sum_vectors(t, in_tile);
    barrier();
    const record_t after = scan_slots(first, before);
    const uint heads = minus(after.runs, before.runs).x;
    barrier();
    acc_t ahead[TILE_SLOTS];
    UNROLLED for (uint v = 0; v < ROWS; v++)
        ahead[v] = tile_slots[spread(v * BLOCK + THREAD)];
    for (uint begin = 0; begin == 0 || begin < heads; begin += STAGED) {
        barrier();
        stage(t, in_tile, ahead, begin);
        barrier();
        if (BY_KEYS)
            for (uint head = begin + THREAD; head < min(begin + STAGED, heads); head += BLOCK)
                give_staged_run(first, before, head, head - begin);
        else
            for (wide e = plus(most(from, wide_of(1u)), THREAD); less(e, to); e = plus(e, BLOCK))
                give_staged_segment(first, e, begin);
    }
    return after;
}

/* The last chunk contains the end, where a group ends, too. */
void give_runs() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        scan_tile t = chunk_of_groups(chunk);
        const uint length = t.count + (chunk + 1 == p.chunks ? 1 : 0);
        record_t run = read_record(chunk);
        tile_vectors next;
        load_tile(t, next);
        while (t.first < length) {
            const tile_vectors now = next;
            scan_tile after = t;
            wide from, to;
            after.first += TILE_LENGTH;
            mark_heads(t, chunk, length, from, to);
            if (after.first < t.count)
                load_tile(after, next);
            barrier();
            run = give_tile(t, now, run, from, to);
            t = after;
        }
    }
}
