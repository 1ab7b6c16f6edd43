/* Scans whose groups are consecutive elements: of all values, of rows, of segments, of runs of keys. One pass: each
 * block takes a tile in every wave (waves.cu) and moves it through a ring of places in shared memory, where different
 * warps work on different tiles at the same time. Loaders fetch; summers add a tile up and publish its sum at once; the
 * messenger gathers what comes before it; finishers scan it and put the results in the elements' place; the storer
 * writes them out. None waits for another but for a tile or for what comes before it.
 *
 * 'Logical' positions count in the direction of the scan; elements lie at 'physical' ones. */
struct scan_args {
    const in_t *x, *y;
    result_t *out;
    const index_t *index; /* offsets or keys */
    const out_t *initial;
    const slot *carry; /* what earlier pieces gave, or NULL */
    slot *total;       /* receives what this and earlier pieces give, or NULL */
    uint64 n, extent, segments;
    uint64 before;              /* elements in earlier pieces */
    uint64 tile, tiles;         /* elements a tile, at most TILE; tiles */
    const uint64 *first_offset; /* of each tile, in physical order, and one more: see place_offsets */
    const uint32 *refused;      /* not 0: the offsets are bad; nothing is written */
    struct entry *entries;      /* WAVES waves of gridDim.x; zero at the start */
};

constexpr int larger_of(int a, int b) {
    return a > b ? a : b;
}
enum {
    ITEMS = SCAN_ITEMS, /* a thread: whole vectors of 16 bytes of elements, results and keys */
    FINISHERS = SCAN_FINISHERS, /* threads that finish a tile */
    TEAMS = SCAN_TEAMS,         /* of finishers, who take tiles in turn */
    SUMMERS = SCAN_SUMMERS,
    RING = SCAN_RING, /* tiles in shared memory */
    TILE = FINISHERS * ITEMS,
    LOADERS = COPIES_IN_BULK ? WARP : 4 * WARP,
    STORERS = COPIES_IN_BULK ? WARP : 0,

    /* who is who, by the first thread */
    FIRST_STORER = LOADERS,
    MESSENGER = FIRST_STORER + STORERS,
    FIRST_SUMMER = MESSENGER + WARP,
    FIRST_FINISHER = FIRST_SUMMER + SUMMERS,
    THREADS = FIRST_FINISHER + TEAMS * FINISHERS,

    /* barriers */
    OF_SUMMERS = 1,
    OF_TEAMS,

    /* bytes of a tile in the ring; elements begin at the distance from a multiple of 16 that they have in memory */
    PLACE = TILE * larger_of(sizeof(in_t), sizeof(result_t)) + 16,
    KEY_PLACE = GROUPS == KEYS ? TILE * sizeof(index_t) + 16 : 0,
    MARKS = GROUPS == SEGMENTS ? TILE : 0,

    /* A block publishes at most RING tiles ahead of what it has finished, and so do the others: entries are used again
     * when nobody can be reading them. */
    WAVES = 2 * RING + 1
};
static_assert(THREADS == SCAN_THREADS && WAVES == SCAN_WAVES);

/* Large accumulators would make the unrolled code take minutes to compile; few and small ones are kept between two
 * passes. */
constexpr bool SMALL = sizeof(acc_t) <= 32, KEPT = sizeof(lane_t) <= 8 && ITEMS * sizeof(lane_t) <= 192;
constexpr int AT_ONCE = SMALL ? ITEMS : 1;

struct scratch {
    alignas(128) uint8 tile[RING][(PLACE + 127) / 128 * 128];
#if GROUPS == KEYS
    alignas(128) uint8 keys[RING][(KEY_PLACE + 127) / 128 * 128];
    index_t key_before[RING];
#endif
#if GROUPS == SEGMENTS
    alignas(16) uint8 marks[TEAMS][2][MARKS]; /* 1: a segment begins there, in the direction of the scan */
    uint64 written_from, written_to;          /* what all segments cover */
#endif
    gate full[RING], ready[RING], done[RING], empty[RING];
    alignas(16) uint8 prefix[RING][sizeof(record)];
    alignas(16) uint8 of_summers[2][SUMMERS / WARP * sizeof(lane_t)];
    int head_of_summers[2][SUMMERS / WARP];
    alignas(16) uint8 of_finishers[TEAMS][2][FINISHERS / WARP * (sizeof(lane_t) + 16)];
};
static_assert(sizeof(scratch) <= SCAN_SHARED_BYTES);

