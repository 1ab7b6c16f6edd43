/* Running variances in rows and groups, tile by tile. The shift is the mean of the group's elements before the tile
 * or, where the group begins in the tile, its first element. */

/* ---- a tile's elements ---- */

/* A thread's elements. They are no array, and no loop goes over them: NVIDIA's driver does not unroll such loops, in
 * spite of their attribute, and keeps what they index in memory. */
struct tile_units {
    uvec4 first, second;
};
uint first_of_unit(scan_tile t, uint u) {
    return t.first + (u * BLOCK + THREAD) * UNIT;
}
/* One access where the elements' address allows it. */
uvec4 load_near(address at, uint bytes) {
    if (bytes == 16)
        return load_vector(at);
    if ((at.x & 3u) == 0)
        return uvec4(words_at(at).word[0], bytes == 8 ? words_at(at).word[1] : 0u, 0, 0);
    return uvec4(load_bits(at, bytes == 8 ? 3u : 2u), 0, 0);
}
/* What lies side by side in a vector: elements or results, of 1 << log bytes. Four, or two of 8 bytes. */
uvec4 side_by_side(uvec2 a, uvec2 b, uvec2 c, uvec2 d, uint log) {
    if (log == 3)
        return uvec4(a, b);
    if (log == 2)
        return uvec4(a.x, b.x, c.x, d.x);
    const uint ones = log == 1 ? 65535u : 255u, first = a.x & ones, second = b.x & ones, third = c.x & ones;
    if (log == 1)
        return uvec4(first | second << 16, third | d.x << 16, 0, 0);
    return uvec4(first | second << 8 | third << 16 | d.x << 24, 0, 0, 0);
}
uvec2 load_if_there(scan_tile t, uint logical, uint k) {
    const uint at = logical + (REVERSE ? UNIT - 1 - k : k);
    return k < UNIT && at < t.count ? load_bits(element_at(t.x, physical(t, at)), IN_LOG) : uvec2(0);
}
uvec4 load_unit(scan_tile t, uint logical) {
    if (logical + UNIT <= t.count)
        return load_near(element_at(t.x, REVERSE ? t.count - logical - UNIT : logical), UNIT << IN_LOG);
    return side_by_side(load_if_there(t, logical, 0), load_if_there(t, logical, 1), load_if_there(t, logical, 2),
                        load_if_there(t, logical, 3), IN_LOG);
}
void load_units(scan_tile t, out tile_units units) {
    units.first = load_unit(t, first_of_unit(t, 0));
    units.second = load_unit(t, first_of_unit(t, 1));
}
double value_of_unit(uvec4 unit, uint k) {
    return value_of_bits(pick(unit, REVERSE ? UNIT - 1 - k : k, IN_LOG));
}
double value_at(scan_tile t, uint logical) {
    return value_of_bits(load_bits(element_at(t.x, physical(t, logical)), IN_LOG));
}

double first_value(scan_tile t) {
    return t.count > 0 ? value_at(t, 0) : 0.0lf;
}

/* ---- heads of groups ---- */

/* For each word of head bits: the number of heads in the words before it, and the position of the last of these in the
 * tile plus 1, or 0. */
shared uint tile_heads[BLOCK / 4], word_ranks[BLOCK / 4], word_heads[BLOCK / 4];

