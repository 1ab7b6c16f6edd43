/* The parts that warp_fold.cu leaves to fold_cuts.cu, which treats the elements after the chunks as one more chunk. */

/* The launch before the folds has already found where groups end. */
enum { ENDS_STAND = 1 };

/* The segment that began in an earlier chunk and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the chunk that it began in */
};

inline bool find_ending(const groups_args &p, uint64 chunk, ending *e) {
    const uint64 from = p.first[chunk];
    if (!from || from > p.segments || (chunk + 1 < p.chunks && p.first[chunk + 1] == from))
        return false;
    e->group = from - 1;
    e->start = begin_of(p, from - 1);
    e->count = begin_of(p, from) - e->start;
    e->first = e->start / TILE / p.chunk;
    return true;
}

/* The results of empty segments: of those behind the last element, and of all if a tile has had too many. */
inline void finish_crowds(const groups_args &p) {
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    for (uint64 g = (p.told->crowded ? 0 : p.first[p.chunks - 1]) + me; g < p.segments; g += stride)
        if (begin_of(p, g) == begin_of(p, g + 1))
            store(p.out + g, lower(identity_as<acc_t>(), 0, 0));
}
