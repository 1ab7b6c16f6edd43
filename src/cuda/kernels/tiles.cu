/* Everything whose groups are consecutive elements and that is not one long reduction: scans of all values, of rows, of
 * segments and of runs of keys, and the reductions of short rows, segments and runs. One pass, in waves: the input is
 * cut into tiles, whatever the groups, and in each wave every thread block has one. A block sums its tile, publishes the
 * sum at once, and only a tile later, when the sums of the other blocks have long arrived, scans it from what came
 * before and writes it. Nobody waits for a chain of predecessors: each block adds up the whole wave by itself, in the
 * same order as all others, so that a result is the same bits every run. The blocks must be resident together, which a
 * cooperative launch promises.
 *
 * A head, the first element of a group, makes what comes before it irrelevant (Blelloch 1990); a tail is the last.
 * 'Logical' positions count in the direction of the scan; elements lie at 'physical' ones. */
struct tiles_args {
    const in_t *x, *y;
    result_t *out;
    const index_t *index; /* offsets or keys */
    index_t *keys_out;
    const out_t *initial;
    const slot *carry; /* what earlier pieces gave, or NULL */
    slot *total;       /* receives what this and earlier pieces give, or NULL */
    uint64 n, extent, segments;
    uint64 before;               /* elements in earlier pieces */
    uint64 tile, tiles;          /* elements a tile, at most TILE; tiles */
    const uint64 *first_segment; /* a tile, and one more: the first segment that starts in it or after it */
    uint64 *runs;                /* receives the number of runs of keys */
    const uint32 *refused;       /* not 0: the offsets are bad, or the output too small; nothing is written */
    struct entry *entries;       /* RING waves of gridDim.x; zero at the start */
};

constexpr int larger_of(int a, int b) {
    return a > b ? a : b;
}
enum {
    WARPS = TILE_THREADS / WARP,
    ITEMS = TILE_ITEMS, /* elements a thread: whole vectors of 16 bytes of whatever passes through shared memory */
    TILE = TILE_THREADS * ITEMS,
    WIDEST = larger_of(sizeof(in_t), sizeof(result_t) <= sizeof(in_t) || IS_SCAN ? sizeof(result_t) : 1),
    LEAD = 2,           /* tiles that a block has summed and not yet finished */
    BUFFERS = LEAD + 1, /* of tiles in shared memory */
    /* A block that finishes wave w has everybody's sum of w, so that all have finished w - LEAD; and it publishes w +
     * LEAD. Entries are used again when nobody can be reading them. */
    RING = 2 * LEAD + 2
};

/* Large accumulators would make the unrolled code take minutes to compile. */
constexpr bool SMALL = sizeof(acc_t) <= 32;
constexpr int AT_ONCE = SMALL ? ITEMS : 1;

/* ---- what a stretch of elements adds up to: since its last head, if it has one ---- */

constexpr uint32 HAS_HEAD = 1u << 31;

struct state {
    lane_t acc;
#if GROUPS != ALL
    uint32 marks; /* the number of tails, and HAS_HEAD */
#endif
#if NEEDS_START
    uint32 start; /* the last head's logical position in the tile */
#endif
};
struct record {
    acc_t acc;
#if GROUPS != ALL
    uint32 has_head;
#endif
#if GROUPS == KEYS
    uint64 tails; /* which give a run its number */
#endif
#if NEEDS_START
    uint64 start; /* of the last head, logical */
#endif
};

inline uint32 marks_of(const state &s) {
#if GROUPS != ALL
    return s.marks;
#else
    return 0;
#endif
}
inline uint32 start_of(const state &s) {
#if NEEDS_START
    return s.start;
#else
    return 0;
#endif
}
inline state make_state(lane_t acc, uint32 marks, uint32 start) {
    state s;
    s.acc = acc;
#if GROUPS != ALL
    s.marks = marks;
#endif
#if NEEDS_START
    s.start = start;
#endif
    return s;
}
inline bool has_head(const record &r) {
#if GROUPS != ALL
    return r.has_head;
#else
    return false;
#endif
}
inline uint64 tails_of(const record &r) {
#if GROUPS == KEYS
    return r.tails;
#else
    return 0;
#endif
}
inline uint64 start_of(const record &r) {
#if NEEDS_START
    return r.start;
#else
    return 0;
#endif
}
inline record make_record(acc_t acc, uint32 marks, uint64 tails, uint64 start) {
    record r;
    r.acc = acc;
#if GROUPS != ALL
    r.has_head = marks & HAS_HEAD;
#endif
#if GROUPS == KEYS
    r.tails = tails;
#endif
#if NEEDS_START
    r.start = start;
#endif
    return r;
}
inline record no_record() {
    return make_record(identity_as<acc_t>(), 0, 0, 0);
}
inline state no_state() {
    return make_state(identity_as<lane_t>(), 0, 0);
}

