/* Reductions by segments that are short or empty on average, by merge path (Merrill and Garland, "Merge-based parallel
 * sparse matrix-vector multiplication", SC 2016). The ends of segments are items among the elements: an end stands
 * behind its segment's last element, so end g is item offsets[g + 1] + g. A tile has so many items whatever the lengths
 * are, and an empty segment costs one item. The launch before checks the offsets, finds each tile's first end, and sets
 * a bit for each item that is an end, so nobody reads the offsets again. Each thread goes over ITEMS neighbouring items;
 * a segmented scan joins the parts of segments that cross threads. Results wait in shared memory in the order of their
 * segments, so they are stored side by side. Parts of segments that cross tiles are kept, and the last launch folds them
 * (fold_cuts.cu). */
template <class A, class B> union either {
    A a;
    B b;
};
enum {
    /* 28 or 20. Then the threads' elements begin in different banks for most lengths. With 32, elements of segments of
     * one would all lie in two banks. */
    ITEMS = MERGED_TILE / BLOCK,
    TILE = MERGED_TILE,
    WARPS = BLOCK / WARP,
    /* of a result that waits: as a lane has it, or lowered */
    SLOT = RESULT_KEEPS ? sizeof(tile_lane) : sizeof(either<tile_lane, result_t>),
    WIDTH = sizeof(in_t) > SLOT ? sizeof(in_t) : SLOT,
    PLACE = TILE * WIDTH + 48 /* bytes: elements from a vector's beginning on, one to spare, and results likewise */
};
static_assert(ITEMS <= LANE_LIMIT && ITEMS < WARP && ITEMS % 4 == 0);

struct merged_memory {
    uint64 arrived;        /* the barrier of copies in bulk */
    uint32 of_warp[WARPS]; /* ends */
    uint32 done[RESULT_KEEPS ? 1 : TILE / WARP]; /* results that are lowered, a bit each */
    uint16 ends[NEEDS_START ? TILE : 1]; /* the elements before each end */
    join_memory joins;
    alignas(16) uint8 place[PLACE];
    alignas(16) uint8 seconds[HAS_SECOND ? TILE * sizeof(in_t) + 48 : 16];
};

/* What place_ends tells fold_merged behind the first ends of all tiles: the number of segments, the first element, and
 * the number of items. */
enum { NEXT_OF_LAST, FIRST_OF_ALL, ITEMS_OF_ALL };

/* Items [number * TILE, number * TILE + count): the ends of segments [from, to) and the elements from 'first' on. */
struct merged_tile {
    uint64 from, first;
    uint32 ends, elements;
    uint32 low, high; /* the thread's words of the bits */
    uint32 refused;   /* then nothing else is right */
    bool is_open;     /* its first end is that of a segment that has elements in an earlier tile */

    /* All loads are under way together. */
    merged_tile(const groups_args &p, uint64 number) {
        const uint64 begin = number * TILE;
        const uint32 *words = p.bits + number * (TILE / WARP), *mine = words + threadIdx.x * ITEMS / WARP;
        refused = load_ahead(&p.told->refused);
        from = load_ahead(p.first + number);
        low = load_ahead(mine);
        high = load_ahead(mine + 1);
        const uint32 before = load_ahead(words - (number != 0));
        const uint64 to = load_ahead(p.first + number + 1);
        const uint64 base = load_ahead(p.first + p.tiles + FIRST_OF_ALL);
        const uint64 all = load_ahead(p.first + p.tiles + ITEMS_OF_ALL);
        const uint32 count = all <= begin ? 0 : all - begin < TILE ? (uint32)(all - begin) : (uint32)TILE;
        ends = (uint32)(to - from);
        elements = count - ends;
        first = base + begin - from;
        is_open = ends && number && !(before >> (WARP - 1)); /* the item before is an element */
    }
    /* The ends among a thread's items, a bit each. What lies behind the last of all counts as ends, too. */
    uint32 ends_of_thread() const {
        const uint32 begin = threadIdx.x * ITEMS, count = elements + ends, left = count > begin ? count - begin : 0;
        const uint32 bits = __funnelshift_r(low, high, begin % WARP);
        return (bits | (left < ITEMS ? ~0u << left : 0)) & ((1u << ITEMS) - 1);
    }
};

