/* Exact mode: short rows, columns and segments, a warp for each. */
extern "C" __global__ void __launch_bounds__(BLOCK) exact_groups(exact_args p SIZED) {
#if GROUPS == SEGMENTS
    TAKE_SEGMENTS(p.offsets, p.rows, p.extent)
#else
    TAKE_SIZE(p.extent)
#endif
    __shared__ alignas(16) int32 words[WARPS][STATE_WORDS];
    int warp = threadIdx.x / WARP;
    if (p.refused && *p.refused)
        return;
    for (uint64 g = blockIdx.x * (uint64)WARPS + warp; g < p.rows; g += gridDim.x * (uint64)WARPS) {
        uint64 first = g / p.inner * p.inner * p.extent + g % p.inner, count = p.extent;
#if GROUPS == SEGMENTS
        first = (uint64)load(p.offsets + g);
        count = (uint64)load(p.offsets + g + 1) - first;
#endif
        add_group(p, words[warp], first, count, p.inner, g);
    }
}
