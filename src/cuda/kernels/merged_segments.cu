/* Reductions by segments that are short or empty on average, by merge path (Merrill and Garland, "Merge-based parallel
 * sparse matrix-vector multiplication", SC 2016). The ends of segments are items among the elements: an end stands
 * behind its segment's last element, so end g is item offsets[g + 1] + g. A tile has so many items whatever the lengths
 * are, and an empty segment costs one item. The launch before checks the offsets and finds each tile's first end. Each
 * thread goes over ITEMS neighbouring items; a segmented scan joins the parts of segments that cross threads. Results
 * wait in shared memory in the order of their segments, so they are stored side by side. Parts of segments that cross
 * tiles are kept, and the last launch folds them (fold_cuts.cu). */
enum {
    ITEMS = 16,
    TILE = BLOCK * ITEMS,
    WARPS = BLOCK / WARP,
    WIDTH = sizeof(in_t) > sizeof(acc_t) ? sizeof(in_t) : sizeof(acc_t),
    PLACE = TILE * WIDTH + 32 /* bytes: elements from a vector's beginning on, and behind them results likewise */
};
static_assert(TILE == MERGED_TILE && ITEMS <= LANE_LIMIT);

struct merged_memory {
    alignas(16) uint8 ends[TILE]; /* 1: the item is an end */
    uint32 of_warp[WARPS];        /* ends */
    join_memory joins;
    alignas(16) uint8 place[PLACE];
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

/* Starts to copy the elements; returns the bytes before the first of them. */
inline uint32 fetch(const groups_args &p, uint8 *to, const merged_tile &t) {
    const in_t *from = p.x + t.first;
    const uint32 before = (uint64)from & 15;
    if (!is_aligned(from)) {
        for (uint32 e = threadIdx.x; e < t.elements; e += BLOCK)
            ((in_t *)to)[e] = load(from + e);
        return 0;
    }
    const in_t *vectors = from - before / sizeof(in_t), *end = p.x + p.n;
    constexpr uint32 vector = 16 / sizeof(in_t);
    for (uint32 k = threadIdx.x * vector; k < before / sizeof(in_t) + t.elements; k += BLOCK * vector) {
#if TALLY_ARCHITECTURE >= 80
        if (vectors + k >= p.x && vectors + k + vector <= end) {
            copy_ahead<16>(to + k * sizeof(in_t), vectors + k);
            continue;
        }
#endif
#pragma unroll 1
        for (uint32 j = k; j < k + vector; j++)
            if (vectors + j >= p.x && vectors + j < end)
                ((in_t *)to)[j] = vectors[j];
    }
#if TALLY_ARCHITECTURE >= 80
    end_copies_ahead();
#endif
    return before;
}

/* Marks the ends. Several offsets are on their way at a time. */
inline void mark_ends(merged_memory &s, const groups_args &p, const merged_tile &t) {
    enum { AT_A_TIME = 8 };
    const index_t *offsets = p.offsets + t.from + 1;
    auto mark = [&](uint32 k, index_t offset) {
        if (k < t.ends)
            s.ends[(uint32)((uint64)offset - t.first) + k] = 1;
    };
    if (!is_aligned(offsets)) {
        for (uint32 k = threadIdx.x; k < t.ends; k += BLOCK)
            mark(k, load(offsets + k));
        return;
    }
#pragma unroll 1
    for (uint32 k = threadIdx.x; k < t.ends; k += AT_A_TIME * BLOCK) {
        index_t few[AT_A_TIME];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            few[j] = offsets[k + j * BLOCK < t.ends ? k + j * BLOCK : k];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            mark(k + j * BLOCK, few[j]);
    }
}

/* The ends among a thread's items, a byte each. */
struct ends_of_thread {
    uint32 word[ITEMS / 4];

