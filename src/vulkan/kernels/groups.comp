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

/* ---- heads ---- */

/* The offsets that may lie in a tile: [from, to). */
void places_of(uint tile, bool is_last, out wide from, out wide to) {
    const wide here = load_wide(p_places, tile), next = is_last ? wide(0) : load_wide(p_places, tile + 1);
    from = REVERSE ? next : here;
    to = REVERSE ? here : is_last ? plus(p_segments, 1u) : next;
}

/* A bit for each element of a scan's tile that begins a group, in logical order. */
shared uint head_bits[BLOCK * MOST_ELEMENTS / 32];

/* The bits of a vector's elements [i, i + VECTOR). */
uint heads_of(uint i) {
    return head_bits[i >> 5] >> (i & 31u) & (1u << VECTOR) - 1u;
}
void mark_segments(wide first, wide from, wide to) {
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, BLOCK)) {
        const wide offset = offset_at(e), local = minus(REVERSE ? minus(p.extent, offset) : offset, first);
        if (is_below(local, TILE_LENGTH))
            atomicOr(head_bits[local.x >> 5], 1u << (local.x & 31u));
    }
}

const uint KEYS_AHEAD = 4; /* vectors of keys that a thread has on their way */

/* The tile's elements from 'first' on are 'count'. A key is compared with the one before it in logical order. */
void mark_keys(wide first, uint count) {
    const uint log = log_bytes(INDEX), vector = 16u >> log, whole = count & ~(vector - 1);
    const wide lowest = REVERSE ? minus(minus(p.extent, first), vector) : first;
    const address keys_at = plus(p_keys, shifted_up(lowest, log));
    /* from a vector to the key before it in logical order; before the first key is none, so it has itself */
    const uint back = 1u << log;
    for (uint at = 0; at < whole; at += KEYS_AHEAD * BLOCK * vector) {
        uvec4 keys[KEYS_AHEAD];
        uvec2 left[KEYS_AHEAD];
        /* how they are aligned is asked once, because nothing must come between loads */
        if ((keys_at.x & 15u) == 0) {
            UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
                const uint i = at + (v * BLOCK + THREAD) * vector;
                const address here = REVERSE ? minus(keys_at, i << log) : plus(keys_at, i << log);
                const bool is_first = i == 0 && first == wide(0);
                if (i < whole) {
                    keys[v] = vectors_at(here).vector[0];
                    left[v] = load_aligned(REVERSE ? plus(here, is_first ? 16 - back : 16)
                                                   : minus(here, is_first ? 0 : back), log);
                }
            }
        } else {
            UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
                const uint i = at + (v * BLOCK + THREAD) * vector;
                const wide logical = plus(first, i);
                if (i < whole) {
                    keys[v] = load_vector(REVERSE ? minus(keys_at, i << log) : plus(keys_at, i << log));
                    left[v] = key_at(logical == wide(0) ? logical : minus(logical, 1u));
                }
            }
        }
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            const uint i = at + (v * BLOCK + THREAD) * vector;
            uint bits = first == wide(0) && i == 0 ? 1u : 0u;
            UNROLLED for (uint k = 0; k < vector; k++) {
                const uvec2 key = pick(keys[v], REVERSE ? vector - 1 - k : k, log);
                bits |= key != left[v] ? 1u << k : 0;
                left[v] = key;
            }
            if (i < whole && bits != 0)
                atomicOr(head_bits[i >> 5], bits << (i & 31u));
        }
    }
    const uint last = whole + THREAD;
    if (last < count && begins_run(plus(first, last)))
        atomicOr(head_bits[last >> 5], 1u << (last & 31u));
}

/* ---- the last group of some neighbours ---- */

/* And, if it begins among them, its position in the tile plus 1. */
struct last_group {
    acc_t acc;
    uint head;
};
shared uint shared_notes[BLOCK], team_notes[BLOCK / TEAM];
last_group join(last_group left, last_group right) {
    return last_group(combine(left.acc, right.acc), left.head);
}
last_group of_thread(uint t) {
    return last_group(shared_slots[t], shared_notes[t] & 0xffffu);
}

