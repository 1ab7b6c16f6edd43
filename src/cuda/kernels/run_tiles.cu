/* Tiles of reductions by keys: of runs of neighbours whose keys are equal. */

/* Heads that are listed at a time: all, or where there are parts so few that they take little room. */
enum { LISTED = HAS_PARTS ? TILE / 8 : TILE };

struct runs_memory {
    uint32 have_heads[WARPS]; /* not 0: some of the words that the warp has read */
    uint64 before, all;       /* heads in earlier tiles, and in all tiles */
    uint32 heads_of[CLUSTER];
    uint32 ends; /* whether the last run ends where the tile does */
};
static_assert(IS_IN_PLACE || HAS_SUMS);

/* Where heads are in the tile. A kernel that does not list them has no memory for it. */
inline uint16 *listed_heads() {
    __shared__ uint16 at[LISTED];
    return at;
}

constexpr bool LISTS_ALWAYS = LOWERS_BY_EXTENT || HAS_SUMS;

#if HAS_SUMS
inline tile_sums &sums_of_tile() {
    __shared__ tile_sums sums;
    return sums;
}
#endif
/* As fold_tile(). */
inline acc_t fold_run_tile([[maybe_unused]] tile_memory &s, const tile &t, [[maybe_unused]] uint32 heads) {
#if HAS_SUMS
    add_up_tile(sums_of_tile(), t);
    return identity_as<acc_t>();
#else
    return fold_tile(s, t, heads);
#endif
}

/* Finds the tile's heads from its keys. All threads of the block call this, which ends with a barrier. */
inline void find_heads_of_tile(const groups_args &p, const tile &t, tile_memory &s, runs_memory &r) {
    enum { WORDS = HEAD_WORDS / WARPS /* a warp's */, AT_A_TIME = WORDS < WARP ? WORDS : WARP };
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll 1
    for (uint32 w = warp * WORDS; w < (warp + 1) * WORDS; w += AT_A_TIME) {
        const uint32 mine = find_heads<AT_A_TIME>(p, t.first + w * WARP);
        if (lane < AT_A_TIME)
            s.heads[w + lane] = mine;
    }
    if (threadIdx.x == BLOCK - 1)
        r.ends = t.first + t.count == p.n || is_head(p, t.first + t.count);
    __syncthreads();
}

/* Lists where heads are, from that number on. */
inline void list_heads(const tile_memory &s, uint32 from = 0) {
    const uint32 begin = threadIdx.x * ITEMS;
    item_bits bits = heads_of_thread(s);
    int number = (int)(rank_of(s, begin) - from);
    if (HAS_PARTS && (number >= (int)LISTED || number + (int)bits.count() <= 0))
        return;
#pragma unroll 1
    for (; bits.all(); bits.drop_first(), number++)
        if (!HAS_PARTS || (uint32)number < LISTED)
            listed_heads()[number] = (uint16)(begin + bits.first());
}

/* Whether the keys of so many heads are found faster by the heads' bits than by a list of them. */
inline bool are_dense(const index_t *from, const index_t *to, uint32 heads) {
    return heads > TILE / 8 && (HAS_PARTS || (is_aligned(from) && is_aligned(to)));
}

/* Writes the keys of the runs that begin in Words words of heads from 'begin' on, each lane those of its element of a
 * word. The warp is one of 'Warps'. */
