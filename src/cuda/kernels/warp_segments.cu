/* Reductions by segments for the commonest case: 4 bytes an element, and as many for what a lane keeps of it, on devices
 * with copies in bulk. Every warp works by itself: it takes chunks of consecutive tiles as they are handed out and has the
 * next tiles on their way to its own ring in shared memory while it folds one, so that no barrier stops the reading. All
 * that it needs to know of the segments is where they begin, one bit an element. A lane goes over a stretch of the tile:
 * what lies between two heads is a result, and what lies before its first and behind its last head is joined with the
 * other lanes' by a segmented scan. Of segments that reach over several chunks the parts are kept, and the last launch
 * folds those (fold_cuts.cu). Which elements are folded in which order follows from where the segments begin alone, so
 * that a result is the same bits every run.
 *
 * Measured on an H200 against fold_segments.cu, sum of 2^28 f32: 0.90 of its time for segments of 1, 0.85 for 4, 0.92 to
 * 0.96 from 256 elements on, 1.01 for 64. With more bytes a lane or an element it took longer (i32 1.5 times), and so did
 * runs of keys. What counts is how many warps there are: stretches of 28 elements and fewer warps were slower from 256
 * elements on, two tiles a ring everywhere. */
struct control {
    uint64 runs; /* of keys: not here */
    uint64 not_bad, not_empty;
    uint32 refused;   /* not 0: the offsets are bad; nothing is written */
    uint32 crowded;   /* tiles that have left their empty segments to fold_cuts */
    uint32 has_empty; /* segments */
    uint32 taken;     /* chunks that warps have asked for */
};

/* Parts of segments that reach beyond a chunk. */
struct cut {
    slot before; /* of the segment that began in an earlier chunk and ends in this one */
    slot after;  /* of the segment that goes on behind this chunk */
};
static_assert(sizeof(cut) == CUT_BYTES);

struct groups_args {
    const in_t *x;
    result_t *out;
    const index_t *index; /* offsets */
    uint64 n, segments;
    uint64 tiles, chunk, chunks; /* chunk: tiles that a warp takes, one after the other */
    cut *cuts;                   /* a chunk, and one more */
    uint32 *bits;                /* 1: a segment begins at this element. NULL where there are few */
    uint64 *first;               /* of each chunk, and of what follows them: its first offset */
    control *told;
    uint32 refuses_empty;
};

enum {
    VECTORS = 5, /* a lane: an odd number, so that no two lanes that read together meet in a bank */
    ITEMS = VECTORS * 4,
    TILE = WARP * ITEMS,
    SLOTS = 3,
    WARPS = BLOCK / WARP,
    NEAR = 8,            /* chunks that one thread folds, where a segment reaches over several */
    WINDOW = WARP - 1,   /* offsets: a lane sees the one of the next */
    WINDOWS = 4,         /* that are loaded at a time where there are many */
    CROWDED = 16 * TILE  /* offsets, where a search for each element is faster */
};
static_assert(TILE == FOLD_TILE && ITEMS <= LANE_LIMIT && sizeof(in_t) == 4 && sizeof(lane_t) == 4);
constexpr uint64 NONE = ~0ull;

struct warp_memory {
    alignas(16) uint8 slot[SLOTS][TILE * sizeof(in_t)];
    uint32 heads[ITEMS], leading[ITEMS];
    uint64 tile[SLOTS], chunk[SLOTS]; /* which is there, or NONE */
    gate full[SLOTS];
};

/* A tile in shared memory. */
struct tile {
    uint64 number, chunk;
    uint64 first; /* element */
    uint32 count;
    uint8 *x;
};

