/* Shared by reductions by segments and by keys. */
#ifndef HAS_PARTS /* by_parts.cu sets it, for some segments */
#define HAS_PARTS (GROUPS == KEYS && PARTS_TILE)
#endif
#define HAS_SUMS (DIFFERENCES || HAS_PARTS) /* of a tile, which then has no results */

/* A chunk's parts of groups that cross its ends. */
struct cut {
    slot before; /* of the group that began in an earlier chunk and ends in this one */
    slot after;  /* of the group that continues after this chunk */
#if GROUPS == KEYS && NEEDS_START
    uint64 start; /* the beginning of the group that continues, if in this chunk */
    uint64 end;   /* the end of the group from before */
#elif GROUPS == SEGMENTS
    uint64 next;       /* the first segment that begins in the chunk or after it */
    uint64 start, end; /* of the segment before that */

    void tell(uint64 first, uint64 start_before, uint64 begin) {
        next = first;
        start = start_before;
        end = begin;
    }
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

template <class T> inline T add_lanes(T value) {
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        value += __shfl_xor_sync(ALL_LANES, value, d);
    return value;
}
#if TALLY_ARCHITECTURE >= 80
template <> inline uint32 add_lanes(uint32 value) {
    return __reduce_add_sync(ALL_LANES, value);
}
#endif

#if GROUPS == SEGMENTS
inline uint64 begin_of(const groups_args &p, uint64 segment) {
    return (uint64)load(p.offsets + segment);
}

/* Whether tables of labels gave the results, so that nothing is to do. */
inline bool is_given(const groups_args &p) {
    return TAKES_TURNS && p.given_up && !*p.given_up;
}

/* Whether the launch before the folds has found where segments end, and has ended: then the last launch need not wait to
 * ask. Else tiles tell it. */
inline bool ends_stand(const groups_args &p) {
    return !p.checks_alone && !p.is_apart && p.speculative < p.tiles;
}

constexpr uint32 HANDED_AT_ONCE = sizeof(acc_t) <= 8 ? 4 : sizeof(acc_t) <= 16 ? 2 : 1;
enum { HANDED_OF_WARP = 2 * WARP /* parts that a warp folds; more are the block's */ };

/* The segment [start, end) began in an earlier tile, and tile 'number' has 'own' of it: its result, of the parts that the
 * tiles since then hand over. The first of the threads has 'own'. */
template <uint32 Threads>
inline void end_handed(const groups_args &p, uint64 number, uint64 segment, uint64 start, uint64 end, const acc_t &own) {
    const uint64 first = start >> p.tile_bits;
    const acc_t before = fold_handed<Threads, HANDED_AT_ONCE>(p.handed + first, (uint32)(number - first));
    if (threadIdx.x % Threads == 0)
        store(p.out + segment, lower(combine(before, own), end - start, start));
}

/* What each warp of a block has counted. */
struct counts_of_warps {
    uint32 count[BLOCK / WARP];

    uint32 all() const {
        uint32 sum = 0;
#pragma unroll
        for (uint32 w = 0; w < BLOCK / WARP; w++)
            sum += count[w];
        return sum;
    }
};

/* A block checks all offsets, of one segment at least, and counts the segments that begin before 'Tiles' tiles from 'tile'
 * on: so many, in shared memory, is the number of a tile's first one. Returns what is refused, as in struct control,
 * which the first block fills. All threads of the block call this. Loads of several offsets are under way together. */
template <int Tiles> inline uint32 check_by_block(const groups_args &p, uint64 tile, counts_of_warps (&before)[Tiles]) {
    typedef typename unsigned_of<sizeof(index_t)>::type number;
    enum { AT_A_TIME = 4 };
    __shared__ uint32 wrong_of[BLOCK / WARP];
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *p.told = control();
    const number most = (number)most_offset(p.n);
    const uint32 segments = (uint32)p.segments, warp = threadIdx.x / WARP;
    /* whole vectors, where they are aligned, and then the others one by one */
    const uint32 of_vectors = ((uint64)p.offsets & 15) == 0 ? segments / OFFSETS * OFFSETS : 0, end = of_vectors / OFFSETS;
    uint32 wrong = 0, mine[Tiles] = {};
    const auto look = [&](bool is_there, number begin, number end) {
        const uint32 is_wrong = (begin > end || end > most ? REFUSED_BAD : 0) | (begin == end ? REFUSED_EMPTY : 0);
        wrong |= is_there ? is_wrong : 0;
#pragma unroll
        for (uint32 k = 0; k < Tiles; k++)
            mine[k] += is_there && begin < (tile + k) << p.tile_bits;
    };
    uint32 single = of_vectors + threadIdx.x;
    number begin = 0, behind = 0; /* of that one */
    const bool are_aligned = is_aligned(p.offsets);
    const auto load_single = [&] {
        const index_t *at = p.offsets + (single < segments ? single : 0);
        begin = (number)(are_aligned ? at[0] : load_slowly(at));
        behind = (number)(are_aligned ? at[1] : load_slowly(at + 1));
    };
    load_single();
#pragma unroll 1
    for (uint32 first = threadIdx.x; first < end; first += AT_A_TIME * BLOCK) {
        number offset[AT_A_TIME][OFFSETS + 1];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++) {
            const uint32 v = first + j * BLOCK < end ? first + j * BLOCK : end - 1;
            const uint4 bits = ((const uint4 *)p.offsets)[v];
            memcpy(offset[j], &bits, 16);
            offset[j][OFFSETS] = (number)p.offsets[(v + 1) * OFFSETS];
        }
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
#pragma unroll
            for (uint32 o = 0; o < OFFSETS; o++)
                look(first + j * BLOCK < end, offset[j][o], offset[j][o + 1]);
    }
#pragma unroll 1
    for (; single < segments; load_single()) {
        look(true, begin, behind);
        single += BLOCK;
    }
    if (!p.refuses_empty)
        wrong &= REFUSED_BAD;
    wrong = (__ballot_sync(ALL_LANES, wrong & REFUSED_BAD) ? REFUSED_BAD : 0) |
            (__ballot_sync(ALL_LANES, wrong & REFUSED_EMPTY) ? REFUSED_EMPTY : 0);
#pragma unroll
    for (uint32 k = 0; k < Tiles; k++)
        mine[k] = add_lanes(mine[k]);
    if (threadIdx.x % WARP == 0) {
        wrong_of[warp] = wrong;
#pragma unroll
        for (uint32 k = 0; k < Tiles; k++)
            before[k].count[warp] = mine[k];
    }
    __syncthreads();
    uint32 refused = 0;
#pragma unroll
    for (uint32 w = 0; w < BLOCK / WARP; w++)
        refused |= wrong_of[w];
    if (blockIdx.x == 0 && refused) {
        findings f = {NOT_FOUND, NOT_FOUND};
        for (uint32 g = threadIdx.x; g < segments; g += BLOCK)
            look_at(&f, g, (index_t)begin_of(p, g), (index_t)begin_of(p, g + 1), p.n);
        tell(f, p.refuses_empty, &p.told->refused, &p.told->not_bad);
    }
    return refused;
}
#endif