inline state join(const state &a, const state &b) {
    uint32 left = marks_of(a), right = marks_of(b);
    bool fresh = right & HAS_HEAD;
    return make_state(fresh ? b.acc : combine(a.acc, b.acc),
                      ((left | right) & HAS_HEAD) | ((left + right) & ~HAS_HEAD), fresh ? start_of(b) : start_of(a));
}
inline record join(const record &a, const record &b) {
    bool fresh = has_head(b);
    return make_record(fresh ? b.acc : combine(a.acc, b.acc), fresh || has_head(a) ? HAS_HEAD : 0,
                       tails_of(a) + tails_of(b), fresh ? start_of(b) : start_of(a));
}

/* ---- a tile's sum as the other blocks see it ---- */

/* Accumulators of up to 8 bytes travel with their tag in one access of 16 bytes, which the memory does not divide. The
 * compiler would, were one of the four words of no use to it, and fetch the tag after the value: words that carry nothing
 * else repeat the tag. */
#define IN_ONE_ACCESS (SLOT_BYTES <= 8 && !NEEDS_START)

struct alignas(16) entry {
#if IN_ONE_ACCESS
    uint32 word[4]; /* accumulator, marks, tag */
#else
    slot_of<record, RECORD_BYTES> what;
    uint32 tag, unused[3];
#endif
};
static_assert(sizeof(entry) == ENTRY_BYTES);

inline void publish(entry *e, const record &r, uint32 tag) {
#if IN_ONE_ACCESS
    uint32 marks = (uint32)tails_of(r) | (has_head(r) ? HAS_HEAD : 0);
    uint32 word[4] = {0, tag, GROUPS == ALL ? tag : marks, tag};
    memcpy(word, &r.acc, sizeof(acc_t));
    store_relaxed(e, word[0], word[1], word[2], word[3]);
#else
    e->what.write(r);
    store_release(&e->tag, tag);
#endif
}

/* Entries that lie a warp apart, read at once, so that their ways from memory overlap. */
struct batch {
#if IN_ONE_ACCESS
    enum { MANY = 5 }; /* as many as it takes for one block a processor */
    uint32 word[MANY][4];
#else
    enum { MANY = 1 };
    record whole;
#endif

#if IN_ONE_ACCESS
    static bool has_tag(const uint32 *w, uint32 tag) {
        return w[3] == tag && (sizeof(acc_t) > 4 || w[1] == tag) && (GROUPS != ALL || w[2] == tag);
    }
#endif

    /* Those of the indices first, first + WARP ... that are less than 'end'; false if one is not there yet. */
    bool try_read(const entry *entries, uint32 first, uint32 end, uint32 tag) {
        bool there = true;
#if IN_ONE_ACCESS
#pragma unroll
        for (int k = 0; k < MANY; k++)
            if (first + k * WARP < end)
                load_relaxed(entries + first + k * WARP, word[k][0], word[k][1], word[k][2], word[k][3]);
#pragma unroll
        for (int k = 0; k < MANY; k++)
            there = there && (first + k * WARP >= end || has_tag(word[k], tag));
#else
        if (first < end) {
            there = load_acquire(&entries[first].tag) == tag;
            if (there)
                whole = entries[first].what.read();
        }
#endif
        return there;
    }
    record get(int k) const {
#if IN_ONE_ACCESS
        acc_t acc;
        memcpy(&acc, word[k], sizeof(acc_t));
        return make_record(acc, word[k][2], word[k][2] & ~HAS_HEAD, 0);
#else
        return whole;
#endif
    }
};

/* ---- shared memory ---- */

/* Tiles pass through it in vectors of 16 bytes, one in nine left out, so that neither the threads that copy neighbouring
 * vectors nor those that work on neighbouring stretches meet in a bank. */
