/* Reductions by segments that are long on average: a tile is a warp's (warp_rows.cu). The launch before checks the
 * offsets and finds each tile's first one. The first tiles are speculative: they search for theirs themselves, and wait
 * for the check only before they write. Parts of segments that cross tiles are kept, and the last launch folds them
 * (fold_cuts.cu). */
enum { LONG_CROWDED = 1 << 14 /* segments of a tile, from which on fold_cuts.cu writes the results of empty ones */ };

/* The offsets of a tile, as positions in it, 32 at a time, a lane each. An offset ends the segment before it. */
struct ends_of_segments {
    bool is_speculative; /* whether nobody has waited for the check of the offsets */
    bool is_good;  /* what it has found */
    uint64 number; /* of the tile */
    uint64 begin;  /* its first element */
    uint64 first;  /* offset in it */
    uint64 window; /* the first that the lanes have */
    uint64 next;   /* the next one */
    uint32 mine;   /* the lane's position; NONE behind the last */
    uint32 at;     /* that of the next one */

    static constexpr uint32 NONE = ~0u;

    void look(const groups_args &p) {
        const uint64 wanted = next + threadIdx.x % WARP;
        window = next;
        mine = NONE;
        if (wanted <= p.segments) {
            const uint64 position = begin_of(p, wanted) - begin;
            mine = position < NONE ? (uint32)position : NONE;
        }
        at = __shfl_sync(ALL_LANES, mine, 0);
    }
    /* Goes on by so many. */
    void pass(const groups_args &p, uint64 count) {
        next += count;
        if (next - window < WARP)
            at = __shfl_sync(ALL_LANES, mine, (int)(next - window));
        else
            look(p);
    }
    void wait(const groups_args &p) {
        wait_for_last();
        is_speculative = false;
        is_good = !p.told->refused;
    }
    /* Offsets that nobody has checked yet may decrease. */
    template <class Tile> void end(const groups_args &p, Tile &t) {
        const uint32 lane = threadIdx.x % WARP;
        if (at > t.from) {
            const acc_t acc = t.sums.fold(t.first);
            if (is_speculative)
                wait(p);
            if (lane == 0 && next > first && is_good)
                put(p.out + (next - 1), lower(acc, at - t.from, begin + t.from));
            else if (lane == 0 && next == first && next)
                p.cuts[number].before.write(acc);
            t.from = at;
            pass(p, 1);
        } else if (at < t.from) { /* they do, so nothing is written */
            mine = at = NONE;
            is_good = false;
        }
        while (at == t.from) { /* empty ones */
            if (is_speculative)
                wait(p);
            if (next - first > LONG_CROWDED) {
                p.told->crowded = 1;
                next = first_from(p.offsets, p.segments + 1, begin + t.from + 1);
                look(p);
                return;
            }
            const bool is_empty = window + lane >= next && mine == t.from;
            if (is_empty && window + lane > first && is_good)
                put(p.out + (window + lane - 1), lower(identity_as<acc_t>(), 0, begin + t.from));
            pass(p, __popc(__ballot_sync(ALL_LANES, is_empty)));
        }
    }
};

inline bool hands_over(const groups_args &p) {
    return SLOT_BYTES <= MOST_LONG_HANDED && p.handed;
}

/* The segment that ends in one of the block's tiles and began so many before that the block folds what they hand over. */
struct far_segment {
    uint64 tile, number, start, end; /* tile 0: there is none */
};

inline void fold_long_tile(const groups_args &p, far_segment &far) {
    const uint64 of_block = ordinal_of_block() * (uint64)(BLOCK / WARP), number = of_block + threadIdx.x / WARP;
    const bool is_there = number < p.tiles;
    const uint64 first = number << p.tile_bits, left = is_there ? p.n - first : 0, whole = 1ull << p.tile_bits;
    warp_tile<ends_of_segments> t(p, first, (uint32)(left < whole ? left : whole));
    in_t a[LONG_LOADS * VECTOR];
    __shared__ counts_of_warps before[BLOCK / WARP];
    t.load_step(p.x, 0, a);
    t.ends.is_speculative = !p.checks_alone && number < p.speculative;
    t.ends.is_good = true;
    if (p.checks_alone)
        t.ends.is_good = !check_by_block(p, of_block, before);
    else if (!t.ends.is_speculative)
        t.ends.wait(p);
    let_next_start();
    if (!is_there || !t.ends.is_good)
        return;
    t.ends.number = number;
    t.ends.begin = first;
    t.ends.first = t.ends.next = p.checks_alone           ? before[threadIdx.x / WARP].all()
                                 : t.ends.is_speculative ? first_by_warp(p.offsets, p.segments, first)
                                                         : p.first[number];
    const uint64 start = begin_of(p, t.ends.first - (t.ends.first != 0)), behind = begin_of(p, t.ends.first);
    t.ends.look(p);
    if (threadIdx.x % WARP == 0 && !ends_stand(p))
        p.cuts[number].tell(t.ends.first, start, behind);
    const acc_t open = t.fold(p, a);
    /* It belongs to the segment before the next offset, unless that is the first of all or the one behind the last. */
    const bool goes_on = t.ends.next && t.ends.next <= p.segments;
    if (t.ends.is_speculative) /* the last launch relies on it */
        wait_for_last();
    if (!hands_over(p)) {
        if (threadIdx.x % WARP == 0)
            p.cuts[number].after.write(goes_on ? open : identity_as<acc_t>());
        return;
    }
    const bool has_reader = goes_on && t.from < t.count && begin_of(p, t.ends.next) > first; /* else nobody wipes it away */
    if (threadIdx.x % WARP == 0 && has_reader)
        give_away(p.handed + number, open);
    const uint64 begin = begin_of(p, t.ends.first - (t.ends.first != 0)), end = begin_of(p, t.ends.first); /* once more */
    const bool ends = t.ends.first && end > first && end - first <= t.count;
    const acc_t own = ends ? p.cuts[number].before.read() : identity_as<acc_t>();
    if (ends && number - (begin >> p.tile_bits) <= HANDED_OF_WARP)
        end_handed<WARP>(p, number, t.ends.first - 1, begin, end, own);
    else if (ends && threadIdx.x % WARP == 0)
        far = {number, t.ends.first - 1, begin, end};
}

extern "C" __global__ void __launch_bounds__(BLOCK) fold_long_segments(groups_args p) {
    __shared__ far_segment far;
    if (threadIdx.x == 0)
        far.tile = 0;
    fold_long_tile(p, far);
    if (!hands_over(p))
        return;
    __syncthreads();
    if (far.tile)
        end_handed<BLOCK>(p, far.tile, far.number, far.start, far.end, p.cuts[far.tile].before.read());
}
