/* Reductions by segments, a tile a block, which marks where segments begin (fold_tile.cu). Each segment then finds its
 * result by its head's number; an empty segment has no head. The launch before checks the offsets and finds each tile's
 * first segment. The first tiles are speculative: they search for their segments themselves, and wait for the check
 * only when they have results. If there are few segments, each block checks them all, and there is no launch before.
 * Where a tile has millions of empty segments, each element searches the offsets for its segment instead, and the last
 * launch writes the results of the empty ones. */
enum { CROWDED = 16 * TILE /* segments, where a search for each element is faster */ };

/* A position in the tile. Positions behind the tile give count + 1, and so do those before it: bad offsets that are
 * only found while the kernel runs must lead nowhere. */
inline uint32 position_in(const tile &t, index_t offset) {
    const uint64 at = (uint64)offset - t.first;
    return at <= t.count ? (uint32)at : t.count + 1;
}

inline index_t offset_at(const groups_args &p, uint64 segment) {
    return is_aligned(p.offsets) ? p.offsets[segment] : load_slowly(p.offsets + segment);
}

/* ---- the segments of a tile ---- */

/* Segments [from, to) begin in the tile; 'open' elements belong to the segment before them. */
struct tile_groups {
    uint64 from, to;
    index_t first; /* the offset of the thread's first segment, loaded a tile ahead */
    index_t begin; /* of segment 'from' */
    index_t start; /* of the one before it */
    uint32 open;
    bool ends; /* the segment before 'from' */

    bool is_crowded() const {
        return to - from > CROWDED; /* or bad: less than nothing */
    }
    void look_up(const groups_args &p, uint64 low, uint64 high) {
        from = low;
        to = high;
#if !HAS_PARTS /* whose lanes have them */
        begin = offset_at(p, from);
        start = ends_stand(p) ? index_t(0) : offset_at(p, from - (from != 0));
        if (from + threadIdx.x < to)
            first = offset_at(p, from + threadIdx.x);
#endif
    }
    /* What is refused of the thread's share, as in struct control. */
    uint32 check(const groups_args &p) const {
        typedef typename unsigned_of<sizeof(index_t)>::type position;
        const position most = (position)most_offset(p.n);
        uint32 wrong = 0;
#pragma unroll 1
        for (uint64 g = from + threadIdx.x; g < to; g += BLOCK) {
            const position begin = (position)offset_at(p, g), end = (position)offset_at(p, g + 1);
            wrong |= (begin > end || end > most ? REFUSED_BAD : 0) | (begin == end ? REFUSED_EMPTY : 0);
        }
        return p.refuses_empty ? wrong : wrong & REFUSED_BAD;
    }
    void find_open(const tile &t) {
        open = 0;
        if (from && (uint64)begin > t.first) {
            ends = (uint64)begin - t.first <= t.count;
            open = ends ? (uint32)((uint64)begin - t.first) : t.count;
        }
    }
    /* Calls use(segment, begin, end) for the thread's share of the segments, with positions in the tile. */
    template <class Use> void for_each(const groups_args &p, const tile &t, Use use) const {
        if (is_crowded()) {
            search_each(p, t, use);
            return;
        }
#pragma unroll LOWERS_CHEAPLY ? 4 : 1
        for (uint64 g = from + threadIdx.x; g < to; g += BLOCK)
            use(g, position_in(t, offset_at(p, g)), position_in(t, offset_at(p, g + 1)));
    }
    /* Calls use(begin) with the low bits of where the thread's share of the segments begins. */
    template <class Use> void for_each_begin(const groups_args &p, Use use) const {
        enum { AT_A_TIME = 8 };
        const uint32 count = (uint32)(to - from);
        const index_t *offsets = p.offsets + from;
        if (threadIdx.x < count)
            use((uint32)first);
        if (!is_aligned(offsets)) {
            for (uint32 k = threadIdx.x + BLOCK; k < count; k += BLOCK)
                use((uint32)load_slowly(offsets + k));
            return;
        }
#pragma unroll 1
        for (uint32 k = threadIdx.x + BLOCK; k < count; k += AT_A_TIME * BLOCK) {
            const index_t *from = offsets + k;
            uint32 begins[AT_A_TIME];
#pragma unroll
            for (uint32 j = 0; j < AT_A_TIME; j++)
                if (k + j * BLOCK < count)
                    begins[j] = (uint32)from[j * BLOCK];
#pragma unroll
            for (uint32 j = 0; j < AT_A_TIME; j++)
                if (k + j * BLOCK < count)
                    use(begins[j]);
        }
    }
    /* The same for the segments that are not empty, by a search at each element. */
    template <class Use> void search_each(const groups_args &p, const tile &t, Use use) const {
        for (uint32 e = threadIdx.x; e < t.count && from < to; e += BLOCK) {
            uint64 low = from, high = to; /* the last segment that begins here or before */
            while (low + 1 < high) {
                const uint64 middle = (low + high) / 2;
                if (begin_of(p, middle) <= t.first + e)
                    low = middle;
                else
                    high = middle;
            }
            const uint32 at = position_in(t, offset_at(p, low)), end = position_in(t, offset_at(p, low + 1));
            if (at == e && at < end)
                use(low, at, end);
        }
    }
};

