/* What reductions by segments and by keys share. The input is cut into tiles of consecutive elements, which pass through
 * shared memory. There, groups are just stretches of the tile: a short one is folded by one thread, a longer one by a
 * warp, a tile without any bound by the whole block. Of groups that reach over several tiles the parts are kept, and
 * the last launch folds those (fold_cuts.cu). Which elements are folded in which order follows from where the groups
 * begin and end alone, so that a result is the same bits every run. */
struct control {
    uint64 runs; /* of keys */
    uint64 not_bad, not_empty;
    uint32 refused; /* not 0: the offsets are bad, or the output too small; nothing is written */
    uint32 crowded; /* tiles that have left their empty segments to fold_cuts */
};

/* Parts of groups that reach beyond a chunk. */
struct cut {
    slot before; /* of the group that began in an earlier chunk and ends in this one */
    slot after;  /* of the group that goes on behind this chunk */
#if GROUPS == KEYS && NEEDS_START
    uint64 start; /* of that one, which began in this chunk */
    uint64 end;   /* of the other one */
#endif
};
static_assert(sizeof(cut) == CUT_BYTES);

struct groups_args {
    const in_t *x, *y;
    result_t *out;
    const index_t *index; /* offsets or keys */
    index_t *keys_out;
    uint64 n, segments;
    uint64 room; /* KEYS: results that the outputs hold */
    uint64 tiles, chunk, chunks; /* chunk: tiles that one block takes, one after the other */
    cut *cuts;                   /* a chunk */
    uint64 *of_tile;             /* SEGMENTS: the first that begins in it or after it; KEYS: what is found in it */
    control *told;
    uint32 check_before, check_while_running, refuses_empty;
};

enum {
    TILE = FOLD_TILE, /* elements */
    NEAR = 8,         /* chunks that one thread folds, where a group reaches over several */
    WARPS = BLOCK / WARP,
    SHORT = 64,   /* elements that a thread takes of one group */
    LONG = 1024,  /* from here on a stretch is the whole block's */
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
    uint32 goes_on; /* whether a group begins in the tile and goes on behind it */
};

/* A tile in shared memory. */
struct tile {
    uint64 first; /* element */
    uint32 count;
    uint8 *x, *y;
};

/* ---- elements in shared memory ---- */

/* Vectors of 16 bytes change places within each 128 bytes, so that neither threads that work on stretches of equal
 * length nor those that copy neighbouring vectors meet in a bank. */
template <class T> inline T *place_of(uint8 *memory, uint32 element) {
    uint32 at = element * sizeof(T);
    return (T *)(memory + (at ^ ((at >> 3 ^ at >> 6) & 0x70)));
}

