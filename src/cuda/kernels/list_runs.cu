/* Offsets of the runs of equal keys, as if they were segments: each head writes where it is (heads.cu). */

extern "C" __global__ void __launch_bounds__(BLOCK) list_run_heads(list_runs_args p SIZED) {
    TAKE_SIZE(p.heads.n)
    for (uint64 c = warp_of_heads(); c < chunks_of_heads(p.heads); c += warps_of_heads()) {
        uint64 rank = p.heads.ranks[c];
        for (int k = 0; k < HEADS_CHUNK; k += WARP) {
            const uint64 first = c * HEADS_CHUNK + k;
            const uint32 lane = threadIdx.x % WARP, heads = find_heads(p.heads, first);
            if (heads >> lane & 1)
                p.starts[rank + __popc(heads & ((1u << lane) - 1))] = first + lane;
            rank += __popc(heads);
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        p.starts[p.heads.told->runs] = p.heads.n;
}

extern "C" __global__ void __launch_bounds__(BLOCK) put_run_keys(list_runs_args p SIZED) {
    TAKE_SIZE(p.heads.n)
    const control *told = p.heads.told;
    if (told->refused)
        return;
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < told->runs; g += gridDim.x * (uint64)BLOCK)
        store(p.keys_out + g, load(p.heads.keys + p.starts[g]));
}
