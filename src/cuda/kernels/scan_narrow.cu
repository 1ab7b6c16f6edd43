/* Scans along the first axis of a long narrow array: extent x inner, with rows of a few elements. Like scan.cu, it is
 * one pass of waves through a ring of tiles; here a tile is whole rows and has a sum for each column. One block per
 * column, its teller, adds up the sums of a wave's tiles in that column and tells every block the sum before its tile.
 * If each block added up all sums itself, as it does with one sum per tile, it would read 'inner' times as much. With
 * up to three columns, a tile's sums fit in one access, and each block does add them up itself. */
enum { FIRST_TELLER = THREADS, NARROW_WAVES = RING }; /* tellers have read a wave when its tile's place is free */
static_assert(FIRST_TELLER + WARP == SCAN_NARROW_THREADS && NARROW_WAVES == SCAN_NARROW_WAVES);

inline bool has_aligned_elements(const scan_args &p) {
    return ((uint64)p.x & (sizeof(in_t) - 1)) == 0;
}
inline const in_t *elements_of(const scratch &s, const scan_args &p, const tile &t, const place &here) {
    return (const in_t *)(s.tile[here.at] + (has_aligned_elements(p) ? shift_of(p.x + t.low) : 0));
}
template <class A> inline A lift_at(const narrow_args &p, const tile &t, int e, in_t x) {
    const uint64 at = t.low + e;
    return lift_as<A>(value_of(x), partner_of(p.tiles, at), p.tiles.before + at / p.inner);
}
/* A wave's entries: the blocks' sums in a column, and the prefixes that blocks receive. */
inline entry *sums_of(const narrow_args &p, uint32 turn, uint32 column) {
    return p.tiles.entries + (turn % NARROW_WAVES * p.inner + column) * gridDim.x;
}
inline entry *told_of(const narrow_args &p, uint32 turn, uint32 block) {
    return p.told + (turn % NARROW_WAVES * gridDim.x + block) * p.inner;
}

