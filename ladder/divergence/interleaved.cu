/* interleaved: the stride begins at half the block and shrinks. Thread t adds the value half a block further, then a
 * quarter, and so on.
 *
 * Removes: the gaps: in every stage a warp's 32 words are in four sectors of 32 bytes, and the next stage finds the
 * sums in the same few lines.
 * Left: global memory as the working memory: a store, a barrier and a load in each stage.
 * Look at: load throughput and time, both the lowest of the three. Load throughput counts the sectors that a kernel
 * asks for, and this kernel asks for fewer. */
extern "C" __global__ void reduce(value *x, value *sums, uint64 n) {
    const uint64 first = (uint64)blockIdx.x * BLOCK;
    const unsigned t = threadIdx.x, here = n - first < BLOCK ? n - first : BLOCK;
    value *part = x + first;
    for (unsigned stride = block_threads() / 2; stride > 0; stride /= 2) {
        if (t < stride && t + stride < here)
            part[t] += part[t + stride];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = here > 0 ? part[0] : 0;
}
