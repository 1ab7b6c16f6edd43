/* warp-shuffle: the lanes read each other's registers.
 *
 * Removes: shared memory between the lanes of a warp, and the waits for it.
 * Left: four crossings of the memory's bus for each element, where two would do.
 * Look at: percent of the roof: with four crossings it cannot be more than half. */
inline value scan_warp(value own, unsigned lane) {
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const value left = __shfl_up_sync(ALL_LANES, own, distance);
        if (lane >= distance)
            own += left;
    }
    return own;
}

extern "C" __global__ void scan_parts(const value *x, value *out, value *totals, uint64 n) {
    __shared__ value of_warp[WARP];
    const unsigned t = threadIdx.x, warp = t / WARP, lane = t % WARP;
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        const uint64 i = part * BLOCK + t;
        const value own = scan_warp(element_or(x, i, n, 0), lane);
        if (lane == WARP - 1)
            of_warp[warp] = own;
        __syncthreads();
        if (warp == 0)
            of_warp[lane] = scan_warp(lane < BLOCK / WARP ? of_warp[lane] : 0, lane);
        __syncthreads();
        if (i < n)
            out[i] = own + (warp > 0 ? of_warp[warp - 1] : 0);
        if (t == 0)
            totals[part] = of_warp[BLOCK / WARP - 1];
        __syncthreads(); /* before the totals of the next part */
    }
}
