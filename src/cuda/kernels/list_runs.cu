/* Offsets of the runs of equal keys, as if they were segments. Heads are counted in chunks, one block turns the numbers into
 * those before each chunk, and each head writes where it is. */
enum {
    HEADS_CHUNK = 1024, /* keys of a warp */
    TOO_MANY_RUNS = 4    /* TALLY_GPU_REFUSED_RUNS of gpu/plan.h */
};

inline uint64 chunks_of_heads(const list_runs_args &p) {
    return (p.n + HEADS_CHUNK - 1) / HEADS_CHUNK;
}
inline uint64 warp_of_heads() {
    return (blockIdx.x * (uint64)BLOCK + threadIdx.x) / WARP;
}
inline uint64 warps_of_heads() {
    return gridDim.x * (uint64)(BLOCK / WARP);
}

/* Whether a run begins at i; past the end none does. */
inline bool is_head(const list_runs_args &p, uint64 i) {
    return i < p.n && (i == 0 || load(p.keys + i) != load(p.keys + i - 1));
}

extern "C" __global__ void __launch_bounds__(BLOCK) count_run_heads(list_runs_args p SIZED) {
    TAKE_SIZE(p.n)
    for (uint64 c = warp_of_heads(); c < chunks_of_heads(p); c += warps_of_heads()) {
        uint32 heads = 0;
        for (int k = 0; k < HEADS_CHUNK; k += WARP)
            heads += __popc(__ballot_sync(ALL_LANES, is_head(p, c * HEADS_CHUNK + k + threadIdx.x % WARP)));
        if (threadIdx.x % WARP == 0)
            p.ranks[c] = heads;
    }
}

/* One block makes of the chunks' numbers of heads those before each chunk. */
extern "C" __global__ void __launch_bounds__(BLOCK) rank_run_heads(list_runs_args p SIZED) {
    TAKE_SIZE(p.n)
    __shared__ uint64 sums[BLOCK];
    const uint64 chunks = chunks_of_heads(p), each = (chunks + BLOCK - 1) / BLOCK;
    const uint64 begin = threadIdx.x * each, end = begin + each < chunks ? begin + each : chunks;
    uint64 mine = 0, before = 0;
    for (uint64 c = begin; c < end; c++)
        mine += p.ranks[c];
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int t = 0; t < (int)threadIdx.x; t++)
        before += sums[t];
    if (threadIdx.x == BLOCK - 1) {
        p.told->runs = before + mine;
        p.starts[before + mine] = p.n;
        if (before + mine > p.room)
            p.told->refused |= TOO_MANY_RUNS;
    }
    for (uint64 c = begin; c < end; c++) {
        const uint64 heads = p.ranks[c];
        p.ranks[c] = before;
        before += heads;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) list_run_heads(list_runs_args p SIZED) {
    TAKE_SIZE(p.n)
    for (uint64 c = warp_of_heads(); c < chunks_of_heads(p); c += warps_of_heads()) {
        uint64 rank = p.ranks[c];
        for (int k = 0; k < HEADS_CHUNK; k += WARP) {
            const uint32 lane = threadIdx.x % WARP;
            const uint64 at = c * HEADS_CHUNK + k + lane;
            const uint32 heads = __ballot_sync(ALL_LANES, is_head(p, at));
            if (heads >> lane & 1)
                p.starts[rank + __popc(heads & ((1u << lane) - 1))] = at;
            rank += __popc(heads);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) put_run_keys(list_runs_args p SIZED) {
    TAKE_SIZE(p.n)
    if (p.told->refused)
        return;
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < p.told->runs; g += gridDim.x * (uint64)BLOCK)
        store(p.keys_out + g, load(p.keys + p.starts[g]));
}
