/* Scans by segments and by keys, and what reductions share with them: three passes. A chunk's record tells what its last
 * group comes to, where that begins, and how many runs of keys do; the records are scanned; then each chunk is scanned
 * from what came before it, or, of a reduction, done by runs.comp. Positions are logical: reverse scans count from the
 * end. */
struct record_t {
    acc_t acc;     /* of the last group */
    uint64_t head; /* where it begins, and 1; 0: before all that was seen */
    uint64_t runs; /* groups that begin */
};
layout(buffer_reference, std430, buffer_reference_align = RECORD_ALIGNMENT) buffer record_slot {
    record_t value;
};
record_t read_record(uint64_t i) {
    return record_slot(p.slots + i * RECORD_BYTES).value;
}
void write_record(uint64_t i, record_t value) {
    record_slot(p.slots + i * RECORD_BYTES).value = value;
}
record_t no_record() {
    return record_t(identity(), 0, 0);
}
record_t append(record_t left, record_t right) {
    if (right.head != 0)
        return record_t(right.acc, right.head, left.runs + right.runs);
    return record_t(combine(left.acc, right.acc), left.head, left.runs);
}

shared uint64_t shared_heads[BLOCK];
shared uint head_bits[TILE_SLOTS * BLOCK / 32];

/* What the threads before have, appended; and what *all* have. 'runs' are left out. */
record_t scan_records(record_t own, out record_t all) {
    barrier();
    shared_slots[THREAD] = own.acc;
    shared_heads[THREAD] = own.head;
    for (uint d = 1; d < BLOCK; d *= 2) {
        barrier();
        record_t left = no_record();
        if (THREAD >= d)
            left = record_t(shared_slots[THREAD - d], shared_heads[THREAD - d], 0);
        barrier();
        if (THREAD >= d) {
            own = append(left, own);
            shared_slots[THREAD] = own.acc;
            shared_heads[THREAD] = own.head;
        }
    }
    barrier();
    all = record_t(shared_slots[BLOCK - 1], shared_heads[BLOCK - 1], 0);
    return THREAD > 0 ? record_t(shared_slots[THREAD - 1], shared_heads[THREAD - 1], 0) : no_record();
}

uint64_t sum_before(uint64_t own, out uint64_t all) {
    barrier();
    shared_heads[THREAD] = own;
    for (uint d = 1; d < BLOCK; d *= 2) {
        barrier();
        const uint64_t left = THREAD >= d ? shared_heads[THREAD - d] : uint64_t(0);
        barrier();
        own += left;
        shared_heads[THREAD] = own;
    }
    barrier();
    all = shared_heads[BLOCK - 1];
    return THREAD > 0 ? shared_heads[THREAD - 1] : uint64_t(0);
}

/* ---- a tile ---- */

const uint TILE = TILE_SLOTS * BLOCK;
#define ROOM     p.columns /* results that the output takes, by keys */
#define KEYS_OUT p.carry

uint64_t element_of(uint64_t logical) {
    return REVERSE ? p.extent - 1 - logical : logical;
}
uvec2 key_at(uint64_t logical) {
    const uint log = log_bytes(INDEX);
    return load_bits(p.index + (element_of(logical) << log), log);
}
bool begins_run(uint64_t logical) {
    return logical == 0 || key_at(logical) != key_at(logical - 1);
}

/* The offsets that may lie in a tile: [from, to). */
void places_of(uint64_t tile, uint64_t tiles, out uint64_t from, out uint64_t to) {
    const uint64_t here = u64_of(load_bits(PLACES + tile * 8, 3));
    const bool last = tile + 1 == tiles;
    const uint64_t next = last ? uint64_t(0) : u64_of(load_bits(PLACES + tile * 8 + 8, 3));
    from = REVERSE ? next : here;
    to = REVERSE ? here : last ? SEGMENTS + 1 : next;
}