typedef place_in_ring<RING> place;

/* ---- tiles ---- */

struct tile {
    uint64 low;   /* physical position of its lowest element */
    uint64 first; /* logical position of its first element */
    uint64 rank;  /* among tiles, in physical order */
    int count;    /* elements */
};
inline tile tile_at(const scan_args &p, uint64 turn) {
    uint64 number = turn * gridDim.x + blockIdx.x;
    tile t;
    t.rank = REVERSE ? p.tiles - 1 - number : number;
    t.low = t.rank * p.tile;
    t.count = p.n - t.low < p.tile ? (int)(p.n - t.low) : (int)p.tile;
    t.first = REVERSE ? p.n - t.low - t.count : t.low;
    return t;
}
inline uint64 turns_of_block(const scan_args &p) {
    return (p.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
}
template <class T> inline int shift_of(const T *from) {
    return (int)((uint64)from & 15);
}
inline uint64 index_of(const scan_args &p, uint64 at, uint64 column) {
    return GROUPS == ROWS ? (REVERSE ? p.extent - 1 - column : column) : GROUPS == ALL ? at + p.before : at;
}
inline value_t partner_of(const scan_args &p, uint64 at) {
    return HAS_SECOND ? value_of(load(p.y + at)) : value_t(0);
}

inline uint64 remainder(uint64 a, uint64 b) {
    return (a | b) >> 32 ? a % b : (uint32)a % (uint32)b;
}

/* Whether the results of a tile go out as one copy in bulk: whole vectors at an aligned address. */
constexpr bool IN_LINE = sizeof(result_t) == sizeof(in_t);
inline bool goes_in_bulk(const scan_args &p, const tile &t, bool is_whole) {
    return COPIES_IN_BULK && IN_LINE && is_whole && shift_of(p.out + t.low) == 0 &&
           t.count * sizeof(result_t) % 16 == 0;
}

/* The part of a tile whose results are written: elements outside of all segments have none. */
struct part {
    int from, to;
};
inline part written_part(const scratch &s, const tile &t) {
#if GROUPS == SEGMENTS
    uint64 from = s.written_from, to = s.written_to;
    return {from > t.low ? from - t.low < t.count ? (int)(from - t.low) : t.count : 0,
            to < t.low + t.count ? to > t.low ? (int)(to - t.low) : 0 : t.count};
#else
    return {0, t.count};
#endif
}
inline bool is_whole(const part &w, const tile &t) {
    return w.from == 0 && w.to == t.count;
}

/* ---- loaders ---- */

/* Elements [from, from + count) of memory, to shared memory: whole vectors from aligned addresses, and single bytes at
 * both ends, since nothing outside of an array may be read. The vectors travel by themselves where they can, and are only
 * counted here. */
template <class T> inline void fetch(uint8 *to, const T *from, int count, uint32 *in_bulk) {
    uint64 begin = (uint64)from, end = (uint64)(from + count), first = begin + 15 & ~15ull, last = end & ~15ull;
    uint8 *memory = to - (begin & ~15ull); /* where address 0 would be */
    if (first > last)
        first = last = end;
    for (uint64 a = begin + threadIdx.x; a < first; a += LOADERS)
        memory[a] = *(const uint8 *)a;
    for (uint64 a = last + threadIdx.x; a < end; a += LOADERS)
        memory[a] = *(const uint8 *)a;
#if COPIES_IN_BULK
    *in_bulk += (uint32)(last - first);
#else
#pragma unroll 8
    for (uint64 a = first + 16 * threadIdx.x; a < last; a += 16 * LOADERS)
        *(uint4 *)&memory[a] = __ldcs((const uint4 *)a);
#endif
}
template <class T> inline void fetch_in_bulk(uint8 *to, const T *from, int count, gate *g) {
#if COPIES_IN_BULK
    uint64 begin = (uint64)from, end = (uint64)(from + count), first = begin + 15 & ~15ull, last = end & ~15ull;
    if (first < last)
        copy_in(to + (first - (begin & ~15ull)), (const void *)first, (uint32)(last - first), g);
#endif
}

inline void load_tiles(scratch &s, const scan_args &p, uint64 turns) {
    place here = {0, 0};
#if GROUPS == KEYS
    auto key_before = [&](uint64 turn) { /* of the element before the tile's first, in logical order */
        tile t = tile_at(p, turn);
        return t.first == 0 || turn >= turns ? index_t(0) : load(p.index + (REVERSE ? t.low + t.count : t.low - 1));
    };
    index_t next_key = key_before(0);
#endif
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        tile t = tile_at(p, turn);
        gate *full = &s.full[here.at];
        uint32 in_bulk = 0;
        s.empty[here.at].wait(here.parity ^ 1);
        fetch(s.tile[here.at], p.x + t.low, t.count, &in_bulk);
#if GROUPS == KEYS
        fetch(s.keys[here.at], p.index + t.low, t.count, &in_bulk);
        if (threadIdx.x == 0)
            s.key_before[here.at] = next_key;
        next_key = key_before(turn + 1);
#endif
        __syncwarp();
        if (threadIdx.x % WARP == 0) {
#if COPIES_IN_BULK
            arrive_and_expect(full, in_bulk);
            fetch_in_bulk(s.tile[here.at], p.x + t.low, t.count, full);
#if GROUPS == KEYS
            fetch_in_bulk(s.keys[here.at], p.index + t.low, t.count, full);
#endif
#else
            full->arrive();
#endif
        }
    }
}

