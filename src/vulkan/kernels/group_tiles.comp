/* Tiles of elements in groups, of scans and of reductions. A thread has ITEMS neighbours in registers, and a bit for each
 * that begins a group (groups.comp). It folds those from its last such bit on to a part. The threads' parts are scanned. Then
 * the thread goes through its elements once more, from the part before them on. Places in a tile count from 1. */

/* ---- parts ---- */

/* Elements of a group before a place. The group begins at 'head' or, if that is 0, before the tile; then it has 'ahead'
 * elements, and one, before place 1. */
wide since(uint place, uint head, wide ahead) {
    return plus(mix(ahead, wide(0u - head, ~0u), bvec2(head != 0)), place);
}

/* A part is what a thread has of one group in a tile: an accumulator, or less. Of argmin and argmax, a value and a place.
 * Elements come in order, so of equal ones the first stays. */
#if PART_KIND == PLACES
const uint NO_PLACE = ~0u; /* that of an element before the tile is 0 */
#define run_t                       part_t
#define ITEM_OF(x, y, number, place) part_t(value_of_bits(x), place)
part_t no_part() {
    return part_t(identity().a0, NO_PLACE);
}
part_t join(part_t a, part_t b) {
    return chosen(a.a1 == NO_PLACE || goes_before(b.a0, a.a0), b, a);
}
part_t carried_part(acc_t before) {
    return part_t(before.a0, before.a1 == NO_INDEX ? NO_PLACE : 0u);
}
/* The accumulator of a part in a tile that begins at 'first'. The part may go on from 'before', the accumulator before
 * the tile. */
acc_t whole(part_t part, bool goes_on, acc_t before, wide first) {
    const wide index = mix(plus(first, part.a1 - 1), before.a1, bvec2(part.a1 == 0));
    return acc_t(part.a0, mix(index, NO_INDEX, bvec2(part.a1 == NO_PLACE)));
}
/* The same with an index in the group, as since() has it. */
acc_t in_group(part_t part, uint head, record_t before, wide ahead) {
    const wide back = minus(before.acc.a1, minus(before.head, 1u));
    const wide index = mix(since(part.a1, head, ahead), back, bvec2(part.a1 == 0));
    return acc_t(part.a0, mix(index, NO_INDEX, bvec2(part.a1 == NO_PLACE)));
}
/* A count takes 32 bits. */
#elif PART_KIND == COUNTS
#define run_t                       part_t
#define ITEM_OF(x, y, number, place) part_t(is_nonzero(value_of_bits(x)))
part_t no_part() {
    return part_t(0u);
}
part_t join(part_t a, part_t b) {
    return part_t(a.a0 + b.a0);
}
part_t carried_part(acc_t before) {
    return part_t(0u);
}
acc_t whole(part_t part, bool goes_on, acc_t before, wide first) {
    return acc_t((goes_on ? before.a0 : uint64_t(0)) + part.a0);
}
#define in_group(part, head, before, ahead) whole(part, head == 0, before.acc, ahead)
#else
#define part_t                      acc_t
#define run_t                       lane_t
#define ITEM_OF(x, y, number, place) lift_bits(x, y, number)
#define no_part                     identity
#define join(a, b)                  combine(a, b)
#define carried_part(before)        (before)
#define whole(part, goes_on, before, first) (part)
#define in_group(part, head, before, ahead) (part)
#endif
/* 'run': a thread's elements from its last head on; 'item': one of them. */
#if PART_KIND != ACCUMULATORS
#define item_t                      part_t
#define part_of(run)                (run)
#define part_of_item(item)          (item)
#define begun(item)                 (item)
#define continued(run, item)        join(run, item)
#define shared_parts                staged
shared part_t staged[STAGED_SLOTS * BLOCK], team_parts[BLOCK / 8];
#else
#define item_t                      lifted_t
#define part_of(run)                widen(run)
#define part_of_item(item)          acc_of(item)
#define begun(item)                 lane_of(item)
#define continued(run, item)        added(run, item)
#define staged                      tile_slots
#define team_parts                  team_slots
#endif
#if IS_LONG
#define CHOOSE(to, condition, a)                                                                                       \
    if (condition)                                                                                                     \
        to = a;
#define EACH_ITEM(STEP)                                                                                                \
    for (uint k = 0; k < lie.items; k++) {                                                                                             \
        STEP(k)                                                                                                        \
    }
