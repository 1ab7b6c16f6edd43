/* Scans by segments and by keys, and their parts that reductions share: three passes. A chunk's record has the
 * accumulator of its last group, the position where that group begins, and the number of runs of keys. The records are
 * scanned. Then each chunk is scanned from the value before it or, in a reduction, handled by runs.comp. Positions are
 * logical: reverse scans count from the end. */
struct record_t {
    acc_t acc;     /* of the last group */
    wide head; /* where it begins, and 1; 0: before all that was seen */
    wide runs; /* groups that begin */
};
layout(buffer_reference, std430, buffer_reference_align = RECORD_ALIGNMENT) buffer record_slot {
    record_t value;
};
record_t read_record(uint i) {
    return record_slot(plus(p.slots, times(i, RECORD_BYTES))).value;
}
void write_record(uint i, record_t value) {
    record_slot(plus(p.slots, times(i, RECORD_BYTES))).value = value;
}
record_t no_record() {
    return record_t(identity(), wide(0), wide(0));
}
record_t append(record_t left, record_t right) {
    if (right.head != wide(0))
        return record_t(right.acc, right.head, plus(left.runs, right.runs));
    return record_t(combine(left.acc, right.acc), left.head, left.runs);
}

shared wide shared_heads[BLOCK];
shared uint head_bits[TILE_SLOTS * BLOCK / 32];

/* The records of the threads before, appended; and of *all* threads. 'runs' are left out. */
record_t scan_records(record_t own, out record_t all) {
    barrier();
    shared_slots[THREAD] = own.acc;
    shared_heads[THREAD] = own.head;
    for (uint d = 1; d < BLOCK; d *= 2) {
        barrier();
        record_t left = no_record();
        if (THREAD >= d)
            left = record_t(shared_slots[THREAD - d], shared_heads[THREAD - d], wide(0));
        barrier();
        if (THREAD >= d) {
            own = append(left, own);
            shared_slots[THREAD] = own.acc;
            shared_heads[THREAD] = own.head;
        }
    }
    barrier();
    all = record_t(shared_slots[BLOCK - 1], shared_heads[BLOCK - 1], wide(0));
    return THREAD > 0 ? record_t(shared_slots[THREAD - 1], shared_heads[THREAD - 1], wide(0)) : no_record();
}

wide sum_before(wide own, out wide all) {
    barrier();
    shared_heads[THREAD] = own;
    for (uint d = 1; d < BLOCK; d *= 2) {
        barrier();
        const wide left = THREAD >= d ? shared_heads[THREAD - d] : wide(0);
        barrier();
        own = plus(own, left);
        shared_heads[THREAD] = own;
    }
    barrier();
    all = shared_heads[BLOCK - 1];
    return THREAD > 0 ? shared_heads[THREAD - 1] : wide(0);
}

/* ---- a tile ---- */

const uint TILE = TILE_SLOTS * BLOCK;

wide element_of(wide logical) {
    return REVERSE ? minus(minus(p.extent, 1u), logical) : logical;
}
uvec2 key_at(wide logical) {
    const uint log = log_bytes(INDEX);
    return load_bits(plus(p_keys, shifted_up(element_of(logical), log)), log);
}
bool begins_run(wide logical) {
    return logical == wide(0) || key_at(logical) != key_at(minus(logical, 1u));
}

/* The offsets that may lie in a tile: [from, to). */
void places_of(uint tile, bool is_last, out wide from, out wide to) {
    const wide here = load_wide(p_places, tile), next = is_last ? wide(0) : load_wide(p_places, tile + 1);
    from = REVERSE ? next : here;
    to = REVERSE ? here : is_last ? plus(p_segments, 1u) : next;
}

/* Loads elements and heads into shared memory. */
void fill_tile(wide first, wide from, wide to) {
    barrier(); /* earlier use of the memory */
    for (uint w = THREAD; w < TILE / 32; w += BLOCK)
        head_bits[w] = 0;
    barrier();
    for (uint v = 0; v < TILE_SLOTS; v++) {
        const uint i = v * BLOCK + THREAD;
        const wide logical = plus(first, i), at = element_of(logical);
        if (less(logical, p.extent)) {
            const uvec2 bits = load_bits(element_at(p.x, at), IN_LOG);
            tile_slots[i] = acc_of(lift_bits(bits, load_partner(element_at(p.y, at)), at));
            if (BY_KEYS && begins_run(logical))
                atomicOr(head_bits[i >> 5], 1u << (i & 31u));
        } else {
            tile_slots[i] = identity();
        }
    }
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, BLOCK)) {
        const wide offset = offset_at(e), local = minus(REVERSE ? minus(p.extent, offset) : offset, first);
        if (is_below(local, TILE))
            atomicOr(head_bits[local.x >> 5], 1u << (local.x & 31u));
    }
    barrier();
}

