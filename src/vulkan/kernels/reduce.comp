/* Reductions of all values and along an axis: an array of outer x extent x inner, seen as columns of 'extent' elements,
 * each cut into chunks. Workgroups fold the chunks of 'width' neighbouring columns. With one chunk that is the result.
 * With more it is an accumulator, and another dispatch of this kernel folds the accumulators, which lie as rows. Order
 * and cut depend on the shape alone, so results have the same bits every run. The scans' first pass is this kernel,
 * too. */
layout(constant_id = 13) const bool ALONG_ROWS = false; /* else columns' elements may lie apart */

#define WORD_UNITS 256u
#if COMMUTES
layout(constant_id = 15) const bool AS_STRETCH = false;    /* rows are one stretch of memory (narrow_columns.comp) */
#else
#define AS_STRETCH false
#endif
#if COMMUTES && MOST_COLUMNS > 1
layout(constant_id = 14) const bool ALONG_COLUMNS = false; /* each thread has several of them */
#define IN_ROWS (!ALONG_COLUMNS && (!BY_AXIS || ALONG_ROWS || p.width == 0))
#else
#define IN_ROWS  (!BY_AXIS || ALONG_ROWS || p.width == 0)
#define ALONG_COLUMNS false
#endif

struct stretch {
    address x, y; /* of its first element */
    uint count;   /* rows */
    wide before;  /* the number of its first row */
};
/* From element 'first' of the array on; 'number' of its column. */
stretch stretch_of(wide first, uint count, wide number) {
    return stretch(element_at(p.x, first), element_at(p.y, first), count, number);
}

/* Elements in a lane that takes a bounded number of them. */
struct sum {
    acc_t acc;
    lane_t lane;
    uint held;
};
sum empty_sum() {
    return sum(identity(), lane_identity(), 0);
}
void expect(inout sum s, uint more) {
    s.held += more;
    if (s.held > LANE_LIMIT) {
        s.acc = combine(s.acc, widen(s.lane));
        s.lane = lane_identity();
        s.held = more;
    }
}

#if COMMUTES
/* The elements of a vector of 16 bytes; the first one's number. */
void add_vector(inout sum total, uvec4 x, uvec4 y, wide number) {
    const uint log = IN_LOG, vector = 16u >> log;
    total.lane = prepared(total.lane, x);
    UNROLLED_LANES for (uint k = 0; k < vector; k++) {
        const uvec2 partner = TWO_INPUTS ? pick(y, k, log) : uvec2(0);
        total.lane = added_prepared(total.lane, lift_bits(pick(x, k, log), partner, plus(number, k)));
    }
}
#if CHOOSES
VALUE before_of(VALUE a, VALUE b) {
    return LARGEST ? max(a, b) : min(a, b);
}
/* The extremum of a vector, as a key. */
VALUE first_of_vector(uvec4 x) {
    const uint log = IN_LOG, vector = 16u >> log;
#if VALUE_KIND == KIND_ORDER32
    if (SKIPS_NAN) {
        VALUE first = value_of_bits(pick(x, 0, log));
        UNROLLED for (uint k = 1; k < vector; k++)
            first = before_of(first, value_of_bits(pick(x, k, log)));
        return first;
    }
    /* NaNs are tested once per vector: in the order of the bits, NaNs of one sign lie beyond the first infinity, and
     * those of the other sign beyond the other infinity. */
    const int infinity = 0x7f800000;
    int bits = floatBitsToInt(float_of(pick(x, 0, log), IN)), value = order_of_number(bits), most = bits;
    UNROLLED for (uint k = 1; k < vector; k++) {
        bits = floatBitsToInt(float_of(pick(x, k, log), IN));
        value = before_of(value, order_of_number(bits));
        most = LARGEST ? int(max(uint(most), uint(bits))) : max(most, bits);
    }
    const bool has_nan = LARGEST ? value > infinity || uint(most) > uint(infinity | LEAST)
                                 : value < order_of_number(infinity | LEAST) || most > infinity;
    return has_nan ? -1 - last_value() : value;
#else
    VALUE value = value_of_bits(pick(x, 0, log));
    UNROLLED for (uint k = 1; k < vector; k++)
        value = before_of(value, value_of_bits(pick(x, k, log)));
    return value;
#endif
}
#endif