/* Elements and heads into shared memory. */
void fill_tile(uint64_t first, uint64_t from, uint64_t to) {
    barrier(); /* earlier use of the memory */
    for (uint w = THREAD; w < TILE / 32; w += BLOCK)
        head_bits[w] = 0;
    barrier();
    for (uint v = 0; v < TILE_SLOTS; v++) {
        const uint i = v * BLOCK + THREAD;
        const uint64_t logical = first + i, at = element_of(logical);
        if (logical < p.extent) {
            const uvec2 bits = load_bits(p.x + (at << IN_LOG), IN_LOG);
            tile_slots[i] = widen(lift_bits(bits, partner_at(p.y, at << IN_LOG), at));
            if (BY_KEYS && begins_run(logical))
                atomicOr(head_bits[i >> 5], 1u << (i & 31u));
        } else {
            tile_slots[i] = identity();
        }
    }
    for (uint64_t e = from + THREAD; e < to; e += BLOCK) {
        const uint64_t offset = offset_at(e), local = (REVERSE ? p.extent - offset : offset) - first;
        if (local < TILE)
            atomicOr(head_bits[uint(local) >> 5], 1u << (uint(local) & 31u));
    }
    barrier();
}

bool is_head(uint i) {
    return (head_bits[i >> 5] >> (i & 31u) & 1u) != 0;
}

