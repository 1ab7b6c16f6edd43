/* The end of a reverse scan of argmin or argmax by segments or keys. A scan from the end does not know where a group begins
 * in time, so its indices count from the first element of all. Here each one is counted from its group's. By keys the
 * runs' offsets are there. A warp takes neighbouring elements, whose groups lie close together. */
/* The last group in [low, high) that begins at 'element' or before it; low if there is none. */
inline uint64 last_up_to(const places_args &p, uint64 low, uint64 high, uint64 element) {
    while (high - low > 1) {
        const uint64 middle = low + (high - low) / 2;
        if (begin_of(p.groups, middle) <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void __launch_bounds__(BLOCK) count_places(places_args p SIZED) {
#if GROUPS == SEGMENTS
    TAKE_SEGMENTS(p.groups.offsets, p.groups.segments, p.n)
#else
    TAKE_SIZE(p.n)
#endif
    if (p.groups.told->refused)
        return;
    const uint64 groups = groups_of(p.groups), warps = gridDim.x * (uint64)(BLOCK / WARP);
    for (uint64 c = (blockIdx.x * (uint64)BLOCK + threadIdx.x) / WARP; c * PLACES_OF_WARP < p.n; c += warps) {
        const uint64 first = c * PLACES_OF_WARP, end = p.n - first < PLACES_OF_WARP ? p.n : first + PLACES_OF_WARP;
        const uint64 next = first_by_warp(offsets_of(p.groups), groups, first + 1);
        const uint64 low = next ? next - 1 : 0, high = first_by_warp(offsets_of(p.groups), groups, end);
        for (uint64 i = first + threadIdx.x % WARP; i < end && high; i += WARP) {
            const uint64 group = last_up_to(p, low, high, i);
            const uint64 begin = begin_of(p.groups, group);
            if (i >= begin && i < begin_of(p.groups, group + 1))
                store(p.out + i, output<out_t>::of(p.places[i] < 0 ? -1ll : p.places[i] - (int64)begin));
        }
    }
}
