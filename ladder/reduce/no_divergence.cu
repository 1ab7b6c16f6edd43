/* no-divergence: the same additions of the same elements, but thread t does the t-th of them. The working threads are
 * neighbours, and whole warps are idle.
 *
 * Removes: the remainder, and divergent warps: in the first stage half of the warps work with all lanes, instead of all
 * warps with half of their lanes.
 * Left: bank conflicts. Neighbouring threads use words 2, 4, 8, ... apart, which are in the same few of the 32 banks of
 * shared memory and are served one after the other. A thread adds at another position in each stage, so no sum stays in
 * a register.
 * Look at: instructions per warp, half as many as before, and bank conflicts, which were few before. */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    partial[t] = element_or(x, global_thread(), n, 0);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned at = 2 * stride * t;
        if (at < blockDim.x)
            partial[at] += partial[at + stride];
        __syncthreads();
    }
    if (t == 0)
        add_block(sum, partial[0]);
}
