/* Shared by reductions by segments and by keys. The input is cut into tiles of consecutive elements, which pass through
 * shared memory. There a group is just a stretch of the tile. One thread or a few fold a short stretch, a warp a longer
 * one, and the whole block a very long one or a tile without a boundary. The parts of groups that cross several tiles
 * are kept, and the last launch folds them (fold_cuts.cu). Only the groups' boundaries decide which elements are folded
 * in which order, so a result has the same bits every run.
 *
 * The limit is not memory but the instructions that go with each tile, so a tile has few threads with many elements
 * each: measured on an H200, 128 threads of 32 elements against 256 of 16. */
enum {
    TILE = FOLD_TILE, /* elements */
    WARPS = BLOCK / WARP,
    SHORT = 64, /* elements of one group that a thread folds */
    LONG = TILE / 2, /* from this length on the whole block folds a stretch */
    LONGER = TILE / (SHORT + 1) + 2 /* stretches of more than SHORT elements, and the two ends */
};
static_assert(SHORT <= LANE_LIMIT);

enum tile_end { WITHIN, FROM_BEFORE, GOES_ON };
struct stretch {
    uint32 begin, end;
    result_t *to;
    tile_end end_of_tile; /* instead of a group that lies within the tile */
};

struct tile_memory {
    stretch longer[LONGER];
    alignas(16) uint8 before[sizeof(acc_t)], after[sizeof(acc_t)]; /* of the stretches at the tile's ends */
    uint32 count;   /* of 'longer' */
    uint32 goes_on; /* whether a group begins in the tile and ends after it */
};

/* A tile in shared memory. */
struct tile {
    uint64 first; /* element */
    uint32 count;
    uint8 *x, *y;
};

/* ---- memory ---- */

template <int Bytes> struct unsigned_of;
template <> struct unsigned_of<4> {
    typedef uint32 type;
};
template <> struct unsigned_of<8> {
    typedef uint64 type;
};

/* Permutes the vectors of 16 bytes within each 128 bytes, so that neither threads that work on stretches of equal
 * length nor threads that copy neighbouring vectors cause bank conflicts. The pattern repeats every 2048 bytes. */
inline uint32 placed(uint32 at) {
    return at ^ ((at >> 3 ^ (at >> 6 & 0x10)) & 0x70);
}
static_assert(BLOCK * 16 % 2048 == 0);
template <class T> inline T *place_of(uint8 *memory, uint32 element) {
    return (T *)(memory + placed(element * sizeof(T)));
}

template <int Bytes> inline void copy_async(uint8 *to, const void *from) {
#if TALLY_ARCHITECTURE >= 80
    copy_ahead<Bytes>(to, from);
#else
    typedef typename word_of<Bytes>::type word;
    *(word *)to = *(const word *)from;
#endif
}
inline void close_copies() {
#if TALLY_ARCHITECTURE >= 80
    end_copies_ahead();
#endif
}
/* Waits until all but the last groups of this thread's copies have arrived. */
template <int Last> inline void wait_for_copies() {
#if TALLY_ARCHITECTURE >= 80
    wait_for_copies_ahead<Last>();
#endif
}

/* Elements that are not a whole tile or not aligned. */
__noinline__ void fetch_slowly(uint8 *memory, const in_t *from, uint32 count) {
    constexpr int single = sizeof(in_t) < 4 ? 4 : sizeof(in_t);
#pragma unroll 4
    for (uint32 e = threadIdx.x; e < count; e += BLOCK)
        if (sizeof(in_t) >= 4 && is_aligned(from))
            copy_async<single>((uint8 *)place_of<in_t>(memory, e), from + e);
        else
            *place_of<in_t>(memory, e) = load(from + e);
}
/* Starts to copy a tile of global memory to the positions of place_of. */
inline void fetch(uint8 *memory, const in_t *from, uint32 count) {
    constexpr uint32 bytes = TILE * sizeof(in_t);
    if (count < TILE || ((uint64)from & 15)) {
        fetch_slowly(memory, from, count);
        return;
    }
    const uint32 mine = threadIdx.x * 16;
    uint8 *to = memory + placed(mine);
#pragma unroll
    for (uint32 k = 0; k < bytes; k += BLOCK * 16)
        if (bytes % (BLOCK * 16) == 0 || k + mine < bytes)
            copy_async<16>(to + k, (const uint8 *)from + mine + k);
}
inline void fetch_tile(const groups_args &p, const tile &t) {
    fetch(t.x, p.x + t.first, t.count);
    if (HAS_SECOND)
        fetch(t.y, p.y + t.first, t.count);
}

