/* The offsets of some of the segments, counted from the first element of these; and whether they are right. Each part of a
 * run on several GPUs has its own. */
extern "C" __global__ void __launch_bounds__(BLOCK) rebase_offsets(rebase_args p) {
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i <= p.segments; i += gridDim.x * (uint64)BLOCK) {
        const index_t offset = load(p.offsets + i), next = i < p.segments ? load(p.offsets + i + 1) : offset;
        p.rebased[i] = (index_t)(offset - (index_t)p.base);
        if (offset > next || (uint64)offset < p.base || (uint64)next > p.end)
            atomicOr(p.refused, (uint32)1);
        if (p.refuses_empty && i < p.segments && offset == next)
            atomicOr(p.refused, (uint32)1);
    }
}
