/* How a block that has one tile learns the sum before it: a look-back (Merrill and Garland 2016) that adds in a fixed
 * order, so that a result has the same bits every run. A block publishes its tile's sum at once (waves.cu). The last
 * block of a group of tiles also adds its group up and publishes that. So a block adds up the groups before its own, and
 * the tiles before it in its group: nobody waits for a chain of predecessors. If a head is among those tiles, groups do
 * not matter.
 *
 * A block waits for all blocks with lower numbers (ordinal_of_block() in ptx.cu). They end only if they have begun, so
 * the scan relies on devices beginning blocks in the order of their numbers: otherwise it could wait forever. Tiles
 * numbered by an atomic addition would not need this: std of 1.2 * 10^7 u8 took 102 us on an
 * H100 that way instead of 98. */

enum {
    GROUP = FINISHERS, /* tiles; but few tiles are one group, as it takes time to hear of another one */
    FINISHING_WARPS = FINISHERS / WARP,
    MOST_ALONE = FINISHERS /* tiles; each warp reads as many entries as it has lanes, as with more registers spill */
};

/* All lanes get the sum of what they give, in their order and from the last head on. */
inline record fold_lanes(const record &mine) {
#if COMMUTES
    const uint32 heads = GROUPS == ALL ? 0 : __ballot_sync(ALL_LANES, mine.has_head());
    const int last = last_lane(heads);
    const uint64 start = NEEDS_START ? from_lane(mine.start(), last) : 0;
    return record::of(fold_warp((int)(threadIdx.x % WARP) < last ? identity_as<acc_t>() : mine.acc), heads != 0, start);
#else
    return from_lane(scan_warp(mine), WARP - 1);
#endif
}
/* The same of entries [first, end), of which the warp reads one a lane at most, as soon as they are there. */
inline record fold_entries(const entry *entries, uint32 first, uint32 end) {
    const uint32 at = first + threadIdx.x % WARP;
    batch_of<1> few;
    while (!few.try_read(entries, at, end, 1))
        ;
    __syncwarp();
    return fold_lanes(at < end ? few.get(0) : record::nothing());
}

/* The same of any number of them, one batch after the other. The sum is written, since so it takes no registers
 * meanwhile. */
inline void fold_all(record *to, const entry *entries, uint32 first, uint32 end) {
#pragma unroll 1
    for (uint32 at = first; at < end; at += WARP) {
        const record more = fold_entries(entries, at, end);
        if (threadIdx.x % WARP == 0)
            *to = at == first ? more : join(*to, more);
    }
}

/* Publishes the tile's sum, of which the last thread has 'own', and returns to all threads the sum before the tile. The
 * entries of tiles are followed by those of groups. All warps wait for tiles, but only one for groups: to add up takes
 * many instructions, which other blocks need. If the last warp has no tiles to wait for, it waits for groups meanwhile,
 * unless a head in the block's own tile makes it likely that they do not matter. */
template <class State> inline record sum_before(scratch &s, const scan_args &p, const tile &t, const State &own) {
    __shared__ alignas(16) uint8 memory[(FINISHING_WARPS + 1) * sizeof(record)];
    __shared__ bool knows_groups;
    record *of_warps = (record *)memory, *of_tile = of_warps + FINISHING_WARPS, *prefix = (record *)s.prefix[0];
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, number = ordinal_of_block();
    if (s.knows_prefix) /* the way by terms may have asked before the general way */
        return *prefix;
    wait_for_last(); /* entries are clear */
    let_next_start();
    if (threadIdx.x == FINISHERS - 1) {
        const record mine = record::of(widen(own.acc), own.has_head(), t.first + own.start());
        if (p.tiles > 1)
            publish(p.entries + number, mine, 1);
        *of_tile = mine;
    }
    const bool has_groups = GROUPS != ROWS && p.tiles > MOST_ALONE;
    const int group = has_groups ? (int)(number / GROUP) : 0;
    uint32 begin = (uint32)group * GROUP;
    if (GROUPS == ROWS) { /* the tile in which the row begins */
        const uint64 column = remainder(t.first, p.extent), first = t.first - column;
        begin = column ? (uint32)(REVERSE ? p.tiles - 1 - (p.n - 1 - first) / p.tile : first / p.tile) : number;
    }
    const entry *groups = p.entries + p.tiles;
    const uint32 first = begin + warp * WARP, last_warp = FINISHING_WARPS - 1;
    const bool may_help = group && begin + last_warp * WARP >= number,
               helps = may_help && warp == last_warp && !(__ballot_sync(ALL_LANES, own.has_head()) >> (WARP - 1));
    if (first < number || helps) {
        const uint32 end = helps ? (uint32)group : first + WARP < number ? first + WARP : number;
        fold_all(of_warps + warp, helps ? groups : p.entries, helps ? 0 : first, end);
    }
    if (may_help && warp == last_warp && lane == 0)
        knows_groups = helps;
    __syncthreads();
    if (warp == 0) {
        const bool has_some = lane < FINISHING_WARPS && begin + lane * WARP < number;
        record sum = fold_lanes(has_some ? of_warps[lane] : record::nothing());
        if (has_groups && number % GROUP == GROUP - 1 && lane == 0)
            publish(p.entries + p.tiles + group, join(sum, *of_tile), 1);
        __syncwarp();
        const bool needs_groups = group && !sum.has_head();
        if (needs_groups && !(may_help && knows_groups))
            fold_all(of_warps + last_warp, groups, 0, (uint32)group);
        if (lane == 0) {
            *prefix = needs_groups ? join(of_warps[last_warp], sum) : sum;
            s.knows_prefix = true;
        }
    }
    __syncthreads();
    return *prefix;
}
