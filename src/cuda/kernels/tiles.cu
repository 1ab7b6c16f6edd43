/* Everything whose groups are consecutive elements and that is not one long reduction: scans of all values, of rows, of
 * segments and of runs of keys, and the reductions of short rows, segments and runs. One pass: the input is cut into
 * tiles of TILE elements, whatever the groups; a thread block scans a tile as if nothing came before it, publishes what
 * the tile adds up to, looks back for what its predecessors add up to, and scans again from there. A head, the first
 * element of a group, makes what comes before it irrelevant (Blelloch 1990; Merrill and Garland 2016).
 *
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
    const uint64 *first_segment; /* a tile: the first segment that starts in it or after it */
    uint64 *runs;                /* receives the number of runs of keys */
    const uint32 *refused;       /* not 0: the offsets are bad, or the output too small; nothing is written */
    uint32 *ticket;              /* the next tile; 0 at the start */
    uint32 *status;              /* a tile: NOTHING, AGGREGATE or PREFIX; NOTHING at the start */
    struct record_slot *aggregates, *prefixes;
};

enum { NOTHING, AGGREGATE, PREFIX };

constexpr int larger_of(int a, int b) {
    return a > b ? a : b;
}
enum {
    WARPS = BLOCK / WARP,
    ITEMS = TILE_ITEMS, /* elements a thread: whole vectors of 16 bytes of whatever passes through shared memory */
    TILE = BLOCK * ITEMS,
    WIDEST = larger_of(larger_of(sizeof(in_t), IS_SCAN ? sizeof(result_t) : 1), GROUPS == KEYS ? sizeof(index_t) : 1)
};

/* What a stretch of elements adds up to: since its last head, if it has one. */
struct state {
    acc_t acc;
    uint32 heads;
    uint32 start; /* the last head's logical position in the tile */
};
struct record {
    acc_t acc;
    uint32 has_head;
    uint64 heads, start; /* start: of the last head, logical */
};
struct record_slot : slot_of<record, RECORD_BYTES> {};
static_assert(sizeof(record) <= RECORD_BYTES);

inline state join(const state &a, const state &b) {
    if (GROUPS == ALL)
        return {combine(a.acc, b.acc), 0, 0};
    return {b.heads ? b.acc : combine(a.acc, b.acc), a.heads + b.heads, b.heads ? b.start : a.start};
}
inline record join(const record &a, const record &b) {
    if (GROUPS == ALL)
        return {combine(a.acc, b.acc), 0, 0, 0};
    return {b.has_head ? b.acc : combine(a.acc, b.acc), a.has_head | b.has_head, a.heads + b.heads,
            b.has_head ? b.start : a.start};
}

/* ---- shared memory ---- */

/* Tiles pass through it in vectors of 16 bytes, one in nine left out, so that neither the threads that copy neighbouring
 * vectors nor those that work on neighbouring stretches meet in a bank. */
constexpr int padded(int vector) {
    return vector + vector / 8;
}
struct scratch {
    uint4 tile[padded(TILE * WIDEST / 16) + 1];
    alignas(16) uint8 of_warp[WARPS * sizeof(state)];
    alignas(16) uint8 prefix[sizeof(record)];
    uint32 head_bits[TILE / 32 + 1], tail_bits[TILE / 32 + 1];
    uint32 segment_of_tail[GROUPS == SEGMENTS && !IS_SCAN ? TILE : 1];
    uint32 last_head[WARPS];
    uint32 tile_number;
};

template <class T> inline T *place_of(scratch &s, int element) {
    constexpr int a_vector = 16 / sizeof(T);
    return (T *)&s.tile[padded(element / a_vector)] + element % a_vector;
}

struct tile {
    uint64 first;       /* logical position of its first element */
    uint64 low;         /* lowest physical position */
    int count;          /* elements */
    int shift;          /* of the physically lowest element in shared memory */
    bool is_last;
};

template <class T> inline void read_tile(scratch &s, const tile &t, const T *from, T *items) {
    constexpr int a_vector = 16 / sizeof(T), vectors = TILE / a_vector, mine = ITEMS / a_vector;
    from += t.low;
    __syncthreads();
    if (t.count == TILE && ((uint64)from & 15) == 0) {
#pragma unroll
        for (int v = threadIdx.x; v < vectors; v += BLOCK)
            s.tile[padded(v)] = __ldcs((const uint4 *)from + v);
    } else {
        for (int e = threadIdx.x; e < t.count; e += BLOCK)
            *place_of<T>(s, t.shift + e) = load(from + e);
    }
    __syncthreads();
    int stretch = REVERSE ? BLOCK - 1 - threadIdx.x : threadIdx.x;
#pragma unroll
    for (int v = 0; v < mine; v++) {
        T few[a_vector];
        memcpy(few, &s.tile[padded(stretch * mine + v)], 16);
#pragma unroll
        for (int k = 0; k < a_vector; k++)
            items[REVERSE ? ITEMS - 1 - (v * a_vector + k) : v * a_vector + k] = few[k];
    }
}

