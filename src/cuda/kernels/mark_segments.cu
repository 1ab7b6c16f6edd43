/* The launch before warp_fold.cu: it checks offsets, finds the chunks' first offsets, and makes bits if there are many
 * segments. The first blocks search, the others read offsets. */

enum { SEARCHERS = 8 };

/* As first_from, by SEARCHERS neighbouring lanes, all of which get the number: they look at as many offsets at a time.
 * A thread by itself waits for memory twenty times in a million offsets. All lanes of a warp call this. */
inline uint64 first_from_together(const index_t *offsets, uint64 segments, uint64 position) {
    const uint32 lane = lane_number() % SEARCHERS, group = lane_number() / SEARCHERS * SEARCHERS;
    uint64 low = 0, high = segments;
    while (__ballot_sync(ALL_LANES, low < high)) {
        const uint64 left = high - low, step = left / (SEARCHERS + 1);
        const uint64 at = step ? low + (lane + 1) * step : low + lane; /* the last few are all looked at */
        const bool is_before = at < high && (uint64)load(offsets + at) < position;
        const uint32 before = __popc(__ballot_sync(ALL_LANES, is_before) >> group & ((1u << SEARCHERS) - 1));
        if (step) {
            high = before < SEARCHERS ? low + (before + 1) * step : high;
            low = before ? low + before * step + 1 : low;
        } else {
            low = low + before;
            high = low;
        }
    }
    return low;
}

/* Searches. False for the threads of the other blocks, of which this is number *me of *stride. */
inline bool search_chunks(const groups_args &p, uint64 *me, uint64 *stride) {
    const uint32 lanes = p.searchers;
    const uint32 searching = (uint32)(p.chunks * lanes / BLOCK + 1);
    *me = (blockIdx.x - searching) * (uint64)BLOCK + threadIdx.x;
    *stride = (gridDim.x - searching) * (uint64)BLOCK;
    if (blockIdx.x >= searching)
        return false;
    const uint32 k = (blockIdx.x * BLOCK + threadIdx.x) / lanes;
    const uint64 position = k < p.chunks ? k * p.chunk * TILE : p.n;
    const uint64 first = lanes == 1 ? first_from(p.offsets, p.segments + 1, position)
                                    : first_from_together(p.offsets, p.segments + 1, position);
    if (k <= p.chunks && threadIdx.x % lanes == 0)
        p.first[k] = first;
    return true;
}

inline void tell_findings(const groups_args &p, const findings &f) {
    tell(f, p.refuses_empty, &p.told->refused, &p.told->not_bad);
    if (f.empty != NOT_FOUND)
        p.told->has_empty = 1;
}

/* If there are no bits, or too many elements for mark_words: then the bits are zero. */
extern "C" __global__ void __launch_bounds__(BLOCK) mark_segments(groups_args p) {
    uint64 me, stride;
    let_next_start();
    if (!search_chunks(p, &me, &stride))
        tell_findings(p, look_and_mark_all({p.offsets, p.segments, p.n, p.bits}, me, stride));
}

/* A kernel of its own: when it was one with the kernel above, which has no shared memory, and started early, sums of
 * segments of 256 took 1.01 times as long on an H200. */
extern "C" __global__ void __launch_bounds__(BLOCK) mark_words(groups_args p) {
    uint64 me, stride;
    wait_for_last();
    let_next_start();
    if (!search_chunks(p, &me, &stride))
        tell_findings(p, p.segments > p.n / CLOSER ? look_and_own<true>(p, me, stride)
                                                   : look_and_own<false>(p, me, stride));
}
