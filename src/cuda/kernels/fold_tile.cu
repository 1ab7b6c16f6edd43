/* Shared by reductions by segments and by keys. The input is cut into tiles of consecutive elements, which pass through
 * shared memory. A bit for each element says whether a group begins there: such an element is a head. Each thread goes
 * over ITEMS neighbouring elements. The elements between two of its heads are a whole group. Those before its first
 * head and after its last are joined with the other threads' by a segmented scan. Results take the place of the
 * elements, in the order of their heads, so that they can be stored side by side. A group that reaches over several
 * tiles leaves a part in each, and the last launch folds those (fold_cuts.cu). The positions of the groups alone decide
 * which elements are folded in which order, so a result has the same bits every run. */
#ifndef HAS_SMALL_TILES /* small_tiles.cu sets it */
#define HAS_SMALL_TILES 0
#endif
enum {
    TILE = HAS_SMALL_TILES ? SMALL_FOLD_TILE : HAS_PARTS ? PARTS_TILE : FOLD_TILE, /* elements */
    WARPS = BLOCK / WARP,
    ITEMS = TILE / BLOCK,
    HEAD_WORDS = HAS_SUMS && GROUPS != KEYS ? 1 : TILE / WARP, /* segments that are differences need no bits */
    IS_IN_PLACE = FOLD_RESULTS == FOLD_TILE && !HAS_PARTS /* results take the place of the elements; else there is room for fewer */
};
/* What a head's place receives: the result, or, if lowering takes many instructions, the accumulator, or of a variance
 * the sum of the squares of distances from the mean. Threads lower those side by side when they write the results. */
template <bool Staged, bool IsSpread> struct kept_of {
    typedef result_t type;
};
template <> struct kept_of<true, false> {
    typedef acc_t type;
};
template <> struct kept_of<true, true> {
    typedef double type;
};
typedef kept_of<FOLD_STAGED, FOLD_SPREADS>::type kept_t;
constexpr bool LOWERS_BY_EXTENT = FOLD_STAGED && (NEEDS_START || FOLD_SPREADS); /* where groups begin and end */
enum { PLACE = TILE * (!IS_IN_PLACE || sizeof(in_t) > sizeof(kept_t) ? sizeof(in_t) : sizeof(kept_t)) /* bytes */ };
static_assert((HAS_SUMS || (ITEMS <= 2 * WARP && ITEMS <= LANE_LIMIT)) && ITEMS * sizeof(in_t) % 16 == 0);

struct tile_memory {
    alignas(16) uint32 heads[HEAD_WORDS]; /* a bit for each element */
    uint32 ranks[HEAD_WORDS]; /* the number of heads before each word */
    join_memory joins;
    alignas(16) uint8 before[sizeof(acc_t)], after[sizeof(acc_t)]; /* before the first head, and from the last on */
    uint32 first_head, last_head;
    uint32 goes_on; /* whether a group begins in the tile and goes on behind it */
    uint64 segments[2]; /* the first that begins in the tile or behind it, and the same of the next tile */
    uint32 has_end; /* whether the last segment of all ends in the tile, which is a head, too */
};

enum { A_VECTOR = 16 / sizeof(in_t) /* elements */, TILE_VECTORS = TILE / A_VECTOR };

/* A tile's memory, of so many bytes. Results may be stored to the place before the first, where nobody reads them. Behind
 * the last there is room for one more vector. */
template <int Bytes> struct tile_bytes {
    alignas(128) uint8 before[128]; /* so that copies of a warp keep to whole lines */
    uint8 bytes[Bytes + 128];
};
typedef tile_bytes<HAS_SECOND ? TILE * sizeof(in_t) : 16> second_bytes;

/* A tile in shared memory. */
struct tile {
    uint64 first; /* element */
    uint32 count;
    uint8 *x, *y;
    uint8 *results; /* of its heads */
    uint32 skew = 0, skew_of_y = 0; /* elements in front of the first one, in the vector that it lies in */

