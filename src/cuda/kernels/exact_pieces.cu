/* Exact mode: further kernels for input in pieces (see pieces.cu). */
inline void clear_all(const clear_args &p) {
    uint32 *word = (uint32 *)p.totals;
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < p.count * (sizeof(row_sum) / 4);
         i += gridDim.x * (uint64)BLOCK)
        word[i] = 0;
}

/* A warp rounds each sum. */
inline void lower_all(const lower_args &p) {
    __shared__ uint32 digits[WARPS][STATE_WORDS];
    int warp = threadIdx.x / WARP;
    for (uint64 g = blockIdx.x * (uint64)WARPS + warp; g < p.count; g += gridDim.x * (uint64)WARPS) {
        const row_sum *total = p.totals + g;
        auto limb = [=](int i) { return total->limbs[i]; };
        give(limb, digits[warp], total->saw, added_of(limb, p.elements), p.out + g);
    }
}