constexpr int padded(int vector) {
    return vector + vector / 8;
}
struct buffer {
    uint4 vector[padded(TILE * WIDEST / 16) + 1];
};
struct scratch {
    buffer tile[BUFFERS];
#if GROUPS == KEYS
    uint4 keys[padded(TILE * sizeof(index_t) / 16) + 1];
#endif
#if GROUPS == SEGMENTS
    uint32 head_bits[TILE / 32 + 1], tail_bits[TILE / 32 + 1];
    uint32 has_empty[BUFFERS];
#endif
    alignas(16) uint8 of_warp[2][WARPS * sizeof(state)];
    alignas(16) uint8 prefix[2][sizeof(record)];
    uint32 tails[BUFFERS];
};
static_assert(sizeof(scratch) <= TILE_SHARED_BYTES);

template <class T> inline T *place_of(uint4 *memory, int element) {
    constexpr int a_vector = 16 / sizeof(T);
    return (T *)&memory[padded(element / a_vector)] + element % a_vector;
}

struct tile {
    uint64 number;
    uint64 first; /* logical position of its first element */
    uint64 low;   /* lowest physical position */
    int count;    /* elements; 0 past the end */
    int shift;    /* of the physically lowest element in shared memory */
};

inline tile tile_at(const tiles_args &p, uint64 number) {
    tile t = {number, number * p.tile, 0, 0, 0};
    if (number < p.tiles && t.first < p.n)
        t.count = p.n - t.first < p.tile ? (int)(p.n - t.first) : (int)p.tile;
    t.low = REVERSE ? p.n - t.first - t.count : t.first;
    t.shift = REVERSE ? TILE - t.count : 0;
    return t;
}

/* A thread's part of a tile on its way from memory; neighbouring threads have neighbouring vectors. Tiles that are not
 * whole or not aligned are fetched only when they are put into shared memory. */
template <class T> struct ahead {
    static constexpr int a_vector = 16 / sizeof(T), mine = ITEMS / a_vector;
    uint4 vector[mine];

    static bool is_whole(const tile &t, const T *from) {
        return t.count == TILE && ((uint64)(from + t.low) & 15) == 0;
    }
    void load_from(const tile &t, const T *from) {
        if (is_whole(t, from)) {
            const uint4 *vectors = (const uint4 *)(from + t.low) + threadIdx.x;
#pragma unroll
            for (int v = 0; v < mine; v++)
                vector[v] = __ldcs(vectors + v * TILE_THREADS);
        }
    }
    void put(const tile &t, const T *from, uint4 *memory) const {
        if (is_whole(t, from)) {
#pragma unroll
            for (int v = 0; v < mine; v++)
                memory[padded(threadIdx.x + v * TILE_THREADS)] = vector[v];
        } else {
            from += t.low;
#pragma unroll 4
            for (int e = threadIdx.x; e < t.count; e += TILE_THREADS)
                *place_of<T>(memory, t.shift + e) = load(from + e);
        }
    }
};

/* A barrier of the threads that work on tiles, and one of them and the messenger, who come to it from elsewhere. */
inline void sync_workers() {
    sync_some<1, TILE_THREADS>();
}
inline void sync_all() {
    sync_some<2, TILE_THREADS + WARP>();
}

/* A thread's stretch of a tile, in logical order. */
template <class T> inline void read_stretch(const uint4 *memory, T *items) {
    constexpr int a_vector = 16 / sizeof(T), mine = ITEMS / a_vector;
    int stretch = REVERSE ? TILE_THREADS - 1 - threadIdx.x : threadIdx.x;
#pragma unroll
    for (int v = 0; v < mine; v++) {
        T few[a_vector];
        uint4 bits = memory[padded(stretch * mine + v)];
        memcpy(few, &bits, 16);
#pragma unroll
        for (int k = 0; k < a_vector; k++)
            items[REVERSE ? ITEMS - 1 - (v * a_vector + k) : v * a_vector + k] = few[k];
    }
}
template <class T> inline void write_stretch(uint4 *memory, const T *items) {
    constexpr int a_vector = 16 / sizeof(T), mine = ITEMS / a_vector;
    int stretch = REVERSE ? TILE_THREADS - 1 - threadIdx.x : threadIdx.x;
#pragma unroll
    for (int v = 0; v < mine; v++) {
        T few[a_vector];
#pragma unroll
        for (int k = 0; k < a_vector; k++)
            few[k] = items[REVERSE ? ITEMS - 1 - (v * a_vector + k) : v * a_vector + k];
        uint4 bits;
        memcpy(&bits, few, 16);
        memory[padded(stretch * mine + v)] = bits;
    }
}