template <uint32 Words, uint32 Warps>
inline void put_dense_keys(const tile_memory &s, const index_t *from, index_t *to, uint32 begin = 0) {
    enum { OF_WARP = Words / Warps, MOST = sizeof(index_t) > 4 ? 4 : 8, AT_A_TIME = OF_WARP < MOST ? OF_WARP : MOST };
    const uint32 lane = threadIdx.x % WARP, warp = begin + threadIdx.x / WARP % Warps;
    const bool are_aligned = is_aligned(from) && is_aligned(to);
#pragma unroll 1
    for (uint32 first = 0; first < OF_WARP; first += AT_A_TIME) {
        uint32 words[AT_A_TIME];
        index_t key[AT_A_TIME];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++) {
            const uint32 w = (first + j) * Warps + warp;
            words[j] = s.heads[w];
            if (words[j] >> lane & 1)
                key[j] = are_aligned ? from[w * WARP + lane] : load_slowly(from + w * WARP + lane);
        }
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            if (words[j] >> lane & 1) {
                index_t *const at = to + s.ranks[(first + j) * Warps + warp] + __popc(words[j] & ((1u << lane) - 1));
                if (are_aligned)
                    *at = key[j];
                else
                    store_slowly(at, key[j]);
            }
    }
}

/* Writes the keys of the runs that begin in the tile. */
inline void put_keys(const tile_memory &s, const index_t *from, index_t *to, uint32 heads) {
    enum { AT_A_TIME = 4 };
    if (are_dense(from, to, heads)) {
        put_dense_keys<HEAD_WORDS, WARPS>(s, from, to);
        return;
    }
    if (!is_aligned(from) || !is_aligned(to)) {
        for (uint32 k = threadIdx.x; k < heads; k += BLOCK)
            store_slowly(to + k, load_slowly(from + listed_heads()[k]));
        return;
    }
#pragma unroll 1
    for (uint32 k = threadIdx.x; k < heads; k += AT_A_TIME * BLOCK) {
        index_t key[AT_A_TIME];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            if (k + j * BLOCK < heads)
                key[j] = from[listed_heads()[k + j * BLOCK]];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            if (k + j * BLOCK < heads)
                to[k + j * BLOCK] = key[j];
    }
}

/* A tile's word. */
inline void tell_ends(const runs_memory &r, const groups_args &p, const tile &t, uint32 heads,
                      [[maybe_unused]] uint32 first_head, [[maybe_unused]] uint32 last_head) {
    const bool ends = heads ? first_head > 0 : r.ends;
#if NEEDS_START
    p.cuts[blockIdx.x].start = heads ? t.first + last_head : 0;
    p.cuts[blockIdx.x].end = t.first + first_head;
#endif
    const uint64 fresh = heads || ends ? FRESH : 0;
    p.heads[blockIdx.x] = (r.ends ? ENDS_WITH : 0) | fresh | (ends ? ENDS : 0) | (r.before + heads);
}

#if !HAS_PARTS
/* Writes the results of the runs that begin and end in the tile, which has so many heads. */
inline void put_runs(const runs_memory &r, const tile &t, uint32 heads, result_t *out) {
    const uint32 count = r.ends ? heads : heads - 1;
#if DIFFERENCES
    /* A warp has neighbouring runs, so that what is up to the end of one is what is up to the beginning of the next. */
    const uint32 lane = threadIdx.x % WARP, each = (count + BLOCK - 1) / BLOCK * WARP;
    const uint32 begin = threadIdx.x / WARP * each, end = begin + each < count ? begin + each : count;
    if (begin >= end)
        return;
    const tile_sums &sums = sums_of_tile();
    tile_sum before = sums.up_to(t, listed_heads()[begin]);
#pragma unroll 1
    for (uint32 some = begin; some < end; some += WARP) {
        const uint32 k = some + lane < end ? some + lane : end - 1;
        const uint32 first = listed_heads()[k], behind = k + 1 < heads ? listed_heads()[k + 1] : t.count;
        tile_sum sum = sums.up_to(t, behind);
        const tile_sum left = from_below(sum, 1), last = from_lane(sum, WARP - 1);
        sum.subtract(lane ? left : before);
        before = last;
        if (some + lane < end)
            put(out + k, sum.result(t, first, behind));
    }
#else
    for (uint32 k = threadIdx.x; k < count; k += BLOCK) {
        uint32 first = 0, behind = 0;
        if (LOWERS_BY_EXTENT) {
            first = listed_heads()[k];
            behind = k + 1 < heads ? listed_heads()[k + 1] : t.count;
        }
        put(out + k, result_of(*t.result(k), behind - first, t.first + first));
    }
#endif
}

