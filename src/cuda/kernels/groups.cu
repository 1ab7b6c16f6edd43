/* Shared by reductions by segments and by keys. */

/* A chunk's parts of groups that cross its ends. */
struct cut {
    slot before; /* of the group that began in an earlier chunk and ends in this one */
    slot after;  /* of the group that continues after this chunk */
#if GROUPS == KEYS && NEEDS_START
    uint64 start; /* the beginning of the group that continues, if in this chunk */
    uint64 end;   /* the end of the group from before */
#endif
};
static_assert(sizeof(cut) == CUT_BYTES);

enum { NEAR = 8 /* chunks that a group may cross for one thread to fold their parts */ };

/* ---- memory ---- */

template <class T> __noinline__ void store_slowly(T *to, T value) {
    store(to, value);
}
template <class T> inline bool is_aligned(const T *at) {
    return ((uint64)at & (sizeof(T) - 1)) == 0;
}
inline void put(result_t *to, result_t result) {
    if (is_aligned(to))
        *to = result;
    else
        store_slowly(to, result);
}

#if GROUPS == SEGMENTS
inline uint64 begin_of(const groups_args &p, uint64 segment) {
    return (uint64)load(p.offsets + segment);
}

/* Whether tables of labels gave the results, so that nothing is to do. */
inline bool is_given(const groups_args &p) {
    return TAKES_TURNS && p.given_up && !*p.given_up;
}

/* A block checks all offsets, of one segment at least, and finds the first segments of 'Tiles' tiles from 'tile' on.
 * Returns what is refused, as in struct control, which the first block fills. All threads of the block call this. */
template <int Tiles> inline uint32 check_by_block(const groups_args &p, uint64 tile, uint64 *first) {
    __shared__ uint32 refused;
    if (threadIdx.x < Tiles)
        first[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        refused = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *p.told = control();
    __syncthreads();
    findings f = {NOT_FOUND, NOT_FOUND};
    const uint64 low = tile << p.tile_bits, high = (tile + Tiles - 1) << p.tile_bits;
#pragma unroll 1
    for (uint64 g = threadIdx.x; g < p.segments; g += BLOCK) {
        const uint64 begin = begin_of(p, g), end = begin_of(p, g + 1);
        look_at(&f, g, (index_t)begin, (index_t)end, p.n);
        if (g + 1 == p.segments || (begin < high && end >= low))
#pragma unroll 1
            for (int k = 0; k < Tiles; k++) { /* several segments may take a tile if offsets are bad */
                const uint64 at = (tile + k) << p.tile_bits;
                if (begin < at && (end >= at || g + 1 == p.segments))
                    atomicMax(&first[k], g + 1);
            }
    }
    const bool is_bad = f.bad != NOT_FOUND, is_empty = p.refuses_empty && f.empty != NOT_FOUND;
    if (is_bad || is_empty)
        atomicOr(&refused, is_bad | is_empty << 1);
    __syncthreads();
    if (blockIdx.x == 0 && refused)
        tell(f, p.refuses_empty, &p.told->refused, &p.told->not_bad);
    return refused;
}
#endif

/* ---- what a thread has of a tile whose first element is 'first' ---- */

#if IS_ARGMIN || IS_ARGMAX
/* The index counts from the tile's beginning, so it takes one register. */
typedef components<decltype(lane_t::a0), uint32> tile_lane;

inline uint64 index_from(uint64, uint32 e) {
    return e;
}
inline acc_t widen_from(uint64 first, const tile_lane &lane) {
    acc_t acc;
    acc.a0 = lane.a0;
    acc.a1 = lane.a1 == (uint32)NO_INDEX ? NO_INDEX : first + lane.a1;
    return acc;
}
#else
typedef lane_t tile_lane;

inline uint64 index_from(uint64 first, uint32 e) {
    return first + e;
}
inline acc_t widen_from(uint64, const tile_lane &lane) {
    return widen(lane);
}
#endif

/* ---- results as lanes ---- */

template <class T> constexpr bool IS_REAL = false;
template <> constexpr bool IS_REAL<float> = true;
template <> constexpr bool IS_REAL<double> = true;
template <bool AreNumbers, class L> constexpr bool HAS_REALS = false; /* a user's accumulator may be anything */
template <class L> constexpr bool HAS_REALS<true, L> = IS_REAL<decltype(L::a0)>;
constexpr bool IS_RESULT = /* a lane, bit by bit */
    LOWERS_DIRECTLY && sizeof(result_t) == sizeof(lane_t) && IS_REAL<result_t> == HAS_REALS<LOWERS_DIRECTLY, lane_t>;
enum { RESULT_KEEPS = RESULT_KEEPS_LANE || IS_RESULT }; /* a lane's result is all of it */

template <class T, class K> inline T lane_of(const K &result) {
    if constexpr (IS_REAL<T>)
        return value_of(result);
    else
        return (T)result;
}
template <class L, class K> inline L lane_from(const K &result) {
    L lane;
    if constexpr (!RESULT_KEEPS_LANE) {
        memcpy(&lane, &result, IS_RESULT ? sizeof lane : 0);
    } else if constexpr (sizeof(K) > sizeof(out_t)) { /* two values */
        lane.a0 = lane_of<decltype(lane.a0)>(result.first);
        lane.a1 = lane_of<decltype(lane.a1)>(result.second);
    } else {
        lane.a0 = lane_of<decltype(lane.a0)>(result);
    }
    return lane;
}

/* ---- joining ---- */

struct join_memory {
    alignas(16) uint8 of_warps[BLOCK / WARP][sizeof(acc_t)]; /* since the last border of each warp */
    uint32 has_border[BLOCK / WARP];
};

/* What a segmented scan over the threads of a block gives each of them. */
struct joined {
    acc_t before; /* of the threads before, since the last border among them */
    acc_t own;    /* since the last border in the warp, up to this thread */
    acc_t carry;  /* of the warps before, since the last border among them */
    bool is_after_border; /* in the warp */

    /* The sum since the last border, over the threads up to this one. */
    acc_t since() const {
        return is_after_border ? own : combine(carry, own);
    }
};

/* A thread has a border if a group begins or ends among its elements; 'acc' is what it has behind its last border. All
 * threads of the block call this. */
inline joined join(join_memory &s, bool has_border, acc_t acc) {
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const uint32 lanes = __ballot_sync(ALL_LANES, has_border), before_lane = lanes & ((1u << lane) - 1);
    const uint32 up_to = before_lane | (has_border ? 1u << lane : 0);
    const int since = up_to ? WARP - 1 - __clz(up_to) : 0;
    if (lanes != ALL_LANES)
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            const acc_t left = from_below(acc, d);
            if ((int)lane - d >= since)
                acc = combine(left, acc);
        }
    if (lane == WARP - 1) {
        *(acc_t *)s.of_warps[warp] = acc;
        s.has_border[warp] = lanes != 0;
    }
    acc_t before = from_below(acc, 1);
    __syncthreads();
    acc_t carry = identity_as<acc_t>();
#pragma unroll 1
    for (uint32 w = 0; w < warp; w++)
        carry = s.has_border[w] ? *(acc_t *)s.of_warps[w] : combine(carry, *(acc_t *)s.of_warps[w]);
    if (!before_lane)
        before = lane ? combine(carry, before) : carry;
    return {before, acc, carry, up_to != 0};
}