/* Elements [from, to) of memory, from shared memory where they lie from 'shift' on. */
template <class T> inline void write_out(uint4 *memory, int shift, T *to, int count) {
    constexpr int a_vector = 16 / sizeof(T);
    if (count == TILE && ((uint64)to & 15) == 0) {
#pragma unroll
        for (int v = 0; v < ITEMS / a_vector; v++)
            __stcs((uint4 *)to + threadIdx.x + v * TILE_THREADS, memory[padded(threadIdx.x + v * TILE_THREADS)]);
    } else {
        for (int e = threadIdx.x; e < count; e += TILE_THREADS)
            store(to + e, *place_of<T>(memory, shift + e));
    }
}

/* ---- groups ---- */

inline uint64 physical(const tiles_args &p, uint64 logical) {
    return REVERSE ? p.n - 1 - logical : logical;
}

struct groups {
    uint32 heads, tails; /* a bit an item */
};

#if GROUPS == SEGMENTS
inline uint64 segments_from(const tiles_args &p, const tile &t) {
    uint64 first = p.first_segment[t.number];
    return first ? first - 1 : 0;
}

/* Marks the heads and tails of the segments in a tile, and gives empty segments their results. */
inline groups find_segments(scratch &s, const tiles_args &p, const tile &t, uint32 *has_empty) {
    if (t.number >= p.tiles)
        return {0, 0};
    for (int w = threadIdx.x; w <= TILE / 32; w += TILE_THREADS)
        s.head_bits[w] = s.tail_bits[w] = 0;
    if (threadIdx.x == 0)
        *has_empty = 0;
    sync_workers();
    uint64 high = t.low + t.count;
    uint64 from = segments_from(p, t);
    /* in a reverse scan the tile above is the one before */
    uint64 to = high == p.n ? p.segments : p.first_segment[REVERSE ? t.number - 1 : t.number + 1];
    constexpr int BATCH = 8;
    for (uint64 base = from + threadIdx.x; base < to; base += BATCH * TILE_THREADS) {
        uint64 begin[BATCH], end[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            uint64 g = base + k * TILE_THREADS;
            begin[k] = end[k] = 0;
            if (g < to) {
                begin[k] = load(p.index + g);
                end[k] = load(p.index + g + 1);
            }
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            uint64 g = base + k * TILE_THREADS;
            if (g >= to)
                continue;
            if (begin[k] == end[k]) {
                if (!IS_SCAN && begin[k] >= t.low) {
                    store(p.out + g, lower(identity_as<acc_t>(), 0, 0));
                    *has_empty = 1;
                }
                continue;
            }
            uint64 head = REVERSE ? end[k] - 1 : begin[k], tail = REVERSE ? begin[k] : end[k] - 1;
            if (head >= t.low && head < high) {
                int at = (int)(REVERSE ? high - 1 - head : head - t.low);
                atomicOr(&s.head_bits[at / 32], 1u << at % 32);
            }
            if (!IS_SCAN && tail >= t.low && tail < high) {
                int at = (int)(tail - t.low);
                atomicOr(&s.tail_bits[at / 32], 1u << at % 32);
            }
        }
    }
    sync_workers();
    constexpr uint32 all = ITEMS == 32 ? ALL_LANES : (1u << ITEMS % 32) - 1;
    int position = threadIdx.x * ITEMS;
    return {s.head_bits[position / 32] >> position % 32 & all, s.tail_bits[position / 32] >> position % 32 & all};
}

