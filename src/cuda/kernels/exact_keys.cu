/* Exact mode: runs of equal keys. A warp adds the runs that begin in its chunk, whose first one's number is known
 * (heads.cu). */

inline uint64 end_of_run(const heads_args &p, uint64 first) {
    for (uint64 base = first + 1;; base += WARP) {
        uint64 i = base + lane_of();
        uint32 heads = __ballot_sync(ALL_LANES, i >= p.n || is_head(p, i));
        if (heads)
            return base + __ffs((int32)heads) - 1;
    }
}

/* A warp adds the runs that begin in its chunk, to their ends. */
extern "C" __global__ void __launch_bounds__(BLOCK) exact_runs(exact_runs_args p SIZED) {
    TAKE_SIZE(p.heads.n)
    __shared__ alignas(16) int32 words[WARPS][STATE_WORDS];
    int warp = threadIdx.x / WARP;
    if (*p.sums.refused)
        return;
    for (uint64 c = warp_of_heads(); c < chunks_of_heads(p.heads); c += warps_of_heads()) {
        uint64 rank = p.heads.ranks[c];
        for (int k = 0; k < HEADS_CHUNK; k += WARP) {
            const uint64 base = c * HEADS_CHUNK + k;
            for (uint32 heads = find_heads(p.heads, base); heads; heads &= heads - 1, rank++) {
                const uint64 first = base + __ffs((int32)heads) - 1;
                add_group(p.sums, words[warp], first, end_of_run(p.heads, first) - first, 1, rank);
                if (p.sums.keys_out && lane_of() == 0)
                    store(p.sums.keys_out + rank, load(p.heads.keys + first));
            }
        }
    }
}