/* ---- storer ---- */

#if COPIES_IN_BULK
inline void store_tiles(scratch &s, const scan_args &p, uint64 turns) {
    if (threadIdx.x % WARP != 0)
        return;
    place here = {0, 0}, last = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        tile t = tile_at(p, turn);
        s.done[here.at].wait(here.parity);
        if (goes_in_bulk(p, t, is_whole(written_part(s, t), t)))
            copy_out(p.out + t.low, s.tile[here.at], t.count * sizeof(result_t));
        end_copies_out();
        if (turn > 0) {
            wait_for_copies_out<1>();
            s.empty[last.at].arrive();
            last.advance();
        }
    }
    wait_for_copies_out<0>();
}
#endif

/* ---- where segments begin ---- */

#if GROUPS == SEGMENTS
/* The offsets that make heads in a tile. */
struct bounds {
    uint64 from;
    int count;
};
inline bounds bounds_at(const scan_args &p, uint64 turn, uint64 turns) {
    if (turn >= turns)
        return {0, 0};
    const uint64 *first = p.first_offset + tile_at(p, turn).rank;
    return {first[0], (int)(first[1] - first[0])};
}

/* A team marks the heads of its next tile while it works on this one: many segments begin in a tile or few, and the way
 * to their offsets is long. */
struct markers {
    enum { AHEAD = 2 }; /* offsets a thread that are on their way from one tile to the next */
    index_t few[AHEAD];
    bounds next;

    void load_few(const scan_args &p, int thread) {
        if (((uint64)p.index & (sizeof(index_t) - 1)) == 0) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (thread + k * FINISHERS < next.count)
                    few[k] = __ldcs(p.index + next.from + thread + k * FINISHERS);
        } else {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (thread + k * FINISHERS < next.count)
                    few[k] = load(p.index + next.from + thread + k * FINISHERS);
        }
    }
    static void clear(uint8 *marks, int thread) {
        for (int v = thread; v < MARKS / 16; v += FINISHERS)
            ((uint4 *)marks)[v] = uint4{0, 0, 0, 0};
    }
    void mark(const scan_args &p, uint8 *marks, uint64 low, int thread) const {
        low += REVERSE;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (thread + k * FINISHERS < next.count)
                marks[(uint64)few[k] - low] = 1;
        const index_t *rest = p.index + next.from;
        if (((uint64)p.index & (sizeof(index_t) - 1)) == 0) {
#pragma unroll 8
            for (int g = AHEAD * FINISHERS + thread; g < next.count; g += FINISHERS)
                marks[(uint64)__ldcs(rest + g) - low] = 1;
        } else {
            for (int g = AHEAD * FINISHERS + thread; g < next.count; g += FINISHERS)
                marks[(uint64)load(rest + g) - low] = 1;
        }
    }
};
#endif

/* ---- summers ---- */

