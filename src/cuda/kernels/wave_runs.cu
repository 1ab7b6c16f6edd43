/* Reductions by keys for the commonest case: elements, lanes' values and results of 4 bytes, on devices with bulk
 * copies, where the outputs have room for a run of each element. Everything is read once. As in a scan (scan_tiles.cu),
 * a block has one tile in every wave, and different warps work on different tiles at the same time. Loaders fetch keys
 * and elements, each to a ring of their own. Counters find the heads of runs and publish their number at once. The
 * messenger adds up the numbers of all blocks of a wave. Finishers fold, each thread over a stretch of consecutive
 * elements, join the stretches by a segmented scan, and write keys and results side by side. Parts of runs that cross a
 * tile's end are kept for the last launch (fold_cuts.cu). */
enum {
    VECTORS = 5, /* a thread: an odd number, so that neighbouring stretches use different banks */
    ITEMS = VECTORS * 4,
    FINISHERS = 256, /* threads that finish a tile */
    TEAMS = 2,       /* of finishers, who take tiles in turn */
    TILE = FINISHERS * ITEMS,
    WORDS = TILE / WARP,   /* of bits */
    COUNTERS = WORDS,      /* a warp has as many words as it has lanes */
    RING = WAVE_RING,      /* tiles of elements in shared memory */
    KEY_RING = WAVE_KEY_RING,
    WAVES = 2 * KEY_RING + 1, /* as in scan_tiles.cu */
    KEY_LOADER = WARP,
    MESSENGER = 2 * WARP,
    FIRST_COUNTER = 3 * WARP,
    FIRST_FINISHER = FIRST_COUNTER + COUNTERS,
    THREADS = FIRST_FINISHER + TEAMS * FINISHERS,
    FEW = TILE * sizeof(in_t) / (sizeof(lane_t) + sizeof(index_t)) / 4 * 4, /* runs whose results and keys fit there */
    PLACE = TILE * sizeof(in_t) + 16, /* elements are as far behind a multiple of 16 as in memory */
    KEY_PLACE = TILE * sizeof(index_t) + 32, /* and one key before them */

    /* barriers */
    OF_COUNTERS = 1,
    OF_TEAMS
};
static_assert(TILE == WAVE_TILE && COUNTERS % WARP == 0 && WAVES == WAVE_ENTRIES && THREADS == WAVE_THREADS);
static_assert(sizeof(in_t) == 4 && sizeof(lane_t) == 4 && sizeof(result_t) == 4 && ITEMS <= LANE_LIMIT);

/* The sum of some threads' stretches: since their last head, if they have one. */
struct part_of_run {
    acc_t acc;
    uint32 has_head;
};

struct scratch {
    alignas(128) uint8 x[RING][(PLACE + 127) / 128 * 128];
    alignas(128) uint8 keys[KEY_RING][(KEY_PLACE + 127) / 128 * 128];
    uint32 heads[KEY_RING][WORDS + 1]; /* a stretch's bits are taken from two words */
    uint32 rank[KEY_RING][WORDS];      /* heads of the tile before a word */
    uint32 count[KEY_RING];            /* heads of the tile */
    uint64 before[KEY_RING];           /* heads in earlier tiles */
    gate full[RING], empty[RING], full_of_keys[KEY_RING], ready[KEY_RING], empty_of_keys[KEY_RING];
    uint32 of_counters[2][COUNTERS / WARP];
    part_of_run of_finishers[TEAMS][FINISHERS / WARP];
};
static_assert(sizeof(scratch) <= WAVE_SHARED_BYTES);

struct tile {
    uint64 number, first;
    int count;
};
inline tile tile_at(const groups_args &p, uint64 turn) {
    tile t;
    t.number = turn * gridDim.x + blockIdx.x;
    t.first = t.number * TILE;
    t.count = p.n - t.first < TILE ? (int)(p.n - t.first) : (int)TILE;
    return t;
}
template <class T> inline int shift_of(const T *from) {
    return (int)((uint64)from & 15);
}

