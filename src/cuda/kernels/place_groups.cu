/* The launch before fold_segments.cu: checks the offsets, unless that is done while running, and finds the first segment
 * of each tile. */
extern "C" __global__ void __launch_bounds__(BLOCK) place_groups(groups_args p) {
    if (p.check_before)
        tell(look_at_all(p.index, p.segments, p.n), p.refuses_empty, &p.told->refused, &p.told->not_bad);
    else if (blockIdx.x == 0 && threadIdx.x == 0 &&
             (begin_of(p, p.segments) > p.n || load(p.index + p.segments - 1) > load(p.index + p.segments)))
        p.told->crowded = 1; /* the tiles look at where segments begin, not at where the last one ends */
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < p.tiles; k += gridDim.x * (uint64)BLOCK)
        p.of_tile[k] = first_from(p.index, p.segments, k * TILE);
}
