/* Reductions by keys, one pass over the elements, a tile a block. mark_runs.cu has found where runs begin and how many
 * begin before each tile, so blocks don't wait for each other. */

/* The block of mark_runs.cu that has marked a strip. */
inline uint32 marker_of(const groups_args &p, uint32 strip) {
    const uint32 longer = p.extra * ((uint32)p.marked + 1); /* strips of the warps that have one more */
    const uint32 warp = strip < longer ? strip / ((uint32)p.marked + 1) : p.extra + (strip - longer) / (uint32)p.marked;
    return warp / p.marking;
}

/* Reads the words of the tile's heads. The first warp also adds up what mark_runs.cu has counted: the number of heads
 * before the tile, and in all if an output may be too small for them. Known after a barrier. All loads are under way
 * together: the compiler moves none to before a store to shared memory. */
inline void read_marks(const groups_args &p, tile_memory &s, runs_memory &r) {
    enum {
        AT_A_TIME = 9, /* for two blocks of mark_runs.cu a processor, most often */
        OF_THREAD = (HEAD_WORDS + BLOCK - 1) / BLOCK
    };
    const uint64 number = blockIdx.x;
    const uint32 me = threadIdx.x, end = p.markers;
    const uint32 *bits = p.bits + number * HEAD_WORDS;
    uint32 mine[OF_THREAD], any = 0;
#pragma unroll
    for (uint32 j = 0; j < OF_THREAD; j++) {
        mine[j] = me + j * BLOCK < HEAD_WORDS ? bits[me + j * BLOCK] : 0;
        any |= mine[j];
    }
    const uint32 next = me == BLOCK - 1 && number + 1 < p.tiles ? bits[HEAD_WORDS] : 1;
    if (me < WARP) {
        const uint32 strip = (uint32)number * (TILE / STRIP), marker = marker_of(p, strip);
        uint64 before = me == 0 ? p.ranks[strip] : 0, all = 0;
#pragma unroll 1
        for (uint32 k = me; k < end; k += AT_A_TIME * WARP) {
            uint32 total[AT_A_TIME];
#pragma unroll
            for (uint32 j = 0; j < AT_A_TIME; j++)
                total[j] = k + j * WARP < end ? p.totals[k + j * WARP] : 0;
#pragma unroll
            for (uint32 j = 0; j < AT_A_TIME; j++) {
                all += total[j];
                before += k + j * WARP < marker ? total[j] : 0;
            }
        }
        if (p.n >> 32) {
            before = add_lanes(before);
            all = add_lanes(all);
        } else {
            before = add_lanes((uint32)before);
            all = add_lanes((uint32)all);
        }
        if (me == 0) {
            r.before = before;
            r.all = all;
        }
    }
    const uint32 have_heads = __ballot_sync(ALL_LANES, any != 0);
#pragma unroll
    for (uint32 j = 0; j < OF_THREAD; j++)
        if (me + j * BLOCK < HEAD_WORDS)
            s.heads[me + j * BLOCK] = mine[j];
    if (me == BLOCK - 1)
        r.ends = next & 1;
    if (me % WARP == 0)
        r.have_heads[me / WARP] = have_heads;
}

/* Writes the keys of the runs that begin in the tile as mark_runs.cu has kept them, or where those of a strip are more,
 * from all keys. */
inline void put_kept_keys(const tile_memory &s, const index_t *kept, const index_t *from, index_t *to, uint32 heads) {
    enum {
        STRIPS = TILE / STRIP,
        SHARE = STRIPS < WARPS ? WARPS / STRIPS : 1, /* warps that have one */
        STEP = SHARE * WARP,
        AT_A_TIME = 4
    };
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll 1
    for (uint32 strip = warp / SHARE; strip < STRIPS; strip += WARPS / SHARE) {
        const uint32 before = s.ranks[strip * WARP], behind = strip + 1 < STRIPS ? s.ranks[strip * WARP + WARP] : heads;
        const uint32 count = behind - before;
        if (count > KEPT_KEYS) {
            put_dense_keys<WARP, SHARE>(s, from, to, strip * WARP);
            continue;
        }
        const index_t *const keys = kept + strip * KEPT_KEYS;
#pragma unroll 1
        for (uint32 k = warp % SHARE * WARP + lane; k < count; k += AT_A_TIME * STEP) {
            index_t key[AT_A_TIME];
#pragma unroll
            for (uint32 j = 0; j < AT_A_TIME; j++)
                if (k + j * STEP < count)
                    key[j] = keys[k + j * STEP];
#pragma unroll
            for (uint32 j = 0; j < AT_A_TIME; j++)
                if (k + j * STEP < count)
                    to[before + k + j * STEP] = key[j];
        }
    }
}

inline bool has_any(const runs_memory &r) {
    uint32 heads = 0;
#pragma unroll
    for (uint32 w = 0; w < WARPS; w++)
        heads |= r.have_heads[w];
    return heads;
}

extern "C" __global__ void __launch_bounds__(BLOCK, FOLD_BLOCKS) fold_runs(groups_args p SIZED) {
    TAKE_TILES(p)
#if SIZE_ON_DEVICE
    if (blockIdx.x * (uint64)TILE >= p.n)
        return;
#endif
    __shared__ tile_bytes<PLACE> memory;
    __shared__ second_bytes seconds;
    __shared__ tile_memory s;
    __shared__ runs_memory r;
    const uint64 number = blockIdx.x;
    /* Vectors come past the first-level cache, where there may be old contents up to the wait. */
    if (!are_vectors(p) || !number || number + 2 >= p.tiles)
        wait_for_last();
    const tile t = begin_tile(p, blockIdx.x, memory.bytes, seconds.bytes, memory.bytes);
    wait_for_last(); /* heads are marked */
    let_next_start();
    read_marks(p, s, r);
    __syncthreads();
    const uint32 heads = has_any(r) ? rank_heads(s) : 0;
    const uint64 before = r.before, all = r.all;
    const bool is_refused = p.room < p.n && all > p.room;
    if (threadIdx.x == 0 && number + 1 == p.tiles) {
        control told = control();
        told.runs = before + heads;
        told.refused = is_refused ? REFUSED_RUNS : 0;
        *p.told = told;
    }
    if ((p.keys_out || LISTS_ALWAYS) && heads && !is_refused) {
        const index_t *from = p.keys + t.first;
        index_t *to = p.keys_out + before;
        __syncthreads(); /* heads are numbered */
        if (LISTS_ALWAYS) {
            list_heads(s);
            __syncthreads();
        }
        if (p.kept && t.count == TILE)
            put_kept_keys(s, p.kept + t.first / STRIP * KEPT_KEYS, from, to, heads);
        else if (p.keys_out)
            put_dense_keys<HEAD_WORDS, WARPS>(s, from, to);
    }
    wait_for_copies<0>();
    if (is_refused)
        return;
    __syncthreads();
    const acc_t whole = fold_run_tile(s, t, heads);
    __syncthreads();
    put_tile(s, r, p, t, heads, whole, p.out + r.before);
}
