/* Columns of few rows: a thread has COLUMNS_A_THREAD neighbours of them, whose results are stored together. Elements
 * are in no arrays, because drivers may keep arrays in memory. */
#if COMMUTES

/* The same columns of each row. */
struct few_vectors {
    uvec4 a, b, c, d;
};
#define LOAD_FEW(load)                                                                                                 \
    {                                                                                                                  \
        rows.a = load(at);                                                                                             \
        if (p.extent.x > 1)                                                                                            \
            rows.b = load(plus(at, apart));                                                                            \
        if (p.extent.x > 2)                                                                                            \
            rows.c = load(plus(at, times(apart, 2u)));                                                                 \
        if (p.extent.x > 3)                                                                                            \
            rows.d = load(plus(at, times(apart, 3u)));                                                                 \
    }
uvec4 load_two_pairs(address at) {
    return uvec4(pairs_at(at).pair[0], pairs_at(at).pair[1]);
}
uvec4 load_four_words(address at) {
    words_at from = words_at(at);
    return uvec4(from.word[0], from.word[1], from.word[2], from.word[3]);
}
uvec4 load_one(address at) {
    return uvec4(load_bits(at, IN_LOG), 0, 0);
}
/* Of all columns of a unit or of one. How they are aligned is asked once, as nothing must come between loads. */
few_vectors load_few(address at, bool is_whole) {
    const uint log = min(IN_LOG + 2, 4);
    const wide apart = shifted_up(p.inner, IN_LOG);
    const uint either = at.x | (p.extent.x > 1 ? apart.x : 0);
    few_vectors rows = few_vectors(uvec4(0), uvec4(0), uvec4(0), uvec4(0));
    if (!is_whole)
        LOAD_FEW(load_one)
    else if ((either & (1u << log) - 1u) == 0)
        LOAD_FEW(load_whole)
    else if (log == 4 && (either & 7u) == 0)
        LOAD_FEW(load_two_pairs)
    else if (log == 4 && (either & 3u) == 0)
        LOAD_FEW(load_four_words)
    else
        LOAD_FEW(load_in_words)
    return rows;
}

/* Four output elements, each pair of which is of 8 bytes or more, or the first two. */
void store_together(address to, uvec2 a, uvec2 b, uvec2 c, uvec2 d, uint count) {
    const uint log = OUT_LOG, ones = log == 0 ? 255u : 65535u;
    if (log == 3) {
        vectors_at(to).vector[0] = uvec4(a, b);
        if (count == 4)
            vectors_at(to).vector[1] = uvec4(c, d);
    } else if (log == 2) {
        if (count == 4)
            vectors_at(to).vector[0] = uvec4(a.x, b.x, c.x, d.x);
        else
            pairs_at(to).pair[0] = uvec2(a.x, b.x);
    } else if (log == 1) {
        const uint low = a.x & ones | b.x << 16;
        if (count == 4)
            pairs_at(to).pair[0] = uvec2(low, c.x & ones | d.x << 16);
        else
            words_at(to).word[0] = low;
    } else {
        words_at(to).word[0] = a.x & ones | (b.x & ones) << 8 | (c.x & ones) << 16 | d.x << 24;
    }
}
/* The results of a unit, or of its first column alone. Rows of a scan may lie apart by no whole vectors. */
void store_unit_of_few(address to, result_t r0, result_t r1, result_t r2, result_t r3, bool is_whole) {
    const uint each = COLUMNS_A_THREAD;
    if (!is_whole || (to.x & min(each * RESULT, 16) - 1) != 0) {
        store_result(to, wide_of(0u), r0);
        if (is_whole)
            store_result(to, wide_of(1u), r1);
        if (is_whole && each == 4) {
            store_result(to, wide_of(2u), r2);
            store_result(to, wide_of(3u), r3);
        }
        return;
    }
#if PER_RESULT == 2
    store_together(to, r0.first, r0.second, r1.first, r1.second, 4);
    if (each == 4)
        store_together(plus(to, 2 * RESULT), r2.first, r2.second, r3.first, r3.second, 4);
#else
    store_together(to, r0.first, r1.first, r2.first, r3.first, each);
#endif
}

lifted_t lift_few(uvec4 x, uint v, uint row) {
    return lift_bits(pick(x, v, IN_LOG), uvec2(0), plus(p.before, row));
}

/* One column after the other, which takes few registers. */
result_t fold_few(few_vectors x, uint v, wide column) {
    lane_t lane = added(lane_identity(), lift_few(x.a, v, 0));
    if (p.extent.x > 1)
        lane = added(lane, lift_few(x.b, v, 1));
    if (p.extent.x > 2)
        lane = added(lane, lift_few(x.c, v, 2));
    if (p.extent.x > 3)
        lane = added(lane, lift_few(x.d, v, 3));
    acc_t acc = widen(lane);
    if (given(p.carry))
        acc = combine(read_slot(p.carry, plus(column, v)), acc);
    if (given(p.total))
        write_slot(p.total, plus(column, v), acc);
    return lower(acc, plus(p.before, p.extent), wide(0));
}

