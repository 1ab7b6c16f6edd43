/* Scans down the columns of a few long slabs: outer x extent x inner. Like scan.cu, it is one pass of waves through a
 * ring of tiles. A tile is some rows of a panel: of all columns of a slab (scan_narrow), so that tiles are consecutive
 * elements, or of some neighbouring ones (scan_wide). It has a sum for each column, and is of one of the blocks that
 * share the panel. One warp of each block, its teller, adds up the sums of a wave's tiles in some columns and tells every
 * block of the panel the sums before its tile. If each block added up all sums itself, as it does with one sum per tile,
 * it would read as many times as much as there are columns. With up to three columns of 4 bytes, a tile's sums fit in
 * one access, and each block does add them up itself. */
enum {
    FIRST_TELLER = MESSENGERS > 1 ? MESSENGER + WARP : THREADS, /* the second messenger, where other scans have two */
    TOLD_WAVES = RING /* tellers have read a wave when its tile's place is free */
};
static_assert(MESSENGERS <= 2 && THREADS + (MESSENGERS > 1 ? 0 : WARP) == NARROW_THREADS);
/* As KEPT; with more registers spill. */
constexpr bool NARROW_KEPT = KEPT && ITEMS * sizeof(lane_t) <= 96;

/* The scan of one panel by its blocks. x, y, out, the entries and what columns carry are the panel's. */
struct panel_scan : scan_args {
    entry *told;
    const in_t *begin, *begin_y, *end, *end_y; /* of the arrays */
    uint64 inner;
    uint32 width, columns; /* of tiles, and of those the columns that there are */
    uint32 strands, rows, lanes, tellers;
    uint32 blocks, rank; /* blocks of the panel, and which of them this one is */

