/* The kernel of scans along consecutive elements: its warps and their work. scan_tiles.cu tells how they go together;
 * scan_move.cu, scan_sum.cu and scan_finish.cu what each does. */

inline void finish_tiles(scratch &s, const scan_args &p, uint64 turns) {
    const int team = (threadIdx.x - FIRST_FINISHER) / FINISHERS, thread = (threadIdx.x - FIRST_FINISHER) % FINISHERS;
    int in_turn = 0;
    const bool has_base = p.carry || p.initial;
    acc_t base = identity_as<acc_t>();
    if (has_base)
        base = p.carry ? p.carry->read() : raise(load(p.initial));
    place here = {0, 0};
    here.advance(team);
    for (uint64 turn = team; turn < turns; turn += TEAMS, here.advance(TEAMS)) {
        const tile t = tile_at(p, turn);
#if BY_WORDS
        finish_by_words<packed_stretch>(s, p, t, here, team, thread, in_turn, has_base, base);
#elif HAS_TERMS
        if (!FINISH_TERMS(s, p, t, here, team, thread, in_turn, has_base, base))
            finish_in_general(s, p, t, here, team, thread, in_turn, has_base, base);
#elif IN_WINDOW
        finish_in_window(s, p, t, here, team, thread, in_turn, has_base, base);
#else
#if FILLS_TILES && GROUPS != KEYS
        if (fill_tile(s, p, t, here, team, thread, has_base, base))
            continue;
#endif
#if FINDS_PLACES
        finish_places(s, p, t, here, team, thread, in_turn, has_base, base);
#else
        finish_tile(s, p, t, here, team, thread, in_turn, has_base, base);
#endif
#endif
        in_turn ^= 1; /* not where a tile was filled: then the team did not meet, and some may still read what it had */
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) scan(scan_args p SIZED) {
    TAKE_GROUPS(p)
#if SIZE_ON_DEVICE
    p.tiles = (p.n + p.tile - 1) / p.tile;
#endif
    extern __shared__ __align__(128) uint8 ring_memory[];
    scratch &s = *(scratch *)ring_memory;
#if IS_LOGSUMEXP
    prepare_terms(THREADS);
#endif
#if LOADS_EARLY
    init_gates(s, arriving_summers(p), 1);
    if (threadIdx.x < LOADERS) {
        load_tiles(s, p, turns_of_block(p));
        return;
    }
#endif
    wait_for_last();
    if (p.refused && *p.refused)
        return;
#if IN_WINDOW
    if (p.window->refused)
        return;
    if (threadIdx.x == 0)
        the_window = {p.window->bottom, p.window->highest, p.window->shift, p.window->levels, &p.window->failed};
#elif IS_EXACT
    if (p.window && !p.window->refused && !p.window->failed) /* the scan in the window did the work */
        return;
#endif
    uint64 turns = turns_of_block(p);
#if !LOADS_EARLY
    init_gates(s, arriving_summers(p), 1);
#endif
    if (threadIdx.x >= FIRST_FINISHER)
        finish_tiles(s, p, turns);
    else if (threadIdx.x >= FIRST_SUMMER)
        sum_tiles(s, p, turns);
    else if (threadIdx.x >= MESSENGER)
        carry_messages(s, p, turns);
#if COPIES_IN_BULK
    else if (threadIdx.x >= FIRST_STORER)
        store_tiles<IN_WINDOW>(s, p, turns);
#endif
#if !LOADS_EARLY
    else
        load_tiles(s, p, turns);
#endif
}
