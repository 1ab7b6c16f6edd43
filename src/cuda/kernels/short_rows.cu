/* Reductions of many short rows that are whole vectors of 16 bytes: 2^lane_bits threads of a warp share a row and read
 * it directly, without shared memory. */

enum { ROW_LOADS = IS_LARGE ? 1 : 4 /* vectors that a thread has on their way at a time */ };

/* The elements of 'from' that begin with element 'at' of the row. */
inline void load_vector_of(const row &r, const in_t *from, uint32 at, in_t *to) {
    if (r.aligned || takes_vectors(r, at, at + VECTOR)) {
        const uint4 bits = r.aligned ? __ldcs((const uint4 *)(from + at)) : load_straddling(from + at);
        memcpy(to, &bits, 16);
        return;
    }
#pragma unroll
    for (int k = 0; k < VECTOR; k++)
        to[k] = load(from + at + k);
}

#if MOMENTS
[[maybe_unused]] inline value_t first_number(const row &r) {
    uint64 i = 0;
    while (SKIPS_NAN && i + 1 < r.extent && is_nan(value_of(load(r.x + i))))
        i++;
    return value_of(load(r.x + i));
}
#endif

/* Adds up this thread's part of a row. Rows are so short that lanes need not be emptied. */
inline lanes lanes_of_row(const row &r, uint32 lane, uint32 lanes_a_row) {
    const uint32 vectors = (uint32)r.extent / VECTOR;
    lanes l;
#if MOMENTS
    /* the same for all threads of the row, so that their sums can be added */
#if MOMENTS == 2 || SKIPS_NAN
    l.begin(first_number(r));
#else
    l.begin_near(r.x, (uint32)r.extent / 4);
#endif
#endif
    for (uint32 first = lane; first < vectors; first += ROW_LOADS * lanes_a_row) {
        in_t a[ROW_LOADS * VECTOR], b[ROW_LOADS * VECTOR];
#pragma unroll
        for (int u = 0; u < ROW_LOADS; u++) {
            const uint32 v = first + u * lanes_a_row;
            if (v < vectors) {
                load_vector_of(r, r.x, v * VECTOR, a + u * VECTOR);
                if (HAS_SECOND)
                    load_vector_of(r, r.y, v * VECTOR, b + u * VECTOR);
            }
        }
#pragma unroll
        for (int u = 0; u < ROW_LOADS; u++) {
            const uint32 v = first + u * lanes_a_row;
            if (v < vectors)
                add_vector(l, a + u * VECTOR, b + u * VECTOR, v * VECTOR);
        }
    }
    return l;
}

/* Folds the accumulators of a row's threads in order; the first thread has the result. */
inline acc_t fold_lanes_of_row(lanes l, uint32 lane, uint32 lanes_a_row) {
#if MOMENTS
    /* Without a condition, which saves instructions: a thread that adds values of another row is not read any more. */
    for (uint32 d = 1; d < lanes_a_row; d *= 2)
        l.add_from([=](auto value) { return from_above(value, d); });
    return l.take();
#else
    acc_t acc = l.take();
    for (uint32 d = 1; d < lanes_a_row; d *= 2) {
        acc_t next = from_above(acc, d);
        if ((lane & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return acc;
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK) fold_short_rows(short_rows_args p) {
    const uint32 lanes_a_row = 1u << p.lane_bits, lane = threadIdx.x & (lanes_a_row - 1);
    const uint64 at_once = (uint64)gridDim.x * BLOCK >> p.lane_bits;
    for (uint64 base = (uint64)blockIdx.x * BLOCK >> p.lane_bits; base < p.rows; base += at_once) {
        const uint64 number = base + (threadIdx.x >> p.lane_bits);
        lanes l;
        if (number < p.rows) {
            const row r = row_of(p.x, p.y, p.rows, p.extent, 0, number);
            l = lanes_of_row(r, lane, lanes_a_row);
        }
        const acc_t acc = fold_lanes_of_row(l, lane, lanes_a_row);
        if (lane == 0 && number < p.rows)
            store(p.out + number, lower(acc, p.extent, 0));
    }
}
