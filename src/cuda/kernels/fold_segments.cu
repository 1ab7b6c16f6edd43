/* Reductions by segments. A block takes a chunk of consecutive tiles and loads the next tile while it works on one. The
 * threads take the segments that begin in the tile. If masses of them are empty, the threads search the offsets for the
 * others instead, and the last launch writes the results of the empty ones. */
enum { BUFFERS = 2, CROWDED = 16 * TILE /* segments, where a search for each element is faster */ };

/* ---- offsets on their way ---- */

/* The beginnings of a thread's segments of a round: up to AHEAD of them, a warp apart; lane 0 also has those of the
 * next warp. Or, if threads share segments, the beginning and the end of its segment. Loaded long before they are
 * needed. */
enum { AHEAD = 8, A_ROUND = AHEAD * BLOCK /* segments that a block takes at a time */ };
struct offsets_ahead {
    index_t at[AHEAD + 1];

    /* of the k-th segment of a thread that has 'each' */
    static uint32 number_of(uint32 each, int k) {
        return (threadIdx.x / WARP * each + k) * WARP + threadIdx.x % WARP;
    }
    static uint32 each_of(uint32 count) {
        return count < A_ROUND ? (count + BLOCK - 1) / BLOCK : (uint32)AHEAD;
    }
    template <bool Aligned> static index_t load_one(const index_t *from) {
        return Aligned ? *from : load_slowly(from);
    }
    template <bool Aligned> void load_from(const index_t *offsets, uint32 count, uint32 shift) {
        if (shift) {
            offsets += threadIdx.x >> shift < count ? threadIdx.x >> shift : count - 1;
            at[0] = load_one<Aligned>(offsets);
            at[1] = load_one<Aligned>(offsets + 1);
            return;
        }
        const uint32 each = each_of(count), lane = threadIdx.x % WARP;
#pragma unroll
        for (int k = 0; k <= AHEAD; k++)
            if (k < each + (lane == 0) && number_of(each, k) <= count)
                at[k] = load_one<Aligned>(offsets + number_of(each, k));
    }
    /* 'count' segments from 'offsets' on; the offset behind them is there, too. */
    void load_all(const index_t *offsets, uint32 count, uint32 shift) {
        if (is_aligned(offsets))
            load_from<true>(offsets, count, shift);
        else
            load_from<false>(offsets, count, shift);
    }
};

/* A position in the tile; count + 1 for all positions behind it, and also for those before it: bad offsets that are
 * only found now must not lead outside. */
inline uint32 position_in(const tile &t, index_t offset) {
    const uint64 at = (uint64)offset - t.first;
    return at <= t.count ? (uint32)at : t.count + 1;
}

/* Whether a segment begins in the tile and not behind its end. If not, the last launch reports which offsets are bad.
 */
inline bool is_good(const groups_args &p, const tile &t, uint32 begin, uint32 end) {
    const bool good = begin <= t.count && begin <= end;
    if (!good)
        atomicOr(&p.told->crowded, 1);
    return good;
}

/* A round of segments, 'count' of them from 'first' on. */
inline void take_round(tile_memory &s, const groups_args &p, const tile &t, uint64 first, uint32 count,
                       const offsets_ahead &offsets, uint32 shift) {
    result_t *out = p.out + first;
    if (shift) {
        const uint32 number = threadIdx.x >> shift;
        if (threadIdx.x / WARP * WARP >> shift >= count)
            return;
        const uint32 begin = position_in(t, offsets.at[0]), end = position_in(t, offsets.at[1]);
        fold_shared(s, t, number < count && is_good(p, t, begin, end), begin, end, out + number, shift);
        return;
    }
    const uint32 each = offsets_ahead::each_of(count), lane = threadIdx.x % WARP;
    uint32 begin = position_in(t, offsets.at[0]);
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        const uint32 number = offsets_ahead::number_of(each, k), next = position_in(t, offsets.at[k + 1]);
        if (k >= each || number - lane >= count)
            break;
        const uint32 end = __shfl_sync(ALL_LANES, lane ? begin : next, lane + 1);
        if (number < count && is_good(p, t, begin, end))
            fold_alone(s, t, begin, end, out + number);
        begin = next;
    }
}

