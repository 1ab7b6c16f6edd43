/* The size where it lies on the device (TALLY_SIZE_ON_DEVICE): the number of elements, of rows' elements, or of segments.
 * A run's kernels take its address after their arguments: "kernel(args p SIZED)". With TAKE_SIZE it takes the place of
 * the largest one, for which the host has cut the work. TAKE_SEGMENTS ends the elements with the last segment, too, and
 * TAKE_ROWS with the last row. All threads return if they may write nothing. */
#if SIZE_ON_DEVICE
#define SIZED , const uint64 *size_at
#define HAS_SIZE(most) take_size(&most, size_at)
#define TAKE_SIZE(most)                                                                                                \
    if (!HAS_SIZE(most))                                                                                               \
        return;
#define TAKE_SEGMENTS(offsets, segments, elements)                                                                     \
    if (!take_segments(offsets, &segments, &elements, size_at))                                                        \
        return;
#define TAKE_ROWS(elements, extent)                                                                                    \
    if (!take_rows(&elements, &extent, size_at))                                                                       \
        return;
inline bool take_size(uint64 *most, const uint64 *size_at) {
    const uint64 size = *size_at;
    if (size > *most || (NOTHING_IS_EMPTY && !size))
        return false;
    *most = size;
    return true;
}
inline bool take_rows(uint64 *elements, uint64 *extent, const uint64 *size_at) {
    const uint64 rows = *elements / *extent;
    if (!take_size(extent, size_at))
        return false;
    *elements = rows * *extent;
    return true;
}
template <class Index>
inline bool take_segments(const Index *offsets, uint64 *segments, uint64 *elements, const uint64 *size_at) {
    if (!take_size(segments, size_at))
        return false;
    const uint64 end = (uint64)load(offsets + *segments);
    *elements = end < *elements ? end : *elements; /* an end past them is found to be bad */
    return true;
}
#else
#define SIZED
#define HAS_SIZE(most) true
#define TAKE_SIZE(most)
#define TAKE_SEGMENTS(offsets, segments, elements)
#define TAKE_ROWS(elements, extent)
#endif
#if GROUPS == SEGMENTS
#define TAKE_GROUPS(p) TAKE_SEGMENTS(p.offsets, p.segments, p.n)
#elif GROUPS == ROWS
#define TAKE_GROUPS(p) TAKE_ROWS(p.n, p.extent)
#else
#define TAKE_GROUPS(p) TAKE_SIZE(p.n)
#endif

/* Reductions by segments and keys have tiles for the elements that there are. */
#if SIZE_ON_DEVICE
#define TAKE_TILES(p)                                                                                                  \
    TAKE_GROUPS(p)                                                                                                     \
    p.tiles = p.chunks = p.n ? (p.n + FOLD_TILE - 1) / FOLD_TILE : 1;
#else
#define TAKE_TILES(p)
#endif
