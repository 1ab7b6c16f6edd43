/* Scans down the columns of a few long narrow slabs: outer x extent x inner, with rows of a few elements. Like scan.cu,
 * it is one pass of waves through a ring of tiles; here a tile is whole rows of a slab, has a sum for each column, and is
 * of one of the blocks that share the slab. One warp of each block, its teller, adds up the sums of a wave's tiles in
 * some columns and tells every block of the slab the sums before its tile. If each block added up all sums itself, as it
 * does with one sum per tile, it would read 'inner' times as much. With up to three columns of 4 bytes, a tile's sums
 * fit in one access, and each block does add them up itself. */
enum {
    FIRST_TELLER = MESSENGERS > 1 ? MESSENGER + WARP : THREADS, /* the second messenger, where other scans have two */
    TOLD_WAVES = RING /* tellers have read a wave when its tile's place is free */
};
static_assert(MESSENGERS <= 2 && THREADS + (MESSENGERS > 1 ? 0 : WARP) == NARROW_THREADS);
/* As KEPT; with more registers spill. */
constexpr bool NARROW_KEPT = KEPT && ITEMS * sizeof(lane_t) <= 96;

/* The scan of one slab by its blocks. x, y, out, the entries and what columns carry are the slab's. */
struct slab_scan : scan_args {
    entry *told;
    uint32 inner, strands, rows, lanes, tellers;
    uint32 blocks, rank; /* blocks of the slab, and which of them this one is */

    static slab_scan of(const narrow_args &p) {
        slab_scan s;
        (scan_args &)s = p.tiles;
        s.inner = p.inner;
        s.strands = p.strands;
        s.rows = p.rows;
        s.lanes = p.lanes;
        s.tellers = p.tellers;
        s.blocks = p.blocks;
        const uint32 slab = blockIdx.x / p.blocks;
        s.rank = blockIdx.x - slab * p.blocks;
        s.x += slab * s.n;
        s.out += slab * s.n;
        if (HAS_SECOND)
            s.y += slab * s.n;
        if (s.carry)
            s.carry += slab * p.inner;
        if (s.total)
            s.total += slab * p.inner;
        s.entries = (entry *)((uint8 *)s.entries + slab * p.slab_bytes);
        s.told = (entry *)((uint8 *)p.told + slab * p.slab_bytes);
        return s;
    }
    uint32 turns() const { /* of all blocks */
        return (uint32)((tiles + blocks - 1) / blocks);
    }
    uint32 turns_of_block() const {
        return (uint32)((tiles - rank + blocks - 1) / blocks);
    }
    uint32 blocks_in(uint32 turn) const { /* with a tile in that wave */
        const uint64 first = (uint64)turn * blocks;
        return first >= tiles ? 0 : tiles - first < blocks ? (uint32)(tiles - first) : blocks;
    }
    /* The blocks whose sums this one needs of a wave, in the last of which it has a tile. */
    uint32 needed_of(uint32 turn, uint32 turns) const {
        return tiles == 1 ? 0 : turn + 1 < turns ? blocks : turn + 1 == turns ? rank : 0;
    }
};
inline tile tile_at(const slab_scan &p, uint64 turn) {
    const uint64 number = turn * p.blocks + p.rank;
    tile t;
    t.rank = REVERSE ? p.tiles - 1 - number : number;
    t.low = t.rank * p.tile;
    t.count = p.n - t.low < p.tile ? (int)(p.n - t.low) : (int)p.tile;
    t.first = REVERSE ? p.n - t.low - t.count : t.low;
    return t;
}
/* A tile's first row in physical order, and their number. */
inline uint64 row_of(const slab_scan &p, const tile &t) {
    return t.rank * (p.strands * p.rows);
}
inline int rows_of(const slab_scan &p, const tile &t) {
    const uint64 left = p.extent - row_of(p, t);
    return left < p.strands * p.rows ? (int)left : (int)(p.strands * p.rows);
}

