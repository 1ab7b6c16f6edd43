/* Reductions and scans along an axis whose slabs, of extent x inner elements, are short: a workgroup takes a stretch of
 * some whole slabs. Threads load neighbouring vectors, wherever the stretch begins, and put each element into a cell of
 * shared memory. There a thread, or a team of them, has a column of a slab. Results lie as neighbours in memory, and
 * are stored in whole words. The next stretch is loaded meanwhile. */
const uint STAGE_VECTORS = 2; /* a thread's, of one input */
const uint CELLS = STAGE_VECTORS * 4 * BLOCK;
shared uint cells[CELLS + CELLS / 32];

/* An element has a plane of cells for each word of its bits, and of its partner's or of its second result. A scan's
 * results take the elements' places. */
bool two_words;
uint plane, second; /* cells of one plane; the first one of the partner's or of the second result's */
void divide_cells() {
    two_words = IN_LOG == 3 || IS_SCAN && OUT_LOG == 3;
    plane = CELLS >> (two_words ? 1 : 0) + (TWO_INPUTS || IS_SCAN && PER_RESULT == 2 ? 1 : 0);
    second = two_words ? 2 * plane : plane;
}
void put_cell(uint at, uvec2 bits) {
    cells[spread(at)] = bits.x;
    if (two_words)
        cells[spread(at + plane)] = bits.y;
}
uvec2 cell(uint at) {
    return uvec2(cells[spread(at)], two_words ? cells[spread(at + plane)] : 0);
}

/* Narrow elements of a reduction stay packed: cells are the words of the vectors that have them, so that a tile has as
 * many bytes of these as of others. In scans neighbours' results would meet in a word. */
#define IS_PACKED (!IS_SCAN && IN_LOG < 2)
uint first_byte, second_byte; /* where the first element and the first partner begin in the first of their words */
uvec2 packed_cell(uint words, uint byte) {
    const uint word = words + byte / 4, at = byte & 3u;
    uint bits = cells[spread(word)] >> 8 * at;
    if (IN_LOG == 1 && at == 3)
        bits |= cells[spread(word + 1)] << 8;
    return uvec2(bits & (IN_LOG == 1 ? 65535u : 255u), 0);
}

/* Columns of a stretch: their elements are neighbours in memory, as are their results. */
struct some_slabs {
    wide first;
    uint count;
};
some_slabs slabs_of(uint group) {
    const uint most = p_rows * p.inner.x;
    const wide first = times(group, most);
    return some_slabs(first, group < p.panels ? at_most(minus(p.columns, first), most) : 0);
}

wide first_of_slabs(some_slabs s) {
    return times(s.first, p.extent.x);
}

/* ---- loading ---- */

/* A vector at the beginning or the end of the array: words that hold no element are not touched. */
uvec4 load_edge(address at, address begin, address end) {
    uvec4 vector = uvec4(0);
    UNROLLED_LANES for (uint k = 0; k < 4; k++) {
        const address word = plus(at, 4 * k);
        if (less(begin, plus(word, 4u)) && less(word, end))
            vector[k] = load_word(word);
    }
    return vector;
}

/* Some elements of an array from one on. */
void load_stretch(address array, wide first, uint elements, out uvec4 x[STAGE_VECTORS]) {
    const uint log = IN_LOG;
    const address from = element_at(array, first);
    const address base = address(from.x & ~15u, from.y);
    const address end = element_at(array, times(p.columns, p.extent));
    const uint vectors = (from.x & 15u) + (elements << log) + 15 >> 4;
    const bool is_inside = !less(base, array) && !less(end, plus(base, 16 * vectors));
    UNROLLED_LANES for (uint u = 0; u < STAGE_VECTORS; u++) {
        const uint v = u * BLOCK + THREAD;
        if (v < vectors) {
            if (is_inside)
                x[u] = vectors_at(base).vector[v];
            else
                x[u] = load_edge(plus(base, 16 * v), array, end);
        }
    }
}

