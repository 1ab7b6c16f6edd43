/* shuffle: in the last warp the lanes read each other's registers.
 *
 * Removes: shared memory from the last five stages, with its stores, loads and waits.
 * Left: a block for every 256 elements. Its threads load one element each, and then most of them are idle for the rest
 * of the block's time. Every block costs an atomic and its own start.
 * Look at: load throughput and occupancy: too few bytes are under way at any time. */
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
        for (unsigned distance = WARP / 2; distance > 0; distance /= 2)
            own += __shfl_down_sync(ALL_LANES, own, distance);
    }
    if (t == 0)
        add_block(sum, own);
}
