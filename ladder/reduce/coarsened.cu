/* coarsened: there are no more blocks than the device holds at once. Each thread first adds many elements, one grid
 * apart, in its register; only then comes the tree.
 *
 * Removes: idle threads. The tree is a vanishing part of a block's time, and there are only a few hundred atomics.
 * Left: each load brings 4 bytes. The library adds wider loads, and more of them under way in a thread.
 * Look at: percent of the roof. (A warp now adds many elements, so do not compare its instructions with those of other
 * steps.) */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    value own = 0;
    for (uint64 i = global_thread(); i < n; i += (uint64)gridDim.x * BLOCK)
        own += x[i];
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
