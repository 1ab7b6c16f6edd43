/* The last launch where nobody has checked the offsets before: results wait in the order of their segments, and each tile
 * has checked the offsets of its own. Some blocks fold the parts of segments that cross tiles; the others move the results
 * of those that do not, and write those of empty ones. */

/* What the tiles have found; all threads of the block call this. */
inline uint32 refused_by_tiles(const groups_args &p) {
    enum { AT_A_TIME = 8 };
    __shared__ uint32 of_warp[BLOCK / WARP];
    const uint32 tiles = (uint32)p.tiles;
    uint32 refused = 0;
#pragma unroll 1
    for (uint32 first = threadIdx.x; first < tiles; first += AT_A_TIME * BLOCK)
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            refused |= (uint32)p.first[first + j * BLOCK < tiles ? first + j * BLOCK : 0];
    refused = (__ballot_sync(ALL_LANES, refused & REFUSED_BAD) ? REFUSED_BAD : 0) |
              (__ballot_sync(ALL_LANES, refused & REFUSED_EMPTY) ? REFUSED_EMPTY : 0);
    if (threadIdx.x % WARP == 0)
        of_warp[threadIdx.x / WARP] = refused;
    __syncthreads();
    refused = 0;
#pragma unroll
    for (uint32 w = 0; w < BLOCK / WARP; w++)
        refused |= of_warp[w];
    return refused;
}

/* By the first block. */
inline void tell_of_tiles(const groups_args &p, uint32 refused) {
    if (threadIdx.x == 0)
        *p.told = control();
    if (!refused)
        return;
    __syncthreads();
    findings f = {NOT_FOUND, NOT_FOUND};
    for (uint64 g = threadIdx.x; g < p.segments; g += BLOCK)
        look_at(&f, g, (index_t)begin_of(p, g), (index_t)begin_of(p, g + 1), p.n);
    tell(f, p.refuses_empty, &p.told->refused, &p.told->not_bad);
}

inline void finish_all_segments(const groups_args &p) {
    enum { AT_A_TIME = 4 };
    wait_for_last();
    const uint32 of_cuts = ((uint32)p.chunks + BLOCK - 1) / BLOCK;
    if (blockIdx.x < of_cuts) {
        const uint32 refused = refused_by_tiles(p);
        if (blockIdx.x == 0)
            tell_of_tiles(p, refused);
        if (!refused)
            fold_all_cuts<true>(p);
        return;
    }
    const uint64 first = (blockIdx.x - of_cuts) * (uint64)(AT_A_TIME * BLOCK) + threadIdx.x;
    uint64 begin[AT_A_TIME], end[AT_A_TIME];
    result_t result[AT_A_TIME];
#pragma unroll
    for (uint32 j = 0; j < AT_A_TIME; j++) {
        const uint64 g = first + j * BLOCK, at = g < p.segments ? g : 0;
        begin[j] = begin_of(p, at);
        end[j] = g < p.segments ? begin_of(p, at + 1) : NOT_FOUND; /* as if it crossed tiles */
        result[j] = p.apart[at];
    }
    if (refused_by_tiles(p))
        return;
#pragma unroll
    for (uint32 j = 0; j < AT_A_TIME; j++) {
        const bool is_empty = begin[j] == end[j];
        if (is_empty || begin[j] >> p.tile_bits == (end[j] - 1) >> p.tile_bits)
            put(p.out + first + j * BLOCK, is_empty ? lower(identity_as<acc_t>(), 0, begin[j]) : result[j]);
    }
}