/* All threads call this, and meet before they use what it notes. */
void note_heads() {
    barrier();
    const uint words = MOMENTS_TILE / 32, bits = THREAD < words ? tile_heads[THREAD] : 0;
    const uint last = bits != 0 ? 32 * THREAD + findMSB(bits) + 1 : 0;
    const uint before = scan_notes(last | bitCount(bits) << 16);
    if (THREAD < words) {
        word_ranks[THREAD] = before >> 16;
        word_heads[THREAD] = before & 0xffffu;
    }
}
void load_heads(scan_tile t) {
    barrier(); /* earlier use of the memory */
    if (THREAD < MOMENTS_TILE / 32)
        tile_heads[THREAD] = 32 * THREAD < t.count - t.first ? head_word(plus(t.before, t.first + 32 * THREAD)) : 0;
    note_heads();
}
uint heads_of_unit(uint at) {
    return tile_heads[at >> 5] >> (at & 31u) & (1u << UNIT) - 1u;
}
/* The last head before a position in the tile, plus 1, or 0. */
uint head_before(uint at) {
    const uint bits = tile_heads[at >> 5] & (1u << (at & 31u)) - 1u;
    return bits != 0 ? (at & ~31u) + findMSB(bits) + 1 : word_heads[at >> 5];
}
uint last_head_of_tile() {
    const uint last = MOMENTS_TILE / 32 - 1, bits = tile_heads[last];
    return bits != 0 ? 32 * last + findMSB(bits) + 1 : word_heads[last];
}
uint heads_of_tile() {
    const uint last = MOMENTS_TILE / 32 - 1;
    return word_ranks[last] + bitCount(tile_heads[last]);
}
uint heads_before(uint at) {
    return word_ranks[at >> 5] + bitCount(tile_heads[at >> 5] & (1u << (at & 31u)) - 1u);
}

/* ---- a tile ---- */

/* Sums of the units of SPAN threads in a round. There are two of each: of distances, and of squares. */
const uint DISTANCES = 0, SQUARES = 1;
#define SPAN_SUM(which, span) span_sums[(which) * ROUNDS * BLOCK / 8 + (span)]
#define HAS_HEAD(which, span) spans_with_heads[(which) * ROUNDS * BLOCK / 8 + (span)]
shared double span_sums[2 * ROUNDS * BLOCK / 8], unit_sums[2 * BLOCK];
shared uint spans_with_heads[2 * ROUNDS * BLOCK / 8];

double sum_from_left(double x, uint d) {
    if (LANES > 1)
        return subgroupShuffleUp(x, d);
    barrier();
    unit_sums[THREAD] = x;
    barrier();
    return unit_sums[THREAD - min(d, THREAD)];
}

/* Whether the last head before a unit lies in the same span and round. */
bool is_head_in_span(uint unit, uint head) {
    return head != 0 && (head - 1) / UNIT / SPAN == unit / SPAN;
}

/* The sum of the units before one in its span, back to where a group begins; and notes that of the span. */
double scan_span(uint which, uint u, uint head, uint heads, double own) {
    const uint unit = u * BLOCK + THREAD, place = THREAD % SPAN;
    const bool in_span = is_head_in_span(unit, head);
    const uint reach = heads != 0 ? 0 : in_span ? unit - (head - 1) / UNIT : place;
    UNROLLED_LANES for (uint d = 1; d < SPAN; d *= 2) {
        const double left = sum_from_left(own, d);
        if (d <= reach)
            own = left + own;
    }
    const double left = sum_from_left(own, 1);
    if (place == SPAN - 1) {
        SPAN_SUM(which, unit / SPAN) = own;
        HAS_HEAD(which, unit / SPAN) = heads != 0 || in_span ? 1 : 0;
    }
    return place > 0 ? left : 0.0lf;
}

/* What a thread finds of a unit before any results are stored, which may replace elements. */
struct unit_moments {
    uint head, heads; /* the last one before the unit, plus 1; its elements that begin groups */
    double n, shift;  /* elements of that group before the unit; its shift */
    double sum;       /* of the unit's distances, then squares; and then of those before it */
    dvec4 square;     /* what each element adds */
};
struct tile_moments {
    unit_moments first, second;
};

/* Units' sums become those of their groups' elements before them; 'carried' is that before the tile. Returns the sum
 * after it. */
double scan_sums(uint which, inout tile_moments m, double carried) {
    const uint span = THREAD / SPAN;
    m.first.sum = scan_span(which, 0, m.first.head, m.first.heads, m.first.sum);
    m.second.sum = scan_span(which, 1, m.second.head, m.second.heads, m.second.sum);
    double before_first = 0, before_second = 0;
    barrier();
    UNROLLED_LANES for (uint k = 0; k < ROUNDS * BLOCK / SPAN; k++) {
        before_first = k == span ? carried : before_first;
        before_second = k == BLOCK / SPAN + span ? carried : before_second;
        carried = (HAS_HEAD(which, k) != 0 ? 0.0lf : carried) + SPAN_SUM(which, k);
    }
    if (!is_head_in_span(THREAD, m.first.head))
        m.first.sum = before_first + m.first.sum;
    if (!is_head_in_span(BLOCK + THREAD, m.second.head))
        m.second.sum = before_second + m.second.sum;
    return carried;
}

