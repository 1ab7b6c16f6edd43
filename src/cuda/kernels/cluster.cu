/* A reduction of little input by one cluster of blocks (sm_90 and later): see reduce.cu. */

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(CLUSTER_BLOCK)
    reduce_in_cluster(reduce_args p) {
    __shared__ slot of_blocks[CLUSTER];
    arrive_in_cluster(); /* the first block's memory is there once it runs */
    wait_for_last();
    let_next_start();
    acc_t acc = fold_row<CLUSTER_BLOCK>(p, 0);
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
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        for (int b = 1; b < CLUSTER; b++) {
            acc_t next;
            memcpy(&next, of_blocks[b].word, sizeof next);
            acc = combine(acc, next);
        }
        finish_row(p, 0, acc);
    }
}
