/* Reductions by labels: these kernels sort the elements by label, without changing the order of equal ones, so that each
 * group is a segment (vulkan/labels.c). They do not depend on the monoid. A pass sorts by one digit of the labels, from
 * the lowest to the highest: workgroups count the digits of their chunks, the counts become places, and the chunks are
 * moved. A workgroup first sorts each tile in shared memory, so that it stores neighbouring elements together. */
const uint DIGITS = 256, SORT_ITEMS = 8;
const uint MASKS = BLOCK / 32; /* words with a bit a thread */
const uint SORT_TILE = BLOCK * SORT_ITEMS;

/* Elements of fewer than 4 bytes are sorted as words. */
#define SORTED_LOG max(IN_LOG, 2u)
#define IS_FIRST_PASS (p_shift == 0)

uint digit_of(uint label) {
    return label >> p_shift & DIGITS - 1u;
}

/* A label that is out of range becomes a number that is sorted with the others. */
uint label_at(wide i, out bool is_bad) {
    is_bad = false;
    if (!IS_FIRST_PASS)
        return load_word(plus(p_labels, shifted_up(i, 2)));
    const uint log = log_bytes(INDEX);
    const wide label = extend(load_bits(plus(p_labels, shifted_up(i, log)), log), INDEX);
    is_bad = !less(label, p_segments);
    return !is_bad ? label.x : (p_moves & SKIPS_BAD) != 0 ? p_segments.x : 0;
}

/* Elements that an array of sorted ones has room for. Labels, x, y and indices follow each other. */
wide sorted_room() {
    return shifted_up(shifted_down(plus(p.extent, 63u), 6), 6);
}

/* ---- counting ---- */

/* In the workspace, of 64 bits each: the counts of the digits' chunks, DIGITS x chunks; their totals, and one more; the
 * first bad label of a chunk, if it has one. */
address totals() {
    return plus(p_digits, shifted_up(times(DIGITS, p.chunks), 3));
}
address first_bad_ones() {
    return plus(totals(), 8 * (DIGITS + 1));
}

shared uint digit_counts[DIGITS];
shared uint chunk_bad;

/* Also looks for labels that are out of range. */
void count_digits() {
    begin_kernel();
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        uint length, first_bad = ~0u;
        const wide begin = begin_of_chunk(chunk, p.extent, length);
        for (uint d = THREAD; d < DIGITS; d += BLOCK)
            digit_counts[d] = 0;
        if (THREAD == 0)
            chunk_bad = ~0u;
        barrier();
        for (uint first = THREAD; first < length; first += SORT_TILE) {
            uint label[SORT_ITEMS];
            [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++) {
                const uint i = first + j * BLOCK;
                bool is_bad = false;
                if (i < length)
                    label[j] = label_at(plus(begin, i), is_bad);
                if (is_bad)
                    first_bad = min(first_bad, i);
            }
            [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++)
                if (first + j * BLOCK < length)
                    atomicAdd(digit_counts[digit_of(label[j])], 1u);
        }
        if (first_bad != ~0u && (p_moves & SKIPS_BAD) == 0)
            atomicMin(chunk_bad, first_bad);
        barrier();
        for (uint d = THREAD; d < DIGITS; d += BLOCK)
            store_bits(plus(p_digits, shifted_up(plus(times(d, p.chunks), chunk), 3)), 3, wide_of(digit_counts[d]));
        if (THREAD == 0 && chunk_bad != ~0u) {
            store_wide(first_bad_ones(), chunk, wide_of(chunk_bad));
            atomicOr(CONTROL.refused, REFUSED_BAD);
            atomicMax(CONTROL.not_bad, ~chunk);
        }
        barrier();
    }
}

/* ---- counts to places ---- */

shared wide thread_sums[BLOCK];

/* The sum of what the threads before have, and of *all*. */
wide counts_before(wide own, out wide all) {
    wide up_to = own;
    barrier();
    thread_sums[THREAD] = up_to;
    barrier();
    for (uint d = 1; d < BLOCK; d *= 2) {
        const wide left = THREAD >= d ? thread_sums[THREAD - d] : wide(0);
        barrier();
        up_to = plus(up_to, left);
        thread_sums[THREAD] = up_to;
        barrier();
    }
    all = thread_sums[BLOCK - 1];
    return minus(up_to, own);
}

/* A workgroup for each of 'panels' rows of 'chunks' numbers, which become the sums of those before them. The rows' totals
 * follow the rows. Also finds the first bad label of all. */
