/* Reductions of many rows of two to four elements, or slabs of up to eight narrow ones. A thread takes as many as a
 * vector of 16 bytes has elements: together they are whole vectors, as many as one has elements, and their results are
 * neighbours. */

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

/* Column 'column' of a slab. */
template <int Extent, int Inner> inline result_t fold_tiny(const in_t *x, const in_t *y, int column) {
    running<lane_t> sum;
#pragma unroll
    for (int k = 0; k < Extent; k++)
        sum.append(value_of(x[k * Inner + column]), HAS_SECOND ? value_of(y[k * Inner + column]) : value_t(0), k);
    return lower(widen(sum.sum()), Extent, 0);
}

/* Stores results so that neighbouring lanes store neighbours: a lane's own, one after the other, would lie far from the
 * next lane's. So results that are several vectors, or not aligned, go by way of shared memory, where vectors are
 * permuted so that lanes meet in no bank. The kernel has the memory, once for all widths: all of its results. */
template <int Width>
inline void give_tiny(const tiny_rows_args &p, uint64 first, uint64 all, const few<result_t, Width> &results,
                      uint8 *memory) {
    constexpr int VECTORS = sizeof results / 16;
    const uint32 lane = threadIdx.x % WARP;
    const uint64 of_lanes = first - lane * Width; /* of the warp; within these bounds all lanes come here */
    const bool is_aligned = ((uint64)p.out & 15) == 0;
    if ((is_aligned && VECTORS <= 1) || !of_lanes || of_lanes + (WARP + 1) * Width > all) {
        store_few(p.out + first, results);
        return;
    }
    result_t *of_warp = (result_t *)memory + (threadIdx.x - lane) * Width, *to = p.out + of_lanes;
    if constexpr (VECTORS > 1)
        if (is_aligned) {
            uint4 bits[VECTORS];
            memcpy(bits, &results, sizeof results);
            const auto permuted = [](uint32 v) { return v ^ (v / 8 % 8); };
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
                ((uint4 *)of_warp)[permuted(lane * VECTORS + v)] = bits[v];
            __syncwarp();
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
                __stcs((uint4 *)to + v * WARP + lane, ((uint4 *)of_warp)[permuted(v * WARP + lane)]);
            return;
        }
    memcpy(of_warp + lane * Width, &results, sizeof results);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < Width; k++)
        store(to + k * WARP + lane, of_warp[k * WARP + lane]);
}

/* Slabs of Extent rows of Inner elements; with Inner 1 they are the rows that are reduced. */
template <int Extent, int Inner> inline void fold_tiny_slabs_of(const tiny_rows_args &p, uint8 *memory) {
    constexpr int SLAB = Extent * Inner, WIDTH = VECTOR * Inner;
    const uint64 slab = (blockIdx.x * (uint64)BLOCK + threadIdx.x) * VECTOR;
    const in_t *from_x = p.x + slab * SLAB, *from_y = HAS_SECOND ? p.y + slab * SLAB : nullptr;
    in_t x[SLAB * VECTOR], y[SLAB * VECTOR];
    const bool aligned = (((uint64)from_x | (uint64)from_y) & 15) == 0, is_whole = slab + VECTOR <= p.rows;
    if (is_whole && (aligned || (slab && slab + 2 * VECTOR <= p.rows))) { /* vectors across reach into the neighbours' */
        few<result_t, WIDTH> results;
        load_tiny<SLAB>(from_x, aligned, x);
        if (HAS_SECOND)
            load_tiny<SLAB>(from_y, aligned, y);
#pragma unroll
        for (int r = 0; r < WIDTH; r++)
            results.element[r] = fold_tiny<Extent, Inner>(x + r / Inner * SLAB, y + r / Inner * SLAB, r % Inner);
        give_tiny(p, slab * Inner, p.rows * Inner, results, memory);
        return;
    }
    for (uint64 r = slab; r < slab + VECTOR && r < p.rows; r++) {
        for (int k = 0; k < SLAB; k++) {
            x[k] = load(p.x + r * SLAB + k);
            if (HAS_SECOND)
                y[k] = load(p.y + r * SLAB + k);
        }
        for (int column = 0; column < Inner; column++)
            store(p.out + r * Inner + column, fold_tiny<Extent, Inner>(x, y, column));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) fold_tiny_rows(tiny_rows_args p) {
    __shared__ alignas(16) uint8 memory[BLOCK * VECTOR * sizeof(result_t)];
    if (p.extent == 2)
        fold_tiny_slabs_of<2, 1>(p, memory);
    else if (p.extent == 3)
        fold_tiny_slabs_of<3, 1>(p, memory);
    else
        fold_tiny_slabs_of<4, 1>(p, memory);
}

/* Empty where nobody launches it. */
extern "C" __global__ void __launch_bounds__(BLOCK) fold_tiny_slabs(tiny_rows_args p) {
#if TINY_INNER
    __shared__ alignas(16) uint8 memory[BLOCK * VECTOR * TINY_INNER * sizeof(result_t)];
    if (p.inner == 2 && p.extent == 2)
        fold_tiny_slabs_of<2, 2>(p, memory);
    else if (p.inner == 2 && p.extent == 3)
        fold_tiny_slabs_of<3, 2>(p, memory);
    else if (p.inner == 2)
        fold_tiny_slabs_of<4, 2>(p, memory);
#endif
#if TINY_INNER > 2
    else if (p.inner == 3)
        fold_tiny_slabs_of<2, 3>(p, memory);
    else
        fold_tiny_slabs_of<2, 4>(p, memory);
#endif
}