/* Marks where the tile's segments begin, and where the last segment of all ends; returns the number of heads. An empty
 * segment begins where the next one does, so it adds no head. The words are 0 before. */
inline uint32 mark_heads(tile_memory &s, const groups_args &p, const tile &t, const tile_groups &g) {
    uint32 *const words = stays_in_shared(s.heads);
    auto mark = [&](uint32 at) {
        if (at < t.count)
            atomicOr(&words[at / WARP], 1u << at % WARP);
    };
    if (g.is_crowded())
        g.search_each(p, t, [&](uint64, uint32 begin, uint32) { mark(begin); });
    else
        g.for_each_begin(p, [&](uint32 begin) { mark(begin - (uint32)t.first); });
    if (threadIdx.x == 0) {
        const uint32 end = g.to == p.segments ? position_in(t, offset_at(p, p.segments)) : t.count;
        mark(end);
        s.has_end = end < t.count;
    }
    __syncthreads();
    return rank_heads(s);
}

/* A thread folds a segment. A call keeps the code short, which stands in several loops. */
__noinline__ result_t fold_segment(tile t, uint32 begin, uint32 end) {
    return lower(fold_part(t, {begin, end, 1}), end - begin, t.first + begin);
}
/* This serves tiles that have no room for the results of so many heads. */
inline void fold_short(tile_memory &s, const groups_args &p, const tile &t, const tile_groups &g) {
    g.for_each(p, t, [&](uint64 segment, uint32 begin, uint32 end) {
        if (begin < end && end <= t.count)
            put(p.out + segment, fold_segment(t, begin, end));
    });
    uint32 word = 0;
    while (!s.heads[word])
        word++;
    const acc_t before = fold_together(t, 0, word * WARP + __ffs(s.heads[word]) - 1);
    const acc_t after = fold_together(t, head_before(s, TILE), t.count);
    if (threadIdx.x == 0) {
        *(acc_t *)s.before = before;
        *(acc_t *)s.after = after;
    }
}

/* Writes the results of the segments that end in the tile in which they begin, if none is empty: then segments are
 * numbered as their heads are. 'end' is where the last of them ends. */
inline void put_in_order(tile_memory &s, const groups_args &p, const tile &t, const tile_groups &g, index_t end) {
    const uint32 goes_on = g.to > g.from && (uint64)end > t.first + t.count, count = (uint32)(g.to - g.from) - goes_on;
    if (threadIdx.x == 0)
        s.goes_on = goes_on;
#pragma unroll LOWERS_CHEAPLY ? 4 : 2
    for (uint32 k = threadIdx.x; k < count; k += BLOCK) {
        uint64 first = 0, behind = 0;
        if (LOWERS_BY_EXTENT) {
            first = (uint64)offset_at(p, g.from + k);
            behind = (uint64)offset_at(p, g.from + k + 1);
        }
        put(p.out + g.from + k, result_of(*t.result(k), behind - first, first));
    }
}

/* The same for any segments. */
inline void put_segments(tile_memory &s, const groups_args &p, const tile &t, const tile_groups &g, bool are_put) {
    if (threadIdx.x == 0 && g.is_crowded())
        atomicOr(&p.told->crowded, 1);
    g.for_each(p, t, [&](uint64 segment, uint32 begin, uint32 end) {
        if (begin > t.count || begin > end) /* the last launch says which offsets are bad */
            atomicOr(&p.told->crowded, 1);
        else if (begin == end)
            put(p.out + segment, lower(identity_as<acc_t>(), 0, t.first + begin));
        else if (end > t.count)
            atomicOr(&s.goes_on, 1); /* bad offsets have several */
        else if (!are_put)
            put(p.out + segment, result_of(*t.result(rank_of(s, begin)), end - begin, t.first + begin));
    });
}

