/* phases: the second and the third phase, which most steps of this family share; a step is the first phase. Blocks take
 * the parts in turn, and a part's number, not its block's, determines its elements. */

/* One thread scans the totals. */
extern "C" __global__ void scan_totals(value *totals, uint64 parts) {
    if (threadIdx.x == 0) {
        value sum = 0;
        for (uint64 part = 0; part < parts; part++)
            totals[part] = sum += totals[part];
    }
}

/* Each part except the first adds the total of all parts before it. */
extern "C" __global__ void add_totals(value *out, const value *totals, uint64 n) {
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        const uint64 i = part * BLOCK + threadIdx.x;
        if (part > 0 && i < n)
            out[i] += totals[part - 1];
    }
}