/* The segment that ends at a position, where empty ones lie between: the last that begins before it. */
inline uint64 segment_ending(const tiles_args &p, const tile &t, uint64 at) {
    uint64 low = segments_from(p, t), high = t.number + 1 < p.tiles ? p.first_segment[t.number + 1] : p.segments;
    while (low + 1 < high) {
        uint64 middle = (low + high) / 2;
        if ((uint64)load(p.index + middle) <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}
#endif

#if GROUPS == KEYS
inline groups find_keys(scratch &s, const tiles_args &p, const tile &t) {
    index_t keys[ITEMS];
    read_stretch(s.keys, keys);
    groups g = {0, 0};
    uint64 first = t.first + threadIdx.x * ITEMS, end = t.first + t.count;
    if (first >= end)
        return g;
    int mine = end - first < ITEMS ? (int)(end - first) : (int)ITEMS;
    index_t previous = first ? load(p.index + physical(p, first - 1)) : keys[0];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (k < mine && (first + k == 0 || keys[k] != previous))
            g.heads |= 1u << k;
        previous = keys[k];
    }
    g.tails = g.heads >> 1;
    uint64 next = first + mine;
    if (next == p.n || load(p.index + physical(p, next)) != load(p.index + physical(p, next - 1)))
        g.tails |= 1u << (mine - 1);
    return g;
}
#endif

/* Rows reverse as a whole, and each as well. */
inline groups find_rows(const tiles_args &p, uint64 column, int mine) {
    groups g = {0, 0};
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (column == 0)
            g.heads |= 1u << k;
        column++;
        if (column == p.extent) {
            g.tails |= 1u << k;
            column = 0;
        }
    }
    uint32 there = mine >= 32 ? ALL_LANES : (1u << mine) - 1;
    return {g.heads & there, g.tails & there};
}

/* ---- one tile's two visits ---- */

/* What a thread remembers of its stretch between the first visit and the second. */
struct visit {
    tile t;
    groups g;
    state before; /* the threads before it in the tile */
    uint64 column; /* ROWS: of its first item */
};

inline value_t partner_of(const tiles_args &p, uint64 at) {
    return HAS_SECOND ? value_of(load(p.y + at)) : value_t(0);
}
inline int items_of(const tile &t) {
    int left = t.count - (int)threadIdx.x * ITEMS;
    return left < 0 ? 0 : left < ITEMS ? left : (int)ITEMS;
}
inline uint64 index_of(const tiles_args &p, uint64 at, uint64 column) {
    return GROUPS == ROWS ? (REVERSE ? p.extent - 1 - column : column) : GROUPS == ALL ? at + p.before : at;
}

/* Turns each thread's state into that of the threads before it; *total receives the block's. */
inline state scan_block(uint8 *memory, state mine, state *total) {
    state *of_warp = (state *)memory;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
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
    sync_workers();
    state warps = no_state(), all = no_state();
#pragma unroll SMALL ? WARPS : 1
    for (int w = 0; w < WARPS; w++) {
        if (w == warp)
            warps = all;
        all = join(all, of_warp[w]);
    }
    *total = all;
    return join(warps, before);
}

/* Sums the tile in 'memory' and publishes the sum. */
inline void first_visit(scratch &s, const tiles_args &p, visit *v, int at_buffer, uint32 tag, entry *mine_to_fill) {
    const tile &t = v->t;
    int mine = items_of(t);
    uint64 first = t.first + threadIdx.x * ITEMS;
    v->g = {0, 0};
    v->column = first + p.before;
#if GROUPS == ROWS
    v->column = first % p.extent;
    v->g = find_rows(p, v->column, mine);
    v->column += p.before;
#elif GROUPS == KEYS
    v->g = find_keys(s, p, t);
#elif GROUPS == SEGMENTS
    v->g = find_segments(s, p, t, &s.has_empty[at_buffer]);
#endif
    in_t items[ITEMS];
    read_stretch(s.tile[at_buffer].vector, items);
    lane_t sum = identity_as<lane_t>();
    uint64 column = v->column;
#pragma unroll AT_ONCE
    for (int k = 0; k < ITEMS; k++) {
        bool is_head = GROUPS != ALL && v->g.heads >> k & 1;
        if (is_head)
            column = p.before;
        if (k < mine) {
            uint64 at = physical(p, first + k);
            lane_t x = lift_as<lane_t>(value_of(items[k]), partner_of(p, at), index_of(p, at, column));
            sum = is_head ? x : combine(sum, x);
        }
        column++;
    }
    uint32 marks = __popc(v->g.tails) | (v->g.heads ? HAS_HEAD : 0);
    uint32 start = v->g.heads ? threadIdx.x * ITEMS + 31 - __clz(v->g.heads) : 0;
    state total;
    v->before = scan_block(s.of_warp[tag & 1], make_state(sum, marks, start), &total);
    if (threadIdx.x == 0) {
        uint32 all = marks_of(total);
        publish(mine_to_fill,
                make_record(widen(total.acc), all, all & ~HAS_HEAD, t.first + start_of(total)), tag);
        s.tails[at_buffer] = all & ~HAS_HEAD;
    }
}