/* Where a tile's elements lie. Those at odd addresses are aligned here. */
template <class T> inline bool has_aligned(const T *array) {
    return ((uint64)array & (sizeof(T) - 1)) == 0;
}
inline bool has_aligned_elements(const slab_scan &p) {
    return has_aligned(p.x) && (!HAS_SECOND || has_aligned(p.y));
}
inline const in_t *elements_of(const slab_scan &p, const uint8 *memory, const in_t *from) {
    return (const in_t *)(memory + (has_aligned_elements(p) ? shift_of(from) : 0));
}
struct elements {
    const in_t *x, *y;

    static elements of(const scratch &s, const slab_scan &p, const tile &t, const place &here) {
        elements e;
        e.x = elements_of(p, s.tile[here.at], p.x + t.low);
#if HAS_SECOND
        e.y = elements_of(p, s.second[here.at], p.y + t.low);
#else
        e.y = nullptr;
#endif
        return e;
    }
    value_t partner(int e) const {
        return HAS_SECOND ? value_of(y[e]) : value_t(0);
    }
};

/* A wave's entries: the blocks' sums in a column, and the prefixes that blocks receive. */
inline entry *sums_of(const slab_scan &p, uint32 turn, uint32 column) {
    return p.entries + (turn % TOLD_WAVES * p.inner + column) * p.blocks;
}
inline entry *told_of(const slab_scan &p, uint32 turn, uint32 block) {
    return p.told + (turn % TOLD_WAVES * p.blocks + block) * p.inner;
}

/* ---- loaders ---- */

inline void load_rows(scratch &s, const slab_scan &p, uint64 turns) {
    const bool is_aligned = has_aligned_elements(p);
    place here = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const tile t = tile_at(p, turn);
        uint32 in_bulk = 0;
        s.empty[here.at].wait(here.parity ^ 1);
        if (is_aligned) {
            fetch(s.tile[here.at], p.x, p.n, t.low, t.count, threadIdx.x, LOADERS, &in_bulk);
#if HAS_SECOND
            fetch(s.second[here.at], p.y, p.n, t.low, t.count, threadIdx.x, LOADERS, &in_bulk);
#endif
        } else {
            for (int e = threadIdx.x; e < t.count; e += LOADERS) {
                ((in_t *)s.tile[here.at])[e] = load(p.x + t.low + e);
#if HAS_SECOND
                ((in_t *)s.second[here.at])[e] = load(p.y + t.low + e);
#endif
            }
        }
#if COPIES_IN_BULK
        if (is_aligned && threadIdx.x % WARP == 0) {
            gate *full = &s.full[here.at];
            arrive_and_expect(&full->word, in_bulk);
            fetch_in_bulk(s.tile[here.at], p.x, p.n, t.low, t.count, full);
#if HAS_SECOND
            fetch_in_bulk(s.second[here.at], p.y, p.n, t.low, t.count, full);
#endif
        } else
#endif
            s.full[here.at].arrive();
    }
}

/* ---- few columns ---- */

/* The sums of up to three columns and their tag fit in one access, so every block adds up all sums of a wave itself.
 * Without a teller the delay is half as long. */
enum { FEW_COLUMNS = SLOT_BYTES == 4 ? 3 : 0, FEW_WAVES = WAVES };

struct sums_of_few {
    enum { MANY = 5 }; /* blocks a lane, a warp apart, as in waves.cu */
    uint32 word[MANY][4];
    uint32 there = 0; /* a bit for each that has been read and had the tag */

    bool try_read(const uint4 *wave, uint32 first, uint32 end, uint32 tag) {
        if (there == (1 << MANY) - 1)
            return true;
#pragma unroll
        for (int k = 0; k < MANY; k++)
            if (!(there >> k & 1) && first + k * WARP < end)
                load_relaxed(wave + first + k * WARP, word[k][0], word[k][1], word[k][2], word[k][3]);
#pragma unroll
        for (int k = 0; k < MANY; k++)
            there |= (uint32)(first + k * WARP >= end || word[k][3] == tag) << k;
        return there == (1 << MANY) - 1;
    }
    /* The sum of the blocks before 'end' in a column; 'first' as above. */
    acc_t fold(int column, uint32 first, uint32 end) const {
        acc_t sum = identity_as<acc_t>();
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            acc_t one;
            memcpy(&one, &word[k][column], sizeof one < 4 ? sizeof one : 4);
            if (first + k * WARP < end)
                sum = combine(sum, one);
        }
        return fold_warp(sum);
    }
};