/* The last head of a tile, in logical order, as an element of the tile; -1 if there is none. Of segments it is known. */
inline int last_head(scratch &s, const scan_args &p, const tile &t, const place &here, int in_turn) {
#if GROUPS == ROWS
    uint64 last = t.first + t.count - 1, column = remainder(last, p.extent);
    return column >= t.count ? -1 : (int)(REVERSE ? column : t.count - 1 - column);
#elif GROUPS == KEYS
    const uint8 *memory = s.keys[here.at];
    constexpr int a_vector = 16 / sizeof(index_t);
    int thread = threadIdx.x - FIRST_SUMMER, shift = shift_of(p.index + t.low), found = -1; /* in logical order */
    auto key_of = [&](int e) { return load((const index_t *)(memory + shift) + e); };
    auto is_head = [&](int e, index_t key, index_t previous) {
        return key != previous || (REVERSE ? t.low + e == p.n - 1 : t.low + e == 0);
    };
    auto before = [&](int e) { /* in logical order */
        int past = REVERSE ? e + 1 : e - 1;
        return past < 0 || past >= t.count ? s.key_before[here.at] : key_of(past);
    };
    if (shift == 0 && t.count == TILE) {
#pragma unroll 4
        for (int v = thread; v < TILE / a_vector; v += SUMMERS) {
            index_t few[a_vector];
            uint4 bits = ((const uint4 *)memory)[v];
            memcpy(few, &bits, 16);
            index_t previous = before(v * a_vector + (REVERSE ? a_vector - 1 : 0));
#pragma unroll
            for (int k = 0; k < a_vector; k++) {
                int e = v * a_vector + (REVERSE ? a_vector - 1 - k : k), logical = REVERSE ? TILE - 1 - e : e;
                index_t key = few[REVERSE ? a_vector - 1 - k : k];
                if (is_head(e, key, previous))
                    found = found > logical ? found : logical;
                previous = key;
            }
        }
    } else {
        for (int e = thread; e < t.count; e += SUMMERS)
            if (is_head(e, key_of(e), before(e))) {
                int logical = REVERSE ? t.count - 1 - e : e;
                found = found > logical ? found : logical;
            }
    }
    found = __reduce_max_sync(ALL_LANES, found);
    if (threadIdx.x % WARP == 0)
        s.head_of_summers[in_turn][thread / WARP] = found;
    sync_some<SUMMERS>(OF_SUMMERS);
#pragma unroll
    for (int w = 0; w < SUMMERS / WARP; w++)
        found = found > s.head_of_summers[in_turn][w] ? found : s.head_of_summers[in_turn][w];
    return found < 0 ? -1 : REVERSE ? t.count - 1 - found : found;
#else
    return -1;
#endif
}

/* What this thread's share of elements [from, to) of a tile adds up to. The shares are in logical order where that
 * matters, and else as it is fastest. */
inline lane_t sum_share(const scan_args &p, const tile &t, const uint8 *memory, int from, int to) {
    int thread = threadIdx.x - FIRST_SUMMER;
    lane_t sum = identity_as<lane_t>();
    auto lifted_at = [&](int e, in_t x) {
        uint64 at = t.low + e, column = 0;
        if (GROUPS == ROWS)
            column = remainder(REVERSE ? p.n - 1 - at : at, p.extent) + p.before;
        return lift_as<lane_t>(value_of(x), partner_of(p, at), index_of(p, at, column));
    };
#if COMMUTES
    constexpr int a_vector = 16 / sizeof(in_t), vectors = TILE / a_vector;
    auto add_vector = [&](int v, bool all) {
        in_t few[a_vector];
        uint4 bits = ((const uint4 *)memory)[v];
        memcpy(few, &bits, 16);
#pragma unroll
        for (int k = 0; k < a_vector; k++) {
            int e = v * a_vector + k;
            if (all || (e >= from && e < to))
                sum = combine(sum, lifted_at(e, few[k]));
        }
    };
    if (shift_of(p.x + t.low) == 0 && SMALL) {
        if (from == 0 && to == TILE) {
#pragma unroll 10
            for (int v = thread; v < vectors; v += SUMMERS)
                add_vector(v, true);
        } else {
#pragma unroll 1
            for (int v = from / a_vector + thread; v * a_vector < to; v += SUMMERS)
                add_vector(v, false);
        }
        return sum;
    }
#endif
    memory += shift_of(p.x + t.low);
    int share = (to - from + SUMMERS - 1) / SUMMERS;
#pragma unroll 1
    for (int k = 0; k < share; k++) {
        int e = COMMUTES ? k * SUMMERS + thread : thread * share + k; /* in logical order */
        if (e < to - from)
            sum = combine(sum, lifted_at(REVERSE ? to - 1 - e : from + e,
                                         load((const in_t *)memory + (REVERSE ? to - 1 - e : from + e))));
    }
    return sum;
}

