/* Heads: the elements at which runs of equal keys begin. They are counted in chunks, and one block turns the numbers into
 * those before each chunk. */

inline uint64 chunks_of_heads(const heads_args &p) {
    return (p.n + HEADS_CHUNK - 1) / HEADS_CHUNK;
}
inline uint64 warp_of_heads() {
    return (blockIdx.x * (uint64)BLOCK + threadIdx.x) / WARP;
}
inline uint64 warps_of_heads() {
    return gridDim.x * (uint64)(BLOCK / WARP);
}

/* Whether a run begins at i; past the end none does. */
inline bool is_head(const heads_args &p, uint64 i) {
    return i < p.n && (i == 0 || load(p.keys + i) != load(p.keys + i - 1));
}
/* Which of a warp's elements from 'first' on are heads. */
inline uint32 find_heads(const heads_args &p, uint64 first) {
    return __ballot_sync(ALL_LANES, is_head(p, first + threadIdx.x % WARP));
}

extern "C" __global__ void __launch_bounds__(BLOCK) count_heads(heads_args p SIZED) {
    TAKE_SIZE(p.n)
    for (uint64 c = warp_of_heads(); c < chunks_of_heads(p); c += warps_of_heads()) {
        uint32 heads = 0;
        for (int k = 0; k < HEADS_CHUNK; k += WARP)
            heads += __popc(find_heads(p, c * HEADS_CHUNK + k));
        if (threadIdx.x % WARP == 0)
            p.ranks[c] = heads;
    }
}

/* It stops the run if the outputs have no room for all runs. */
extern "C" __global__ void __launch_bounds__(BLOCK) rank_heads(heads_args p SIZED) {
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
        if (before + mine > p.room)
            p.told->refused |= REFUSED_RUNS;
    }
    for (uint64 c = begin; c < end; c++) {
        const uint64 heads = p.ranks[c];
        p.ranks[c] = before;
        before += heads;
    }
}