/* The group that reaches the next tile. */
moments_t after_tile(scan_tile t, uint head, double shift, moments_t run) {
    const uint end = min(t.count, t.first + MOMENTS_TILE);
    if (head != 0) {
        run.shift = shift;
        run.begin = plus(plus(t.before, t.first), head - 1);
    }
    return about_mean(run, double_of_integer(minus(plus(t.before, end), run.begin), false));
}

bool begins_group(uint heads, uint k) {
    return (heads >> k & 1u) != 0;
}
void add_distance(scan_tile t, uvec4 unit, uint logical, uint k, uint heads, inout double from, inout double total) {
    if (k >= UNIT || logical + k >= t.count)
        return;
    const double x = value_of_unit(unit, k);
    const bool begins = begins_group(heads, k);
    from = begins ? x : from;
    total = (begins ? 0.0lf : total) + (x - from);
}
double square_of_item(scan_tile t, uvec4 unit, uint logical, uint k, uint heads, inout moments_t own, inout double n,
                      inout double inverse) {
    if (k >= UNIT || logical + k >= t.count)
        return 0;
    const double x = value_of_unit(unit, k), before = inverse;
    if (begins_group(heads, k)) {
        own.shift = x;
        own.distances = own.squares = n = 0;
    }
    n += 1;
    inverse = reciprocal(n);
    const double square = square_of(x, own.shift, own.distances, inverse, before);
    own.distances += x - own.shift;
    own.squares += square;
    return square;
}

/* Begins with the elements' distances, summed up. */
unit_moments begin_unit(scan_tile t, uvec4 unit, uint u, moments_t run, bool in_groups) {
    const uint logical = first_of_unit(t, u), at = logical - t.first;
    unit_moments m;
    m.square = dvec4(0);
    m.head = in_groups ? head_before(at) : 0;
    m.heads = in_groups ? heads_of_unit(at) : 0;
    if (m.head != 0) {
        m.shift = value_at(t, t.first + m.head - 1);
        m.n = double_of_word(at - (m.head - 1), false);
    } else {
        m.shift = run.shift;
        m.n = double_of_integer(minus(plus(t.before, t.first), run.begin), false) + double_of_word(at, false);
    }
    double from = m.shift, total = 0;
    add_distance(t, unit, logical, 0, m.heads, from, total);
    add_distance(t, unit, logical, 1, m.heads, from, total);
    add_distance(t, unit, logical, 2, m.heads, from, total);
    add_distance(t, unit, logical, 3, m.heads, from, total);
    m.sum = total;
    return m;
}
/* Goes on with their squares. */
void add_squares(scan_tile t, uvec4 unit, uint u, moments_t run, inout unit_moments m) {
    const uint logical = first_of_unit(t, u);
    moments_t own = run;
    own.shift = m.shift;
    own.distances = m.sum;
    own.squares = 0;
    double n = m.n, inverse = inverse_of_count(n);
    m.square.x = square_of_item(t, unit, logical, 0, m.heads, own, n, inverse);
    m.square.y = square_of_item(t, unit, logical, 1, m.heads, own, n, inverse);
    m.square.z = square_of_item(t, unit, logical, 2, m.heads, own, n, inverse);
    m.square.w = square_of_item(t, unit, logical, 3, m.heads, own, n, inverse);
    m.sum = own.squares;
}

