/* neighbored: each block adds its elements in place, in global memory: neighbours first, then neighbours of pairs.
 * Thread t works in a stage when t is a multiple of twice the stride. ("warm-up" runs the same kernel once more; its
 * time is not used.)
 *
 * Removes: nothing; the others are compared with it.
 * Left: the working threads are spread over all warps, so every warp executes every stage for fewer and fewer lanes. If
 * the compiler does not know the stride, t % (2 * stride) takes some 17 instructions.
 * Look at: instructions per warp, then those of neighbored-less; and the machine code (--sass) of both. */
extern "C" __global__ void reduce(value *x, value *sums, uint64 n) {
    const uint64 first = (uint64)blockIdx.x * BLOCK;
    const unsigned t = threadIdx.x, here = n - first < BLOCK ? n - first : BLOCK;
    value *part = x + first;
    for (unsigned stride = 1; stride < block_threads(); stride *= 2) {
        if (t % (2 * stride) == 0 && t + stride < here)
            part[t] += part[t + stride];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = here > 0 ? part[0] : 0;
}
