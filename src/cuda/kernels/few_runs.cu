/* Reductions by keys of few elements: all tiles are in one cluster of blocks, or there is one tile alone. No other launch
 * is needed. */

inline void begin_cluster() {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1)
        arrive_in_cluster();
#endif
}
inline void tell_cluster(runs_memory &r, uint32 heads) {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1) {
        wait_for_cluster(); /* all blocks run */
        if (threadIdx.x < gridDim.x)
            store_at_block(&r.heads_of[blockIdx.x], threadIdx.x, heads);
        __syncwarp();
        arrive_in_cluster();
        return;
    }
#endif
    if (threadIdx.x == 0)
        r.heads_of[0] = heads;
}
/* Returns whether there is room for all runs, and in r.before how many are in earlier tiles. All threads call this. */
inline bool find_place(runs_memory &r, const groups_args &p) {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1)
        wait_for_cluster();
#endif
    __syncthreads();
    uint64 before = 0, all = 0;
    for (uint32 b = 0; b < gridDim.x; b++) {
        before += b < blockIdx.x ? r.heads_of[b] : 0;
        all += r.heads_of[b];
    }
    if (threadIdx.x == 0) {
        r.before = before;
        if (blockIdx.x == 0) {
            control told = control();
            told.runs = all;
            told.refused = all > p.room ? REFUSED_RUNS : 0;
            *p.told = told;
        }
    }
    __syncthreads();
    return all <= p.room;
}
inline void end_cluster(const groups_args &p) {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1) {
        __syncwarp();
        arrive_in_cluster();
        wait_for_cluster();
        ending e;
        if (blockIdx.x == 0 && threadIdx.x < p.chunks && find_ending(p, threadIdx.x, &e)) {
            const acc_t last = load_last(p, threadIdx.x, &e);
            finish_group(p, e, fold_parts(p, e.first, threadIdx.x), last);
        }
    }
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_few_runs(groups_args p) {
    __shared__ tile_bytes<PLACE> memory;
    __shared__ second_bytes seconds;
    __shared__ tile_memory s;
    __shared__ runs_memory r;
    begin_cluster();
    wait_for_last();
    let_next_start();
    const tile t = begin_tile(p, blockIdx.x, memory.bytes, seconds.bytes, memory.bytes);
    find_heads_of_tile(p, t, s, r);
    const uint32 heads = rank_heads(s);
    __syncthreads(); /* heads are numbered */
    tell_cluster(r, heads);
    if (p.keys_out || LISTS_ALWAYS)
        list_heads(s);
    wait_for_copies<0>();
    __syncthreads();
    const acc_t whole = fold_run_tile(s, t, heads);
    if (!find_place(r, p))
        return;
    if (p.keys_out)
        put_keys(s, p.keys + t.first, p.keys_out + r.before, heads);
    put_tile(s, r, p, t, heads, whole, p.out + r.before);
    end_cluster(p);
}