/* All but the results, which the caller makes of the squares. */
moments_t add_tile(scan_tile t, tile_units units, moments_t run, bool in_groups, out tile_moments m) {
    m.first = begin_unit(t, units.first, 0, run, in_groups);
    m.second = begin_unit(t, units.second, 1, run, in_groups);
    const uint last_head = in_groups ? last_head_of_tile() : 0;
    const double last_shift = last_head != 0 ? value_at(t, t.first + last_head - 1) : 0.0lf;
    const double distances = scan_sums(DISTANCES, m, run.distances);
    add_squares(t, units.first, 0, run, m.first);
    add_squares(t, units.second, 1, run, m.second);
    run.squares = scan_sums(SQUARES, m, run.squares);
    run.distances = distances;
    return after_tile(t, last_head, last_shift, run);
}

/* ---- scans ---- */

/* The results of a unit, of which there are all. */
void store_unit(address at, uvec2 a, uvec2 b, uvec2 c, uvec2 d) {
    const uint bytes = UNIT << OUT_LOG;
    const uvec4 low = side_by_side(a, b, c, d, OUT_LOG), high = uvec4(c, d);
    if ((at.x & 15u) == 0 && bytes >= 16) {
        vectors_at(at).vector[0] = low;
        if (bytes == 32)
            vectors_at(at).vector[1] = high;
    } else if ((at.x & 3u) == 0) {
        words_at(at).word[0] = low.x;
        if (bytes >= 8)
            words_at(at).word[1] = low.y;
        if (bytes >= 16) {
            words_at(at).word[2] = low.z;
            words_at(at).word[3] = low.w;
        }
        if (bytes == 32) {
            words_at(at).word[4] = high.x;
            words_at(at).word[5] = high.y;
            words_at(at).word[6] = high.z;
            words_at(at).word[7] = high.w;
        }
    } else {
        store_bytes(at, low, min(bytes, 16u));
        if (bytes == 32)
            store_bytes(plus(at, 16), high, 16);
    }
}

/* The result of an element; stored here unless its unit is whole. */
wide scan_item(scan_tile t, uint logical, uint k, uint heads, double square, bool is_whole, inout double squares,
               inout double n) {
    if (k >= UNIT || logical + k >= t.to)
        return wide(0);
    const bool begins = begins_group(heads, k);
    squares = (begins ? 0.0lf : squares) + square;
    n = (begins ? 0.0lf : n) + 1;
    const wide bits = output_of_moments(squares, n);
    if (!is_whole && logical + k >= t.from)
        store_bits(plus(t.out_at, physical(t, logical + k) << OUT_LOG), OUT_LOG, bits);
    return bits;
}
void scan_unit(scan_tile t, uint u, unit_moments m) {
    const uint logical = first_of_unit(t, u);
    const bool is_whole = logical >= t.from && logical + UNIT <= t.to;
    double n = m.n, squares = m.sum;
    const wide a = scan_item(t, logical, 0, m.heads, m.square.x, is_whole, squares, n);
    const wide b = scan_item(t, logical, 1, m.heads, m.square.y, is_whole, squares, n);
    const wide c = scan_item(t, logical, 2, m.heads, m.square.z, is_whole, squares, n);
    const wide d = scan_item(t, logical, 3, m.heads, m.square.w, is_whole, squares, n);
    if (!is_whole)
        return;
    const address at = plus(t.out_at, physical(t, logical + (REVERSE ? UNIT - 1 : 0)) << OUT_LOG);
    if (!REVERSE)
        store_unit(at, a, b, c, d);
    else if (UNIT == 4)
        store_unit(at, d, c, b, a);
    else
        store_unit(at, b, a, c, d);
}

moments_t scan_tile_of_moments(scan_tile t, tile_units units, moments_t run, bool in_groups) {
    tile_moments m;
    const moments_t after = add_tile(t, units, run, in_groups, m);
    scan_unit(t, 0, m.first);
    scan_unit(t, 1, m.second);
    return after;
}