    /* The place of the result of a head, by its number. Threads whose heads are as many as a line has results would all
     * use the same bank, so each line of 128 bytes is permuted in its own way. Where there are at most a quarter as many
     * results as elements, or results of a byte, that would take longer than it saves. */
    kept_t *result(int number) const {
        return result_at(number * (int)sizeof(kept_t));
    }
    kept_t *result_at(int at) const { /* in bytes */
        constexpr int size = sizeof(kept_t), unit = size < 4 ? 4 : size;
        constexpr bool are_permuted = IS_IN_PLACE && size > 1 && 128 % size == 0;
        return (kept_t *)(results + (are_permuted ? at ^ (at >> 7) * unit & (128 - unit) : at));
    }
};

/* ---- memory ---- */

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

/* Elements [first, first + count) of an array of n, at any address. A vector is made of the two that it lies across,
 * where both are the array's. What is left at the ends of the array is less than three vectors, loaded element by
 * element. When a block loaded its whole tile so, minima of 441,855 f16 by keys took 23.0 us on an H100, and 13.5 now. */
__noinline__ void fetch_straddling(uint8 *memory, const in_t *array, uint64 n, uint64 first, uint32 count) {
    constexpr uint32 a_vector = 16 / sizeof(in_t);
    const in_t *from = array + first;
    const uint64 low = (uint64)from & ~15ull, inside = ((uint64)(array + n) - low) / 16; /* whole vectors from low on */
    const uint32 vectors = (count + a_vector - 1) / a_vector, begin = low < (uint64)array;
    const uint32 end = inside < 1 ? 0 : inside - 1 < vectors ? (uint32)inside - 1 : vectors;
#pragma unroll 4
    for (uint32 v = begin + threadIdx.x; v < end; v += BLOCK)
        *(uint4 *)(memory + placed(v * 16)) = load_straddling(from + v * a_vector);
    const uint32 rest = (begin < end ? end : begin) * a_vector, head = begin * a_vector;
    for (uint32 k = threadIdx.x; k < head || k - head + rest < count; k += BLOCK) {
        const uint32 e = k < head ? k : k - head + rest;
        if (e < count)
            *place_of<in_t>(memory, e) = load(from + e);
    }
}
template <int Bytes> inline void fetch_words(uint8 *memory, const uint8 *from) {
    constexpr uint32 bytes = TILE * sizeof(in_t), period = 2048; /* of placed() */
    const uint32 mine = threadIdx.x * Bytes, place = placed(mine);
#pragma unroll
    for (uint32 k = 0; k < bytes; k += BLOCK * Bytes)
        if (bytes % (BLOCK * Bytes) == 0 || k + mine < bytes)
            copy_async<Bytes>(memory + (place ^ placed(k % period)) + k / period * period, from + k + mine);
}
/* Starts to copy a tile of an array as it lies in memory: with what precedes it in its first vector, so that all copies
 * are of aligned vectors. Returns how many elements precede it. Vectors that are not wholly the array's are copied an
 * element at a time. Where addresses are not multiples of an element's size, elements come to the memory's beginning. */
