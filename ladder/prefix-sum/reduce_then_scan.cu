/* reduce-then-scan: the other order. First only the sum of each part; then a scan of the sums; last the scan of each
 * part, which begins with the sum of all parts before it.
 *
 * Removes: one crossing of four: the first phase writes no results that would have to be read again and corrected.
 * Left: the input is read twice.
 * Look at: percent of the roof, at most two thirds; for a small input more, because the cache keeps some of it from the
 * first reading. */
enum { ITEMS = 4, PART = BLOCK * ITEMS };

inline value scan_warp(value own, unsigned lane) {
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const value left = __shfl_up_sync(ALL_LANES, own, distance);
        if (lane >= distance)
            own += left;
    }
    return own;
}

/* The inclusive scan of one value per thread, over the block. */
inline value scan_block(value own, value *of_warp) {
    const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    own = scan_warp(own, lane);
    if (lane == WARP - 1)
        of_warp[warp] = own;
    __syncthreads();
    if (warp == 0)
        of_warp[lane] = scan_warp(lane < BLOCK / WARP ? of_warp[lane] : 0, lane);
    __syncthreads();
    return own + (warp > 0 ? of_warp[warp - 1] : 0);
}

extern "C" __global__ void sum_parts(const value *x, value *totals, uint64 n) {
    __shared__ value of_warp[WARP];
    for (uint64 part = blockIdx.x; part * PART < n; part += gridDim.x) {
        value own = 0;
#pragma unroll
        for (unsigned k = 0; k < ITEMS; k++)
            own += element_or(x, part * PART + k * BLOCK + threadIdx.x, n, 0);
        own = scan_block(own, of_warp);
        if (threadIdx.x == BLOCK - 1)
            totals[part] = own;
        __syncthreads(); /* before the sums of the next part */
    }
}

/* One block, BLOCK totals at a time. */
extern "C" __global__ void scan_sums(value *totals, uint64 parts) {
    __shared__ value of_warp[WARP];
    value before = 0;
    for (uint64 first = 0; first < parts; first += BLOCK) {
        const uint64 i = first + threadIdx.x;
        const value own = before + scan_block(element_or(totals, i, parts, 0), of_warp);
        before += of_warp[BLOCK / WARP - 1];
        if (i < parts)
            totals[i] = own;
        __syncthreads();
    }
}

extern "C" __global__ void scan_from(const value *x, const value *totals, value *out, uint64 n) {
    __shared__ value of_warp[WARP];
    for (uint64 part = blockIdx.x; part * PART < n; part += gridDim.x) {
        value before = part > 0 ? totals[part - 1] : 0;
#pragma unroll
        for (unsigned k = 0; k < ITEMS; k++) {
            const uint64 i = part * PART + k * BLOCK + threadIdx.x;
            const value own = before + scan_block(element_or(x, i, n, 0), of_warp);
            before += of_warp[BLOCK / WARP - 1];
            if (i < n)
                out[i] = own;
            __syncthreads();
        }
    }
}
