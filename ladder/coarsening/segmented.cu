/* segmented: each block reduces a segment of two elements per thread. It combines the two while loading them, and
 * combines its result with the output by one atomic. The output starts as the identity.
 *
 * Removes: the limit of one block: n / 2048 blocks of 1024 threads work on segments of their own.
 * Left: every block goes through the whole tree for 2048 elements, with half of its warps idle after the first stage.
 * If there are more blocks than the device holds, this happens wave after wave.
 * Look at: tree steps by design, compared with those of the coarsened rows. */
extern "C" __global__ void reduce(const value *x, value *out, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    const uint64 first = (uint64)blockIdx.x * (2 * BLOCK) + t;
    value own = combine(element_or(x, first, n, identity()), element_or(x, first + BLOCK, n, identity()));
    partial[t] = own;
    __syncthreads();
    for (unsigned stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (t < stride) {
            own = combine(own, partial[t + stride]);
            partial[t] = own;
        }
        __syncthreads();
    }
    if (t == 0 && n > 0)
        atomic_combine(out, own);
}
