/* zero-padding: 16 zeros stand before each warp's row, so a lane with no neighbour that far to the left adds a zero.
 *
 * Removes: the branch in each step.
 * Left: shared memory between the lanes; one thread that scans the totals of all parts.
 * Look at: instructions per warp, compared with kogge-stone. A compiler turns so short a branch into a predicate by
 * itself, so there is little to gain. */
enum { PADDING = 16, ROW = PADDING + WARP };

inline value scan_warp(value *row, unsigned lane) {
    value own = row[PADDING + lane];
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const value left = row[PADDING + lane - distance];
        __syncwarp();
        row[PADDING + lane] = own += left;
        __syncwarp();
    }
    return own;
}

extern "C" __global__ void scan_parts(const value *x, value *out, value *totals, uint64 n) {
    __shared__ value staged[BLOCK / WARP * ROW], of_warp[ROW];
    const unsigned t = threadIdx.x, warp = t / WARP, lane = t % WARP;
    value *row = staged + warp * ROW;
    if (lane < PADDING)
        row[lane] = 0;
    if (t < ROW)
        of_warp[t] = 0;
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        const uint64 i = part * BLOCK + t;
        row[PADDING + lane] = element_or(x, i, n, 0);
        __syncthreads();
        const value own = scan_warp(row, lane);
        if (lane == WARP - 1)
            of_warp[PADDING + warp] = own;
        __syncthreads();
        if (warp == 0)
            scan_warp(of_warp, lane);
        __syncthreads();
        if (i < n)
            out[i] = own + of_warp[PADDING + warp - 1];
        if (t == 0)
            totals[part] = of_warp[PADDING + BLOCK / WARP - 1];
        __syncthreads(); /* before the totals of the next part */
    }
}
