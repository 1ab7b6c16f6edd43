/* Exact mode: what input in pieces needs besides the kernels of reductions (see pieces.cu). The kernels have the
 * parameters of those in pieces.cu, but exact sums have no initial value. */
extern "C" __global__ void __launch_bounds__(BLOCK) clear_totals(row_sum *totals, const out_t *, uint64 count) {
    uint32 *word = (uint32 *)totals;
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < count * (sizeof(row_sum) / 4);
         i += gridDim.x * (uint64)BLOCK)
        word[i] = 0;
}

/* A warp rounds each sum. */
extern "C" __global__ void __launch_bounds__(BLOCK)
    lower_totals(const row_sum *totals, uint64 count, uint64 elements, out_t *out) {
    __shared__ uint32 digits[WARPS][WORDS];
    int warp = threadIdx.x / WARP;
    for (uint64 g = blockIdx.x * (uint64)WARPS + warp; g < count; g += gridDim.x * (uint64)WARPS) {
        const row_sum *total = totals + g;
        give([=](int i) { return total->limbs[i]; }, digits[warp], total->saw, elements, out + g);
    }
}