inline uint4 *few_of(const slab_scan &p, uint32 turn) {
    return (uint4 *)p.entries + turn % FEW_WAVES * p.blocks;
}

/* The first warp of the summers: 'sums' has a thread's share of a column, for each of 'used' threads. */
inline void publish_few(const slab_scan &p, const lane_t *sums, int used, uint32 turn) {
    const int lane = threadIdx.x % WARP, inner = p.inner, lanes = WARP / inner * inner;
    lane_t sum = identity_as<lane_t>();
    if (lane < lanes)
#pragma unroll 5
        for (int k = lane; k < used; k += lanes)
            sum = combine(sum, sums[k]);
#pragma unroll
    for (int d = WARP / 2; d; d /= 2) {
        const lane_t other = by_words(sum, [=](uint32 w) { return __shfl_down_sync(ALL_LANES, w, d * inner & WARP - 1); });
        if (lane + d * inner < lanes)
            sum = combine(sum, other);
    }
    const acc_t wide = widen(sum);
    uint32 word;
    memcpy(&word, &wide, sizeof wide < 4 ? sizeof wide : 4);
    const uint32 second = __shfl_sync(ALL_LANES, word, 1), third = __shfl_sync(ALL_LANES, word, 2);
    if (lane == 0)
        store_relaxed(few_of(p, turn) + p.rank, word, second, third, turn + 1);
}

inline void carry_few(scratch &s, const slab_scan &p, uint32 turns) {
    const uint32 lane = threadIdx.x % WARP;
    acc_t base[3], before[3];
    sums_of_few few, next;
    place here = {0, 0};
#pragma unroll
    for (int c = 0; c < 3; c++)
        base[c] = identity_as<acc_t>();
    few.try_read(few_of(p, 0), lane, p.needed_of(0, turns), 1);
    for (uint32 turn = 0; turn < turns; turn++, here.advance()) {
        const uint32 needed = p.needed_of(turn, turns);
        next.there = 0;
        next.try_read(few_of(p, turn + 1), lane, p.needed_of(turn + 1, turns), turn + 2);
#pragma unroll
        for (int c = 0; c < 3; c++)
            before[c] = base[c];
        for (uint32 at = lane;; at += sums_of_few::MANY * WARP) {
            while (!few.try_read(few_of(p, turn), at, needed, turn + 1))
                ;
            __syncwarp();
#pragma unroll
            for (int c = 0; c < 3; c++) {
                before[c] = combine(before[c], few.fold(c, at, p.rank < needed ? p.rank : needed));
                base[c] = combine(base[c], few.fold(c, at, needed));
            }
            if (at - lane + sums_of_few::MANY * WARP >= needed)
                break;
            few.there = 0;
        }
        s.empty[here.at].wait(here.parity ^ 1); /* the tile that was there has been finished */
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (lane == c && c < (int)p.inner)
                ((acc_t *)s.before_columns[here.at])[c] = before[c];
        s.ready[here.at].arrive();
        few = next;
    }
}

/* ---- summers, tellers and messengers ---- */

/* A thread of the summers adds up some of a column's shares; 'lanes' neighbours have a column. Lane 0's is the sum. */
template <class A> inline A fold_neighbours(A sum, int lanes) {
    for (int d = 1; d < lanes; d *= 2) {
        const A next = from_above(sum, d);
        if ((threadIdx.x & (2 * d - 1)) == 0)
            sum = combine(sum, next);
    }
    return sum;
}

