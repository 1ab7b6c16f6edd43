/* The offsets of some of the segments, counted from an element near the first of these; and whether they are right. Each
 * part of a run on several GPUs has its own. */
extern "C" __global__ void __launch_bounds__(BLOCK) rebase_offsets(rebase_args p) {
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i <= p.segments; i += gridDim.x * (uint64)BLOCK) {
        const index_t offset = load(p.offsets + i), next = i < p.segments ? load(p.offsets + i + 1) : offset;
        p.rebased[i] = (index_t)(offset - (index_t)p.base);
        const bool is_bad = offset > next || (uint64)offset < p.base || (uint64)next > p.end;
        if (is_bad || (p.refuses_empty && i < p.segments && offset == next))
            *p.refused = 1; /* of several GPUs, without an atomic: all write the same */
    }
}

/* One thread, when all parts have rebased: offsets that are wrong in any part become wrong in this one, whose reduction
 * or scan then writes nothing. So the host need not look in between. */
extern "C" __global__ void spread_refusal(rebase_args p) {
    if (*p.refused)
        p.rebased[0] = (index_t)-1;
}