/* Neighbouring threads, of which this is 'part' of 'parts', a power of two, load neighbouring vectors. Monoids that
 * choose an element remember only the vector that has it, and read that again at the end. Elements before the first vector
 * that lies as loads want it are taken with those after the last one. */
acc_t fold_vectors(stretch all, uint part, uint parts) {
    const uint log = IN_LOG, vector = 16u >> log, lead = 0u - all.x.x & 15u;
    const uint ahead = (lead & (1u << log) - 1u) == 0 ? min(lead >> log, all.count) : 0;
    const stretch s = stretch(element_at(all.x, ahead), element_at(all.y, ahead), all.count - ahead, plus(all.before, ahead));
    const uint vectors = s.count / vector, step = parts * UNROLL;
    sum total = empty_sum();
    uvec4 x[UNROLL], y[UNROLL];
    uint next = part; /* vector of this thread */
#if CHOOSES
    VALUE best = last_value();
    uint seen = 0, found = 0;
#endif
    for (uint end = step; end <= vectors; end += step) {
        load_vectors(plus(s.x, 16 * next), parts, UNROLL, x);
#if CHOOSES
        UNROLLED for (uint u = 0; u < UNROLL; u++) {
            const VALUE value = first_of_vector(x[u]);
            if (goes_before(value, best)) {
                best = value;
                found = seen + u;
            }
        }
        seen += UNROLL;
#else
        if (TWO_INPUTS)
            load_vectors(plus(s.y, 16 * next), parts, UNROLL, y);
        expect(total, vector * UNROLL);
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++)
            add_vector(total, x[u], y[u], plus(s.before, (next + u * parts) * vector));
#endif
        next += step;
    }
    expect(total, vector * UNROLL);
    const uint left = next < vectors ? (vectors - next - 1 >> findMSB(parts)) + 1 : 0;
    const uint single = all.count - vectors * vector; /* elements that are in no whole vector, less than two vectors */
    uvec2 single_x = uvec2(0), single_y = uvec2(0);
    if (left > 0) {
        load_vectors(plus(s.x, 16 * next), parts, left, x);
        if (TWO_INPUTS)
            load_vectors(plus(s.y, 16 * next), parts, left, y);
    }
    if (part < single) { /* the first of them is loaded together with the vectors */
        const uint i = part < ahead ? part : part + vectors * vector;
        single_x = load_element(element_at(all.x, i));
        single_y = TWO_INPUTS ? load_element(element_at(all.y, i)) : uvec2(0);
    }
    if (left > 0) {
#if CHOOSES
        UNROLLED for (uint u = 0; u < UNROLL; u++) {
            const VALUE value = first_of_vector(x[u]);
            if (u < left && goes_before(value, best)) {
                best = value;
                found = seen + u;
            }
        }
#else
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++)
            if (u < left)
                add_vector(total, x[u], y[u], plus(s.before, (next + u * parts) * vector));
#endif
    }
#if CHOOSES
    if (seen + left > 0) {
        const uint chosen = part + found * parts;
        add_vector(total, load_vector(plus(s.x, 16 * chosen)), uvec4(0), plus(s.before, chosen * vector));
    }
#endif
    expect(total, 2 * vector);
    for (uint k = part; k < single; k += parts) {
        const uint i = k < ahead ? k : k + vectors * vector;
        if (k != part) {
            single_x = load_element(element_at(all.x, i));
            single_y = TWO_INPUTS ? load_element(element_at(all.y, i)) : uvec2(0);
        }
        total.lane = added(total.lane, lift_bits(single_x, single_y, plus(all.before, i)));
    }
    return combine(total.acc, widen(total.lane));
}

#endif

/* Neighbouring columns in a thread. */
#define COLUMNS_A_THREAD (IN_LOG == 3 ? 2u : 4u)
/* COLUMNS_A_THREAD neighbouring elements, which begin where as many bytes do, or lesser parts of them, or anywhere. */
uvec4 load_whole(address at) {
    const uint log = min(IN_LOG + 2, 4);
    return log == 4   ? vectors_at(at).vector[0]
           : log == 3 ? uvec4(pairs_at(at).pair[0], 0, 0)
                      : uvec4(load_word(at), 0, 0, 0);
}
uvec4 load_four_words(address at) {
    words_at from = words_at(at);
    return uvec4(from.word[0], from.word[1], from.word[2], from.word[3]);
}
uvec4 load_two_words(address at) {
    words_at from = words_at(at);
    return uvec4(from.word[0], from.word[1], 0, 0);
}
uvec4 load_in_words(address at) {
    return load_within_words(at, min(IN_LOG + 2, 4));
}
uvec4 load_columns(address at) {
    if (IN_LOG >= 2)
        return load_vector(at);
    return uvec4(load_bits(at, IN_LOG + 2), 0, 0);
}