    ends_of_thread(const merged_memory &s) {
        const uint4 bytes = *(const uint4 *)(s.ends + threadIdx.x * ITEMS);
        memcpy(word, &bytes, 16);
    }
    bool at(int k) const {
        return word[k / 4] >> k % 4 * 8 & 1;
    }
    uint32 count() const {
        uint32 sum = 0;
#pragma unroll
        for (int w = 0; w < ITEMS / 4; w++)
            sum += __popc(word[w]);
        return sum;
    }
};

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
    *(uint4 *)(s.ends + threadIdx.x * ITEMS) = uint4();
    __syncthreads();
    wait_for_last();
    let_next_start();
    const merged_tile t(p, blockIdx.x);
    if (t.refused)
        return;
    const in_t *x = (const in_t *)(s.place + fetch(p, s.place, t));
    acc_t *results = (acc_t *)(s.place + ((uint8 *)(x + t.elements) - s.place + 15) / 16 * 16);
    mark_ends(s, p, t);
    const bool is_open = t.is_open(p);
#if TALLY_ARCHITECTURE >= 80
    wait_for_copies_ahead<0>();
#endif
    __syncthreads();

    const ends_of_thread ends(s);
    const uint32 count = ends.count(), rank = rank_ends(s, count);
    uint32 e = threadIdx.x * ITEMS - rank, r = rank;
    running<lane_t> run;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) { /* without a branch, so several loads are under way */
        const bool is_end = ends.at(k);
        in_t item = in_t();
        if (e < t.elements) /* behind them are results */
            item = x[e];
        if (is_end)
            results[r] = widen(run.sum());
        running<lane_t> next = run;
        next.append(value_of(item), value_t(0), t.first + e);
        run = is_end ? running<lane_t>() : next;
        r += is_end;
        e += !is_end;
    }
    const joined j = join(s.joins, count != 0, widen(run.sum()));
    if (count)
        results[rank] = combine(j.before, results[rank]);
    if (threadIdx.x == BLOCK - 1)
        p.cuts[blockIdx.x].after.write(j.since());
    __syncthreads();
    for (uint32 k = threadIdx.x; k < t.ends; k += BLOCK) {
        const uint64 g = t.from + k, begin = NEEDS_START ? begin_of(p, g) : 0;
        if (k || !is_open)
            put(p.out + g, lower(results[k], NEEDS_START ? begin_of(p, g + 1) - begin : 0, begin));
        else
            p.cuts[blockIdx.x].before.write(results[0]);
    }
}

/* ---- the launch before ---- */

/* Checks the offsets, and finds the first end of each tile: behind 'begin' items, with those before segment g, a tile
 * begins with end g at the earliest. */
template <bool Aligned> inline findings place_all(const groups_args &p) {
    enum { AT_A_TIME = 4 };
    findings f = {NOT_FOUND, NOT_FOUND};
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    const uint64 base = begin_of(p, 0);
    for (uint64 done = 0; done <= p.segments; done += AT_A_TIME * stride) {
        uint64 begin[AT_A_TIME], end[AT_A_TIME];
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++) {
            const uint64 g = done + k * stride + me;
            const index_t *from = p.offsets + (g < p.segments ? g : p.segments);
            begin[k] = (uint64)(Aligned ? *from : load_slowly(from));
            end[k] = g < p.segments ? (uint64)(Aligned ? from[1] : load_slowly(from + 1)) : begin[k];
        }
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++) {
            const uint64 g = done + k * stride + me;
            if (g < p.segments)
                look_at(&f, g, (index_t)begin[k], (index_t)end[k], p.n);
            const uint64 from = (begin[k] - base + g + TILE - 1) / TILE;
            const uint64 to = g < p.segments ? (end[k] - base + g + TILE) / TILE : p.tiles;
            note_first(p.first, g, from, g > p.segments ? 0 : to < p.tiles ? to : p.tiles);
        }
    }
    return f;
}

extern "C" __global__ void __launch_bounds__(BLOCK) place_ends(groups_args p) {
    let_next_start(); /* the launch before only clears, and it has waited for all before it */
    wait_for_last();
    tell(is_aligned(p.offsets) ? place_all<true>(p) : place_all<false>(p), p.refuses_empty, &p.told->refused,
         &p.told->not_bad);
}