inline uint32 fetch(uint8 *memory, const in_t *array, uint64 n, uint64 first, uint32 count) {
    const in_t *from = array + first;
    if (!is_aligned(from)) {
        fetch_straddling(memory, array, n, first, count);
        return 0;
    }
    const uint32 skew = (uint32)((uint64)from & 15) / sizeof(in_t), vectors = (skew + count + A_VECTOR - 1) / A_VECTOR;
    const in_t *base = from - skew;
    if (count == TILE && (skew == 0 || (first && first + TILE + A_VECTOR <= n))) {
        fetch_words<16>(memory, (const uint8 *)base);
        if (skew && threadIdx.x == 0)
            copy_async<16>(memory + placed(TILE_VECTORS * 16), base + TILE);
        return skew;
    }
#pragma unroll 1
    for (uint32 v = threadIdx.x; v < vectors; v += BLOCK) {
        const uint64 at = first + v * A_VECTOR; /* of its elements, and 'skew' more */
        if (at >= skew && at - skew + A_VECTOR <= n) {
            copy_async<16>(memory + placed(v * 16), base + v * A_VECTOR);
            continue;
        }
#pragma unroll 1
        for (uint32 k = 0; k < A_VECTOR; k++)
            if (at + k >= skew && at + k - skew < n)
                *place_of<in_t>(memory, v * A_VECTOR + k) = base[v * A_VECTOR + k];
    }
    return skew;
}
/* Starts to copy the block's tile. */
inline tile begin_tile(const groups_args &p, uint64 number, uint8 *x, uint8 *y, uint8 *results) {
    const uint64 first = number * TILE;
    tile t = {first, p.n - first < TILE ? (uint32)(p.n - first) : (uint32)TILE, x, y, results};
    t.skew = fetch(x, p.x, p.n, first, t.count);
    if (HAS_SECOND)
        t.skew_of_y = fetch(y, p.y, p.n, first, t.count);
    close_copies();
    return t;
}
/* Whether copies of a tile that is not the array's first or last one are of whole vectors. */
inline bool are_vectors(const groups_args &p) {
    return is_aligned(p.x) && (!HAS_SECOND || is_aligned(p.y));
}

/* Some elements of a tile that are a whole number of vectors, from vector 'at' of the tile on. */
template <uint32 Vectors> inline void read_vectors(const uint8 *memory, uint32 at, uint32 skew, in_t *to) {
    uint32 words[Vectors * 4 + 4];
#pragma unroll
    for (uint32 v = 0; v < Vectors; v++) {
        const uint4 bits = *(const uint4 *)(memory + placed((at + v) * 16));
        memcpy(words + v * 4, &bits, 16);
    }
    if (skew) {
        const uint32 bytes = skew * sizeof(in_t);
        const uint4 bits = *(const uint4 *)(memory + placed((at + Vectors) * 16));
        memcpy(words + Vectors * 4, &bits, 16);
        if (bytes & 8)
#pragma unroll
            for (uint32 w = 0; w < Vectors * 4 + 2; w++)
                words[w] = words[w + 2];
        if (sizeof(in_t) <= 4 && bytes & 4)
#pragma unroll
            for (uint32 w = 0; w < Vectors * 4 + 1; w++)
                words[w] = words[w + 1];
        if (sizeof(in_t) < 4 && bytes & 3)
#pragma unroll
            for (uint32 w = 0; w < Vectors * 4; w++)
                words[w] = __funnelshift_r(words[w], words[w + 1], bytes % 4 * 8);
    }
    memcpy(to, words, Vectors * 16);
}

/* ---- folding ---- */

inline uint64 index_in(const tile &t, uint32 e) {
    return index_from(t.first, e);
}
inline acc_t widen_in(const tile &t, const tile_lane &lane) {
    return widen_from(t.first, lane);
}

inline void add_element(brief<tile_lane> &sum, const tile &t, uint32 e) {
    value_t second = HAS_SECOND ? value_of(*place_of<in_t>(t.y, e + t.skew_of_y)) : value_t(0);
    sum.append(value_of(*place_of<in_t>(t.x, e + t.skew)), second, index_in(t, e));
}

/* Large accumulators would make unrolled code take minutes to compile. */
constexpr int AT_ONCE = sizeof(acc_t) <= 32 ? 4 : 1;

