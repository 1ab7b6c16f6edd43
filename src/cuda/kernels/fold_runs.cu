/* Reductions by keys, that is of runs of neighbours whose keys are equal. One pass, one tile per block. A block finds
 * the heads of the runs in its tile and publishes their number as soon as the keys are there. Then it adds up the
 * numbers that the blocks before it have published (decoupled look-back, Merrill and Garland 2016), which is the number
 * of results before its own. The numbers are integers, so their sum does not depend on the order. A block that waits
 * too long counts the heads of a silent tile itself, so nothing depends on which blocks run at a time. */

/* And while blocks still read it. */
constexpr uint64 TOLD = 1ull << 63;  /* the number of heads in this tile is published */
constexpr uint64 SUMMED = 1ull << 62; /* the number of all up to the end of this tile is published, with runs.cu's bits */

enum { PATIENCE = 4096 /* polls of a tile that has published nothing */ };

/* The number of heads in another block's tile, by one warp. */
inline uint64 heads_of(const groups_args &p, uint64 number) {
    uint64 count = 0;
    for (uint64 e = number * TILE + threadIdx.x % WARP; e < number * TILE + TILE; e += WARP)
        count += is_head(p, e); /* only the last tile is not whole, and no block waits for it */
    return add_lanes(count);
}

/* The number of heads in all tiles before this one, by one warp. */
inline uint64 look_back(const groups_args &p, uint64 number) {
    const uint32 lane = threadIdx.x % WARP;
    uint64 sum = 0;
    while (number) {
        const bool exists = lane < number;
        const uint64 mine = number - 1 - lane;
        uint64 word = exists ? load_relaxed(p.heads + mine) : SUMMED;
        for (int looks = 0; looks < PATIENCE && !__all_sync(ALL_LANES, word != 0); looks++)
            if (!word)
                word = load_relaxed(p.heads + mine);
        for (uint32 silent; (silent = __ballot_sync(ALL_LANES, word == 0)) != 0;) {
            uint32 which = __ffs(silent) - 1;
            uint64 count = heads_of(p, number - 1 - which);
            if (lane == which)
                word = TOLD | count;
        }
        uint32 last = __ffs(__ballot_sync(ALL_LANES, (word & SUMMED) != 0)); /* 0: none has a sum */
        sum += add_lanes(!last || lane < last ? word & COUNT : 0);
        if (last)
            break;
        number -= WARP;
    }
    return sum;
}

struct runs_memory {
    uint16 head[TILE];
    uint32 of_warp[WARPS];
    uint32 ends;   /* whether the last run ends where the tile does */
    uint64 before; /* heads in earlier tiles */
};

/* A warp has consecutive words of 32 elements of the tile; a thread has a key of each in its registers. */
enum { WORDS = TILE / BLOCK, MANY_HEADS = 8 * WORDS /* a warp */ };
static_assert(WORDS <= WARP && TILE <= 1 << 16);

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

/* Fills in r.head and publishes the number of heads; *rank becomes the number before this lane's word. */
inline uint32 find_heads(runs_memory &r, uint32 mine, uint64 *told, uint32 *rank) {
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, first = thread_keys::first_of_warp();
    uint32 sum = __popc(mine);
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        uint32 left = __shfl_up_sync(ALL_LANES, sum, d);
        if (lane >= d)
            sum += left;
    }
    if (lane == WARP - 1)
        r.of_warp[warp] = sum;
    __syncthreads();
    uint32 at = sum - __popc(mine), all = 0;
#pragma unroll
    for (uint32 w = 0; w < WARPS; w++) {
        if (w < warp)
            at += r.of_warp[w];
        all += r.of_warp[w];
    }
    *rank = at;
    if (threadIdx.x == 0)
        store_relaxed(told, TOLD | all);
    if (r.of_warp[warp] < MANY_HEADS) {
        for (uint32 bits = mine; bits; bits &= bits - 1)
            r.head[at++] = (uint16)(first + lane * WARP + __ffs(bits) - 1);
    } else {
#pragma unroll 4
        for (uint32 k = 0; k < WORDS; k++) {
            const uint32 bits = __shfl_sync(ALL_LANES, mine, k), from = __shfl_sync(ALL_LANES, at, k);
            if (bits >> lane & 1)
                r.head[from + __popc(bits & ((1u << lane) - 1))] = (uint16)(first + k * WARP + lane);
        }
    }
    return all;
}

