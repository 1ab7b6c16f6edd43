/* Columns of few rows: a thread has FEW_COLUMNS neighbours of them, whose results are stored together. Elements are in
 * no arrays, because drivers may keep arrays in memory. Instead, loops take what comes first, and the rest moves up:
 * unrolled, that costs nothing, and one text of lift_bits() and lower() serves all elements. A text of each took the
 * compiler of SwiftShader all memory (branches.h). */
#if COMMUTES

const uint FEW = 4;
/* A unit: columns of one vector, if their results take no more than two. Scans keep a value of each, so theirs are few. */
#define FEW_COLUMNS (IS_SCAN ? COLUMNS_A_THREAD : max(COLUMNS_A_THREAD, min(16u >> IN_LOG, 32u / RESULT)))
#define FEW_LOG     (IN_LOG + uint(findMSB(FEW_COLUMNS)))
uvec4 load_unit(address at) {
    const uint log = FEW_LOG;
    return log == 4   ? vectors_at(at).vector[0]
           : log == 3 ? uvec4(pairs_at(at).pair[0], 0, 0)
                      : uvec4(load_word(at), 0, 0, 0);
}
uvec4 load_unit_in_words(address at) {
    return load_within_words(at, FEW_LOG);
}
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
uvec4 load_one(address at) {
    return uvec4(load_bits(at, IN_LOG), 0, 0);
}
/* Of all columns of a unit or of one. How they are aligned is asked once, as nothing must come between loads. */
few_vectors load_few(address at, wide apart, bool is_whole) {
    const uint log = FEW_LOG, either = at.x | (p.extent.x > 1 ? apart.x : 0);
    few_vectors rows = few_vectors(uvec4(0), uvec4(0), uvec4(0), uvec4(0));
    if (!is_whole)
        LOAD_FEW(load_one)
    else if ((either & (1u << log) - 1u) == 0)
        LOAD_FEW(load_unit)
    else if (log == 4 && (either & 7u) == 0)
        LOAD_FEW(load_two_pairs)
    else if (log == 4 && (either & 3u) == 0)
        LOAD_FEW(load_four_words)
    else
        LOAD_FEW(load_unit_in_words)
    return rows;
}

/* The bytes of a unit's results in a row, 4, 8, 16 or 32 (path.c). */
#define UNIT_BYTES (FEW_COLUMNS * RESULT)
struct few_results {
    uvec4 low, high;
};
/* The results of one more column, the v-th, after the others; what is first goes. Those of less than a word are gathered
 * in 'word' until it is full. */
few_results with_result(few_results r, result_t last, uint v, inout uint word) {
    const uint log = OUT_LOG;
    uvec4 own = uvec4(last.first, last.second);
#if PER_RESULT == 2
    if (log < 2)
        own.x = own.x & (log == 0 ? 255u : 65535u) | own.z << (8u << log);
    else if (log == 2)
        own.y = own.z;
#endif
    if (RESULT == 16)
        return few_results(r.high, own);
    if (RESULT == 8)
        return UNIT_BYTES == 32 ? few_results(uvec4(r.low.zw, r.high.xy), uvec4(r.high.zw, own.xy))
                                : few_results(uvec4(r.low.zw, own.xy), own);
    if (RESULT < 4) {
        word = word >> 8 * RESULT | own.x << 32 - 8 * RESULT;
        if (((v + 1) * RESULT & 3u) != 0)
            return r;
        own.x = word;
    }
    if (UNIT_BYTES == 32)
        return few_results(uvec4(r.low.yzw, r.high.x), uvec4(r.high.yzw, own.x));
    if (UNIT_BYTES == 16)
        return few_results(uvec4(r.low.yzw, own.x), own);
    return few_results(UNIT_BYTES == 8 ? uvec4(r.low.y, own.xxx) : own, own);
}
/* All or only the first one. Rows of a scan may lie apart by no whole vectors. */
void store_row(address to, few_results r, bool is_whole) {
    const uint count = is_whole ? UNIT_BYTES : RESULT;
    if (!is_whole || (to.x & min(UNIT_BYTES, 16) - 1) != 0) {
        store_bytes(to, r.low, min(count, 16));
        if (count > 16)
            store_bytes(plus(to, 16), r.high, count - 16);
        return;
    }
    if (UNIT_BYTES == 4)
        words_at(to).word[0] = r.low.x;
    else if (UNIT_BYTES == 8)
        pairs_at(to).pair[0] = r.low.xy;
    else
        vectors_at(to).vector[0] = r.low;
    if (UNIT_BYTES == 32)
        vectors_at(to).vector[1] = r.high;
}

few_vectors next_rows(few_vectors x) {
    return few_vectors(x.b, x.c, x.d, x.d);
}
/* The v-th column, if the words before it have gone. */
lifted_t lift_column(uvec4 x, uint v, uint row) {
    const uint log = IN_LOG;
    const uvec2 bits = log >= 2 ? pick(x, 0, log) : uvec2(x.x >> 8 * (v << log & 3u) & (log == 1 ? 65535u : 255u), 0);
    return lift_bits(bits, uvec2(0), plus(p.before, row));
}
uvec4 after_column(uvec4 x, uint v) {
    if (IN_LOG == 3)
        return x.zwxy;
    return (v + 1 << IN_LOG & 3u) == 0 ? x.yzwx : x;
}

