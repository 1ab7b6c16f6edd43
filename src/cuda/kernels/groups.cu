/* Shared by reductions by segments and by keys. */

/* A chunk's parts of groups that cross its ends. */
struct cut {
    slot before; /* of the group that began in an earlier chunk and ends in this one */
    slot after;  /* of the group that continues after this chunk */
#if GROUPS == KEYS && NEEDS_START
    uint64 start; /* the beginning of the group that continues, if in this chunk */
    uint64 end;   /* the end of the group from before */
#endif
};
static_assert(sizeof(cut) == CUT_BYTES);

enum { NEAR = 8 /* chunks that a group may cross for one thread to fold their parts */ };

/* ---- memory ---- */

template <class T> __noinline__ T load_slowly(const T *from) {
    return load(from);
}
template <class T> __noinline__ void store_slowly(T *to, T value) {
    store(to, value);
}
template <class T> inline bool is_aligned(const T *at) {
    return ((uint64)at & (sizeof(T) - 1)) == 0;
}
inline void put(result_t *to, result_t result) {
    if (is_aligned(to))
        *to = result;
    else
        store_slowly(to, result);
}

#if GROUPS == SEGMENTS
inline uint64 begin_of(const groups_args &p, uint64 segment) {
    return (uint64)load(p.offsets + segment);
}
#endif
