/* Exact mode: long rows, each shared by 'blocks' thread blocks. They add their limbs to the row's in global memory, and
 * the last one rounds. */

/* Adds up the limbs of a block's warps, in place of the first warps' words. Returns the SAW_ bits of all. */
inline uint32 fold_block(int32 (*words)[STATE_WORDS], uint32 saw) {
    __shared__ uint32 all;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    atomicOr(&all, saw);
    int64 mine[(STATE_LIMBS + BLOCK - 1) / BLOCK];
    for (int i = threadIdx.x, k = 0; i < STATE_LIMBS; i += BLOCK, k++) {
        mine[k] = 0;
        for (int w = 0; w < WARPS; w++)
            mine[k] += limb_of_words(words[w], i);
    }
    __syncthreads();
    for (int i = threadIdx.x, k = 0; i < STATE_LIMBS; i += BLOCK, k++)
        ((int64 *)words)[i] = mine[k];
    __syncthreads();
    return all;
}

/* Adds a block's limbs to the row's. The row's last block gets the row's sum in their place, and true. */
inline bool fold_row(row_sum *row, uint64 blocks, int64 *limbs, uint32 *saw) {
    __shared__ bool is_last;
    for (int i = threadIdx.x; i < STATE_LIMBS; i += BLOCK)
        if (limbs[i])
            atomicAdd((uint64 *)&row->limbs[i], (uint64)limbs[i]);
    if (threadIdx.x == 0)
        atomicOr(&row->saw, *saw);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicAdd(&row->arrived, 1) == blocks - 1;
    __syncthreads();
    if (!is_last)
        return false;
    __threadfence();
    for (int i = threadIdx.x; i < STATE_LIMBS; i += BLOCK)
        limbs[i] = __ldcg(&row->limbs[i]);
    *saw = __ldcg(&row->saw);
    __syncthreads();
    return true;
}

extern "C" __global__ void __launch_bounds__(BLOCK, ROW_BLOCKS) exact_rows(exact_args p SIZED) {
    TAKE_SIZE(p.extent)
    __shared__ alignas(16) int32 words[WARPS][STATE_WORDS];
    int warp = threadIdx.x / WARP;
    if (p.blocks > 1)
        wait_for_last(); /* the launch before this one clears the sums; what was written before that is seen from here on */
    for (uint64 row = blockIdx.y; row < p.rows; row += gridDim.y) {
        warp_state sum;
        sum.clear(words[warp]);
        add_tiles(sum, make_group(p, row * p.extent, p.extent, 1), (blockIdx.x * (uint64)WARPS + warp) * TILE,
                  p.blocks * WARPS * TILE);
        uint32 saw = fold_block(words, sum.saw);
        int64 *limbs = (int64 *)words;
        bool whole = p.blocks == 1 || fold_row(p.sums + row, p.blocks, limbs, &saw);
        if (whole && warp == 0)
            conclude(p, row, [=](int i) { return limbs[i]; }, limbs, saw, p.extent);
        __syncthreads();
    }
}
