/* shared-memory: all threads load the part into shared memory, one thread scans it there, and all write it back.
 *
 * Removes: the waits of single loads for memory: 1024 elements come in 32 wide loads.
 * Left: one thread does all the additions.
 * Look at: sectors per request: loads are whole lines now. */
extern "C" __global__ void scan_parts(const value *x, value *out, value *totals, uint64 n) {
    __shared__ value staged[BLOCK];
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        const uint64 i = part * BLOCK + threadIdx.x;
        staged[threadIdx.x] = element_or(x, i, n, 0);
        __syncthreads();
        if (threadIdx.x == 0) {
            value sum = 0;
            for (unsigned k = 0; k < BLOCK; k++)
                staged[k] = sum += staged[k];
            totals[part] = sum;
        }
        __syncthreads();
        if (i < n)
            out[i] = staged[threadIdx.x];
        __syncthreads(); /* before the next part is staged */
    }
}
