/* Where groups begin and end: segments by the caller's offsets, runs of keys by those that list_runs.cu has left. */

#if GROUPS == KEYS
inline const uint64 *offsets_of(const group_offsets &g) {
    return g.starts;
}
inline uint64 groups_of(const group_offsets &g) {
    return g.told->runs;
}
#else
inline const index_t *offsets_of(const group_offsets &g) {
    return g.offsets;
}
inline uint64 groups_of(const group_offsets &g) {
    return g.segments;
}
#endif
inline uint64 begin_of(const group_offsets &g, uint64 group) {
    return (uint64)load(offsets_of(g) + group);
}
