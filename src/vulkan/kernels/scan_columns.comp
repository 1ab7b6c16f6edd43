/* Scans along an axis whose elements do not lie next to each other, and along short rows: a thread takes a chunk of a
 * column, and neighbouring threads take neighbouring columns. Where results are narrower than a word, it takes four
 * columns of one row, so that what threads store are words. */
const uint ROWS_IN_FLIGHT = 16;

/* A thread's position in memory and in the column. */
struct scan_place {
    address x, y, out_at;
    wide row;
};
scan_place place_of(wide element, wide row) {
    return scan_place(element_at(p.x, element), element_at(p.y, element),
                      plus(p.out_at, shifted_up(times(element, PER_RESULT), OUT_LOG)), row);
}
wide moved(wide at, wide by) {
    return REVERSE ? minus(at, by) : plus(at, by);
}
scan_place next_place(scan_place at, scan_place apart) {
    return scan_place(moved(at.x, apart.x), moved(at.y, apart.y), moved(at.out_at, apart.out_at),
                      moved(at.row, wide_of(1u)));
}

/* Whether elements and results lie where memory of their size does: asked once, it is known of all. */
bool is_natural(address array, uint log) {
    return (array.x & (1u << log) - 1u) == 0;
}
uvec2 load_natural(address at) {
    return IN_LOG == 3 ? pairs_at(at).pair[0] : load_aligned(at, IN_LOG);
}
void store_natural(address at, result_t r) {
    if (OUT_LOG < 2) {
        store_result(at, wide(0), r);
        return;
    }
    if (OUT_LOG == 3)
        pairs_at(at).pair[0] = r.first;
    else
        words_at(at).word[0] = r.first.x;
#if PER_RESULT == 2
    if (OUT_LOG == 3)
        pairs_at(at).pair[1] = r.second;
    else
        words_at(at).word[1] = r.second.x;
#endif
}

/* The value after an element; its result, for which 'count' elements have been combined. */
acc_t scan_element(acc_t run, uvec2 x, uvec2 y, scan_place at, wide count, out result_t result) {
    const acc_t next = combine(run, acc_of(lift_bits(x, y, plus(p.before, at.row))));
    result = lower(INCLUSIVE ? next : run, count, wide(0));
    return next;
}

void scan_chunk(uint chunk, wide column) {
    uint length;
    const wide begin = begin_of_chunk(chunk, p.extent, length);
    wide count = plus(plus(p.before, begin), INCLUSIVE ? 1u : 0u);
    const wide row = REVERSE ? minus(minus(p.extent, begin), 1u) : begin;
    scan_place at = place_of(elements_before(column, row), row);
    const scan_place apart =
        scan_place(shifted_up(p.inner, IN_LOG), shifted_up(p.inner, IN_LOG),
                   shifted_up(times(p.inner, PER_RESULT), OUT_LOG), wide(0));
    const bool natural = is_natural(p.x, IN_LOG) && (!TWO_INPUTS || is_natural(p.y, IN_LOG)) &&
                         is_natural(p.out_at, OUT_LOG);
    acc_t run = given(p.slots) ? read_slot(p.slots, number_of_slot(chunk, column)) : base_of(column);
    for (; natural && length >= ROWS_IN_FLIGHT; length -= ROWS_IN_FLIGHT) {
        uvec2 x[ROWS_IN_FLIGHT], y[ROWS_IN_FLIGHT];
        scan_place ahead = at;
        UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
            x[k] = load_natural(ahead.x);
            y[k] = TWO_INPUTS ? load_natural(ahead.y) : uvec2(0);
            ahead = next_place(ahead, apart);
        }
        UNROLLED for (uint k = 0; k < ROWS_IN_FLIGHT; k++) {
            result_t result;
            run = scan_element(run, x[k], y[k], at, plus(count, k), result);
            store_natural(at.out_at, result);
            at = next_place(at, apart);
        }
        count = plus(count, ROWS_IN_FLIGHT);
    }
    for (; length > 0; length--) {
        result_t result;
        run = scan_element(run, load_bits(at.x, IN_LOG), load_partner(at.y), at, count, result);
        store_result(at.out_at, wide(0), result);
        at = next_place(at, apart);
        count = plus(count, 1u);
    }
    if (!given(p.slots) && given(p.total))
        write_slot(p.total, column, run);
}

/* As path.c has it. */
#define BY_FOURS (MOST_COLUMNS > 1 && IN_LOG <= 2 && OUT_LOG < 2 && !is_below(p.inner, 4))
#if MOST_COLUMNS > 1
const uint FOUR = 4, FOURS_IN_FLIGHT = 4;

