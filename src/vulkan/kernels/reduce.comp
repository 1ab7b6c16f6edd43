/* Reductions of all values and along an axis: an array of outer x extent x inner, seen as columns of 'extent' elements,
 * each cut into chunks. Workgroups fold the chunks of 'width' neighbouring columns; with one chunk that is the result,
 * else it is an accumulator, and another launch of this kernel folds those, which lie as rows of accumulators. Order and
 * cut depend on the shape alone, so results are the same bits every run. The scans' first pass is this kernel, too. */
struct stretch {
    uint64_t x, y;       /* address of the column's first element */
    uint64_t begin, end; /* rows */
    uint64_t before;     /* the number of row 0 */
};

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
void add_vector(inout sum total, uvec4 x, uvec4 y, uint64_t number) {
    const uint log = IN_LOG, vector = 16u >> log;
    UNROLLED for (uint k = 0; k < vector; k++) {
        const uvec2 partner = TWO_INPUTS ? pick(y, k, log) : uvec2(0);
        total.lane = combine(total.lane, lift_bits(pick(x, k, log), partner, number + k));
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
    /* Whether there are NaNs shows once a vector: those of one sign lie beyond the infinity that comes first, those of the
     * other beyond the other one, in the order of the bits themselves. */
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

/* Neighbouring threads, of which this is 'part' of 'parts', load neighbouring vectors. Of monoids that
 * choose an element, only which vector has it is remembered, and that is looked at again in the end. */
acc_t fold_vectors(stretch s, uint part, uint parts) {
    const uint log = IN_LOG, vector = 16u >> log, apart = parts * vector;
    const uint64_t step_length = uint64_t(apart * UNROLL);
    sum total = empty_sum();
    uint64_t first = s.begin + part * vector, step = s.begin;
#if CHOOSES
    VALUE best = last_value();
    uint vectors = 0, found = 0;
#endif
    for (; step + step_length <= s.end; step += step_length, first += step_length) {
        uvec4 x[UNROLL], y[UNROLL];
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            x[u] = load_vector(s.x + (first + u * apart << log));
#if CHOOSES
        UNROLLED for (uint u = 0; u < UNROLL; u++) {
            const VALUE value = first_of_vector(x[u]);
            if (goes_before(value, best)) {
                best = value;
                found = vectors + u;
            }
        }
        vectors += UNROLL;
#else
        UNROLLED for (uint u = 0; u < UNROLL && TWO_INPUTS; u++)
            y[u] = load_vector(s.y + (first + u * apart << log));
        expect(total, vector * UNROLL);
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            add_vector(total, x[u], y[u], s.before + first + u * apart);
#endif
    }
#if CHOOSES
    if (vectors > 0) {
        const uint64_t at = s.begin + part * vector + uint64_t(found) * apart;
        add_vector(total, load_vector(s.x + (at << log)), uvec4(0), s.before + at);
    }
#endif
    expect(total, vector * UNROLL);
    if (first < s.end) {
        uvec4 x[UNROLL], y[UNROLL];
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            if (first + u * apart + vector <= s.end) {
                x[u] = load_vector(s.x + (first + u * apart << log));
                y[u] = TWO_INPUTS ? load_vector(s.y + (first + u * apart << log)) : uvec4(0);
            }
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            if (first + u * apart + vector <= s.end)
                add_vector(total, x[u], y[u], s.before + first + u * apart);
    }
    expect(total, vector);
    for (uint64_t i = s.end - (s.end - s.begin & vector - 1) + part; i < s.end; i += parts) /* less than a vector */
        total.lane = combine(total.lane,
                             lift_bits(load_bits(s.x + (i << log), log), partner_at(s.y, i << log), s.before + i));
    return combine(total.acc, widen(total.lane));
}

#endif

#if COMMUTES && MOST_COLUMNS > 1
/* Neighbouring columns in a thread. */
#define COLUMNS_A_THREAD (IN_LOG == 3 ? 2u : 4u)
uvec4 load_columns(uint64_t at) {
    if (IN_LOG >= 2)
        return load_vector(at);
    return uvec4(load_bits(at, IN_LOG + 2), 0, 0);
}

/* Every 'parts'-th row from 'part' on. */
void fold_columns(stretch s, uint part, uint parts, out acc_t acc[MOST_COLUMNS]) {
    const uint log = IN_LOG;
    const uint64_t row_bytes = p.inner << log;
    lane_t lane[MOST_COLUMNS];
    uint held = 0;
    UNROLLED for (uint v = 0; v < MOST_COLUMNS; v++) {
        acc[v] = identity();
        lane[v] = lane_identity();
    }
    uint64_t row = s.begin + part, at = row * row_bytes;
    const uint64_t apart = parts * row_bytes;
#if CHOOSES
    VALUE best[MOST_COLUMNS];
    uint rows = 0, found[MOST_COLUMNS];
    UNROLLED for (uint v = 0; v < MOST_COLUMNS; v++) {
        best[v] = last_value();
        found[v] = 0;
    }
#endif
    for (; row + (UNROLL - 1) * parts < s.end; row += UNROLL * parts, at += UNROLL * apart) {
        uvec4 x[UNROLL], y[UNROLL];
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            x[u] = load_columns(s.x + at + u * apart);
#if CHOOSES
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            UNROLLED for (uint v = 0; v < COLUMNS_A_THREAD; v++) {
                const VALUE value = value_of_bits(pick(x[u], v, log));
                if (goes_before(value, best[v])) {
                    best[v] = value;
                    found[v] = rows + u;
                }
            }
        rows += UNROLL;
#else
        UNROLLED for (uint u = 0; u < UNROLL && TWO_INPUTS; u++)
            y[u] = load_columns(s.y + at + u * apart);
        held += UNROLL;
        if (held > LANE_LIMIT) {
            UNROLLED for (uint v = 0; v < COLUMNS_A_THREAD; v++) {
                acc[v] = combine(acc[v], widen(lane[v]));
                lane[v] = lane_identity();
            }
            held = UNROLL;
        }
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            UNROLLED for (uint v = 0; v < COLUMNS_A_THREAD; v++)
                lane[v] = combine(lane[v], lift_bits(pick(x[u], v, log), TWO_INPUTS ? pick(y[u], v, log) : uvec2(0),
                                                     s.before + row + u * parts));
#endif
    }
#if CHOOSES
    UNROLLED for (uint v = 0; v < COLUMNS_A_THREAD && rows > 0; v++) {
        const uint64_t i = s.begin + part + uint64_t(found[v]) * parts;
        acc[v] = lift_bits(load_bits(s.x + i * row_bytes + (v << log), log), uvec2(0), s.before + i);
    }
#endif
    UNROLLED for (uint v = 0; v < COLUMNS_A_THREAD; v++)
        acc[v] = combine(acc[v], widen(lane[v]));
    for (; row < s.end; row += parts, at += apart) {
        const uvec4 x = load_columns(s.x + at), y = TWO_INPUTS ? load_columns(s.y + at) : uvec4(0);
        UNROLLED for (uint v = 0; v < COLUMNS_A_THREAD; v++)
            acc[v] = combine(acc[v], widen(lift_bits(pick(x, v, log), pick(y, v, log), s.before + row)));
    }
}
#endif

/* Every 'apart'-th row from the first, or, where order matters, a run of them. */
acc_t fold_rows(stretch s, uint part, uint parts) {
    const uint log = IN_LOG;
    sum total = empty_sum();
#if COMMUTES
    const uint64_t apart = parts;
    uint64_t row = s.begin + part, end = s.end;
#else
    const uint64_t each = (s.end - s.begin + parts - 1) / parts, apart = 1;
    uint64_t row = min(s.begin + part * each, s.end), end = min(row + each, s.end);
#endif
    for (; row + 3 * apart < end; row += 4 * apart) {
        uvec2 x[4];
        for (uint u = 0; u < 4; u++)
            x[u] = load_bits(s.x + ((row + u * apart) * p.inner << log), log);
        expect(total, 4);
        for (uint u = 0; u < 4; u++) {
            const uint64_t i = row + u * apart;
            total.lane = combine(total.lane, lift_bits(x[u], partner_at(s.y, i * p.inner << log), s.before + i));
        }
    }
    expect(total, 4);
    for (; row < end; row += apart) {
        const uint64_t at = row * p.inner << log;
        total.lane = combine(total.lane, lift_bits(load_bits(s.x + at, log), partner_at(s.y, at), s.before + row));
    }
    return combine(total.acc, widen(total.lane));
}

#if !COMMUTES
/* The same from the end to the start. */
acc_t fold_back(stretch s, uint part, uint parts) {
    const uint64_t each = (s.end - s.begin + parts - 1) / parts;
    const uint64_t skip = min(part * each, s.end - s.begin), end = s.end - skip;
    uint64_t left = min(each, end - s.begin);
    acc_t acc = identity();
    for (uint64_t row = end; left > 0; left--) {
        row--;
        const uint64_t at = row * p.inner << IN_LOG;
        acc = combine(acc, widen(lift_bits(load_bits(s.x + at, IN_LOG), partner_at(s.y, at), s.before + row)));
    }
    return acc;
}
#endif

acc_t fold_slots(uint64_t column, uint64_t begin, uint64_t end, uint part, uint parts) {
    const uint64_t each = (end - begin + parts - 1) / parts;
    const uint64_t first = min(begin + part * each, end), last = min(first + each, end);
    acc_t acc = identity();
    for (uint64_t c = first; c < last; c += UNROLL) {
        acc_t some[UNROLL];
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            some[u] = c + u < last ? read_slot(p.x, (c + u) * p.columns + column) : identity();
        UNROLLED for (uint u = 0; u < UNROLL; u++)
            acc = combine(acc, some[u]);
    }
    return acc;
}

void give(acc_t acc, uint64_t column, uint64_t chunk, uint64_t extent) {
    if (p.carry != 0)
        acc = combine(read_slot(p.carry, column), acc);
    if (p.total != 0)
        write_slot(p.total, column, acc);
    else if (p.slots != 0)
        write_slot(p.slots, chunk * p.columns + column, acc);
    else
        store_result(p.out_at, column, lower(acc, p.before + extent, 0));
}

/* A workgroup takes 2^columns_log neighbouring columns; 'parts' threads share one, or 'each' neighbours. Of a row, parts are
 * neighbours; else those of neighbouring columns are. */
struct division {
    uint parts, each;
    int columns_log;
    uint part, first; /* a thread's: of the parts; of the columns */
};
division divide_block() {
    const bool by_rows = FROM_SLOTS ? false : !BY_AXIS || p.width == 0;
    division d;
    const int many = findMSB(p.many), width = findMSB(p.width);
    d.parts = by_rows ? p.many : BLOCK >> width;
    d.each = by_rows || FROM_SLOTS || !BY_AXIS ? 1 : p.many;
    d.columns_log = by_rows ? findMSB(BLOCK) - many : width + findMSB(d.each);
    d.part = by_rows ? THREAD & p.many - 1 : THREAD >> width;
    d.first = (by_rows ? THREAD >> many : THREAD & p.width - 1) * d.each;
    return d;
}

acc_t fold_stretch(stretch s, uint part, uint parts) {
#if COMMUTES
    return !BY_AXIS || p.width == 0 ? fold_vectors(s, part, parts) : fold_rows(s, part, parts);
#else
    return REVERSE ? fold_back(s, part, parts) : fold_rows(s, part, parts);
#endif
}

/* A chunk of the thread's column or columns. */
void fold_chunk(division d, uint64_t column, uint64_t begin, uint64_t end, inout acc_t acc[MOST_COLUMNS]) {
    const uint64_t first = first_of_column(column) << IN_LOG;
    const stretch s = stretch(p.x + first, p.y + first, begin, end, p.before);
    if (FROM_SLOTS)
        acc[0] = fold_slots(column, 0, min(p.chunk, p.extent), d.part, d.parts);
#if COMMUTES && MOST_COLUMNS > 1
    else if (d.each > 1)
        fold_columns(s, d.part, d.parts, acc);
#endif
    else
        acc[0] = fold_stretch(s, d.part, d.parts);
}

void reduce() {
    begin_kernel();
    const division d = divide_block();
    const uint64_t panels = (p.columns + (1u << d.columns_log) - 1) >> d.columns_log, all = panels * p.chunks;
    const uint64_t extent = extent_of_run();
    for (uint64_t number = group_number(); number < all; number += group_count()) {
        const uint64_t chunk = p.chunks == 1 ? uint64_t(0) : number / panels;
        const uint64_t column = (number - chunk * panels << d.columns_log) + d.first;
        uint64_t begin = min(chunk * p.chunk, extent), end = min(begin + p.chunk, extent);
        if (REVERSE && !FROM_SLOTS) {
            const uint64_t first = extent - end;
            end = extent - begin;
            begin = first;
        }
        acc_t acc[MOST_COLUMNS];
        UNROLLED for (uint v = 0; v < MOST_COLUMNS; v++)
            acc[v] = identity();
        if (column < p.columns)
            fold_chunk(d, column, begin, end, acc);
        UNROLLED for (uint v = 0; v < MOST_COLUMNS; v++)
            if (v < d.each) {
                const acc_t sum = fold_block(acc[v], p.width == 0 ? 1 : p.width, d.parts);
                if (d.part == 0 && column + v < p.columns)
                    give(sum, column + v, chunk, extent);
            }
    }
}

#if COMMUTES
/* Elements of no column, by the whole workgroup; its first thread receives it. */
acc_t fold_together(uint64_t begin, uint64_t end) {
    return fold_block(fold_vectors(stretch(p.x, p.y, begin, end, 0), THREAD, BLOCK), 1, BLOCK);
}
#endif