#else
#define CHOOSE(to, condition, a) to = chosen(condition, a, to);
#define EACH_ITEM(STEP)                                                                                                \
    UNROLLED for (uint k = 0; k < lie.items; k++) {                                                                    \
        STEP(k)                                                                                                        \
    }
#endif

part_t part_from_left(part_t part, uint d) {
#if PART_KIND == ACCUMULATORS
    return from_left(part, d, SPAN);
#else
#if SHUFFLES
    if (LANES > 1)
        return part_shuffled_up(part, d);
#endif
    barrier();
    shared_parts[THREAD] = part;
    barrier();
    return shared_parts[THREAD - min(d, THREAD)];
#endif
}

/* The part of a group in some threads; the place where it begins in the tile, plus 1, or 0: before them; and how many
 * groups begin in them. */
struct tile_part {
    part_t part;
    uint head, count;
};

/* Of the threads before, and of *all*. */
tile_part scan_parts(tile_part own, out tile_part all) {
    const uint span = THREAD / SPAN, place = THREAD % SPAN;
    part_t part = own.part;
    uint note = own.head | own.count << 16;
    UNROLLED for (uint d = 1; d < SPAN; d *= 2) {
        const part_t left = part_from_left(part, d);
        const uint left_note = note_from_left(note, d);
        CHOOSE(part, place >= d && (note & 0xffffu) == 0, join(left, part))
        note = mix(note, joined(left_note, note), place >= d);
    }
    const part_t left = part_from_left(part, 1);
    const uint left_note = note_from_left(note, 1);
    barrier();
    if (place == SPAN - 1) {
        team_parts[span] = part;
        team_notes[span] = note;
    }
    barrier();
    tile_part before = tile_part(no_part(), 0, 0);
    part_t run = no_part();
    uint run_note = 0;
    UNROLLED for (uint k = 0; k < BLOCK / SPAN; k++) {
        if (k == span)
            before = tile_part(run, run_note & 0xffffu, run_note >> 16);
        const part_t team = team_parts[k];
        const uint team_note = team_notes[k];
        run = join(run, team);
        CHOOSE(run, (team_note & 0xffffu) != 0, team)
        run_note = joined(run_note, team_note);
    }
    all = tile_part(run, run_note & 0xffffu, run_note >> 16);
    if (place > 0) {
        before.part = join(before.part, left);
        CHOOSE(before.part, (left_note & 0xffffu) != 0, left)
        before.head = max(before.head, left_note & 0xffffu);
        before.count += left_note >> 16;
    }
    return before;
}

/* ---- a thread's elements ---- */

#define ITEM_VECTORS (ITEMS / VECTOR)
#define FIRST_ITEM   (THREAD * ITEMS)
/* How a thread's elements lie in its vectors. A constant of each function, since a question costs words of the module. */
struct item_layout {
    uint items, first; /* a thread's, and the number of the first one in the tile */
    uint log, mask;    /* bytes of an element, and the bits of a word that it has */
    uint flip;         /* element k is in place k ^ flip in memory: their number is a power of two */
};
item_layout layout_of_items() {
    const uint log = IN_LOG, items = ITEMS;
    return item_layout(items, THREAD * items, log, log >= 2 ? ~0u : (256u << 8 * log) - 1u, REVERSE ? items - 1 : 0);
}
/* Without a copy of the vectors, which a driver might keep in memory. */
#define ITEM_AT(k)      (((k) ^ lie.flip) << lie.log)
#define ITEM_BITS(x, k)                                                                                                \
    uvec2(x[ITEM_AT(k) >> 4][ITEM_AT(k) >> 2 & 3u] >> 8 * (ITEM_AT(k) & 3u) & lie.mask,                                \
          lie.log == 3 ? x[ITEM_AT(k) >> 4][ITEM_AT(k) >> 2 & 3u | 1u] : 0u)

#define ITEM(in_tile, k)                                                                                               \
    ITEM_OF(ITEM_BITS(in_tile.x, k), TWO_INPUTS ? ITEM_BITS(in_tile.y, k) : uvec2(0),                                  \
            plus(in_tile.number, (k) ^ lie.flip), lie.first + (k) + 1)

struct tile_items {
    uvec4 x[MOST_ITEMS / 4], y[MOST_ITEMS / 4];
    wide number; /* of the first one in memory */
    uint heads;  /* a bit for each that begins a group */
};

