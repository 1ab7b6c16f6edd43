/* Reductions by keys: of runs of neighbours whose keys are equal. One pass, a tile a block. A block finds the heads of
 * the runs in its tile, tells their number to the others as soon as the keys are there, and adds up what those before
 * it have told (decoupled look-back, Merrill and Garland 2016): that many results come before its own. The numbers are
 * integers, so that their sum does not depend on who was first. A block that is kept waiting too long counts for
 * itself, so nothing depends on which blocks run at a time. */

/* And while blocks still look at it. */
constexpr uint64 TOLD = 1ull << 63;  /* the number of heads in this tile is there */
constexpr uint64 SUMMED = 1ull << 62; /* that of all up to the end of this tile, and what runs.cu says besides */

enum { PATIENCE = 4096 /* looks at a tile that tells nothing */ };

/* The number of heads in another block's tile, by one warp. */
inline uint64 heads_of(const groups_args &p, uint64 number) {
    uint64 count = 0;
    for (uint64 e = number * TILE + threadIdx.x % WARP; e < number * TILE + TILE; e += WARP)
        count += is_head(p, e); /* only the last tile is not whole, and nobody waits for that */
    return add_lanes(count);
}

/* Tiles come in groups of GROUP. A group has two words: TOLD_ONE for each tile that has told, plus their heads; and the
 * sum of all heads up to its end, once that is known. So a warp sees GROUP * GROUP tiles at a look: with a tile a lane
 * the blocks waited for a chain of 32 such looks at an H100. */
enum { GROUP = WARP };
constexpr uint64 TOLD_ONE = 1ull << 48;

inline uint64 *group_words(const groups_args &p, uint64 group) {
    return p.heads + p.tiles + 2 * group;
}
inline void tell_heads(const groups_args &p, uint64 number, uint64 count) {
    store_relaxed(p.heads + number, TOLD | count);
    atomicAdd((unsigned long long *)group_words(p, number / GROUP), (unsigned long long)(TOLD_ONE + count));
}

/* The sum over the tiles before 'number', asking each, and counting for those that tell nothing. */
inline uint64 ask_each(const groups_args &p, uint64 number) {
    const uint32 lane = threadIdx.x % WARP;
    uint64 sum = 0;
    for (; number; number -= number < WARP ? number : (uint64)WARP) {
        uint64 word = lane < number ? load_relaxed(p.heads + number - 1 - lane) : SUMMED;
        for (uint32 silent; (silent = __ballot_sync(ALL_LANES, word == 0)) != 0;) {
            const uint32 which = __ffs(silent) - 1;
            const uint64 count = heads_of(p, number - 1 - which);
            if (lane == which)
                word = TOLD | count;
        }
        const uint32 last = __ffs(__ballot_sync(ALL_LANES, (word & SUMMED) != 0));
        sum += add_lanes(!last || lane < last ? word & COUNT : 0);
        if (last)
            break;
    }
    return sum;
}

/* The number of heads in all tiles before this one, by one warp. */
inline uint64 look_back(const groups_args &p, uint64 number) {
    const uint32 lane = threadIdx.x % WARP, back = (uint32)(number % GROUP);
    uint64 group = number / GROUP, sum = 0, own = lane < back ? 0 : SUMMED;
    bool has_own = back == 0;
    int looks = 0;
    for (;;) { /* GROUP groups */
        uint64 told = lane < group ? 0 : TOLD_ONE * GROUP, all = lane < group ? 0 : SUMMED;
        uint32 last;
        for (;; looks++) {
            if (looks == PATIENCE)
                return ask_each(p, number);
            if (!own)
                own = load_relaxed(p.heads + number - 1 - lane);
            if (!all) {
                const uint64 *words = group_words(p, group - 1 - lane);
                if (told < TOLD_ONE * GROUP)
                    told = load_relaxed(words);
                all = load_relaxed(words + 1);
            }
            last = __ffs(__ballot_sync(ALL_LANES, all != 0));
            const bool is_there = (last && lane + 1 >= last) || told >= TOLD_ONE * GROUP;
            if (__all_sync(ALL_LANES, own && is_there))
                break;
        }
        if (!has_own) {
            const uint32 nearest = __ffs(__ballot_sync(ALL_LANES, lane < back && (own & SUMMED)));
            sum = add_lanes(lane < (nearest ? nearest : back) ? own & COUNT : 0);
            if (nearest)
                return sum;
            has_own = true;
        }
        sum += add_lanes(last && lane + 1 == last ? all & COUNT : !last || lane + 1 < last ? told & (TOLD_ONE - 1) : 0);
        if (last || group <= GROUP)
            return sum;
        group -= GROUP;
    }
}

