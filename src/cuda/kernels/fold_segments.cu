/* Reductions by segments. A block takes a chunk of consecutive tiles and copies the next one while it works on one. The
 * threads take the segments that begin in the tile; where millions of them are empty, they search the offsets for the
 * others instead, and the last launch gives the empty ones their results. */
enum { BUFFERS = 2, CROWDED = 16 * TILE /* segments, where a search for each element is faster */ };

inline uint64 begin_of(const groups_args &p, uint64 segment) {
    return (uint64)load(p.index + segment);
}

/* Checks the offsets, unless that is done while running, and finds the first segment of each tile. */
extern "C" __global__ void __launch_bounds__(BLOCK) place_groups(groups_args p) {
    if (p.check_before)
        tell(look_at_all(p.index, p.segments, p.n), p.refuses_empty, &p.told->refused, &p.told->not_bad);
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < p.tiles; k += gridDim.x * (uint64)BLOCK)
        p.of_tile[k] = first_from(p.index, p.segments, k * TILE);
}

/* ---- offsets on their way ---- */

/* Of consecutive segments, those of a thread: AHEAD of them a warp apart, or one that it shares with 'width' - 1 others.
 * They are loaded long before they are needed. */
enum { AHEAD = 4, A_ROUND = AHEAD * BLOCK /* segments that a block takes at a time */ };
struct offsets_ahead {
    index_t begin[AHEAD], last; /* where the segment after the last one begins, in lane 31 or where 'width' > 1 */

    static uint32 number_of(uint32 width, int k) {
        return width > 1 ? threadIdx.x / width : (threadIdx.x / WARP * AHEAD + k) * WARP + threadIdx.x % WARP;
    }
    template <bool Aligned> void load_from(const index_t *offsets, uint64 count, uint32 width) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            uint32 at = number_of(width, k);
            if (at <= count && (k == 0 || width == 1))
                begin[k] = Aligned ? offsets[at] : load(offsets + at);
        }
        uint32 at = width > 1 ? number_of(width, 0) + 1 : (threadIdx.x / WARP + 1) * AHEAD * WARP;
        if (at <= count)
            last = Aligned ? offsets[at] : load(offsets + at);
    }
    /* 'count' segments from 'first' on; the offset behind them is there, too. */
    void load_all(const groups_args &p, uint64 first, uint64 count, uint32 width) {
        if (((uint64)p.index & (sizeof(index_t) - 1)) == 0)
            load_from<true>(p.index + first, count, width);
        else
            load_from<false>(p.index + first, count, width);
    }
    /* Where the k-th segment ends. The whole warp comes here. */
    index_t end_of(int k, uint32 width) const {
        if (width > 1)
            return last;
        index_t next = k + 1 < AHEAD ? __shfl_sync(ALL_LANES, begin[(k + 1) % AHEAD], 0) : last;
        index_t above = __shfl_down_sync(ALL_LANES, begin[k], 1);
        return threadIdx.x % WARP == WARP - 1 ? next : above;
    }
};

/* ---- segments of a tile ---- */

/* Bad offsets that are only now found out must lead nowhere. */
inline bool is_good(const groups_args &p, const tile &t, index_t begin, index_t end) {
    return (uint64)begin >= t.first && begin <= end && (uint64)end <= p.n &&
           ((uint64)begin < t.first + t.count || begin == end);
}

/* One that begins in the tile. The whole warp comes here, also those who have none. */
inline void take_segment(tile_memory &s, const groups_args &p, const tile &t, bool exists, uint64 segment,
                         index_t begin, index_t end, uint32 width, findings *f) {
    if (p.check_while_running && exists) {
        look_at(f, segment, begin, end, p.n);
        exists = is_good(p, t, begin, end);
    }
    const uint32 low = (uint32)((uint64)begin - t.first);
    const uint64 high = (uint64)end - t.first;
    const bool leads = exists && (threadIdx.x & (width - 1)) == 0, goes_on = high > t.count;
    if (leads && begin == end)
        store(p.out + segment, lower(identity_as<acc_t>(), 0, 0));
    else if (leads && goes_on)
        leave_to_warps(s, low, t.count, nullptr, GOES_ON);
    exists = exists && !goes_on;
    fold_group(s, t, exists ? low : 0, exists ? (uint32)high : 0, width, p.out + segment);
}

