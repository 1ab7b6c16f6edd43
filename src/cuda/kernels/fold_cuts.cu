/* The last launch of a reduction by groups: results of groups that cross several chunks, folded in order from the parts
 * that the chunks kept. A lane has a chunk, and a segmented scan over a warp folds the groups that begin and end in its
 * chunks. A warp folds what one group has before them, or the whole block if that is many parts. Nothing else runs
 * meanwhile, so a load that waits for another one costs the whole reduction some 0.3 us. */
constexpr int CUTS_AT_ONCE = sizeof(acc_t) <= 8 ? 16 : sizeof(acc_t) <= 32 ? 4 : 1; /* a thread may have a hundred */

inline acc_t fold_parts(const groups_args &p, uint64 begin, uint64 end) {
    acc_t acc = identity_as<acc_t>();
#pragma unroll CUTS_AT_ONCE
    for (uint64 k = begin; k < end; k++)
        acc = combine(acc, p.cuts[k].after.read());
    return acc;
}

/* The part of the chunk that a group ends in, and what its result needs. */
inline acc_t load_last(const groups_args &p, uint64 chunk, ending *e) {
#if GROUPS == KEYS && NEEDS_START
    e->start = p.cuts[e->first].start;
    e->count = p.cuts[chunk].end - e->start;
#endif
    return p.cuts[chunk].before.read();
}

inline void finish_group(const groups_args &p, const ending &e, const acc_t &before, const acc_t &last) {
    store(p.out + e.group, lower(combine(before, last), e.count, e.start));
}

enum { MOST_OF_WARP = 4 * WARP /* chunks before its own of a group that a warp folds */ };

/* By a warp: the group that ends in 'chunk' and began before 'base'. 'since' is what it has from there to the chunk. False
 * if it is too long. */
inline bool finish_by_warp(const groups_args &p, uint64 chunk, uint64 base, ending e, const acc_t &since) {
#if GROUPS == KEYS
    if (!find_last_fresh(p, base, MOST_OF_WARP, &e.first))
        return false;
#endif
    if (base - e.first > MOST_OF_WARP)
        return false;
    const uint32 lane = threadIdx.x % WARP;
    const uint64 each = (base - e.first + WARP - 1) / WARP, begin = e.first + lane * each, end = begin + each;
    const acc_t last = load_last(p, chunk, &e);
    const acc_t acc = fold_warp_in_order(fold_parts(p, begin, end < base ? end : base));
    if (lane == 0)
        finish_group(p, e, combine(acc, since), last);
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
    if (threadIdx.x == 0) {
        const acc_t last = load_last(p, chunk, &e);
        finish_group(p, e, acc, last);
    }
}

/* The lanes in whose chunks a group begins that goes on behind them; where a lane's group begins, if it ends in the
 * lane's chunk: before 'base' may be anywhere there. */
inline uint32 find_borders(const groups_args &p, bool is_there, bool ends, uint64 chunk, uint64 base, ending *e) {
#if GROUPS == KEYS
    const uint32 borders = __ballot_sync(ALL_LANES, is_there && is_fresh(p, chunk));
    const uint32 below = borders & ((1u << threadIdx.x % WARP) - 1);
    e->first = below ? base + WARP - 1 - __clz(below) : base - 1;
    e->first = ends ? e->first : 0;
#else
    uint32 borders = ends && e->first >= base ? 1u << ((uint32)(e->first - base) & (WARP - 1)) : 0;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        borders |= from_across(borders, d);
#endif
    return borders;
}

/* IsChecked: nothing is refused, and no tile has left work. */
template <bool IsChecked = false> inline void fold_all_cuts(const groups_args &p) {
#if TAKES_TURNS
    if (is_given(p)) {
        wait_for_last();
        return;
    }
#endif
    __shared__ uint64 longest[BLOCK / WARP];
    __shared__ uint32 count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    const uint32 lane = threadIdx.x % WARP;
    const uint64 chunk = blockIdx.x * (uint64)BLOCK + threadIdx.x, base = chunk - lane;
    const bool is_there = chunk < p.chunks;
    [[maybe_unused]] uint32 refused, crowded;
    acc_t sum, last;
    auto load_all = [&] { /* together */
        const cut &c = p.cuts[is_there ? chunk : 0];
        wait_for_last();
        refused = IsChecked ? 0 : load_ahead(&p.told->refused);
        crowded = IsChecked ? 0 : load_ahead(&p.told->crowded);
        sum = c.after.read();
        last = c.before.read();
    };
    if (!ends_stand(p))
        load_all();
    ending e = {};
    const bool ends = is_there && find_ending(p, chunk, &e);
    const uint32 borders = find_borders(p, is_there, ends, chunk, base, &e);
    if (ends_stand(p))
        load_all();
    const bool is_far = ends && e.first < base;
    if (GROUPS == KEYS && NEEDS_START && ends && !is_far)
        last = load_last(p, chunk, &e);
    if (refused)
        return;
    const uint32 up_to = borders & ((2u << lane) - 1);
    const int since = up_to ? WARP - 1 - __clz(up_to) : 0;
#pragma unroll IS_LARGE ? 1 : 5
    for (int d = 1; d < WARP; d *= 2) {
        const acc_t left = from_below(sum, d);
        if ((int)lane - d >= since)
            sum = combine(left, sum);
    }
    const acc_t left = from_below(sum, 1), before = lane ? left : identity_as<acc_t>();
    if (ends && !is_far)
        finish_group(p, e, before, last);
    const uint32 far = __ballot_sync(ALL_LANES, is_far); /* one at most */
    if (far) {
        const int which = __ffs(far) - 1;
        const ending of = {from_lane(e.group, which), from_lane(e.start, which), from_lane(e.count, which),
                           from_lane(e.first, which)};
        if (!finish_by_warp(p, base + which, base, of, from_lane(before, which)) && lane == 0)
            longest[atomicAdd(&count, 1)] = base + which;
    }
    __syncthreads();
    for (uint32 k = 0; k < count; k++)
        finish_long_group(p, longest[k]);
#if GROUPS == SEGMENTS
    if (crowded) /* by tiles, which have left the results of empty segments */
        finish_crowds(p);
#endif
}
