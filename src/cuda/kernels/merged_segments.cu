/* Reductions by segments that are short or empty on average, by merge path (Merrill and Garland, "Merge-based parallel
 * sparse matrix-vector multiplication", SC 2016). The ends of segments are items among the elements: an end stands
 * behind its segment's last element, so end g is item offsets[g + 1] + g. A tile has so many items whatever the lengths
 * are, and an empty segment costs one item. The launch before checks the offsets and finds each tile's first end. Each
 * thread goes over ITEMS neighbouring items; a segmented scan joins the parts of segments that cross threads. Results
 * wait in shared memory in the order of their segments, so they are stored side by side. Parts of segments that cross
 * tiles are kept, and the last launch folds them (fold_cuts.cu). */
enum {
    /* 28 or 20, so that threads' elements begin in different banks for most lengths. With 32, those of segments of one
     * would all lie in two banks. */
    ITEMS = MERGED_TILE / BLOCK,
    TILE = MERGED_TILE,
    WARPS = BLOCK / WARP,
    WIDTH = sizeof(in_t) > sizeof(acc_t) ? sizeof(in_t) : sizeof(acc_t),
    PLACE = TILE * WIDTH + 48 /* bytes: elements from a vector's beginning on, one to spare, and results likewise */
};
static_assert(ITEMS <= LANE_LIMIT && ITEMS <= WARP && ITEMS % 4 == 0);

struct merged_memory {
    alignas(16) uint8 ends[TILE]; /* 1: the item is an end */
    uint32 of_warp[WARPS];        /* ends */
    join_memory joins;
    alignas(16) uint8 place[PLACE];
    alignas(16) uint8 seconds[HAS_SECOND ? TILE * sizeof(in_t) + 48 : 16];
};

/* Items [number * TILE, number * TILE + count): the ends of segments [from, to) and the elements from 'first' on. */
struct merged_tile {
    uint64 from, first;
    uint32 ends, elements;
    uint32 refused; /* then nothing else is right */

    /* All loads are under way together. */
    merged_tile(const groups_args &p, uint64 number) {
        const uint64 begin = number * TILE, next = number + 1 < p.tiles ? number + 1 : number;
        refused = load_ahead(&p.told->refused);
        from = load_ahead(p.first + number);
        const uint64 after = load_ahead(p.first + next), base = begin_of(p, 0);
        const uint64 all = begin_of(p, p.segments) - base + p.segments;
        const uint32 count = all <= begin ? 0 : all - begin < TILE ? (uint32)(all - begin) : (uint32)TILE;
        ends = (uint32)((next > number ? after : p.segments) - from);
        elements = count - ends;
        first = base + begin - from;
    }
    /* Whether its first end is that of a segment that has elements in an earlier tile. */
    bool is_open(const groups_args &p) const {
        return ends && begin_of(p, from) < first;
    }
};

/* Starts to copy the elements of an array; returns the bytes before the first of them. Whole vectors are copied where
 * the array has them, and what is left at its ends, less than three vectors, element by element. */
inline uint32 fetch(const in_t *array, uint64 n, uint8 *to, const merged_tile &t) {
    const in_t *from = array + t.first;
    const uint32 before = (uint64)from & 15;
    if (!is_aligned(from)) {
        for (uint32 e = threadIdx.x; e < t.elements; e += BLOCK)
            ((in_t *)to)[e] = load(from + e);
        return 0;
    }
    constexpr uint32 vector = 16 / sizeof(in_t);
    const in_t *low = from - before / sizeof(in_t);
    const uint64 inside = (uint64)(array + n - low) / vector; /* whole vectors from low on */
    const uint32 count = before / (uint32)sizeof(in_t) + t.elements, vectors = (count + vector - 1) / vector;
    const uint32 begin = low < array, end = inside < vectors ? (uint32)inside : vectors;
#pragma unroll 4
    for (uint32 v = begin + threadIdx.x; v < end; v += BLOCK)
#if TALLY_ARCHITECTURE >= 80
        copy_ahead<16>(to + v * 16, low + v * vector);
    end_copies_ahead();
#else
        *(uint4 *)(to + v * 16) = *(const uint4 *)(low + v * vector);
#endif
    const uint32 head = begin * vector, rest = (begin < end ? end : begin) * vector;
    for (uint32 k = threadIdx.x; k < head || k - head + rest < count; k += BLOCK) {
        const uint32 e = k < head ? k : k - head + rest;
        if (low + e >= array && e < count)
            ((in_t *)to)[e] = low[e];
    }
    return before;
}

