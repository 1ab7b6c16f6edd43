/* Reductions of many short rows of some vectors: 2^lane_bits threads of a warp share a row and read it directly, without
 * shared memory. */

enum { ROW_LOADS = IS_LARGE ? 1 : 4 /* vectors that a thread has on their way at a time */ };

#if MOMENTS
[[maybe_unused]] inline value_t first_number(const row &r) {
    uint64 i = 0;
    while (SKIPS_NAN && i + 1 < r.extent && is_nan(value_of(load(r.x + i))))
        i++;
    return value_of(load(r.x + i));
}
#endif

/* This thread's vectors of [first, end): every lanes_a_row-th. */
template <loading How>
inline void add_vectors_of(const row &r, uint32 first, uint32 end, uint32 lane, uint32 lanes_a_row, lanes &l) {
    for (uint32 base = lane; base < end; base += ROW_LOADS * lanes_a_row) {
        in_t a[ROW_LOADS * VECTOR], b[ROW_LOADS * VECTOR];
#pragma unroll
        for (int u = 0; u < ROW_LOADS; u++) {
            const uint32 v = base + u * lanes_a_row;
            if (v >= first && v < end) {
                load_vector<How>(r.x + v * VECTOR, a + u * VECTOR);
                if (HAS_SECOND)
                    load_vector<How>(r.y + v * VECTOR, b + u * VECTOR);
            }
        }
#pragma unroll
        for (int u = 0; u < ROW_LOADS; u++) {
            const uint32 v = base + u * lanes_a_row;
            if (v >= first && v < end)
                add_vector(l, a + u * VECTOR, b + u * VECTOR, r.before + v * VECTOR);
        }
    }
}

/* Adds up this thread's part of a row. Rows are so short that lanes need not be emptied. Vectors at the ends that are
 * not whole, or cannot be loaded as such, are loaded by elements. */
inline lanes lanes_of_row(row r, uint32 lane, uint32 lanes_a_row) {
    lanes l;
#if MOMENTS
    /* the same for all threads of the row, so that their sums can be added */
#if MOMENTS == 2 || SKIPS_NAN
    l.begin(first_number(r));
#else
    l.begin_near(r.x, (uint32)r.extent / 4);
#endif
#endif
    const bool is_shifted = !r.aligned && !ORDER_SHOWS && shift_to_vector(&r);
    const uint32 first = is_shifted || (!r.aligned && r.from);
    uint32 end = (uint32)r.extent / VECTOR;
    if (!is_shifted && !r.aligned && r.to < end * VECTOR)
        end--;
    if (first && lane == 0)
        add_singles<SHIFTED>(r, 0, VECTOR, l);
    if (is_shifted || r.aligned)
        add_vectors_of<ALIGNED>(r, first, end, lane, lanes_a_row, l);
    else
        add_vectors_of<ACROSS>(r, first, end, lane, lanes_a_row, l);
#pragma unroll 1
    for (uint32 v = end; v * VECTOR < r.extent; v++)
        if (lane == (v & (lanes_a_row - 1)))
            add_singles<ALIGNED>(r, v * VECTOR, r.extent, l);
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
    make_exponentials<BLOCK>();
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