/* ---- what a thread has of a tile whose first element is 'first' ---- */

#if HAS_PLACE_KEYS
/* A word holds a narrow integer and, below it, its place in the tile, so that one comparison tells which goes first. No
 * element has the last place. Of the largest integers complements are compared. */
struct tile_lane {
    typedef decltype(lane_t::a0) word;
    enum : uint32 { NO_PLACE = 0xffff, FLIPS = IS_ARGMAX ? (uint32)(in_t)~0u << 16 : 0 };
    word key;

    static tile_lane of(value_t x, uint32 place) {
        return {(word)(((uint32)x << 16 ^ FLIPS) | place)};
    }
    uint32 place() const {
        return (uint32)key & NO_PLACE;
    }
    word number() const {
        return (word)(in_t)((uint32)key >> 16 ^ FLIPS >> 16);
    }
};
template <> inline tile_lane identity_as<tile_lane>() {
    return {(tile_lane::word)(value_t(-1) < value_t(0) ? 0x7fffffffu : 0xffffffffu)};
}
inline tile_lane combine(tile_lane left, tile_lane right) {
    return {left.key < right.key ? left.key : right.key};
}
inline result_t lower(tile_lane lane, uint64, uint64 start) {
    return output<out_t>::of((int64)lane.place() - (int64)start);
}
template <> struct running<tile_lane> {
    tile_lane best = identity_as<tile_lane>();

    void append(value_t x, value_t, uint64 i) {
        best = combine(best, tile_lane::of(x, (uint32)i));
    }
    void append_or_begin(bool is_first, value_t x, value_t, uint64 i) {
        const tile_lane next = tile_lane::of(x, (uint32)i);
        best = is_first ? next : combine(best, next);
    }
    tile_lane sum() const {
        return best;
    }
};

inline acc_t widen_from(uint64 first, tile_lane lane) {
    acc_t acc = identity_as<acc_t>();
    if (lane.place() == tile_lane::NO_PLACE)
        return acc;
    acc.a0 = lane.number();
    acc.a1 = first + lane.place();
    return acc;
}
#elif IS_ARGMIN || IS_ARGMAX
/* The index counts from the tile's beginning, so it takes one register. */
typedef components<decltype(lane_t::a0), uint32> tile_lane;

inline acc_t widen_from(uint64 first, const tile_lane &lane) {
    acc_t acc;
    acc.a0 = lane.a0;
    acc.a1 = lane.a1 == (uint32)NO_INDEX ? NO_INDEX : first + lane.a1;
    return acc;
}
#else
typedef lane_t tile_lane;

inline acc_t widen_from(uint64, const tile_lane &lane) {
    return widen(lane);
}
#endif
inline uint64 index_from(uint64 first, uint32 e) {
    return IS_ARGMIN || IS_ARGMAX ? e : first + e;
}

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
#if IS_LOGSUMEXP
    /* One exponential: of the largest value up to the next border, where the sum is complete. */
    const uint32 behind = lanes & ~((2u << lane) - 1);
    const auto own = acc.a0;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const auto left = from_below(acc.a0, d);
        acc.a0 = (int)lane - d >= since ? larger(left, acc.a0) : acc.a0;
    }
    acc.a0 = from_lane(acc.a0, behind ? __ffs(behind) - 2 : WARP - 1);
    acc.a1 = own == acc.a0 ? acc.a1 : acc.a1 * exp_below(own - acc.a0);
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const auto left = from_below(acc.a1, d);
        acc.a1 += (int)lane - d >= since ? left : decltype(left)(0);
    }
#else
    if (lanes != ALL_LANES)
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            const acc_t left = from_below(acc, d);
            if ((int)lane - d >= since)
                acc = combine(left, acc);
        }
#endif
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
