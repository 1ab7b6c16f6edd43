/* Scans by segments and keys of few elements, and of rows by terms: each block has one tile, in a single wave without a pipeline. By segments, a
 * block finds by itself where they begin in its tile, while the launch before still checks the offsets. How a block
 * learns the sum before its tile: one_wave.cu. Scans of all values by blocks of one tile are in scan_look_back.cu. */

#if GROUPS == SEGMENTS
/* ---- heads ---- */

enum { SEEKERS = FINISHERS / 2 };

/* Past the first-level cache: what the kernel before the last wrote may not be there yet. */
inline index_t fresh_offset(const scan_args &p, uint64 number) {
    typedef typename word_of<sizeof(index_t)>::type word;
    const index_t *from = p.offsets + number;
    if ((uint64)from & (sizeof(index_t) - 1))
        return load(from);
    const word bits = __ldcg((const word *)from);
    index_t offset;
    memcpy(&offset, &bits, sizeof offset);
    return offset;
}

/* The first offset that is not less than 'position', which is another one for each half of the block's threads. If
 * offsets do not rise it is any. */
inline uint32 seek_together(const scan_args &p, uint64 position) {
    __shared__ uint32 of_warps[2][FINISHERS / WARP];
    const uint32 half = threadIdx.x / SEEKERS, me = threadIdx.x % SEEKERS, all = (uint32)p.segments + 1;
    uint32 low = 0, left = all;
    for (uint32 turn = 0;; turn ^= 1) {
        const uint32 step = left / (SEEKERS + 1), at = step ? low + (me + 1) * step - 1 : low + me;
        const bool is_asked = at < all && (step || me < left);
        const uint32 lanes = __ballot_sync(ALL_LANES, is_asked && (uint64)fresh_offset(p, at) < position);
        if (threadIdx.x % WARP == 0)
            of_warps[turn][threadIdx.x / WARP] = __popc(lanes);
        __syncthreads();
        uint32 before = 0;
#pragma unroll
        for (uint32 w = 0; w < SEEKERS / WARP; w++)
            before += of_warps[turn][half * (SEEKERS / WARP) + w];
        if (!step)
            return low + before;
        low += before * step;
        left -= SEEKERS * step;
    }
}

/* Marks the heads of the tile. */
inline void mark_tile(scratch &s, const scan_args &p, const tile &t) {
    __shared__ uint32 ends[2];
    const uint32 half = threadIdx.x / SEEKERS;
    if (threadIdx.x == 0) {
        s.is_refused = 0;
        s.written_from = fresh_offset(p, 0);
        s.written_to = fresh_offset(p, p.segments);
    }
    for (uint32 w = threadIdx.x; w < HEAD_WORDS; w += FINISHERS)
        s.heads[0][w] = 0;
    const uint32 found = seek_together(p, t.low + (half ? t.count : 0) + REVERSE);
    if (threadIdx.x % SEEKERS == 0)
        ends[half] = found;
    __syncthreads();
    for (uint32 g = ends[0] + threadIdx.x; g < ends[1]; g += FINISHERS) {
        const uint64 at = (uint64)fresh_offset(p, g) - REVERSE - t.low;
        if (at < t.count)
            atomicOr(&s.heads[0][at / WARP], 1u << at % WARP);
    }
}

/* What the launch before has found goes to the host. */
inline void tell_findings(const scratch &s, const one_wave_args &a) {
    control told = control();
    told.refused = s.is_refused;
    for (uint32 k = 0; s.is_refused && k < a.finders; k++)
        told.not_bad = a.found[k] > told.not_bad ? a.found[k] : told.not_bad;
    *a.told = told;
}
#endif

inline void scan_tile_of_wave(const one_wave_args &a) {
    extern __shared__ __align__(128) uint8 ring_memory[];
    scratch &s = *(scratch *)ring_memory;
    const scan_args &p = a.scan;
    const bool has_base = p.carry || p.initial;
    uint32 in_bulk = 0;
#if GROUPS != SEGMENTS
    wait_for_last();
#endif
    if (threadIdx.x == 0) {
        s.knows_prefix = false;
        s.full[0].init(FINISHERS);
        show_gates();
    }
    __syncthreads();
    const tile t = tile_of_number(p, ordinal_of_block());
    fetch(s.tile[0], p.x + t.low, t.count, threadIdx.x, FINISHERS, &in_bulk);
#if HAS_SECOND
    fetch(s.second[0], p.y + t.low, t.count, threadIdx.x, FINISHERS, &in_bulk);
#endif
#if GROUPS == KEYS
    fetch(s.keys[0] + KEYS_FROM, p.keys + t.low, t.count, threadIdx.x, FINISHERS, &in_bulk);
    if (threadIdx.x == 0)
        set_key_before(s, p, t, 0, load_key_before(p, t));
#endif
#if COPIES_IN_BULK
    if (threadIdx.x == 0) {
        arrive_and_expect(&s.full[0].word, in_bulk);
        fetch_in_bulk(s.tile[0], p.x + t.low, t.count, &s.full[0]);
#if HAS_SECOND
        fetch_in_bulk(s.second[0], p.y + t.low, t.count, &s.full[0]);
#endif
#if GROUPS == KEYS
        fetch_in_bulk(s.keys[0] + KEYS_FROM, p.keys + t.low, t.count, &s.full[0]);
#endif
    } else
#endif
        s.full[0].arrive();
    acc_t base = identity_as<acc_t>();
    if (has_base)
        base = p.carry ? p.carry->read() : raise(load(p.initial));
#if GROUPS == SEGMENTS
    mark_tile(s, p, t);
    __syncthreads();
    wait_for_last(); /* the offsets are checked */
    if (threadIdx.x < a.finders && a.found[threadIdx.x])
        atomicOr(&s.is_refused, 1);
#endif
#if HAS_TERMS
    if (!FINISH_TERMS(s, p, t, {0, 0}, 0, threadIdx.x, 0, has_base, base))
        finish_in_general(s, p, t, {0, 0}, 0, threadIdx.x, 1, has_base, base);
#elif BY_WORDS
    finish_by_words<packed_stretch>(s, p, t, {0, 0}, 0, threadIdx.x, 0, has_base, base);
#elif FINDS_PLACES
    finish_places(s, p, t, {0, 0}, 0, threadIdx.x, 0, has_base, base);
#else
    finish_tile(s, p, t, {0, 0}, 0, threadIdx.x, 0, has_base, base);
#endif
#if GROUPS == SEGMENTS
    if (ordinal_of_block() == 0 && threadIdx.x == 0)
        tell_findings(s, a);
#endif
}
