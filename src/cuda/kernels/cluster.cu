/* A reduction of little input by one cluster of blocks (sm_90 and later): see reduce.cu. */
inline void arrive_in_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
inline void wait_for_cluster() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* To the same variable of the cluster's first block. */
inline void store_at_first(uint32 *word, uint32 value) {
    asm volatile("{\n\t.reg .u32 there;\n\tmapa.shared::cluster.u32 there, %0, 0;\n\t"
                 "st.shared::cluster.u32 [there], %1;\n\t}" ::"r"((uint32)__cvta_generic_to_shared(word)),
                 "r"(value)
                 : "memory");
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(CLUSTER_BLOCK)
    reduce_in_cluster(reduce_args p) {
    __shared__ slot of_blocks[CLUSTER];
    arrive_in_cluster(); /* the first block's memory is there once it runs */
    acc_t acc = fold_row<CLUSTER_BLOCK>(p, 0);
    wait_for_cluster();
    if (threadIdx.x == 0) {
        uint32 words[sizeof(slot) / 4] = {};
        memcpy(words, &acc, sizeof acc);
#pragma unroll
        for (int w = 0; w < (int)(sizeof(slot) / 4); w++)
            store_at_first(&of_blocks[blockIdx.x].word[w], words[w]);
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
