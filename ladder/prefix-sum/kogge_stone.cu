/* kogge-stone: all lanes of a warp scan together. Each lane adds the word 1, then 2, 4, 8 and 16 to its left (Kogge and
 * Stone 1973). One warp scans the totals of the warps in the same way.
 *
 * Removes: the chain: five steps for 32 elements.
 * Left: more additions in all (up to five per element); a branch in each step for the lanes that have no neighbour so
 * far to the left; shared memory between the lanes; and one thread that still scans the totals of all parts.
 * Look at: threads per instruction in scan_parts, up to nearly 32. */
inline value scan_warp(value *row, unsigned lane) {
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        value left = 0;
        if (lane >= distance)
            left = row[lane - distance];
        __syncwarp();
        row[lane] += left;
        __syncwarp();
    }
    return row[lane];
}

extern "C" __global__ void scan_parts(const value *x, value *out, value *totals, uint64 n) {
    __shared__ value staged[BLOCK], of_warp[WARP];
    const unsigned t = threadIdx.x, warp = t / WARP, lane = t % WARP;
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        const uint64 i = part * BLOCK + t;
        staged[t] = element_or(x, i, n, 0);
        if (t < WARP)
            of_warp[t] = 0;
        __syncthreads();
        const value own = scan_warp(staged + warp * WARP, lane);
        if (lane == WARP - 1)
            of_warp[warp] = own;
        __syncthreads();
        if (warp == 0)
            scan_warp(of_warp, lane);
        __syncthreads();
        if (i < n)
            out[i] = own + (warp > 0 ? of_warp[warp - 1] : 0);
        if (t == 0)
            totals[part] = of_warp[BLOCK / WARP - 1];
        __syncthreads(); /* before the next part is staged */
    }
}