/* 'written' tells which of the thread's items are results. */
template <class T>
inline void write_tile(scratch &s, const tile &t, T *to, const T *items, uint64 cover_from, uint64 cover_to) {
    constexpr int a_vector = 16 / sizeof(T), vectors = TILE / a_vector, mine = ITEMS / a_vector;
    to += t.low;
    __syncthreads();
    int stretch = REVERSE ? BLOCK - 1 - threadIdx.x : threadIdx.x;
#pragma unroll
    for (int v = 0; v < mine; v++) {
        T few[a_vector];
#pragma unroll
        for (int k = 0; k < a_vector; k++)
            few[k] = items[REVERSE ? ITEMS - 1 - (v * a_vector + k) : v * a_vector + k];
        memcpy(&s.tile[padded(stretch * mine + v)], few, 16);
    }
    __syncthreads();
    if (t.count == TILE && ((uint64)to & 15) == 0 && cover_from <= t.low && t.low + TILE <= cover_to) {
#pragma unroll
        for (int v = threadIdx.x; v < vectors; v += BLOCK)
            __stcs((uint4 *)to + v, s.tile[padded(v)]);
    } else {
        for (int e = threadIdx.x; e < t.count; e += BLOCK)
            if (t.low + e >= cover_from && t.low + e < cover_to)
                store(to + e, *place_of<T>(s, t.shift + e));
    }
}

/* ---- groups ---- */

inline uint64 physical(const tiles_args &p, uint64 logical) {
    return REVERSE ? p.n - 1 - logical : logical;
}

inline void set_bit(uint32 *bits, int position) {
    atomicOr(&bits[position / 32], 1u << position % 32);
}

/* Marks the heads and tails of the segments in a tile, and gives empty segments their results. */
inline void mark_segments(scratch &s, const tiles_args &p, const tile &t) {
    for (int w = threadIdx.x; w <= TILE / 32; w += BLOCK)
        s.head_bits[w] = s.tail_bits[w] = 0;
    __syncthreads();
    uint64 first = p.first_segment[t.first / TILE], high = t.low + t.count;
    bool includes_end = high == p.n;
    uint64 base = first ? first - 1 : 0;
    for (uint64 g = base + threadIdx.x; g < p.segments; g += BLOCK) {
        uint64 begin = load(p.index + g), end = load(p.index + g + 1);
        if (begin >= high && !(includes_end && begin == high))
            break;
        if (begin == end) {
            if (!IS_SCAN && begin >= t.low)
                store(p.out + g, lower(identity_as<acc_t>(), 0, 0));
            continue;
        }
        uint64 head = REVERSE ? end - 1 : begin;
        if (head >= t.low && head < high)
            set_bit(s.head_bits, (int)(REVERSE ? high - 1 - head : head - t.low));
        if (!IS_SCAN && end > t.low && end <= high) {
            set_bit(s.tail_bits, (int)(end - 1 - t.low));
            s.segment_of_tail[end - 1 - t.low] = (uint32)(g - base);
        }
    }
    __syncthreads();
}

/* The bits of this thread's ITEMS positions. */
inline uint32 my_bits(const uint32 *bits) {
    constexpr uint32 all = ITEMS == 32 ? ALL_LANES : (1u << ITEMS % 32) - 1;
    int position = threadIdx.x * ITEMS;
    return bits[position / 32] >> position % 32 & all;
}

struct groups {
    uint32 heads, tails; /* a bit an item */
};

inline groups find_keys(scratch &s, const tiles_args &p, const tile &t, index_t *keys) {
    read_tile(s, t, p.index, keys);
    groups g = {0, 0};
    uint64 first = t.first + threadIdx.x * ITEMS;
    index_t previous = first && first <= p.n ? load(p.index + physical(p, first - 1)) : keys[0];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (first + k < p.n && (first + k == 0 || keys[k] != previous))
            g.heads |= 1u << k;
        previous = keys[k];
    }
    g.tails = g.heads >> 1;
    uint64 next = first + ITEMS;
    if (next >= p.n && first < p.n)
        g.tails |= 1u << (p.n - 1 - first);
    else if (next < p.n && load(p.index + physical(p, next)) != keys[ITEMS - 1])
        g.tails |= 1u << (ITEMS - 1);
    return g;
}

inline groups find_rows(const tiles_args &p, const tile &t, uint64 *column) {
    uint64 first = t.first + threadIdx.x * ITEMS;
    *column = first % p.extent; /* logical: rows reverse as a whole, and each as well */
    groups g = {0, 0};
    uint64 c = *column;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (c == 0)
            g.heads |= 1u << k;
        c++;
        if (c == p.extent) {
            g.tails |= 1u << k;
            c = 0;
        }
    }
    return g;
}

