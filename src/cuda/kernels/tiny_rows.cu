/* Reductions of many rows of one to four elements. A thread takes as many rows as a vector of 16 bytes has elements:
 * together they are whole vectors, as many as a row has elements, and their results are neighbours. */

/* A thread's vectors are neighbours, so each load of a warp takes a part of every sector that the warp reads, and its
 * next loads take the rest. The first-level cache must keep the sectors in between. On an H200 2^24 rows of three f32
 * took 62.8 us this way, and 67.2 with loads that tell the caches to keep nothing. */
template <int Extent> inline void load_tiny(const in_t *from, bool aligned, in_t *to) {
#pragma unroll
    for (int v = 0; v < Extent; v++) {
        const uint4 bits = aligned ? ((const uint4 *)from)[v] : load_straddling(from + v * VECTOR);
        memcpy(to + v * VECTOR, &bits, 16);
    }
}

template <int Extent> inline result_t fold_tiny(const in_t *x, const in_t *y) {
    running<lane_t> sum;
#pragma unroll
    for (int k = 0; k < Extent; k++)
        sum.append(value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), k);
    return lower(widen(sum.sum()), Extent, 0);
}

/* Stores results to an address that is not aligned by way of shared memory, so that neighbouring lanes store neighbours:
 * a lane's own, one after the other, would lie far from the next lane's. */
inline void give_tiny(const tiny_rows_args &p, uint64 row, const few<result_t, VECTOR> &results) {
    __shared__ alignas(16) uint8 memory[BLOCK * VECTOR * sizeof(result_t)];
    const uint32 lane = threadIdx.x % WARP;
    const uint64 first = row - lane * VECTOR; /* of the warp; within these bounds all lanes come here */
    if (((uint64)p.out & 15) == 0 || !first || first + (WARP + 1) * VECTOR > p.rows) {
        store_few(p.out + row, results);
        return;
    }
    result_t *of_warp = (result_t *)memory + (threadIdx.x - lane) * VECTOR, *to = p.out + first;
    memcpy(of_warp + lane * VECTOR, &results, sizeof results);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < VECTOR; k++)
        store(to + k * WARP + lane, of_warp[k * WARP + lane]);
}

template <int Extent> inline void fold_tiny_rows_of(const tiny_rows_args &p) {
    const uint64 row = (blockIdx.x * (uint64)BLOCK + threadIdx.x) * VECTOR;
    const in_t *from_x = p.x + row * Extent, *from_y = HAS_SECOND ? p.y + row * Extent : nullptr;
    in_t x[Extent * VECTOR], y[Extent * VECTOR];
    const bool aligned = (((uint64)from_x | (uint64)from_y) & 15) == 0, is_whole = row + VECTOR <= p.rows;
    if (is_whole && (aligned || (row && row + 2 * VECTOR <= p.rows))) { /* vectors across reach into the neighbours' */
        few<result_t, VECTOR> results;
        load_tiny<Extent>(from_x, aligned, x);
        if (HAS_SECOND)
            load_tiny<Extent>(from_y, aligned, y);
#pragma unroll
        for (int r = 0; r < VECTOR; r++)
            results.element[r] = fold_tiny<Extent>(x + r * Extent, y + r * Extent);
        give_tiny(p, row, results);
        return;
    }
    for (uint64 r = row; r < row + VECTOR && r < p.rows; r++) {
        for (int k = 0; k < Extent; k++) {
            x[k] = load(p.x + r * Extent + k);
            if (HAS_SECOND)
                y[k] = load(p.y + r * Extent + k);
        }
        store(p.out + r, fold_tiny<Extent>(x, y));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) fold_tiny_rows(tiny_rows_args p) {
    if (p.extent == 1)
        fold_tiny_rows_of<1>(p);
    else if (p.extent == 2)
        fold_tiny_rows_of<2>(p);
    else if (p.extent == 3)
        fold_tiny_rows_of<3>(p);
    else
        fold_tiny_rows_of<4>(p);
}
