/* The parts that fold_segments.cu leaves to fold_cuts.cu. */

/* The group that began in an earlier tile and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the tile that it began in */
};

inline bool find_ending(const groups_args &p, uint64 number, ending *e) {
    const uint64 low = number << p.tile_bits;
    uint64 next, start, end;
    if (ends_stand(p)) {
        next = p.first[number];
        start = begin_of(p, next - (next != 0));
        end = begin_of(p, next);
    } else {
        next = load_ahead(&p.cuts[number].next);
        start = load_ahead(&p.cuts[number].start);
        end = load_ahead(&p.cuts[number].end);
    }
    *e = {next - 1, start, end - start, start >> p.tile_bits};
    return next && end > low && end - low <= 1ull << p.tile_bits && end <= p.n && start < low;
}

/* The work that tiles have left: reporting bad offsets, and the results of empty segments if there are too many. */
inline void finish_crowds(const groups_args &p) {
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    if (p.check_while_running)
        tell(look_at_all(p.offsets, p.segments, p.n), false, &p.told->refused, &p.told->not_bad);
    for (uint64 g = me; g < p.segments; g += stride)
        if (begin_of(p, g) == begin_of(p, g + 1))
            store(p.out + g, lower(identity_as<acc_t>(), 0, 0));
}
