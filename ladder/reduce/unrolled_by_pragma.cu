/* unrolled-by-pragma: the loop of the sequential step, with bounds that the compiler knows and a request to unroll it.
 *
 * Removes: the loop, without writing it out.
 * Left: as in unrolled-by-hand: a barrier after each stage.
 * Look at: whether anything differs from unrolled-by-hand. */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    value own = element_or(x, global_thread(), n, 0);
    partial[t] = own;
    __syncthreads();
#pragma unroll
    for (unsigned stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (t < stride) {
            own += partial[t + stride];
            partial[t] = own;
        }
        __syncthreads();
    }
    if (t == 0)
        add_block(sum, own);
}