/* The columns after the first one. */
uvec4 next_columns(uvec4 x) {
    if (IN_LOG >= 2)
        return IN_LOG == 3 ? x.zwxy : x.yzwx;
    return IN_LOG == 1 ? uvec4(x.x >> 16 | x.y << 16, x.y >> 16, 0, 0) : uvec4(x.x >> 8, 0, 0, 0);
}

#if COMMUTES && MOST_COLUMNS > 1
/* A thread's units, each of COLUMNS_A_THREAD elements, that are on their way, and what it has of each column. These are
 * no arrays, because drivers may keep arrays in memory: loops take what comes first, and the rest moves up. */
struct units_t {
    uvec4 a, b, c, d, e, f, g, h;
};
units_t next_units(units_t x) {
    return units_t(x.b, x.c, x.d, x.e, x.f, x.g, x.h, x.h);
}
#if CHOOSES
struct narrow_lane {
    VALUE best;
    uint found; /* the unit that has it, or the first */
};
narrow_lane lane_from(uint unit) {
    return narrow_lane(last_value(), unit);
}
void add_narrow(inout narrow_lane lane, uvec4 x, uvec4 y, uint unit, wide number) {
    const VALUE value = value_of_bits(pick(x, 0, IN_LOG));
    if (goes_before(value, lane.best))
        lane = narrow_lane(value, unit);
}
#else
#define narrow_lane lane_t
narrow_lane lane_from(uint unit) {
    return lane_identity();
}
void add_narrow(inout lane_t lane, uvec4 x, uvec4 y, uint unit, wide number) {
    lane = added(lane, lift_bits(pick(x, 0, IN_LOG), TWO_INPUTS ? pick(y, 0, IN_LOG) : uvec2(0), number));
}
#endif
struct narrow_lanes {
    narrow_lane a, b, c, d;
};
narrow_lanes lanes_from(uint unit) {
    return narrow_lanes(lane_from(unit), lane_from(unit), lane_from(unit), lane_from(unit));
}
narrow_lanes with_lane(narrow_lanes l, narrow_lane last) {
    return COLUMNS_A_THREAD == 4 ? narrow_lanes(l.b, l.c, l.d, last) : narrow_lanes(l.b, last, l.c, l.d);
}
void add_unit(inout narrow_lanes lanes, uvec4 x, uvec4 y, uint unit, wide number) {
    UNROLLED_LANES for (uint v = 0; v < COLUMNS_A_THREAD; v++) {
        narrow_lane lane = lanes.a;
        add_narrow(lane, x, y, unit, number);
        lanes = with_lane(lanes, lane);
        x = next_columns(x);
        if (TWO_INPUTS)
            y = next_columns(y);
    }
}

/* Eight rows, 'apart' from each other, of which 'left' come after the first; the last one in place of the others. How
 * they are aligned is asked once, as nothing must come between loads. */
#define NEXT_ROW(k) at = left >= (k) ? plus(at, apart) : at;
#define LOAD_ROWS(load)                                                                                                \
    {                                                                                                                  \
        x.a = load(at);                                                                                                \
        NEXT_ROW(1)                                                                                                    \
        x.b = load(at);                                                                                                \
        NEXT_ROW(2)                                                                                                    \
        x.c = load(at);                                                                                                \
        NEXT_ROW(3)                                                                                                    \
        x.d = load(at);                                                                                                \
        NEXT_ROW(4)                                                                                                    \
        x.e = load(at);                                                                                                \
        NEXT_ROW(5)                                                                                                    \
        x.f = load(at);                                                                                                \
        NEXT_ROW(6)                                                                                                    \
        x.g = load(at);                                                                                                \
        NEXT_ROW(7)                                                                                                    \
        x.h = load(at);                                                                                                \
    }