void moment_rows() {
    begin_kernel();
    const uint rows = p.columns.x;
    const wide extent = extent_of_run();
    for (uint number = group_number(); number < rows * p.chunks; number += group_count()) {
        const uint chunk = number / rows, row = number % rows;
        scan_tile t = chunk_of_row(chunk, row, extent);
        const acc_t base = given(p.slots) ? read_slot(p.slots, wide_of(number)) : base_of(wide_of(row));
        moments_t run = moments_from(base, wide(0), first_value(t));
        tile_units next;
        if (t.count > 0)
            load_units(t, next);
        while (t.first < t.count) {
            const tile_units now = next;
            scan_tile after = t;
            after.first += MOMENTS_TILE;
            if (after.first < t.count)
                load_units(after, next);
            run = scan_tile_of_moments(t, now, run, false);
            t = after;
        }
        if (!given(p.slots) && given(p.total) && THREAD == 0)
            write_slot(p.total, wide_of(row),
                       t.count > 0 ? acc_from(run, double_of_integer(plus(t.before, t.count), false)) : base);
    }
}

moments_t moments_before_chunk(uint chunk, scan_tile t, out wide runs) {
    const record_t before = read_record(chunk);
    runs = before.runs;
    return moments_from(before.acc, minus(before.head, 1u), first_value(t));
}

void moment_groups() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        scan_tile t = chunk_of_groups(chunk);
        wide runs;
        moments_t run = moments_before_chunk(chunk, t, runs);
        tile_units next;
        load_units(t, next);
        while (t.first < t.count) {
            const tile_units now = next;
            scan_tile after = t;
            after.first += MOMENTS_TILE;
            load_heads(t);
            if (after.first < t.count)
                load_units(after, next);
            barrier();
            run = scan_tile_of_moments(t, now, run, true);
            t = after;
        }
    }
}

/* ---- reductions by keys ---- */

/* The run that ends before an element. */
void give_moments_of_run(wide end, wide rank, double squares, double n) {
    const uint log = log_bytes(INDEX);
    store_bits(plus(p.out_at, shifted_up(rank, OUT_LOG)), OUT_LOG, output_of_moments(squares, n));
    if (given(p_keys_out))
        store_bits(plus(p_keys_out, shifted_up(rank, log)), log, key_at(minus(end, 1u)));
}

/* If an element begins a run, gives the one that ends there. */
void give_runs_of_item(scan_tile t, uint logical, uint k, uint heads, double square, inout double squares,
                       inout double n, inout wide rank) {
    if (k >= UNIT || logical + k >= t.count)
        return;
    if (begins_group(heads, k)) {
        const wide end = plus(t.before, logical + k);
        if (end != wide(0))
            give_moments_of_run(end, rank, squares, n);
        rank = plus(rank, 1u);
        squares = n = 0;
    }
    squares += square;
    n += 1;
}
/* 'runs' begin before the tile. */
void give_runs_of_unit(scan_tile t, uint u, unit_moments m, wide runs) {
    const uint logical = first_of_unit(t, u);
    wide rank = minus(plus(runs, heads_before(logical - t.first)), 1u);
    double n = m.n, squares = m.sum;
    give_runs_of_item(t, logical, 0, m.heads, m.square.x, squares, n, rank);
    give_runs_of_item(t, logical, 1, m.heads, m.square.y, squares, n, rank);
    give_runs_of_item(t, logical, 2, m.heads, m.square.z, squares, n, rank);
    give_runs_of_item(t, logical, 3, m.heads, m.square.w, squares, n, rank);
}

void moment_runs() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        scan_tile t = chunk_of_groups(chunk);
        wide runs;
        moments_t run = moments_before_chunk(chunk, t, runs);
        tile_units next;
        load_units(t, next);
        while (t.first < t.count) {
            const tile_units now = next;
            scan_tile after = t;
            after.first += MOMENTS_TILE;
            load_heads(t);
            if (after.first < t.count)
                load_units(after, next);
            barrier();
            tile_moments m;
            run = add_tile(t, now, run, true, m);
            if (m.first.heads != 0)
                give_runs_of_unit(t, 0, m.first, runs);
            if (m.second.heads != 0)
                give_runs_of_unit(t, 1, m.second, runs);
            runs = plus(runs, heads_of_tile());
            t = after;
        }
        if (chunk + 1 == p.chunks && THREAD == 0) /* the end of the input ends a run */
            give_moments_of_run(p.extent, minus(runs, 1u), run.squares,
                                double_of_integer(minus(p.extent, run.begin), false));
    }
}
