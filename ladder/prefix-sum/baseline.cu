/* baseline: three phases. Scan each part and keep its total; scan the totals; add to each part the total before it.
 * Here one thread of a block scans its part, element by element, in global memory.
 *
 * Removes: nothing; the others are compared with it.
 * Left: one lane of 1024 works, and each of its loads waits for memory.
 * Look at: in scan_parts, sectors per request: each load brings 32 bytes and uses 4; and threads per instruction, more
 * than 1 only because the idle warps execute the outer loop, too. */
extern "C" __global__ void scan_parts(const value *x, value *out, value *totals, uint64 n) {
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        if (threadIdx.x == 0) {
            const uint64 first = part * BLOCK, end = n < first + BLOCK ? n : first + BLOCK;
            value sum = 0;
            for (uint64 i = first; i < end; i++)
                out[i] = sum += x[i];
            totals[part] = sum;
        }
    }
}