inline void sum_tiles(scratch &s, const scan_args &p, uint64 turns) {
    int thread = threadIdx.x - FIRST_SUMMER, lane = thread % WARP, in_turn = 0;
    uint32 wave = 0;
    place here = {0, 0};
#if GROUPS == SEGMENTS
    bounds next = bounds_at(p, 0, turns), after = bounds_at(p, 1, turns);
    auto last_of = [&](const bounds &b) { return b.count ? load(p.index + b.from + (REVERSE ? 0 : b.count - 1)) : index_t(0); };
    index_t next_last = last_of(next);
#endif
    for (uint64 turn = 0; turn < turns; turn++, here.advance(), in_turn ^= 1) {
        tile t = tile_at(p, turn);
#if GROUPS == SEGMENTS
        int head = next.count ? (int)((uint64)next_last - REVERSE - t.low) : -1;
        next = after;
        next_last = last_of(next);
        after = bounds_at(p, turn + 2, turns);
        s.full[here.at].wait(here.parity);
#else
        s.full[here.at].wait(here.parity);
        int head = last_head(s, p, t, here, in_turn);
#endif
        int from = !REVERSE && head >= 0 ? head : 0, to = REVERSE && head >= 0 ? head + 1 : t.count;
        lane_t sum = sum_share(p, t, s.tile[here.at], from, to);
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) /* in order: what lies above comes after */
            sum = combine(sum, by_words(sum, [=](uint32 w) { return __shfl_down_sync(ALL_LANES, w, d); }));
        lane_t *of_warp = (lane_t *)s.of_summers[in_turn];
        if (lane == 0)
            of_warp[thread / WARP] = sum;
        sync_some<SUMMERS>(OF_SUMMERS);
        if (thread == 0) {
            sum = of_warp[0];
#pragma unroll
            for (int w = 1; w < SUMMERS / WARP; w++)
                sum = combine(sum, of_warp[w]);
            uint64 start = REVERSE ? p.n - 1 - t.low - head : t.low + head;
            if (p.tiles > 1)
                publish(p.entries + (uint64)wave * gridDim.x + blockIdx.x, make_record(widen(sum), head >= 0, start),
                        (uint32)turn + 1);
            s.ready[here.at].arrive();
        }
        wave = wave + 1 == WAVES ? 0 : wave + 1;
    }
}

/* ---- messenger ---- */

inline void carry_messages(scratch &s, const scan_args &p, uint64 turns) {
    place here = {0, 0};
    add_up_waves<WAVES>(p.entries, turns, [&](uint64, const record &before) {
        if (threadIdx.x % WARP == 0) {
            s.empty[here.at].wait(here.parity ^ 1); /* the tile that was there has been finished */
            *(record *)s.prefix[here.at] = before;
            s.ready[here.at].arrive();
        }
        here.advance();
    });
}

/* ---- finishers ---- */

template <bool IsWide> struct bits_of {
    typedef uint32 type;
};
template <> struct bits_of<true> {
    typedef uint64 type;
};
typedef typename bits_of<(ITEMS > 32)>::type bits_t;

/* What a stretch of elements adds up to: since its last head, if it has one. */
struct state {
    lane_t acc;
#if GROUPS != ALL
    uint32 has_head;
#endif
#if NEEDS_START
    uint32 start; /* of the last head, logical, in the tile */
#endif
};
inline bool has_head(const state &a) {
#if GROUPS != ALL
    return a.has_head;
#else
    return false;
#endif
}
inline uint32 start_of(const state &a) {
#if NEEDS_START
    return a.start;
#else
    return 0;
#endif
}
inline state make_state(lane_t acc, bool has_head, uint32 start) {
    state r;
    r.acc = acc;
#if GROUPS != ALL
    r.has_head = has_head;
#endif
#if NEEDS_START
    r.start = start;
#endif
    return r;
}
inline state no_state() {
    return make_state(identity_as<lane_t>(), false, 0);
}
inline state join(const state &a, const state &b) {
    bool fresh = has_head(b);
    return make_state(fresh ? b.acc : combine(a.acc, b.acc), fresh || has_head(a), fresh ? start_of(b) : start_of(a));
}

