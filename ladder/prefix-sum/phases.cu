/* phases: the second and the third phase, which most steps of this family share; a step is the first. Blocks take
 * the parts in turn, and elements follow from the part's number, not from the block's. */

/* One thread scans the totals. */
extern "C" __global__ void scan_totals(value *totals, uint64 parts) {
    if (threadIdx.x == 0) {
        value sum = 0;
        for (uint64 part = 0; part < parts; part++)
            totals[part] = sum += totals[part];
    }
}

/* Each part but the first adds what the parts before it came to. */
extern "C" __global__ void add_totals(value *out, const value *totals, uint64 n) {
    for (uint64 part = blockIdx.x; part * BLOCK < n; part += gridDim.x) {
        const uint64 i = part * BLOCK + threadIdx.x;
        if (part > 0 && i < n)
            out[i] += totals[part - 1];
    }
}