inline tile_lane fold_lane(const tile &t, uint32 begin, uint32 end, uint32 step) {
    brief<tile_lane> sum;
    uint32 e = begin;
    if (AT_ONCE > 1 && end > 3 * step) /* several loads at once, if there are several */
#pragma unroll 1
        for (; e < end - 3 * step; e += 4 * step)
#pragma unroll
            for (uint32 k = 0; k < 4; k++)
                add_element(sum, t, e + k * step);
#pragma unroll 1
    for (; e < end; e += step)
        add_element(sum, t, e);
    return sum.sum();
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
        acc = combine(acc, widen_in(t, fold_lane(t, e, e + at_most < mine.end ? e + at_most : mine.end, mine.step)));
    return acc;
}

/* The block folds a stretch; thread 0 has the result. */
inline acc_t fold_together(const tile &t, uint32 begin, uint32 end) {
    return fold_block<BLOCK>(fold_part(t, part_of(begin, end, BLOCK, threadIdx.x)));
}

/* The whole tile. */
inline acc_t fold_whole(const tile &t) {
    constexpr uint32 a_vector = A_VECTOR, mine = TILE / BLOCK / a_vector;
    if (!COMMUTES || HAS_SECOND || !mine || AT_ONCE == 1 || t.count < TILE)
        return fold_together(t, 0, t.count);
    acc_t acc = identity_as<acc_t>();
    brief<tile_lane> lane;
#pragma unroll
    for (uint32 v = 0; v < mine; v++) {
        uint32 at = v * BLOCK + threadIdx.x;
        in_t items[a_vector];
        read_vectors<1>(t.x, at, t.skew, items);
#pragma unroll
        for (uint32 k = 0; k < a_vector; k++)
            lane.append(value_of(items[k]), value_t(0), index_in(t, at * a_vector + k));
        if (v + 1 == mine || (v + 1) * a_vector % LANE_LIMIT == 0) {
            acc = combine(acc, widen_in(t, lane.sum()));
            lane = {};
        }
    }
    return fold_block<BLOCK>(acc);
}

/* ---- heads ---- */

/* Numbers the heads once all bits are there, and returns how many there are. All threads of the block call this; the
 * numbers are known after the next barrier. Each warp counts all words, so none waits for another. */
inline uint32 rank_heads(tile_memory &s) {
    enum { OF_LANE = HEAD_WORDS > WARP ? HEAD_WORDS / WARP : 1 };
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    uint32 mine[OF_LANE], sum = 0;
#pragma unroll
    for (uint32 w = 0; w < OF_LANE; w++) {
        mine[w] = lane * OF_LANE < HEAD_WORDS ? __popc(s.heads[lane * OF_LANE + w]) : 0;
        sum += mine[w];
    }
    const uint32 own = sum;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const uint32 left = __shfl_up_sync(ALL_LANES, sum, d);
        if (lane >= d)
            sum += left;
    }
    uint32 before = sum - own;
    if (lane / (WARP / WARPS) == warp && lane * OF_LANE < HEAD_WORDS)
#pragma unroll
        for (uint32 w = 0; w < OF_LANE; w++) {
            s.ranks[lane * OF_LANE + w] = before;
            before += mine[w];
        }
    return __shfl_sync(ALL_LANES, sum, WARP - 1);
}

/* The number of heads before a position of the tile. */
inline uint32 rank_of(const tile_memory &s, uint32 at) {
    return s.ranks[at / WARP] + __popc(s.heads[at / WARP] & ((1u << at % WARP) - 1));
}

/* The last head before a position; there is one. */
inline uint32 head_before(const tile_memory &s, uint32 at) {
    uint32 word = at / WARP, bits = at % WARP ? s.heads[word] & ((1u << at % WARP) - 1) : 0;
    while (!bits)
        bits = s.heads[--word];
    return word * WARP + WARP - 1 - __clz(bits);
}

/* For what may already be wide. */
template <class A> struct widened {
    static acc_t of(const lane_t &lane) {
        return widen(lane);
    }
};
template <> struct widened<acc_t> {
    static acc_t of(const acc_t &acc) {
        return acc;
    }
};