/* Adds up what a warp's lanes have, in their order: the inclusive sums. */
inline record scan_warp(record sum) {
    uint32 lane = threadIdx.x % WARP;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        record left = from_below(sum, d);
        if (lane >= d)
            sum = join(left, sum);
    }
    return sum;
}

/* The same for all lanes, where order does not matter. */
inline record fold_warp(record sum) {
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        sum = join(sum, by_words(sum, [=](uint32 w) { return __shfl_xor_sync(ALL_LANES, w, d); }));
    return sum;
}

/* Adds a batch up. *before becomes what lies before this block's tile, if that is known by now, and *base what lies
 * before the next batch. 'at' is the batch's first index, of 'needed' ones. */
inline void add_batch(const batch &few, uint32 at, uint32 needed, record *base, record *before) {
    uint32 lane = threadIdx.x % WARP;
#if GROUPS == ALL && COMMUTES
    record sum = no_record(), mine = no_record();
#pragma unroll
    for (int k = 0; k < batch::MANY; k++) {
        uint32 index = at + k * WARP + lane;
        if (index < needed) {
            record r = few.get(k);
            sum = join(sum, r);
            if (index < blockIdx.x)
                mine = join(mine, r);
        }
    }
    sum = fold_warp(sum);
    mine = fold_warp(mine);
    if (at < blockIdx.x)
        *before = join(*base, mine);
    *base = join(*base, sum);
#else
#pragma unroll
    for (int k = 0; k < batch::MANY; k++, at += WARP) {
        if (at >= needed)
            break;
        record sum = scan_warp(at + lane < needed ? few.get(k) : no_record());
        if (at < blockIdx.x) {
            uint32 last = blockIdx.x - at - 1;
            *before = join(*base, from_lane(sum, last < WARP ? last : WARP - 1));
        }
        *base = join(*base, from_lane(sum, WARP - 1));
    }
#endif
}

/* The messenger: one warp that adds up each wave in the blocks' order. Of the last wave nobody needs the sum. */
inline void carry_messages(scratch &s, const tiles_args &p, uint64 waves) {
    uint32 lane = threadIdx.x % WARP;
    record base = no_record(); /* before the wave */
    auto entries_of = [&](uint64 wave) { return p.entries + wave % RING * gridDim.x; };
    auto needed_of = [&](uint64 wave) { return wave + 1 < waves ? gridDim.x : wave + 1 == waves ? blockIdx.x : 0; };
    batch few, next;
    bool there = few.try_read(entries_of(0), lane, needed_of(0), 1);
    for (uint64 wave = 0; wave < waves; wave++) {
        uint32 needed = needed_of(wave), tag = (uint32)wave + 1;
        while (!there)
            there = few.try_read(entries_of(wave), lane, needed, tag);
        __syncwarp();
        /* on its way while this one is added up */
        bool next_there = next.try_read(entries_of(wave + 1), lane, needed_of(wave + 1), tag + 1);
        record before = base;
        add_batch(few, 0, needed, &base, &before);
        for (uint32 at = batch::MANY * WARP; at < needed; at += batch::MANY * WARP) {
            while (!few.try_read(entries_of(wave), at + lane, needed, tag))
                ;
            __syncwarp();
            add_batch(few, at, needed, &base, &before);
        }
        if (lane == 0)
            *(record *)s.prefix[wave & 1] = before;
        sync_all();
        few = next;
        there = next_there;
    }
}

