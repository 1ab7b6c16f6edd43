/* What the kernels of reductions by segments and keys and their caller tell each other. */
struct control {
    uint64 runs; /* of keys */
    uint64 not_bad, not_empty;
    uint32 refused; /* not 0: the offsets are bad, or the output too small; nothing is written */
    uint32 crowded; /* tiles that have left their empty segments to fold_cuts */
};

/* Parts of groups that reach beyond a chunk. */
struct cut {
    slot before; /* of the group that began in an earlier chunk and ends in this one */
    slot after;  /* of the group that goes on behind this chunk */
#if GROUPS == KEYS && NEEDS_START
    uint64 start; /* of that one, which began in this chunk */
    uint64 end;   /* of the other one */
#endif
};
static_assert(sizeof(cut) == CUT_BYTES);

struct groups_args {
    const in_t *x, *y;
    result_t *out;
    const index_t *index; /* offsets or keys */
    index_t *keys_out;
    uint64 n, segments;
    uint64 room;                 /* KEYS: results that the outputs hold */
    uint64 tiles, chunk, chunks; /* chunk: tiles that one block takes, one after the other */
    cut *cuts;                   /* a chunk */
    uint64 *of_tile;             /* SEGMENTS: the first that begins in it or after it; KEYS: what is found in it */
    control *told;
    uint32 check_before, check_while_running, refuses_empty;
    uint2 *entries; /* wave_runs.cu */
};

enum { NEAR = 8 /* chunks that one thread folds, where a group reaches over several */ };

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
    return (uint64)load(p.index + segment);
}
#endif
