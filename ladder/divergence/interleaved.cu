/* interleaved: the stride begins at half the block and shrinks: thread t adds what lies half a block further, then
 * a quarter, and so on.
 *
 * Removes: the gaps: a warp's 32 words lie in four sectors of 32 bytes in every stage, and the sums stay together
 * where the next stage finds them in the same few lines.
 * Left: global memory as the working memory: a store, a barrier and a load in each stage.
 * Look at: load throughput, the lowest of the three, beside the time, the lowest too: it counts sectors that were
 * asked for, and this kernel has to ask for fewer. */
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