/* Scans the tile from what came before it and writes the results. */
inline void second_visit(scratch &s, const tiles_args &p, const visit &v, int at_buffer, const record &prefix) {
    const tile &t = v.t;
    if (t.number >= p.tiles)
        return;
    uint4 *memory = s.tile[at_buffer].vector;
    int mine = items_of(t);
    uint64 first = t.first + threadIdx.x * ITEMS;
    in_t items[ITEMS];
    read_stretch(memory, items);
    bool open = !(marks_of(v.before) & HAS_HEAD); /* the group began before the tile */
    lane_t run = v.before.acc;
    uint64 start = open ? start_of(prefix) : t.first + start_of(v.before);
    uint32 rank = marks_of(v.before) & ~HAS_HEAD;
    bool has_base = p.carry || p.initial;
    acc_t base = identity_as<acc_t>();
    if (has_base)
        base = p.carry ? p.carry->read() : raise(load(p.initial));
    /* of the whole group, from the part of it in this tile */
    auto whole = [&](lane_t part) {
        acc_t sum = open ? combine(prefix.acc, widen(part)) : widen(part);
        return IS_SCAN && has_base ? combine(base, sum) : sum;
    };
    int last = p.total && p.n - 1 - first < ITEMS ? (int)(p.n - 1 - first) : -1;
    result_t results[ITEMS] = {};
    constexpr bool STAGED = sizeof(result_t) <= WIDEST;
#if GROUPS == SEGMENTS
    bool dense = STAGED && !s.has_empty[at_buffer];
#else
    bool dense = STAGED;
#endif
    if (!IS_SCAN || sizeof(result_t) != sizeof(in_t))
        sync_workers(); /* all have read their items, results take their place */
    uint64 column = v.column;
#pragma unroll AT_ONCE
    for (int k = 0; k < ITEMS; k++) {
        if (GROUPS != ALL && v.g.heads >> k & 1) {
            column = p.before;
            start = first + k;
            run = identity_as<lane_t>();
            open = false;
        }
        if (k < mine) {
            uint64 at = physical(p, first + k);
            /* elements of the group before this one */
            uint64 within = GROUPS == ROWS || GROUPS == ALL ? column : first + k - start;
            uint64 group_start = GROUPS == SEGMENTS || GROUPS == KEYS ? start : 0;
            lane_t next = combine(run, lift_as<lane_t>(value_of(items[k]), partner_of(p, at), index_of(p, at, column)));
            if (IS_SCAN) {
                results[k] = lower(whole(INCLUSIVE ? next : run), within + INCLUSIVE, group_start);
                if (k == last)
                    p.total->write(whole(next));
            } else if (v.g.tails >> k & 1) {
                result_t result = lower(whole(next), within + 1, group_start);
                if (dense)
                    *place_of<result_t>(memory, rank) = result;
#if GROUPS == SEGMENTS
                else
                    store(p.out + segment_ending(p, t, at), result);
#else
                else
                    store(p.out + (GROUPS == ROWS ? t.first / p.extent : tails_of(prefix)) + rank, result);
#endif
                if (GROUPS == KEYS && p.keys_out)
                    store(p.keys_out + tails_of(prefix) + rank, load(p.index + at));
                rank++;
            }
            run = next;
        }
        column++;
    }
    if (IS_SCAN)
        write_stretch(memory, results);
    sync_workers();
#if IS_SCAN && GROUPS == SEGMENTS
    uint64 from = load(p.index), to = load(p.index + p.segments);
    int low = from > t.low ? (from - t.low < t.count ? (int)(from - t.low) : t.count) : 0;
    int high = to < t.low + t.count ? (to > t.low ? (int)(to - t.low) : 0) : t.count;
    if (low < high)
        write_out(memory, t.shift + low, p.out + t.low + low, high - low);
#elif IS_SCAN
    write_out(memory, t.shift, p.out + t.low, t.count);
#elif GROUPS == SEGMENTS
    if (dense) {
        uint64 first_begun = p.first_segment[t.number];
        bool ends_here = first_begun && (uint64)load(p.index + first_begun) > t.low; /* the one before it */
        write_out(memory, 0, p.out + first_begun - ends_here, s.tails[at_buffer]);
    }
#else
    if (dense)
        write_out(memory, 0, p.out + (GROUPS == ROWS ? t.first / p.extent : tails_of(prefix)), s.tails[at_buffer]);
#endif
    if (GROUPS == KEYS && p.runs && threadIdx.x == 0 && t.count && t.first + t.count == p.n)
        *p.runs = tails_of(prefix) + s.tails[at_buffer];
}