enum { RUNS_CLUSTER = 8 /* blocks at most */ };

struct runs_memory {
    uint32 heads_of[RUNS_CLUSTER];
    uint32 ends;   /* whether the last run ends where the tile does */
    uint64 before; /* heads in earlier tiles */
};

/* A warp has consecutive words of 32 elements of the tile; a thread has a key of each in its registers. */
enum { WORDS = HEAD_WORDS / WARPS };
static_assert(WORDS <= WARP && IS_IN_PLACE && HEAD_WORDS <= BLOCK);

struct thread_keys {
    index_t key[WORDS], before; /* lane 31: the last one of the warp before */

    static uint32 first_of_warp() {
        return threadIdx.x / WARP * WORDS * WARP;
    }
    template <bool Aligned> void load_from(const index_t *from, uint32 count, bool is_first) {
        const uint32 first = first_of_warp() + threadIdx.x % WARP;
#pragma unroll
        for (uint32 k = 0; k < WORDS; k++)
            if (first + k * WARP < count)
                key[k] = Aligned ? __ldcs(from + first + k * WARP) : load_slowly(from + first + k * WARP);
        if (threadIdx.x % WARP == WARP - 1 && first_of_warp() <= count && !(is_first && threadIdx.x < WARP))
            before = Aligned ? from[(int)first_of_warp() - 1] : load_slowly(from + (int)first_of_warp() - 1);
    }
};

/* A bit for each head of one word, which is lane's number. */
inline uint32 find_bits(const thread_keys &keys, uint32 count, bool is_first) {
    const uint32 lane = threadIdx.x % WARP, at = keys.first_of_warp() + lane * WARP;
    uint32 mine = 0;
#pragma unroll
    for (uint32 k = 0; k < WORDS; k++) {
        const index_t other = k ? keys.key[k - 1] : keys.before;
        const index_t previous = __shfl_sync(ALL_LANES, lane == WARP - 1 ? other : keys.key[k], lane - 1);
        const uint32 bits = __ballot_sync(ALL_LANES, keys.key[k] != previous);
        if (lane == k)
            mine = bits;
    }
    if (is_first && threadIdx.x == 0)
        mine |= 1;
    return lane >= WORDS || at >= count ? 0 : count - at < WARP ? mine & ((1u << (count - at)) - 1) : mine;
}

/* The keys of the runs that begin in the tile. */
inline void write_keys(const tile_memory &s, const thread_keys &keys, index_t *to) {
    const uint32 lane = threadIdx.x % WARP, first = threadIdx.x / WARP * WORDS;
    const bool aligned = is_aligned(to);
    uint32 rank = s.ranks[first];
#pragma unroll
    for (uint32 k = 0; k < WORDS; k++) {
        const uint32 word = s.heads[first + k];
        if (word >> lane & 1) {
            index_t *at = to + rank + __popc(word & ((1u << lane) - 1));
            if (aligned)
                *at = keys.key[k];
            else
                store_slowly(at, keys.key[k]);
        }
        rank += __popc(word);
    }
}

/* Writes the results of the runs that begin and end in the tile. */
inline void put_runs(const tile &t, uint32 count, result_t *out) {
    for (uint32 i = threadIdx.x; i < count; i += BLOCK)
        put(out + i, t.results[i]);
}

/* Thread 0, when everything in the tile is folded. */
inline void keep_ends(tile_memory &s, const runs_memory &r, const groups_args &p, const tile &t, uint64 number,
                      uint32 heads, const acc_t &whole) {
    cut &c = p.cuts[number];
    const bool ends = heads ? s.first_head > 0 : r.ends;
    if (ends)
        c.before.write(heads ? *(acc_t *)s.before : whole);
    if (heads && !r.ends)
        c.after.write(*(acc_t *)s.after);
    else if (!heads && !ends)
        c.after.write(whole);
    else
        c.after.write(identity_as<acc_t>());
#if NEEDS_START
    c.start = heads ? t.first + s.last_head : 0;
    c.end = t.first + (heads ? s.first_head : t.count);
#endif
    store_relaxed(p.heads + number,
         TOLD | SUMMED | (heads || ends ? FRESH : 0) | (ends ? ENDS : 0) | (r.before + heads));
    if (!p.is_alone && number + 1 == p.tiles)
        p.told->runs = r.before + heads;
}

