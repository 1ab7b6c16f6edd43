/* Folds the accumulators of a block's threads in their order; thread 0 has the result. */
template <int Threads = BLOCK> inline acc_t fold_block(acc_t acc) {
    __shared__ alignas(16) uint8 memory[Threads / WARP * sizeof(acc_t)];
    acc_t *of_warp = (acc_t *)memory;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        acc_t next = from_above(acc, d);
        if ((lane & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    __syncthreads(); /* earlier use of the memory */
    if (lane == 0)
        of_warp[warp] = acc;
    __syncthreads();
    /* A tree in the first warp made the compiler lose what is uniform in the loop of loads before: sums of 2^28 f32 on an
     * H200 went from 0.98 to 1.01 of CUB's time. */
    if (threadIdx.x == 0)
        for (int w = 1; w < Threads / WARP; w++)
            acc = combine(acc, of_warp[w]);
    return acc;
}