void place_digits() {
    begin_kernel();
    if (group_number() == 0 && THREAD == 0 && IS_FIRST_PASS && CONTROL.refused != 0 && p.panels == DIGITS)
        CONTROL.runs = plus(times(~CONTROL.not_bad, p.chunk), load_wide(first_bad_ones(), ~CONTROL.not_bad));
    for (uint row = group_number(); row < p.panels; row += group_count()) {
        const address numbers = plus(p_digits, shifted_up(times(row, p.chunks), 3));
        wide before = wide(0), all;
        for (uint first = 0; first < p.chunks; first += BLOCK) {
            const uint k = first + THREAD;
            const wide own = k < p.chunks ? load_wide(numbers, k) : wide(0);
            const wide place = plus(before, counts_before(own, all));
            if (k < p.chunks)
                store_wide(numbers, k, place);
            before = plus(before, all);
        }
        if (THREAD == 0)
            store_bits(plus(p_digits, shifted_up(plus(times(p.panels, p.chunks), row), 3)), 3, before);
    }
}

/* ---- moving ---- */

shared uint tile_words[SORT_TILE]; /* a bit for each thread by digits; then a word of each element */
shared uint digit_begins[DIGITS];  /* where a digit's elements stand in the tile */
shared wide digit_places[DIGITS];  /* where those of the next tile go */

/* The place of each of a thread's elements among those of its digit, of a tile. A round takes an element a thread: all
 * set their bits, and count the bits before their own. */
void rank_in_digits(uint label[SORT_ITEMS], uint count, out uint place[SORT_ITEMS]) {
    const uint word = THREAD / 32, bit = 1u << (THREAD & 31u);
    for (uint k = THREAD; k < SORT_TILE; k += BLOCK)
        tile_words[k] = 0;
    for (uint d = THREAD; d < DIGITS; d += BLOCK)
        digit_counts[d] = 0;
    barrier();
    [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++) {
        const bool is_there = j * BLOCK + THREAD < count;
        const uint digit = digit_of(label[j]), masks = digit * MASKS;
        uint before = 0, all = 0;
        if (is_there)
            atomicOr(tile_words[masks + word], bit);
        barrier();
        place[j] = 0;
        if (is_there) {
            for (uint w = 0; w < MASKS; w++) {
                const uint mask = tile_words[masks + w];
                before += bitCount(w < word ? mask : w == word ? mask & bit - 1 : 0);
                all += bitCount(mask);
            }
            place[j] = digit_counts[digit] + before;
        }
        barrier();
        if (is_there && before == 0) {
            digit_counts[digit] += all;
            for (uint w = 0; w < MASKS; w++)
                tile_words[masks + w] = 0;
        }
        barrier();
    }
}

/* Counts become where a digit's elements stand in the tile. */
void begin_digits() {
    wide before = wide(0), all;
    for (uint first = 0; first < DIGITS; first += BLOCK) {
        const uint d = first + THREAD;
        const wide here = counts_before(wide_of(d < DIGITS ? digit_counts[d] : 0), all);
        if (d < DIGITS)
            digit_begins[d] = before.x + here.x;
        before = plus(before, all);
    }
    barrier();
}

/* Stores a word of each element of the tile. 'to' are the destinations of those that this thread stores. */
void move_words(uint word[SORT_ITEMS], uint place[SORT_ITEMS], uint count, address array, uint log,
                wide to[SORT_ITEMS]) {
    barrier(); /* earlier use of the memory */
    [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++)
        if (j * BLOCK + THREAD < count)
            tile_words[place[j]] = word[j];
    barrier();
    [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++)
        if (j * BLOCK + THREAD < count)
            words_at(plus(array, shifted_up(to[j], log))).word[0] = tile_words[j * BLOCK + THREAD];
}

/* The same of elements of 4 or 8 bytes, which lie in from[] or are the numbers from 'first' on. */
void move_elements(address from, uint from_log, wide first, bool are_numbers, uint place[SORT_ITEMS], uint count,
                   address array, uint log, wide to[SORT_ITEMS]) {
    uint low[SORT_ITEMS], high[SORT_ITEMS];
    [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++)
        if (j * BLOCK + THREAD < count) {
            const wide i = plus(first, j * BLOCK + THREAD);
            const uvec2 bits = are_numbers ? i : load_bits(plus(from, shifted_up(i, from_log)), from_log);
            low[j] = bits.x;
            high[j] = bits.y;
        }
    move_words(low, place, count, array, log, to);
    if (log == 3)
        move_words(high, place, count, plus(array, 4), log, to);
}

