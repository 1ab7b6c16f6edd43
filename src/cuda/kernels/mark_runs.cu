/* The launch before a reduction by keys. It reads the keys, writes a bit for each element that says whether a run begins
 * there, and counts the heads, so that the blocks that fold know where their results go and need not wait for each
 * other. A warp takes consecutive strips of WARP words. The rank of a strip is the number of heads before it among those
 * of its block; the folds add the totals of the blocks before. A block has as many warps as it takes to employ all
 * multiprocessors. */
static_assert(FOLD_TILE % STRIP == 0);

extern "C" __global__ void __launch_bounds__(MARKERS * WARP, 2) mark_runs(groups_args p SIZED) {
    TAKE_TILES(p)
    __shared__ uint32 of_warp[MARKERS];
    wait_for_last();
    let_next_start();
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32 strips = (uint32)p.tiles * (FOLD_TILE / STRIP), number = blockIdx.x * p.marking + warp;
    const uint32 first = first_strip(p, number), next = first_strip(p, number + 1), end = strips < next ? strips : next;
    uint32 count = 0, rank = 0; /* of the lane's strip among the last WARP */
#pragma unroll 1
    for (uint32 strip = first; strip < end; strip++) {
        index_t *const kept = p.kept ? p.kept + strip * (uint64)KEPT_KEYS : nullptr;
        const uint32 word = find_heads<WARP, 8>(p, strip * (uint64)STRIP, kept);
        p.bits[strip * (uint64)WARP + lane] = word;
        if (strip > first && (strip - first) % WARP == 0)
            p.ranks[strip - WARP + lane] = rank;
        rank = lane == (strip - first) % WARP ? count : rank;
        count += add_lanes((uint32)__popc(word));
    }
    if (lane == 0)
        of_warp[warp] = count;
    __syncthreads();
    uint32 before = 0;
    for (uint32 w = 0; w < warp; w++)
        before += of_warp[w];
    if (warp == p.marking - 1 && lane == 0)
        p.totals[blockIdx.x] = before + count;
    const uint32 last = first + (end > first ? (end - first - 1) / WARP * WARP : 0);
    if (last + lane < end)
        p.ranks[last + lane] = before + rank;
    if (before)
        for (uint32 strip = first + lane; strip < last; strip += WARP) /* the lane's own */
            p.ranks[strip] += before;
}
