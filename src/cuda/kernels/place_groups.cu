/* The launch before a reduction by segments. */

/* Checks the offsets, and finds the first segment of each tile from those of its neighbours. */
inline findings place_all(const groups_args &p) {
    findings f = {NOT_FOUND, NOT_FOUND};
    const auto most = (unsigned_of<sizeof(index_t)>::type)most_offset(p.n);
    const uint32 least = p.refuses_empty != 0; /* elements of a segment */
    go_through(p.offsets, p.segments, [&](bool are_there, uint64 g, const auto &offsets) {
        constexpr int count = SEGMENTS_IN<decltype(offsets)>;
        const auto from = offsets[0] >> p.tile_bits, to = offsets[count] >> p.tile_bits;
        bool is_bad = offsets[count] > most;
#pragma unroll
        for (int j = 0; j < count; j++)
            is_bad |= offsets[j] + least > offsets[j + 1];
        const bool are_many = from + (uint64)1 < to; /* tiles that begin among a lane's segments */
        if (are_there && !is_bad && !are_many && from < to) {
            uint32 before = 1;
#pragma unroll
            for (int j = 0; j < count; j++)
                before += offsets[j + 1] < to << p.tile_bits;
            if (to < p.tiles)
                p.first[to] = g + before;
        }
        if (!__ballot_sync(ALL_LANES, are_there && (is_bad || are_many)))
            return;
#pragma unroll 1
        for (int j = 0; j < count; j++) {
            const uint64 begin = begin_of(p, g + j), end = begin_of(p, g + j + 1);
            if (are_there)
                look_at(&f, g + j, (index_t)begin, (index_t)end, p.n);
            const uint64 behind = are_there ? (end >> p.tile_bits) + 1 : 0;
            note_first(p.first, g + j + 1, (begin >> p.tile_bits) + 1, behind < p.tiles ? behind : p.tiles);
        }
    });
    if (blockIdx.x == 0 && threadIdx.x < WARP) { /* up to the first segment, and behind the last */
        const bool is_mine = threadIdx.x == 0;
        const uint64 begin = begin_of(p, 0), end = begin_of(p, p.segments);
        const uint64 before = p.segments ? (begin >> p.tile_bits) + 1 : p.tiles;
        note_first(p.first, 0, 0, !is_mine ? 0 : before < p.tiles ? before : p.tiles);
        note_first(p.first, p.segments, is_mine && p.segments ? (end >> p.tile_bits) + 1 : p.tiles, p.tiles);
        if (is_mine && end > p.n)
            f.bad = p.segments < f.bad ? p.segments : f.bad;
    }
    return f;
}

/* If there are fewer segments than tiles, each tile's first one is searched for, and also if offsets are checked while
 * running. */
extern "C" __global__ void __launch_bounds__(BLOCK) place_groups(groups_args p SIZED) {
    TAKE_TILES(p)
    let_next_start(); /* the launch before only clears, and it has waited for all before it */
    wait_for_last();
    if (p.check_before) {
        const bool are_few = p.segments && p.segments < p.tiles;
        tell(are_few ? look_at_all(p.offsets, p.segments, p.n) : place_all(p), p.refuses_empty, &p.told->refused,
             &p.told->not_bad);
        if (!are_few)
            return;
    } else if (blockIdx.x == 0 && threadIdx.x == 0 &&
               (begin_of(p, p.segments) > p.n || load(p.offsets + p.segments - 1) > load(p.offsets + p.segments))) {
        p.told->crowded = 1; /* the tiles look at where segments begin, not at where the last one ends */
    }
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < p.tiles; k += gridDim.x * (uint64)BLOCK)
        p.first[k] = first_from(p.offsets, p.segments, k << p.tile_bits);
}