/* The last group of threads [begin, end), back to where it begins. */
last_group last_of_threads(uint begin, uint end) {
    last_group last = last_group(identity(), 0);
    for (uint t = end; t > begin && last.head == 0; t--)
        last = join(of_thread(t - 1), last);
    return last;
}

/* That of all threads before, and of *all*. The notes of threads and teams have the counts from bit 16 on. */
last_group scan_last_groups(last_group own, uint count, out last_group all) {
    const uint team = THREAD / TEAM;
    barrier();
    shared_slots[THREAD] = own.acc;
    shared_notes[THREAD] = own.head | count << 16;
    barrier();
    if (THREAD < BLOCK / TEAM) {
        const last_group last = last_of_threads(THREAD * TEAM, THREAD * TEAM + TEAM);
        uint sum = 0;
        UNROLLED for (uint k = 0; k < TEAM; k++)
            sum += shared_notes[THREAD * TEAM + k] >> 16;
        team_slots[THREAD] = last.acc;
        team_notes[THREAD] = last.head | sum << 16;
    }
    barrier();
    last_group ahead = last_of_threads(team * TEAM, THREAD);
    for (uint k = team; k > 0 && ahead.head == 0; k--)
        ahead = join(last_group(team_slots[k - 1], team_notes[k - 1] & 0xffffu), ahead);
    all = last_group(identity(), 0);
    for (uint k = BLOCK / TEAM; k > 0 && all.head == 0; k--)
        all = join(last_group(team_slots[k - 1], team_notes[k - 1] & 0xffffu), all);
    return ahead;
}

/* ---- a tile ---- */

/* Where the group before a vector begins in the tile, plus 1; 0: before the tile. */
#define TILE_NOTE(slot) spare_words[slot]

/* The slot of a vector receives its last group's accumulator. */
void sum_vectors(scan_tile t, tile_vectors in_tile) {
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const uint place = (v * BLOCK + THREAD) * VECTOR;
        tile_slots[spread(v * BLOCK + THREAD)] =
            sum_of_vector(t, in_tile.x[v], in_tile.y[v], t.first + place, heads_of(place));
    }
}

/* The last group of a slot's vector. */
last_group of_slot(uint slot, uint heads) {
    return last_group(tile_slots[spread(slot)], heads == 0 ? 0 : slot * VECTOR + findMSB(heads) + 1);
}

/* Turns the slots into the accumulators before each vector, with that before the tile, and takes the notes. Returns the
 * record after the tile. */
record_t scan_slots(wide first, record_t before) {
    last_group own = last_group(identity(), 0), all;
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const uint slot = THREAD * ROWS + v;
        const last_group last = of_slot(slot, heads_of(slot * VECTOR));
        own = last.head != 0 ? last : join(own, last);
    }
    last_group run = scan_last_groups(own, 0, all);
    if (run.head == 0)
        run.acc = combine(before.acc, run.acc);
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const uint slot = THREAD * ROWS + v;
        const last_group last = of_slot(slot, heads_of(slot * VECTOR));
        tile_slots[spread(slot)] = run.acc;
        TILE_NOTE(slot) = run.head;
        run = last.head != 0 ? last : join(run, last);
    }
    return all.head != 0 ? record_t(all.acc, plus(first, all.head), wide(0))
                         : record_t(combine(before.acc, all.acc), before.head, wide(0));
}