/* ---- the kernel ---- */

inline void work(scratch &s, const tiles_args &p, uint64 waves) {
    ahead<in_t> next;
#if GROUPS == KEYS
    ahead<index_t> next_keys;
#endif
    auto load_tile = [&](const tile &t) {
        next.load_from(t, p.x);
#if GROUPS == KEYS
        next_keys.load_from(t, p.index);
#endif
    };
    auto put_tile = [&](const tile &t, int at_buffer) {
        next.put(t, p.x, s.tile[at_buffer].vector);
#if GROUPS == KEYS
        next_keys.put(t, p.index, s.keys);
#endif
    };
    auto tile_of = [&](uint64 wave) { return tile_at(p, wave * gridDim.x + blockIdx.x); };
    auto visit_first = [&](visit *v, uint64 wave, int at_buffer) {
        if (wave < waves)
            first_visit(s, p, v, at_buffer, (uint32)wave + 1, p.entries + wave % RING * gridDim.x + blockIdx.x);
    };

    /* In each turn a tile is fetched, the one before it is summed, and the one LEAD before that is finished. */
    visit visits[BUFFERS];
    visits[LEAD].t = tile_of(0);
    load_tile(visits[LEAD].t);
    put_tile(visits[LEAD].t, 0);
    sync_workers();
    int at_buffer = 0;
    for (uint64 turn = 0; turn < waves + LEAD; turn++) {
        int next_buffer = at_buffer == LEAD ? 0 : at_buffer + 1; /* where the oldest tile lies */
        tile after = tile_of(turn + 1);
        load_tile(after);
        visit_first(&visits[LEAD], turn, at_buffer);
        if (turn >= LEAD) {
            sync_all(); /* the messenger has the prefix */
            second_visit(s, p, visits[0], next_buffer, *(const record *)s.prefix[turn - LEAD & 1]);
            sync_workers();
        }
        put_tile(after, next_buffer);
        sync_workers();
#pragma unroll
        for (int k = 0; k < LEAD; k++)
            visits[k] = visits[k + 1];
        visits[LEAD].t = after;
        at_buffer = next_buffer;
    }
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS + WARP, TILE_BLOCKS) scan_tiles(tiles_args p) {
    extern __shared__ uint4 dynamic[];
    scratch &s = *(scratch *)dynamic;
    if (p.refused && *p.refused)
        return;
    uint64 waves = (p.tiles + gridDim.x - 1) / gridDim.x;
    if (threadIdx.x < TILE_THREADS)
        work(s, p, waves);
    else
        carry_messages(s, p, waves);
}

/* The least segment that begins at 'position' or after it; 'segments' if there is none. */
inline uint64 first_from(const index_t *offsets, uint64 segments, uint64 position) {
    uint64 low = 0, high = segments;
    while (low < high) {
        uint64 middle = (low + high) / 2;
        if ((uint64)load(offsets + middle) >= position)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* first_segment of each tile. */
extern "C" __global__ void __launch_bounds__(BLOCK) place_segments(const index_t *offsets, uint64 segments, uint64 n,
                                                                   uint64 tile, uint64 tiles, uint64 *first_segment,
                                                                   const uint32 *refused) {
    if (*refused)
        return;
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < tiles; k += gridDim.x * (uint64)BLOCK) {
        uint64 first = k * tile, count = n - first < tile ? n - first : tile;
        first_segment[k] = first_from(offsets, segments, REVERSE ? n - first - count : first);
    }
}

/* The number of runs of equal keys, added to *runs; for outputs that may be too small. */
extern "C" __global__ void __launch_bounds__(BLOCK) count_runs(const index_t *keys, uint64 n, uint64 *runs) {
    uint32 mine = 0;
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < n; i += gridDim.x * (uint64)BLOCK)
        mine += i == 0 || load(keys + i) != load(keys + i - 1);
    for (int d = WARP / 2; d; d /= 2)
        mine += __shfl_down_sync(ALL_LANES, mine, d);
    if (threadIdx.x % WARP == 0 && mine)
        atomicAdd(runs, (uint64)mine);
}

extern "C" __global__ void refuse_more_runs(const uint64 *runs, uint64 most, uint32 *refused) {
    if (*runs > most)
        *refused |= 4;
}
