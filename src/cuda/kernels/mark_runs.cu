/* The launch before a reduction by keys. It reads the keys, writes a bit for each element that says whether a run begins
 * there, and counts the heads, so that the blocks that fold know where their results go and need not wait for each
 * other. A warp takes consecutive strips of WARP words. The rank of a strip is the number of heads before it among those
 * of its block; the folds add the totals of the blocks before. */
static_assert(FOLD_TILE % STRIP == 0);

extern "C" __global__ void __launch_bounds__(MARKERS * WARP) mark_runs(groups_args p SIZED) {
    TAKE_TILES(p)
    __shared__ uint32 of_warp[MARKERS];
    wait_for_last();
    let_next_start();
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint64 strips = p.tiles * (FOLD_TILE / STRIP), first = (blockIdx.x * (uint64)MARKERS + warp) * p.marked;
    const uint64 end = strips < first + p.marked ? strips : first + p.marked;
    uint32 count = 0;
#pragma unroll 1
    for (uint64 strip = first; strip < end; strip++) {
        const uint32 word = find_heads<WARP>(p, strip * STRIP);
        p.bits[strip * WARP + lane] = word;
        if (lane == (uint32)(strip - first) % WARP)
            p.ranks[strip] = count;
        count += add_lanes((uint32)__popc(word));
    }
    if (lane == 0)
        of_warp[warp] = count;
    __syncthreads();
    uint32 before = 0, all = 0;
#pragma unroll
    for (uint32 w = 0; w < MARKERS; w++) {
        before += w < warp ? of_warp[w] : 0;
        all += of_warp[w];
    }
    if (threadIdx.x == 0)
        p.totals[blockIdx.x] = all;
    if (before)
        for (uint64 strip = first + lane; strip < end; strip += WARP) /* the lane's own */
            p.ranks[strip] += before;
}