/* Starts to copy the elements of an array; returns the bytes before the first of them. Whole vectors are copied where
 * the array has them, and what is left at its ends, less than three vectors, element by element. */
inline uint32 fetch(merged_memory &s, const in_t *array, uint64 n, uint8 *to, const merged_tile &t) {
    const in_t *from = array + t.first;
    const uint32 before = (uint64)from & 15;
    if (!is_aligned(from) || !t.elements) { /* behind the last segment 'from' may be far behind the array */
#if TALLY_ARCHITECTURE >= 90
        if (threadIdx.x == 0)
            arrive_at_mbarrier(&s.arrived);
#endif
        for (uint32 e = threadIdx.x; e < t.elements; e += BLOCK)
            ((in_t *)to)[e] = load(from + e);
        return 0;
    }
    constexpr uint32 vector = 16 / sizeof(in_t);
    const in_t *low = from - before / sizeof(in_t);
    const uint64 inside = (uint64)(array + n - low) / vector; /* whole vectors from low on */
    const uint32 count = before / (uint32)sizeof(in_t) + t.elements, vectors = (count + vector - 1) / vector;
    const uint32 begin = low < array, end = inside < vectors ? (uint32)inside : vectors;
#if TALLY_ARCHITECTURE >= 90
    if (threadIdx.x == 0) {
        const uint32 bytes = begin < end ? (end - begin) * 16 : 0;
        arrive_and_expect(&s.arrived, bytes);
        if (bytes)
            copy_in(to + begin * 16, low + begin * vector, bytes, &s.arrived);
    }
#else
#pragma unroll 4
    for (uint32 v = begin + threadIdx.x; v < end; v += BLOCK)
#if TALLY_ARCHITECTURE >= 80
        copy_ahead<16>(to + v * 16, low + v * vector);
    end_copies_ahead();
#else
        *(uint4 *)(to + v * 16) = *(const uint4 *)(low + v * vector);
#endif
#endif
    const uint32 head = begin * vector, rest = (begin < end ? end : begin) * vector;
    for (uint32 k = threadIdx.x; k < head || k - head + rest < count; k += BLOCK) {
        const uint32 e = k < head ? k : k - head + rest;
        if (low + e >= array && e < count)
            ((in_t *)to)[e] = low[e];
    }
    return before;
}
inline void wait_for_elements(merged_memory &s) {
#if TALLY_ARCHITECTURE >= 90
    while (!has_passed(&s.arrived, 0))
        ;
#elif TALLY_ARCHITECTURE >= 80
    wait_for_copies_ahead<0>();
#endif
    __syncthreads();
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

/* The result of the tile's segment k, which begins in it, of an accumulator or of what a lane has. */
template <class A> inline result_t result_of(const merged_memory &s, const merged_tile &t, uint32 k, const A &acc) {
    const uint32 end = NEEDS_START ? s.ends[k] : 0, begin = NEEDS_START && k ? s.ends[k - 1] : 0;
    if constexpr (ARE_SAME<A, acc_t>)
        return lower(acc, end - begin, t.first + begin);
    else if constexpr (LOWERS_CHEAPLY)
        return lower(acc, end - begin, index_from(t.first, begin));
    else
        return lower(widen_from(t.first, acc), end - begin, t.first + begin);
}

extern "C" __global__ void __launch_bounds__(BLOCK, MERGED_BLOCKS) fold_merged(groups_args p) {
    __shared__ merged_memory s;
#if TALLY_ARCHITECTURE >= 90
    if (threadIdx.x == 0) {
        init_mbarrier(&s.arrived, HAS_SECOND ? 2 : 1);
        show_mbarriers();
    }
#endif
    wait_for_last();
    let_next_start();
    const merged_tile t(p, blockIdx.x);
    if (t.refused)
        return;
    const in_t *x = (const in_t *)(s.place + fetch(s, p.x, p.n, s.place, t));
    const in_t *y = HAS_SECOND ? (const in_t *)(s.seconds + fetch(s, p.y, p.n, s.seconds, t)) : x;
    uint8 *const results = s.place + ((uint8 *)(x + t.elements + 1) - s.place + 15) / 16 * 16;
    for (uint32 w = threadIdx.x; w < TILE / WARP && !RESULT_KEEPS; w += BLOCK)
        s.done[w] = 0;
    const uint32 ends = t.ends_of_thread(), count = __popc(ends), rank = rank_ends(s, count);
    wait_for_elements(s);

    const uint32 place = threadIdx.x * ITEMS - rank;
    const in_t *from = stays_in_shared(x + place);
    const int64 partner = y - x; /* an element's */
    uint8 *to = stays_in_shared(results + rank * SLOT);
    uint16 *end = stays_in_shared(s.ends + (NEEDS_START ? rank : 0));
    uint32 at = place;
    uint64 index = index_from(t.first, place);
    running<tile_lane> run;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) { /* without a branch, so several loads are under way */
        const in_t item = *from, second = HAS_SECOND ? from[partner] : item; /* behind the last is one to spare */
        running<tile_lane> next = run;
        next.append(value_of(item), HAS_SECOND ? value_of(second) : value_t(0), index);
        if (ends >> k & 1) {
            *(tile_lane *)to = run.sum();
            to += SLOT;
            if (NEEDS_START)
                *end++ = (uint16)at;
            run = running<tile_lane>();
        } else {
            run = next;
            from++;
            at++;
            index++;
        }
    }
    const joined j = join(s.joins, count != 0, widen_from(t.first, run.sum()));
    const bool has_first = count && rank < t.ends;
    if (has_first) { /* of the thread's ends */
        uint8 *const slot = results + rank * SLOT;
        const acc_t first = combine(j.before, widen_from(t.first, *(tile_lane *)slot));
        if (!rank && t.is_open)
            p.cuts[blockIdx.x].before.write(first);
        if constexpr (RESULT_KEEPS) {
            *(tile_lane *)slot = lane_from<tile_lane>(lower(first, 0, 0));
        } else {
            *(result_t *)slot = result_of(s, t, rank, first);
            atomicOr(&s.done[rank / WARP], 1u << rank % WARP);
        }
    }
    if (threadIdx.x == BLOCK - 1)
        p.cuts[blockIdx.x].after.write(j.since());
    __syncthreads();
    auto put_all = [&](auto put_one) {
        uint32 k = threadIdx.x + (threadIdx.x == 0 && t.is_open ? BLOCK : 0);
        uint32 left = t.ends > k ? (t.ends - k + BLOCK - 1) / BLOCK : 0;
        const uint8 *from = stays_in_shared(results + k * SLOT);
        result_t *to = p.out + t.from + k;
#pragma unroll LOWERS_CHEAPLY ? 4 : 2
        for (; left; left--, k += BLOCK, from += BLOCK * SLOT, to += BLOCK)
            if (!RESULT_KEEPS && s.done[k / WARP] >> k % WARP & 1)
                put_one(to, *(const result_t *)from);
            else
                put_one(to, result_of(s, t, k, *(const tile_lane *)from));
    };
    if (is_aligned(p.out))
        put_all([](result_t *to, result_t result) { *to = result; });
    else
        put_all([](result_t *to, result_t result) { store_slowly(to, result); });
}

