/* interleaved: each block adds its elements in shared memory: neighbours first, then neighbours of pairs, and so on;
 * one atomic per block.
 *
 * Removes: all but one in 256 of the atomics.
 * Left: in each stage the working threads are spread over all warps (every second thread, every fourth, ...), so each
 * warp executes every stage for fewer and fewer of its threads. The remainder (%) takes some 17 instructions.
 * Look at: instructions per warp, and issue slots busy: most instructions only find out which threads work. */
extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    const unsigned t = threadIdx.x;
    partial[t] = element_or(x, global_thread(), n, 0);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0)
            partial[t] += partial[t + stride];
        __syncthreads();
    }
    if (t == 0)
        add_block(sum, partial[0]);
}