/* Several rounds. The next round's offsets are loaded while one is folded. */
inline void take_many(tile_memory &s, const groups_args &p, const tile &t, uint64 from, uint32 count,
                      offsets_ahead offsets) {
#pragma unroll 1
    for (uint32 done = 0; done < count; done += A_ROUND) {
        const uint32 left = count - done, after = left > A_ROUND ? left - A_ROUND : 0;
        offsets_ahead next;
        if (after)
            next.load_all(p.offsets + from + done + A_ROUND, after, 0);
        take_round(s, p, t, from + done, after ? (uint32)A_ROUND : left, offsets, 0);
        offsets = next;
    }
}

/* If there are so many that most are empty: folds the others, which a search at each element finds. */
inline void find_segments(tile_memory &s, const groups_args &p, const tile &t, uint64 from, uint64 to) {
    if (threadIdx.x == 0)
        atomicOr(&p.told->crowded, 1);
    for (uint32 e = threadIdx.x; e < t.count && from < to; e += BLOCK) {
        uint64 low = from, high = to; /* the last segment that begins here or before */
        while (low + 1 < high) {
            uint64 middle = (low + high) / 2;
            if (begin_of(p, middle) <= t.first + e)
                low = middle;
            else
                high = middle;
        }
        const uint32 begin = position_in(t, load(p.offsets + low)), end = position_in(t, load(p.offsets + low + 1));
        if (begin == e && begin < end)
            fold_alone(s, t, begin, end, p.out + low);
    }
}

/* ---- from tile to tile ---- */

/* The segment that is open where a chunk's next tile begins. */
struct open_segment {
    acc_t acc;       /* of its elements in the chunk */
    bool began_here; /* in the chunk */
};

/* The segments of a tile: [from, to) begin in it, with those that take_round folds; 'open' elements belong to the
 * segment before them. */
struct tile_groups {
    uint64 from, to;
    uint32 count, shift;
    index_t begin; /* of segment 'from' */
    offsets_ahead offsets;
    uint32 open;
    bool ends; /* the segment before 'from' */

    bool is_crowded() const {
        return to - from > CROWDED; /* or bad: less than nothing */
    }
    void look_up(const groups_args &p, uint64 first, uint64 last) {
        from = first;
        to = last;
        count = is_crowded() ? 0 : (uint32)(to - from);
        shift = shift_for(count);
        begin = load(p.offsets + from);
        if (count)
            offsets.load_all(p.offsets + from, count, shift);
    }
    void find_open(const tile &t) {
        open = 0;
        if (from && (uint64)begin > t.first) {
            ends = (uint64)begin - t.first <= t.count;
            open = ends ? (uint32)((uint64)begin - t.first) : t.count;
        }
    }
    /* Whether all of the tile is one segment's, which begins with it. */
    bool is_single(const tile &t) const {
        return count == 1 && (uint64)begin == t.first && position_in(t, offsets.at[1]) >= t.count && t.count;
    }
};

/* The first segments of a chunk's tiles, one lane per tile. */
struct table {
    uint64 begin, entry;

    uint64 first_of(const groups_args &p, uint64 number) {
        if (number - begin >= WARP) {
            begin = number;
            const uint64 mine = number + threadIdx.x % WARP;
            entry = mine < p.tiles ? p.first[mine] : p.segments;
        }
        return __shfl_sync(ALL_LANES, entry, (int)(number - begin));
    }
};

