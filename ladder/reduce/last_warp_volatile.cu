/* last-warp-volatile: when only one warp works, this step omits the barriers and makes every access happen by
 * 'volatile', because the threads of a warp were thought to run in step. WRONG ON PURPOSE: since Volta they need not
 * run in step, and one may read a word before its neighbour has written it. A right result proves nothing.
 *
 * Removes: five barriers, and the comparisons of the last stages.
 * Left: a data race.
 * Look at: the result, with other sizes and another compiler; and last-warp, which is right and no slower. */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    partial[t] = element_or(x, global_thread(), n, 0);
    __syncthreads();
#pragma unroll
    for (unsigned stride = BLOCK / 2; stride > WARP; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
        __syncthreads();
    }
    if (t < WARP) {
        volatile value *shared = partial;
        shared[t] += shared[t + 32];
        shared[t] += shared[t + 16];
        shared[t] += shared[t + 8];
        shared[t] += shared[t + 4];
        shared[t] += shared[t + 2];
        shared[t] += shared[t + 1];
    }
    if (t == 0)
        add_block(sum, partial[0]);
}
