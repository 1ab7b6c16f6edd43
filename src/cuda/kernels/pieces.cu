/* What input in pieces needs besides the kernels of reductions: the accumulators of nothing that the first piece is
 * added to, and in the end the results of the accumulators. */
extern "C" __global__ void __launch_bounds__(BLOCK) clear_totals(slot *totals, const out_t *initial, uint64 count) {
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < count; i += gridDim.x * (uint64)BLOCK)
        totals[i].write(initial ? raise(load(initial)) : identity_as<acc_t>());
}

extern "C" __global__ void __launch_bounds__(BLOCK) lower_totals(const slot *totals, uint64 count, uint64 elements,
                                                               result_t *out) {
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < count; i += gridDim.x * (uint64)BLOCK)
        store(out + i, lower(totals[i].read(), elements, 0));
}
