/* Checks of offsets before they are used, and the search for each tile's segments. */

/* The least bad segment of each kind: decreasing or past the end; empty, where the operator has no value for zero
 * elements. */
struct findings {
    uint64 bad, empty;
};
constexpr uint64 NOT_FOUND = ~0ull;

inline void look_at(findings *f, uint64 segment, index_t begin, index_t end, uint64 n) {
    if (begin > end || (uint64)begin > n || (uint64)end > n)
        f->bad = segment < f->bad ? segment : f->bad;
    else if (begin == end)
        f->empty = segment < f->empty ? segment : f->empty;
}

/* *refused: bit 0 bad, bit 1 empty. where[] receives the complement of the least segment, of each kind. */
inline void tell(const findings &f, bool refuses_empty, uint32 *refused, uint64 *where) {
    if (f.bad != NOT_FOUND) {
        atomicOr(refused, 1);
        atomicMax(&where[0], ~f.bad);
    }
    if (refuses_empty && f.empty != NOT_FOUND) {
        atomicOr(refused, 2);
        atomicMax(&where[1], ~f.empty);
    }
}

/* The offsets of a vector of 16 bytes, and the one behind them. */
enum { OFFSETS = 16 / sizeof(index_t), OFFSETS_AHEAD = 4 /* vectors that a thread loads at a time */ };

inline void look_at_some(findings *f, const index_t *offsets, uint64 vectors, uint64 n, uint64 first) {
    index_t offset[OFFSETS_AHEAD][OFFSETS + 1];
    uint64 vector[OFFSETS_AHEAD];
#pragma unroll
    for (int k = 0; k < OFFSETS_AHEAD; k++) {
        uint64 wanted = first + k * (gridDim.x * (uint64)BLOCK);
        vector[k] = wanted < vectors ? wanted : first;
        uint4 bits = __ldcs((const uint4 *)offsets + vector[k]);
        memcpy(offset[k], &bits, 16);
        offset[k][OFFSETS] = offsets[(vector[k] + 1) * OFFSETS];
    }
#pragma unroll
    for (int k = 0; k < OFFSETS_AHEAD; k++)
#pragma unroll
        for (int j = 0; j < OFFSETS; j++)
            look_at(f, vector[k] * OFFSETS + j, offset[k][j], offset[k][j + 1], n);
}

/* The blocks together read all offsets. */
inline findings look_at_all(const index_t *offsets, uint64 segments, uint64 n) {
    findings f = {NOT_FOUND, NOT_FOUND};
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    uint64 first = 0;
    if (((uint64)offsets & 15) == 0) {
        const uint64 vectors = segments / OFFSETS;
        for (uint64 v = me; v < vectors; v += OFFSETS_AHEAD * stride)
            look_at_some(&f, offsets, vectors, n, v);
        first = vectors * OFFSETS;
    }
    for (uint64 g = first + me; g < segments; g += stride)
        look_at(&f, g, load(offsets + g), load(offsets + g + 1), n);
    if (me == 0 && (uint64)load(offsets + segments) > n)
        f.bad = segments < f.bad ? segments : f.bad;
    return f;
}

template <int Bytes> struct unsigned_of;
template <> struct unsigned_of<1> {
    typedef uint8 type;
};
template <> struct unsigned_of<2> {
    typedef uint16 type;
};
template <> struct unsigned_of<4> {
    typedef uint32 type;
};
template <> struct unsigned_of<8> {
    typedef uint64 type;
};

/* The blocks together go through all segments, some neighbouring ones a thread: use(are_there, segment, offsets) is
 * called by whole warps, with the offsets of those from 'segment' on and the one behind them, as numbers without sign. */