/* Marks the ends. Several offsets are on their way at a time. */
inline void mark_ends(merged_memory &s, const groups_args &p, const merged_tile &t) {
    enum { AT_A_TIME = 8 };
    const index_t *offsets = p.offsets + t.from + 1;
    const uint32 first = (uint32)t.first;
    uint8 *const ends = stays_in_shared(s.ends);
    if (!is_aligned(offsets)) {
        for (uint32 k = threadIdx.x; k < t.ends; k += BLOCK)
            ends[(uint32)load(offsets + k) - first + k] = 1;
        return;
    }
    auto load_some = [&](uint32 k, index_t *few) {
        const index_t *from = offsets + k;
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            if (k + j * BLOCK < t.ends)
                few[j] = from[j * BLOCK];
    };
    auto mark_some = [&](uint32 k, const index_t *few) {
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            if (k + j * BLOCK < t.ends)
                ends[(uint32)few[j] - first + k + j * BLOCK] = 1;
    };
#pragma unroll 1
    for (uint32 k = threadIdx.x, done = 0; done < t.ends; done += 2 * AT_A_TIME * BLOCK, k += 2 * AT_A_TIME * BLOCK) {
        index_t few[AT_A_TIME], more[AT_A_TIME];
        const bool are_more = t.ends - done > AT_A_TIME * BLOCK;
        load_some(k, few);
        if (are_more)
            load_some(k + AT_A_TIME * BLOCK, more);
        mark_some(k, few);
        if (are_more)
            mark_some(k + AT_A_TIME * BLOCK, more);
    }
}

/* The ends among a thread's items, a bit each. */
inline uint32 ends_of_thread(const merged_memory &s) {
    const uint32 *bytes = (const uint32 *)(s.ends + threadIdx.x * ITEMS);
    uint32 bits = 0;
#pragma unroll
    for (int w = ITEMS / 4 - 1; w >= 0; w--) /* the product has the bytes' bits side by side at its top */
        bits = __funnelshift_l(bytes[w] * 0x10204080, bits, 4);
    return bits;
}

/* The ends before the thread's. */
inline uint32 rank_ends(merged_memory &s, uint32 mine) {
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    uint32 sum = mine, before = 0;
#pragma unroll
    for (uint32 d = 1; d < WARP; d *= 2) {
        const uint32 left = from_below(sum, d);
        if (lane >= d)
            sum += left;
    }
    if (lane == WARP - 1)
        s.of_warp[warp] = sum;
    __syncthreads();
#pragma unroll
    for (uint32 w = 0; w < WARPS - 1; w++)
        before += w < warp ? s.of_warp[w] : 0;
    return before + sum - mine;
}

extern "C" __global__ void __launch_bounds__(BLOCK, MERGED_BLOCKS) fold_merged(groups_args p) {
    __shared__ merged_memory s;
    for (uint32 k = threadIdx.x; k < TILE / 16; k += BLOCK)
        ((uint4 *)s.ends)[k] = uint4();
    __syncthreads();
    wait_for_last();
    let_next_start();
    const merged_tile t(p, blockIdx.x);
    if (t.refused)
        return;
    const in_t *x = (const in_t *)(s.place + fetch(p.x, p.n, s.place, t));
    const in_t *y = HAS_SECOND ? (const in_t *)(s.seconds + fetch(p.y, p.n, s.seconds, t)) : x;
    acc_t *results = (acc_t *)(s.place + ((uint8 *)(x + t.elements + 1) - s.place + 15) / 16 * 16);
    mark_ends(s, p, t);
    const bool is_open = t.is_open(p);
#if TALLY_ARCHITECTURE >= 80
    wait_for_copies_ahead<0>();
#endif
    __syncthreads();

    const uint32 ends = ends_of_thread(s), count = __popc(ends), rank = rank_ends(s, count);
    const uint32 begin = threadIdx.x * ITEMS, left = t.elements + t.ends - begin;
    const uint32 items = t.elements + t.ends <= begin ? 0 : left < ITEMS ? (1u << left) - 1 : ~0u;
    const uint32 elements = items & ~ends;
    const uint32 place = begin - rank < t.elements ? begin - rank : t.elements;
    const in_t *from = stays_in_shared(x + place);
    const int64 partner = y - x; /* an element's */
    acc_t *to = stays_in_shared(results + rank);
    uint64 index = t.first + (begin - rank);
    running<lane_t> run;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) { /* without a branch, so several loads are under way */
        const bool is_end = ends >> k & 1;
        const in_t item = *from, second = HAS_SECOND ? from[partner] : item; /* behind the last is one to spare */
        if (is_end)
            *to++ = widen(run.sum());
        running<lane_t> next = run;
        next.append(value_of(item), HAS_SECOND ? value_of(second) : value_t(0), index);
        run = is_end ? running<lane_t>() : next;
        if (elements >> k & 1) {
            from++;
            index++;
        }
    }
    const joined j = join(s.joins, count != 0, widen(run.sum()));
    if (count)
        results[rank] = combine(j.before, results[rank]);
    if (threadIdx.x == BLOCK - 1)
        p.cuts[blockIdx.x].after.write(j.since());
    __syncthreads();
    if (threadIdx.x == 0 && is_open)
        p.cuts[blockIdx.x].before.write(results[0]);
    auto put_all = [&](auto put_one) {
#pragma unroll 4
        for (uint32 k = threadIdx.x; k < t.ends; k += BLOCK) {
            const uint64 g = t.from + k, begin = NEEDS_START ? begin_of(p, g) : 0;
            if (k || !is_open)
                put_one(p.out + g, lower(results[k], NEEDS_START ? begin_of(p, g + 1) - begin : 0, begin));
        }
    };
    if (is_aligned(p.out))
        put_all([](result_t *to, result_t result) { *to = result; });
    else
        put_all([](result_t *to, result_t result) { store_slowly(to, result); });
}

