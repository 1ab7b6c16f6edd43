/* Reductions by keys: of runs of neighbours whose keys are equal. One pass, a tile a block. A block finds the heads of
 * the runs in its tile, tells their number to the others as soon as the keys are there, and adds up what those before it
 * have told (decoupled look-back, Merrill and Garland 2016): that many results come before its own. The numbers are
 * integers, so that their sum does not depend on who was first. A block that is kept waiting too long counts for itself,
 * so nothing depends on which blocks run at a time. */

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

/* The number of heads in all tiles before this one, by one warp. A lane looks at SOME tiles at a time. No more tiles than
 * a warp looks at can go on at once, so with one a lane 32 tiles a microsecond were the most on an H100. */
inline uint64 look_back(const groups_args &p, uint64 number) {
    enum { SOME = 4 };
    const uint32 lane = threadIdx.x % WARP;
    uint64 sum = 0;
    for (; number; number -= number < SOME * WARP ? number : (uint64)(SOME * WARP)) {
        uint64 word[SOME];
#pragma unroll
        for (int k = 0; k < SOME; k++)
            word[k] = SOME * lane + k < number ? load_relaxed(p.heads + number - 1 - SOME * lane - k) : SUMMED;
        for (int looks = 0; looks < PATIENCE; looks++) {
            bool all_tell = true;
#pragma unroll
            for (int k = 0; k < SOME; k++) {
                if (!word[k])
                    word[k] = load_relaxed(p.heads + number - 1 - SOME * lane - k);
                all_tell &= word[k] != 0;
            }
            if (__all_sync(ALL_LANES, all_tell))
                break;
        }
#pragma unroll
        for (int k = 0; k < SOME; k++)
            for (uint32 silent; (silent = __ballot_sync(ALL_LANES, word[k] == 0)) != 0;) {
                const uint32 which = __ffs(silent) - 1;
                const uint64 count = heads_of(p, number - 1 - SOME * which - k);
                if (lane == which)
                    word[k] = TOLD | count;
            }
        uint64 mine = 0; /* of the lane's tiles, up to the nearest that has the sum of all before it */
        bool has_sum = false;
#pragma unroll
        for (int k = 0; k < SOME; k++) {
            mine += has_sum ? 0 : word[k] & COUNT;
            has_sum |= (word[k] & SUMMED) != 0;
        }
        const uint32 last = __ffs(__ballot_sync(ALL_LANES, has_sum)); /* 0: none has */
        sum += add_lanes(!last || lane < last ? mine : 0);
        if (last)
            break;
    }
    return sum;
}

struct runs_memory {
    uint32 ends;   /* whether the last run ends where the tile does */
    uint64 before; /* heads in earlier tiles */
};

/* A warp has consecutive words of 32 elements of the tile; a thread has a key of each in its registers. */
enum { WORDS = HEAD_WORDS / WARPS };
static_assert(WORDS <= WARP);

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
#pragma unroll
    for (uint32 k = 0; k < WORDS; k++)
        if (s.heads[first + k] >> lane & 1) {
            index_t *at = to + rank_of(s, (first + k) * WARP + lane);
            if (aligned)
                *at = keys.key[k];
            else
                store_slowly(at, keys.key[k]);
        }
}

/* Writes the results of the runs that begin and end in the tile. */
inline void put_runs(const tile &t, uint32 count, result_t *out) {
    const result_t *results = (const result_t *)t.x;
    for (uint32 i = threadIdx.x; i < count; i += BLOCK)
        put(out + i, results[i]);
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
    if (number + 1 == p.tiles)
        p.told->runs = r.before + heads;
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_runs(groups_args p) {
    __shared__ alignas(128) uint8 memory[PLACE], seconds[HAS_SECOND ? TILE * sizeof(in_t) : 16];
    __shared__ tile_memory s;
    __shared__ runs_memory r;
    let_next_start();
    const uint64 number = blockIdx.x, first = number * TILE;
    const uint32 count = p.n - first < TILE ? (uint32)(p.n - first) : (uint32)TILE;
    const tile t = {first, count, memory, seconds};
    thread_keys keys;
    if (is_aligned(p.keys))
        keys.load_from<true>(p.keys + first, count, first == 0);
    else
        keys.load_from<false>(p.keys + first, count, first == 0);
    fetch_tile(p, t);
    close_copies();
    if (p.told->refused) {
        wait_for_copies<0>();
        return;
    }
    if (threadIdx.x == 0)
        r.ends = first + count == p.n || is_head(p, first + count);
    const uint32 mine = find_bits(keys, count, first == 0);
    if (threadIdx.x % WARP < WORDS)
        s.heads[threadIdx.x / WARP * WORDS + threadIdx.x % WARP] = mine;
    __syncthreads();
    const uint32 heads = rank_heads(s);
    if (threadIdx.x == 0)
        store_relaxed(p.heads + number, TOLD | heads);
    if (threadIdx.x < WARP) {
        uint64 before = look_back(p, number);
        if (threadIdx.x == 0) {
            r.before = before;
            store_relaxed(p.heads + number, TOLD | SUMMED | (before + heads));
        }
    }
    wait_for_copies<0>();
    __syncthreads();
    acc_t whole = identity_as<acc_t>();
    if (heads)
        fold_heads(s, t, heads);
    else
        whole = fold_whole(t);
    if (p.keys_out)
        write_keys(s, keys, p.keys_out + r.before);
    __syncthreads();
    if (heads)
        put_runs(t, r.ends ? heads : heads - 1, p.out + r.before);
    if (threadIdx.x == 0)
        keep_ends(s, r, p, t, number, heads, whole);
}