template <class Use> inline void go_through(const index_t *offsets, uint64 segments, Use use) {
    typedef typename unsigned_of<sizeof(index_t)>::type number;
    enum { AHEAD = 2, MINE = AHEAD * OFFSETS };
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    const uint64 shares = ((uint64)offsets & 15) == 0 ? segments / MINE : 0;
    number next[MINE + 1] = {};
    auto load_next = [&](const index_t *from) {
#pragma unroll
        for (int v = 0; v < AHEAD; v++) {
            const uint4 bits = ((const uint4 *)from)[v];
            memcpy(next + v * OFFSETS, &bits, 16);
        }
        next[MINE] = (number)from[MINE];
    };
    if (shares)
        load_next(offsets + (me < shares ? me : 0) * MINE);
#pragma unroll 1
    for (uint64 done = 0; done < shares; done += stride) {
        number now[MINE + 1];
        memcpy(now, next, sizeof now);
        const uint64 share = done + stride + me;
        if (share < shares)
            load_next(offsets + share * MINE); /* while the others are used */
        use(done + me < shares, (done + me < shares ? done + me : 0) * MINE, now);
    }
    for (uint64 done = shares * MINE; done < segments; done += stride) {
        const uint64 segment = done + me < segments ? done + me : segments - 1;
        const number offset[2] = {(number)load(offsets + segment), (number)load(offsets + segment + 1)};
        use(done + me < segments, segment, offset);
    }
}
/* The segments whose offsets an array has. */
template <class Offsets> constexpr int SEGMENTS_IN = sizeof(Offsets) / sizeof(index_t) - 1;

/* The largest offset that may be good. */
inline uint64 most_offset(uint64 n) {
    typedef typename unsigned_of<sizeof(index_t)>::type number;
    constexpr uint64 most = (index_t)-1 < (index_t)0 ? (number)~(number)0 >> 1 : (number)~(number)0;
    return n < most ? n : most;
}

/* The least segment that begins at 'position' or after it; 'segments' if there is none. Some offsets are looked at at a
 * time, since each search takes as long as its loads that wait for each other. */
inline uint64 first_from(const index_t *offsets, uint64 segments, uint64 position) {
    enum { AT_A_TIME = 7 };
    uint64 low = 0, high = segments;
#pragma unroll 1
    while (low < high) {
        const uint64 left = high - low, step = left > AT_A_TIME ? left / (AT_A_TIME + 1) : 1;
        uint32 before = 0;
#pragma unroll
        for (uint32 k = 0; k < AT_A_TIME; k++) {
            const uint64 at = low + (k + 1) * step - 1;
            before += at < high && (uint64)load(offsets + (at < high ? at : low)) < position;
        }
        const uint64 end = low + (before + 1) * step - 1;
        low += before * step;
        high = before < AT_A_TIME && end < high ? end : high;
    }
    return low;
}

/* The same by all lanes of a warp, which get the number: they look at as many offsets at a time. */
template <class Offset> inline uint64 first_by_warp(const Offset *offsets, uint64 segments, uint64 position) {
    const uint32 lane = threadIdx.x % WARP;
    uint64 low = 0, high = segments;
    while (low < high) {
        const uint64 left = high - low, step = left / (WARP + 1);
        const uint64 at = step ? low + (lane + 1) * step : low + lane; /* the last few are all looked at */
        const bool is_before = at < high && (uint64)load(offsets + at) < position;
        const uint32 before = __popc(__ballot_sync(ALL_LANES, is_before));
        if (!step)
            return low + before;
        high = before < WARP ? low + (before + 1) * step : high;
        low = before ? low + before * step + 1 : low;
    }
    return low;
}

enum { FEW_TILES = 4 /* tiles in whose first a thread writes the segment by itself */ };

/* Segment 'number' is the first that begins in tiles [from, to) or behind them. All lanes of a warp call this. */
__noinline__ void note_first(uint64 *first, uint64 number, uint64 from, uint64 to) {
    const bool are_many = from + FEW_TILES < to;
    if (!are_many)
#pragma unroll 1
        for (; from < to; from++)
            first[from] = number;
    for (uint32 lanes = __ballot_sync(ALL_LANES, are_many); lanes; lanes &= lanes - 1) {
        const int which = __ffs(lanes) - 1;
        const uint64 value = __shfl_sync(ALL_LANES, number, which), end = __shfl_sync(ALL_LANES, to, which);
#pragma unroll 1
        for (uint64 k = __shfl_sync(ALL_LANES, from, which) + threadIdx.x % WARP; k < end; k += WARP)
            first[k] = value;
    }
}