/* ---- all tiles in one cluster of blocks, or one tile alone: no other launch is needed ---- */

inline void begin_cluster() {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1)
        arrive_in_cluster();
#endif
}
inline void tell_cluster(runs_memory &r, uint32 heads) {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1) {
        wait_for_cluster(); /* all blocks run */
        if (threadIdx.x < gridDim.x)
            store_at_block(&r.heads_of[blockIdx.x], threadIdx.x, heads);
        __syncwarp();
        arrive_in_cluster();
        return;
    }
#endif
    if (threadIdx.x == 0)
        r.heads_of[0] = heads;
}
/* Returns whether there is room for all runs, and in r.before how many are in earlier tiles. All threads call this. */
inline bool find_place(runs_memory &r, const groups_args &p) {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1)
        wait_for_cluster();
#endif
    __syncthreads();
    uint64 before = 0, all = 0;
    for (uint32 b = 0; b < gridDim.x; b++) {
        before += b < blockIdx.x ? r.heads_of[b] : 0;
        all += r.heads_of[b];
    }
    if (threadIdx.x == 0) {
        r.before = before;
        if (blockIdx.x == 0) {
            control told = control();
            told.runs = all;
            told.refused = all > p.room ? REFUSED_RUNS : 0;
            *p.told = told;
        }
    }
    __syncthreads();
    return all <= p.room;
}
inline void end_cluster(const groups_args &p) {
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1) {
        __syncwarp();
        arrive_in_cluster();
        wait_for_cluster();
        ending e;
        if (blockIdx.x == 0 && threadIdx.x < p.chunks && find_ending(p, threadIdx.x, &e))
            finish_group(p, threadIdx.x, e, fold_parts(p, e.first, threadIdx.x));
    }
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_runs(groups_args p) {
    __shared__ alignas(128) uint8 memory[PLACE], seconds[HAS_SECOND ? TILE * sizeof(in_t) : 16];
    __shared__ tile_memory s;
    __shared__ runs_memory r;
    const bool is_alone = p.is_alone;
    if (is_alone) {
        begin_cluster();
        wait_for_last();
    }
    let_next_start();
    const uint64 number = blockIdx.x, first = number * TILE;
    const uint32 count = p.n - first < TILE ? (uint32)(p.n - first) : (uint32)TILE;
    const tile t = {first, count, memory, seconds, (result_t *)memory};
    thread_keys keys;
    if (is_aligned(p.keys))
        keys.load_from<true>(p.keys + first, count, first == 0);
    else
        keys.load_from<false>(p.keys + first, count, first == 0);
    fetch_tile(p, t);
    close_copies();
    if (threadIdx.x == BLOCK - 1) /* its own last key is the tile's, in the same line of the cache */
        r.ends = first + count == p.n || is_head(p, first + count);
    const uint32 refused = is_alone ? 0 : load_ahead(&p.told->refused);
    const uint32 mine = find_bits(keys, count, first == 0);
    if (threadIdx.x % WARP < WORDS)
        s.heads[threadIdx.x / WARP * WORDS + threadIdx.x % WARP] = mine;
    __syncthreads();
    const uint32 heads = rank_heads(s);
    if (is_alone)
        tell_cluster(r, heads);
    else if (threadIdx.x == 0)
        tell_heads(p, number, heads);
    wait_for_copies<0>();
    if (refused)
        return;
    __syncthreads();
    acc_t whole = identity_as<acc_t>();
    if (heads)
        fold_heads(s, t, heads);
    else
        whole = fold_whole(t);
    if (is_alone) {
        if (!find_place(r, p))
            return;
    } else if (threadIdx.x < WARP) { /* only now: meanwhile the tiles before have told */
        uint64 before = look_back(p, number);
        if (threadIdx.x == 0) {
            r.before = before;
            store_relaxed(p.heads + number, TOLD | SUMMED | (before + heads));
            if (number % GROUP == GROUP - 1)
                store_relaxed(group_words(p, number / GROUP) + 1, SUMMED | (before + heads));
        }
    }
    __syncthreads();
    if (p.keys_out)
        write_keys(s, keys, p.keys_out + r.before);
    if (heads)
        put_runs(t, r.ends ? heads : heads - 1, p.out + r.before);
    if (threadIdx.x == 0)
        keep_ends(s, r, p, t, number, heads, whole);
    if (is_alone)
        end_cluster(p);
}
