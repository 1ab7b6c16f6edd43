/* The second kernel of a reduction of columns, which folds the partial results of the columns' chunks (partials.cu).
 * All blocks have equally many results. Each result has enough of the block's threads that no thread has more than
 * A_SHARE chunks, if there are that many threads. */
extern "C" __global__ void __launch_bounds__(BLOCK) fold_column_partials(partials_args p SIZED) {
    TAKE_SIZE(p.to.count)
    constexpr uint32 SPOTS = 16384 / sizeof(slot) < BLOCK ? 16384 / sizeof(slot) : BLOCK, A_SHARE = 8;
    __shared__ alignas(16) uint8 memory[SPOTS * sizeof(acc_t)];
    acc_t *spots = (acc_t *)memory;
    const uint64 fair = quotient(p.results + gridDim.x - 1, gridDim.x);
    const uint32 at_once = fair < SPOTS ? (uint32)fair : SPOTS, most = SPOTS / at_once;
    const uint32 shares = p.chunks < (uint64)A_SHARE * most ? ((uint32)p.chunks + A_SHARE - 1) / A_SHARE : most;
    wait_for_last();
    let_next_start();
    for (uint64 first = (uint64)blockIdx.x * at_once; first < p.results; first += (uint64)gridDim.x * at_once) {
        const uint32 here = p.results - first < at_once ? (uint32)(p.results - first) : at_once;
        const uint32 share = threadIdx.x / here, column = threadIdx.x - share * here;
        if (share < shares)
            spots[threadIdx.x] = fold_share(p, first + column, share, shares);
        fold_groups(spots, here, shares, 1);
        if (threadIdx.x < here)
            give(p.to, first + column, spots[column]);
        __syncthreads();
    }
}