    static panel_scan of(const narrow_args &p) {
        panel_scan s;
        (scan_args &)s = p.tiles;
        s.width = p.width;
        s.inner = p.inner;
        s.strands = p.strands;
        s.rows = p.rows;
        s.lanes = p.lanes;
        s.tellers = p.tellers;
        s.blocks = p.blocks;
        const uint32 panel = blockIdx.x / p.blocks, slab = panel / p.panels, first = (panel - slab * p.panels) * p.width;
        const uint64 at = slab * s.extent * p.inner + first, all = p.outer * s.extent * p.inner;
        s.rank = blockIdx.x - panel * p.blocks;
        s.columns = p.inner - first < p.width ? (uint32)(p.inner - first) : p.width;
        s.begin = s.x;
        s.end = s.x + all;
        s.begin_y = s.y;
        s.end_y = s.y + all;
        s.x += at;
        s.out += at;
        if (HAS_SECOND)
            s.y += at;
        if (s.carry)
            s.carry += slab * p.inner + first;
        if (s.total)
            s.total += slab * p.inner + first;
        s.entries = (entry *)((uint8 *)s.entries + panel * p.panel_bytes);
        s.told = (entry *)((uint8 *)p.told + panel * p.panel_bytes);
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
inline tile tile_at(const panel_scan &p, uint64 turn) {
    const uint64 number = turn * p.blocks + p.rank;
    tile t;
    t.rank = REVERSE ? p.tiles - 1 - number : number;
    t.low = t.rank * p.tile;
    t.count = p.n - t.low < p.tile ? (int)(p.n - t.low) : (int)p.tile;
    t.first = REVERSE ? p.n - t.low - t.count : t.low;
    return t;
}
/* A tile's first row in physical order, and their number. */
inline uint64 row_of(const panel_scan &p, const tile &t) {
    return t.rank * (p.strands * p.rows);
}
inline int rows_of(const panel_scan &p, const tile &t) {
    const uint64 left = p.extent - row_of(p, t);
    return left < p.strands * p.rows ? (int)left : (int)(p.strands * p.rows);
}

template <class T> inline bool has_aligned(const T *array) {
    return ((uint64)array & (sizeof(T) - 1)) == 0;
}
inline bool has_aligned_elements(const panel_scan &p) {
    return has_aligned(p.x) && (!HAS_SECOND || has_aligned(p.y));
}

/* A tile's elements in shared memory. They lie as far behind a multiple of 16 bytes as in memory, or each row of some
 * columns does, so that vectors are copied as they are; elements that memory has at odd addresses are aligned here. */
template <bool Whole> struct staged {
    uint8 *memory;
    uint32 shift, step; /* of some columns: of the first row, and from a row to the next */
    int pitch;          /* bytes from a row to the next */

    static staged of(const panel_scan &p, const tile &t, const in_t *array, uint8 *memory) {
        const bool is_aligned = has_aligned_elements(p);
        const in_t *from = array + (Whole ? t.low : row_of(p, t) * p.inner);
        staged s;
        s.shift = is_aligned ? (uint32)shift_of(from) : 0;
        s.memory = memory + (Whole ? s.shift : 0);
        s.step = is_aligned ? (uint32)(p.inner * sizeof(in_t)) & 15 : 0;
        const int bytes = (int)(p.width * sizeof(in_t));
        s.pitch = Whole ? bytes : bytes + 31 & ~15;
        return s;
    }
    in_t get(int row, int column) const {
        const uint32 before = Whole ? 0 : shift + (uint32)row * step & 15;
        return *(const in_t *)(memory + row * pitch + column * (int)sizeof(in_t) + before);
    }
};
template <bool Whole> struct elements {
    staged<Whole> x, y;

    static elements of(scratch &s, const panel_scan &p, const tile &t, const place &here) {
        elements e;
        e.x = staged<Whole>::of(p, t, p.x, s.tile[here.at]);
#if HAS_SECOND
        e.y = staged<Whole>::of(p, t, p.y, s.second[here.at]);
#endif
        return e;
    }
    value_t partner(int row, int column) const {
        return HAS_SECOND ? value_of(y.get(row, column)) : value_t(0);
    }
};

/* A wave's entries: the blocks' sums in a column, and the prefixes that blocks receive. */
inline entry *sums_of(const panel_scan &p, uint32 turn, uint32 column) {
    return p.entries + (turn % TOLD_WAVES * p.width + column) * p.blocks;
}
inline entry *told_of(const panel_scan &p, uint32 turn, uint32 block) {
    return p.told + (turn % TOLD_WAVES * p.blocks + block) * p.width;
}

/* ---- loaders ---- */

/* Tiles of whole rows. */
inline void load_whole(scratch &s, const panel_scan &p, uint64 turns) {
    const bool is_aligned = has_aligned_elements(p);
    place here = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const tile t = tile_at(p, turn);
        uint32 in_bulk = 0;
        s.empty[here.at].wait(here.parity ^ 1);
        if (is_aligned) {
            fetch(s.tile[here.at], p.x + t.low, t.count, threadIdx.x, LOADERS, &in_bulk);
#if HAS_SECOND
            fetch(s.second[here.at], p.y + t.low, t.count, threadIdx.x, LOADERS, &in_bulk);
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
            fetch_in_bulk(s.tile[here.at], p.x + t.low, t.count, full);
#if HAS_SECOND
            fetch_in_bulk(s.second[here.at], p.y + t.low, t.count, full);
#endif
        } else
#endif
            s.full[here.at].arrive();
    }
}

enum { ROW_LOADERS = LOADERS + STORERS }; /* of tiles of some columns, which have no storer */

/* Copies a row of some columns, a vector a lane, to its place. Returns whether it stored some itself, since the array
 * has not all of a vector. */
inline bool fetch_row(uint64 row, uint32 bytes, uint64 begin, uint64 end, uint8 *to) {
    const uint32 lane = threadIdx.x % WARP;
    const uint64 at = (row & ~15ull) + lane * 16;
    to += lane * 16;
    if (at >= row + bytes)
        return false;
    if (at >= begin && at + 16 <= end) {
        copy_vector<16>(to, (const void *)at);
        return false;
    }
    for (int b = 0; b < 16; b += sizeof(in_t))
        if (at + b >= begin && at + b < end)
            *(in_t *)(to + b) = *(const in_t *)(at + b);
    return true;
}
inline bool fetch_rows(const panel_scan &p, const tile &t, const staged<false> &s, const in_t *array, const in_t *begin,
                       const in_t *end) {
    const int rows = rows_of(p, t), warp = threadIdx.x / WARP;
    const in_t *from = array + row_of(p, t) * p.inner;
    bool stored = false;
    if (has_aligned_elements(p)) {
        const uint32 bytes = p.columns * (uint32)sizeof(in_t);
#pragma unroll 2
        for (int row = warp; row < rows; row += ROW_LOADERS / WARP)
            stored |= fetch_row((uint64)(from + row * p.inner), bytes, (uint64)begin, (uint64)end, s.memory + row * s.pitch);
        return stored;
    }
    for (int row = warp; row < rows; row += ROW_LOADERS / WARP)
        for (uint32 c = threadIdx.x % WARP; c < p.columns; c += WARP)
            *(in_t *)(s.memory + row * s.pitch + c * (uint32)sizeof(in_t)) = load(from + row * p.inner + c);
    return true;
}

/* Tiles of some columns. */
inline void load_some(scratch &s, const panel_scan &p, uint64 turns) {
    place here = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const tile t = tile_at(p, turn);
        s.empty[here.at].wait(here.parity ^ 1);
        bool stored = fetch_rows(p, t, staged<false>::of(p, t, p.x, s.tile[here.at]), p.x, p.begin, p.end);
#if HAS_SECOND
        stored |= fetch_rows(p, t, staged<false>::of(p, t, p.y, s.second[here.at]), p.y, p.begin_y, p.end_y);
#endif
        if (!stored) {
            arrive_after_vectors(&s.full[here.at]);
            continue;
        }
        /* arrive_after_vectors would wait for copies only, not for stores */
#if HAS_MBARRIER
        end_copies_ahead();
        wait_for_copies_ahead<0>();
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

inline uint4 *few_of(const panel_scan &p, uint32 turn) {
    return (uint4 *)p.entries + turn % FEW_WAVES * p.blocks;
}

/* The first warp of the summers: 'sums' has a thread's share of a column, for each of 'used' threads. */
inline void publish_few(const panel_scan &p, const lane_t *sums, int used, uint32 turn) {
    const int lane = threadIdx.x % WARP, width = p.width, lanes = WARP / width * width;
    lane_t sum = identity_as<lane_t>();
    if (lane < lanes)
#pragma unroll 5
        for (int k = lane; k < used; k += lanes)
            sum = combine(sum, sums[k]);
#pragma unroll
    for (int d = WARP / 2; d; d /= 2) {
        const lane_t other = by_words(sum, [=](uint32 w) { return __shfl_down_sync(ALL_LANES, w, d * width & WARP - 1); });
        if (lane + d * width < lanes)
            sum = combine(sum, other);
    }
    const acc_t wide = widen(sum);
    uint32 word;
    memcpy(&word, &wide, sizeof wide < 4 ? sizeof wide : 4);
    const uint32 second = __shfl_sync(ALL_LANES, word, 1), third = __shfl_sync(ALL_LANES, word, 2);
    if (lane == 0)
        store_relaxed(few_of(p, turn) + p.rank, word, second, third, turn + 1);
}

inline void carry_few(scratch &s, const panel_scan &p, uint32 turns) {
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
            if (lane == c && c < (int)p.width)
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
inline void publish_columns(const panel_scan &p, const lane_t *sums, int thread, int used, uint32 turn) {
    int lanes = WARP;
    while (lanes * (int)p.width > SUMMERS)
        lanes /= 2;
    const int column = thread / lanes, lane = thread & (lanes - 1), width = p.width;
    lane_t sum = identity_as<lane_t>();
    if (column < width)
#pragma unroll 4
        for (int k = lane * width + column; k < used; k += lanes * width)
            sum = combine(sum, sums[k]);
    sum = fold_neighbours(sum, lanes);
    if (column < width && lane == 0)
        publish(sums_of(p, turn, column) + p.rank, record::of(widen(sum), false, 0), turn + 1);
}

template <bool Whole> inline void sum_columns(scratch &s, const panel_scan &p, uint32 turns) {
    const int thread = threadIdx.x - FIRST_SUMMER, width = p.width, used = SUMMERS / width * width;
    const int first_row = thread / width, row_step = SUMMERS / width, column = thread - first_row * width;
    const bool works = thread < used && column < (int)p.columns;
    int in_turn = 0;
    place here = {0, 0};
    for (uint32 turn = 0; turn < turns; turn++, here.advance(), in_turn ^= 1) {
        const tile t = tile_at(p, turn);
        lane_t *sums = (lane_t *)s.of_rows[in_turn];
        running<lane_t> sum;
        s.full[here.at].wait(here.parity);
        const elements<Whole> from = elements<Whole>::of(s, p, t, here);
        const int rows = works ? rows_of(p, t) : 0;
        const uint64 before = p.before + row_of(p, t);
#pragma unroll 10
        for (int row = first_row; row < rows; row += row_step)
            sum.add_next(value_of(from.x.get(row, column)), from.partner(row, column), before + row);
        sums[thread] = sum.sum();
        sync_some<SUMMERS>(OF_SUMMERS);
        s.ready[here.at].arrive(); /* as loaders do (scan_move.cu): results take the elements' place */
        if (FEW_COLUMNS && p.tiles > 1 && width <= FEW_COLUMNS) {
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
inline void tell_some(const panel_scan &p, const neighbours &few, entry *told, uint32 first, uint32 there, uint32 tag,
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
    told += (uint64)index * p.width;
#pragma unroll
    for (int k = 0; k < neighbours::MANY; k++, told += p.width)
        if (index + k < there)
            publish(told, record::of(combine(before, up_to[k]), false, 0), tag);
    *run = combine(*run, from_lane(sum, threadIdx.x % WARP | (p.tellers - 1)));
}

/* A block tells of so many columns. */
inline void tell(const panel_scan &p) {
    const uint32 at_once = neighbours::MANY * p.tellers, of_block = (p.width + p.blocks - 1) / p.blocks;
    const uint32 lane = threadIdx.x & (p.tellers - 1), number = threadIdx.x % WARP / p.tellers;
    const uint32 column = p.rank * of_block + number;
    const bool has_column = number < of_block && column < p.width;
    if (p.tiles == 1 || (FEW_COLUMNS && p.width <= FEW_COLUMNS) || p.rank * of_block >= p.width)
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

inline void carry_columns(scratch &s, const panel_scan &p, uint32 turns) {
    typedef batch_of<NARROW_COLUMNS / WARP> columns;
    const uint32 lane = threadIdx.x % WARP;
    place here = {0, 0};
    auto try_read = [&](columns &few, uint32 turn) {
        const uint32 end = p.tiles > 1 && turn < turns ? p.width : 0;
        return few.try_read(told_of(p, turn, p.rank), lane, end, turn + 1);
    };
    for_waves<columns>(turns, try_read, [&](uint32, const columns &few) {
        acc_t *before = (acc_t *)s.before_columns[here.at];
        s.empty[here.at].wait(here.parity ^ 1); /* the tile that was there has been finished */
#pragma unroll
        for (int k = 0; k < columns::MANY; k++)
            if (lane + k * WARP < p.width)
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

    template <class From> void read(const From &from, int first_row, int column) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int row = REVERSE ? first_row - k : first_row + k;
            x[k] = k < there ? from.x.get(row, column) : in_t(0);
            if (HAS_SECOND)
                y[k] = k < there ? from.y.get(row, column) : in_t(0);
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

template <bool Whole> inline void finish_columns(scratch &s, const panel_scan &p, uint32 turns) {
    const int team = (threadIdx.x - FIRST_FINISHER) / FINISHERS, thread = (threadIdx.x - FIRST_FINISHER) % FINISHERS;
    const int width = p.width, number = thread / width, column = thread - number * width;
    const int most = p.rows, from = number * most;
    const bool works = number < (int)p.strands && column < (int)p.columns, has_base = p.carry || p.initial;
    const bool is_aligned = has_aligned(p.out);
    acc_t base = identity_as<acc_t>();
    if (has_base && works)
        base = p.carry ? p.carry[column].read() : raise(load(p.initial));
    place here = {0, 0};
    here.advance(team);
    for (uint32 turn = team; turn < turns; turn += TEAMS, here.advance(TEAMS)) {
        const tile t = tile_at(p, turn);
        const int rows = rows_of(p, t), step = REVERSE ? -width : width;
        const int left_over = works && from < rows ? rows - from : 0, first_row = REVERSE ? rows - 1 - from : from;
        const int first = first_row * width + column;
        strand mine;
        mine.there = left_over < most ? left_over : most;
        mine.row = p.before + row_of(p, t) + first_row;
        s.full[here.at].wait(here.parity);
        mine.read(elements<Whole>::of(s, p, t, here), first_row, column);
        const lane_t sum = mine.add_up();
        const acc_t before = scan_strands((acc_t *)s.of_strands[team], width, p.strands, p.lanes, team, thread, widen(sum),
                                          static_cast<acc_t *>(nullptr));
        s.ready[here.at].wait(here.parity);
        acc_t left = works ? ((const acc_t *)s.before_columns[here.at])[column] : base;
        left = combine(has_base ? combine(base, left) : left, before);
        const uint64 logical = p.before + (REVERSE ? p.extent - 1 - (row_of(p, t) + first_row) : row_of(p, t) + from);
        if (Whole) {
            uint8 *memory = s.tile[here.at];
            mine.finish(left, [&](int k, const acc_t &told) {
                *result_at(memory, first + k * step) = lower(told, logical + k + INCLUSIVE, 0);
            });
        } else {
            __syncwarp();
            if (thread % WARP == 0)
                s.empty[here.at].arrive(); /* all have read what they need */
            result_t *out = p.out + (row_of(p, t) + first_row) * p.inner + column;
            const int64 next_row = REVERSE ? -(int64)p.inner : (int64)p.inner;
            mine.finish(left, [&](int k, const acc_t &told) {
                const result_t result = lower(told, logical + k + INCLUSIVE, 0);
                is_aligned ? store_aligned_once(out + k * next_row, result) : store(out + k * next_row, result);
            });
        }
        if (p.total && mine.there && t.first + (from + mine.there) * width == p.n)
            p.total[column].write(combine(left, widen(sum)));
        if (Whole)
            hand_over(s, p, t, here, team, thread);
    }
}

template <bool Whole> inline void scan_few_slabs(const narrow_args &args) {
    extern __shared__ __align__(128) uint8 narrow_memory[];
    scratch &s = *(scratch *)narrow_memory;
    const panel_scan p = panel_scan::of(args);
    const uint32 turns = p.turns_of_block();
    if (Whole)
        init_gates(s, SUMMERS, WARP);
    else
        init_gates(s, SUMMERS, WARP, ROW_LOADERS, FINISHERS / WARP);
    if (threadIdx.x / WARP == FIRST_TELLER / WARP)
        tell(p);
    else if (threadIdx.x >= FIRST_FINISHER)
        finish_columns<Whole>(s, p, turns);
    else if (threadIdx.x >= FIRST_SUMMER)
        sum_columns<Whole>(s, p, turns);
    else if (threadIdx.x >= MESSENGER)
        FEW_COLUMNS && p.width <= FEW_COLUMNS ? carry_few(s, p, turns) : carry_columns(s, p, turns);
    else if (!Whole)
        load_some(s, p, turns);
#if COPIES_IN_BULK
    else if (threadIdx.x >= FIRST_STORER)
        store_tiles<true>(s, p, turns);
#endif
    else
        load_whole(s, p, turns);
}
