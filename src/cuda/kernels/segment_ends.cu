/* The parts that fold_segments.cu leaves to fold_cuts.cu. */

enum { ENDS_STAND = 1 }; /* for fold_cuts.cu: groups' ends are known before the folds are done */

/* The group that began in an earlier tile and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the tile that it began in */
};

inline bool find_ending(const groups_args &p, uint64 number, ending *e) {
    const uint64 low = number << p.tile_bits;
    /* If all tiles are speculative, this may run before the launch that finds their segments has ended. */
    const uint64 from = p.speculative >= p.tiles ? first_from(p.offsets, p.segments, low) : p.first[number];
    if (!from)
        return false;
    e->group = from - 1;
    e->start = begin_of(p, from - 1);
    const uint64 end = begin_of(p, from);
    e->count = end - e->start;
    e->first = e->start >> p.tile_bits;
    return end > low && end - low <= 1ull << p.tile_bits && end <= p.n && e->start < low;
}

/* The work that tiles have left: reporting bad offsets, and the results of empty segments if there are too many. */
inline void finish_crowds(const groups_args &p) {
    if (!p.told->crowded)
        return;
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    if (p.check_while_running)
        tell(look_at_all(p.offsets, p.segments, p.n), false, &p.told->refused, &p.told->not_bad);
    for (uint64 g = me; g < p.segments; g += stride)
        if (begin_of(p, g) == begin_of(p, g + 1))
            store(p.out + g, lower(identity_as<acc_t>(), 0, 0));
}