/* Thread 0, when everything in a tile is folded. */
inline void go_on(tile_memory &s, const groups_args &p, const tile &t, const tile_groups &g, uint64 chunk,
                  bool is_single, const acc_t &whole, open_segment *open) {
    if (g.open) {
        open->acc = combine(open->acc, g.open == t.count ? whole : *(acc_t *)s.before);
        if (g.ends) {
            uint64 segment = g.from - 1;
            if (open->began_here) {
                uint64 begin = begin_of(p, segment), end = t.first + g.open;
                put(p.out + segment, lower(open->acc, end - begin, begin));
            } else {
                p.cuts[chunk].before.write(open->acc);
            }
            open->acc = identity_as<acc_t>();
        }
    }
    const bool goes_on = is_single ? position_in(t, g.offsets.at[1]) > t.count : s.goes_on;
    if (goes_on) {
        open->acc = is_single ? whole : *(acc_t *)s.after;
        open->began_here = true;
    } else if (is_single) {
        put(p.out + g.from, lower(whole, t.count, t.first));
    }
    s.goes_on = 0;
    if (s.count) /* else the others may still be reading the 0 */
        s.count = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_segments(groups_args p) {
    __shared__ alignas(128) uint8 memory[BUFFERS][HAS_SECOND + 1][TILE * sizeof(in_t)];
    __shared__ tile_memory s;
    let_next_start();
    const uint64 chunk = blockIdx.x, first = chunk * p.chunk;
    const uint64 last = first + p.chunk < p.tiles ? first + p.chunk : p.tiles;
    auto tile_at = [&](uint64 number) {
        const uint64 at = number * TILE;
        const uint32 count = number >= last ? 0 : number + 1 < p.tiles ? (uint32)TILE : (uint32)(p.n - at);
        const uint32 buffer = (uint32)number % BUFFERS;
        return tile{at, count, memory[buffer][0], memory[buffer][HAS_SECOND]};
    };
    const uint32 refused = p.told->refused;
    table where = {~0ull - WARP, 0};
    tile t = tile_at(first);
    tile_groups g;
    fetch_tile(p, t);
    close_copies();
    const uint64 from = where.first_of(p, first);
    g.look_up(p, from, where.first_of(p, first + 1));
    open_segment open = {identity_as<acc_t>(), false};
    if (threadIdx.x == 0)
        s.count = s.goes_on = 0;
    if (refused) {
        wait_for_copies<0>();
        return;
    }
#pragma unroll 1
    for (uint64 number = first; number < last; number++) {
        const tile next = tile_at(number + 1);
        if (next.count)
            fetch_tile(p, next);
        close_copies();
        tile_groups next_groups;
        next_groups.look_up(p, g.to, where.first_of(p, number + 2));
        wait_for_copies<1>();
        __syncthreads();
        g.find_open(t);
        const bool is_single = g.is_single(t), is_whole = is_single || (g.open == t.count && t.count);
        acc_t whole = identity_as<acc_t>();
        if (is_whole)
            whole = fold_whole(t);
        else if (g.open)
            fold_open(s, t, g.open);
        if (g.is_crowded())
            find_segments(s, p, t, g.from, g.to);
        else if (g.count > A_ROUND)
            take_many(s, p, t, g.from, g.count, g.offsets);
        else if (g.count && !is_single)
            take_round(s, p, t, g.from, g.count, g.offsets, g.shift);
        __syncthreads();
        if (s.count) {
            fold_longer(s, t);
            __syncthreads();
        }
        if (threadIdx.x == 0 && (is_single || g.open || s.count || s.goes_on))
            go_on(s, p, t, g, chunk, is_single, whole, &open);
        t = next;
        g = next_groups;
    }
    if (threadIdx.x == 0)
        p.cuts[chunk].after.write(open.acc);
}

/* The launch before: checks the offsets, unless that is done while running, and finds the first segment
 * of each tile. */
extern "C" __global__ void __launch_bounds__(BLOCK) place_groups(groups_args p) {
    if (p.check_before)
        tell(look_at_all(p.offsets, p.segments, p.n), p.refuses_empty, &p.told->refused, &p.told->not_bad);
    else if (blockIdx.x == 0 && threadIdx.x == 0 &&
             (begin_of(p, p.segments) > p.n || load(p.offsets + p.segments - 1) > load(p.offsets + p.segments)))
        p.told->crowded = 1; /* the tiles need the segments' beginnings, not the end of the last one */
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < p.tiles; k += gridDim.x * (uint64)BLOCK)
        p.first[k] = first_from(p.offsets, p.segments, k * TILE);
}