/* Copies elements one by one to aligned positions. */
inline void load_unaligned_tiles(scratch &s, const scan_args &p, uint64 turns) {
    place here = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const tile t = tile_at(p, turn);
        s.empty[here.at].wait(here.parity ^ 1);
        for (int e = threadIdx.x; e < t.count; e += LOADERS)
            ((in_t *)s.tile[here.at])[e] = load(p.x + t.low + e);
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

inline uint4 *few_of(const narrow_args &p, uint32 turn) {
    return (uint4 *)p.tiles.entries + turn % FEW_WAVES * gridDim.x;
}

/* The first warp of the summers: 'sums' has a thread's share of a column, for each of 'used' threads. */
inline void publish_few(const narrow_args &p, const lane_t *sums, int used, uint32 turn) {
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
        store_relaxed(few_of(p, turn) + blockIdx.x, word, second, third, turn + 1);
}

inline void carry_few(scratch &s, const narrow_args &p, uint32 turns) {
    const uint32 lane = threadIdx.x % WARP;
    acc_t base[3], before[3];
    sums_of_few few, next;
    place here = {0, 0};
#pragma unroll
    for (int c = 0; c < 3; c++)
        base[c] = identity_as<acc_t>();
    auto needed_of = [&](uint32 turn) {
        return p.tiles.tiles == 1 ? 0 : turn + 1 < turns ? gridDim.x : turn + 1 == turns ? blockIdx.x : 0;
    };
    few.try_read(few_of(p, 0), lane, needed_of(0), 1);
    for (uint32 turn = 0; turn < turns; turn++, here.advance()) {
        const uint32 needed = needed_of(turn);
        next.there = 0;
        next.try_read(few_of(p, turn + 1), lane, needed_of(turn + 1), turn + 2);
#pragma unroll
        for (int c = 0; c < 3; c++)
            before[c] = base[c];
        for (uint32 at = lane;; at += sums_of_few::MANY * WARP) {
            while (!few.try_read(few_of(p, turn), at, needed, turn + 1))
                ;
            __syncwarp();
#pragma unroll
            for (int c = 0; c < 3; c++) {
                before[c] = combine(before[c], few.fold(c, at, blockIdx.x < needed ? blockIdx.x : needed));
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

inline void sum_columns(scratch &s, const narrow_args &p, uint64 turns) {
    const int thread = threadIdx.x - FIRST_SUMMER, inner = p.inner, used = SUMMERS / inner * inner;
    int in_turn = 0;
    place here = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance(), in_turn ^= 1) {
        const tile t = tile_at(p.tiles, turn);
        lane_t *sums = (lane_t *)s.of_rows[in_turn], sum = identity_as<lane_t>();
        s.full[here.at].wait(here.parity);
        const in_t *elements = elements_of(s, p.tiles, t, here);
        if (thread < used)
#pragma unroll 10
            for (int e = thread; e < t.count; e += used) /* always of the same column */
                sum = combine(sum, lift_at<lane_t>(p, t, e, elements[e]));
        sums[thread] = sum;
        sync_some<SUMMERS>(OF_SUMMERS);
        s.ready[here.at].arrive(); /* as loaders do (scan_move.cu): results take the elements' place */
        if (FEW_COLUMNS && p.tiles.tiles > 1 && inner <= FEW_COLUMNS) {
            if (thread < WARP)
                publish_few(p, sums, used, (uint32)turn);
        } else if (p.tiles.tiles > 1 && thread < inner) {
#pragma unroll 8
            for (int k = thread + inner; k < used; k += inner)
                sum = combine(sum, sums[k]);
            publish(sums_of(p, (uint32)turn, thread) + blockIdx.x, record::of(widen(sum), false, 0),
                    (uint32)turn + 1);
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

/* A lane of the teller reads the entries of neighbouring blocks, so that a warp's sums are scanned once. */
typedef batch_of<ENTRIES_AT_ONCE, 1> neighbours;

/* Tells the blocks from 'first' on the sum of the blocks before them in a column; 'run' becomes the sum of all of them.
 */
inline void tell_some(const narrow_args &p, const neighbours &few, entry *told, uint32 first, uint32 there, uint32 tag,
                      acc_t *run) {
    const uint32 lane = threadIdx.x % WARP, index = first + lane * neighbours::MANY;
    acc_t sum = identity_as<acc_t>(), up_to[neighbours::MANY];
#pragma unroll
    for (int k = 0; k < neighbours::MANY; k++) {
        up_to[k] = sum;
        if (index + k < there)
            sum = combine(sum, few.get(k).acc);
    }
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
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
    *run = combine(*run, from_lane(sum, WARP - 1));
}

inline void tell_column(const narrow_args &p, uint32 column) {
    enum { AT_ONCE = neighbours::MANY * WARP };
    const uint32 lane = threadIdx.x % WARP, turns = (uint32)((p.tiles.tiles + gridDim.x - 1) / gridDim.x);
    acc_t base = identity_as<acc_t>(); /* before the wave */
    auto blocks_in = [&](uint32 turn) { /* with a tile in that wave */
        const uint64 first = (uint64)turn * gridDim.x;
        return turn >= turns ? 0 : p.tiles.tiles - first < gridDim.x ? (uint32)(p.tiles.tiles - first) : gridDim.x;
    };
    auto try_read = [&](neighbours &few, uint32 turn) {
        return few.try_read(sums_of(p, turn, column), lane * neighbours::MANY, blocks_in(turn), turn + 1);
    };
    for_waves<neighbours>(turns, try_read, [&](uint32 turn, neighbours &few) {
        const uint32 there = blocks_in(turn);
        entry *told = told_of(p, turn, 0) + column;
        tell_some(p, few, told, 0, there, turn + 1, &base);
#pragma unroll 1
        for (uint32 at = AT_ONCE; at < there; at += AT_ONCE) {
            few.there = 0;
            while (!few.try_read(sums_of(p, turn, column), at + lane * neighbours::MANY, there, turn + 1))
                ;
            __syncwarp();
            tell_some(p, few, told, at, there, turn + 1, &base);
        }
    });
}

/* There are fewer blocks than columns only if there is one wave. */
inline void tell(const narrow_args &p) {
    if (p.tiles.tiles > 1 && (!FEW_COLUMNS || p.inner > FEW_COLUMNS))
        for (uint32 column = blockIdx.x; column < p.inner; column += gridDim.x)
            tell_column(p, column);
}

inline void carry_columns(scratch &s, const narrow_args &p, uint32 turns) {
    typedef batch_of<SCAN_COLUMNS / WARP> columns;
    const uint32 lane = threadIdx.x % WARP;
    place here = {0, 0};
    auto try_read = [&](columns &few, uint32 turn) {
        const uint32 end = p.tiles.tiles > 1 && turn < turns ? p.inner : 0;
        return few.try_read(told_of(p, turn, blockIdx.x), lane, end, turn + 1);
    };
    for_waves<columns>(turns, try_read, [&](uint32, const columns &few) {
        acc_t *before = (acc_t *)s.before_columns[here.at];
        s.empty[here.at].wait(here.parity ^ 1); /* the tile that was there has been finished */
#pragma unroll
        for (int k = 0; k < columns::MANY; k++)
            if (lane + k * WARP < p.inner)
                before[lane + k * WARP] = p.tiles.tiles > 1 ? few.get(k).acc : identity_as<acc_t>();
        s.ready[here.at].arrive();
        here.advance();
    });
}

/* ---- finishers ---- */

/* The sum of a column's strands before this thread's. */
inline acc_t scan_strands(const narrow_args &p, acc_t *spots, int team, int thread, acc_t mine) {
    const int inner = p.inner, strands = p.strands, lanes = p.lanes, lane = thread & (lanes - 1);
    const int column = thread / lanes, each = (strands + lanes - 1) / lanes;
    const int first = lane * each, end = column >= inner ? 0 : first + each < strands ? first + each : strands;
    spots[thread] = mine;
    sync_some<FINISHERS>(OF_TEAMS + team);
    acc_t sum = identity_as<acc_t>();
    for (int k = first; k < end; k++)
        sum = combine(sum, spots[k * inner + column]);
    for (int d = 1; d < lanes; d *= 2) {
        const acc_t left = from_below(sum, d);
        if (lane >= d)
            sum = combine(left, sum);
    }
    acc_t before = from_below(sum, 1);
    if (lane == 0)
        before = identity_as<acc_t>();
    for (int k = first; k < end; k++) {
        const acc_t next = combine(before, spots[k * inner + column]);
        spots[k * inner + column] = before;
        before = next;
    }
    sync_some<FINISHERS>(OF_TEAMS + team);
    return spots[thread];
}

inline void finish_columns(scratch &s, const narrow_args &p, uint64 turns) {
    const int team = (threadIdx.x - FIRST_FINISHER) / FINISHERS, thread = (threadIdx.x - FIRST_FINISHER) % FINISHERS;
    const int inner = p.inner, strand = thread / inner, column = thread - strand * inner;
    const int most = p.rows, from = strand * most;
    const bool works = strand < (int)p.strands, has_base = p.tiles.carry || p.tiles.initial;
    acc_t base = identity_as<acc_t>();
    if (has_base && works)
        base = p.tiles.carry ? p.tiles.carry[column].read() : raise(load(p.tiles.initial));
    place here = {0, 0};
    here.advance(team);
    for (uint64 turn = team; turn < turns; turn += TEAMS, here.advance(TEAMS)) {
        const tile t = tile_at(p.tiles, turn);
        const int rows = (int)((uint32)t.count / p.inner), step = REVERSE ? -inner : inner;
        const int left_over = works && from < rows ? rows - from : 0, there = left_over < most ? left_over : most;
        const int first = (REVERSE ? rows - 1 - from : from) * inner + column;
        const in_t *elements = elements_of(s, p.tiles, t, here);
        s.full[here.at].wait(here.parity);
        in_t x[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            x[k] = k < there ? elements[first + k * step] : in_t(0);
        lane_t sum = identity_as<lane_t>(), kept[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (!INCLUSIVE)
                kept[k] = sum;
            if (k < there)
                sum = combine(sum, lift_at<lane_t>(p, t, first + k * step, x[k]));
            if (INCLUSIVE)
                kept[k] = sum;
        }
        acc_t before = scan_strands(p, (acc_t *)s.of_strands[team], team, thread, widen(sum));
        s.ready[here.at].wait(here.parity);
        acc_t left = works ? ((const acc_t *)s.before_columns[here.at])[column] : base;
        left = combine(has_base ? combine(base, left) : left, before);
        uint8 *memory = s.tile[here.at];
        const uint64 logical = p.tiles.before + t.first / p.inner + from; /* rows before the first */
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (k < there)
                ((result_t *)memory)[first + k * step] =
                    lower(combine(left, widen(kept[k])), logical + k + INCLUSIVE, 0);
        if (p.tiles.total && there && t.first + (from + there) * inner == p.tiles.n)
            p.tiles.total[column].write(combine(left, widen(sum)));
        hand_over(s, p.tiles, t, here, team, thread);
    }
}

extern "C" __global__ void __launch_bounds__(SCAN_NARROW_THREADS, 1) scan_narrow(narrow_args p) {
    extern __shared__ __align__(128) uint8 narrow_memory[];
    scratch &s = *(scratch *)narrow_memory;
    const uint64 turns = turns_of_block(p.tiles);
    init_gates(s, SUMMERS, WARP);
    if (threadIdx.x >= FIRST_TELLER)
        tell(p);
    else if (threadIdx.x >= FIRST_FINISHER)
        finish_columns(s, p, turns);
    else if (threadIdx.x >= FIRST_SUMMER)
        sum_columns(s, p, turns);
    else if (threadIdx.x >= MESSENGER)
        FEW_COLUMNS && p.inner <= FEW_COLUMNS ? carry_few(s, p, (uint32)turns) : carry_columns(s, p, (uint32)turns);
#if COPIES_IN_BULK
    else if (threadIdx.x >= FIRST_STORER)
        store_tiles<true>(s, p.tiles, turns);
#endif
    else if (has_aligned_elements(p.tiles))
        load_tiles(s, p.tiles, turns);
    else
        load_unaligned_tiles(s, p.tiles, turns);
}