/* The tile's heads are marked. */
record_t scan_groups_of_tile(scan_tile t, tile_vectors in_tile, record_t before) {
    const wide first = plus(t.before, t.first);
    sum_vectors(t, in_tile);
    barrier();
    const record_t after = scan_slots(first, before);
    barrier();
    const acc_t base = base_of(wide(0));
    const bool exchanging = exchanges(t);
    uvec4 left_vector = uvec4(0);
    uint notes[TILE_SLOTS]; /* the words are used again */
    UNROLLED for (uint v = 0; v < ROWS; v++)
        notes[v] = TILE_NOTE(v * BLOCK + THREAD);
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const uint slot = v * BLOCK + THREAD, head = notes[v];
        const wide start = minus(head != 0 ? plus(first, head) : before.head, 1u);
        acc_t run = tile_slots[spread(slot)];
        if (has_base())
            run = combine(base, run);
        scan_vector(t, v, in_tile.x[v], in_tile.y[v], run, heads_of(slot * VECTOR), start, base, exchanging, left_vector);
    }
    return after;
}

/* ---- passes ---- */

/* A chunk's elements as those of a row, and which of them are in any segment. */
scan_tile chunk_of_groups(uint chunk) {
    scan_tile t;
    t.before = begin_of_chunk(chunk, p.extent, t.count);
    t.number = REVERSE ? minus(minus(p.extent, t.before), t.count) : t.before;
    t.x = element_at(p.x, t.number);
    t.y = element_at(p.y, t.number);
    t.out_at = plus(p.out_at, shifted_up(times(t.number, PER_RESULT), OUT_LOG));
    t.first = t.from = 0;
    t.to = t.count;
    t.ahead = at_most(t.number, VECTOR);
    t.behind = at_most(minus(minus(p.extent, t.number), t.count), VECTOR);
    if (!BY_KEYS) {
        const wide low = offset_at(wide(0)), high = offset_at(p_segments);
        const wide from = REVERSE ? minus(p.extent, high) : low, to = REVERSE ? minus(p.extent, low) : high;
        t.from = less(from, t.before) ? 0 : at_most(minus(from, t.before), t.count);
        t.to = less(to, t.before) ? 0 : at_most(minus(to, t.before), t.count);
    }
    return t;
}

/* All threads call this, and meet before they look at the marks. */
void mark_heads(scan_tile t, uint chunk) {
    const wide first = plus(t.before, t.first);
    barrier(); /* earlier use of the memory */
    for (uint w = THREAD; w < TILE_LENGTH / 32; w += BLOCK)
        head_bits[w] = 0;
    barrier();
    if (BY_KEYS) {
        mark_keys(first, min(t.count - t.first, TILE_LENGTH));
    } else {
        wide from, to;
        const uint tile = chunk * (p.chunk / TILE_LENGTH) + t.first / TILE_LENGTH;
        places_of(tile, chunk + 1 == p.chunks && t.first + TILE_LENGTH >= t.count, from, to);
        mark_segments(first, from, to);
    }
}

/* The next tile is loaded while one is scanned. An empty input may have segments, but no results. */
void scan_chunk(uint chunk) {
    scan_tile t = chunk_of_groups(chunk);
    record_t run = no_record();
    if (given(p.slots))
        run = read_record(chunk);
    tile_vectors next;
    load_tile(t, next);
    while (t.first < t.count) {
        const tile_vectors now = next;
        scan_tile after = t;
        after.first += TILE_LENGTH;
        mark_heads(t, chunk);
        if (after.first < t.count)
            load_tile(after, next);
        barrier();
        run = scan_groups_of_tile(t, now, run);
        t = after;
    }
}

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

/* The position after that of the last run that begins in KEYS_AHEAD * BLOCK vectors of a chunk, which end at 'end', or 0:
 * of a thread's. */
uint last_run_of_vectors(wide first, uint end) {
    const uint log = log_bytes(INDEX), vector = 16u >> log;
    const address keys_at = plus(p_keys, shifted_up(first, log));
    uvec4 keys[KEYS_AHEAD];
    uvec2 left[KEYS_AHEAD];
    uint last = 0;
    UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
        const uint i = end - (v * BLOCK + THREAD + 1) * vector;
        const uint back = i == 0 && first == wide(0) ? 0 : 1u << log;
        keys[v] = vectors_at(keys_at).vector[i / vector];
        left[v] = load_aligned(minus(plus(keys_at, i << log), back), log);
    }
    UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
        const uint i = end - (v * BLOCK + THREAD + 1) * vector;
        uint bits = i == 0 && first == wide(0) ? 1u : 0u;
        UNROLLED for (uint k = 0; k < vector; k++) {
            const uvec2 key = pick(keys[v], k, log);
            bits |= key != left[v] ? 1u << k : 0;
            left[v] = key;
        }
        last = bits != 0 ? max(last, i + findMSB(bits) + 1) : last;
    }
    return last;
}

