/* atomic: every thread adds its element to one word of global memory.
 *
 * Removes: nothing; it is the plainest kernel that is right.
 * Left: n additions to one address, which the memory does one after the other (a compiler may add up a warp first).
 * Look at: the load throughput, far below the roof although every load is perfect, because the atomics are the limit.
 */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    const uint64 i = global_thread();
    if (i < n)
        atomicAdd(sum, x[i]);
}
