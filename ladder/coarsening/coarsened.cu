/* coarsened: a thread combines 2 C elements, a block's width apart, before the tree; up to 16 of them are on their
 * way from memory at a time.
 *
 * Removes: C - 1 of C trees, with their barriers, idle warps and atomics: blocks that would have waited for a place
 * on the device are done in turn by one block that has a place, without its overhead.
 * Left: with a C too large there are fewer blocks than places, and parts of the device stand idle: more than just
 * fills the device does not pay.
 * Look at: the time against C, and where the mark of the device's capacity stands. */
extern "C" __global__ void reduce(const value *x, value *out, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    const uint64 first = (uint64)blockIdx.x * (2 * C * BLOCK) + t;
    value own = identity();
#pragma unroll 16
    for (unsigned k = 0; k < 2 * C; k++)
        own = combine(own, element_or(x, first + k * BLOCK, n, identity()));
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
