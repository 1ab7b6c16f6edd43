/* Reductions by segments for the commonest case: elements of 4 bytes and lanes that keep 4 bytes, on devices with
 * asynchronous copies. Every warp works by itself. It takes chunks of consecutive tiles, one after the other, and loads
 * the next tiles into its own ring in shared memory while it folds one, so that no barrier stops the reading. It needs
 * only the segments' beginnings, one bit per element. A lane goes over 32 consecutive elements of the tile, so it needs
 * one word of bits. The elements between two heads make a result; those before its first and behind its last head are
 * joined with the other lanes' by a segmented scan. Parts of segments that cross several chunks are kept, and the last
 * launch folds them (fold_cuts.cu). Only the segments' beginnings decide which elements are folded in which order, so a
 * result has the same bits every run. */

typedef warps_args groups_args; /* for the texts that serve other reductions by segments, too */

/* Parts of segments that cross a chunk's ends. */
struct cut {
    slot before; /* of the segment that began in an earlier chunk and ends in this one */
    slot after;  /* of the segment that continues after this chunk */
};
static_assert(sizeof(cut) == CUT_BYTES);

enum {
    ITEMS = WARP, /* a lane: as many as a word has bits */
    VECTORS = ITEMS / 4,
    TILE = WARP * ITEMS,
    SLOTS = 2,
    WARPS = BLOCK / WARP,
    NEAR = 8,           /* chunks that one thread folds if a segment crosses several */
    WINDOW = WARP - 1,  /* offsets: a lane sees the one of the next */
    WINDOWS = 4,        /* that are loaded at a time where there are many */
    /* Heads that share a number of two bytes. With two bytes for each, less of the cache is left: skewed segments took
     * 1.1 times as long on an H100. */
    HEADS_OF = 8,
    CROWDED = 16 * TILE /* offsets, where a search for each element is faster */
};
static_assert(TILE == FOLD_TILE && ITEMS <= LANE_LIMIT && sizeof(in_t) == 4 && sizeof(lane_t) == 4);
constexpr uint32 NONE = ~0u; /* no tile: 2^32 have 16 TB */

/* The contents of a slot. */
struct alignas(16) content {
    uint32 tile; /* or NONE */
    uint32 chunk, count, ends; /* of the chunk: its first tile BEGINS, its last ENDS */
};
enum : uint32 { BEGINS = 1, ENDS = 2 };

struct warp_memory {
    alignas(128) uint8 slot[SLOTS][TILE * sizeof(in_t)];
    content has[SLOTS];
    uint32 heads[WARP];
    uint8 empty[TILE];                /* the low bits of the number of empty segments before each head */
    uint16 empty_of[TILE / HEADS_OF]; /* all of it, before every HEADS_OF-th head */

    uint32 empty_before(uint32 head) const {
        const uint32 base = empty_of[head / HEADS_OF];
        return base + (uint8)(empty[head] - base);
    }
    content in_slot(uint32 at) const {
        content c;
        const uint4 bits = *(const uint4 *)&has[at];
        memcpy(&c, &bits, 16);
        return c;
    }
};

/* A tile in shared memory. */
struct tile {
    uint64 first; /* element */
    uint32 chunk, count;
    uint8 *x;
};

/* The lane's number, for uses that cost only an instruction or two. Otherwise the compiler would keep all derived
 * values in registers from tile to tile, and values loaded for later in local memory, where it waits for them at once.
 */
inline uint32 hidden_lane() {
    uint32 lane = lane_number();
    hide(lane);
    return lane;
}

inline uint64 begin_of(const groups_args &p, uint64 segment) {
    const bool is_aligned = ((uint64)p.offsets & (sizeof(index_t) - 1)) == 0;
    return (uint64)(is_aligned ? p.offsets[segment] : load_slowly(p.offsets + segment));
}

template <class T> __noinline__ void store_slowly(T *to, T value) {
    store(to, value);
}
inline void put(result_t *to, result_t result) {
    if (((uint64)to & (sizeof(result_t) - 1)) == 0)
        *to = result;
    else
        store_slowly(to, result);
}

/* ---- tiles on their way ---- */

/* The tile that a warp fetches next. Chunks are taken from the last to the first, because the cache still has what the
 * first launch has read last. */
struct supply {
    uint32 tile, end, chunk, ends;
    uint32 asked = 0; /* lane 0: the data that are needed when this chunk ends */

    void open(const groups_args &p, uint32 turn) {
        const uint32 chunks = (uint32)p.chunks, tiles = (uint32)p.tiles, a_chunk = (uint32)p.chunk;
        ends = BEGINS;
        tile = NONE;
        if (turn >= chunks)
            return;
        chunk = chunks - 1 - turn;
        tile = chunk * a_chunk;
        end = tiles - tile < a_chunk ? tiles : tile + a_chunk;
        if (lane_number() == 0) /* the warp would wait for an atomicAdd, so one is made for all lanes */
            asked = atomicInc(&p.told->taken, 1u << 31);
    }
    void advance(const groups_args &p) {
        ends = 0;
        if (++tile == end)
            open(p, gridDim.x * WARPS + __shfl_sync(ALL_LANES, asked, 0));
    }
};

/* Permutes the vectors of 16 bytes within a lane's 128 bytes, so that neither lanes that read their vectors together
 * nor those that copy neighbouring ones use the same bank. */
inline uint32 placed(uint32 at) {
    return at ^ (at >> 3 & 0x70);
}

