/* The launch before an exact reduction by segments. */
extern "C" __global__ void __launch_bounds__(BLOCK) check_segments(const index_t *offsets, uint64 segments, uint64 n,
                                                                   uint32 refuses_empty, uint32 *refused,
                                                                   uint64 *where) {
    tell(look_at_all(offsets, segments, n), refuses_empty, refused, where);
}