/* ---- loaders ---- */

/* One warp. */
template <int Ring, int Place, class T, class Before>
inline void load_ring(uint8 (*ring)[Place], gate *full, gate *empty, const T *from, int distance, const groups_args &p,
                      uint64 turns, Before before) {
    place_in_ring<Ring> here = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const tile t = tile_at(p, turn);
        uint8 *to = ring[here.at] + distance;
        uint32 in_bulk = 0;
        empty[here.at].wait(here.parity ^ 1);
        /* Behind 'distance' lies what 'before' stores, in the vector that a misaligned tile shares. */
        const T *array = distance ? from + t.first : from;
        const uint64 n = distance ? (uint64)t.count : p.n, low = distance ? 0 : t.first;
        fetch(to, array, n, low, t.count, threadIdx.x % WARP, WARP, &in_bulk);
        if (threadIdx.x % WARP == 0) {
            before(to + shift_of(from + t.first), turn);
            arrive_and_expect(&full[here.at].word, in_bulk);
            fetch_in_bulk(to, array, n, low, t.count, &full[here.at]);
        } else {
            full[here.at].arrive();
        }
    }
}

inline void load_elements(scratch &s, const groups_args &p, uint64 turns) {
    load_ring<RING>(s.x, s.full, s.empty, p.x, 0, p, turns, [](uint8 *, uint64) {});
}

/* A tile's keys have the one before them in front. */
inline void load_keys(scratch &s, const groups_args &p, uint64 turns) {
    auto key_before = [&](uint64 turn) {
        const uint64 first = tile_at(p, turn).first;
        return turn >= turns || first == 0 ? index_t(0) : load(p.keys + first - 1);
    };
    index_t next = threadIdx.x % WARP == 0 ? key_before(0) : index_t(0);
    load_ring<KEY_RING>(s.keys, s.full_of_keys, s.empty_of_keys, p.keys, 16, p, turns, [&](uint8 *keys, uint64 turn) {
        store((index_t *)keys - 1, next);
        next = key_before(turn + 1);
    });
}

/* ---- counters ---- */

/* The bits of one word for each lane of a warp: the elements whose key differs from the one before. */
template <bool Aligned> inline uint32 find_bits(const index_t *keys) {
    const uint32 lane = threadIdx.x % WARP;
    uint32 mine = 0;
#pragma unroll 8
    for (uint32 k = 0; k < WARP; k++) {
        const index_t *at = keys + (int)(k * WARP + lane);
        const bool is_head = Aligned ? at[0] != at[-1] : load(at) != load(at - 1);
        const uint32 bits = __ballot_sync(ALL_LANES, is_head);
        if (lane == k)
            mine = bits;
    }
    return mine;
}

inline void count_tiles(scratch &s, const groups_args &p, uint64 turns) {
    const int thread = threadIdx.x - FIRST_COUNTER, warp = thread / WARP, lane = thread % WARP;
    place_in_ring<KEY_RING> here = {0, 0};
    uint32 wave = 0;
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const tile t = tile_at(p, turn);
        s.full_of_keys[here.at].wait(here.parity);
        const index_t *keys =
            (const index_t *)(s.keys[here.at] + 16 + shift_of(p.keys + t.first)) + warp * WARP * WARP;
        uint32 mine = is_aligned(p.keys) ? find_bits<true>(keys) : find_bits<false>(keys);
        const int there = t.count - thread * WARP;
        mine &= there <= 0 ? 0 : there < WARP ? (1u << there) - 1 : ~0u;
        if (t.first == 0 && thread == 0)
            mine |= 1;
        uint32 sum = __popc(mine);
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            const uint32 left = __shfl_up_sync(ALL_LANES, sum, d);
            if (lane >= d)
                sum += left;
        }
        uint32 *of_warp = s.of_counters[turn & 1];
        if (lane == WARP - 1)
            of_warp[warp] = sum;
        sync_some<COUNTERS>(OF_COUNTERS);
        uint32 before = 0, all = 0;