/* Four results of a row; those of columns before 'first' are another thread's. */
void store_four(address at, result_t r[FOUR], uint first) {
    const uint bytes = PER_RESULT << OUT_LOG;
    uvec4 words = uvec4(0);
    if (first == 0 && FOUR * bytes <= 16) {
        UNROLLED for (uint v = 0; v < FOUR; v++) {
            gather(words, v * bytes, r[v].first);
            if (PER_RESULT == 2)
                gather(words, v * bytes + (1u << OUT_LOG), r[v].second);
        }
        store_bytes(at, words, FOUR * bytes);
    } else {
        UNROLLED for (uint v = 0; v < FOUR; v++)
            if (v >= first)
                store_result(at, wide_of(v), r[v]);
    }
}

/* Scans a column's chunk and its three neighbours'; 'first' is the first of them whose results this thread stores. */
void scan_four(uint chunk, wide column, uint first) {
    uint length;
    const wide begin = begin_of_chunk(chunk, p.extent, length);
    wide count = plus(plus(p.before, begin), INCLUSIVE ? 1u : 0u);
    const wide row = REVERSE ? minus(minus(p.extent, begin), 1u) : begin;
    scan_place at = place_of(elements_before(column, row), row);
    const scan_place apart =
        scan_place(shifted_up(p.inner, IN_LOG), shifted_up(p.inner, IN_LOG),
                   shifted_up(times(p.inner, PER_RESULT), OUT_LOG), wide(0));
    acc_t run[FOUR];
    UNROLLED for (uint v = 0; v < FOUR; v++)
        run[v] = given(p.slots) ? read_slot(p.slots, number_of_slot(chunk, plus(column, v))) : base_of(plus(column, v));
    while (length > 0) {
        uvec4 x[FOURS_IN_FLIGHT], y[FOURS_IN_FLIGHT];
        scan_place ahead = at;
        UNROLLED for (uint k = 0; k < FOURS_IN_FLIGHT; k++) {
            if (k < length) {
                x[k] = load_columns(ahead.x);
                if (TWO_INPUTS)
                    y[k] = load_columns(ahead.y);
            }
            ahead = next_place(ahead, apart);
        }
        UNROLLED for (uint k = 0; k < FOURS_IN_FLIGHT; k++)
            if (k < length) {
                result_t r[FOUR];
                UNROLLED for (uint v = 0; v < FOUR; v++) {
                    const uvec2 partner = TWO_INPUTS ? pick(y[k], v, IN_LOG) : uvec2(0);
                    const acc_t next =
                        combine(run[v], acc_of(lift_bits(pick(x[k], v, IN_LOG), partner, plus(p.before, at.row))));
                    r[v] = lower(INCLUSIVE ? next : run[v], plus(count, k), wide(0));
                    run[v] = next;
                }
                store_four(at.out_at, r, first);
                at = next_place(at, apart);
            }
        count = plus(count, FOURS_IN_FLIGHT);
        length -= min(length, FOURS_IN_FLIGHT);
    }
    UNROLLED for (uint v = 0; v < FOUR; v++)
        if (!given(p.slots) && given(p.total) && v >= first)
            write_slot(p.total, plus(column, v), run[v]);
}

/* Fours of a chunk's columns: each row has whole ones and, if any are left, a last one that overlaps. */
void scan_fours() {
    const wide a_row = shifted_down(plus(p.inner, FOUR - 1), 2);
    wide unused;
    const wide rows = divided(p.columns, p.inner, unused), fours = times(rows, a_row), all = times(fours, p.chunks);
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        const wide number = plus(times(group, BLOCK), THREAD);
        if (less(number, all)) {
            wide four, at;
            const uint chunk = divided(number, fours, four).x;
            const wide row = divided(four, a_row, at), wanted = shifted_up(at, 2);
            const wide column = least(wanted, minus(p.inner, FOUR));
            scan_four(chunk, plus(times(row, p.inner), column), minus(wanted, column).x);
        }
    }
}
#else
void scan_fours() {}
#endif

void scan_columns() {
    begin_kernel();
    if (BY_FOURS) {
        scan_fours();
        return;
    }
    const wide all = times(p.columns, p.chunks);
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        const wide number = plus(times(group, BLOCK), THREAD);
        if (less(number, all)) {
            wide column;
            const uint chunk = divided(number, p.columns, column).x;
            scan_chunk(chunk, column);
        }
    }
}

/* The first pass: chunks to accumulators, a thread each, as those that scan them. They are too short for workgroups. */
void sum_columns() {
    begin_kernel();
    const wide all = times(p.columns, p.chunks);
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        const wide number = plus(times(group, BLOCK), THREAD);
        if (less(number, all)) {
            wide column;
            const uint chunk = divided(number, p.columns, column).x;
            uint length;
            wide begin = begin_of_chunk(chunk, p.extent, length);
            if (REVERSE)
                begin = minus(minus(p.extent, begin), length);
            const stretch s = stretch_of(elements_before(column, begin), length, plus(p.before, begin));
            write_slot(p.slots, number_of_slot(chunk, column), fold_stretch(s, 0, 1));
        }
    }
}