/* Thread 0, when everything in the tile is folded. 'whole' is the tile's accumulator where it has no head. */
inline void keep_ends(const tile_memory &s, const groups_args &p, uint64 number, const tile_groups &g, uint32 heads,
                      const acc_t &whole) {
    cut &c = p.cuts[number];
    const bool goes_on = s.goes_on || (g.open && !g.ends);
    if (g.open && g.ends && !p.handed)
        c.before.write(heads ? *(const acc_t *)s.before : whole);
    const acc_t after = s.goes_on ? *(const acc_t *)s.after : goes_on ? whole : identity_as<acc_t>();
    if (!p.handed)
        c.after.write(after);
    else if (goes_on)
        give_away(p.handed + number, after);
}

#if DIFFERENCES
/* The segments of a tile, from the sums up to their ends. A lane has an end, and the lane before it what the segment begins
 * with, so the first lane has no segment. */
struct tile_ends {
    enum { STEP = WARPS * (WARP - 1) };
    uint32 number; /* of the lane's offset among the tile's */
    index_t offset;

    tile_ends(const groups_args &p, const tile_groups &g) {
        number = threadIdx.x / WARP * (WARP - 1) + threadIdx.x % WARP;
        offset = !g.is_crowded() && number <= g.to - g.from ? offset_at(p, g.from + number) : index_t(0);
    }
    /* Results of the segments that begin and end in the tile. */
    void put_all(tile_memory &s, tile_sums &sums, const groups_args &p, const tile &t, const tile_groups &g) {
        const uint32 count = (uint32)(g.to - g.from), lane = threadIdx.x % WARP;
        const index_t *next = p.offsets + g.from + number;
        result_t *out = p.out + g.from + number - 1;
        const bool are_aligned = is_aligned(next);
#pragma unroll 1
        for (; number - lane < count; number += STEP, out += STEP) {
            const uint32 end = position_in(t, offset), begin = from_below(end, 1);
            next += STEP;
            if (number + STEP <= count)
                offset = are_aligned ? *next : load_slowly(next);
            const tile_sum sum = sums.of_lane(t, begin, end);
            if (lane && number <= count)
                put_one(s, sums, p, t, out, begin, end, sum);
        }
    }
    static void put_one(tile_memory &s, tile_sums &sums, const groups_args &p, const tile &t, result_t *out,
                        uint32 begin, uint32 end, const tile_sum &sum) {
        if (begin > t.count || begin > end) { /* the last launch says which offsets are bad */
            atomicOr(&p.told->crowded, 1);
        } else if (end > t.count) { /* bad offsets have several */
            atomicOr(&s.goes_on, 1);
            atomicMax(&sums.last, begin);
        } else {
            put(out, sum.result(t, begin, end));
        }
    }
    /* The same where there are millions of segments, nearly all of them empty. */
    static void search_all(tile_memory &s, tile_sums &sums, const groups_args &p, const tile &t, const tile_groups &g) {
        if (threadIdx.x == 0)
            atomicOr(&p.told->crowded, 1);
        g.search_each(p, t, [&](uint64 segment, uint32 begin, uint32 end) {
            const tile_sum sum = sums.between(t, begin, end < t.count ? end : t.count);
            put_one(s, sums, p, t, p.out + segment, begin, end, sum);
        });
    }
};
/* By a thread each. */
inline void keep_sums(const tile_memory &s, const tile_sums &sums, const groups_args &p, uint64 number,
                             const tile &t, const tile_groups &g) {
    cut &c = p.cuts[number];
    if (threadIdx.x == 0 && g.open && g.ends && !p.handed)
        c.before.write(sums.between(t, 0, g.open).accumulator(t, g.open));
    if (threadIdx.x != WARP)
        return;
    const bool is_inner = g.open && !g.ends;
    const uint32 begin = s.goes_on ? sums.last : is_inner ? 0 : t.count;
    const tile_sum sum = sums.between(t, begin, t.count);
    if (!p.handed)
        c.after.write(begin < t.count ? sum.accumulator(t, t.count - begin) : identity_as<acc_t>());
    else if (begin < t.count)
        give_away(p.handed + number, sum.accumulator(t, t.count - begin));
}
#elif HAS_PARTS
/* The segments of a tile, and what lies before its first one, from parts of it. Lanes share them. */
struct tile_ends {
    sharing shared;
    uint32 number; /* 0: the segment before the first one of the tile */
    index_t first, behind;

