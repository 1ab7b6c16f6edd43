/* Reductions down few columns, which units of reduce.comp do not fit, and the first pass of scans down these. */
#if COMMUTES

/* Some elements of a chunk that are not in whole units: of the thread's column. */
acc_t add_apart(acc_t acc, wide first, wide row, uint begin, uint end) {
    const uint inner = p.inner.x;
    for (uint e = begin; e < end; e++)
        if (e % inner == THREAD) {
            const wide at = plus(first, e);
            const uvec2 x = load_bits(element_at(p.x, at), IN_LOG);
            acc = combine(acc, acc_of(lift_bits(x, uvec2(0), plus(row, e / inner))));
        }
    return acc;
}

#if MOST_COLUMNS > 1
void combine_lanes(narrow_lanes lanes, stretch s, uint ahead, inout acc_t acc[MOST_COLUMNS]) {
    UNROLLED_LANES for (uint v = 0; v < COLUMNS_A_THREAD; v++) {
#if CHOOSES
        const uint e = lanes.a.found * COLUMNS_A_THREAD + v;
        const wide row = plus(s.before, (ahead + e) / p.inner.x);
        const acc_t own = acc_of(lift_bits(load_bits(element_at(s.x, e), IN_LOG), uvec2(0), row));
#else
        const acc_t own = widen(lanes.a);
#endif
        acc[v] = combine(acc[v], own);
        lanes = with_lane(lanes, lanes.a);
    }
}

/* Eight of 'count' units, 'threads' apart; the last one in place of those that are not there. */
#define UNIT_AT(k) plus(first, min(unit + k * threads, count - 1) * bytes)
#define EIGHT_UNITS(load)                                                                                              \
    units_t(load(UNIT_AT(0)), load(UNIT_AT(1)), load(UNIT_AT(2)), load(UNIT_AT(3)), load(UNIT_AT(4)),                  \
            load(UNIT_AT(5)), load(UNIT_AT(6)), load(UNIT_AT(7)))
units_t load_units(address first, uint unit, uint threads, uint count) {
    const uint bytes = COLUMNS_A_THREAD << IN_LOG;
    if ((first.x & bytes - 1) == 0)
        return EIGHT_UNITS(load_whole);
    return EIGHT_UNITS(load_in_words);
}

/* Every 'threads'-th unit of a stretch, before which 'ahead' elements lie. */
void fold_units(stretch s, uint threads, uint ahead, inout acc_t acc[MOST_COLUMNS]) {
    narrow_lanes lanes = lanes_from(THREAD);
    uint held = 0;
    for (uint unit = THREAD; unit < s.count; unit += 8 * threads) {
        units_t x = load_units(s.x, unit, threads, s.count);
        held += 8;
        if (CHOOSES == 0 && held > LANE_LIMIT) {
            combine_lanes(lanes, s, ahead, acc);
            lanes = lanes_from(THREAD);
            held = 8;
        }
        UNROLLED_LANES for (uint u = 0; u < 8; u++) {
            if (unit + u * threads < s.count)
                add_unit(lanes, x.a, x.a, unit + u * threads, wide(0));
            x = next_units(x);
        }
    }
    if (THREAD < s.count)
        combine_lanes(lanes, s, ahead, acc);
}
#define LANES_OF_UNIT COLUMNS_A_THREAD
#else /* lanes are long */
#define LANES_OF_UNIT 1u
void fold_units(stretch s, uint threads, uint ahead, inout acc_t acc[MOST_COLUMNS]) {
    acc[0] = fold_rows(s, THREAD, threads);
}
#endif

/* Rows lie one after the other, so a chunk of them is one stretch of memory, which threads load in units of
 * LANES_OF_UNIT elements. p.width threads do so: their units are whole rows together, so a lane of a thread meets one
 * column only. After p.many threads the columns repeat. */
void narrow_columns() {
    begin_kernel();
    const uint each = LANES_OF_UNIT, inner = p.inner.x, threads = p.width, period = p.many;
    for (uint number = group_number(); number < p.panels * p.chunks; number += group_count()) {
        const uint chunk = number / p.panels, slab = number % p.panels;
        uint length;
        wide begin = begin_of_chunk(chunk, p.extent, length);
        if (REVERSE)
            begin = minus(minus(p.extent, begin), length);
        const wide row = plus(p.before, begin);
        const wide first = times(plus(times(p.extent, slab), begin), inner);
        const uint elements = length * inner, apart = min(0u - first.x & each - 1, elements);
        const uint units = (elements - apart) / each;
        acc_t acc[MOST_COLUMNS], total = identity();
        UNROLLED for (uint v = 0; v < MOST_COLUMNS; v++) acc[v] = identity();
        if (THREAD < threads)
            fold_units(stretch_of(plus(first, apart), units, row), threads, apart, acc);
        const uint place = (THREAD + inner - apart % inner) % inner; /* of the column's first lane among all */
        UNROLLED_LANES for (uint v = 0; v < MOST_COLUMNS; v++) if (v < each) {
            acc_t own = acc[v];
            barrier(); /* earlier use of the memory */
            shared_slots[THREAD] = own;
            for (uint count = threads / period; count > 1;) {
                const uint left = (count + 1) / 2;
                barrier();
                if (THREAD < (count - left) * period) {
                    own = combine(own, shared_slots[THREAD + left * period]);
                    shared_slots[THREAD] = own;
                }
                count = left;
            }
            barrier();
            for (uint at = place; at < each * period && THREAD < inner; at += inner)
                if (at % each == v)
                    total = combine(total, shared_slots[at / each]);
        }
        if (THREAD < inner) {
            total = add_apart(total, first, row, 0, apart);
            total = add_apart(total, first, row, apart + units * each, elements);
            give(total, plus(times(p.inner, slab), THREAD), chunk, p.extent);
        }
    }
}
#else
void narrow_columns() {}
#endif