/* The same without the number, from the end of the chunk back to that position. A chunk that another follows is whole
 * tiles. Runs that are not short are looked for in vectors. */
shared uint last_head;
wide last_run_only(wide first, uint length) {
    const uint log = log_bytes(INDEX), vectors = KEYS_AHEAD * BLOCK * (16u >> log);
    const bool in_vectors = !REVERSE && (plus(p_keys, shifted_up(first, log)).x & 15u) == 0;
    uint head = 0;
    for (uint end = length; end > 0 && head == 0;) {
        barrier();
        last_head = 0;
        barrier();
        uint last = 0, step = min(end, KEYS_AHEAD * BLOCK);
        if (in_vectors && end < length && end >= vectors) {
            step = vectors;
            last = last_run_of_vectors(first, end);
        } else {
            UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
                const uint back = v * BLOCK + THREAD;
                if (back < end && begins_run(plus(first, end - 1 - back)))
                    last = max(last, end - back);
            }
        }
        if (last != 0)
            atomicMax(last_head, last);
        barrier();
        head = last_head;
        end -= step;
    }
    return head != 0 ? plus(first, head) : wide(0);
}

#if RUNS_MOMENTS
#define TILE_OF_SCAN MOMENTS_TILE
#else
#define TILE_OF_SCAN TILE_LENGTH
#endif

/* The same of segments, of a chunk that another follows. */
wide last_segment(uint chunk, wide first) {
    const uint tiles = p.chunk / (IS_SCAN ? TILE_OF_SCAN : ITEMS * BLOCK); /* of a chunk */
    const wide next = load_wide(p_places, (chunk + 1) * tiles); /* of the offsets, the first that lies behind */
    if (REVERSE ? less(p_segments, next) : next == wide(0))
        return wide(0);
    const wide offset = offset_at(REVERSE ? next : minus(next, 1u)), at = REVERSE ? minus(p.extent, offset) : offset;
    return less(at, first) ? wide(0) : plus(at, 1u);
}

/* The whole workgroup folds elements in order; its first thread receives the result. */
acc_t fold_neighbours(wide first, uint length) {
#if COMMUTES
    return fold_together(first, length);
#else
    return fold_block(fold_stretch(stretch_of(first, length, first), THREAD, BLOCK), 1, BLOCK);
#endif
}

/* Only the elements after the last head of a chunk matter, and of the last chunk none does. */
record_t fold_after_last_head(uint chunk) {
    uint length;
    const wide first = begin_of_chunk(chunk, p.extent, length), end = plus(first, length);
    wide head = wide(0), runs = wide(0);
    if (BY_KEYS && !IS_SCAN)
        head = last_run(first, length, runs);
    if (chunk + 1 == p.chunks)
        return record_t(identity(), head, runs);
    if (BY_KEYS && IS_SCAN)
        head = last_run_only(first, length);
    if (!BY_KEYS)
        head = last_segment(chunk, first);
    const wide begin = head != wide(0) ? minus(head, 1u) : first;
    return record_t(fold_neighbours(REVERSE ? minus(p.extent, end) : begin, minus(end, begin).x), head, runs);
}

void fold_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const record_t sum = fold_after_last_head(chunk);
        if (THREAD == 0)
            write_record(chunk, sum);
    }
}

/* One workgroup turns the chunks' records into the values before each, and checks whether the output has room for all
 * runs. */
void spine_of_groups() {
    begin_kernel();
    if (p_most_short != 0 && CONTROL.any_long == 0) /* nothing was opened (segments.comp) */
        return;
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
        scan_chunk(chunk);
}