/* ---- the launch before ---- */

/* Sets the bits of a lane's ends, whose items rise over all lanes of a warp. Words are zero before. Lanes whose ends lie
 * in the same word join them, and the first of them writes it. */
template <class position, int Count>
inline void mark_ends(uint32 *words, bool are_there, const position (&end)[Count]) {
    const position first = are_there ? end[0] / WARP : ~(position)0;
    position last = first;
    uint32 bits = 1u << end[0] % WARP, behind = 0; /* of the first word, and of the last, if it is another one */
    bool are_more = false;
#pragma unroll
    for (int k = 1; k < Count; k++) {
        const position word = end[k] / WARP;
        const uint32 bit = 1u << end[k] % WARP;
        const bool is_next = word != last;
        if (is_next && are_more && are_there)
            atomicOr(words + last, behind);
        are_more |= is_next;
        behind = is_next ? bit : behind | bit;
        bits |= are_more ? 0 : bit;
        last = word;
    }
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const position word = from_above(first, d);
        const uint32 others = from_above(bits, d);
        bits |= word == first ? others : 0;
    }
    const uint32 lane = threadIdx.x % WARP, of_next = from_above(bits, 1);
    const position next = from_above(first, 1), before = from_below(last, 1);
    if (are_more && are_there)
        atomicOr(words + last, behind | (lane < WARP - 1 && next == last ? of_next : 0));
    if (are_there && (lane == 0 || before != first))
        atomicOr(words + first, bits);
}

