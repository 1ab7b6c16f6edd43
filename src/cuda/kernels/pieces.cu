/* Further kernels for input in pieces: they set the accumulators that the first piece is added to, and at the end
 * compute the results of the accumulators. */
inline void clear_all(const clear_args &p) {
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < p.count; i += gridDim.x * (uint64)BLOCK)
        p.totals[i].write(p.initial ? raise(load(p.initial)) : identity_as<acc_t>());
}

inline void lower_all(const lower_args &p) {
    for (uint64 i = blockIdx.x * (uint64)BLOCK + threadIdx.x; i < p.count; i += gridDim.x * (uint64)BLOCK)
        store(p.out + i, lower(p.totals[i].read(), p.elements, 0));
}
