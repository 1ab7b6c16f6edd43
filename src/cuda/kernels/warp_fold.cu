/* The launch that folds segments by warps (warp_segments.cu), with the heads that warp_heads.cu finds. */

/* Folds the lanes' accumulators in order; the first lane has the result. */
inline acc_t fold_lanes(acc_t acc) {
    const uint32 lane = hidden_lane();
#pragma unroll
    for (uint32 d = 1; d < WARP; d *= 2) {
        const acc_t next = from_above(acc, d);
        if ((lane & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return acc;
}

/* The segment that is open where a chunk's next tile begins. */
struct open_segment {
    acc_t acc;    /* lane 0: of its elements in the chunk */
    acc_t spread; /* each lane: of elements in tiles that were wholly the segment's */
    bool is_spread;
    bool began_here; /* in the chunk */

    void begin() {
        acc = spread = identity_as<acc_t>();
        is_spread = began_here = false;
    }
    void gather() {
        if (!is_spread)
            return;
        acc = combine(acc, fold_lanes(spread));
        spread = identity_as<acc_t>();
        is_spread = false;
    }
};

/* The number of the segment that a head of the tile ends; 'begin' is where it began, if that is in the tile and the
 * offsets must be searched. */
inline uint64 ended_by(const groups_args &p, const warp_memory &m, const tile &t, const tile_heads &h, uint32 head,
                       uint32 begin) {
    if (!h.has_empty || !head)
        return h.from + head - 1;
    return h.is_searched ? segment_at(p.offsets, h.from, h.to, t.first + begin)
                         : h.from + head - 1 + m.empty_before(head - 1);
}

/* The segment that a lane's first head ends, over all stretches. */
struct joined {
    acc_t acc;
    bool ends;    /* whether it is a result: a segment that began in an earlier chunk is not */
    uint32 begin; /* where that segment began, if in the tile */
};

/* Segments that end in the tile and lie in more than one stretch; and the segment that is open behind it. */
inline joined join_stretches(const groups_args &p, const tile &t, const tile_heads &h, const stretch &s,
                             open_segment *o) {
    const uint32 lane = hidden_lane(), before = h.lanes & ((1u << lane) - 1);
    acc_t acc = widen(s.last), ended = widen(s.first);
    if (lane == 0) {
        ended = combine(o->acc, ended);
        if (!h.mine)
            acc = ended;
    }
    const uint32 upto = before | (h.mine ? 1u << lane : 0);
    const int start_lane = upto ? WARP - 1 - __clz(upto) : 0;
    uint32 runs = ~h.lanes; /* the ends of as many neighbouring lanes without heads as one step covers */
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        if (!runs)
            break;
        const acc_t left = from_below(acc, d);
        if ((int)lane - d >= start_lane)
            acc = combine(left, acc);
        runs &= runs << d;
    }
    const acc_t left = from_below(acc, 1);
    o->acc = from_lane(acc, WARP - 1);
    joined j = {ended, false, 0};
    if (!h.lanes)
        return j;
    if (h.has_empty)
        j.begin = __shfl_sync(ALL_LANES, s.begin, before ? WARP - 1 - __clz(before) : 0);
    if (h.mine) {
        if (lane)
            j.acc = combine(left, ended);
        j.ends = before || o->began_here;
        if (!j.ends)
            p.cuts[t.chunk].before.write(j.acc);
    }
    o->began_here = true;
    return j;
}

/* Whether a lane's accumulator is already a result. */
constexpr bool IN_PLACE = LOWERS_DIRECTLY && ARE_SAME<result_t, decltype(lane_t::a0)>;

/* Stores results that lie in shared memory side by side, from the k-th on. */
template <bool AreMany>
inline void put_results(const groups_args &p, const warp_memory &m, const tile &t, const tile_heads &h, uint32 k) {
    uint8 *const results = t.x;
    k += lane_number();
    result_t *to = p.out + (h.from - 1 + k);
    auto result_of = [&](uint32 byte) {
        const lane_t *result = (const lane_t *)(results + spot_of<AreMany>(byte));
        return IN_PLACE && !EXACT_EXTREMUM ? *(const result_t *)result : lower(widen(*result), 0, 0);
    };
    constexpr uint32 all = WARP * sizeof(lane_t); /* lanes' */
    const uint32 end = h.count * sizeof(lane_t);
    if (h.has_empty) {
        for (; k < h.count; k += WARP)
            put(p.out + ended_by(p, m, t, h, k, 0), result_of(k * sizeof(lane_t)));
        return;
    }
    if (((uint64)to & (sizeof(result_t) - 1)) == 0) {
#pragma unroll 4
        for (uint32 byte = k * sizeof(lane_t); byte < end; byte += all, to += WARP)
            *to = result_of(byte);
    } else {
        for (uint32 byte = k * sizeof(lane_t); byte < end; byte += all, to += WARP)
            store_slowly(to, result_of(byte));
    }
}

/* If offsets need no search. Results take the elements' place. */
template <bool AreMany>
inline void fold_many(const groups_args &p, const warp_memory &m, const tile &t, const tile_heads &h,
                      const stretch_items &items, open_segment *o) {
    const bool has_begun = o->began_here;
    const stretch s = fold_staged<AreMany>(items, h.mine, h.number, t.x);
    if (!IN_PLACE) { /* what is joined follows */
        __syncwarp();
        put_results<AreMany>(p, m, t, h, 1);
        __syncwarp();
    }
    const joined j = join_stretches(p, t, h, s, o);
    if (j.ends && IN_PLACE)
        *(result_t *)result_at<AreMany>(t.x, h.number) = lower(j.acc, 0, 0);
    else if (j.ends)
        put(p.out + ended_by(p, m, t, h, h.number, 0), lower(j.acc, 0, 0));
    if (IN_PLACE) {
        __syncwarp();
        put_results<AreMany>(p, m, t, h, !has_begun); /* fold_cuts handles a segment that began in an earlier chunk */
    }
}

inline void fold_tile(const groups_args &p, const warp_memory &m, const tile &t, const tile_heads &h, open_segment *o) {
    auto put_one = [&](uint32 number, uint32 begin, const acc_t &acc) {
        put(p.out + ended_by(p, m, t, h, number, begin), lower(acc, 0, 0));
    };
    const bool is_split = h.count == __popc(h.lanes);
    stretch s;
    if (t.count == TILE && (is_split || !h.is_searched)) {
        stretch_items items;
        items.read(t);
        if (!h.lanes) {
            o->spread = combine(o->spread, widen(fold_items(items)));
            o->is_spread = true;
            return;
        }
        o->gather();
        if (h.count > MANY_RESULTS) {
            fold_many<true>(p, m, t, h, items, o);
            return;
        }
        if (!is_split) {
            fold_many<false>(p, m, t, h, items, o);
            return;
        }
        s = fold_split(items, h.mine);
    } else {
        o->gather();
        s = fold_between(t, h.mine, [&](uint32 k, uint32 begin, const lane_t &lane) {
            put_one(h.number + k, begin, widen(lane));
        });
    }
    const joined j = join_stretches(p, t, h, s, o);
    if (j.ends)
        put_one(h.number, j.begin, j.acc);
}

inline void close_chunk(const groups_args &p, const tile &t, bool is_last, open_segment *o) {
    o->gather();
    if (lane_number() == 0)
        p.cuts[t.chunk].after.write(o->acc);
    if (lane_number() == 0 && is_last)
        p.cuts[p.chunks].before.write(identity_as<acc_t>());
}

template <bool HasBits> inline void fold_tiles(const groups_args &p, warp_memory &m, supply &next) {
    head_source<HasBits> source;
    open_segment open;
    source.look_ahead(p, m.in_slot(0));
#pragma unroll 1
    for (uint32 at = 0;; at = at + 1 == SLOTS ? 0 : at + 1) {
        wait_for_copies_ahead<SLOTS - 1>();
        __syncwarp();
        const content has = m.in_slot(at);
        if (has.tile == NONE)
            break;
        const tile t = {(uint64)has.tile * TILE, has.chunk, has.count, m.slot[at]};
        if (has.ends & BEGINS) {
            open.begin();
            if (!HasBits)
                source.load_window(p);
        }
        const tile_heads h = source.find(p, m, t);
        source.look_ahead(p, m.in_slot(at + 1 == SLOTS ? 0 : at + 1));
        fold_tile(p, m, t, h, &open);
        if (has.ends & ENDS)
            close_chunk(p, t, has.tile + 1 == (uint32)p.tiles, &open);
        __syncwarp();
        fetch(p, m, at, next);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_by_warps(groups_args p) {
    __shared__ alignas(128) warp_memory memory[WARPS];
    warp_memory &m = memory[threadIdx.x / WARP];
    supply next;
    next.open(p, blockIdx.x * WARPS + threadIdx.x / WARP);
#pragma unroll 1
    for (uint32 s = 0; s < SLOTS; s++)
        fetch(p, m, s, next);
    __syncwarp();
    wait_for_last(); /* offsets are checked */
    let_next_start();
    if (!p.told->refused && p.bits && !p.told->has_empty)
        fold_tiles<true>(p, m, next);
    else if (!p.told->refused)
        fold_tiles<false>(p, m, next);
    wait_for_copies_ahead<0>();
}
