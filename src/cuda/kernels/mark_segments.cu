/* The launch before warp_fold.cu: offsets are checked, chunks find their first one, and bits are made where there are
 * many. The first blocks search, the others look at offsets. */
extern "C" __global__ void __launch_bounds__(BLOCK) mark_segments(groups_args p) {
    const uint32 searching = (uint32)(p.chunks / BLOCK + 1);
    let_next_start();
    if (blockIdx.x < searching) {
        const uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x;
        if (k <= p.chunks)
            p.first[k] = first_from(p.index, p.segments + 1, k < p.chunks ? k * p.chunk * TILE : p.n);
        return;
    }
    const uint64 me = (blockIdx.x - searching) * (uint64)BLOCK + threadIdx.x;
    const findings f = look_and_mark_all({p.index, p.segments, p.n, p.bits}, me, (gridDim.x - searching) * (uint64)BLOCK);
    tell(f, p.refuses_empty, &p.told->refused, &p.told->not_bad);
    if (f.empty != NOT_FOUND)
        p.told->has_empty = 1;
}
