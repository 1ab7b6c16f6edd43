/* The launches before a reduction by keys whose outputs may be too small. */

/* Adds up the number of runs. */
extern "C" __global__ void __launch_bounds__(BLOCK) count_runs(groups_args p) {
    uint32 mine = 0;
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < p.n; i += gridDim.x * (uint64)BLOCK)
        mine += is_head(p, i);
    uint64 runs = add_lanes(mine);
    if (threadIdx.x % WARP == 0 && runs)
        atomicAdd(&p.told->runs, runs);
}

extern "C" __global__ void refuse_more_runs(groups_args p) {
    if (p.told->runs > p.room)
        p.told->refused |= REFUSED_RUNS;
}