/* Checks the offsets, finds the first end of each tile, and marks the ends: the items of segment g are those from its
 * begin + g to its end + g. Hardly any lane's have the first items of several tiles. 'position' has room for the number
 * of items. */
template <class position> inline findings place_all(const groups_args &p) {
    findings f = {NOT_FOUND, NOT_FOUND};
    const auto most = (unsigned_of<sizeof(index_t)>::type)most_offset(p.n);
    const bool refuses_empty = p.refuses_empty != 0;
    const auto first = (unsigned_of<sizeof(index_t)>::type)begin_of(p, 0);
    const position base = (position)first;
    go_through(p.offsets, p.segments, [&](bool are_there, uint64 g, const auto &offsets) {
        constexpr int count = SEGMENTS_IN<decltype(offsets)>;
        const position from = (position)offsets[0] - base + (position)g;
        position end[count];
        bool is_bad = offsets[count] > most || offsets[0] < first; /* then nothing may be written */
#pragma unroll
        for (int j = 0; j < count; j++) {
            is_bad |= offsets[j] > offsets[j + 1] || (refuses_empty && offsets[j] == offsets[j + 1]);
            end[j] = (position)offsets[j + 1] - base + (position)(g + j);
        }
        const position tile = end[count - 1] / TILE, at = tile * TILE; /* the last that begins here or before */
        const bool are_many = at >= from + TILE;
        if (are_there && !is_bad && !are_many && at >= from) {
            uint32 before = 0;
#pragma unroll
            for (int j = 0; j < count; j++)
                before += end[j] < at;
            p.first[tile] = g + before;
        }
        if (__ballot_sync(ALL_LANES, are_there && (is_bad || are_many))) {
#pragma unroll 1
            for (int j = 0; j < count; j++) {
                const uint64 begin = begin_of(p, g + j), end = begin_of(p, g + j + 1);
                if (are_there)
                    look_at(&f, g + j, (index_t)begin, (index_t)end, p.n);
                const uint64 from = (begin - base + g + j + TILE - 1) / TILE;
                const uint64 behind = are_there ? (end - base + g + j) / TILE + 1 : 0;
                note_first(p.first, g + j, from, behind < p.tiles ? behind : p.tiles);
            }
            if (__ballot_sync(ALL_LANES, are_there && is_bad))
                return;
        }
        mark_ends(p.bits, are_there, end);
    });
    if (blockIdx.x == 0 && threadIdx.x < WARP) { /* tiles behind the last end */
        const uint64 all = begin_of(p, p.segments) - begin_of(p, 0) + p.segments;
        note_first(p.first, p.segments, threadIdx.x == 0 ? (all + TILE - 1) / TILE : p.tiles, p.tiles);
        if (threadIdx.x == 0 && begin_of(p, p.segments) > p.n)
            f.bad = p.segments < f.bad ? p.segments : f.bad;
        if (threadIdx.x == 0) {
            p.first[p.tiles + NEXT_OF_LAST] = p.segments;
            p.first[p.tiles + FIRST_OF_ALL] = begin_of(p, 0);
            p.first[p.tiles + ITEMS_OF_ALL] = all;
        }
    }
    return f;
}

extern "C" __global__ void __launch_bounds__(BLOCK) place_ends(groups_args p) {
    let_next_start(); /* the launch before only clears, and it has waited for all before it */
    wait_for_last();
    tell((p.n + p.segments + TILE) >> 32 ? place_all<uint64>(p) : place_all<uint32>(p), p.refuses_empty,
         &p.told->refused, &p.told->not_bad);
}

/* ---- the launch behind, fold_cuts.cu ---- */

/* The segment that began in an earlier tile and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the tile that it began in */
};

inline bool find_ending(const groups_args &p, uint64 number, ending *e) {
    const uint64 from = p.first[number], base = begin_of(p, 0);
    if (from == p.first[number + 1] || from >= p.segments) /* or, if offsets are bad, anything */
        return false;
    e->group = from;
    e->start = begin_of(p, from);
    e->count = begin_of(p, from + 1) - e->start;
    e->first = (e->start - base + from) / TILE;
    return e->start - base + from < number * TILE;
}

inline void finish_crowds(const groups_args &) {}
