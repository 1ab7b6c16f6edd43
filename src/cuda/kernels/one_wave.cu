/* How a block of scan_one_wave.cu learns the sum before its tile. Blocks publish their tiles' sums in entries (waves.cu),
 * and each adds up all entries before its own, in the order of the tiles, so a result has the same bits every run. A
 * block waits for blocks with lower numbers only: see look_back.cu, which does the same for any number of tiles, and says
 * why there are two. */

/* The sum of entries [at, end) of a batch, which all lanes get. */
inline record fold_entries(const batch &few, uint32 at, uint32 end) {
#if COMMUTES
    return fold_batch(few, at, end);
#else
    record sum = record::nothing();
#pragma unroll
    for (int k = 0; k < batch::MANY; k++) {
        const uint32 index = at + k * WARP + threadIdx.x % WARP;
        sum = join(sum, from_lane(scan_warp(index < end ? few.get(k) : record::nothing()), WARP - 1));
    }
    return sum;
#endif
}

/* Publishes the tile's sum, of which the last thread has 'own', and returns to all threads the sum before the tile. */
template <class State> inline record sum_before(scratch &s, const scan_args &p, const tile &t, const State &own) {
    __shared__ alignas(16) uint8 memory[FINISHERS / WARP * sizeof(record)];
    record *of_warps = (record *)memory;
    enum { OF_WARP = WARP * batch::MANY, STEP = FINISHERS / WARP * OF_WARP };
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, before = ordinal_of_block();
#if HAS_TERMS /* the way by terms may have asked before the general way */
    const bool is_known = s.knows_prefix;
    __syncthreads();
    if (is_known)
        return *(const record *)s.prefix[0];
#endif
    wait_for_last(); /* entries are clear */
    let_next_start();
    if (threadIdx.x == FINISHERS - 1)
        publish(p.entries + before, record::of(widen(own.acc), own.has_head(), t.first + own.start()), 1);
    record sum = record::nothing();
    uint32 first = 0;
    if (GROUPS == ROWS) { /* from the tile on in which the row begins */
        const uint64 column = remainder(t.first, p.extent), begin = t.first - column;
        first = column ? (uint32)(REVERSE ? p.tiles - 1 - (p.n - 1 - begin) / p.tile : begin / p.tile) : before;
    }
    for (; first < before; first += STEP) {
        const uint32 at = first + warp * OF_WARP;
        if (at < before) {
            batch few;
            while (!few.try_read(p.entries, at + lane, before, 1))
                ;
            __syncwarp();
            const record part = fold_entries(few, at, before);
            if (lane == 0)
                of_warps[warp] = part;
        }
        __syncthreads();
        for (uint32 w = 0; w < FINISHERS / WARP && first + w * OF_WARP < before; w++)
            sum = join(sum, of_warps[w]);
        __syncthreads();
    }
#if HAS_TERMS
    if (threadIdx.x == 0) {
        *(record *)s.prefix[0] = sum;
        s.knows_prefix = true;
    }
#endif
    return sum;
}