/* Publishes the sum of a tile in each column; 'sums' as above. */
inline void publish_columns(const slab_scan &p, const lane_t *sums, int thread, int used, uint32 turn) {
    int lanes = WARP;
    while (lanes * (int)p.inner > SUMMERS)
        lanes /= 2;
    const int column = thread / lanes, lane = thread & (lanes - 1), inner = p.inner;
    lane_t sum = identity_as<lane_t>();
    if (column < inner)
#pragma unroll 4
        for (int k = lane * inner + column; k < used; k += lanes * inner)
            sum = combine(sum, sums[k]);
    sum = fold_neighbours(sum, lanes);
    if (column < inner && lane == 0)
        publish(sums_of(p, turn, column) + p.rank, record::of(widen(sum), false, 0), turn + 1);
}

inline void sum_columns(scratch &s, const slab_scan &p, uint32 turns) {
    const int thread = threadIdx.x - FIRST_SUMMER, inner = p.inner, used = SUMMERS / inner * inner;
    const int row = thread / inner, row_step = SUMMERS / inner;
    int in_turn = 0;
    place here = {0, 0};
    for (uint32 turn = 0; turn < turns; turn++, here.advance(), in_turn ^= 1) {
        const tile t = tile_at(p, turn);
        lane_t *sums = (lane_t *)s.of_rows[in_turn];
        running<lane_t> sum;
        s.full[here.at].wait(here.parity);
        const elements from = elements::of(s, p, t, here);
        uint64 at = p.before + row_of(p, t) + row;
        if (thread < used)
#pragma unroll 10
            for (int e = thread; e < t.count; e += used, at += row_step) /* always of the same column */
                sum.add_next(value_of(from.x[e]), from.partner(e), at);
        sums[thread] = sum.sum();
        sync_some<SUMMERS>(OF_SUMMERS);
        s.ready[here.at].arrive(); /* as loaders do (scan_move.cu): results take the elements' place */
        if (FEW_COLUMNS && p.tiles > 1 && inner <= FEW_COLUMNS) {
            if (thread < WARP)
                publish_few(p, sums, used, turn);
        } else if (p.tiles > 1) {
            publish_columns(p, sums, thread, used, turn);
        }
    }
}

/* Reading an entry takes long while all of memory is busy. So reads of the next wave are under way, too, unless there
 * are more words than registers for them. */
template <class Batch, class Read, class Use> inline void for_waves(uint32 turns, Read try_read, Use use) {
    constexpr bool AHEAD = sizeof(Batch) <= 64;
    Batch few, next;
    try_read(few, 0);
    for (uint32 turn = 0; turn < turns; turn++) {
        if (AHEAD) {
            next.there = 0;
            try_read(next, turn + 1);
        }
        while (!try_read(few, turn))
            ;
        __syncwarp();
        use(turn, few);
        if (AHEAD)
            few = next;
        else
            few.there = 0;
    }
}

/* A lane of the teller reads the entries of neighbouring blocks, and 'tellers' lanes have a column, so that its sums are
 * scanned once. */
typedef batch_of<ENTRIES_AT_ONCE, 1> neighbours;

/* Tells the blocks from 'first' on the sum of the blocks before them in a column; 'run' becomes the sum of all of them.
 */
inline void tell_some(const slab_scan &p, const neighbours &few, entry *told, uint32 first, uint32 there, uint32 tag,
                      acc_t *run) {
    const uint32 lane = threadIdx.x & (p.tellers - 1), index = first + lane * neighbours::MANY;
    acc_t sum = identity_as<acc_t>(), up_to[neighbours::MANY];
#pragma unroll
    for (int k = 0; k < neighbours::MANY; k++) {
        up_to[k] = sum;
        if (index + k < there)
            sum = combine(sum, few.get(k).acc);
    }
    for (uint32 d = 1; d < p.tellers; d *= 2) {
        const acc_t left = from_below(sum, d);
        if (lane >= d)
            sum = combine(left, sum);
    }
    acc_t before = from_below(sum, 1);
    before = lane ? combine(*run, before) : *run;
    told += (uint64)index * p.inner;
#pragma unroll
    for (int k = 0; k < neighbours::MANY; k++, told += p.inner)
        if (index + k < there)
            publish(told, record::of(combine(before, up_to[k]), false, 0), tag);
    *run = combine(*run, from_lane(sum, threadIdx.x % WARP | (p.tellers - 1)));
}

