/* The segments' heads in a warp's tile (warp_segments.cu): from bits, if the first launch has made them and no segment
 * is empty, which bits cannot show; else from the offsets, a window at a time. The offset behind the last segment
 * counts as a head, too: of the elements that belong to no segment. */
constexpr uint64 NOWHERE = ~0ull;

struct tile_heads {
    uint32 mine;      /* a bit an element of the lane's stretch */
    uint32 lanes;     /* those that have any */
    uint32 number;    /* heads in lanes before */
    uint32 count;     /* heads in the tile */
    bool has_empty;   /* segments, so that heads are not numbered as segments are: empty_before says how many */
    bool is_searched; /* there are so many empty ones that empty_before does not know */
    uint64 from, to;  /* offsets that lie in the tile */
};

inline void number_heads(tile_heads *h, uint32 word) {
    const uint32 lane = hidden_lane();
    h->mine = word;
    h->lanes = __ballot_sync(ALL_LANES, word != 0);
    h->number = h->count = 0;
    if (!h->lanes)
        return;
    if (!__ballot_sync(ALL_LANES, (word & word - 1) != 0)) { /* no lane has two */
        h->count = __popc(h->lanes);
        h->number = __popc(h->lanes & (1u << lane) - 1);
        return;
    }
    const uint32 mine = __popc(word);
    uint32 sum = mine;
#pragma unroll
    for (uint32 d = 1; d < WARP; d *= 2) {
        const uint32 left = from_below(sum, d);
        if (lane >= d)
            sum += left;
    }
    h->count = from_lane(sum, WARP - 1);
    h->number = sum - mine;
}

/* The last segment of a tile that begins at an element or before it. */
__noinline__ uint64 segment_at(const index_t *offsets, uint64 low, uint64 high, uint64 element) {
    while (low + 1 < high) {
        const uint64 middle = (low + high) / 2;
        if ((uint64)load(offsets + middle) <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

template <bool HasBits> struct head_source {
    uint64 from;   /* the first offset that is not before the next tile */
    uint64 until;  /* the first one that is not before the next chunk: HasBits */
    uint32 word;   /* of the next tile's bits */
    uint64 window; /* the lane's offset from there on */

    uint64 offset_at(const groups_args &p, uint64 number) const {
        return number <= p.segments ? begin_of(p, number) : NOWHERE;
    }
    void load_window(const groups_args &p) {
        window = offset_at(p, from + lane_number());
    }
    /* The loads of a tile's data start long before they are needed. */
    void look_ahead(const groups_args &p, const content &next) {
        if (next.tile == NONE)
            return;
        if (HasBits && (next.ends & BEGINS || from != until)) /* else they may be anything */
            word = p.bits[(uint64)next.tile * WARP + lane_number()];
        if (next.ends & BEGINS)
            from = p.first[next.chunk];
        if (HasBits && next.ends & BEGINS)
            until = p.first[next.chunk + 1];
    }

    /* Takes a window of offsets: marks the heads among them and writes the results of empty segments. Returns the
     * number of offsets that lie in the tile. */
    uint32 take(const groups_args &p, warp_memory &m, const tile &t, uint64 first, uint64 offset, tile_heads *h) {
        const uint32 lane = lane_number();
        const uint64 next = from_above(offset, 1), at = offset - t.first;
        const bool is_in = lane < WINDOW && at < t.count;
        const bool is_empty = is_in && offset == next && first + lane < p.segments;
        if (is_empty)
            put(p.out + first + lane, lower(identity_as<acc_t>(), 0, 0));
        else if (is_in)
            atomicOr(&m.heads[at / WARP], 1u << at % WARP);
        const uint32 begin = __ballot_sync(ALL_LANES, is_in && !is_empty), all = __ballot_sync(ALL_LANES, is_in);
        if (is_in && !is_empty) {
            const uint32 head = h->count + __popc(begin & (1u << lane) - 1);
            const uint32 empty = (uint32)(first + lane - h->from) - head;
            if (head < TILE) /* bad offsets go back and forth */
                m.empty[head] = (uint8)empty;
            if (head < TILE && head % HEADS_OF == 0)
                m.empty_of[head / HEADS_OF] = (uint16)empty;
        }
        h->count += __popc(begin);
        h->has_empty |= begin != all;
        return __popc(all);
    }
    /* Several windows, until one is not all in the tile. */
    void take_many(const groups_args &p, warp_memory &m, const tile &t, tile_heads *h) {
        for (const uint64 begin = from; from - begin < CROWDED;) {
            uint64 offset[WINDOWS];
#pragma unroll
            for (int k = 0; k < WINDOWS; k++)
                offset[k] = offset_at(p, from + k * WINDOW + lane_number());
#pragma unroll
            for (int k = 0; k < WINDOWS; k++) {
                const uint32 taken = take(p, m, t, from, offset[k], h);
                from += taken;
                if (taken < WINDOW)
                    return;
            }
        }
        search(p, m, t);
        h->has_empty = h->is_searched = true;
    }
    /* Masses of empty segments in one tile: fold_cuts writes their results. */
    void search(const groups_args &p, warp_memory &m, const tile &t) {
        const uint64 low = from, high = first_from(p.offsets, p.segments + 1, t.first + t.count);
        if (lane_number() == 0)
            p.told->crowded = 1;
        for (uint32 e = lane_number(); e < t.count; e += WARP) {
            const uint64 at = low + first_from(p.offsets + low, high - low, t.first + e);
            if (at < high && begin_of(p, at) == t.first + e)
                atomicOr(&m.heads[e / WARP], 1u << e % WARP);
        }
        from = high;
    }

    /* Whether more empty segments than a byte counts lie between heads that share a number. */
    bool has_gap(const warp_memory &m, const tile_heads &h) const {
        const uint32 all = (uint32)(from - h.from) - h.count, count = h.count < TILE ? h.count : (uint32)TILE;
        bool has = false;
        for (uint32 k = lane_number(); k * HEADS_OF < count; k += WARP)
            has |= ((k + 1) * HEADS_OF < count ? m.empty_of[k + 1] : all) - m.empty_of[k] > 255;
        return __ballot_sync(ALL_LANES, has) != 0;
    }

    tile_heads find(const groups_args &p, warp_memory &m, const tile &t) {
        tile_heads h = {};
        h.from = from;
        if (HasBits) {
            number_heads(&h, from == until ? 0 : word);
            from += h.count;
        } else if (__ballot_sync(ALL_LANES, window - t.first < t.count)) {
            m.heads[lane_number()] = 0;
            __syncwarp();
            const uint32 taken = take(p, m, t, from, window, &h);
            from += taken;
            if (taken == WINDOW)
                take_many(p, m, t, &h);
            load_window(p);
            __syncwarp();
            if (h.has_empty && !h.is_searched)
                h.is_searched = has_gap(m, h);
            number_heads(&h, m.heads[lane_number()]);
        }
        h.to = from;
        return h;
    }
};