/* A thread's stretch of a tile. Narrow elements stay packed: apart they would take a register each. */
template <class T> struct stretch_of {
    enum { BYTES = sizeof(T), A_VECTOR = 16 / BYTES, VECTORS = ITEMS / A_VECTOR };
    uint32 word[ITEMS * BYTES / 4];

    /* Stretches of an odd number of vectors meet in no bank. */
    void read(const uint8 *memory, int shift, int stretch) {
        if (shift == 0) {
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                uint4 bits = ((const uint4 *)memory)[stretch * VECTORS + v];
                memcpy(&word[4 * v], &bits, 16);
            }
        } else {
            T items[ITEMS];
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                items[k] = load((const T *)(memory + shift) + stretch * ITEMS + k);
            memcpy(word, items, sizeof word);
        }
    }
    /* in logical order */
    T operator[](int k) const {
        int at = (REVERSE ? ITEMS - 1 - k : k) * BYTES;
        T item;
        if (BYTES < 4) {
            uint32 bits = word[at / 4] >> 8 * (at % 4);
            memcpy(&item, &bits, BYTES);
        } else {
            memcpy(&item, &word[at / 4], BYTES);
        }
        return item;
    }
    /* Makes the compiler unpack items anew, rather than keep each since the last time. */
    void forget() {
        if (BYTES < 4)
#pragma unroll
            for (int w = 0; w < (int)(sizeof word / 4); w++)
                asm volatile("" : "+r"(word[w]));
    }
};

/* Results lie in line where elements did; wider ones would meet in the banks, and are scattered a little. */
constexpr int vector_of_results(int v) {
    return IN_LINE ? v : v ^ (v >> 3 & 7);
}
/* Takes a stretch's results in logical order, and writes each vector when it is whole. */
struct results_writer {
    enum { A_VECTOR = 16 / sizeof(result_t), VECTORS = ITEMS / A_VECTOR };
    result_t few[A_VECTOR];

    void put(uint8 *memory, int stretch, int k, result_t result) {
        int at = REVERSE ? ITEMS - 1 - k : k;
        few[at % A_VECTOR] = result;
        if (at % A_VECTOR != (REVERSE ? 0 : A_VECTOR - 1))
            return;
        uint4 bits;
        memcpy(&bits, few, 16);
        ((uint4 *)memory)[vector_of_results(stretch * VECTORS + at / A_VECTOR)] = bits;
    }
};
inline void write_out(const uint8 *memory, int thread, result_t *to, const part &w) {
    constexpr int a_vector = 16 / sizeof(result_t);
    const uint4 *vectors = (const uint4 *)memory;
    if (shift_of(to) == 0 && w.from == 0 && w.to % a_vector == 0) {
#pragma unroll 4
        for (int v = thread; v < w.to / a_vector; v += FINISHERS)
            __stcs((uint4 *)to + v, vectors[vector_of_results(v)]);
    } else {
#pragma unroll 4
        for (int e = w.from + thread; e < w.to; e += FINISHERS)
            store(to + e, ((const result_t *)&vectors[vector_of_results(e / a_vector)])[e % a_vector]);
    }
}

/* A bit for each item that is a head, in logical order. 'column' is of the first item, in its row. */
inline bits_t find_heads(const scratch &s, const scan_args &p, const tile &t, int at, int team, int in_turn, int stretch,
                         uint64 column) {
    bits_t heads = 0;
#if GROUPS == ROWS
    uint64 k = column ? p.extent - column : 0;
    for (; k < ITEMS; k += p.extent)
        heads |= (bits_t)1 << k;
#elif GROUPS == SEGMENTS
    constexpr int width = ITEMS % 4 == 0 ? 4 : ITEMS % 2 == 0 ? 2 : 1;
    typedef typename word_of<width>::type word;
    const word *marks = (const word *)(s.marks[team][in_turn] + stretch * ITEMS);
#pragma unroll
    for (int w = 0; w < ITEMS / width; w++) /* the bytes' lowest bits, side by side */
        heads |= (bits_t)((uint32)marks[w] * 0x10204080u >> 28) << w * width;
    if (REVERSE)
        heads = (sizeof(bits_t) == 4 ? (bits_t)__brev((uint32)heads) : (bits_t)__brevll(heads)) >>
                (8 * sizeof(bits_t) - ITEMS);
#elif GROUPS == KEYS
    const index_t *in_memory = (const index_t *)(s.keys[at] + shift_of(p.index + t.low));
    int past = stretch * ITEMS + (REVERSE ? ITEMS : -1); /* the item before */
    index_t previous = past < 0 || past >= t.count ? s.key_before[at] : load(in_memory + past);
    stretch_of<index_t> keys;
    keys.read(s.keys[at], shift_of(p.index + t.low), stretch);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        heads |= (bits_t)(keys[k] != previous) << k;
        previous = keys[k];
    }
    /* the tile's first element follows one of another tile, or none */
    int first = REVERSE ? t.count - 1 : 0, k = REVERSE ? (stretch + 1) * ITEMS - t.count : stretch ? -1 : 0;
    if (k >= 0 && k < ITEMS) {
        bits_t is_head = t.first == 0 || load(in_memory + first) != s.key_before[at];
        heads = (heads & ~((bits_t)1 << k)) | is_head << k;
    }