/* A block tells of so many columns. */
inline void tell(const slab_scan &p) {
    const uint32 at_once = neighbours::MANY * p.tellers, of_block = (p.inner + p.blocks - 1) / p.blocks;
    const uint32 lane = threadIdx.x & (p.tellers - 1), number = threadIdx.x % WARP / p.tellers;
    const uint32 column = p.rank * of_block + number;
    const bool has_column = number < of_block && column < p.inner;
    if (p.tiles == 1 || (FEW_COLUMNS && p.inner <= FEW_COLUMNS) || p.rank * of_block >= p.inner)
        return;
    acc_t base = identity_as<acc_t>(); /* before the wave */
    auto blocks_in = [&](uint32 turn) { return has_column ? p.blocks_in(turn) : 0; };
    auto try_read = [&](neighbours &few, uint32 turn) {
        return few.try_read(sums_of(p, turn, column), lane * neighbours::MANY, blocks_in(turn), turn + 1);
    };
    for_waves<neighbours>(p.turns(), try_read, [&](uint32 turn, neighbours &few) {
        const uint32 there = blocks_in(turn);
        entry *told = told_of(p, turn, 0) + column;
        tell_some(p, few, told, 0, there, turn + 1, &base);
#pragma unroll 1
        for (uint32 at = at_once; at < p.blocks_in(turn); at += at_once) {
            few.there = 0;
            while (!few.try_read(sums_of(p, turn, column), at + lane * neighbours::MANY, there, turn + 1))
                ;
            __syncwarp();
            tell_some(p, few, told, at, there, turn + 1, &base);
        }
    });
}

inline void carry_columns(scratch &s, const slab_scan &p, uint32 turns) {
    typedef batch_of<NARROW_COLUMNS / WARP> columns;
    const uint32 lane = threadIdx.x % WARP;
    place here = {0, 0};
    auto try_read = [&](columns &few, uint32 turn) {
        const uint32 end = p.tiles > 1 && turn < turns ? p.inner : 0;
        return few.try_read(told_of(p, turn, p.rank), lane, end, turn + 1);
    };
    for_waves<columns>(turns, try_read, [&](uint32, const columns &few) {
        acc_t *before = (acc_t *)s.before_columns[here.at];
        s.empty[here.at].wait(here.parity ^ 1); /* the tile that was there has been finished */
#pragma unroll
        for (int k = 0; k < columns::MANY; k++)
            if (lane + k * WARP < p.inner)
                before[lane + k * WARP] = p.tiles > 1 ? few.get(k).acc : identity_as<acc_t>();
        s.ready[here.at].arrive();
        here.advance();
    });
}

/* ---- finishers ---- */

/* A strand: the rows that a thread takes of its column in a tile. */
struct strand {
    in_t x[ITEMS], y[HAS_SECOND ? ITEMS : 1];
    lane_t kept[NARROW_KEPT ? ITEMS : 1];
    int there;
    uint64 row; /* its first, in physical order */

    void read(const elements &from, int first, int step) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            x[k] = k < there ? from.x[first + k * step] : in_t(0);
            if (HAS_SECOND)
                y[k] = k < there ? from.y[first + k * step] : in_t(0);
        }
    }
    template <class Running> void add_to(Running &sum, int k) const {
        sum.add_next(value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), REVERSE ? row - k : row + k);
    }
    lane_t add_up() {
        running<lane_t> sum;
        sum.begin(value_of(x[0]));
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (NARROW_KEPT && !INCLUSIVE)
                kept[k] = sum.sum();
            if (k < there)
                add_to(sum, k);
            if (NARROW_KEPT && INCLUSIVE)
                kept[k] = sum.sum();
        }
        return sum.sum();
    }
    /* Calls put(k, sum) with the sum that result k tells; 'left' is the sum before the strand. */
    template <class Put> void finish(const acc_t &left, Put put) const {
        running<acc_t, lane_t> carried = left;
        carried.begin(value_of(x[0]));
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            acc_t told;
            if (NARROW_KEPT) {
                told = combine(left, widen(kept[NARROW_KEPT ? k : 0]));
            } else {
                if (!INCLUSIVE)
                    told = carried.sum();
                if (k < there)
                    add_to(carried, k);
                if (INCLUSIVE)
                    told = carried.sum();
            }
            if (k < there)
                put(k, told);
        }
    }
};