units_t load_rows_of_units(address at, wide apart, uint left) {
    const uint log = min(IN_LOG + 2, 4), either = at.x | apart.x;
    units_t x;
    if ((either & (1u << log) - 1u) == 0)
        LOAD_ROWS(load_whole)
    else if (log == 4 && (either & 7u) == 0)
        LOAD_ROWS(load_two_pairs)
    else if (log == 4 && (either & 3u) == 0)
        LOAD_ROWS(load_four_words)
    else if (log == 3 && (either & 3u) == 0)
        LOAD_ROWS(load_two_words)
    else
        LOAD_ROWS(load_in_words)
    return x;
}

/* Adds the lanes of a stretch's columns to accumulators. */
void combine_rows(narrow_lanes lanes, stretch s, inout acc_t acc[MOST_COLUMNS]) {
    UNROLLED_LANES for (uint v = 0; v < COLUMNS_A_THREAD; v++) {
#if CHOOSES
        const address chosen = plus(plus(s.x, times(shifted_up(p.inner, IN_LOG), lanes.a.found)), v << IN_LOG);
        const acc_t own = acc_of(lift_bits(load_bits(chosen, IN_LOG), uvec2(0), plus(s.before, lanes.a.found)));
#else
        const acc_t own = widen(lanes.a);
#endif
        acc[v] = combine(acc[v], own);
        lanes = with_lane(lanes, lanes.a);
    }
}

/* Every 'parts'-th row from 'part' on. */
void fold_columns(stretch s, uint part, uint parts, inout acc_t acc[MOST_COLUMNS]) {
    const wide row_bytes = shifted_up(p.inner, IN_LOG), apart = times(row_bytes, parts);
    narrow_lanes lanes = lanes_from(part);
    uint held = 0;
    wide at = times(row_bytes, part);
    for (uint row = part; row < s.count; row += 8 * parts) {
        const uint left = (s.count - row - 1) / parts;
        units_t x = load_rows_of_units(plus(s.x, at), apart, left), y = x;
        if (TWO_INPUTS)
            y = load_rows_of_units(plus(s.y, at), apart, left);
        at = plus(at, times(apart, 8));
        held += 8;
        if (CHOOSES == 0 && held > LANE_LIMIT) {
            combine_rows(lanes, s, acc);
            lanes = lanes_from(part);
            held = 8;
        }
        UNROLLED_LANES for (uint u = 0; u < 8; u++) {
            if (u <= left)
                add_unit(lanes, x.a, y.a, row + u * parts, plus(s.before, row + u * parts));
            x = next_units(x);
            if (TWO_INPUTS)
                y = next_units(y);
        }
    }
    if (part < s.count)
        combine_rows(lanes, s, acc);
}
#endif

/* Every 'apart'-th row from the first or, if order matters, consecutive rows. How elements are aligned is asked once:
 * where they do not lie in words, rows are taken one by one. */
acc_t fold_rows(stretch s, uint part, uint parts) {
    const uint log = IN_LOG;
    const wide row_bytes = shifted_up(AS_STRETCH ? wide_of(1u) : p.inner, log);
    sum total = empty_sum();
#if COMMUTES
    const uint apart = parts, end = s.count;
    uint row = part;
#else
    const uint each = (s.count + parts - 1) / parts, apart = 1;
    uint row = min(part * each, s.count);
    const uint end = min(row + each, s.count);
#endif
    const wide bytes_apart = times(row_bytes, apart);
    const bool aligned = is_aligned(p.x, log) && (!TWO_INPUTS || is_aligned(p.y, log));
    wide at = times(row_bytes, row);
    for (; aligned && row + (UNROLL - 1) * apart < end; row += UNROLL * apart) {
        uvec2 x[UNROLL], y[UNROLL];
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++) {
            x[u] = load_aligned(plus(s.x, at), log);
            y[u] = TWO_INPUTS ? load_aligned(plus(s.y, at), log) : uvec2(0);
            at = plus(at, bytes_apart);
        }
        expect(total, UNROLL);
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++)
            total.lane = added(total.lane, lift_bits(x[u], y[u], plus(s.before, row + u * apart)));
    }
    for (; row < end; row += apart) {
        expect(total, 1);
        const uvec2 x = load_bits(plus(s.x, at), log);
        total.lane = added(total.lane, lift_bits(x, load_partner(plus(s.y, at)), plus(s.before, row)));
        at = plus(at, bytes_apart);
    }
    return combine(total.acc, widen(total.lane));
}

