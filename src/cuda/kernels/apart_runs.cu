/* Reductions by keys of some MB, in two launches. In the first, no block knows how many runs begin before its tile, so
 * results and keys wait in memory. A counter gives each tile its place there, in a ring that has room for all of them:
 * nobody has cleared the counter, and which place a tile has does not show. The second launch adds up the heads of all
 * tiles, moves what waits to where it belongs, and folds the runs that cross tiles. A warp has a tile. Larger input
 * takes the launch that marks runs (mark_runs.cu), since here each block reads the words of all tiles; so does larger
 * output, which moves twice. */
enum { HEADS_BITS = 16, HEADS = (1 << HEADS_BITS) - 1 }; /* of a tile's word; then its place in the ring */
static_assert(TILE <= HEADS);

inline void fold_tile_apart(const groups_args &p) {
    __shared__ tile_bytes<PLACE> memory;
    __shared__ second_bytes seconds;
    __shared__ tile_memory s;
    __shared__ runs_memory r;
    wait_for_last();
    let_next_start();
    const tile t = begin_tile(p, blockIdx.x, memory.bytes, seconds.bytes, memory.bytes);
    find_heads_of_tile(p, t, s, r);
    const uint32 heads = rank_heads(s);
    const uint32 counted = threadIdx.x == 0 && heads ? atomicAdd(p.totals, heads) : 0;
    __syncthreads(); /* heads are numbered */
    if (heads && (p.keys_out || LISTS_ALWAYS))
        list_heads(s);
    wait_for_copies<0>();
    __syncthreads();
    const acc_t whole = fold_run_tile(s, t, heads);
    if (threadIdx.x == 0)
        r.before = (uint64)(counted & (p.apart_runs - 1)) << HEADS_BITS;
    __syncthreads();
    const uint64 place = r.before >> HEADS_BITS;
    if (heads && p.keys_out)
        put_keys(s, p.keys + t.first, p.apart_keys + place, heads);
    put_tile(s, r, p, t, heads, whole, p.apart + place);
}

/* What a thread or a block knows of tiles: heads before its own, heads of all, and the last FRESH one before its own, or
 * rather its number and one; 0: there is none. */
struct known {
    uint32 before, all, fresh;
};

/* Adds up what the tiles have: those before 'first', and all. All threads of the block call this. */
inline known add_tiles(const groups_args &p, uint32 first) {
    enum { AT_A_TIME = 4 };
    __shared__ known of_warp[WARPS];
    const uint32 tiles = (uint32)p.tiles;
    known k = {0, 0, 0};
#pragma unroll 1
    for (uint32 tile = threadIdx.x; tile < tiles; tile += AT_A_TIME * BLOCK) {
        uint64 word[AT_A_TIME];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            word[j] = tile + j * BLOCK < tiles ? p.heads[tile + j * BLOCK] : 0;
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++) {
            const uint32 number = tile + j * BLOCK;
            k.all += (uint32)word[j] & HEADS;
            k.before += number < first ? (uint32)word[j] & HEADS : 0;
            k.fresh = number < first && word[j] & FRESH ? number + 1 : k.fresh;
        }
    }
    k.before = add_lanes(k.before);
    k.all = add_lanes(k.all);
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const uint32 other = __shfl_xor_sync(ALL_LANES, k.fresh, d);
        k.fresh = other > k.fresh ? other : k.fresh;
    }
    if (threadIdx.x % WARP == 0)
        of_warp[threadIdx.x / WARP] = k;
    __syncthreads();
    k = of_warp[0];
#pragma unroll
    for (uint32 w = 1; w < WARPS; w++) {
        k.before += of_warp[w].before;
        k.all += of_warp[w].all;
        k.fresh = of_warp[w].fresh > k.fresh ? of_warp[w].fresh : k.fresh;
    }
    return k;
}

/* Moves what waits of a warp's tile. */
inline void move_runs(const groups_args &p, uint64 from, uint64 to, uint32 results, uint32 heads) {
    enum { AT_A_TIME = sizeof(result_t) <= 8 ? 4 : 2 };
    const bool has_keys = p.keys_out;
#pragma unroll 1
    for (uint32 k = threadIdx.x % WARP; k < heads; k += AT_A_TIME * WARP) {
        result_t result[AT_A_TIME];
        index_t key[AT_A_TIME];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++) {
            if (k + j * WARP < results)
                result[j] = p.apart[from + k + j * WARP];
            if (has_keys && k + j * WARP < heads)
                key[j] = p.apart_keys[from + k + j * WARP];
        }
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++) {
            if (k + j * WARP < results)
                put(p.out + to + k + j * WARP, result[j]);
            if (has_keys && k + j * WARP < heads) {
                index_t *const key_to = p.keys_out + to + k + j * WARP;
                if (is_aligned(key_to))
                    *key_to = key[j];
                else
                    store_slowly(key_to, key[j]);
            }
        }
    }
}

/* A warp folds the run that ends in its tile and began in tile 'first'. */
inline void end_run(const groups_args &p, uint64 number, uint64 first, uint64 group) {
    const uint32 lane = threadIdx.x % WARP;
    const uint64 each = (number - first + WARP - 1) / WARP, begin = first + lane * each, end = begin + each;
    ending e = {};
    e.group = group;
    e.first = first;
    const acc_t last = load_last(p, number, &e);
    const acc_t acc = fold_warp_in_order(fold_parts(p, begin, end < number ? end : number));
    if (lane == 0)
        finish_group(p, e, acc, last);
}

inline void place_tiles_apart(const groups_args &p) {
    wait_for_last();
    let_next_start();
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, tiles = (uint32)p.tiles;
    const uint32 first = blockIdx.x * WARPS, number = first + warp;
    const uint64 near = lane < WARPS && first + lane < tiles ? p.heads[first + lane] : 0; /* the block's tiles */
    known k = add_tiles(p, first);
    const bool is_refused = p.room < p.n && k.all > p.room;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        control told = control();
        told.runs = k.all;
        told.refused = is_refused ? REFUSED_RUNS : 0;
        *p.told = told;
    }
    if (is_refused || number >= tiles)
        return;
#pragma unroll
    for (uint32 j = 0; j < WARPS - 1; j++) {
        const uint64 word = from_lane(near, j);
        k.before += j < warp ? (uint32)word & HEADS : 0;
        k.fresh = j < warp && word & FRESH ? first + j + 1 : k.fresh;
    }
    const uint64 own = from_lane(near, warp);
    const uint32 heads = (uint32)own & HEADS, results = heads && !(own & ENDS_WITH) ? heads - 1 : heads;
    if (own & ENDS)
        end_run(p, number, k.fresh - 1, k.before - 1);
    move_runs(p, (own & COUNT) >> HEADS_BITS, k.before, results, heads);
}