    tile_ends(const groups_args &p, const tile_groups &g)
        : shared((uint32)(g.to - g.from) + 1), number(shared.group()) {
        load_offsets(p, g);
    }
    void load_offsets(const groups_args &p, const tile_groups &g) {
        first = behind = 0; /* where there is no such segment */
        if (number <= g.to - g.from && (number ? !g.is_crowded() : g.from != 0)) {
            first = offset_at(p, g.from + number - 1);
            behind = offset_at(p, g.from + number);
        }
    }
    void put_all(const tile_sums &sums, const groups_args &p, const tile &t, const tile_groups &g, cut &c) {
        const uint32 groups = (uint32)(g.to - g.from) + 1;
#pragma unroll 1
        while (number - shared.group_in_warp() < groups) {
            const bool is_there = number < groups, is_open = number == 0;
            const uint64 segment = g.from + number - 1;
            const uint32 begin = is_open ? 0 : position_in(t, first);
            const uint32 end = is_open ? open_of(t, behind) : position_in(t, behind);
            const bool ends = (uint64)behind - t.first <= t.count;
            number += shared.step();
            load_offsets(p, g);
            const uint32 stop = end < t.count ? end : t.count;
            const tile_sum sum = sums.of_lanes(t, begin < stop ? begin : stop, stop, shared.me(), shared.lanes());
            if (!is_there || shared.me())
                continue;
            if (is_open)
                keep_open(sum, t, end, ends, c);
            else
                put_one(sum, p, t, segment, begin, end, c);
        }
    }
    /* Where there are millions of segments, nearly all of them empty. */
    void search_all(const tile_sums &sums, const groups_args &p, const tile &t, const tile_groups &g, cut &c) const {
        if (threadIdx.x == 0) {
            const uint32 open = open_of(t, behind);
            atomicOr(&p.told->crowded, 1);
            keep_open(sums.between(t, 0, open), t, open, (uint64)behind - t.first <= t.count, c);
        }
        g.search_each(p, t, [&](uint64 segment, uint32 begin, uint32 end) {
            put_one(sums.between(t, begin, end < t.count ? end : t.count), p, t, segment, begin, end, c);
        });
    }
    /* Elements of a segment that ends there. */
    static uint32 open_of(const tile &t, index_t end) {
        const uint64 open = (uint64)end > t.first ? (uint64)end - t.first : 0;
        return open < t.count ? (uint32)open : t.count;
    }
    static void keep_open(const tile_sum &sum, const tile &t, uint32 open, bool ends, cut &c) {
        if (open)
            (ends ? c.before : c.after).write(sum.accumulator(t, open));
    }
    static void put_one(const tile_sum &sum, const groups_args &p, const tile &t, uint64 segment, uint32 begin,
                        uint32 end, cut &c) {
        if (begin > t.count || begin > end) /* the last launch says which offsets are bad */
            atomicOr(&p.told->crowded, 1);
        else if (end > t.count) /* bad offsets have several */
            c.after.write(sum.accumulator(t, t.count - begin));
        else
            put(p.out + segment, sum.result(t, begin, end));
    }
};
#endif

#if !HAS_PARTS
/* The segment that began in an earlier tile, if it ends in this one and there is no last launch. 'own' is called for what
 * the tile has of it. */
template <class Own> inline void end_open(const groups_args &p, uint64 number, const tile_groups &g, Own own) {
    if (!p.handed || !g.open || !g.ends)
        return;
    const uint64 start = (uint64)g.start, end = (uint64)g.begin;
    if (number - (start >> p.tile_bits) > HANDED_OF_WARP)
        end_handed<BLOCK>(p, number, g.from - 1, start, end, own());
    else if (threadIdx.x < WARP)
        end_handed<WARP>(p, number, g.from - 1, start, end, own());
}
#endif

/* Finds the first segments of a tile and of the next one, before others have: half of the block each. A round takes as
 * long as a load, so each thread has two under way. The offsets may be bad. */