/* A scan's results of a column, of each row. */
struct few_results {
    result_t a, b, c, d;
};
result_t scan_row(inout acc_t run, uvec4 x, uint v, uint row) {
    const acc_t next = combine(run, acc_of(lift_few(x, v, row)));
    const uint count = (REVERSE ? p.extent.x - 1 - row : row) + (INCLUSIVE ? 1 : 0);
    const result_t result = lower(INCLUSIVE ? next : run, plus(p.before, count), wide(0));
    run = next;
    return result;
}
few_results scan_few(few_vectors x, uint v, wide column) {
    few_results results;
    acc_t run = base_of(plus(column, v));
    if (REVERSE && p.extent.x > 3)
        results.d = scan_row(run, x.d, v, 3);
    if (REVERSE && p.extent.x > 2)
        results.c = scan_row(run, x.c, v, 2);
    if (REVERSE && p.extent.x > 1)
        results.b = scan_row(run, x.b, v, 1);
    results.a = scan_row(run, x.a, v, 0);
    if (!REVERSE && p.extent.x > 1)
        results.b = scan_row(run, x.b, v, 1);
    if (!REVERSE && p.extent.x > 2)
        results.c = scan_row(run, x.c, v, 2);
    if (!REVERSE && p.extent.x > 3)
        results.d = scan_row(run, x.d, v, 3);
    if (given(p.total))
        write_slot(p.total, plus(column, v), run);
    return results;
}

/* The columns of a unit, or its first one: 'element' and 'column' are the first ones. */
void give_few(wide element, wide column, bool is_whole) {
    const uint each = COLUMNS_A_THREAD;
    const few_vectors x = load_few(element_at(p.x, element), is_whole);
    if (IS_SCAN) {
        const wide apart = times(p.inner, RESULT);
        const address to = plus(p.out_at, times(element, RESULT));
        const few_results r0 = scan_few(x, 0, column);
        few_results r1 = r0, r2 = r0, r3 = r0;
        if (is_whole)
            r1 = scan_few(x, 1, column);
        if (is_whole && each == 4) {
            r2 = scan_few(x, 2, column);
            r3 = scan_few(x, 3, column);
        }
        store_unit_of_few(to, r0.a, r1.a, r2.a, r3.a, is_whole);
        if (p.extent.x > 1)
            store_unit_of_few(plus(to, apart), r0.b, r1.b, r2.b, r3.b, is_whole);
        if (p.extent.x > 2)
            store_unit_of_few(plus(to, times(apart, 2u)), r0.c, r1.c, r2.c, r3.c, is_whole);
        if (p.extent.x > 3)
            store_unit_of_few(plus(to, times(apart, 3u)), r0.d, r1.d, r2.d, r3.d, is_whole);
        return;
    }
    const result_t r0 = fold_few(x, 0, column);
    result_t r1 = r0, r2 = r0, r3 = r0;
    if (is_whole)
        r1 = fold_few(x, 1, column);
    if (is_whole && each == 4) {
        r2 = fold_few(x, 2, column);
        r3 = fold_few(x, 3, column);
    }
    if (!given(p.total))
        store_unit_of_few(plus(p.out_at, times(column, RESULT)), r0, r1, r2, r3, is_whole);
}

/* A slab has p.width units. They begin where results may be stored together, so those at the ends of a slab may be cut
 * off; their columns are taken one by one. */
void few_rows() {
    begin_kernel();
    const uint each = COLUMNS_A_THREAD;
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        wide unit;
        const wide slab = divided(plus(times(group, BLOCK), THREAD), wide_of(p.width), unit);
        const wide columns = times(slab, p.inner), elements = times(columns, p.extent); /* before the slab */
        const address to = plus(p.out_at, times(IS_SCAN ? elements : columns, RESULT));
        /* columns of the first unit that are not there */
        const uint ahead = (to.x & RESULT - 1) == 0 ? (to.x & min(each * RESULT, 16) - 1) / RESULT : 0;
        const wide begin = times(unit, each), end = plus(p.inner, ahead);
        if (!less(columns, p.columns) || !less(begin, end))
            continue;
        if (!is_below(begin, ahead) && !less(end, plus(begin, each))) {
            give_few(plus(elements, minus(begin, ahead)), plus(columns, minus(begin, ahead)), true);
            continue;
        }
        for (uint v = 0; v < each; v++) {
            const wide at = plus(begin, v);
            if (!is_below(at, ahead) && less(at, end))
                give_few(plus(elements, minus(at, ahead)), plus(columns, minus(at, ahead)), false);
        }
    }
}
#else
void few_rows() {}
#endif
