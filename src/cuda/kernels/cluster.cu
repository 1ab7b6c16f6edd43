/* Clusters of blocks, which access each other's shared memory (sm_90 and later): one for a reduction of little input,
 * one for each row of few that are not long, and one for the end of a large reduction, whose partial results one block
 * would take too long to read. See reduce.cu. */

enum {
    CLUSTER_UNROLL = UNROLL < 4 ? UNROLL : 4, /* vectors that a thread loads at a time */
    CLUSTER_RESIDENT = 1024 / CLUSTER_THREADS /* blocks that a multiprocessor must have registers for */
};

/* The first block folds the blocks' accumulators in order. The others write to its shared memory, which exists only
 * while the block runs; so all blocks must have arrived at the cluster's barrier once before they call this. */
inline void give_as_cluster(const destination &to, uint64 number, acc_t acc) {
    __shared__ slot of_blocks[CLUSTER];
    wait_for_cluster();
    if (threadIdx.x == 0) {
        uint32 words[sizeof(slot) / 4] = {};
        memcpy(words, &acc, sizeof acc);
#pragma unroll
        for (int w = 0; w < (int)(sizeof(slot) / 4); w++)
            store_at_block(&of_blocks[blockIdx.x].word[w], 0, words[w]);
    }
    __syncwarp();
    arrive_in_cluster();
    wait_for_cluster();
    if (blockIdx.x)
        return;
    if (COMBINES_SLOWLY && threadIdx.x < WARP) {
        const acc_t none = identity_as<acc_t>();
        acc_t own = none;
        memcpy(&own, of_blocks[threadIdx.x % CLUSTER].word, sizeof own);
        acc = fold_warp_in_order<CLUSTER>(threadIdx.x == 0 ? acc : threadIdx.x < gridDim.x ? own : none);
    }
    if (threadIdx.x == 0) {
        for (int b = 1; b < gridDim.x && !COMBINES_SLOWLY; b++) {
            acc_t next;
            memcpy(&next, of_blocks[b].word, sizeof next);
            acc = combine(acc, next);
        }
        give(to, number, acc);
    }
}

/* Aligned: as in reduce.cu. With both in one kernel, sums of 2^14 to 2^16 values took 7% longer. */
template <bool Aligned> inline void reduce_row_in_cluster(const reduce_args &p) {
    arrive_in_cluster();
    make_exponentials<CLUSTER_THREADS>();
    wait_for_last();
    let_next_start();
    const row r = row_of(p.x, p.y, p.rows, p.extent, p.before, blockIdx.y);
    give_as_cluster(p.to, blockIdx.y, fold_row<CLUSTER_THREADS, CLUSTER_UNROLL, Aligned>(p, r, blockIdx.x));
}

extern "C" __global__ void __launch_bounds__(CLUSTER_THREADS, CLUSTER_RESIDENT)
    reduce_in_cluster(reduce_args p SIZED) {
    TAKE_SIZE(p.extent)
    TAKE_SIZE(p.to.count)
    reduce_row_in_cluster<true>(p);
}

extern "C" __global__ void __launch_bounds__(CLUSTER_THREADS, CLUSTER_RESIDENT)
    reduce_across_in_cluster(reduce_args p SIZED) {
    TAKE_SIZE(p.extent)
    TAKE_SIZE(p.to.count)
    reduce_row_in_cluster<false>(p);
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(BLOCK)
    fold_partials_in_cluster(partials_args p SIZED) {
    TAKE_SIZE(p.to.count)
    arrive_in_cluster();
    wait_for_last();
    let_next_start();
    const acc_t acc = fold_share(p, 0, blockIdx.x * BLOCK + threadIdx.x, CLUSTER * BLOCK);
    give_as_cluster(p.to, 0, fold_block<BLOCK>(acc));
}
