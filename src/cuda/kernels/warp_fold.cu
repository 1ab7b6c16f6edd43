/* The launch that folds segments by warps (warp_segments.cu), with the heads that warp_heads.cu finds. */

/* Folds what the lanes have, in their order; the first has the result. */
inline acc_t fold_lanes(acc_t acc) {
#pragma unroll
    for (uint32 d = 1; d < WARP; d *= 2) {
        const acc_t next = from_above(acc, d);
        if ((lane_number() & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return acc;
}

/* The segment that is open where a chunk's next tile begins. */
struct open_segment {
    acc_t acc;    /* lane 0: of its elements in the chunk */
    acc_t spread; /* each lane: of those in tiles that were the segment's alone */
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

/* The number of the segment that a head of the tile ends; 'begin' is where it began, if that is in the tile. */
inline uint64 ended_by(const groups_args &p, const tile &t, const tile_heads &h, uint32 head, uint32 begin) {
    return h.has_empty && head ? segment_at(p, h.from, h.to, t.first + begin) : h.from + head - 1;
}

/* Segments that end in the tile and lie in more than one stretch; and what is open behind it. */
inline void join_stretches(const groups_args &p, const tile &t, const tile_heads &h, const stretch &s,
                           open_segment *o) {
    const uint32 lane = lane_number(), before = h.lanes & ((1u << lane) - 1);
    acc_t acc = widen(s.last), ended = widen(s.first);
    if (lane == 0) {
        ended = combine(o->acc, ended);
        if (!h.mine)
            acc = ended;
    }
    const uint32 upto = before | (h.mine ? 1u << lane : 0);
    const int start_lane = upto ? WARP - 1 - __clz(upto) : 0;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const acc_t left = from_below(acc, d);
        if ((int)lane - d >= start_lane)
            acc = combine(left, acc);
    }
    const acc_t left = from_below(acc, 1);
    o->acc = from_lane(acc, WARP - 1);
    if (!h.lanes)
        return;
    uint32 begin = 0;
    if (h.has_empty)
        begin = __shfl_sync(ALL_LANES, s.begin, before ? WARP - 1 - __clz(before) : 0);
    if (h.mine) {
        if (lane)
            ended = combine(left, ended);
        if (before || o->began_here)
            put(p.out + ended_by(p, t, h, h.number, begin), lower(ended, 0, 0));
        else
            p.cuts[t.chunk].before.write(ended);
    }
    o->began_here = true;
}

/* Stores the results that lie side by side in shared memory, but for those that have been joined. */
inline void put_results(const groups_args &p, warp_memory &m, const tile_heads &h, const lane_t *results) {
    const uint32 lane = lane_number();
    if (lane < ITEMS)
        m.leading[lane] = 0;
    __syncwarp();
    if (h.mine)
        atomicOr(&m.leading[h.number / WARP], 1u << h.number % WARP);
    __syncwarp();
    result_t *out = p.out + h.from - 1;
#pragma unroll 4
    for (uint32 k = 0; k * WARP < h.count; k++)
        if (k * WARP + lane < h.count && !(m.leading[k] >> lane & 1))
            put(out + k * WARP + lane, lower(widen(results[k * WARP + lane]), 0, 0));
}

inline void fold_tile(const groups_args &p, warp_memory &m, const tile &t, const tile_heads &h, open_segment *o) {
    const bool is_whole = t.count == TILE;
    if (is_whole && !h.lanes) {
        o->spread = combine(o->spread, widen(fold_items(t)));
        o->is_spread = true;
        return;
    }
    o->gather();
    if (is_whole && h.count == __popc(h.lanes)) {
        join_stretches(p, t, h, fold_split(t, h.mine), o);
    } else if (is_whole && !h.has_empty) {
        lane_t *results = (lane_t *)t.x;
        const stretch s = fold_staged(t, h.mine, h.number, results);
        put_results(p, m, h, results);
        join_stretches(p, t, h, s, o);
        show_to_copies();
    } else {
        const stretch s = fold_between(t, h.mine, [&](uint32 k, uint32 begin, const lane_t &lane) {
            put(p.out + ended_by(p, t, h, h.number + k, begin), lower(widen(lane), 0, 0));
        });
        join_stretches(p, t, h, s, o);
    }
}

inline void close_chunk(const groups_args &p, const tile &t, open_segment *o) {
    o->gather();
    if (lane_number() == 0)
        p.cuts[t.chunk].after.write(o->acc);
    if (lane_number() == 0 && t.number + 1 == p.tiles)
        p.cuts[p.chunks].before.write(identity_as<acc_t>());
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_by_warps(groups_args p) {
    __shared__ warp_memory memory[WARPS];
    warp_memory &m = memory[threadIdx.x / WARP];
    let_next_start();
    if (p.told->refused)
        return;
    head_source source;
    source.has_bits = p.bits && !p.told->has_empty;
    if (lane_number() == 0)
        for (int s = 0; s < SLOTS; s++)
            m.full[s].init(1);
    show_gates();
    __syncwarp();
    supply next;
    next.open(p, blockIdx.x * (uint64)WARPS + threadIdx.x / WARP);
#pragma unroll 1
    for (uint32 s = 0; s < SLOTS; s++)
        fetch(p, m, s, next);
    __syncwarp();
    open_segment open;
    place_in_ring<SLOTS> here = {0, 0};
#pragma unroll 1
    for (; m.tile[here.at] != NONE; here.advance()) {
        const uint64 number = m.tile[here.at], chunk = m.chunk[here.at], first = number * TILE;
        const uint32 count = p.n - first < TILE ? (uint32)(p.n - first) : (uint32)TILE;
        const tile t = {number, chunk, first, count, m.slot[here.at]};
        if (number == chunk * p.chunk) {
            open.begin();
            source.begin(p, t);
        }
        const bool is_last = number + 1 == p.tiles || number + 1 == (chunk + 1) * p.chunk;
        const tile_heads h = source.find(p, m, t, is_last);
        m.full[here.at].wait(here.parity);
        fold_tile(p, m, t, h, &open);
        if (is_last)
            close_chunk(p, t, &open);
        __syncwarp();
        fetch(p, m, here.at, next);
        __syncwarp();
    }
}
