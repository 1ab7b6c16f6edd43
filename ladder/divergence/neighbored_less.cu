/* neighbored-less: the same additions, but thread t does the t-th of them. The working threads are neighbours, and
 * whole warps are idle.
 *
 * Removes: the remainder, and divergent warps: in the first stage half of the warps skip the addition, instead of all
 * warps doing it for half of their lanes.
 * Left: the elements that a warp adds are 2, 4, 8, ... apart, so each load touches more and more sectors of memory for
 * the same 32 words.
 * Look at: instructions per warp, far fewer; sectors per request, more. */
extern "C" __global__ void reduce(value *x, value *sums, uint64 n) {
    const uint64 first = (uint64)blockIdx.x * BLOCK;
    const unsigned t = threadIdx.x, here = n - first < BLOCK ? n - first : BLOCK;
    value *part = x + first;
    for (unsigned stride = 1; stride < block_threads(); stride *= 2) {
        const unsigned at = 2 * stride * t;
        if (at + stride < here)
            part[at] += part[at + stride];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = here > 0 ? part[0] : 0;
}