#endif
    return heads;
}

/* What the threads before this one in the team add up to. */
inline state scan_team(uint8 *memory, int team, int thread, state mine) {
    state *of_warp = (state *)memory;
    int warp = thread / WARP, lane = thread % WARP;
    state sum = mine;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        state left = from_below(sum, d);
        if (lane >= d)
            sum = join(left, sum);
    }
    if (lane == WARP - 1)
        of_warp[warp] = sum;
    state before = from_below(sum, 1);
    if (lane == 0)
        before = no_state();
    sync_some<FINISHERS>(OF_TEAMS + team);
    state warps = no_state();
    for (int w = 0; w < warp; w++)
        warps = join(warps, of_warp[w]);
    return join(warps, before);
}

inline void finish_tile(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                        int in_turn, bool has_base, const acc_t &base) {
    int stretch = REVERSE ? FINISHERS - 1 - thread : thread;
    int there = t.count - stretch * ITEMS;
    there = there < 0 ? 0 : there > ITEMS ? (int)ITEMS : there;
    int absent = REVERSE ? ITEMS - there : 0; /* items before the first in logical order */
    uint64 low = t.low + stretch * ITEMS;     /* physical position of the lowest item */
    uint64 first = REVERSE ? p.n - low - there : low;
    uint64 column = first + p.before; /* of the first item there: elements of its group before it */
    bits_t heads = 0;
    s.full[here.at].wait(here.parity);
    if (GROUPS == ROWS)
        column = remainder(first, p.extent);
    if (GROUPS != ALL && there) {
        heads = find_heads(s, p, t, here.at, team, in_turn, stretch, column);
        if (GROUPS == ROWS)
            heads <<= absent;
        heads &= ((bits_t)2 << (there - 1)) - 1 << absent;
    }
    if (GROUPS == ROWS)
        column += p.before;
    stretch_of<in_t> items;
    items.read(s.tile[here.at], shift_of(p.x + t.low), stretch);

    auto is_there = [&](int k) { return REVERSE ? k >= absent : k < there; };
    auto is_head = [&](int k) { return GROUPS != ALL && (heads >> k & 1); };
    auto position = [&](int k) { return REVERSE ? low + (ITEMS - 1 - k) : low + k; };
    uint64 at_column = column;
    auto lift_item = [&](int k) {
        uint64 at = position(k);
        return lift_as<lane_t>(value_of(items[k]), partner_of(p, at), index_of(p, at, at_column));
    };

    /* the sums within the stretch */
    lane_t run = identity_as<lane_t>(), kept[KEPT ? ITEMS : 1];
#pragma unroll AT_ONCE
    for (int k = 0; k < ITEMS; k++) {
        if (is_head(k)) {
            run = identity_as<lane_t>();
            at_column = p.before;
        }
        if (KEPT && !INCLUSIVE)
            kept[k] = run;
        if (is_there(k)) {
            run = combine(run, lift_item(k));
            at_column++;
        }
        if (KEPT && INCLUSIVE)
            kept[k] = run;
    }
    uint32 begins = t.first; /* of the tile; differences of positions in it fit */
    int last = heads ? (sizeof(bits_t) == 4 ? 31 - __clz((uint32)heads) : 63 - __clzll(heads)) : 0;
    state before = scan_team(s.of_finishers[team][in_turn], team, thread,
                             make_state(run, heads != 0, (uint32)first - begins + last - absent));

    /* and what comes before them */
    s.ready[here.at].wait(here.parity);
    record prefix = *(const record *)s.prefix[here.at];
    bool open = !has_head(before);
    acc_t left = open ? has_base ? combine(base, prefix.acc) : prefix.acc : base;
    left = combine(left, widen(before.acc));
    uint64 start = open ? start_of(prefix) : t.first + start_of(before);
    uint8 *memory = s.tile[here.at];
    results_writer results;
    at_column = column;
    if (!KEPT) {
        run = identity_as<lane_t>();
        items.forget();
    }
#pragma unroll AT_ONCE
    for (int k = 0; k < ITEMS; k++) {
        if (is_head(k)) {
            at_column = p.before;
            start = first + k - absent;
            left = base;
            if (!KEPT)
                run = identity_as<lane_t>();
        }
        lane_t sum;
        if (KEPT) {
            sum = kept[k];
        } else {
            lane_t next = is_there(k) ? combine(run, lift_item(k)) : run;
            sum = INCLUSIVE ? next : run;
            run = next;
        }
        /* elements of the group before this one */
        uint64 within = GROUPS == ROWS || GROUPS == ALL ? at_column : first + k - absent - start;
        uint64 group_start = GROUPS == SEGMENTS || GROUPS == KEYS ? start : 0;
        results.put(memory, stretch, k, lower(combine(left, widen(sum)), within + INCLUSIVE, group_start));
        at_column += is_there(k);
    }
    if (p.total && there && first + there == p.n)
        p.total->write(combine(left, widen(run)));

    part w = written_part(s, t);
    if (!goes_in_bulk(p, t, is_whole(w, t))) {
        sync_some<FINISHERS>(OF_TEAMS + team);
        write_out(memory, thread, p.out + t.low, w);
    }
#if COPIES_IN_BULK
    show_to_copies();
#endif
    __syncwarp();
    if (thread % WARP == 0)
        (COPIES_IN_BULK ? s.done : s.empty)[here.at].arrive();
}