/* Nothing must come between the loads of whole tiles. */
void load_items(scan_tile t, address array, out uvec4 x[MOST_ITEMS / 4]) {
    const uint at = t.first + FIRST_ITEM;
    const address from = element_at(array, REVERSE ? t.count - at - ITEMS : at);
    if (t.first + GROUP_TILE <= t.count && (from.x & 15u) == 0) {
        UNROLLED_LANES for (uint v = 0; v < ITEM_VECTORS; v++)
            x[v] = vectors_at(from).vector[v];
    } else if (ANYWHERE && is_inside(t, GROUP_TILE)) {
        vectors_at aligned = vectors_at(address(from.x & ~15u, from.y));
        uvec4 low = aligned.vector[0];
        UNROLLED_LANES for (uint v = 0; v < ITEM_VECTORS; v++) {
            const uvec4 high = aligned.vector[v + 1];
            x[v] = straddling(low, high, from.x & 15u);
            low = high;
        }
    } else {
        UNROLLED_LANES for (uint v = 0; v < ITEM_VECTORS; v++)
            x[v] = load_there(t, array, at + (REVERSE ? ITEM_VECTORS - 1 - v : v) * VECTOR);
    }
}
void load_tile_items(scan_tile t, out tile_items items) {
    const uint at = t.first + FIRST_ITEM;
    items.number = plus(t.number, REVERSE ? t.count - at - ITEMS : at);
    load_items(t, t.x, items.x);
    if (TWO_INPUTS)
        load_items(t, t.y, items.y);
}

uint heads_of_items(scan_tile t) {
    const uint at = t.first + FIRST_ITEM;
    const wide position = plus(t.before, at);
    return at < t.count ? head_word(position) >> (position.x & 31u) & (1u << ITEMS) - 1u : 0;
}
/* A row begins at most once among a thread's elements, as rows are longer. */
uint heads_of_rows(scan_tile t) {
    const uint at = t.first + FIRST_ITEM, extent = p.extent.x;
    const uint rest = at < t.from ? 0 : (at - t.from) % extent;
    const uint head = at < t.from ? t.from - at : rest == 0 ? 0 : extent - rest;
    return head < ITEMS ? 1u << head : 0;
}

/* All threads call this. */
#define FOLD_ITEM(k)                                                                                                   \
    {                                                                                                                  \
        const item_t item = ITEM(items, k);                                                                            \
        run = continued(run, item);                                                                                    \
        CHOOSE(run, (items.heads >> (k) & 1u) != 0, begun(item))                                                       \
    }
run_t no_run() {
#if PART_KIND == ACCUMULATORS
    return lane_identity();
#else
    return no_part();
#endif
}
tile_part scan_tile_parts(tile_items items, acc_t carried, out tile_part all) {
    const item_layout lie = layout_of_items();
    run_t run = no_run();
    EACH_ITEM(FOLD_ITEM)
    const uint head = items.heads != 0 ? lie.first + findMSB(items.heads) + 1 : 0;
    tile_part before = scan_parts(tile_part(part_of(run), head, bitCount(items.heads)), all);
    if (before.head == 0)
        before.part = join(carried_part(carried), before.part);
    return before;
}

/* After a tile that begins at 'first'. */
record_t after_tile_of(tile_part all, wide first, record_t before) {
    const wide runs = plus(before.runs, all.count);
    if (all.head != 0)
        return record_t(whole(all.part, false, before.acc, first), plus(first, all.head), runs);
    return record_t(whole(join(carried_part(before.acc), all.part), true, before.acc, first), before.head, runs);
}

/* ---- scans ---- */

/* Gathers results in memory's order, of 'bytes' each, and stores each vector that is whole; as give_vector(). */
void put_result(item_layout lie, uint bytes, uint k, result_t r, address out_at, bool exchanging, inout uvec4 words,
                inout uvec4 first_words, inout uvec4 last_words) {
    const uint place = (k ^ lie.flip) * bytes, byte = place & 15u;
    gather(words, byte, r.first);
    if (PER_RESULT == 2)
        gather(words, byte + bytes / 2, r.second);
    if ((k + 1) * bytes % 16 == 0) {
        const address to = plus(out_at, place & ~15u);
        if (!ANYWHERE)
            vectors_at(out_at).vector[place >> 4] = words;
        else if (!exchanging)
            store_results(to, words);
        else if (place < 16)
            first_words = words;
        else
            vectors_at(address(to.x & ~15u, to.y)).vector[0] = straddling(last_words, words, 16 - (to.x & 15u));
        if (ANYWHERE)
            last_words = words;
        words = uvec4(0);
    }
}

/* The result of the element at a place of the tile, whose group begins at 'head'. */
result_t result_of(record_t before, part_t run, uint place, uint head, wide ahead) {
    return lower(in_group(run, head, before, ahead), since(place + (INCLUSIVE ? 1 : 0), head, ahead), wide(0));
}

