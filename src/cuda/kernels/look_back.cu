/* How a block of scan_look_back.cu learns the sum before its tile: a look-back (Merrill and Garland 2016) that adds in a
 * fixed order, so that a result has the same bits every run. A block publishes its tile's sum at once. The last block of
 * a group of tiles also adds its group up and publishes that. So a block adds up the groups before its own, and the
 * tiles before it in its group: nobody waits for a chain of predecessors.
 *
 * A block waits for all blocks with lower numbers (ordinal_of_block() in ptx.cu). They end only if they have begun, so
 * the scan relies on devices beginning blocks in the order of their numbers: otherwise it could wait forever. Tiles
 * numbered by an atomic addition would not need this: std of 1.2 * 10^7 u8 took 102 us on an
 * H100 that way instead of 98.
 *
 * one_wave.cu does the same for segments and keys. It has a few hundred tiles at most and no groups of them, and its
 * sums end at heads. Here there may be any number of tiles, and no heads. A common text would need sums of groups that
 * end at heads. */

enum {
    GROUP = FINISHERS, /* tiles: one for each thread */
    FINISHING_WARPS = FINISHERS / WARP
};

/* What the tiles of a group hand over; behind all groups' sums, of which there is another such. */
struct group_hand_overs {
    hand_overs all;
    handed sums[GROUP];
};
inline uint32 groups_of(const scan_args &p) {
    return (uint32)((p.tiles + GROUP - 1) / GROUP);
}
inline hand_overs *hand_overs_of_groups(const scan_args &p) {
    return (hand_overs *)p.entries;
}
inline hand_overs *hand_overs_of(const scan_args &p, uint32 group) {
    return &((group_hand_overs *)(hand_overs_of_groups(p)->sums() + groups_of(p)))[group].all;
}

inline void prefetch_hand_overs(const scan_args &p, uint32 number) {
    if (threadIdx.x < number % GROUP)
        prefetch(hand_overs_of(p, number / GROUP)->sums() + threadIdx.x);
}

/* Returns to the lowest lane the sum of what the lanes give, in their order. */
inline acc_t fold_lanes(acc_t sum) {
#if IS_LOGSUMEXP || MOMENTS
    return fold_warp(sum);
#else
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) /* the lanes above have what comes after */
        sum = combine(sum, from_above(sum, d));
    return sum;
#endif
}
/* The same of sums [first, end), of which the warp has one for each lane, as soon as they are there. */
inline acc_t fold_sums(handed *sums, uint32 first, uint32 end) {
    const uint32 at = first + threadIdx.x % WARP;
    acc_t one[1] = {identity_as<acc_t>()};
    if (at < end)
        take_over<false>(sums + at, 1, 1, one);
    __syncwarp();
    return fold_lanes(one[0]);
}

/* Hands over 'own', a tile's sum, of which the last thread's is right, and puts the sum of all tiles before it into *to.
 * All warps wait for tiles, but only one for groups: to add up takes many instructions, which other blocks need. */
inline void look_back(const scan_args &p, uint32 number, const acc_t &own, record *to) {
    __shared__ alignas(16) uint8 memory[(FINISHING_WARPS + 1) * sizeof(acc_t)];
    acc_t *of_warps = (acc_t *)memory, *of_tile = of_warps + FINISHING_WARPS;
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, group = number / GROUP, place = number % GROUP;
    hand_overs *tiles = hand_overs_of(p, group), *groups = hand_overs_of_groups(p);
    if (threadIdx.x == FINISHERS - 1) {
        give_away(tiles->sums() + place, own);
        *of_tile = own;
        if (place == 0)
            tiles->tell_first(tiles->count_left());
        if (number == 0)
            groups->tell_first(groups->count_left());
    }
    if (warp * WARP < place) {
        const acc_t sum = fold_sums(tiles->sums(), warp * WARP, place);
        if (lane == 0)
            of_warps[warp] = sum;
    }
    __syncthreads();
    if (warp)
        return;
    const acc_t within = fold_lanes(lane * WARP < place ? of_warps[lane] : identity_as<acc_t>());
    acc_t before = identity_as<acc_t>();
    if (lane == 0 && place == GROUP - 1)
        give_away(groups->sums() + group, combine(within, *of_tile));
    __syncwarp();
#pragma unroll 1
    for (uint32 first = 0; first < group; first += WARP) {
        const acc_t sum = fold_sums(groups->sums(), first, group);
        before = first ? combine(before, sum) : sum;
    }
    if (lane == 0)
        *to = record::of(group ? combine(before, within) : within, false, 0);
}

/* To be called by all blocks, when they have looked back. */
inline void leave_hand_overs(const scan_args &p, uint32 number) {
    const uint32 group = number / GROUP, others = (uint32)p.tiles - group * GROUP;
    const uint32 tiles = others < GROUP ? others : GROUP;
    if (threadIdx.x >= WARP || p.tiles == 1 || !hand_overs_of(p, group)->leaves_last(tiles))
        return;
    hand_overs_of(p, group)->wipe_all(tiles);
    if (hand_overs_of_groups(p)->leaves_last(groups_of(p)))
        hand_overs_of_groups(p)->wipe_all(groups_of(p));
}

/* The sum before a tile, for its finishers; what the tile adds up to they have from 'own', of which the last one's is
 * right. The way by terms may have asked before the general way. */
template <class State> inline record sum_before(scratch &s, const scan_args &p, const tile &, const State &own) {
    record *prefix = (record *)s.prefix[0];
    if (s.knows_prefix)
        return *prefix;
    if (p.tiles > 1)
        look_back(p, ordinal_of_block(), widen(own.acc), prefix);
    else if (threadIdx.x == 0)
        *prefix = record::nothing();
    __syncthreads();
    if (threadIdx.x == 0)
        s.knows_prefix = true;
    return *prefix;
}