/* Makes each slot what its group comes to up to it, with what came before the tile. */
record_t scan_tile_slots(uint64_t first, record_t before) {
    const uint begin = THREAD * TILE_SLOTS;
    record_t own = no_record(), all;
    uint until_head = TILE_SLOTS;
    for (uint k = 0; k < TILE_SLOTS; k++) {
        const uint i = begin + k;
        if (is_head(i)) {
            own.head = first + i + 1;
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

/* Where the group of element i of the tile begins, logical. */
uint64_t start_of(uint64_t first, uint i, uint64_t head_before) {
    uint word = i >> 5, bits = head_bits[word] & (~0u >> (31u - (i & 31u)));
    while (bits == 0 && word > 0)
        bits = head_bits[--word];
    return bits != 0 ? first + 32 * word + findMSB(bits) : head_before - 1;
}
void give_scan(uint64_t first, record_t before, uint64_t first_inside, uint64_t end_inside) {
    for (uint v = 0; v < TILE_SLOTS; v++) {
        const uint i = v * BLOCK + THREAD;
        const uint64_t logical = first + i, at = element_of(logical);
        if (logical >= p.extent || at < first_inside || at >= end_inside)
            continue;
        acc_t acc = tile_slots[i];
        if (!INCLUSIVE)
            acc = is_head(i) ? identity() : i > 0 ? tile_slots[i - 1] : before.acc;
        if (p.initial != 0)
            acc = combine(base_of(0), acc);
        const uint64_t start = start_of(first, i, before.head);
        store_result(p.out_at, at, lower(acc, logical - start + (INCLUSIVE ? 1 : 0), start));
    }
}

/* ---- passes ---- */

/* Over the tiles of a chunk, giving results if 'gives'. */
record_t pass_over(uint64_t chunk, record_t before, bool gives) {
    const uint64_t tiles = (p.extent + TILE - 1) / TILE, end = min((chunk + 1) * p.chunk, p.extent);
    const bool by_segments = !BY_KEYS;
    const uint64_t first_inside = by_segments ? offset_at(0) : uint64_t(0);
    const uint64_t end_inside = by_segments ? offset_at(SEGMENTS) : p.extent;
    /* one tile at least: an input of nothing may have segments */
    for (uint64_t first = chunk * p.chunk; first < end || first == 0; first += TILE) {
        uint64_t from = 0, to = 0;
        if (by_segments)
            places_of(first / TILE, max(tiles, uint64_t(1)), from, to);
        fill_tile(first, from, to);
        const record_t after = scan_tile_slots(first, before);
        if (gives)
            give_scan(first, before, first_inside, end_inside);
        before = after;
    }
    return before;
}

const uint KEYS_AHEAD = 4; /* vectors of keys that a thread has on their way */

/* Where the last run of keys in a chunk begins, and 1, or 0; and how many do. All threads. */
uint64_t last_run(uint64_t first, uint64_t end, out uint64_t runs) {
    const uint log = log_bytes(INDEX), vector = 16u >> log, step = KEYS_AHEAD * BLOCK * vector;
    uint64_t heads = 0, last = 0, at = first;
    for (; at + step <= end; at += step) {
        uvec4 keys[KEYS_AHEAD];
        uvec2 left[KEYS_AHEAD];
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            const uint64_t i = at + (v * BLOCK + THREAD) * vector;
            keys[v] = load_vector(p.index + (i << log));
            left[v] = i > 0 ? key_at(i - 1) : ~pick(keys[v], 0, log);
        }
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            uint bits = 0;
            UNROLLED for (uint k = 0; k < vector; k++) {
                const uvec2 key = pick(keys[v], k, log);
                bits |= key != left[v] ? 1u << k : 0;
                left[v] = key;
            }
            heads += bitCount(bits);
            last = bits != 0 ? at + (v * BLOCK + THREAD) * vector + findMSB(bits) + 1 : last;
        }
    }
    for (at += THREAD; at < end; at += BLOCK)
        if (begins_run(at)) {
            heads++;
            last = at + 1;
        }
    sum_before(heads, runs);
    barrier();
    shared_heads[THREAD] = last;
    for (uint d = BLOCK / 2; d > 0; d /= 2) {
        barrier();
        if (THREAD < d)
            shared_heads[THREAD] = max(shared_heads[THREAD], shared_heads[THREAD + d]);
    }
    barrier();
    return shared_heads[0];
}

/* Elements in their order, by the whole workgroup; its first thread receives what they come to. */
acc_t fold_neighbours(uint64_t begin, uint64_t end) {
#if COMMUTES
    return fold_together(begin, end);
#else
    return fold_block(fold_rows(stretch(p.x, p.y, begin, end, 0), THREAD, BLOCK), 1, BLOCK);
#endif
}

/* What matters of a chunk is what lies after the last head in it. */
record_t fold_after_last_head(uint64_t chunk) {
    const uint64_t first = chunk * p.chunk, end = min(first + p.chunk, p.extent);
    uint64_t head = 0, runs = 0;
    if (BY_KEYS) {
        head = last_run(first, end, runs);
    } else {
        const uint64_t next = search(end, false), offset = next > 0 ? offset_at(next - 1) : uint64_t(0);
        head = next > 0 && offset >= first ? offset + 1 : 0;
    }
    return record_t(fold_neighbours(head != 0 ? head - 1 : first, end), head, runs);
}

void fold_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint64_t chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const record_t sum = REVERSE ? pass_over(chunk, no_record(), false) : fold_after_last_head(chunk);
        if (THREAD == 0)
            write_record(chunk, sum);
    }
}

/* One workgroup: from the chunks' records to what comes before each. Looks whether the output takes all runs. */
void spine_of_groups() {
    begin_kernel();
    const uint64_t each = (p.chunks + BLOCK - 1) / BLOCK;
    const uint64_t first = min(THREAD * each, p.chunks), end = min(first + each, p.chunks);
    record_t own = no_record(), all;
    for (uint64_t c = first; c < end; c++)
        own = append(own, read_record(c));
    uint64_t all_runs;
    const uint64_t runs = sum_before(own.runs, all_runs);
    record_t run = scan_records(own, all);
    run.runs = runs;
    for (uint64_t c = first; c < end; c++) {
        const record_t chunk = read_record(c);
        write_record(c, run);
        run = append(run, chunk);
    }
    if (THREAD == 0) {
        CONTROL.runs = all_runs;
        if (!IS_SCAN && BY_KEYS && all_runs > ROOM)
            atomicOr(CONTROL.refused, REFUSED_RUNS);
    }
}

void give_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint64_t chunk = group_number(); chunk < p.chunks; chunk += group_count())
        pass_over(chunk, p.slots != 0 ? read_record(chunk) : no_record(), true);
}
