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
    OF_LANE = TAKES_VECTORS && ONE_WAVE ? batch::MANY : 1, /* entries at a time; with more registers spill elsewhere */
    OF_WARP = OF_LANE * WARP,
    MOST_ALONE = FINISHING_WARPS * OF_WARP
};

/* All lanes get the sum of what they give, in their order and from the last head on. */
inline record fold_lanes(const record &mine) {
#if COMMUTES
    const uint32 heads = GROUPS == ALL ? 0 : __ballot_sync(ALL_LANES, mine.has_head());
    const int last = heads ? 31 - __clz(heads) : 0;
    const uint64 start = NEEDS_START ? from_lane(mine.start(), last) : 0;
    return record::of(fold_warp((int)(threadIdx.x % WARP) < last ? identity_as<acc_t>() : mine.acc), heads != 0, start);
#else
    return from_lane(scan_warp(mine), WARP - 1);
#endif
}
/* The same of entries [first, end), of which the warp reads OF_WARP at most, as soon as they are there. */
inline record fold_entries(const entry *entries, uint32 first, uint32 end) {
    const uint32 at = first + threadIdx.x % WARP;
    batch_of<OF_LANE> few;
    while (!few.try_read(entries, at, end, 1))
        ;
    __syncwarp();
#if TAKES_VECTORS && ONE_WAVE
    return fold_batch(few, first, end);
#else
    return fold_lanes(at < end ? few.get(0) : record::nothing());
#endif
}

/* Publishes the tile's sum, of which the last thread has 'own', and returns to all threads the sum before the tile. The
 * entries of tiles are followed by those of groups. All warps wait for tiles, but only one for groups: to add up takes
 * many instructions, which other blocks need. */
template <class State> inline record sum_before(scratch &s, const scan_args &p, const tile &t, const State &own) {
    __shared__ alignas(16) uint8 memory[(FINISHING_WARPS + 1) * sizeof(record)];
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
    if (begin + warp * OF_WARP < number) {
        const record sum = fold_entries(p.entries, begin + warp * OF_WARP, number);
        if (lane == 0)
            of_warps[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        const bool has_some = lane < FINISHING_WARPS && begin + lane * OF_WARP < number;
        record sum = fold_lanes(has_some ? of_warps[lane] : record::nothing());
        const entry *groups = p.entries + p.tiles;
        if (has_groups && number % GROUP == GROUP - 1 && lane == 0)
            publish(p.entries + p.tiles + group, join(sum, *of_tile), 1);
        __syncwarp();
        if (group && !sum.has_head()) {
            record before = record::nothing();
#pragma unroll 1
            for (int first = 0; first < group; first += OF_WARP)
                before = join(before, fold_entries(groups, (uint32)first, (uint32)group));
            sum = join(before, sum);
        }
        if (lane == 0) {
            *prefix = sum;
            s.knows_prefix = true;
        }
    }
    __syncthreads();
    return *prefix;
}