/* ---- scanning ---- */

/* Turns each thread's state into that of the threads before it; *total receives the block's. */
inline state scan_block(scratch &s, state mine, state *total) {
    state nothing = {identity_as<acc_t>(), 0, 0};
    state *of_warp = (state *)s.of_warp;
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
        before = nothing;
    __syncthreads();
    state warps = nothing, all = nothing;
    for (int w = 0; w < WARPS; w++) {
        if (w == warp)
            warps = all;
        all = join(all, of_warp[w]);
    }
    *total = all;
    return join(warps, before);
}

inline uint32 load_acquire(const uint32 *from) {
    uint32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}
inline void store_release(uint32 *to, uint32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

/* What all tiles before this one add up to. Aggregates are combined from left to right after the nearest prefix that
 * is there, so that the result does not depend on which one that was. By a whole warp. */
inline record look_back(const tiles_args &p, uint32 number) {
    int lane = threadIdx.x % WARP;
    int64 nearest = number; /* the prefix */
    for (int64 high = (int64)number - 1; nearest == number; high -= WARP) {
        int64 at = high - lane;
        uint32 prefixes, missing;
        do {
            uint32 status = at < 0 ? PREFIX : load_acquire(&p.status[at]);
            prefixes = __ballot_sync(ALL_LANES, status == PREFIX);
            missing = __ballot_sync(ALL_LANES, status == NOTHING);
            /* only tiles nearer than the prefix matter */
            if (prefixes)
                missing &= (prefixes & 0u - prefixes) - 1;
        } while (missing);
        if (prefixes)
            nearest = high - (__ffs(prefixes) - 1);
    }
    record sum = {identity_as<acc_t>(), 0, 0, 0};
    if (nearest >= 0)
        sum = p.prefixes[nearest].read();
    for (int64 low = nearest + 1; low < number; low += WARP) {
        record mine = {identity_as<acc_t>(), 0, 0, 0};
        if (low + lane < number)
            mine = p.aggregates[low + lane].read();
        int count = number - low < WARP ? (int)(number - low) : (int)WARP;
        for (int k = 0; k < count; k++)
            sum = join(sum, from_lane(mine, k));
    }
    return sum;
}

/* Publishes the tile's aggregate, and leaves what comes before the tile in shared memory. */
inline void hand_over(scratch &s, const tiles_args &p, uint32 number, const tile &t, const state &total) {
    if (threadIdx.x < WARP) {
        record aggregate = {total.acc, total.heads != 0, total.heads, t.first + total.start};
        if (threadIdx.x == 0 && number) {
            p.aggregates[number].write(aggregate);
            store_release(&p.status[number], AGGREGATE);
        }
        record before = number ? look_back(p, number) : record{identity_as<acc_t>(), 0, 0, 0};
        if (threadIdx.x == 0) {
            *(record *)s.prefix = before;
            p.prefixes[number].write(join(before, aggregate));
            store_release(&p.status[number], PREFIX);
            if (t.is_last && p.runs)
                *p.runs = before.heads + aggregate.heads;
        }
    }
    __syncthreads();
}

inline value_t partner_of(const tiles_args &p, uint64 at) {
    return HAS_SECOND ? value_of(load(p.y + at)) : value_t(0);
}

extern "C" __global__ void __launch_bounds__(BLOCK) scan_tiles(tiles_args p) {
    __shared__ scratch s;
    if (p.refused && *p.refused)
        return;
    if (threadIdx.x == 0)
        s.tile_number = atomicAdd(p.ticket, 1);
    __syncthreads();
    uint32 number = s.tile_number;
    tile t;
    t.first = (uint64)number * TILE;
    t.count = p.n - t.first < TILE ? (int)(p.n - t.first) : (int)TILE;
    t.low = REVERSE ? p.n - t.first - t.count : t.first;
    t.shift = REVERSE ? TILE - t.count : 0;
    t.is_last = t.first + t.count == p.n;

    in_t items[ITEMS];
    read_tile(s, t, p.x, items);
    uint64 first = t.first + threadIdx.x * ITEMS; /* logical, of my first item */
    int mine = first >= p.n ? 0 : p.n - first < ITEMS ? (int)(p.n - first) : (int)ITEMS;
    groups g = {0, 0};
    uint64 column = first + p.before;
    index_t keys[ITEMS];
    if (GROUPS == ROWS) {
        g = find_rows(p, t, &column);
    } else if (GROUPS == KEYS) {
        g = find_keys(s, p, t, keys);
    } else if (GROUPS == SEGMENTS) {
        mark_segments(s, p, t);
        g.heads = my_bits(s.head_bits);
        g.tails = my_bits(s.tail_bits);
    }

    state sum = {identity_as<acc_t>(), 0, 0};
    uint64 c = column;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        bool is_head = GROUPS != ALL && g.heads >> k & 1;
        if (is_head) {
            c = p.before;
            sum.heads++;
            sum.start = threadIdx.x * ITEMS + k;
        }
        if (k < mine) {
            uint64 at = physical(p, first + k);
            uint64 index = GROUPS == ROWS ? (REVERSE ? p.extent - 1 - c : c) : GROUPS == ALL ? at + p.before : at;
            acc_t x = lift_as<acc_t>(value_of(items[k]), partner_of(p, at), index);
            sum.acc = is_head ? x : combine(sum.acc, x);
        }
        c++;
    }
    state total;
    state before = scan_block(s, sum, &total);
    hand_over(s, p, number, t, total);
    const record &prefix = *(const record *)s.prefix;

    acc_t run = before.heads ? before.acc : combine(prefix.acc, before.acc);
    uint64 rank = prefix.heads + before.heads; /* heads so far */
    uint64 start = before.heads ? t.first + before.start : prefix.start;
    bool has_base = p.carry || p.initial;
    acc_t base = p.carry ? p.carry->read() : p.initial ? raise(load(p.initial)) : identity_as<acc_t>();
    result_t results[IS_SCAN ? ITEMS : 1];
    c = column;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (GROUPS != ALL && g.heads >> k & 1) {
            c = p.before;
            rank++;
            start = first + k;
            run = identity_as<acc_t>();
        }
        if (k < mine) {
            uint64 at = physical(p, first + k);
            uint64 within = GROUPS == ROWS || GROUPS == ALL ? c : first + k - start; /* elements of the group before */
            uint64 index = GROUPS == ROWS ? (REVERSE ? p.extent - 1 - c : c) : GROUPS == ALL ? at + p.before : at;
            uint64 group_start = GROUPS == SEGMENTS || GROUPS == KEYS ? start : 0;
            acc_t next = combine(run, lift_as<acc_t>(value_of(items[k]), partner_of(p, at), index));
            if (IS_SCAN) {
                acc_t told = INCLUSIVE ? next : run;
                results[k] = lower(has_base ? combine(base, told) : told, within + INCLUSIVE, group_start);
                if (p.total && first + k == p.n - 1)
                    p.total->write(has_base ? combine(base, next) : next);
            } else if (g.tails >> k & 1) {
                uint64 group = GROUPS == ROWS   ? at / p.extent
                               : GROUPS == KEYS ? rank - 1
                                                : (p.first_segment[number] ? p.first_segment[number] - 1 : 0) +
                                                      s.segment_of_tail[GROUPS == SEGMENTS ? threadIdx.x * ITEMS + k : 0];
                store(p.out + group, lower(next, within + 1, group_start));
                if (GROUPS == KEYS && p.keys_out)
                    store(p.keys_out + group, keys[k]);
            }
            run = next;
        }
        c++;
    }
    if (IS_SCAN) {
        uint64 from = GROUPS == SEGMENTS ? load(p.index) : 0;
        uint64 to = GROUPS == SEGMENTS ? load(p.index + p.segments) : p.n;
        write_tile(s, t, p.out, results, from, to);
    }
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
                                                                     uint64 tiles, uint64 *first_segment,
                                                                     const uint32 *refused) {
    if (*refused)
        return;
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < tiles; k += gridDim.x * (uint64)BLOCK) {
        uint64 first = k * TILE, count = n - first < TILE ? n - first : TILE;
        first_segment[k] = first_from(offsets, segments, REVERSE ? n - first - count : first);
    }
}

/* What is wrong with offsets: bit 0 decreasing or past the end, bit 1 an empty segment where the operator has no value
 * of nothing. where[] receives the complement of the least segment concerned, of each kind. */
extern "C" __global__ void __launch_bounds__(BLOCK) check_segments(const index_t *offsets, uint64 segments, uint64 n,
                                                                     uint32 refuses_empty, uint32 *refused,
                                                                     uint64 *where) {
    uint64 bad = ~0ull, empty = ~0ull;
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g <= segments; g += gridDim.x * (uint64)BLOCK) {
        index_t begin = load(offsets + g), end = g < segments ? load(offsets + g + 1) : begin;
        if (begin > end || (uint64)begin > n || (uint64)end > n)
            bad = g < bad ? g : bad;
        else if (refuses_empty && g < segments && begin == end)
            empty = g < empty ? g : empty;
    }
    if (bad != ~0ull) {
        atomicOr(refused, 1);
        atomicMax(&where[0], ~bad);
    }
    if (empty != ~0ull) {
        atomicOr(refused, 2);
        atomicMax(&where[1], ~empty);
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
    *refused |= *runs > most ? 4u : 0u;
}