#pragma unroll
        for (int w = 0; w < COUNTERS / WARP; w++) {
            before += w < warp ? of_warp[w] : 0;
            all += of_warp[w];
        }
        if (thread == 0) {
            store_relaxed(p.entries + (uint64)wave * gridDim.x + blockIdx.x, all, (uint32)turn + 1);
            s.count[here.at] = all;
        }
        s.heads[here.at][thread] = mine;
        s.rank[here.at][thread] = before + sum - __popc(mine);
        s.ready[here.at].arrive(); /* each for its words, as a scan's loaders (scan_move.cu) */
        wave = wave + 1 == WAVES ? 0 : wave + 1;
    }
}

/* ---- messenger ---- */

/* Entries of a wave that are a warp apart, read at once, so that their delays overlap. */
struct batch {
    enum { MANY = 5, ALL_THERE = (1 << MANY) - 1 }; /* as many as it takes for one block a processor */
    uint32 count[MANY], there = 0;

    bool try_read(const uint2 *entries, uint32 first, uint32 end, uint32 tag) {
        uint32 found[MANY];
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            found[k] = tag;
            if (there >> k & 1)
                continue;
            count[k] = 0;
            if (first + k * WARP < end)
                load_relaxed(entries + first + k * WARP, count[k], found[k]);
        }
#pragma unroll
        for (int k = 0; k < MANY; k++)
            there |= (uint32)(found[k] == tag) << k;
        return there == ALL_THERE;
    }
};

inline void carry_messages(scratch &s, const groups_args &p, uint64 turns) {
    enum { AHEAD = 3 };
    const uint32 lane = threadIdx.x % WARP;
    place_in_ring<KEY_RING> here = {0, 0};
    uint64 base = 0; /* before the wave */
    uint32 of_wave = 0;
    auto needed_of = [&](uint64 turn) { return turn + 1 < turns ? gridDim.x : turn + 1 == turns ? blockIdx.x : 0; };
    auto entries_ahead = [&](int k) {
        const uint32 wave = of_wave + k;
        return p.entries + (uint64)(wave >= WAVES ? wave - WAVES : wave) * gridDim.x;
    };
    batch few[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD - 1; k++)
        few[k].try_read(entries_ahead(k), lane, needed_of(k), k + 1);
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const uint32 needed = needed_of(turn), tag = (uint32)turn + 1;
        few[AHEAD - 1].there = 0;
        few[AHEAD - 1].try_read(entries_ahead(AHEAD - 1), lane, needed_of(turn + AHEAD - 1), tag + AHEAD - 1);
        uint64 before = 0, all = 0;
        for (uint32 at = 0; at < needed; at += batch::MANY * WARP) {
            if (at)
                few[0].there = 0;
            while (!few[0].try_read(entries_ahead(0), at + lane, needed, tag))
                ;
#pragma unroll
            for (int k = 0; k < batch::MANY; k++) {
                before += at + k * WARP + lane < blockIdx.x ? few[0].count[k] : 0;
                all += few[0].count[k];
            }
        }
        before = add_lanes(before);
        all = add_lanes(all);
        if (lane == 0) {
            s.empty_of_keys[here.at].wait(here.parity ^ 1); /* the tile that was there has been finished */
            s.before[here.at] = base + before;
            s.ready[here.at].arrive();
        }
        base += all;
#pragma unroll
        for (int k = 0; k < AHEAD - 1; k++)
            few[k] = few[k + 1];
        of_wave = of_wave + 1 == WAVES ? 0 : of_wave + 1;
    }
}

/* ---- finishers ---- */

/* The sum of the stretches before this thread's, in the warp and in the team's warps before; *mine becomes the sum up
 * to its own. */
