/* Columns of few rows: a thread has COLUMNS_A_THREAD neighbours of them, whose results are stored together. Elements
 * are in no arrays, because drivers may keep arrays in memory. Instead, loops take what comes first, and the rest moves
 * up: unrolled, that costs nothing, and one text of lift_bits() and lower() serves all elements. A text of each took
 * the compiler of SwiftShader all memory (branches.h). */
#if COMMUTES

const uint FEW = 4;
/* The same columns of each row. Those of a reverse scan come last row first. */
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
few_vectors load_few(address at, wide apart, bool is_whole) {
    const uint log = min(IN_LOG + 2, 4);
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

/* The columns after the first one. */
uvec4 next_columns(uvec4 x) {
    if (IN_LOG >= 2)
        return IN_LOG == 3 ? x.zwxy : x.yzwx;
    return IN_LOG == 1 ? uvec4(x.x >> 16 | x.y << 16, x.y >> 16, 0, 0) : uvec4(x.x >> 8, 0, 0, 0);
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
/* A row's results. */
struct few_results {
    result_t a, b, c, d;
};
few_results next_results(few_results r) {
    return few_results(r.b, r.c, r.d, r.d);
}
/* After COLUMNS_A_THREAD of them the first one is r.a. */
few_results with_result(few_results r, result_t last) {
    return COLUMNS_A_THREAD == 4 ? few_results(r.b, r.c, r.d, last) : few_results(r.b, last, r.c, r.d);
}
/* Of all columns of a unit, or the one that is there. Rows of a scan may lie apart by no whole vectors. */
void store_row(address to, few_results r, bool is_whole) {
    const uint each = COLUMNS_A_THREAD;
    if (!is_whole || (to.x & min(each * RESULT, 16) - 1) != 0) {
        UNROLLED_LANES for (uint v = 0; v < each; v++) {
            if (is_whole || v == each - 1)
                store_result(to, wide_of(is_whole ? v : 0), r.a);
            r = next_results(r);
        }
        return;
    }
#if PER_RESULT == 2
    store_together(to, r.a.first, r.a.second, r.b.first, r.b.second, 4);
    if (each == 4)
        store_together(plus(to, 2 * RESULT), r.c.first, r.c.second, r.d.first, r.d.second, 4);
#else
    store_together(to, r.a.first, r.b.first, r.c.first, r.d.first, each);
#endif
}

result_t total_of_few(lane_t lane, wide column) {
    acc_t acc = widen(lane);
    if (given(p.carry))
        acc = combine(read_slot(p.carry, column), acc);
    if (given(p.total))
        write_slot(p.total, column, acc);
    return lower(acc, plus(p.before, p.extent), wide(0));
}
/* What a scan has after the count-th row, or before it; 'run' is the value before it. */
result_t scan_row(inout acc_t run, lifted_t lifted, uint count) {
    const acc_t next = combine(run, acc_of(lifted));
    const result_t result = lower(INCLUSIVE ? next : run, plus(p.before, count + (INCLUSIVE ? 1 : 0)), wide(0));
    run = next;
    return result;
}

/* The columns of a unit, or its first one: 'element' and 'column' are the first ones. */
void give_few(wide element, wide column, bool is_whole) {
    const uint each = COLUMNS_A_THREAD, extent = p.extent.x;
    const wide back = REVERSE ? times(p.inner, extent - 1) : wide(0);
    const wide apart = REVERSE ? minus(wide(0), p.inner) : p.inner, first = plus(element, back);
    few_vectors x = load_few(element_at(p.x, first), shifted_up(apart, IN_LOG), is_whole);
    few_results r0, r1, r2, r3; /* of a reduction, the first ones alone */
    UNROLLED_LANES for (uint v = 0; v < each; v++) if (is_whole || v == each - 1) {
        const wide own = plus(column, is_whole ? v : 0);
        acc_t run = identity();
        if (IS_SCAN)
            run = base_of(own);
        lane_t lane = lane_identity();
        few_vectors left = x;
        result_t result;
        UNROLLED_LANES for (uint k = 0; k < FEW; k++) {
            if (k < extent) {
                const uint row = REVERSE ? extent - 1 - k : k;
                const lifted_t lifted = lift_bits(pick(left.a, 0, IN_LOG), uvec2(0), plus(p.before, row));
                if (IS_SCAN)
                    result = scan_row(run, lifted, k);
                else
                    lane = added(lane, lifted);
            }
            left = few_vectors(left.b, left.c, left.d, left.a);
            if (IS_SCAN) {
                const few_results done = with_result(r0, result);
                r0 = r1;
                r1 = r2;
                r2 = r3;
                r3 = done;
            }
        }
        if (!IS_SCAN)
            r0 = with_result(r0, total_of_few(lane, own));
        else if (given(p.total))
            write_slot(p.total, own, run);
        x = few_vectors(next_columns(x.a), next_columns(x.b), next_columns(x.c), next_columns(x.d));
    }
    if (!IS_SCAN && given(p.total))
        return;
    address to = plus(p.out_at, times(IS_SCAN ? first : column, RESULT));
    UNROLLED_LANES for (uint k = 0; k < FEW; k++) {
        if (k < (IS_SCAN ? extent : 1))
            store_row(to, r0, is_whole);
        to = plus(to, times(apart, RESULT));
        r0 = r1;
        r1 = r2;
        r2 = r3;
    }
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
        const bool is_whole = !is_below(begin, ahead) && !less(end, plus(begin, each));
        for (uint v = 0; v < each; v += is_whole ? each : 1) {
            const wide at = plus(begin, v);
            if (!is_below(at, ahead) && less(at, end))
                give_few(plus(elements, minus(at, ahead)), plus(columns, minus(at, ahead)), is_whole);
        }
    }
}
#else
void few_rows() {}
#endif