void sort_tile(wide first, uint count) {
    uint label[SORT_ITEMS], place[SORT_ITEMS];
    wide to[SORT_ITEMS];
    [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++) {
        bool is_bad;
        label[j] = j * BLOCK + THREAD < count ? label_at(plus(first, j * BLOCK + THREAD), is_bad) : 0;
    }
    rank_in_digits(label, count, place);
    begin_digits();
    [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++)
        if (j * BLOCK + THREAD < count) {
            place[j] += digit_begins[digit_of(label[j])];
            tile_words[place[j]] = label[j];
        }
    barrier();
    [[unroll]] for (uint j = 0; j < SORT_ITEMS; j++) {
        const uint at = j * BLOCK + THREAD;
        if (at < count) {
            const uint sorted = tile_words[at], digit = digit_of(sorted);
            to[j] = plus(digit_places[digit], at - digit_begins[digit]);
            words_at(plus(p_sorted, shifted_up(to[j], 2))).word[0] = sorted;
        }
    }
    const uint log = IS_FIRST_PASS ? IN_LOG : SORTED_LOG;
    const address x = plus(p_sorted, shifted_up(sorted_room(), 2)), y = plus(x, shifted_up(sorted_room(), SORTED_LOG));
    move_elements(p.x, log, first, false, place, count, x, SORTED_LOG, to);
    if (given(p.y))
        move_elements(p.y, log, first, false, place, count, y, SORTED_LOG, to);
    if ((p_moves & MOVES_INDICES) != 0)
        move_elements(p_indices, 3, first, IS_FIRST_PASS, place, count, y, 3, to);
    for (uint d = THREAD; d < DIGITS; d += BLOCK)
        digit_places[d] = plus(digit_places[d], digit_counts[d]);
    barrier();
}

void sort_by_digit() {
    begin_kernel();
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        uint length;
        const wide begin = begin_of_chunk(chunk, p.extent, length);
        for (uint d = THREAD; d < DIGITS; d += BLOCK) {
            const wide among_digit = load_bits(plus(p_digits, shifted_up(plus(times(d, p.chunks), chunk), 3)), 3);
            digit_places[d] = plus(load_wide(totals(), d), among_digit);
        }
        barrier();
        for (uint first = 0; first < length; first += SORT_TILE)
            sort_tile(plus(begin, first), min(length - first, SORT_TILE));
    }
}

/* ---- after the last pass ---- */

/* Elements of fewer than 4 bytes, from words. */
void pack_sorted() {
    begin_kernel();
    const uint each_log = 2 - IN_LOG, bits = 8u << IN_LOG;
    const wide threads = times(group_count(), BLOCK), words = shifted_down(plus(p.extent, (1u << each_log) - 1), each_log);
    for (wide w = plus(times(group_number(), BLOCK), THREAD); less(w, words); w = plus(w, threads)) {
        const wide first = shifted_up(w, each_log);
        uint word = 0;
        for (uint k = 0; k < 1u << each_log; k++)
            if (less(plus(first, k), p.extent))
                word |= load_word(plus(p.x, shifted_up(plus(first, k), 2))) << k * bits;
        words_at(plus(p.out_at, shifted_up(w, 2))).word[0] = word;
    }
}

/* Where the groups begin. After a label out of range, the first offset is one that the kernels of segments refuse, so that
 * they write nothing. */
void find_groups() {
    begin_kernel();
    const wide threads = times(group_count(), BLOCK);
    for (wide g = plus(times(group_number(), BLOCK), THREAD); !less(p_segments, g); g = plus(g, threads)) {
        wide low = wide(0), high = p.extent;
        while (less(low, high)) {
            const wide middle = shifted_down(plus(low, high), 1);
            if (load_word(plus(p_labels, shifted_up(middle, 2))) < g.x)
                low = plus(middle, 1u);
            else
                high = middle;
        }
        if (CONTROL.refused != 0 && g == wide(0))
            low = plus(p.extent, 1u);
        store_bits(plus(p.out_at, shifted_up(g, 3)), 3, low);
    }
}

/* Places among the sorted elements of a group become places in the input. */
void find_indices() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    const wide threads = times(group_count(), BLOCK);
    for (wide g = plus(times(group_number(), BLOCK), THREAD); less(g, p_segments); g = plus(g, threads)) {
        wide index = load_bits(plus(p.x, shifted_up(g, 3)), 3); /* -1 of a group of NaNs that are left out */
        if (index != wide(~0u)) {
            const wide at = plus(index, load_bits(plus(p_offsets, shifted_up(g, 3)), 3));
            index = load_bits(plus(p_indices, shifted_up(at, 3)), 3);
        }
        store_bits(plus(p.out_at, shifted_up(g, OUT_LOG)), OUT_LOG, output_of_integer(index, true));
    }
}
