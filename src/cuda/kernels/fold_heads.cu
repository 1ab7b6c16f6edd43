/* The fold of a tile whose elements and heads are in shared memory. */

/* Folds a tile that has heads, 'all' of them. results[k] becomes what is kept of the group that the k-th head begins, as
 * far as it lies in the tile. All threads of the block call this; the tile's ends are known after the next barrier. */
inline void fold_heads(tile_memory &s, const tile &t, uint32 all) {
    tile results = t;
    results.results = stays_in_shared(t.results);
    const uint32 begin = threadIdx.x * ITEMS;
    item_bits mine = heads_of_thread(s);
    if (t.count < TILE && t.count / ITEMS == threadIdx.x) /* what lies behind the input is a group, too */
        mine.add(t.count % ITEMS);
    const uint32 rank = rank_of(s, begin);
    thread_items items;
    items.read(t);
    if (IS_IN_PLACE)
        __syncthreads(); /* results may take the place of the elements */

    brief<tile_lane> run, first;
    const bool has_heads = mine.all() != 0;
    const uint32 earliest = has_heads ? mine.first() : 0, number = rank + mine.count();
    uint32 start = 0;
    int to = ((int)rank - 1) * (int)sizeof(kept_t); /* in bytes; what the thread's first head ends is stored again when it is whole */
#if IS_LOGSUMEXP
    static_assert(FOLD_STAGED && !NEEDS_START);
    const tile_lane last = add_exponentials(items, mine, [&](const tile_lane &ended) {
        *results.result_at(to) = widen(ended);
        to += sizeof(kept_t);
    });
    run = brief<tile_lane>(last);
#else
    constexpr int STEPS = sizeof(acc_t) > 32 ? 1 : ITEMS < 4 ? ITEMS : 4; /* for which a warp asks once */
    constexpr int UNROLLED = sizeof(acc_t) <= 32 ? ITEMS : 1;
    constexpr bool WITHOUT_BRANCH = LOWERS_CHEAPLY || (FOLD_STAGED && !FOLD_SPREADS);
    item_bits any;
    any.low = or_lanes(mine.low);
    if (item_bits::WORDS > 1)
        any.high = or_lanes(mine.high);
    auto step = [&](int k, bool is_head) {
        if (WITHOUT_BRANCH) { /* which most steps of a warp would take */
            if (is_head) {
                *results.result_at(to) = kept(t, run.sum(), start, begin + k);
                to += sizeof(kept_t);
            }
            if (!KEEPS_ALL)
                first = is_head && earliest == k ? run : first;
            start = NEEDS_START && is_head ? begin + k : start;
        } else if (is_head) {
            if (earliest == k)
                first = run;
            else
#if MOMENTS == 2 && !FOLD_STAGED
                *results.result_at(to) = run.result(0);
#else
                *results.result_at(to) = kept(t, run.sum(), start, begin + k);
#endif
            to += sizeof(kept_t);
            start = begin + k;
            run = {};
        }
        items.add_to(run, t, k, WITHOUT_BRANCH && (is_head || k == 0));
    };
#pragma unroll UNROLLED
    for (int k = 0; k < ITEMS; k += STEPS) {
        if (any.has_some(k, STEPS)) {
#pragma unroll
            for (int j = 0; j < STEPS; j++)
                step(k + j, mine.has(k + j));
        } else {
#pragma unroll
            for (int j = 0; j < STEPS; j++)
                step(k + j, false);
        }
    }
#endif
    start = has_heads ? begin + mine.last() : 0;

    const joined j = join(s.joins, has_heads, widen_in(t, run.sum()));
    if (has_heads) {
        const acc_t ended = combine(j.before, KEEPS_ALL ? restored(*t.result((int)rank - 1)) : widen_in(t, first.sum()));
        const uint32 head = begin + earliest;
        if (rank) {
            *t.result((int)rank - 1) = kept(t, ended, NEEDS_START ? head_before(s, begin) : 0, head);
        } else {
            *(acc_t *)s.before = ended;
            s.first_head = head;
        }
        if (number == all)
            s.last_head = start;
    }
    if (threadIdx.x == BLOCK - 1) {
        const acc_t acc = j.since();
        *(acc_t *)s.after = acc;
        if (t.count == TILE)
            *t.result(all - 1) = kept(t, acc, NEEDS_START ? head_before(s, TILE) : 0, TILE);
    }
}

/* Folds a tile. If it has no head, its accumulator is returned. All threads of the block call this; the rest is known
 * after the next barrier. */
inline acc_t fold_tile(tile_memory &s, const tile &t, uint32 heads) {
#if IS_LOGSUMEXP
    make_powers_of_integers();
    if (!IS_FLOAT)
        __syncthreads();
#endif
    if (!heads) {
#if IS_LOGSUMEXP
        if (t.count == TILE) {
            thread_items items;
            items.read(t);
            return fold_block<BLOCK>(widen(add_exponentials(items, item_bits(), [](const tile_lane &) {})));
        }
#endif
        return fold_whole(t);
    }
    fold_heads(s, t, heads);
    return identity_as<acc_t>();
}
