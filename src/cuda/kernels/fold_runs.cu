/* Reductions by keys, one pass over the elements, a tile a block. mark_runs.cu has found where runs begin and how many
 * begin before each tile, so blocks don't wait for each other. */

/* The number of heads before the tile, and in all if an output may be too small for them; known after two barriers. */
inline void add_totals(const groups_args &p, runs_memory &r, uint64 strip) {
    enum { AT_A_TIME = 3 }; /* for two blocks of mark_runs.cu a processor, most often */
    const uint32 own = (uint32)strip / ((uint32)p.marked * MARKERS), end = p.room < p.n ? (uint32)p.markers : own;
    uint64 before = threadIdx.x == 0 ? p.ranks[strip] : 0, all = 0;
#pragma unroll 1
    for (uint32 k = threadIdx.x; k < end; k += AT_A_TIME * BLOCK) {
        uint64 total[AT_A_TIME];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            total[j] = k + j * BLOCK < end ? p.totals[k + j * BLOCK] : 0;
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++) {
            all += total[j];
            before += k + j * BLOCK < own ? total[j] : 0;
        }
    }
    before = add_lanes(before);
    if (p.room < p.n)
        all = add_lanes(all);
    if (threadIdx.x % WARP == 0) {
        r.of_warp[threadIdx.x / WARP][0] = before;
        r.of_warp[threadIdx.x / WARP][1] = all;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_runs(groups_args p SIZED) {
    TAKE_TILES(p)
#if SIZE_ON_DEVICE
    if (blockIdx.x * (uint64)TILE >= p.n)
        return;
#endif
    __shared__ tile_bytes<PLACE> memory;
    __shared__ alignas(128) uint8 seconds[HAS_SECOND ? TILE * sizeof(in_t) : 16];
    __shared__ tile_memory s;
    __shared__ runs_memory r;
    const tile t = begin_tile(p, memory.bytes, seconds, memory.bytes);
    const uint64 number = blockIdx.x;
    wait_for_last(); /* heads are marked */
    let_next_start();
    const uint32 *bits = p.bits + number * HEAD_WORDS;
    if (threadIdx.x < HEAD_WORDS)
        s.heads[threadIdx.x] = bits[threadIdx.x];
    if (threadIdx.x == BLOCK - 1)
        r.ends = number + 1 == p.tiles || bits[HEAD_WORDS] & 1;
    add_totals(p, r, number * (TILE / STRIP));
    __syncthreads();
    const uint32 heads = rank_heads(s);
    uint64 before = 0, all = 0;
#pragma unroll
    for (uint32 w = 0; w < WARPS; w++) {
        before += r.of_warp[w][0];
        all += r.of_warp[w][1];
    }
    if (threadIdx.x == 0)
        r.before = before;
    const bool is_refused = all > p.room;
    if (threadIdx.x == 0 && number + 1 == p.tiles) {
        control told = control();
        told.runs = before + heads;
        told.refused = is_refused ? REFUSED_RUNS : 0;
        *p.told = told;
    }
    if ((p.keys_out || LISTS_ALWAYS) && heads && !is_refused) {
        const index_t *from = p.keys + t.first;
        index_t *to = p.keys_out + before;
        if (LISTS_ALWAYS || !are_dense(from, to, heads)) {
            list_heads(s, r);
            __syncthreads();
        }
        if (p.keys_out)
            put_keys(s, r, from, to, heads);
    }
    wait_for_copies<0>();
    if (is_refused)
        return;
    __syncthreads();
    const acc_t whole = fold_tile(s, t, heads);
    __syncthreads();
    put_tile(s, r, p, t, heads, whole);
}