inline acc_t join_stretches(part_of_run *of_warp, int team, int warp, uint32 lanes, bool has_head, acc_t *mine) {
    const uint32 lane = threadIdx.x % WARP, before = lanes & ((1u << lane) - 1);
    const uint32 upto = before | (uint32)has_head << lane;
    const int start_lane = upto ? WARP - 1 - __clz(upto) : 0;
    uint32 runs = ~lanes; /* the ends of as many neighbouring lanes without heads as one step covers */
    acc_t acc = *mine;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        if (!runs)
            break;
        const acc_t left = from_below(acc, d);
        if ((int)lane - d >= start_lane)
            acc = combine(left, acc);
        runs &= runs << d;
    }
    acc_t left = from_below(acc, 1);
    if (lane == 0)
        left = identity_as<acc_t>();
    if (lane == WARP - 1)
        of_warp[warp] = {acc, lanes != 0};
    sync_some<FINISHERS>(OF_TEAMS + team);
    acc_t warps = identity_as<acc_t>();
    for (int w = 0; w < warp; w++)
        warps = of_warp[w].has_head ? of_warp[w].acc : combine(warps, of_warp[w].acc);
    *mine = upto ? acc : combine(warps, acc);
    return before ? left : combine(warps, left);
}

/* Stores the parts at the tile's ends; called by the thread that has its last stretch. */
inline void keep_ends(const groups_args &p, const tile &t, uint64 before, uint32 count, const acc_t &open) {
    const bool is_last = t.number + 1 == p.tiles;
    cut &c = p.cuts[t.number];
    if (is_last && count)
        put(p.out + before + count - 1, lower(open, 0, 0));
    if (is_last && !count)
        c.before.write(open);
    else
        c.after.write(open);
    p.heads[t.number] = (count ? FRESH : 0) | (t.number && (count || is_last) ? ENDS : 0) | (before + count);
    if (is_last)
        p.told->runs = before + count;
}

/* Folds a stretch; the runs that its heads end go to results[], their keys to run_keys[], and the open part is
 * returned. */
template <bool IsWhole, bool HasKeys>
inline lane_t fold_items(const stretch_of<in_t, ITEMS> &items, const stretch_of<index_t, ITEMS> &keys, uint32 heads,
                         int there, uint64 index, lane_t *results, index_t *run_keys) {
    lane_t run = identity_as<lane_t>();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (heads >> k & 1) {
            if (EXACT_EXTREMUM)
                *(result_t *)results++ = lower(widen(run), 0, 0);
            else
                *results++ = run;
            if (HasKeys)
                *run_keys++ = keys[k];
            run = identity_as<lane_t>();
        }
        if (IsWhole || k < there)
            run = combine(run, lift_as<lane_t>(value_of(items[k]), value_t(0), index + k));
    }
    return run;
}

template <class T> inline void write_out(T *to, const T *from, uint32 k, uint32 count) {
    if (is_aligned(to)) {
#pragma unroll 4
        for (; k < count; k += FINISHERS)
            to[k] = from[k];
    } else {
        for (; k < count; k += FINISHERS)
            store_slowly(to + k, from[k]);
    }
}

