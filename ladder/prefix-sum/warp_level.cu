/* warp-level: one lane of each warp scans the warp's 32 elements; then one thread scans the 32 totals of the warps;
 * then all threads add the total before their warp.
 *
 * Removes: most of the chain: 32 + 32 additions one after the other, instead of 1024.
 * Left: one lane in 32 works.
 * Look at: the time of scan_parts; threads per instruction, still few; and scan_totals, which is now the larger part.
 */
extern "C" __global__ void scan_parts(const value *x, value *out, value *totals, uint64 n) {
    __shared__ value staged[BLOCK], of_warp[BLOCK / WARP];
    const unsigned t = threadIdx.x, warp = t / WARP, lane = t % WARP;
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        const uint64 i = part * BLOCK + t;
        staged[t] = element_or(x, i, n, 0);
        __syncwarp();
        if (lane == 0) {
            value sum = 0;
            for (unsigned k = t; k < t + WARP; k++)
                staged[k] = sum += staged[k];
            of_warp[warp] = sum;
        }
        __syncthreads();
        if (t == 0) {
            value sum = 0;
            for (unsigned w = 0; w < BLOCK / WARP; w++)
                of_warp[w] = sum += of_warp[w];
            totals[part] = sum;
        }
        __syncthreads();
        if (i < n)
            out[i] = staged[t] + (warp > 0 ? of_warp[warp - 1] : 0);
        __syncthreads(); /* before the next part is staged */
    }
}