bool is_head(uint i) {
    return (head_bits[i >> 5] >> (i & 31u) & 1u) != 0;
}

/* Turns each slot into its group's accumulator up to it, with the value before the tile. */
record_t scan_tile_slots(wide first, record_t before) {
    const uint begin = THREAD * TILE_SLOTS;
    record_t own = no_record(), all;
    uint until_head = TILE_SLOTS;
    for (uint k = 0; k < TILE_SLOTS; k++) {
        const uint i = begin + k;
        if (is_head(i)) {
            own.head = plus(first, i + 1);
            own.acc = tile_slots[i];
            until_head = min(until_head, k);
        } else {
            own.acc = combine(own.acc, tile_slots[i]);
        }
        tile_slots[i] = own.acc;
    }
    const record_t left = append(before, scan_records(own, all));
    for (uint k = 0; k < until_head; k++)
        tile_slots[begin + k] = combine(left.acc, tile_slots[begin + k]);
    all = append(before, all);
    barrier();
    return all;
}

/* ---- results ---- */

/* The logical position where the group of element i of the tile begins. */
wide start_of(wide first, uint i, wide head_before) {
    uint word = i >> 5, bits = head_bits[word] & (~0u >> (31u - (i & 31u)));
    while (bits == 0 && word > 0)
        bits = head_bits[--word];
    return bits != 0 ? plus(first, 32 * word + findMSB(bits)) : minus(head_before, 1u);
}
void give_scan(wide first, record_t before, wide first_inside, wide end_inside) {
    for (uint v = 0; v < TILE_SLOTS; v++) {
        const uint i = v * BLOCK + THREAD;
        const wide logical = plus(first, i), at = element_of(logical);
        if (!less(logical, p.extent) || less(at, first_inside) || !less(at, end_inside))
            continue;
        acc_t acc = tile_slots[i];
        if (!INCLUSIVE)
            acc = is_head(i) ? identity() : i > 0 ? tile_slots[i - 1] : before.acc;
        if (given(p.initial))
            acc = combine(base_of(wide(0)), acc);
        const wide start = start_of(first, i, before.head);
        store_result(p.out_at, at, lower(acc, plus(minus(logical, start), INCLUSIVE ? 1u : 0u), start));
    }
}

/* ---- passes ---- */

/* Goes over the tiles of a chunk and writes results if 'gives'. */
record_t pass_over(uint chunk, record_t before, bool gives) {
    uint length;
    const wide begin = begin_of_chunk(chunk, p.extent, length);
    const bool by_segments = !BY_KEYS;
    const wide first_inside = by_segments ? offset_at(wide(0)) : wide(0);
    const wide end_inside = by_segments ? offset_at(p_segments) : p.extent;
    /* one tile at least: an empty input may have segments */
    for (uint at = 0; at < max(length, 1u); at += TILE) {
        const wide first = plus(begin, at);
        wide from = wide(0), to = wide(0);
        if (by_segments)
            places_of(chunk * (p.chunk / TILE) + at / TILE, !less(plus(first, TILE), p.extent), from, to);
        fill_tile(first, from, to);
        const record_t after = scan_tile_slots(first, before);
        if (gives)
            give_scan(first, before, first_inside, end_inside);
        before = after;
    }
    return before;
}

const uint KEYS_AHEAD = 4; /* vectors of keys that a thread has on their way */

/* The position where the last run of keys in a chunk begins, plus 1, or 0; and the number of runs that begin. All
 * threads call this. */