/* Elements that are not a whole tile or not aligned. */
__noinline__ void fetch_slowly(uint8 *to, const in_t *from, uint32 count) {
#pragma unroll 4
    for (uint32 e = lane_number(); e < count; e += WARP)
        if (((uint64)from & 3) == 0)
            copy_ahead<4>(to + placed(e * sizeof(in_t)), from + e);
        else
            *(in_t *)(to + placed(e * sizeof(in_t))) = load(from + e);
}

/* Every call makes a group of copies, even if nothing is left. */
inline void fetch(const groups_args &p, warp_memory &m, uint32 slot, supply &next) {
    if (lane_number() == 0 && next.tile == NONE)
        m.has[slot].tile = NONE;
    if (next.tile != NONE) {
        const uint64 first = (uint64)next.tile * TILE;
        const uint32 count = next.tile + 1 == (uint32)p.tiles ? (uint32)(p.n - first) : (uint32)TILE;
        if (lane_number() == 0)
            m.has[slot] = {next.tile, next.chunk, count, next.ends | (next.tile + 1 == next.end ? ENDS : 0)};
        if (count == TILE && ((uint64)p.x & 15) == 0) {
            constexpr uint32 a_row = WARP * 16; /* four lanes' */
            const uint32 mine = hidden_lane() * 16;
            const uint8 *from = (const uint8 *)(p.x + first) + mine;
            uint8 *even = m.slot[slot] + placed(mine), *odd = m.slot[slot] + placed(a_row + mine) - a_row;
#pragma unroll
            for (uint32 v = 0; v < VECTORS; v++)
                copy_ahead<16>((v % 2 ? odd : even) + v * a_row, from + v * a_row);
        } else {
            fetch_slowly(m.slot[slot], p.x + first, count);
        }
        next.advance(p);
    }
    end_copies_ahead();
}

/* ---- a lane's stretch ---- */

/* The elements before its first head, or all if there is none, and those behind its last head. */
struct stretch {
    lane_t first, last;
    uint32 begin; /* the last head, in the tile */
};

/* For a whole tile. */
struct stretch_items {
    in_t x[ITEMS];
    uint64 at; /* the first */

    /* All loads start before the first is waited for, and then the slot may be used again. All lanes of a warp call
     * this. */
    void read(const tile &t) {
        const uint32 mine = placed(hidden_lane() * (ITEMS * sizeof(in_t)));
        at = t.first + lane_number() * ITEMS;
#pragma unroll
        for (uint32 v = 0; v < VECTORS; v++) {
            const uint4 bits = *(const uint4 *)(t.x + (mine ^ v * 16));
            memcpy(x + 4 * v, &bits, 16);
        }
        __syncwarp();
    }
    lane_t lift(int k) const {
        return lift_as<lane_t>(value_of(x[k]), value_t(0), at + k);
    }
};

/* If all elements belong to one segment. */
inline lane_t fold_items(const stretch_items &items) {
    lane_t acc = identity_as<lane_t>();
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        acc = combine(acc, items.lift(k));
    return acc;
}

/* If no lane has more than one head. */
inline stretch fold_split(const stretch_items &items, uint32 heads) {
    lane_t acc = identity_as<lane_t>(), first = acc;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (heads >> k & 1) {
            first = acc;
            acc = identity_as<lane_t>();
        }
        acc = combine(acc, items.lift(k));
    }
    return {heads ? first : acc, acc, lane_number() * ITEMS + __ffs(heads) - 1};
}

/* The position of result k of a tile, in bytes. If there are many, lanes that write theirs together would otherwise use
 * the same bank. */
template <bool AreMany> inline uint32 spot_of(uint32 byte) {
    return AreMany ? byte ^ (byte / WARP & 4 * (WARP - 1)) : byte;
}
template <bool AreMany> inline lane_t *result_at(uint8 *results, uint32 k) {
    return (lane_t *)(results + spot_of<AreMany>(k * sizeof(lane_t)));
}
enum { MANY_RESULTS = TILE / 4 }; /* and more: then a bank has those of every few lanes. 3 elements a segment: ten */

/* Heads are numbered from 'number' on. Result k becomes the value of the segment that head k ends, as far as it is the
 * lane's. */
template <bool AreMany>
inline stretch fold_staged(const stretch_items &items, uint32 heads, uint32 number, uint8 *results) {
    lane_t acc = identity_as<lane_t>();
    uint8 *to = results + (AreMany ? 0 : number * sizeof(lane_t));
    uint32 at = number * sizeof(lane_t);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (heads >> k & 1) {
            *(lane_t *)(AreMany ? results + spot_of<true>(at) : to) = acc;
            at += sizeof(lane_t);
            to += sizeof(lane_t);
            acc = identity_as<lane_t>();
        }
        acc = combine(acc, items.lift(k));
    }
    return {heads ? *result_at<AreMany>(results, number) : acc, acc, 0};
}

/* For any tile: end(k, begin, acc) receives the value that the lane's k-th head ends, except the first. */
template <class End> inline stretch fold_between(const tile &t, uint32 heads, End end) {
    const uint32 begin = lane_number() * ITEMS, last = begin + ITEMS < t.count ? begin + ITEMS : t.count;
    stretch s = {identity_as<lane_t>(), identity_as<lane_t>(), 0};
    uint32 number = 0;
#pragma unroll 1
    for (uint32 e = begin; e < last; e++) {
        if (heads >> (e - begin) & 1) {
            if (number)
                end(number, s.begin, s.last);
            else
                s.first = s.last;
            s.last = identity_as<lane_t>();
            s.begin = e;
            number++;
        }
        const in_t x = *(const in_t *)(t.x + placed(e * sizeof(in_t)));
        s.last = combine(s.last, lift_as<lane_t>(value_of(x), value_t(0), t.first + e));
    }
    if (!heads)
        s.first = s.last;
    return s;
}
