/* Reductions along short rows of whole vectors, for monoids whose order does not matter and whose accumulators are
 * short. Threads load neighbouring vectors, whatever their row, and store each vector's accumulator in shared memory,
 * where a few threads share a row. The next rows are loaded meanwhile. */
#if COMMUTES
struct some_rows {
    wide first;
    uint count;
};
some_rows rows_of(uint group) {
    const wide first = times(group, p_rows);
    return some_rows(first, group < p.panels ? at_most(minus(p.columns, first), p_rows) : 0);
}

/* 'a_row': vectors. */
void load_rows(address array, some_rows rows, uint a_row, out uvec4 x[TILE_SLOTS]) {
    const address at = plus(array, times(rows.first, 16 * a_row));
    const uint vectors = rows.count * a_row;
    if ((at.x & 15u) == 0) {
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++)
            if (u * BLOCK + THREAD < vectors)
                x[u] = vectors_at(at).vector[u * BLOCK + THREAD];
    } else {
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++)
            if (u * BLOCK + THREAD < vectors)
                x[u] = load_shifted(plus(at, 16 * (u * BLOCK + THREAD)));
    }
}

/* Folds the accumulators of 'parts' neighbouring threads; the k-th thread receives the result of the k-th such team. */
acc_t gather_teams(acc_t acc, uint teams, uint parts) {
    if (parts == 1)
        return acc;
    barrier(); /* earlier use of the memory */
    shared_slots[spread(THREAD)] = acc;
    barrier();
    if (THREAD < teams) {
        acc = shared_slots[spread(THREAD * parts)];
        for (uint k = 1; k < parts; k++)
            acc = combine(acc, shared_slots[spread(THREAD * parts + k)]);
    }
    return acc;
}

void short_rows() {
    begin_kernel();
    const uint parts = p_team, team = THREAD >> findMSB(parts), part = THREAD & parts - 1;
    const uint a_row = p.extent.x >> 4u - IN_LOG, each = (a_row + parts - 1) / parts;
    const uint begin = team * a_row + min(part * each, a_row), end = team * a_row + min(part * each + each, a_row);
    uvec4 x[TILE_SLOTS], y[TILE_SLOTS];
    some_rows rows = rows_of(group_number());
    load_rows(p.x, rows, a_row, x);
    if (TWO_INPUTS)
        load_rows(p.y, rows, a_row, y);
    for (uint group = group_number(); group < p.panels; group += group_count()) {
        barrier(); /* earlier use of the memory */
        UNROLLED_LANES for (uint u = 0; u < TILE_SLOTS; u++)
            if (u * BLOCK + THREAD < rows.count * a_row) {
                sum total = empty_sum();
                add_vector(total, x[u], y[u], wide(0)); /* accumulators that have places are longer */
                tile_slots[spread(u * BLOCK + THREAD)] = widen(total.lane);
            }
        barrier();
        const some_rows next = rows_of(group + group_count());
        load_rows(p.x, next, a_row, x);
        if (TWO_INPUTS)
            load_rows(p.y, next, a_row, y);
        acc_t acc = identity();
        if (team < rows.count)
            for (uint v = begin; v < end; v++)
                acc = combine(acc, tile_slots[spread(v)]);
        acc = gather_teams(acc, rows.count, parts);
        if (THREAD < rows.count)
            give(acc, plus(rows.first, THREAD), 0, p.extent);
        rows = next;
    }
}
#else
void short_rows() {}
#endif
