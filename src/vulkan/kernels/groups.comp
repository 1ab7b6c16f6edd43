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

/* ---- the last group of some neighbours ---- */

/* And, if it begins among them, its position in the tile plus 1. */
struct last_group {
    acc_t acc;
    uint head;
};
shared uint shared_notes[BLOCK], team_notes[BLOCK / 8];
last_group join(last_group left, last_group right) {
    return last_group(combine(left.acc, right.acc), left.head);
}
last_group append(last_group left, last_group right) {
    if (right.head != 0)
        return right;
    return join(left, right);
}
/* A group and a count in a note. */
last_group group_of(acc_t acc, uint note) {
    return last_group(acc, note & 0xffffu);
}
uint note_of(last_group g, uint count) {
    return g.head | count << 16;
}
uint note_from_left(uint note, uint d) {
#if SHUFFLES
    if (LANES > 1)
        return subgroupShuffleUp(note, d);
#endif
    barrier();
    shared_notes[THREAD] = note;
    barrier();
    return shared_notes[THREAD - min(d, THREAD)];
}

/* The last group's head of two neighbours, and both counts. */
uint joined(uint left, uint right) {
    const uint head = (right & 0xffffu) != 0 ? right : left;
    return (head & 0xffffu) + (left & 0xffff0000u) + (right & 0xffff0000u);
}

/* The notes of the threads before. */
uint scan_notes(uint note) {
    const uint span = THREAD / SPAN, place = THREAD % SPAN;
    UNROLLED for (uint d = 1; d < SPAN; d *= 2) {
        const uint left = note_from_left(note, d);
        if (place >= d)
            note = joined(left, note);
    }
    uint before = 0;
    const uint left = note_from_left(note, 1);
    barrier();
    if (place == SPAN - 1)
        team_notes[span] = note;
    barrier();
    for (uint k = 0; k < span; k++)
        before = joined(before, team_notes[k]);
    return place > 0 ? joined(before, left) : before;
}

/* That of all threads before, and of *all*, with the counts. As scan_threads(). */
last_group scan_last_groups(last_group own, uint count, out uint count_ahead, out last_group all, out uint all_count) {
    const uint span = THREAD / SPAN, place = THREAD % SPAN;
    uint note = note_of(own, count);
    UNROLLED for (uint d = 1; d < SPAN; d *= 2) {
        const acc_t left = from_left(own.acc, d, SPAN);
        const uint left_note = note_from_left(note, d);
        if (place >= d) {
            if ((note & 0xffffu) == 0)
                own.acc = combine(left, own.acc);
            note = joined(left_note, note);
        }
    }
    const acc_t left = from_left(own.acc, 1, SPAN);
    const uint left_note = note_from_left(note, 1);
    barrier();
    if (place == SPAN - 1) {
        team_slots[span] = own.acc;
        team_notes[span] = note;
    }
    barrier();
    last_group before = last_group(identity(), 0);
    all = before;
    all_count = count_ahead = 0;
    UNROLLED for (uint k = 0; k < BLOCK / SPAN; k++) {
        if (k == span) {
            before = all;
            count_ahead = all_count;
        }
        all = append(all, group_of(team_slots[k], team_notes[k]));
        all_count += team_notes[k] >> 16;
    }
    if (place == 0)
        return before;
    count_ahead += left_note >> 16;
    return append(before, group_of(left, left_note));
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
        own = append(own, last);
    }
    uint count_ahead, count;
    last_group run = scan_last_groups(own, 0, count_ahead, all, count);
    if (run.head == 0)
        run.acc = combine(before.acc, run.acc);
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const uint slot = THREAD * ROWS + v;
        const last_group last = of_slot(slot, heads_of(slot * VECTOR));
        tile_slots[spread(slot)] = run.acc;
        TILE_NOTE(slot) = run.head;
        run = append(run, last);
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