template <int Bytes> inline void copy_async(void *to, const void *from) {
#if TALLY_ARCHITECTURE >= 80
    const uint32 shared = (uint32)__cvta_generic_to_shared(to);
    if (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(Bytes) : "memory");
#else
    typedef typename word_of<Bytes>::type word;
    *(word *)to = *(const word *)from;
#endif
}
inline void close_copies() {
#if TALLY_ARCHITECTURE >= 80
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* Until all but the last groups of this thread's copies are there. */
template <int Last> inline void wait_for_copies() {
#if TALLY_ARCHITECTURE >= 80
    asm volatile("cp.async.wait_group %0;" ::"n"(Last) : "memory");
#endif
}

template <int Most, class T> inline void fetch(uint8 *memory, const T *from, uint32 count) {
    constexpr int a_vector = 16 / sizeof(T), single = sizeof(T) < 4 ? 4 : sizeof(T);
    uint32 done = 0;
    if (((uint64)from & 15) == 0) {
        const uint32 vectors = count / a_vector;
#pragma unroll
        for (uint32 k = 0; k < Most / a_vector; k += BLOCK)
            if (k + threadIdx.x < vectors)
                copy_async<16>(place_of<uint4>(memory, k + threadIdx.x), (const uint4 *)from + k + threadIdx.x);
        done = vectors * a_vector;
    } else if (sizeof(T) >= 4 && ((uint64)from & (sizeof(T) - 1)) == 0) {
        for (uint32 e = threadIdx.x; e < count; e += BLOCK)
            copy_async<single>(place_of<T>(memory, e), from + e);
        done = count;
    }
#pragma unroll 4
    for (uint32 e = done + threadIdx.x; e < count; e += BLOCK)
        *place_of<T>(memory, e) = load(from + e);
}
inline void fetch_tile(const groups_args &p, const tile &t) {
    fetch<TILE>(t.x, p.x + t.first, t.count);
    if (HAS_SECOND)
        fetch<TILE>(t.y, p.y + t.first, t.count);
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
#pragma unroll AT_ONCE
    for (uint32 e = begin; e < end; e += step)
        lane = combine(lane, lift_at(t, e));
    return lane;
}

/* As many as there may be. */
inline acc_t fold_some(const tile &t, uint32 begin, uint32 end, uint32 step) {
    const uint32 at_most = (LANE_LIMIT < TILE ? LANE_LIMIT : TILE) * step;
    acc_t acc = identity_as<acc_t>();
    for (uint32 e = begin; e < end; e += at_most)
        acc = combine(acc, widen(fold_lane(t, e, e + at_most < end ? e + at_most : end, step)));
    return acc;
}

/* Elements of a stretch that is shared by 'threads'. Where the operator does not commute they are consecutive. */
struct part {
    uint32 begin, end, step;
};
inline part part_of(uint32 begin, uint32 end, uint32 threads, uint32 number) {
    if (COMMUTES)
        return {begin + number, end, threads};
    uint32 each = (end - begin + threads - 1) / threads, first = begin + number * each;
    return {first, first + each < end ? first + each : end, 1};
}

/* Folds what 'width' neighbouring threads have, a power of two, in their order; the first has the result. */
inline acc_t fold_threads(acc_t acc, uint32 width) {
    for (uint32 d = 1; d < width; d *= 2) {
        acc_t next = from_above(acc, d);
        if ((threadIdx.x & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return acc;
}

/* A warp folds a stretch. */
inline acc_t fold_stretch(const tile &t, uint32 begin, uint32 end) {
    const part mine = part_of(begin, end, WARP, threadIdx.x % WARP);
    return fold_threads(fold_some(t, mine.begin, mine.end, mine.step), WARP);
}

/* The block folds one; thread 0 has the result. */
inline acc_t fold_together(const tile &t, uint32 begin, uint32 end) {
    const part mine = part_of(begin, end, BLOCK, threadIdx.x);
    return fold_block(fold_some(t, mine.begin, mine.end, mine.step));
}

/* The whole tile. */
inline acc_t fold_whole(const tile &t) {
    constexpr uint32 a_vector = 16 / sizeof(in_t), mine = TILE / BLOCK / a_vector;
    static_assert(!mine || mine * a_vector <= LANE_LIMIT);
    if (!COMMUTES || HAS_SECOND || !mine || t.count < TILE)
        return fold_together(t, 0, t.count);
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
    }
    return fold_block(widen(lane));
}

/* Only stretches that overlap, from bad offsets that are found out while running, are too many. */
inline void leave_to_warps(tile_memory &s, uint32 begin, uint32 end, result_t *to, tile_end which = WITHIN) {
    uint32 at = atomicAdd(&s.count, 1);
    if (at < LONGER)
        s.longer[at] = {begin, end, to, which};
    if (which == GOES_ON)
        s.goes_on = 1;
}

/* The number of threads that share each of so many groups, so that most have something to do. */
inline uint32 width_for(uint64 groups) {
    uint32 width = 1;
    while (width < WARP && 2 * width * groups <= BLOCK)
        width *= 2;
    return width;
}

/* A group that lies within the tile, [begin, end) of it, by 'width' neighbouring threads. All of a warp come here, also
 * those who have no group: begin == end. */
inline void fold_group(tile_memory &s, const tile &t, uint32 begin, uint32 end, uint32 width, result_t *to) {
    const uint32 number = threadIdx.x & (width - 1);
    const bool is_short = end - begin <= SHORT * width;
    if (!is_short && number == 0)
        leave_to_warps(s, begin, end, to);
    const part mine = part_of(begin, is_short ? end : begin, width, number);
    const acc_t acc = fold_threads(widen(fold_lane(t, mine.begin, mine.end, mine.step)), width);
    if (is_short && number == 0 && begin < end)
        store(to, lower(acc, end - begin, t.first + begin));
}

/* Stretches that are left, when all have come past a barrier. The whole block comes here. */
inline void fold_longer(tile_memory &s, const tile &t) {
    const uint32 count = s.count < LONGER ? s.count : (uint32)LONGER;
    for (uint32 k = 0; k < count; k++) {
        const stretch l = s.longer[k];
        const bool is_long = l.end - l.begin > LONG;
        if (!is_long && k % WARPS != threadIdx.x / WARP)
            continue;
        acc_t acc = is_long ? fold_together(t, l.begin, l.end) : fold_stretch(t, l.begin, l.end);
        if (is_long ? threadIdx.x : threadIdx.x % WARP)
            continue;
        if (l.end_of_tile)
            *(acc_t *)(l.end_of_tile == FROM_BEFORE ? s.before : s.after) = acc;
        else
            store(l.to, lower(acc, l.end - l.begin, t.first + l.begin));
    }
}
