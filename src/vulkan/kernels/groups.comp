/* Scans by segments and by keys, and reductions by keys: three passes. The first sets a bit for each element that begins a
 * group, and finds each chunk's record: the accumulator of its last group, the position where that group begins, and how
 * many begin. The records are scanned. Then each chunk goes on from the value before it, tile by tile (group_tiles.comp,
 * runs.comp). Positions are logical: reverse scans count from the end. */
struct record_t {
    acc_t acc; /* of the last group */
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

/* ---- notes of threads ---- */

/* A note has the place in a tile where the last group of some threads begins, plus 1, or 0; from bit 16 on, how many begin
 * in them. */
shared uint shared_notes[BLOCK], team_notes[BLOCK / 8];
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

/* Of neighbours: places rise. */
uint joined(uint left, uint right) {
    return max(left & 0xffffu, right & 0xffffu) + (left & 0xffff0000u) + (right & 0xffff0000u);
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
/* A bit for each element that begins a group, after the records. */
#define HEAD_WORDS plus(p.slots, times(p.chunks, RECORD_BYTES))
address head_word_at(wide position) {
    return plus(HEAD_WORDS, shifted_up(shifted_down(position, 5), 2));
}
uint head_word(wide position) {
    return load_word(head_word_at(position));
}

/* Sets the bits of a chunk, for the passes after this one. Returns the position of the last one that is 1, plus 1, or 0, and
 * their number. All threads call this. */
wide mark_chunk(uint chunk, wide first, uint length, out wide runs) {
    uint heads = 0, last = 0; /* a place in the chunk */
    const uint tiles = p.chunk / GROUP_TILE;
    for (uint at = 0; at < length; at += MARKED) {
        const wide begin = plus(first, at);
        const uint count = min(length - at, MARKED), words = (count + 31) / 32;
        barrier(); /* earlier use of the memory */
        for (uint w = THREAD; w < words; w += BLOCK)
            head_bits[w] = 0;
        barrier();
        if (BY_KEYS) {
            mark_keys(begin, count);
        } else {
            wide from, to;
            places_of(chunk * tiles + at / GROUP_TILE, chunk * tiles + min(at + MARKED, p.chunk) / GROUP_TILE,
                      chunk + 1 == p.chunks && at + MARKED >= length, from, to);
            mark_segments(begin, count, from, to);
        }
        barrier();
        for (uint w = THREAD; w < words; w += BLOCK) {
            const uint bits = head_bits[w];
            words_at(head_word_at(plus(begin, 32 * w))).word[0] = bits;
            heads += bitCount(bits);
            last = bits != 0 ? at + 32 * w + findMSB(bits) + 1 : last;
        }
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
    return fold_block(fold_stretch(stretch_of(first, length, first), THREAD, BLOCK), 1, BLOCK);
#endif
}

/* Only the elements after the last head of a chunk matter, and of the last chunk none does. */
record_t fold_after_last_head(uint chunk) {
    uint length;
    wide runs;
    const wide first = begin_of_chunk(chunk, p.extent, length), end = plus(first, length);
    const wide head = mark_chunk(chunk, first, length, runs);
    if (chunk + 1 == p.chunks)
        return record_t(identity(), head, runs);
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
