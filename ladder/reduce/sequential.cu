/* sequential: the stride begins at half the block and shrinks. Thread t adds the value half a block further, then a
 * quarter, and so on.
 *
 * Removes: bank conflicts: neighbouring threads use neighbouring words, all in different banks. Each thread keeps its
 * sum in a register again.
 * Left: half of the threads only load; the loop itself (compare, shift, jump) in every stage; barriers.
 * Look at: bank conflicts, nearly none. */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    value own = element_or(x, global_thread(), n, 0);
    partial[t] = own;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) {
            own += partial[t + stride];
            partial[t] = own;
        }
        __syncthreads();
    }
    if (t == 0)
        add_block(sum, own);
}
