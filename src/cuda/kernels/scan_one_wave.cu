/* Scans by segments and keys of few elements, or that take doubles for each result, and of rows by terms: each block has
 * one tile. By segments, a block finds by itself where they begin in its tile, while the launch before still checks the
 * offsets; or that launch has made bits of them. How a block learns the sum before its tile: look_back.cu. Scans of all
 * values by blocks of one tile are in scan_look_back.cu. */

/* Blocks on each multiprocessor, at least. Higher moments spill with four. */
enum { ONE_WAVE_RESIDENT = HAS_TERMS && MOMENTS <= 2 ? 4 : ONE_WAVE_BLOCKS };

#if GROUPS == SEGMENTS
/* ---- heads ---- */

enum {
    OFFSETS_AT_ONCE = 32 / sizeof(index_t) > 8 ? 8 : 32 / sizeof(index_t), /* that a thread loads */
    SAMPLES_AT_ONCE = 2, /* likewise; each of a block's samples takes 32 bytes from the second-level cache */
    SAMPLES = FINISHERS * SAMPLES_AT_ONCE
};

__noinline__ index_t misaligned_offset(const index_t *from) {
    return load_fresh(from);
}
/* Offsets which(0), which(1) ..., past the first-level cache: what the kernel before the last wrote may not be there
 * yet. */
template <int Count, class Which>
inline void fresh_offsets(const scan_args &p, index_t (&offset)[Count], Which which) {
    typedef typename word_of<sizeof(index_t)>::type word;
    const bool is_aligned = ((uint64)p.offsets & (sizeof(index_t) - 1)) == 0;
#pragma unroll
    for (int k = 0; k < Count; k++) {
        const index_t *from = p.offsets + which(k);
        if (is_aligned) {
            const word bits = __ldcg((const word *)from);
            memcpy(offset + k, &bits, sizeof bits);
        } else {
            offset[k] = misaligned_offset(from);
        }
    }
}

/* Some offsets among which are all that lie in the tile; if offsets do not rise, they are any. Each step of a search
 * waits for memory, so the block looks at so many samples at once that it can read all offsets from one to the next. */
struct some_offsets {
    uint32 from, to;
};
inline some_offsets offsets_of_tile(const scan_args &p, const tile &t) {
    __shared__ uint32 of_warps[FINISHERS / WARP];
    const uint32 all = (uint32)p.segments + 1, step = (all + SAMPLES) / (SAMPLES + 1);
    if (step <= 2)
        return {0, all};
    const auto sample = [&](int k) { return (k * FINISHERS + threadIdx.x + 1) * step - 1; };
    index_t offset[SAMPLES_AT_ONCE];
    fresh_offsets(p, offset, [&](int k) { return sample(k) < all ? sample(k) : 0; });
    uint32 below = 0; /* samples below the tile, and above 16 bits those below its end */
#pragma unroll
    for (int k = 0; k < SAMPLES_AT_ONCE; k++) {
        const uint64 at = sample(k) < all ? (uint64)offset[k] : ~0ull;
        below += __popc(__ballot_sync(ALL_LANES, at < t.low + REVERSE));
        below += __popc(__ballot_sync(ALL_LANES, at < t.low + t.count + REVERSE)) << 16;
    }
    if (threadIdx.x % WARP == 0)
        of_warps[threadIdx.x / WARP] = below;
    __syncthreads();
    below = 0;
#pragma unroll
    for (uint32 w = 0; w < FINISHERS / WARP; w++)
        below += of_warps[w];
    const uint32 end = ((below >> 16) + 1) * step;
    return {(below & 0xffff) * step, end < all ? end : all};
}