inline uint64 begin_of(const groups_args &p, uint64 segment) {
    return (uint64)load(p.index + segment);
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

/* The tile that a warp fetches next. The chunks are gone through from the last one to the first: what the first launch has
 * read last is still in the cache. */
struct supply {
    uint64 tile, end, chunk;
    uint32 asked = 0; /* lane 0: what is to be known when this chunk ends */

    void open(const groups_args &p, uint64 turn) {
        chunk = turn < p.chunks ? p.chunks - 1 - turn : NONE;
        tile = chunk * p.chunk;
        end = tile + p.chunk < p.tiles ? tile + p.chunk : p.tiles;
        if (chunk != NONE && lane_number() == 0) /* an atomicAdd would be waited for: it is made one for all lanes */
            asked = atomicInc(&p.told->taken, 1u << 31);
    }
    void advance(const groups_args &p) {
        if (++tile == end)
            open(p, gridDim.x * (uint64)WARPS + __shfl_sync(ALL_LANES, asked, 0));
    }
};

/* What is not a whole tile or not aligned. */
__noinline__ void fetch_slowly(uint8 *to, const in_t *from, uint32 count) {
#pragma unroll 4
    for (uint32 e = lane_number(); e < count; e += WARP)
        ((in_t *)to)[e] = load(from + e);
}

inline void fetch(const groups_args &p, warp_memory &m, uint32 slot, supply &next) {
    constexpr uint32 bytes = TILE * sizeof(in_t);
    const uint64 first = next.tile * TILE;
    if (lane_number() == 0) {
        m.tile[slot] = next.chunk == NONE ? NONE : next.tile;
        m.chunk[slot] = next.chunk;
    }
    if (next.chunk == NONE)
        return;
    const uint32 count = p.n - first < TILE ? (uint32)(p.n - first) : (uint32)TILE;
    const in_t *x = p.x + first;
    gate &full = m.full[slot];
    if (count < TILE || ((uint64)x & 15)) {
        fetch_slowly(m.slot[slot], x, count);
        __syncwarp();
        if (lane_number() == 0)
            full.arrive();
    } else if (lane_number() == 0) {
        arrive_and_expect(&full.word, bytes);
        copy_in(m.slot[slot], x, bytes, &full.word);
    }
    next.advance(p);
}

/* ---- a lane's stretch ---- */

/* What lies before its first head, or all where there is none, and behind its last. */
struct stretch {
    lane_t first, last;
    uint32 begin; /* the last head, in the tile */
};

struct stretch_items {
    in_t x[ITEMS];

    void read(const tile &t) {
        const uint4 *from = (const uint4 *)t.x + lane_number() * VECTORS;
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            memcpy(x + 4 * v, from + v, 16);
    }
    lane_t lift(const tile &t, int k) const {
        return lift_as<lane_t>(value_of(x[k]), value_t(0), t.first + lane_number() * ITEMS + k);
    }
};

/* Of a whole tile that is one segment's. */
inline lane_t fold_items(const tile &t) {
    stretch_items items;
    items.read(t);
    lane_t acc = identity_as<lane_t>();
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        acc = combine(acc, items.lift(t, k));
    return acc;
}

/* Of a whole tile where no lane has more than one head. */
inline stretch fold_split(const tile &t, uint32 heads) {
    stretch_items items;
    items.read(t);
    lane_t acc = identity_as<lane_t>(), first = acc;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (heads >> k & 1) {
            first = acc;
            acc = identity_as<lane_t>();
        }
        acc = combine(acc, items.lift(t, k));
    }
    return {heads ? first : acc, acc, lane_number() * ITEMS + __ffs(heads) - 1};
}

/* Of a whole tile whose heads are numbered from 'number' on; results[k] becomes what head k ends, as far as it is the
 * lane's. They take the elements' place. */
inline stretch fold_staged(const tile &t, uint32 heads, uint32 number, lane_t *results) {
    stretch_items items;
    items.read(t);
    __syncwarp();
    lane_t acc = identity_as<lane_t>();
    uint32 at = number;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (heads >> k & 1) {
            results[at++] = acc;
            acc = identity_as<lane_t>();
        }
        acc = combine(acc, items.lift(t, k));
    }
    return {heads ? results[number] : acc, acc, 0};
}

/* Of any tile: end(k, begin, acc) receives what the lane's k-th head ends, but for the first one. */
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
        s.last = combine(s.last, lift_as<lane_t>(value_of(((const in_t *)t.x)[e]), value_t(0), t.first + e));
    }
    if (!heads)
        s.first = s.last;
    return s;
}
