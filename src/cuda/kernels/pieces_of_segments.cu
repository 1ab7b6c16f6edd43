/* Reductions by few long segments: a block has a piece of one segment, which it folds as a chunk of a row (rows.cu), so no
 * element asks where segments begin. Pieces end where segments do and at multiples of 2^tile_bits elements. Segment g has
 * places for its pieces from g + offset / 2^tile_bits on, which rise, so a block finds its segment by a search. It checks
 * the offsets of one segment besides. The last launch hears from all blocks whether offsets are good; then a warp folds the
 * pieces of a segment. */

inline uint64 place_of_segment(const groups_args &p, uint64 segment) {
    return segment + (begin_of(p, segment) >> p.tile_bits);
}

/* The last segment whose places begin at 'place' or before it, found by the whole block; 'segments' if there is none. */
inline uint64 segment_of_place(const groups_args &p, uint64 place) {
    __shared__ counts_of_warps found[2];
    uint64 low = 0, high = p.segments; /* the segments that begin there or before are as many as 'low' in the end */
    uint32 turn = 0;
    for (uint64 left = p.segments; left; turn ^= 1) { /* high - low is no more */
        const uint64 step = left / (BLOCK + 1) + 1, at = low + (threadIdx.x + 1) * step - 1;
        const bool is_before = place_of_segment(p, at < high ? at : 0) <= place;
        const uint32 of_warp = __popc(__ballot_sync(ALL_LANES, at < high && is_before));
        if (threadIdx.x % WARP == 0)
            found[turn].count[threadIdx.x / WARP] = of_warp;
        __syncthreads();
        const uint32 before = found[turn].all();
        high = before < BLOCK && low + (before + 1) * step - 1 < high ? low + (before + 1) * step - 1 : high;
        low += before * step;
        left = step - 1;
    }
    return low ? low - 1 : p.segments;
}

/* Elements [begin, end) of the array. Which thread has which of them depends on their numbers alone. */
inline acc_t fold_piece(const groups_args &p, uint64 begin, uint64 end) {
    row r = {p.x, p.y, p.n, 0, 0, p.n, false, begin, 0};
    if (!COMMUTES)
        return fold_in_order<BLOCK, UNROLL>(r, begin, end);
    const uint64 first = begin / VECTOR * VECTOR;
    r.from = first < begin ? first + VECTOR : first;
    if ((((uint64)p.x | (HAS_SECOND ? (uint64)p.y : 0)) & 15) == 0)
        return fold_steps<SHIFTED, BLOCK, UNROLL>(r, first, end);
    r.from = r.from < VECTOR ? VECTOR : r.from; /* what lies across vectors reaches into both */
    r.to = p.n < VECTOR ? 0 : p.n - VECTOR;
    return fold_steps<ACROSS, BLOCK, UNROLL>(r, first, end);
}

inline void fold_piece_of_segment(const groups_args &p) {
    make_exponentials<BLOCK>();
    let_next_start();
    const uint64 place = blockIdx.x;
    if (place < p.segments && threadIdx.x == 0) {
        findings f = {NOT_FOUND, NOT_FOUND};
        look_at(&f, place, (index_t)begin_of(p, place), (index_t)begin_of(p, place + 1), p.n);
        p.first[place] = (f.bad != NOT_FOUND ? REFUSED_BAD : 0) |
                         (p.refuses_empty && f.empty != NOT_FOUND ? REFUSED_EMPTY : 0);
    }
    const uint64 segment = segment_of_place(p, place);
    if (segment >= p.segments)
        return;
    const uint64 from = begin_of(p, segment), to = begin_of(p, segment + 1);
    const uint64 number = place - segment, low = number << p.tile_bits, high = low + (1ull << p.tile_bits);
    const uint64 begin = from > low ? from : low, end = to < high ? to : high;
    if (begin >= end || end > p.n) /* no such piece, or bad offsets */
        return;
    const acc_t acc = fold_piece(p, begin, end);
    if (threadIdx.x == 0)
        p.cuts[place].after.write(acc);
}

inline void join_pieces_of_segments(const groups_args &p) {
    wait_for_last();
    const uint64 segment = (blockIdx.x * (uint64)BLOCK + threadIdx.x) / WARP, at = segment < p.segments ? segment : 0;
    const uint64 from = begin_of(p, at), to = begin_of(p, at + 1);
    const uint32 refused = refused_by_tiles(p);
    if (blockIdx.x == 0)
        tell_of_tiles(p, refused);
    if (refused || segment >= p.segments)
        return;
    const uint64 first = segment + (from >> p.tile_bits);
    const uint64 count = from < to ? ((to - 1) >> p.tile_bits) - (from >> p.tile_bits) + 1 : 0, each = (count + WARP - 1) / WARP;
    const uint64 low = threadIdx.x % WARP * each, high = low + each < count ? low + each : count;
    const acc_t acc = fold_warp_in_order(fold_parts(p, first + low, low < high ? first + high : first + low));
    if (threadIdx.x % WARP == 0)
        put(p.out + segment, lower(acc, to - from, from));
}