/* Returns where the first element begins in its vector. */
uint put_stretch(address array, wide first, uint elements, uvec4 x[STAGE_VECTORS], uint to) {
    const uint log = IN_LOG, vector = 16u >> log;
    const address from = element_at(array, first);
    const uint byte = from.x & 15u;
    if (IS_PACKED) {
        UNROLLED_LANES for (uint u = 0; u < STAGE_VECTORS; u++) {
            const uint v = u * BLOCK + THREAD;
            UNROLLED_LANES for (uint k = 0; k < 4; k++)
                if (16 * v < byte + (elements << log))
                    cells[spread(to + 4 * v + k)] = x[u][k];
        }
        return byte;
    }
    if ((from.x & (1u << log) - 1u) != 0) { /* elements lie in two vectors */
        for (uint e = THREAD; e < elements; e += BLOCK)
            put_cell(to + e, load_bits(plus(from, e << log), log));
        return byte;
    }
    UNROLLED_LANES for (uint u = 0; u < STAGE_VECTORS; u++) {
        const uint e = (u * BLOCK + THREAD) * vector - (byte >> log);
        UNROLLED_LANES for (uint k = 0; k < vector; k++)
            if (e + k < elements) /* below 0 it is large */
                put_cell(to + e + k, pick(x[u], k, log));
    }
    return byte;
}

/* Of the columns, or of what a tile has of them. */
uint staged_rows;
wide rows_ahead;   /* rows in memory before these */
wide rows_counted; /* logical ones */
lifted_t lift_cell(uint at, uint row) {
    if (IS_PACKED) {
        const uvec2 partner = TWO_INPUTS ? packed_cell(second, second_byte + (at << IN_LOG)) : uvec2(0);
        return lift_bits(packed_cell(0, first_byte + (at << IN_LOG)), partner, plus(rows_ahead, row));
    }
    return lift_bits(cell(at), TWO_INPUTS ? cell(second + at) : uvec2(0), plus(rows_ahead, row));
}
/* The cell of a column's first element. */
uint cell_of(uint column) {
    const uint slab = column / p.inner.x;
    return slab * (p.extent.x - 1) * p.inner.x + column;
}

/* ---- storing ---- */

/* The n-th output element. */
uint word_of_output(uint n, bool high) {
    const uint at = IS_SCAN && PER_RESULT == 2 ? (n & 1u) * second + n / 2 : n;
    return cells[spread(high ? at + plane : at)];
}
/* Output elements from cells, by words. */
void store_cells(address to, uint count) {
    const uint log = OUT_LOG;
    if ((to.x & (1u << log) - 1u & 3u) != 0) {
        for (uint n = THREAD; n < count; n += BLOCK)
            store_bits(plus(to, n << log), log,
                       uvec2(word_of_output(n, false), log == 3 ? word_of_output(n, true) : 0));
        return;
    }
    if (log >= 2) {
        for (uint w = THREAD; w < count << log - 2; w += BLOCK)
            words_at(to).word[w] = word_of_output(w >> log - 2, log == 3 && (w & 1u) != 0);
        return;
    }
    const uint many = 4u >> log, ahead = (to.x & 3u) >> log, ones = (1u << (8u << log)) - 1u;
    for (uint w = THREAD; w * many < count + ahead; w += BLOCK) {
        uint bits = 0, mask = 0;
        UNROLLED_LANES for (uint k = 0; k < many; k++) {
            const uint n = w * many + k - ahead, shift = 8u * k << log;
            if (n < count) {
                bits |= (word_of_output(n, false) & ones) << shift;
                mask |= ones << shift;
            }
        }
        merge_word(plus(word_below(to), 4 * w), mask, bits);
    }
}

/* ---- reductions ---- */

#if COMMUTES
/* Every 'parts'-th element of a column from 'part' on. */
acc_t fold_cells(uint column, uint part, uint parts) {
    const uint at = cell_of(column), extent = p.extent.x;
    sum total = empty_sum();
    for (uint first = part; first < extent; first += 4 * parts) {
        expect(total, 4);
        UNROLLED_LANES for (uint u = 0; u < 4; u++) {
            const uint row = first + u * parts;
            if (row < extent)
                total.lane = added(total.lane, lift_cell(at + row * p.inner.x, row));
        }
    }
    return combine(total.acc, widen(total.lane));
}

/* The bits of a small result, of both parts if there are two. */
uint small_result(acc_t acc, wide column) {
    const uint ones = (1u << (8u << OUT_LOG)) - 1u;
    if (given(p.carry))
        acc = combine(read_slot(p.carry, column), acc);
    const result_t r = lower(acc, plus(p.before, p.extent), wide(0));
    return PER_RESULT == 2 ? r.first.x & ones | (r.second.x & ones) << (8u << OUT_LOG) : r.first.x & ones;
}