/* A round of segments, 'count' of them from 'first' on. */
inline void take_segments(tile_memory &s, const groups_args &p, const tile &t, uint64 first, uint64 count,
                          const offsets_ahead &offsets, uint32 width) {
    findings f = {NOT_FOUND, NOT_FOUND};
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        const uint32 number = offsets.number_of(width, k);
        if (__shfl_sync(ALL_LANES, number, 0) >= count || (k && width > 1))
            break;
        take_segment(s, p, t, number < count, first + number, offsets.begin[k], offsets.end_of(k, width), width, &f);
    }
    if (p.check_while_running)
        tell(f, false, &p.told->refused, &p.told->not_bad);
}

/* Where there are so many that most are empty: those that are not, by a search at each element. */
inline void find_segments(tile_memory &s, const groups_args &p, const tile &t, uint64 from, uint64 to) {
    findings f = {NOT_FOUND, NOT_FOUND};
    if (threadIdx.x == 0)
        atomicOr(&p.told->crowded, 1);
    for (uint32 base = 0; base < t.count && from < to; base += BLOCK) {
        const uint64 at = t.first + base + threadIdx.x;
        uint64 low = from, high = to; /* the last segment that begins here or before */
        while (low + 1 < high) {
            uint64 middle = (low + high) / 2;
            if (begin_of(p, middle) <= at)
                low = middle;
            else
                high = middle;
        }
        index_t begin = load(p.index + low), end = load(p.index + low + 1);
        bool exists = base + threadIdx.x < t.count && (uint64)begin == at && begin < end;
        take_segment(s, p, t, exists, low, begin, end, 1, &f);
    }
    if (p.check_while_running)
        tell(f, false, &p.told->refused, &p.told->not_bad);
}

/* ---- from tile to tile ---- */

/* The segment that is open where a chunk's next tile begins. */
struct open_segment {
    acc_t acc;       /* of its elements in the chunk */
    bool began_here; /* in the chunk */
};

/* Which segments a tile has: [from, to) begin in it, and 'open' elements are of the one before them. */
struct tile_groups {
    uint64 from, to, begin; /* begin: of segment 'from' */
    uint32 open;
    bool ends; /* the segment before 'from' */
    uint32 width;

    bool is_crowded() const {
        return to - from > CROWDED; /* or bad: less than nothing */
    }
    uint64 round() const {
        return is_crowded() ? 0 : to - from < A_ROUND ? to - from : A_ROUND;
    }
};

