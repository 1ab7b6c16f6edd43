/* Exact mode: runs of equal keys. Their heads are counted in chunks, which gives each chunk the number of its first
 * run. Then a warp adds the runs that begin in its chunk. */

#if SIZE_ON_DEVICE
#define TAKE_CHUNKS(p)                                                                                                 \
    TAKE_SIZE(p.extent)                                                                                                \
    p.chunks = (p.extent + KEY_CHUNK - 1) / KEY_CHUNK;
#else
#define TAKE_CHUNKS(p)
#endif

/* Whether a run begins at i; past the end none does. */
inline bool is_head(const exact_args &p, uint64 i) {
    return i < p.extent && (i == 0 || load(p.keys + i) != load(p.keys + i - 1));
}

inline uint64 end_of_run(const exact_args &p, uint64 first) {
    for (uint64 base = first + 1;; base += WARP) {
        uint64 i = base + lane_of();
        uint32 heads = __ballot_sync(ALL_LANES, i >= p.extent || is_head(p, i));
        if (heads)
            return base + __ffs((int32)heads) - 1;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) count_heads(exact_args p SIZED) {
    TAKE_CHUNKS(p)
    uint64 warps = gridDim.x * (uint64)WARPS;
    for (uint64 c = (blockIdx.x * (uint64)BLOCK + threadIdx.x) / WARP; c < p.chunks; c += warps) {
        uint32 heads = 0;
        for (int k = 0; k < KEY_CHUNK; k += WARP)
            heads += __popc(__ballot_sync(ALL_LANES, is_head(p, c * KEY_CHUNK + k + lane_of())));
        if (lane_of() == 0)
            p.ranks[c] = heads;
    }
}

/* One block turns the chunks' numbers of heads into the numbers before each chunk, and stops the run if the outputs
 * have no room for all runs. */
extern "C" __global__ void __launch_bounds__(BLOCK) rank_heads(exact_args p SIZED) {
    TAKE_CHUNKS(p)
    __shared__ uint64 sums[BLOCK];
    uint64 each = (p.chunks + BLOCK - 1) / BLOCK, begin = threadIdx.x * each;
    uint64 end = begin + each < p.chunks ? begin + each : p.chunks, mine = 0, before = 0;
    for (uint64 c = begin; c < end; c++)
        mine += p.ranks[c];
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int t = 0; t < (int)threadIdx.x; t++)
        before += sums[t];
    if (threadIdx.x == BLOCK - 1) {
        *p.runs = before + mine;
        if (before + mine > p.room)
            *p.refused |= REFUSED_RUNS;
    }
    for (uint64 c = begin; c < end; c++) {
        uint64 heads = p.ranks[c];
        p.ranks[c] = before;
        before += heads;
    }
}

/* A warp adds the runs that begin in its chunk, to their ends. */
extern "C" __global__ void __launch_bounds__(BLOCK) exact_runs(exact_args p SIZED) {
    TAKE_CHUNKS(p)
    __shared__ alignas(16) int32 words[WARPS][STATE_WORDS];
    int warp = threadIdx.x / WARP;
    if (*p.refused)
        return;
    for (uint64 c = blockIdx.x * (uint64)WARPS + warp; c < p.chunks; c += gridDim.x * (uint64)WARPS) {
        uint64 rank = p.ranks[c];
        for (int k = 0; k < KEY_CHUNK; k += WARP) {
            uint64 base = c * KEY_CHUNK + k;
            uint32 heads = __ballot_sync(ALL_LANES, is_head(p, base + lane_of()));
            for (; heads; heads &= heads - 1, rank++) {
                uint64 first = base + __ffs((int32)heads) - 1;
                add_group(p, words[warp], first, end_of_run(p, first) - first, 1, rank);
                if (p.keys_out && lane_of() == 0)
                    store(p.keys_out + rank, load(p.keys + first));
            }
        }
    }
}
