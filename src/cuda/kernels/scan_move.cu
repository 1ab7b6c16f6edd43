/* A scan's loaders and storer, which move tiles from memory to the ring and back. */

/* ---- loaders ---- */

/* The words of a tile's bits, rounded up to whole vectors: memory has bits up to the end of the last tile. */
inline int head_words(const tile &t) {
    return (t.count + 4 * WARP - 1) / (4 * WARP) * 4;
}

/* Each thread arrives for the bytes that it has stored itself. One arrival for its whole warp, after a __syncwarp, would
 * suffice by the memory model, but compute-sanitizer's racecheck does not know that. */
inline void bring_elements(scratch &s, const scan_args &p, const tile &t, int at) {
    gate *full = &s.full[at];
    uint32 in_bulk = 0;
    fetch(s.tile[at], p.x, p.n, t.low, t.count, threadIdx.x, LOADERS, &in_bulk);
#if HAS_SECOND
    fetch(s.second[at], p.y, p.n, t.low, t.count, threadIdx.x, LOADERS, &in_bulk);
#endif
#if GROUPS == KEYS
    fetch(s.keys[at] + KEYS_FROM, p.keys + t.low, t.count, 0, t.count, threadIdx.x, LOADERS, &in_bulk);
#endif
#if COPIES_IN_BULK
    if (threadIdx.x % WARP == 0) {
        arrive_and_expect(&full->word, in_bulk);
        fetch_in_bulk(s.tile[at], p.x, p.n, t.low, t.count, full);
#if HAS_SECOND
        fetch_in_bulk(s.second[at], p.y, p.n, t.low, t.count, full);
#endif
#if GROUPS == KEYS
        fetch_in_bulk(s.keys[at] + KEYS_FROM, p.keys + t.low, t.count, 0, t.count, full);
#endif
    } else
#endif
        full->arrive();
}

#if GROUPS == SEGMENTS
inline void bring_bits(scratch &s, const scan_args &p, const tile &t, int at) {
    gate *full = &s.full[at];
    uint32 in_bulk = 0;
    fetch((uint8 *)s.heads[at], p.bits + t.low / WARP, head_words(t), 0, head_words(t), threadIdx.x, LOADERS, &in_bulk);
#if COPIES_IN_BULK
    if (threadIdx.x % WARP == 0) {
        arrive_and_expect(&full->word, in_bulk);
        fetch_in_bulk((uint8 *)s.heads[at], p.bits + t.low / WARP, head_words(t), 0, head_words(t), full);
    } else
#endif
        full->arrive();
}
#endif

/* By segments, as many tiles as the ring holds are on their way while the launch before still marks the heads. */
inline void load_tiles(scratch &s, const scan_args &p, uint64 turns) {
    place here = {0, 0};
    int early = 0;
#if LOADS_EARLY
    for (; early < RING && early < turns; early++)
        bring_elements(s, p, tile_at(p, early), early);
    wait_for_last();
    if (*p.refused) { /* the other warps have left, but no copy may arrive in what another block then has */
        for (int at = 0; at < early; at++) {
            s.full[at].arrive();
            s.full[at].wait(0);
        }
        return;
    }
#endif
#if GROUPS == SEGMENTS
    if (threadIdx.x == 0) {
        s.written_from = load(p.offsets);
        s.written_to = load(p.offsets + p.segments);
    }
#endif
#if GROUPS == KEYS
    index_t next_key = turns ? load_key_before(p, tile_at(p, 0)) : index_t(0); /* else the block has no tile */
#endif
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        const tile t = tile_at(p, turn);
        s.empty[here.at].wait(here.parity ^ 1);
#if GROUPS == KEYS
        if (threadIdx.x == 0)
            set_key_before(s, p, t, here.at, next_key);
        if (turn + 1 < turns)
            next_key = load_key_before(p, tile_at(p, turn + 1));
#endif
        if (turn >= early)
            bring_elements(s, p, t, here.at);
#if GROUPS == SEGMENTS
        bring_bits(s, p, t, here.at);
#endif
    }
}

/* ---- storer ---- */

#if COPIES_IN_BULK
/* A place is freed when the next tile's copy has started, or, with AtOnce, when its own copy has read it: 1.04 to 1.05
 * times as fast for arrays of 7 to 64 columns, but up to 1% slower for other scans, on an H200; in a window it was
 * measured together with other changes only. */
template <bool AtOnce, class Scan> inline void store_tiles(scratch &s, const Scan &p, uint64 turns) {
    const int lane = threadIdx.x % WARP;
    const bool are_shifted = SHIFT && shift_of(p.out); /* by the same in all tiles */
    if (!are_shifted && lane != 0)
        return;
    place here = {0, 0}, last = {0, 0};
    for (uint64 turn = 0; turn < turns; turn++, here.advance()) {
        tile t = tile_at(p, turn);
        s.done[here.at].wait(here.parity);
        if (goes_in_bulk(p, t, is_whole(written_part(s, t), t))) {
            const uint64 begin = (uint64)(p.out + t.low), end = (uint64)(p.out + t.low + t.count);
            const uint8 *memory = s.tile[here.at] - (begin & ~15ull); /* the position of address 0 */
            uint64 first = begin + 15 & ~15ull, past = end & ~15ull;
            if (first > past)
                first = past = end;
            if (lane == 0 && first < past)
                copy_out((void *)first, memory + first, (uint32)(past - first));
            if (begin + lane < first)
                *(uint8 *)(begin + lane) = memory[begin + lane];
            if (past + lane < end)
                *(uint8 *)(past + lane) = memory[past + lane];
        }
        if (are_shifted)
            __syncwarp();
        if (lane == 0) {
            end_copies_out();
            if (turn > 0 || AtOnce) {
                wait_for_copies_out<AtOnce ? 0 : 1>();
                s.empty[last.at].arrive();
                last.advance();
            }
        }
        if (are_shifted) /* none polls the next gate while the first waits */
            __syncwarp();
    }
    if (lane == 0)
        wait_for_copies_out<0>();
}
#endif