inline void finish_tiles(scratch &s, const scan_args &p, uint64 turns) {
    int team = (threadIdx.x - FIRST_FINISHER) / FINISHERS, thread = (threadIdx.x - FIRST_FINISHER) % FINISHERS;
    int in_turn = 0;
    bool has_base = p.carry || p.initial;
    acc_t base = identity_as<acc_t>();
    if (has_base)
        base = p.carry ? p.carry->read() : raise(load(p.initial));
    place here = {0, 0};
    here.advance(team);
#if GROUPS == SEGMENTS
    markers m;
    uint8(*marks)[MARKS] = s.marks[team];
    m.next = bounds_at(p, team, turns);
    m.load_few(p, thread);
    markers::clear(marks[0], thread);
    sync_some<FINISHERS>(OF_TEAMS + team);
    if (team < turns)
        m.mark(p, marks[0], tile_at(p, team).low, thread);
    bounds after = bounds_at(p, team + TEAMS, turns);
#endif
    for (uint64 turn = team; turn < turns; turn += TEAMS, here.advance(TEAMS), in_turn ^= 1) {
#if GROUPS == SEGMENTS
        m.next = after;
        m.load_few(p, thread);
        after = bounds_at(p, turn + 2 * TEAMS, turns);
        sync_some<FINISHERS>(OF_TEAMS + team); /* the marks are there, and the others no longer looked at */
        markers::clear(marks[in_turn ^ 1], thread);
#endif
        finish_tile(s, p, tile_at(p, turn), here, team, thread, in_turn, has_base, base);
#if GROUPS == SEGMENTS
        if (turn + TEAMS < turns)
            m.mark(p, marks[in_turn ^ 1], tile_at(p, turn + TEAMS).low, thread);
#endif
    }
}

/* ---- the kernel ---- */

extern "C" __global__ void __launch_bounds__(THREADS, 1) scan(scan_args p) {
    scratch &s = *(scratch *)ring_memory;
    if (p.refused && *p.refused)
        return;
    uint64 turns = turns_of_block(p);
    if (threadIdx.x == 0) {
        for (int at = 0; at < RING; at++) {
            s.full[at].init(LOADERS / WARP);
            s.ready[at].init(2);
            s.done[at].init(FINISHERS / WARP);
            s.empty[at].init(COPIES_IN_BULK ? 1 : FINISHERS / WARP);
        }
        show_gates();
#if GROUPS == SEGMENTS
        s.written_from = load(p.index);
        s.written_to = load(p.index + p.segments);
#endif
    }
    __syncthreads();
    if (threadIdx.x >= FIRST_FINISHER)
        finish_tiles(s, p, turns);
    else if (threadIdx.x >= FIRST_SUMMER)
        sum_tiles(s, p, turns);
    else if (threadIdx.x >= MESSENGER)
        carry_messages(s, p, turns);
#if COPIES_IN_BULK
    else if (threadIdx.x >= FIRST_STORER)
        store_tiles(s, p, turns);
#endif
    else
        load_tiles(s, p, turns);
}
