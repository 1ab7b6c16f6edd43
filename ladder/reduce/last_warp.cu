/* last-warp: the last 32 threads need no barrier of the whole block. They wait only for each other (__syncwarp), before
 * and after each store.
 *
 * Removes: block barriers in the last six stages, in which seven of eight warps only waited; those warps end.
 * Left: the lanes exchange values through shared memory.
 * Look at: warps stalled on barriers, compared with unrolled-by-pragma. */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    value own = element_or(x, global_thread(), n, 0);
    partial[t] = own;
    __syncthreads();
#pragma unroll
    for (unsigned stride = BLOCK / 2; stride > WARP; stride /= 2) {
        if (t < stride) {
            own += partial[t + stride];
            partial[t] = own;
        }
        __syncthreads();
    }
    if (t < WARP) {
        own += partial[t + WARP];
#pragma unroll
        for (unsigned stride = WARP / 2; stride > 0; stride /= 2) {
            partial[t] = own;
            __syncwarp();
            own += partial[(t + stride) % WARP];
            __syncwarp();
        }
    }
    if (t == 0)
        add_block(sum, own);
}