/* ---- the launch before ---- */

/* Checks the offsets, and finds the first end of each tile: the items of segment g are those from its begin + g to its
 * end + g. Hardly any segment has the first item of a tile. 'position' has room for the number of items. */
template <class position> inline findings place_all(const groups_args &p) {
    findings f = {NOT_FOUND, NOT_FOUND};
    const auto most = (unsigned_of<sizeof(index_t)>::type)most_offset(p.n);
    const bool refuses_empty = p.refuses_empty;
    const position base = (position)begin_of(p, 0);
    go_through(p.offsets, p.segments, [&](bool is_there, uint64 g, auto begin, auto end) {
        const position from = (position)begin - base + (position)g, to = (position)end - base + (position)g;
        const position last = to / TILE; /* the tile of the end */
        const bool is_bad = begin > end || end > most, is_empty = refuses_empty && begin == end;
        if (!__ballot_sync(ALL_LANES, is_there && (last * TILE >= from || is_bad || is_empty)))
            return;
        if (is_there && is_bad)
            f.bad = g < f.bad ? g : f.bad;
        else if (is_there && is_empty)
            f.empty = g < f.empty ? g : f.empty;
        const uint64 first = (from + (position)(TILE - 1)) / TILE, behind = is_there ? last + (uint64)1 : 0;
        note_first(p.first, g, first, behind < p.tiles ? behind : p.tiles);
    });
    if (blockIdx.x == 0 && threadIdx.x < WARP) { /* tiles behind the last end */
        const uint64 all = begin_of(p, p.segments) - begin_of(p, 0) + p.segments;
        note_first(p.first, p.segments, threadIdx.x == 0 ? (all + TILE - 1) / TILE : p.tiles, p.tiles);
        if (threadIdx.x == 0 && begin_of(p, p.segments) > p.n)
            f.bad = p.segments < f.bad ? p.segments : f.bad;
    }
    return f;
}

extern "C" __global__ void __launch_bounds__(BLOCK) place_ends(groups_args p) {
    let_next_start(); /* the launch before only clears, and it has waited for all before it */
    wait_for_last();
    tell((p.n + p.segments + TILE) >> 32 ? place_all<uint64>(p) : place_all<uint32>(p), p.refuses_empty, &p.told->refused,
         &p.told->not_bad);
}

/* ---- the launch behind, fold_cuts.cu ---- */

enum { ENDS_STAND = 1 }; /* the launch before the folds has found them */

/* The segment that began in an earlier tile and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the tile that it began in */
};

inline bool find_ending(const groups_args &p, uint64 number, ending *e) {
    const uint64 from = p.first[number], base = begin_of(p, 0);
    if (from == (number + 1 < p.tiles ? p.first[number + 1] : p.segments) || from == p.segments) /* or bad */
        return false;
    e->group = from;
    e->start = begin_of(p, from);
    e->count = begin_of(p, from + 1) - e->start;
    e->first = (e->start - base + from) / TILE;
    return e->start - base + from < number * TILE;
}

inline void finish_crowds(const groups_args &) {}
