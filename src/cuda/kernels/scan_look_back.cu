/* Scans of all values with logsumexp, var and std, by blocks that have one tile each, several on a processor: while one
 * waits for memory or for the sum before its tile (look_back.cu), others compute. The pipeline of scan.cu adds each tile
 * up twice, which takes longer where the operator is costly. Scans by segments and keys are in scan_one_wave.cu. */

enum {
    LOADING = COPIES_IN_BULK ? WARP : FINISHERS, /* threads that bring the tile */
    /* For each multiprocessor at least. On an H100 logsumexp of 5 * 10^7 f64 took 438 us, with 3 500; std of f16 240
     * and 271; var of f32 261 and 284. */
    LOOK_BACK_BLOCKS = 4
};

inline void bring_tile(scratch &s, const scan_args &p, const tile &t) {
    uint32 in_bulk = 0;
    fetch(s.tile[0], p.x, p.n, t.low, t.count, threadIdx.x, LOADING, &in_bulk);
#if COPIES_IN_BULK
    if (threadIdx.x == 0) {
        arrive_and_expect(&s.full[0].word, in_bulk);
        fetch_in_bulk(s.tile[0], p.x, p.n, t.low, t.count, &s.full[0]);
        return;
    }
#endif
    s.full[0].arrive();
}

inline void scan_tile_by_look_back(scan_args p) {
#if SIZE_ON_DEVICE
    p.tiles = (p.n + p.tile - 1) / p.tile;
    if (ordinal_of_block() >= p.tiles)
        return;
#endif
    extern __shared__ __align__(128) uint8 ring_memory[];
    scratch &s = *(scratch *)ring_memory;
    const int thread = threadIdx.x;
    const place here = {0, 0};
    const tile t = tile_of_number(p, ordinal_of_block());
    if (thread == 0) {
        s.knows_prefix = false;
        s.full[0].init(LOADING);
        show_gates();
    }
#if IS_LOGSUMEXP
    prepare_terms(FINISHERS);
#endif
    __syncthreads();
    if (thread < LOADING)
        bring_tile(s, p, t);
    const bool has_base = p.carry || p.initial;
    acc_t base = identity_as<acc_t>();
    if (has_base)
        base = p.carry ? p.carry->read() : raise(load(p.initial));
#if TAKES_VECTORS
    const bool is_finished = finish_vectors(s, p, t, here, thread, has_base, base);
#else
    const bool is_finished = FINISH_TERMS(s, p, t, here, 0, thread, 0, has_base, base);
#endif
    if (!is_finished)
        finish_in_general(s, p, t, here, 0, thread, 1, has_base, base);
}