inline void find_segments(tile_memory &s, const groups_args &p, uint64 number) {
    enum { HALF = BLOCK / 2, WARPS_OF_HALF = HALF / WARP, LOADS = 2, LOOKS = HALF * LOADS };
    __shared__ uint32 found[2][WARPS];
    const uint32 which = threadIdx.x / HALF, me = threadIdx.x % HALF, *const of_half = found[0] + which * WARPS_OF_HALF;
    const uint64 position = (number + which) * TILE;
    uint64 low = 0, high = p.segments;
    uint32 turn = 0;
    for (uint64 left = p.segments; left; turn ^= 1) { /* high - low is no more */
        const uint64 step = left / (LOOKS + 1) + 1;
        uint32 before = 0;
#pragma unroll
        for (uint32 k = 0; k < LOADS; k++) {
            const uint64 at = low + (me + k * HALF + 1) * step - 1;
            const bool is_before = (uint64)offset_at(p, at < high ? at : 0) < position;
            before += __popc(__ballot_sync(ALL_LANES, at < high && is_before));
        }
        if (threadIdx.x % WARP == 0)
            found[turn][threadIdx.x / WARP] = before;
        __syncthreads();
        before = 0;
#pragma unroll
        for (uint32 w = 0; w < WARPS_OF_HALF; w++)
            before += of_half[turn * WARPS + w];
        high = before < LOOKS && low + (before + 1) * step - 1 < high ? low + (before + 1) * step - 1 : high;
        low += before * step;
        left = step - 1;
    }
    if (me == 0)
        s.segments[which] = number + which < p.tiles ? low : p.segments;
    __syncthreads();
}

/* What the launch before has found. */
inline uint32 hear_check(const groups_args &p) {
    wait_for_last();
    return p.told->refused;
}