wide last_run(wide first, uint length, out wide runs) {
    const uint log = log_bytes(INDEX), vector = 16u >> log, step = KEYS_AHEAD * BLOCK * vector;
    const address keys_at = plus(p_keys, shifted_up(first, log));
    uint heads = 0, last = 0, at = 0; /* places in the chunk */
    const uint back = first == wide(0) ? 0 : 1u << log; /* from the chunk back to the key before it, if there is one */
    for (; at + step <= length; at += step) {
        uvec4 keys[KEYS_AHEAD];
        uvec2 left[KEYS_AHEAD];
        if ((keys_at.x & 15u) == 0) {
            UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
                const uint i = at + (v * BLOCK + THREAD) * vector;
                keys[v] = vectors_at(keys_at).vector[i / vector];
                left[v] = load_aligned(minus(plus(keys_at, i << log), i == 0 ? back : 1u << log), log);
            }
        } else {
            UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
                const address keys_here = plus(keys_at, at + (v * BLOCK + THREAD) * vector << log);
                keys[v] = load_vector(keys_here);
                left[v] = load_bits(minus(keys_here, at + v * BLOCK + THREAD == 0 ? back : 1u << log), log);
            }
        }
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            uint bits = at + v * BLOCK + THREAD == 0 && back == 0 ? 1u : 0u;
            UNROLLED for (uint k = 0; k < vector; k++) {
                const uvec2 key = pick(keys[v], k, log);
                bits |= key != left[v] ? 1u << k : 0;
                left[v] = key;
            }
            heads += bitCount(bits);
            last = bits != 0 ? at + (v * BLOCK + THREAD) * vector + findMSB(bits) + 1 : last;
        }
    }
    for (at += THREAD; at < length; at += BLOCK)
        if (begins_run(plus(first, at))) {
            heads++;
            last = at + 1;
        }
    sum_before(wide_of(heads), runs);
    barrier();
    shared_heads[THREAD] = last != 0 ? plus(first, last) : wide(0);
    for (uint d = BLOCK / 2; d > 0; d /= 2) {
        barrier();
        if (THREAD < d)
            shared_heads[THREAD] = most(shared_heads[THREAD], shared_heads[THREAD + d]);
    }
    barrier();
    return shared_heads[0];
}

/* The whole workgroup folds elements in order; its first thread receives the result. */
acc_t fold_neighbours(wide first, uint length) {
#if COMMUTES
    return fold_together(first, length);
#else
    return fold_block(fold_rows(stretch_of(first, length, first), THREAD, BLOCK), 1, BLOCK);
#endif
}

/* Only the elements after the last head of a chunk matter. */
record_t fold_after_last_head(uint chunk) {
    uint length;
    const wide first = begin_of_chunk(chunk, p.extent, length), end = plus(first, length);
    wide head = wide(0), runs = wide(0);
    if (BY_KEYS) {
        head = last_run(first, length, runs);
    } else {
        const wide next = search(end, false), offset = next != wide(0) ? offset_at(minus(next, 1u)) : wide(0);
        head = next != wide(0) && !less(offset, first) ? plus(offset, 1u) : wide(0);
    }
    const wide begin = head != wide(0) ? minus(head, 1u) : first;
    return record_t(fold_neighbours(begin, end.x - begin.x), head, runs);
}

void fold_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const record_t sum = REVERSE ? pass_over(chunk, no_record(), false) : fold_after_last_head(chunk);
        if (THREAD == 0)
            write_record(chunk, sum);
    }
}

/* One workgroup turns the chunks' records into the values before each, and checks whether the output has room for all
 * runs. */
void spine_of_groups() {
    begin_kernel();
    const uint each = (p.chunks + BLOCK - 1) / BLOCK;
    const uint first = min(THREAD * each, p.chunks), end = min(first + each, p.chunks);
    record_t own = no_record(), all;
    for (uint c = first; c < end; c++)
        own = append(own, read_record(c));
    wide all_runs;
    const wide runs = sum_before(own.runs, all_runs);
    record_t run = scan_records(own, all);
    run.runs = runs;
    for (uint c = first; c < end; c++) {
        const record_t chunk = read_record(c);
        write_record(c, run);
        run = append(run, chunk);
    }
    if (THREAD == 0) {
        CONTROL.runs = all_runs;
        if (!IS_SCAN && BY_KEYS && less(p_room, all_runs))
            atomicOr(CONTROL.refused, REFUSED_RUNS);
    }
}

void give_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count())
        pass_over(chunk, given(p.slots) ? read_record(chunk) : no_record(), true);
}