#if !COMMUTES
/* The same from the end to the start. */
acc_t fold_back(stretch s, uint part, uint parts) {
    const wide row_bytes = shifted_up(p.inner, IN_LOG);
    const uint each = (s.count + parts - 1) / parts, end = s.count - min(part * each, s.count);
    wide at = times(row_bytes, end);
    acc_t acc = identity();
    for (uint row = end, left = min(each, end); left > 0; left--) {
        row--;
        at = minus(at, row_bytes);
        const uvec2 x = load_bits(plus(s.x, at), IN_LOG);
        acc = combine(acc, acc_of(lift_bits(x, load_partner(plus(s.y, at)), plus(s.before, row))));
    }
    return acc;
}
#endif

acc_t fold_slots(wide column, uint count, uint part, uint parts) {
    const uint each = (count + parts - 1) / parts, first = min(part * each, count), last = min(first + each, count);
    acc_t acc = identity();
    for (uint c = first; c < last; c += UNROLL) {
        acc_t some[UNROLL];
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            some[u] = c + u < last ? read_slot(p.x, number_of_slot(c + u, column)) : identity();
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            acc = combine(acc, some[u]);
    }
    return acc;
}

void give(acc_t acc, wide column, uint chunk, wide extent) {
    if (given(p.carry))
        acc = combine(read_slot(p.carry, column), acc);
    if (given(p.total))
        write_slot(p.total, column, acc);
    else if (given(p.slots))
        write_slot(p.slots, number_of_slot(chunk, column), acc);
    else
        store_result(p.out_at, column, lower(acc, plus(p.before, extent), wide(0)));
}

/* The columns [first, count) of neighbouring ones; others are another thread's. Results that fill words need not be
 * merged with others. */
void give_columns(acc_t acc[MOST_COLUMNS], uint first, uint count, wide column, uint chunk, wide extent) {
    const uint log = OUT_LOG, bytes = count << log;
    const address to = plus(p.out_at, shifted_up(column, log));
    const bool are_words = PER_RESULT == 1 && (bytes & 3u) == 0 && (to.x & 3u) == 0;
    const bool in_words = are_words && first == 0 && !given(p.total) && !given(p.slots);
    uvec4 words[2];
    words[0] = words[1] = uvec4(0);
    UNROLLED_LANES for (uint v = 0; v < (ALONG_ROWS ? 1 : MOST_COLUMNS); v++)
        if (v >= first && v < count) {
            if (!in_words) {
                give(acc[v], plus(column, v), chunk, extent);
            } else {
                if (given(p.carry))
                    acc[v] = combine(read_slot(p.carry, plus(column, v)), acc[v]);
                gather(words[v << log >> 4], v << log & 15u, lower(acc[v], plus(p.before, extent), wide(0)).first);
            }
        }
    if (!in_words)
        return;
    UNROLLED_LANES for (uint k = 0; k < (MOST_COLUMNS + 1) / 2; k++) {
        const address at = plus(to, 16 * k);
        if ((bytes & 15u) == 0 && (to.x & 15u) == 0) {
            if (16 * k < bytes)
                vectors_at(at).vector[0] = words[k];
        } else {
            UNROLLED_LANES for (uint w = 0; w < 4; w++)
                if (16 * k + 4 * w < bytes)
                    words_at(at).word[w] = words[k][w];
        }
    }
}

/* A workgroup takes 2^units_log neighbouring units, which are columns or 'each' neighbours of them; 'parts' threads share
 * one. In a row the parts are neighbours; otherwise neighbouring columns are. */
struct division {
    uint parts, each, units_log;
    uint part, unit; /* a thread's: of the parts; of the units */
};
division divide_block() {
    const bool by_rows = FROM_SLOTS ? false : IN_ROWS;
    division d;
    const uint threads = BY_AXIS ? p_team : BLOCK; /* that share a row */
    const int many = findMSB(threads), width = findMSB(p.width);
    d.parts = by_rows ? threads : BLOCK >> width;
    d.each = by_rows || FROM_SLOTS || !BY_AXIS ? 1 : p.many;
    d.units_log = uint(by_rows ? findMSB(BLOCK) - many : width);
    d.part = by_rows ? THREAD & threads - 1 : THREAD >> width;
    d.unit = by_rows ? THREAD >> many : THREAD & p.width - 1;
    return d;
}