inline void finish_tile(scratch &s, const groups_args &p, const tile &t, int at, int key_at, int team, int thread) {
    const int first = thread * ITEMS, word = first / WARP, bit = first % WARP;
    const uint32 low = s.heads[key_at][word], count = s.count[key_at];
    const uint64 before = s.before[key_at];
    const uint32 heads = __funnelshift_r(low, s.heads[key_at][word + 1], bit) & (1u << ITEMS) - 1;
    const uint32 number = s.rank[key_at][word] + __popc(low & (1u << bit) - 1);
    stretch_of<in_t, ITEMS> items;
    stretch_of<index_t, ITEMS> keys;
    items.read(s.x[at], shift_of(p.x + t.first), thread);
    if (count && p.keys_out)
        keys.read(s.keys[key_at] + 16, shift_of(p.keys + t.first), thread);
    const uint32 lanes = __ballot_sync(ALL_LANES, heads != 0);
    /* Results take the place of elements. So do keys if there is room, and then the next keys can be loaded to the
     * keys' place. */
    const bool is_dense = count > FEW;
    lane_t *results = (lane_t *)s.x[at];
    index_t *run_keys = is_dense ? (index_t *)(s.keys[key_at] + 16) : (index_t *)(s.x[at] + FEW * sizeof(lane_t));
    sync_some<FINISHERS>(OF_TEAMS + team);
    if (!is_dense && thread % WARP == 0)
        s.empty_of_keys[key_at].arrive();
    const int there = t.count - first;
    const uint64 index = t.first + first;
    lane_t run;
    if (t.count < TILE)
        run = fold_items<false, true>(items, keys, heads, there, index, results + number, run_keys + number);
    else if (p.keys_out)
        run = fold_items<true, true>(items, keys, heads, there, index, results + number, run_keys + number);
    else
        run = fold_items<true, false>(items, keys, heads, there, index, results + number, run_keys + number);
    const lane_t ended = heads ? results[number] : identity_as<lane_t>();
    acc_t mine = widen(run);
    const acc_t left = join_stretches(s.of_finishers[team], team, thread / WARP, lanes, heads != 0, &mine);
    if (heads) {
        const acc_t sum = combine(left, widen(ended));
        if (number)
            *(result_t *)(results + number) = lower(sum, 0, 0);
        else if (t.number)
            p.cuts[t.number].before.write(sum);
    }
    if (thread == FINISHERS - 1)
        keep_ends(p, t, before, count, mine);
    if (count) {
        sync_some<FINISHERS>(OF_TEAMS + team);
        write_out(p.out + before - 1, (const result_t *)results, 1 + thread, count);
        if (p.keys_out)
            write_out(p.keys_out + before, run_keys, thread, count);
    }
}

inline void finish_tiles(scratch &s, const groups_args &p, uint64 turns) {
    const int team = (threadIdx.x - FIRST_FINISHER) / FINISHERS, thread = (threadIdx.x - FIRST_FINISHER) % FINISHERS;
    place_in_ring<RING> here = {0, 0};
    place_in_ring<KEY_RING> key_here = {0, 0};
    here.advance(team);
    key_here.advance(team);
    for (uint64 turn = team; turn < turns; turn += TEAMS, here.advance(TEAMS), key_here.advance(TEAMS)) {
        s.full[here.at].wait(here.parity);
        s.full_of_keys[key_here.at].wait(key_here.parity);
        s.ready[key_here.at].wait(key_here.parity);
        const bool is_dense = s.count[key_here.at] > FEW; /* before its place is given away */
        finish_tile(s, p, tile_at(p, turn), here.at, key_here.at, team, thread);
        show_to_copies();
        __syncwarp();
        if (thread % WARP == 0) {
            s.empty[here.at].arrive();
            if (is_dense)
                s.empty_of_keys[key_here.at].arrive();
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) fold_runs_in_waves(groups_args p) {
    extern __shared__ __align__(128) uint8 ring_memory[];
    scratch &s = *(scratch *)ring_memory;
    let_next_start();
    const uint64 turns = (p.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
    if (threadIdx.x == 0) {
        for (int at = 0; at < RING; at++) {
            s.full[at].init(WARP);
            s.empty[at].init(FINISHERS / WARP);
        }
        for (int at = 0; at < KEY_RING; at++) {
            s.full_of_keys[at].init(WARP);
            s.ready[at].init(COUNTERS + 1);
            s.empty_of_keys[at].init(FINISHERS / WARP);
        }
        show_gates();
    }
    __syncthreads();
    if (threadIdx.x >= FIRST_FINISHER)
        finish_tiles(s, p, turns);
    else if (threadIdx.x >= FIRST_COUNTER)
        count_tiles(s, p, turns);
    else if (threadIdx.x >= MESSENGER)
        carry_messages(s, p, turns);
    else if (threadIdx.x >= KEY_LOADER)
        load_keys(s, p, turns);
    else
        load_elements(s, p, turns);
}