/* The lanes of COLUMNS_A_THREAD columns. */
struct few_lanes {
    lane_t a, b, c, d;
};
few_lanes with_few(few_lanes l, lane_t last) {
    return COLUMNS_A_THREAD == 4 ? few_lanes(l.b, l.c, l.d, last) : few_lanes(l.b, last, l.c, l.d);
}

/* Reduces the columns of a unit, some at once, row by row: whether there is another row is asked for all of them. */
void fold_few(few_vectors x, wide column) {
    const uint each = COLUMNS_A_THREAD;
    few_results r = few_results(uvec4(0), uvec4(0));
    uint word = 0;
    UNROLLED_LANES for (uint first = 0; first < FEW_COLUMNS; first += each) {
        few_lanes lanes = few_lanes(lane_identity(), lane_identity(), lane_identity(), lane_identity());
        few_vectors left = x;
        UNROLLED_LANES for (uint k = 0; k < FEW; k++) {
            if (k < p.extent.x) {
                UNROLLED_LANES for (uint v = 0; v < each; v++) {
                    lanes = with_few(lanes, added(lanes.a, lift_column(left.a, v, k)));
                    left.a = after_column(left.a, v);
                }
            }
            left = few_vectors(left.b, left.c, left.d, left.a);
        }
        x = left;
        UNROLLED_LANES for (uint v = 0; v < each; v++) {
            r = with_result(r, lower(widen(lanes.a), plus(p.before, p.extent), wide(0)), first + v, word);
            lanes = with_few(lanes, lanes.a);
        }
    }
    store_row(plus(p.out_at, times(column, RESULT)), r, true);
}
/* Its first column. */
void fold_one(few_vectors x, wide column) {
    lane_t lane = lane_identity();
    for (uint k = 0; k < p.extent.x; k++) {
        lane = added(lane, lift_column(x.a, 0, k));
        x = next_rows(x);
    }
    give(widen(lane), column, 0, p.extent);
}

/* A scan's values of the columns. */
struct few_runs {
    acc_t a, b, c, d;
};
few_runs with_run(few_runs r, acc_t last) {
    return COLUMNS_A_THREAD == 4 ? few_runs(r.b, r.c, r.d, last) : few_runs(r.b, last, r.c, r.d);
}
/* Scans the columns of a unit, or its first one, row by row. Their results begin at 'to' and lie 'apart'. */
void scan_few(few_vectors x, address to, wide apart, wide column, bool is_whole) {
    const uint each = COLUMNS_A_THREAD, extent = p.extent.x;
    few_runs runs = few_runs(identity(), identity(), identity(), identity());
    UNROLLED_LANES for (uint v = 0; v < each; v++) runs = with_run(runs, base_of(plus(column, is_whole ? v : 0)));
    UNROLLED_LANES for (uint k = 0; k < FEW; k++) if (k < extent) {
        few_results r = few_results(uvec4(0), uvec4(0));
        uint word = 0;
        UNROLLED_LANES for (uint v = 0; v < each; v++) {
            const acc_t next = combine(runs.a, acc_of(lift_column(x.a, v, REVERSE ? extent - 1 - k : k)));
            const result_t result = lower(INCLUSIVE ? next : runs.a, plus(p.before, k + (INCLUSIVE ? 1 : 0)), wide(0));
            r = with_result(r, result, v, word);
            runs = with_run(runs, next);
            x.a = after_column(x.a, v);
        }
        store_row(to, r, is_whole);
        to = plus(to, times(apart, RESULT));
        x = next_rows(x);
    }
    UNROLLED_LANES for (uint v = 0; v < each && given(p.total); v++) {
        if (is_whole || v == 0)
            write_slot(p.total, plus(column, v), runs.a);
        runs = with_run(runs, runs.a);
    }
}

/* The columns of a unit, or its first one: 'element' and 'column' are the first ones. */
void give_few(wide element, wide column, bool is_whole) {
    const wide apart = REVERSE ? minus(wide(0), p.inner) : p.inner;
    const wide first = REVERSE ? plus(element, times(p.inner, p.extent.x - 1)) : element;
    const few_vectors x = load_few(element_at(p.x, first), shifted_up(apart, IN_LOG), is_whole);
    if (IS_SCAN)
        scan_few(x, plus(p.out_at, times(first, RESULT)), apart, column, is_whole);
    else if (is_whole)
        fold_few(x, column);
    else
        fold_one(x, column);
}

/* A slab has p.width units. They begin where results may be stored together, so those at the ends of a slab may be cut
 * off; their columns are taken one by one. */
void few_rows() {
    begin_kernel();
    const uint each = FEW_COLUMNS;
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        wide unit, slab;
        if (p.many > 0) { /* workgroups of one slab each */
            slab = wide_of(group / p.many);
            unit = plus(times(group % p.many, BLOCK), THREAD);
        } else {
            slab = divided(plus(times(group, BLOCK), THREAD), wide_of(p.width), unit);
        }
        const wide columns = times(slab, p.inner), elements = times(columns, p.extent); /* before the slab */
        const address to = plus(p.out_at, times(IS_SCAN ? elements : columns, RESULT));
        /* columns of the first unit that are not there */
        const uint ahead = (to.x & RESULT - 1) == 0 ? (to.x & min(UNIT_BYTES, 16) - 1) / RESULT : 0;
        const wide begin = times(unit, each), end = plus(p.inner, ahead);
        if (!less(columns, p.columns) || !less(begin, end))
            continue;
        const bool is_piece = !IS_SCAN && (given(p.carry) || given(p.total));
        const bool is_whole = !is_piece && !is_below(begin, ahead) && !less(end, plus(begin, each));
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