/* Whether units of narrow results begin where words do, wherever the row begins (path.c: units_to_fold). */
bool fits_words(division d) {
    return ALONG_COLUMNS && d.each == 4 && OUT_LOG < 2 && PER_RESULT == 1 &&
           ((p.inner.x & 3u) != 0 || !is_below(p.inner, WORD_UNITS));
}

/* The first column of a thread's unit, whose columns are [from, to) after it. The units at the ends of a row may overlap
 * others, as each loads whole vectors. */
wide column_of(division d, uint panel, out uint from, out uint to) {
    const wide unit = plus(shifted_up(wide_of(panel), d.units_log), d.unit);
    const uint each_log = uint(findMSB(d.each));
    const bool in_words = fits_words(d);
    from = 0;
    to = d.each;
    if (!in_words && (d.each == 1 || (p.inner.x & d.each - 1) == 0))
        return shifted_up(unit, each_log);
    wide at;
    const wide units = in_words ? shifted_down(plus(p.inner, 6u), 2u) : plus(shifted_down(p.inner, each_log), 1u);
    const wide row = divided(unit, units, at), first = times(row, p.inner), last = minus(p.inner, d.each);
    const wide wanted = shifted_up(at, each_log);
    /* results of the row before in the word with the row's first one */
    const uint ahead = in_words ? (plus(p.out_at, shifted_up(first, OUT_LOG)).x & 3u) >> OUT_LOG : 0;
    if (in_words && at == wide(0)) {
        to = d.each - ahead;
        return first;
    }
    const wide begin = minus(wanted, ahead), column = least(begin, last);
    from = minus(begin, column).x; /* not less than 'to' if no column is left */
    return plus(first, column);
}

acc_t fold_stretch(stretch s, uint part, uint parts) {
#if COMMUTES
    return IN_ROWS ? fold_vectors(s, part, parts) : fold_rows(s, part, parts);
#else
    return REVERSE ? fold_back(s, part, parts) : fold_rows(s, part, parts);
#endif
}

/* A chunk of the thread's column or columns. */
void fold_chunk(division d, wide column, uint chunk, wide extent, inout acc_t acc[MOST_COLUMNS]) {
    if (FROM_SLOTS) {
        acc[0] = fold_slots(column, at_most(p.extent, p.chunk), d.part, d.parts);
        return;
    }
    uint length;
    wide begin = begin_of_chunk(chunk, extent, length);
    if (REVERSE)
        begin = minus(minus(extent, begin), length);
    const stretch s = stretch_of(elements_before(column, begin), length, plus(p.before, begin));
#if COMMUTES && MOST_COLUMNS > 1
    if (ALONG_COLUMNS) {
        fold_columns(s, d.part, d.parts, acc);
        return;
    }
#endif
    acc[0] = fold_stretch(s, d.part, d.parts);
}

void reduce() {
    begin_kernel();
    const division d = divide_block();
    const wide extent = extent_of_run();
    for (uint number = group_number(); number < p.panels * p.chunks; number += group_count()) {
        const uint chunk = number / p.panels, panel = number % p.panels;
        uint from, to;
        const wide column = column_of(d, panel, from, to);
        acc_t acc[MOST_COLUMNS];
        UNROLLED for (uint v = 0; v < MOST_COLUMNS; v++)
            acc[v] = identity();
        if (less(column, p.columns))
            fold_chunk(d, column, chunk, extent, acc);
        UNROLLED_LANES for (uint v = 0; v < (ALONG_ROWS ? 1 : MOST_COLUMNS); v++)
            if (v < d.each && d.parts > 1)
                acc[v] = fold_block(acc[v], ALONG_ROWS || p.width == 0 ? 1 : p.width, d.parts);
        if (d.part == 0 && less(column, p.columns))
            give_columns(acc, from, to, column, chunk, extent);
    }
}

#if COMMUTES
/* The whole workgroup folds elements that are no column; its first thread receives the result. */
acc_t fold_together(wide first, uint length) {
    return fold_block(fold_vectors(stretch_of(first, length, first), THREAD, BLOCK), 1, BLOCK);
}
#endif