/* ---- folding ---- */

inline lane_t lift_at(const tile &t, uint32 e) {
    value_t second = HAS_SECOND ? value_of(*place_of<in_t>(t.y, e)) : value_t(0);
    return lift_as<lane_t>(value_of(*place_of<in_t>(t.x, e)), second, t.first + e);
}

/* Large accumulators would make unrolled code take minutes to compile. */
constexpr int AT_ONCE = sizeof(acc_t) <= 32 ? 4 : 1;

inline lane_t fold_lane(const tile &t, uint32 begin, uint32 end, uint32 step) {
    lane_t lane = identity_as<lane_t>();
    uint32 e = begin;
    if (AT_ONCE > 1 && end > 3 * step) /* several loads at once, if there are several */
#pragma unroll 1
        for (; e < end - 3 * step; e += 4 * step) {
            lane_t few[4];
#pragma unroll
            for (uint32 k = 0; k < 4; k++)
                few[k] = lift_at(t, e + k * step);
#pragma unroll
            for (uint32 k = 0; k < 4; k++)
                lane = combine(lane, few[k]);
        }
#pragma unroll 1
    for (; e < end; e += step)
        lane = combine(lane, lift_at(t, e));
    return lane;
}

/* The elements of a stretch that 'threads' threads share. If the operator does not commute they are consecutive. */
struct part {
    uint32 begin, end, step;
};
inline part part_of(uint32 begin, uint32 end, uint32 threads, uint32 number) {
    if (COMMUTES)
        return {begin + number, end, threads};
    uint32 each = (end - begin + threads - 1) / threads, first = begin + number * each;
    return {first, first + each < end ? first + each : end, 1};
}

/* As many elements as there may be. */
inline acc_t fold_part(const tile &t, const part &mine) {
    const uint32 at_most = (LANE_LIMIT < TILE ? LANE_LIMIT : TILE) * mine.step;
    acc_t acc = identity_as<acc_t>();
#pragma unroll 1
    for (uint32 e = mine.begin; e < mine.end; e += at_most)
        acc = combine(acc, widen(fold_lane(t, e, e + at_most < mine.end ? e + at_most : mine.end, mine.step)));
    return acc;
}