inline void fold_segments_of(const groups_args &p, uint64 number) {
    __shared__ tile_bytes<PLACE> memory;
    __shared__ tile_memory s;
    __shared__ second_bytes seconds;
#if HAS_SUMS
    __shared__ tile_sums sums;
#else
    __shared__ tile_bytes<IS_IN_PLACE ? 16 : FOLD_RESULTS * sizeof(kept_t)> results;
#endif
#if HAS_SUMS
    const tile t = begin_tile(p, number, memory.bytes, seconds.bytes, memory.bytes);
    if (threadIdx.x == 0)
        sums.last = 0;
#else
    const tile t = begin_tile(p, number, memory.bytes, seconds.bytes, IS_IN_PLACE ? memory.bytes : results.bytes);
#endif
    if (threadIdx.x == 0)
        s.goes_on = 0;
    for (uint32 w = threadIdx.x; w < HEAD_WORDS; w += BLOCK)
        s.heads[w] = 0;
    const bool is_speculative = !p.checks_alone && number < p.speculative;
    uint32 refused = 0, wrong = 0;
    if (p.is_apart && threadIdx.x == 0)
        p.first[number] = 0;
    tile_groups g;
    if (p.checks_alone) {
        let_next_start();
        __shared__ counts_of_warps before[2];
        refused = check_by_block(p, number, before);
        if (!refused)
            g.look_up(p, before[0].all(), number + 1 < p.tiles ? before[1].all() : p.segments);
    } else if (is_speculative || p.is_apart) {
        let_next_start();
        find_segments(s, p, number);
        g.look_up(p, s.segments[0], s.segments[1]);
        if (p.is_apart)
            wrong = g.check(p);
    } else {
        wait_for_last(); /* offsets are checked */
        let_next_start();
        refused = load_ahead(&p.told->refused);
        g.look_up(p, p.first[number], number + 1 < p.tiles ? p.first[number + 1] : p.segments);
        __syncthreads();
    }
    if (refused) {
        wait_for_copies<0>();
        return;
    }
#if HAS_SUMS
    tile_ends ends(p, g);
#if HAS_PARTS
    if (threadIdx.x == 0 && !ends_stand(p))
        p.cuts[number].tell(g.from, (uint64)ends.first, (uint64)ends.behind);
#else
    g.find_open(t);
    if (threadIdx.x == 0 && !ends_stand(p) && !p.handed)
        p.cuts[number].tell(g.from, (uint64)g.start, (uint64)g.begin);
#endif
    wait_for_copies<0>();
    __syncthreads();
    if (wrong)
        atomicOr((unsigned long long *)&p.first[number], (unsigned long long)wrong);
    add_up_tile(sums, t);
#if HAS_PARTS
    if (threadIdx.x == 0) /* A segment that goes on behind the tile overwrites it later. */
        p.cuts[number].after.write(identity_as<acc_t>());
#endif
    __syncthreads();
    if (is_speculative && hear_check(p))
        return;
#if HAS_PARTS
    if (g.is_crowded())
        ends.search_all(sums, p, t, g, p.cuts[number]);
    else
        ends.put_all(sums, p, t, g, p.cuts[number]);
#else
    if (g.is_crowded())
        tile_ends::search_all(s, sums, p, t, g);
    else
        ends.put_all(s, sums, p, t, g);
    __syncthreads();
    keep_sums(s, sums, p, number, t, g);
    end_open(p, number, g, [&] { return sums.between(t, 0, g.open).accumulator(t, g.open); });
#endif
#else
    const uint32 heads = mark_heads(s, p, t, g);
    const index_t end = load(p.offsets + g.to); /* of the last segment that begins here */
    g.find_open(t);
    wait_for_copies<0>();
    __syncthreads();
    if (threadIdx.x == 0 && !ends_stand(p) && !p.handed)
        p.cuts[number].tell(g.from, (uint64)g.start, (uint64)g.begin);
    if (wrong)
        atomicOr((unsigned long long *)&p.first[number], (unsigned long long)wrong);
    acc_t whole = identity_as<acc_t>();
    const bool are_short = !IS_IN_PLACE && heads > FOLD_RESULTS;
    if (!are_short && (heads || g.open))
        whole = fold_tile(s, t, heads);
    if (is_speculative && hear_check(p))
        return;
    if (are_short)
        fold_short(s, p, t, g);
    __syncthreads();
    if (!are_short && !p.check_while_running && heads == g.to - g.from + s.has_end) {
        put_in_order(s, p, t, g, end);
    } else {
        put_segments(s, p, t, g, are_short);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        keep_ends(s, p, number, g, heads, whole);
    end_open(p, number, g, [&] { return heads ? *(const acc_t *)s.before : whole; });
#endif
}

inline void fold_all_segments(const groups_args &p) {
    if (is_given(p)) {
        wait_for_last();
        return;
    }
#if TAKES_TURNS /* 65536 blocks that find nothing to do take 40 us on an H200 */
    for (uint64 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
        fold_segments_of(p, number);
        __syncthreads();
    }
#else
    const uint32 number = ordinal_of_block();
    if (!SIZE_ON_DEVICE || number < p.tiles)
        fold_segments_of(p, number);
#endif
}

/* ---- the launch before ---- */

/* Checks the offsets, and finds the first segment of each tile from those of its neighbours. */
inline findings place_all(const groups_args &p) {
    findings f = {NOT_FOUND, NOT_FOUND};
    const auto most = (unsigned_of<sizeof(index_t)>::type)most_offset(p.n);
    const bool refuses_empty = p.refuses_empty != 0;
    go_through(p.offsets, p.segments, [&](bool are_there, uint64 g, const auto &offsets) {
        constexpr int count = SEGMENTS_IN<decltype(offsets)>;
        const auto from = offsets[0] >> p.tile_bits, to = offsets[count] >> p.tile_bits;
        bool is_bad = offsets[count] > most;
#pragma unroll
        for (int j = 0; j < count; j++)
            is_bad |= offsets[j] > offsets[j + 1] || (refuses_empty && offsets[j] == offsets[j + 1]);
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
    if (is_given(p)) {
        wait_for_last();
        if (blockIdx.x == 0 && threadIdx.x == 0)
            p.told->refused = REFUSED_BAD;
        return;
    }
    const bool are_few = p.segments && p.segments < p.tiles;
    findings f = {NOT_FOUND, NOT_FOUND};
    if (p.check_before)
        f = are_few ? look_at_all(p.offsets, p.segments, p.n) : place_all(p);
    if (!p.check_before || are_few)
        for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < p.tiles; k += gridDim.x * (uint64)BLOCK)
            p.first[k] = first_from(p.offsets, p.segments, k << p.tile_bits);
    wait_for_last(); /* the launch before clears the findings */
    if (p.check_before)
        tell(f, p.refuses_empty, &p.told->refused, &p.told->not_bad);
    else if (blockIdx.x == 0 && threadIdx.x == 0 &&
             (begin_of(p, p.segments) > p.n || load(p.offsets + p.segments - 1) > load(p.offsets + p.segments)))
        p.told->crowded = 1; /* the tiles look at where segments begin, not at where the last one ends */
}