/* A thread has the columns whose results, of 1 << log bytes, are in one word. */
void fold_words(some_slabs s, address to, uint log) {
    const uint many = 4u >> log, ahead = (to.x & 3u) >> log, ones = log == 2 ? ~0u : (1u << (8u << log)) - 1u;
    for (uint w = THREAD; w * many < s.count + ahead; w += BLOCK) {
        uint bits = 0, mask = 0;
        for (uint k = 0; k < many; k++) {
            const uint column = w * many + k - ahead, shift = 8u * k << log;
            if (column < s.count) {
                bits |= small_result(fold_cells(column, 0, 1), plus(s.first, column)) << shift;
                mask |= ones << shift;
            }
        }
        merge_word(plus(word_below(to), 4 * w), mask, bits);
    }
}

/* Small results, a byte or two, meet in cells. */
void fold_columns_of(some_slabs s) {
    const uint parts = p_team, log = OUT_LOG + PER_RESULT - 1;
    const address to = plus(p.out_at, shifted_up(s.first, log));
    const bool is_small = OUT_LOG < 2 && log <= 2 && (to.x & (1u << log) - 1u) == 0 && !given(p.total);
    if (is_small && parts == 1) {
        fold_words(s, to, log);
        return;
    }
    const bool in_cells = is_small && PER_RESULT == 1;
    uint column = THREAD >> findMSB(parts);
    for (uint first = 0; first < s.count; first += BLOCK >> findMSB(parts)) {
        acc_t acc = identity();
        if (column < s.count)
            acc = fold_cells(column, THREAD & parts - 1, parts);
        if (parts > 1)
            acc = fold_block(acc, 1, parts);
        if (in_cells)
            barrier(); /* all have read the elements */
        if (column < s.count && (THREAD & parts - 1) == 0) {
            if (in_cells)
                cells[spread(column)] = small_result(acc, plus(s.first, column));
            else
                give(acc, plus(s.first, column), 0, p.extent);
        }
        column += BLOCK >> findMSB(parts);
    }
    if (in_cells) {
        barrier();
        store_cells(to, s.count);
    }
}
#else
void fold_columns_of(some_slabs s) {}
#endif

/* ---- scans ---- */

/* The elements [begin, end) of a column, in logical order; 'run' is the value before them. Returns that after them. */
acc_t scan_cells(uint column, uint begin, uint end, acc_t run, bool gives) {
    const bool inclusive = INCLUSIVE, reverse = REVERSE;
    const uint at = cell_of(column);
    for (uint k = begin; k < end; k++) {
        const uint row = reverse ? staged_rows - 1 - k : k, e = at + row * p.inner.x;
        const acc_t before = run;
        run = combine(run, acc_of(lift_cell(e, row)));
        if (gives) {
            const result_t r = lower(inclusive ? run : before, plus(rows_counted, k + (inclusive ? 1 : 0)), wide(0));
            put_cell(e, r.first);
            if (PER_RESULT == 2)
                put_cell(second + e, r.second);
        }
    }
    return run;
}

/* There are no more columns than teams if those are of more than one thread. */
void scan_columns_of(some_slabs s) {
    const uint parts = p_team, part = THREAD & parts - 1, each = (p.extent.x + parts - 1) / parts;
    const uint begin = min(part * each, p.extent.x), end = min(begin + each, p.extent.x);
    acc_t before = identity();
    if (parts > 1) {
        acc_t own = identity();
        if (THREAD / parts < s.count)
            own = scan_cells(THREAD / parts, begin, end, own, false);
        before = scan_team(own, parts);
    }
    for (uint column = THREAD / parts; column < s.count; column += BLOCK / parts) {
        acc_t run = combine(base_of(plus(s.first, column)), before);
        run = scan_cells(column, begin, end, run, true);
        if (given(p.total) && part == parts - 1)
            write_slot(p.total, plus(s.first, column), run);
    }
    barrier();
    const wide first = times(times(s.first, p.extent.x), PER_RESULT);
    store_cells(plus(p.out_at, shifted_up(first, OUT_LOG)), s.count * p.extent.x * PER_RESULT);
}

