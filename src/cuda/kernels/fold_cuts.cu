/* The last launch of a reduction by groups: results of groups that cross several chunks, folded in order from the parts
 * that the chunks kept. One thread folds a group of few chunks, a warp a longer one, the whole block the longest. */
constexpr int CUTS_AT_ONCE = sizeof(acc_t) <= 8 ? 16 : sizeof(acc_t) <= 32 ? 4 : 1; /* a thread may have a hundred */

inline acc_t fold_parts(const groups_args &p, uint64 begin, uint64 end) {
    acc_t acc = identity_as<acc_t>();
#pragma unroll CUTS_AT_ONCE
    for (uint64 k = begin; k < end; k++)
        acc = combine(acc, p.cuts[k].after.read());
    return acc;
}

inline void finish_group(const groups_args &p, uint64 chunk, ending e, acc_t before) {
#if GROUPS == KEYS && NEEDS_START
    e.start = p.cuts[e.first].start;
    e.count = p.cuts[chunk].end - e.start;
#endif
    store(p.out + e.group, lower(combine(before, p.cuts[chunk].before.read()), e.count, e.start));
}

/* Chunks of a group that a warp folds at most. If there are too few groups for all warps, the block folds those of
 * several hundred chunks, too. */
enum { MOST_OF_WARP = 1024, MOST_OF_FEW = 128 };

/* By a warp; false if the group is too long. */
inline bool finish_by_warp(const groups_args &p, uint64 chunk, uint32 most) {
    ending e;
    find_ending(p, chunk, &e);
#if GROUPS == KEYS
    if (!find_last_fresh(p, e.first + 1, most, &e.first))
        return false;
#endif
    if (chunk - e.first > most)
        return false;
    const uint32 lane = threadIdx.x % WARP;
    const uint64 each = (chunk - e.first + WARP - 1) / WARP, begin = e.first + lane * each, end = begin + each;
    const acc_t acc = fold_warp_in_order(fold_parts(p, begin, end < chunk ? end : chunk));
    if (lane == 0)
        finish_group(p, chunk, e, acc);
    return true;
}

/* By the whole block. */
inline void finish_long_group(const groups_args &p, uint64 chunk) {
    ending e;
    find_ending(p, chunk, &e);
#if GROUPS == KEYS
    e.first = last_fresh(p, e.first + 1);
#endif
    uint64 each = (chunk - e.first + BLOCK - 1) / BLOCK, begin = e.first + threadIdx.x * each, end = begin + each;
    acc_t acc = fold_block<BLOCK>(fold_parts(p, begin, end < chunk ? end : chunk));
    if (threadIdx.x == 0)
        finish_group(p, chunk, e, acc);
}

extern "C" __global__ void __launch_bounds__(BLOCK) fold_cuts(groups_args p SIZED) {
    TAKE_TILES(p)
    constexpr uint64 DONE = ~0ull;
    __shared__ uint64 longer[BLOCK];
    __shared__ uint32 count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    if (!ENDS_STAND) {
        wait_for_last();
        if (p.told->refused)
            return;
    }
    const uint64 chunk = blockIdx.x * (uint64)BLOCK + threadIdx.x;
    ending e;
    const bool ends = chunk < p.chunks && find_ending(p, chunk, &e), is_near = ends && chunk - e.first <= NEAR;
    if (ends && !is_near)
        longer[atomicAdd(&count, 1)] = chunk;
    if (ENDS_STAND)
        wait_for_last();
    const uint32 refused = ENDS_STAND ? p.told->refused : 0; /* loaded together with the parts */
    const acc_t parts = is_near ? fold_parts(p, e.first, chunk) : identity_as<acc_t>();
    if (refused)
        return;
    if (is_near)
        finish_group(p, chunk, e, parts);
    __syncthreads();
    for (uint32 k = threadIdx.x / WARP; k < count; k += BLOCK / WARP) {
        const bool is_done = finish_by_warp(p, longer[k], count < BLOCK / WARP ? MOST_OF_FEW : MOST_OF_WARP);
        __syncwarp();
        if (is_done && threadIdx.x % WARP == 0)
            longer[k] = DONE;
    }
    __syncthreads();
    for (uint32 k = 0; k < count; k++)
        if (longer[k] != DONE)
            finish_long_group(p, longer[k]);
#if GROUPS == SEGMENTS
    finish_crowds(p);
#endif
}
