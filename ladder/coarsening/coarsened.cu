/* coarsened: a thread combines 2 C elements, a block's width apart, before the tree; up to 16 of its loads are under
 * way at a time.
 *
 * Removes: C - 1 of C trees, with their barriers, idle warps and atomics. One resident block does in turn the work of
 * blocks that would have waited for a place on the device.
 * Left: with a C too large there are fewer blocks than places, and parts of the device are idle.
 * Look at: the time against C, and the mark of the device's capacity. */
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