void slabs() {
    begin_kernel();
    divide_cells();
    staged_rows = p.extent.x;
    rows_ahead = rows_counted = p.before;
    uvec4 x[STAGE_VECTORS], y[STAGE_VECTORS];
    some_slabs now, next = slabs_of(group_number());
    for (uint group = group_number(); true;) {
        load_stretch(p.x, first_of_slabs(next), next.count * p.extent.x, x);
        if (TWO_INPUTS)
            load_stretch(p.y, first_of_slabs(next), next.count * p.extent.x, y);
        if (group != group_number()) {
            if (IS_SCAN)
                scan_columns_of(now);
            else
                fold_columns_of(now);
        }
        if (group >= p.panels)
            return;
        barrier(); /* earlier use of the memory */
        now = next;
        first_byte = put_stretch(p.x, first_of_slabs(now), now.count * p.extent.x, x, 0);
        if (TWO_INPUTS)
            second_byte = put_stretch(p.y, first_of_slabs(now), now.count * p.extent.x, y, second);
        barrier();
        group += group_count();
        next = slabs_of(group);
    }
}

/* ---- scans of few columns that are not short ---- */

/* Some rows of a chunk. */
struct rows_tile {
    wide first; /* element */
    wide begin; /* logical row of the column */
    uint rows;
};
/* That from row 'at' of a chunk on. */
rows_tile tile_of_rows(uint slab, wide begin, uint at, uint length) {
    rows_tile t;
    t.begin = plus(begin, at);
    t.rows = at < length ? min(p_rows, length - at) : 0;
    const wide row = REVERSE ? minus(minus(p.extent, t.begin), t.rows) : t.begin;
    t.first = times(plus(times(p.extent, slab), row), p.inner.x);
    return t;
}
void begin_tile_of_rows(rows_tile t) {
    staged_rows = t.rows;
    rows_counted = plus(p.before, t.begin);
    rows_ahead = REVERSE ? minus(minus(plus(p.before, p.extent), t.begin), t.rows) : rows_counted;
}

/* A thread's column from 'run' on, the value before the tile. Returns that after it. */
acc_t scan_tile_of_rows(rows_tile t, acc_t run) {
    const uint parts = p_team, part = THREAD & parts - 1, column = THREAD >> findMSB(parts);
    const uint each = (t.rows + parts - 1) >> findMSB(parts);
    const uint begin = min(part * each, t.rows), end = min(begin + each, t.rows);
    const bool is_there = column < p.inner.x;
    if (parts > 1) {
        acc_t own = identity();
        if (is_there)
            own = scan_cells(column, begin, end, own, false);
        run = combine(run, scan_team(own, parts));
    }
    if (is_there)
        run = scan_cells(column, begin, end, run, true);
    if (parts > 1) {
        barrier(); /* earlier use of the memory */
        if (is_there && part == parts - 1)
            shared_slots[column] = run;
        barrier();
        if (is_there)
            run = shared_slots[column];
    }
    return run;
}

/* A workgroup has a chunk of a slab's rows, tile by tile. A thread keeps the value of its column from one to the
 * next. */
void tall_slabs() {
    begin_kernel();
    divide_cells();
    const uint parts = p_team, column = THREAD >> findMSB(parts), inner = p.inner.x;
    for (uint number = group_number(); number < p.panels * p.chunks; number += group_count()) {
        const uint chunk = number / p.panels, slab = number % p.panels;
        uint length;
        const wide begin = begin_of_chunk(chunk, p.extent, length), own = plus(times(p.inner, slab), column);
        acc_t run = identity();
        if (column < inner && given(p.slots))
            run = read_slot(p.slots, number_of_slot(chunk, own));
        else if (column < inner)
            run = base_of(own);
        uvec4 x[STAGE_VECTORS];
        rows_tile now, next = tile_of_rows(slab, begin, 0, length);
        for (uint at = 0; true;) {
            load_stretch(p.x, next.first, next.rows * inner, x);
            if (at > 0) {
                begin_tile_of_rows(now);
                run = scan_tile_of_rows(now, run);
                barrier();
                const wide first = times(now.first, PER_RESULT);
                store_cells(plus(p.out_at, shifted_up(first, OUT_LOG)), now.rows * inner * PER_RESULT);
            }
            barrier(); /* earlier use of the memory */
            if (at >= length)
                break;
            now = next;
            put_stretch(p.x, now.first, now.rows * inner, x, 0);
            barrier();
            at += now.rows;
            next = tile_of_rows(slab, begin, at, length);
        }
        if (!given(p.slots) && given(p.total) && column < inner && (THREAD & parts - 1) == parts - 1)
            write_slot(p.total, own, run);
    }
}
