/* What the kernels of reductions by segments and keys tell each other and the host (tally_cuda_control of workspace.h).
 */
struct control {
    uint64 runs; /* of keys */
    uint64 not_bad, not_empty; /* the complement of the first bad and of the first empty segment, so that 0 is none */
    uint32 refused; /* not 0: the offsets are bad, or the output too small; nothing is written */
    uint32 crowded; /* how many tiles have left their empty segments to fold_cuts */
};

/* What a chunk has of groups that reach beyond it. */
struct cut {
    slot before; /* of the group that began in an earlier chunk and ends in this one */
    slot after;  /* of the group that goes on behind this chunk */
#if GROUPS == KEYS && NEEDS_START
    uint64 start; /* where the group that goes on has begun, if in this chunk */
    uint64 end;   /* where the one from before ends */
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
    cut *cuts;                   /* one for each chunk */
    uint64 *of_tile;             /* SEGMENTS: the first one that begins in the tile or after it; KEYS: see runs.cu */
    control *told;
    uint32 check_before, check_while_running, refuses_empty;
    uint2 *entries; /* wave_runs.cu */
};

enum { NEAR = 8 /* chunks that a group may reach over for one thread to fold what they have of it */ };

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