/* Results that are not all stored, one by one. */
void give_singly(item_layout lie, scan_tile t, record_t before, wide ahead, part_t base, part_t run, uint head,
                 uint heads) {
    for (uint k = 0; k < lie.items; k++) {
        const uint logical = t.first + lie.first + k, place = lie.first + k + 1;
        if (logical >= t.count)
            return;
        const uint i = physical(t, logical);
        const uvec2 bits = load_bits(element_at(t.x, i), lie.log);
        const item_t item = ITEM_OF(bits, load_partner(element_at(t.y, i)), plus(t.number, i), place);
        if ((heads >> k & 1u) != 0) {
            run = base;
            head = place;
        }
        const part_t next = join(run, part_of_item(item));
        if (INCLUSIVE)
            run = next;
        if (logical >= t.from && logical < t.to)
            store_result(t.out_at, wide_of(i), result_of(before, run, place, head, ahead));
        run = next;
    }
}

bool are_stored(scan_tile t, uint logical, uint items) {
    return logical >= t.from && logical + items <= t.to;
}

#define GIVE_ITEM(k)                                                                                                   \
    {                                                                                                                  \
        const bool begins = (items.heads >> (k) & 1u) != 0;                                                            \
        CHOOSE(run, begins, base)                                                                                      \
        head = mix(head, lie.first + (k) + 1, begins);                                                                 \
        const part_t next = join(run, part_of_item(ITEM(items, k)));                                                   \
        if (is_inclusive)                                                                                              \
            run = next;                                                                                                \
        put_result(lie, bytes, k, result_of(before, run, lie.first + (k) + 1, head, before_tile), out_at, exchanging,  \
                   words, first_words, last_words);                                                                    \
        run = next;                                                                                                    \
    }

record_t scan_items(scan_tile t, tile_items items, record_t before) {
    tile_part all;
    const tile_part ahead = scan_tile_parts(items, before.acc, all);
    part_t base = no_part(), run = ahead.part;
#if PART_KIND == ACCUMULATORS
    if (has_base()) {
        base = base_of(wide(0));
        run = combine(base, run);
    }
#endif
    const item_layout lie = layout_of_items();
    const uint logical = t.first + lie.first, bytes = RESULT, all_bytes = bytes * lie.items;
    const bool is_inclusive = INCLUSIVE, is_whole = are_stored(t, logical, lie.items);
    const wide first = plus(t.before, t.first), before_tile = minus(first, before.head);
    const address out_at = plus(t.out_at, (REVERSE ? t.count - logical - lie.items : logical) * bytes);
    const bool exchanging = ANYWHERE && !REVERSE && all_bytes >= 16 && (t.out_at.x & 15u) != 0;
    uint head = ahead.head;
    uvec4 words = uvec4(0), first_words = words, last_words = words, left = words;
    if (is_whole && (ANYWHERE || all_bytes < 16 || (out_at.x & 15u) == 0)) {
        EACH_ITEM(GIVE_ITEM)
        if (all_bytes < 16)
            store_bytes(out_at, words, all_bytes);
    } else {
        give_singly(lie, t, before, before_tile, base, run, head, items.heads);
    }
    if (ANYWHERE && exchanging)
        exchange(out_at, all_bytes, is_whole, THREAD > 0 && are_stored(t, logical - lie.items, lie.items),
                 THREAD + 1 < BLOCK && are_stored(t, logical + lie.items, lie.items), first_words, last_words, left);
    return after_tile_of(all, first, before);
}

/* The next tile is loaded while one is scanned. So in the first turn none is, and the load stands once in the text. */
void scan_chunk(scan_tile next, record_t run, bool by_rows) {
    tile_items items, loaded;
    scan_tile t = next;
    for (bool is_first = true; t.first < t.count || is_first; is_first = false) {
        if (next.first < next.count) {
            load_tile_items(next, loaded);
            loaded.heads = by_rows ? heads_of_rows(next) : heads_of_items(next);
        }
        if (!is_first)
            run = scan_items(t, items, run);
        items = loaded;
        t = next;
        next.first += GROUP_TILE;
    }
}
void give_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count())
        scan_chunk(chunk_of_groups(chunk), read_record(chunk), false);
}

/* Scans of rows, for which no other pass is needed. */
void give_rows() {
    begin_kernel();
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count())
        scan_chunk(chunk_of_rows(chunk), no_record(), true);
}