/* Thread 0, when everything in a tile is folded. */
inline void go_on(tile_memory &s, const groups_args &p, const tile &t, const tile_groups &g, uint64 chunk,
                  const acc_t &whole, open_segment *open) {
    if (g.open) {
        open->acc = combine(open->acc, g.open == t.count ? whole : *(acc_t *)s.before);
        if (g.ends) {
            uint64 segment = g.from - 1;
            if (open->began_here) {
                uint64 begin = begin_of(p, segment), end = t.first + g.open;
                store(p.out + segment, lower(open->acc, end - begin, begin));
            } else {
                p.cuts[chunk].before.write(open->acc);
            }
            open->acc = identity_as<acc_t>();
        }
    }
    if (s.goes_on) {
        open->acc = *(acc_t *)s.after;
        open->began_here = true;
    }
    s.count = s.goes_on = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_segments(groups_args p) {
    __shared__ alignas(128) uint8 memory[BUFFERS][HAS_SECOND + 1][TILE * sizeof(in_t)];
    __shared__ tile_memory s;
    const uint64 chunk = blockIdx.x, first = chunk * p.chunk;
    const uint64 last = first + p.chunk < p.tiles ? first + p.chunk : p.tiles;
    auto tile_at = [&](uint64 number) {
        uint64 at = number * TILE;
        uint32 count = number < last ? p.n - at < TILE ? (uint32)(p.n - at) : (uint32)TILE : 0;
        return tile{at, count, memory[number % BUFFERS][0], memory[number % BUFFERS][HAS_SECOND]};
    };
    auto first_of = [&](uint64 number) { return number < p.tiles ? p.of_tile[number] : p.segments; };
    auto groups_of = [&](uint64 from, uint64 to) {
        return tile_groups{from, to, begin_of(p, from), 0, false, width_for(to - from)};
    };
    const uint32 refused = p.told->refused;
    if (threadIdx.x == 0)
        s.count = s.goes_on = 0;
    tile t = tile_at(first);
    fetch_tile(p, t);
    close_copies();
    uint64 to = first_of(first + 1), next_to = first_of(first + 2);
    tile_groups g = groups_of(first_of(first), to);
    offsets_ahead offsets;
    offsets.load_all(p, g.from, g.round(), g.width);
    open_segment open = {identity_as<acc_t>(), false};
    if (refused) {
        wait_for_copies<0>();
        return;
    }
    for (uint64 number = first; number < last; number++) {
        const tile next = tile_at(number + 1);
        fetch_tile(p, next);
        close_copies();
        const tile_groups next_groups = groups_of(g.to, next_to);
        next_to = first_of(number + 3);
        if (g.from && g.begin > t.first) {
            g.ends = g.begin - t.first <= t.count;
            g.open = g.ends ? (uint32)(g.begin - t.first) : t.count;
        }
        wait_for_copies<1>();
        __syncthreads();
        uint64 from = g.from;
        do { /* the next round's offsets are on their way while one is folded */
            const uint64 left = g.is_crowded() ? 0 : g.to - from, count = left < A_ROUND ? left : A_ROUND;
            const uint64 after = left - count < A_ROUND ? left - count : A_ROUND;
            offsets_ahead ahead;
            if (after)
                ahead.load_all(p, from + count, after, 1);
            else
                ahead.load_all(p, next_groups.from, next_groups.round(), next_groups.width);
            take_segments(s, p, t, from, count, offsets, g.width);
            offsets = ahead;
            from += count;
        } while (from < g.to && !g.is_crowded());
        if (g.is_crowded())
            find_segments(s, p, t, g.from, g.to);
        acc_t whole = identity_as<acc_t>();
        if (t.count && g.open == t.count)
            whole = fold_whole(t);
        else if (g.open && threadIdx.x == 0)
            leave_to_warps(s, 0, g.open, nullptr, FROM_BEFORE);
        __syncthreads();
        const bool some_are_left = s.count;
        if (some_are_left) {
            fold_longer(s, t);
            __syncthreads();
        }
        if (threadIdx.x == 0 && (some_are_left || g.open))
            go_on(s, p, t, g, chunk, whole, &open);
        t = next;
        g = next_groups;
    }
    if (threadIdx.x == 0)
        p.cuts[chunk].after.write(open.acc);
}

/* ---- for fold_cuts.cu ---- */

/* The group that began in an earlier chunk and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the chunk that it began in */
};

inline bool find_ending(const groups_args &p, uint64 chunk, ending *e) {
    const uint64 low = chunk * p.chunk * TILE, from = p.of_tile[chunk * p.chunk];
    if (!from)
        return false;
    e->group = from - 1;
    e->start = begin_of(p, from - 1);
    const uint64 end = begin_of(p, from);
    e->count = end - e->start;
    e->first = e->start / TILE / p.chunk;
    return end > low && end - low <= p.chunk * TILE && end <= p.n && e->start < low;
}

/* Results of empty segments, where tiles have too many of them. */
inline void finish_crowds(const groups_args &p) {
    if (!p.told->crowded)
        return;
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    if (p.check_while_running)
        tell(look_at_all(p.index, p.segments, p.n), false, &p.told->refused, &p.told->not_bad);
    for (uint64 g = me; g < p.segments; g += stride)
        if (begin_of(p, g) == begin_of(p, g + 1))
            store(p.out + g, lower(identity_as<acc_t>(), 0, 0));
}