/* Some whole rows, which are groups of a length that is known: the array is taken in vectors wherever a row begins. So
 * the first row may begin in the middle of one. */
scan_tile chunk_of_rows(uint chunk) {
    scan_tile t;
    const wide all = times(p.columns, p.extent), begin = times(times(chunk, p_rows), p.extent);
    const wide length = least(minus(all, begin), times(p.extent, p_rows));
    const uint lead = REVERSE ? min(begin.x - all.x & VECTOR - 1, at_most(begin, VECTOR)) : begin.x & VECTOR - 1;
    t.count = length.x + lead;
    t.before = minus(begin, lead);
    t.number = REVERSE ? minus(minus(all, t.before), t.count) : t.before;
    t.x = element_at(p.x, t.number);
    t.y = element_at(p.y, t.number);
    t.out_at = plus(p.out_at, shifted_up(times(t.number, PER_RESULT), OUT_LOG));
    t.first = 0;
    t.from = lead;
    t.to = t.count;
    t.ahead = at_most(t.number, VECTOR);
    t.behind = at_most(minus(minus(all, t.number), t.count), VECTOR);
    return t;
}
void mark_rows(scan_tile t) {
    const uint extent = p.extent.x, end = min(t.first + TILE_LENGTH, t.count);
    const uint rows = t.first > t.from ? (t.first - t.from + extent - 1) / extent : 0; /* that begin before the tile */
    for (uint at = t.from + (rows + THREAD) * extent; at < end; at += BLOCK * extent)
        atomicOr(head_bits[at - t.first >> 5], 1u << (at - t.first & 31u));
}

/* All threads call this, and meet before they look at the marks. */
void mark_heads(scan_tile t, uint chunk, bool by_rows) {
    const wide first = plus(t.before, t.first);
    barrier(); /* earlier use of the memory */
    for (uint w = THREAD; w < TILE_LENGTH / 32; w += BLOCK)
        head_bits[w] = 0;
    barrier();
    if (by_rows) {
        mark_rows(t);
    } else if (BY_KEYS) {
        mark_keys(first, min(t.count - t.first, TILE_LENGTH));
    } else {
        wide from, to;
        const uint tile = chunk * (p.chunk / TILE_LENGTH) + t.first / TILE_LENGTH;
        places_of(tile, chunk + 1 == p.chunks && t.first + TILE_LENGTH >= t.count, from, to);
        mark_segments(first, from, to);
    }
}

/* The next tile is loaded while one is scanned. An empty input may have segments, but no results. */
void scan_groups_of_chunk(scan_tile t, uint chunk, record_t run, bool by_rows) {
    tile_vectors next;
    load_tile(t, next);
    while (t.first < t.count) {
        const tile_vectors now = next;
        scan_tile after = t;
        after.first += TILE_LENGTH;
        mark_heads(t, chunk, by_rows);
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
        load_keys(keys_at, at, back, keys, left);
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            const uint bits = heads_among(keys[v], left[v], at + v * BLOCK + THREAD == 0 && back == 0);
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
        const uint bits = heads_among(keys[v], left[v], i == 0 && first == wide(0));
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
    if (!BY_KEYS && CONTROL.refused != 0)
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
    if (THREAD != 0)
        return;
    CONTROL.runs = all_runs;
    if (BY_KEYS) { /* nobody looked at these before */
        CONTROL.not_bad = CONTROL.not_empty = 0;
        CONTROL.refused = !IS_SCAN && less(p_room, all_runs) ? REFUSED_RUNS : 0;
    }
}

void give_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        record_t run = no_record();
        if (given(p.slots))
            run = read_record(chunk);
        scan_groups_of_chunk(chunk_of_groups(chunk), chunk, run, false);
    }
}

/* Scans of rows, for which no other pass is needed. */
void give_rows() {
    begin_kernel();
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count())
        scan_groups_of_chunk(chunk_of_rows(chunk), chunk, no_record(), true);
}