/* Folds the accumulators of 'width' neighbouring threads, a power of two, in order; the first thread has the result. */
inline acc_t fold_threads(acc_t acc, uint32 width) {
#pragma unroll 1
    for (uint32 d = 1; d < width; d *= 2) {
        acc_t next = from_above(acc, d);
        if ((threadIdx.x & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return acc;
}

/* A warp folds a stretch. */
inline acc_t fold_stretch(const tile &t, uint32 begin, uint32 end) {
    return fold_threads(fold_part(t, part_of(begin, end, WARP, threadIdx.x % WARP)), WARP);
}

/* The block folds a stretch; thread 0 has the result. */
inline acc_t fold_together(const tile &t, uint32 begin, uint32 end) {
    return fold_block<BLOCK>(fold_part(t, part_of(begin, end, BLOCK, threadIdx.x)));
}

/* The whole tile. */
inline acc_t fold_whole(const tile &t) {
    constexpr uint32 a_vector = 16 / sizeof(in_t), mine = TILE / BLOCK / a_vector;
    if (!COMMUTES || HAS_SECOND || !mine || AT_ONCE == 1 || t.count < TILE)
        return fold_together(t, 0, t.count);
    acc_t acc = identity_as<acc_t>();
    lane_t lane = identity_as<lane_t>();
#pragma unroll
    for (uint32 v = 0; v < mine; v++) {
        uint32 at = v * BLOCK + threadIdx.x;
        uint4 bits = *place_of<uint4>(t.x, at);
        in_t items[a_vector];
        memcpy(items, &bits, 16);
#pragma unroll
        for (uint32 k = 0; k < a_vector; k++)
            lane = combine(lane, lift_as<lane_t>(value_of(items[k]), value_t(0), t.first + at * a_vector + k));
        if (v + 1 == mine || (v + 1) * a_vector % LANE_LIMIT == 0) {
            acc = combine(acc, widen(lane));
            lane = identity_as<lane_t>();
        }
    }
    return fold_block<BLOCK>(acc);
}

/* ---- groups as stretches of a tile ---- */

/* Only stretches that overlap, from bad offsets that are found out while running, are too many. */
inline void leave_to_warps(tile_memory &s, uint32 begin, uint32 end, uint32 count, result_t *to) {
    uint32 at = atomicAdd(&s.count, 1);
    if (at < LONGER)
        s.longer[at] = {begin, end < count ? end : count, to, end > count ? GOES_ON : WITHIN};
    if (end > count)
        s.goes_on = 1;
}

/* The binary logarithm of the number of threads that share each of that many groups, so that most threads have work. */
inline uint32 shift_for(uint32 groups) {
    int shift = __clz(groups - 1) - __clz(BLOCK - 1);
    return shift < 0 ? 0 : shift < 5 ? shift : 5;
}

/* The accumulator of a stretch of 'count' elements. */
inline void give(tile_memory &s, const tile &t, const acc_t &acc, uint32 begin, uint32 count, result_t *to,
                 tile_end which) {
    if (which == WITHIN)
        put(to, lower(acc, count, t.first + begin));
    else
        *(acc_t *)(which == FROM_BEFORE ? s.before : s.after) = acc;
}

/* One thread's group, [begin, end) of the tile; if it ends after the tile, end > count. */
inline void fold_alone(tile_memory &s, const tile &t, uint32 begin, uint32 end, result_t *to) {
    if (end - begin <= SHORT && end <= t.count)
        put(to, lower(widen(fold_lane(t, begin, end, 1)), end - begin, t.first + begin));
    else
        leave_to_warps(s, begin, end, t.count, to);
}

/* The same for 1 << shift threads that share a group. All threads of a warp call this, also those without a group. */
inline void fold_shared(tile_memory &s, const tile &t, bool exists, uint32 begin, uint32 end, result_t *to,
                        uint32 shift) {
    const uint32 width = 1u << shift, number = threadIdx.x & (width - 1), last = end < t.count ? end : t.count;
    const tile_end which = end > t.count ? GOES_ON : WITHIN;
    const bool is_short = exists && last - begin <= SHORT << shift, leads = number == 0;
    if (exists && !is_short && leads)
        leave_to_warps(s, begin, end, t.count, to);
    const part mine = part_of(begin, is_short ? last : begin, width, number);
    const acc_t acc = fold_threads(widen(fold_lane(t, mine.begin, mine.end, mine.step)), width);
    if (is_short && leads) {
        give(s, t, acc, begin, last - begin, to, which);
        if (which == GOES_ON)
            s.goes_on = 1;
    }
}

/* The last warp, which has the least to do, folds the part of the group that is open where the tile begins. */
inline void fold_open(tile_memory &s, const tile &t, uint32 open) {
    if (open <= LONG && threadIdx.x / WARP == WARPS - 1) {
        acc_t acc = fold_stretch(t, 0, open);
        if (threadIdx.x % WARP == 0)
            *(acc_t *)s.before = acc;
    } else if (threadIdx.x == 0 && open > LONG) {
        s.longer[atomicAdd(&s.count, 1)] = {0, open, nullptr, FROM_BEFORE};
    }
}

/* The remaining stretches, after a barrier. The whole block calls this. */
inline void fold_longer(tile_memory &s, const tile &t) {
    const uint32 count = s.count < LONGER ? s.count : (uint32)LONGER;
#pragma unroll 1
    for (uint32 k = 0; k < count; k++) {
        const stretch l = s.longer[k];
        const bool is_long = l.end > l.begin + LONG;
        if (!is_long && k % WARPS != threadIdx.x / WARP)
            continue;
        acc_t acc = is_long ? fold_together(t, l.begin, l.end) : fold_stretch(t, l.begin, l.end);
        if ((is_long ? threadIdx.x : threadIdx.x % WARP) == 0)
            give(s, t, acc, l.begin, l.end - l.begin, l.to, l.end_of_tile);
    }
}