/* Marks the heads of the tile. */
inline void mark_tile(scratch &s, const scan_args &p, const tile &t) {
    index_t ends[2];
    if (threadIdx.x == 0)
        fresh_offsets(p, ends, [&](int k) { return k * p.segments; });
    for (uint32 v = threadIdx.x; FLAGS_HEADS && v < TILE / 16; v += FINISHERS)
        ((uint4 *)s.flags)[v] = uint4();
    for (uint32 w = threadIdx.x; !FLAGS_HEADS && w < HEAD_WORDS; w += FINISHERS)
        s.heads[0][w] = 0;
    const some_offsets some = offsets_of_tile(p, t);
    __syncthreads();
#pragma unroll 1
    for (uint32 first = some.from + threadIdx.x; first < some.to; first += OFFSETS_AT_ONCE * FINISHERS) {
        index_t offset[OFFSETS_AT_ONCE];
        fresh_offsets(p, offset, [&](int k) { return first + (first + k * FINISHERS < some.to ? k * FINISHERS : 0); });
#pragma unroll
        for (int k = 0; k < OFFSETS_AT_ONCE; k++) {
            const uint64 at = (uint64)offset[k] - REVERSE - t.low;
            if (at < t.count && FLAGS_HEADS)
                flag_shared(s.flags + at);
            else if (at < t.count)
                atomicOr(&s.heads[0][at / WARP], 1u << at % WARP);
        }
    }
    if (threadIdx.x == 0) {
        s.is_refused = 0;
        s.written_from = ends[0];
        s.written_to = ends[1];
    }
    __syncthreads();
    for (uint32 w = threadIdx.x; FLAGS_HEADS && w < HEAD_WORDS; w += FINISHERS) {
        const uint4 *vectors = (const uint4 *)s.flags + 2 * w;
        const auto word = [](uint32 flags) { return flags * 0x10204080 >> 28; }; /* moves four next to each other */
        const auto half = [&](const uint4 &v) { return word(v.x) | word(v.y) << 4 | word(v.z) << 8 | word(v.w) << 12; };
        s.heads[0][w] = w < TILE / WARP ? half(vectors[0]) | half(vectors[1]) << 16 : 0;
    }
}

/* Takes the heads of the tile from the bits that the launch before has made. */
inline void take_bits(scratch &s, const scan_args &p, const tile &t) {
    if (threadIdx.x == 0) {
        s.is_refused = *p.refused;
        s.written_from = load(p.offsets);
        s.written_to = load(p.offsets + p.segments);
    }
    for (uint32 w = threadIdx.x; w < HEAD_WORDS; w += FINISHERS)
        s.heads[0][w] = w * WARP < t.count ? p.bits[t.low / WARP + w] : 0;
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
        s.ready[0].init(FINISHERS);
        show_gates();
    }
#if IS_LOGSUMEXP
    prepare_terms(FINISHERS);
#endif
    __syncthreads();
    const tile t = tile_of_number(p, ordinal_of_block());
    fetch(s.tile[0], p.x, p.n, t.low, t.count, threadIdx.x, FINISHERS, &in_bulk);
#if HAS_SECOND
    fetch(s.second[0], p.y, p.n, t.low, t.count, threadIdx.x, FINISHERS, &in_bulk);
#endif
#if GROUPS == KEYS
    fetch(s.keys[0] + KEYS_FROM, p.keys + t.low, t.count, 0, t.count, threadIdx.x, FINISHERS, &in_bulk);
    if (threadIdx.x == 0)
        set_key_before(s, p, t, 0, load_key_before(p, t));
#endif
#if COPIES_IN_BULK
    if (threadIdx.x == 0) {
        arrive_and_expect(&s.full[0].word, in_bulk);
        fetch_in_bulk(s.tile[0], p.x, p.n, t.low, t.count, &s.full[0]);
#if HAS_SECOND
        fetch_in_bulk(s.second[0], p.y, p.n, t.low, t.count, &s.full[0]);
#endif
#if GROUPS == KEYS
        fetch_in_bulk(s.keys[0] + KEYS_FROM, p.keys + t.low, t.count, 0, t.count, &s.full[0]);
#endif
    } else
#endif
        s.full[0].arrive();
    acc_t base = identity_as<acc_t>();
    if (has_base)
        base = p.carry ? p.carry->read() : raise(load_fresh(p.initial));
#if GROUPS == SEGMENTS
    if (a.finders)
        mark_tile(s, p, t);
    wait_for_last(); /* the offsets are checked */
    if (!a.finders)
        take_bits(s, p, t);
    __syncthreads();
    if (threadIdx.x < a.finders) /* it arrives while the tile is added up */
        copy_vector<8>(s.found + threadIdx.x, a.found + threadIdx.x);
    else
        s.found[threadIdx.x] = 0;
    arrive_after_vectors(&s.ready[0]);
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
    if (a.finders && ordinal_of_block() == 0 && threadIdx.x == 0)
        tell_findings(s, a);
#endif
}