/* By one thread. */
inline void keep_ends(const tile_memory &s, const runs_memory &r, const groups_args &p, const tile &t, uint32 heads,
                      const acc_t &whole) {
    cut &c = p.cuts[blockIdx.x];
#if DIFFERENCES
    const uint32 first_head = heads ? listed_heads()[0] : t.count, last_head = heads ? listed_heads()[heads - 1] : 0;
    const bool ends = heads ? first_head > 0 : r.ends;
    const auto part = [&](uint32 begin, uint32 end) {
        return sums_of_tile().between(t, begin, end).accumulator(t, end - begin);
    };
    if (ends)
        c.before.write(part(0, first_head));
    c.after.write((heads ? r.ends : ends) ? identity_as<acc_t>() : part(last_head, t.count));
#else
    [[maybe_unused]] const uint32 first_head = heads ? s.first_head : t.count, last_head = heads ? s.last_head : 0;
    const bool ends = heads ? first_head > 0 : r.ends;
    if (ends)
        c.before.write(heads ? *(const acc_t *)s.before : whole);
    if (heads && !r.ends)
        c.after.write(*(const acc_t *)s.after);
    else if (!heads && !ends)
        c.after.write(whole);
    else
        c.after.write(identity_as<acc_t>());
#endif
    tell_ends(r, p, t, heads, first_head, last_head);
}

/* What a tile gives, when everything in it is folded: 'whole' if it has no head. Results go to 'out'. */
inline void put_tile(const tile_memory &s, runs_memory &r, const groups_args &p, const tile &t, uint32 heads,
                     const acc_t &whole, result_t *out) {
    if (heads)
        put_runs(r, t, heads, out);
    if (threadIdx.x == 0)
        keep_ends(s, r, p, t, heads, whole);
}
#else
/* The same: a tile's groups are what lies before its first head, and what begins with each. Lanes share them. */
inline void put_tile(const tile_memory &s, runs_memory &r, const groups_args &p, const tile &t, uint32 heads,
                     const acc_t &, result_t *out) {
    cut &c = p.cuts[blockIdx.x];
    enum { FEW = 4 /* elements of each run of a warp, taken one by one */ };
    const sharing shared(heads + 1);
    [[maybe_unused]] const uint32 first_head = heads ? listed_heads()[0] : t.count;
    uint32 listed = 0, last = 0; /* heads before those in the list, and the last of them */
#pragma unroll 1
    while (true) {
        const uint32 end = heads - listed < LISTED ? heads + 1 : listed + LISTED;
#pragma unroll 1
        for (uint32 k = listed + shared.group(); k - shared.group_in_warp() < end; k += shared.step()) {
            const bool is_there = k < end;
            const uint32 begin = k == listed ? last : is_there ? listed_heads()[k - 1 - listed] : 0;
            const uint32 behind = !is_there ? begin : k < heads ? listed_heads()[k - listed] : t.count;
            const bool are_few = shared.lanes() == 1 && __all_sync(ALL_LANES, behind - begin <= FEW);
            const tile_sum sum = are_few ? sums_of_tile().of_few(t, begin, behind)
                                         : sums_of_tile().of_lanes(t, begin, behind, shared.me(), shared.lanes());
            const bool goes_on = k == heads && !r.ends;
            if (!is_there || shared.me())
                continue;
            if (goes_on || k == 0)
                (goes_on ? c.after : c.before).write(sum.accumulator(t, behind - begin));
            else
                put(out + k - 1, sum.result(t, begin, behind));
        }
        if (end > heads)
            break;
        last = listed_heads()[LISTED - 1];
        listed = end;
        __syncthreads();
        list_heads(s, listed);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        if (r.ends)
            c.after.write(identity_as<acc_t>());
        tell_ends(r, p, t, heads, first_head, heads > listed ? listed_heads()[heads - 1 - listed] : last);
    }
}
#endif