/* The keys of the runs that begin in the tile. */
inline void write_keys(const thread_keys &keys, uint32 mine, uint32 rank, index_t *to) {
    const uint32 lane = threadIdx.x % WARP;
    const bool aligned = is_aligned(to);
#pragma unroll
    for (uint32 k = 0; k < WORDS; k++) {
        const uint32 bits = __shfl_sync(ALL_LANES, mine, k), from = __shfl_sync(ALL_LANES, rank, k);
        if (bits >> lane & 1) {
            index_t *at = to + from + __popc(bits & ((1u << lane) - 1));
            if (aligned)
                *at = keys.key[k];
            else
                store_slowly(at, keys.key[k]);
        }
    }
}

/* Results of the runs that begin in the tile. */
inline void take_runs(tile_memory &s, const runs_memory &r, const groups_args &p, const tile &t, uint32 heads) {
    const uint32 shift = shift_for(heads), goes_on = t.count + 1;
    result_t *out = p.out + r.before;
    auto end_of = [&](uint32 i) { return i + 1 < heads ? r.head[i + 1] : r.ends ? t.count : goes_on; };
    if (shift) {
        const uint32 i = threadIdx.x >> shift;
        if (threadIdx.x / WARP * WARP >> shift < heads)
            fold_shared(s, t, i < heads, i < heads ? r.head[i] : 0, i < heads ? end_of(i) : 0, out + i, shift);
        return;
    }
    for (uint32 i = threadIdx.x; i < heads; i += BLOCK)
        fold_alone(s, t, r.head[i], end_of(i), out + i);
}

/* Thread 0, when everything in the tile is folded. */
inline void keep_ends(tile_memory &s, const runs_memory &r, const groups_args &p, const tile &t, uint64 number,
                      uint32 heads, const acc_t &whole) {
    cut &c = p.cuts[number];
    const bool ends = heads ? r.head[0] > 0 : r.ends;
    if (ends)
        c.before.write(heads ? *(acc_t *)s.before : whole);
    if (s.goes_on)
        c.after.write(*(acc_t *)s.after);
    else if (!heads && !ends)
        c.after.write(whole);
    else
        c.after.write(identity_as<acc_t>());
#if NEEDS_START
    c.start = heads ? t.first + r.head[heads - 1] : 0;
    c.end = t.first + (heads ? r.head[0] : t.count);
#endif
    store_relaxed(p.heads + number,
         TOLD | SUMMED | (heads || ends ? FRESH : 0) | (ends ? ENDS : 0) | (r.before + heads));
    if (number + 1 == p.tiles)
        p.told->runs = r.before + heads;
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_runs(groups_args p) {
    __shared__ alignas(128) uint8 memory[HAS_SECOND + 1][TILE * sizeof(in_t)];
    __shared__ tile_memory s;
    __shared__ runs_memory r;
    let_next_start();
    const uint64 number = blockIdx.x, first = number * TILE;
    const uint32 count = p.n - first < TILE ? (uint32)(p.n - first) : (uint32)TILE;
    const tile t = {first, count, memory[0], memory[HAS_SECOND]};
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
    if (threadIdx.x == 0) {
        s.count = s.goes_on = 0;
        r.ends = first + count == p.n || is_head(p, first + count);
    }
    uint32 rank, mine = find_bits(keys, count, first == 0);
    const uint32 heads = find_heads(r, mine, p.heads + number, &rank);
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
    if (!heads)
        whole = fold_whole(t);
    else if (r.head[0])
        fold_open(s, t, r.head[0]);
    if (p.keys_out && heads)
        write_keys(keys, mine, rank, p.keys_out + r.before);
    take_runs(s, r, p, t, heads);
    __syncthreads();
    if (s.count) {
        fold_longer(s, t);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        keep_ends(s, r, p, t, number, heads, whole);
}