/* Where write_out finds a result. */
inline result_t *result_at(uint8 *memory, int number) {
    const uint32 byte = (uint32)number * (uint32)sizeof(result_t);
    return (result_t *)(memory + (IN_LINE ? byte : vector_of_results((int)(byte / 16)) * 16 + byte % 16));
}

inline void finish_columns(scratch &s, const slab_scan &p, uint32 turns) {
    const int team = (threadIdx.x - FIRST_FINISHER) / FINISHERS, thread = (threadIdx.x - FIRST_FINISHER) % FINISHERS;
    const int inner = p.inner, number = thread / inner, column = thread - number * inner;
    const int most = p.rows, from = number * most;
    const bool works = number < (int)p.strands, has_base = p.carry || p.initial;
    acc_t base = identity_as<acc_t>();
    if (has_base && works)
        base = p.carry ? p.carry[column].read() : raise(load(p.initial));
    place here = {0, 0};
    here.advance(team);
    for (uint32 turn = team; turn < turns; turn += TEAMS, here.advance(TEAMS)) {
        const tile t = tile_at(p, turn);
        const int rows = rows_of(p, t), step = REVERSE ? -inner : inner;
        const int left_over = works && from < rows ? rows - from : 0, first_row = REVERSE ? rows - 1 - from : from;
        const int first = first_row * inner + column;
        strand mine;
        mine.there = left_over < most ? left_over : most;
        mine.row = p.before + row_of(p, t) + first_row;
        s.full[here.at].wait(here.parity);
        mine.read(elements::of(s, p, t, here), first, step);
        const lane_t sum = mine.add_up();
        const acc_t before = scan_strands((acc_t *)s.of_strands[team], inner, p.strands, p.lanes, thread, widen(sum),
                                          static_cast<acc_t *>(nullptr),
                                          [=] { sync_some<FINISHERS>(OF_TEAMS + team); });
        s.ready[here.at].wait(here.parity);
        acc_t left = works ? ((const acc_t *)s.before_columns[here.at])[column] : base;
        left = combine(has_base ? combine(base, left) : left, before);
        uint8 *memory = s.tile[here.at];
        const uint64 logical = p.before + (REVERSE ? p.extent - 1 - (row_of(p, t) + first_row) : row_of(p, t) + from);
        mine.finish(left, [&](int k, const acc_t &told) {
            *result_at(memory, first + k * step) = lower(told, logical + k + INCLUSIVE, 0);
        });
        if (p.total && mine.there && t.first + (from + mine.there) * inner == p.n)
            p.total[column].write(combine(left, widen(sum)));
        hand_over(s, p, t, here, team, thread);
    }
}

extern "C" __global__ void __launch_bounds__(NARROW_THREADS, 1) scan_narrow(narrow_args args) {
    extern __shared__ __align__(128) uint8 narrow_memory[];
    scratch &s = *(scratch *)narrow_memory;
    const slab_scan p = slab_scan::of(args);
    const uint32 turns = p.turns_of_block();
    init_gates(s, SUMMERS, WARP);
    if (threadIdx.x / WARP == FIRST_TELLER / WARP)
        tell(p);
    else if (threadIdx.x >= FIRST_FINISHER)
        finish_columns(s, p, turns);
    else if (threadIdx.x >= FIRST_SUMMER)
        sum_columns(s, p, turns);
    else if (threadIdx.x >= MESSENGER)
        FEW_COLUMNS && p.inner <= FEW_COLUMNS ? carry_few(s, p, turns) : carry_columns(s, p, turns);
#if COPIES_IN_BULK
    else if (threadIdx.x >= FIRST_STORER)
        store_tiles<true>(s, p, turns);
#endif
    else
        load_rows(s, p, turns);
}