/* What is kept of 'acc', of elements [begin, end) of the tile. */
template <class A> inline kept_t kept(const tile &t, const A &acc, uint32 begin, uint32 end) {
    if constexpr (FOLD_SPREADS)
        return acc.a3;
    else if constexpr (FOLD_STAGED)
        return widened<A>::of(acc);
    else if constexpr (LOWERS_CHEAPLY)
        return lower(acc, end - begin, ARE_SAME<A, tile_lane> ? index_in(t, begin) : t.first + begin);
    else
        return lower(widened<A>::of(acc), end - begin, t.first + begin);
}
/* The result of it, of 'count' elements from 'begin' on. */
template <class K> inline result_t result_of(const K &what, uint64 count, uint64 begin) {
    if constexpr (FOLD_SPREADS)
        return variance_of(0, what, small_number((uint32)count));
    else if constexpr (FOLD_STAGED)
        return lower(what, count, begin);
    else
        return what;
}

/* Whether what is kept of a lane's accumulator is all of it. Then a thread need not remember what it has before its first
 * head. */
constexpr bool KEEPS_ALL = (FOLD_STAGED && !FOLD_SPREADS) || RESULT_KEEPS;
template <class K> inline acc_t restored(const K &kept) {
    if constexpr (FOLD_STAGED && !FOLD_SPREADS)
        return kept;
    else
        return widen(lane_from<lane_t>(kept));
}

/* A thread's items, in registers. */
struct thread_items {
    in_t x[ITEMS], y[HAS_SECOND ? ITEMS : 1];

    void read(const tile &t) {
        constexpr uint32 vectors = ITEMS * sizeof(in_t) / 16;
        read_vectors<vectors>(t.x, threadIdx.x * vectors, t.skew, x);
        if (HAS_SECOND)
            read_vectors<vectors>(t.y, threadIdx.x * vectors, t.skew_of_y, y);
    }
    void add_to(brief<tile_lane> &sum, const tile &t, int k, bool is_first) const {
        sum.append_or_begin(is_first, value_of(x[k]), HAS_SECOND ? value_of(y[HAS_SECOND ? k : 0]) : value_t(0),
                index_in(t, threadIdx.x * ITEMS + k));
    }
};

/* A bit for each of a thread's items, in words: with 64 bits in one number, to look at one took three instructions. */
struct item_bits {
    enum { WORDS = ITEMS > WARP ? 2 : 1 };
    uint32 low = 0, high = 0;

    bool has(int k) const {
        return (WORDS == 1 || k < WARP ? low : high) >> k % WARP & 1;
    }
    bool has_some(int k, int count) const { /* all in one word */
        return (WORDS == 1 || k < WARP ? low : high) >> k % WARP & ((1u << count) - 1);
    }
    uint32 all() const {
        return low | high;
    }
    uint32 count() const {
        return __popc(low) + (WORDS > 1 ? __popc(high) : 0);
    }
    uint32 first() const { /* there is one */
        return WORDS == 1 || low ? __ffs(low) - 1 : WARP + __ffs(high) - 1;
    }
    uint32 last() const {
        return WORDS > 1 && high ? 2 * WARP - 1 - __clz(high) : WARP - 1 - __clz(low);
    }
    void drop_first() {
        high &= low ? high : high - 1;
        low &= low - 1;
    }
    void add(uint32 k) {
        low |= k < WARP ? 1u << k : 0;
        high |= k < WARP ? 0 : 1u << k % WARP;
    }
};

inline item_bits heads_of_thread(const tile_memory &s) {
    constexpr uint32 a_word = ITEMS < WARP ? ITEMS : WARP;
    const uint32 begin = threadIdx.x * ITEMS, word = s.heads[begin / WARP] >> begin % WARP;
    item_bits bits;
    bits.low = a_word < WARP ? word & ((1u << a_word % WARP) - 1) : word;
    if (item_bits::WORDS > 1)
        bits.high = s.heads[begin / WARP + 1];
    return bits;
}
