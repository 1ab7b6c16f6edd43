/* Folds what the first 'Lanes' lanes of a warp have, in their order; lane 0 has the result. */
template <int Lanes> inline acc_t fold_warp_in_order(acc_t acc) {
#pragma unroll
    for (int d = 1; d < Lanes; d *= 2) {
        acc_t next = from_above(acc, d);
        if ((threadIdx.x % WARP & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return acc;
}

/* Folds the accumulators of a block's threads in their order; thread 0 has the result. */
template <int Threads = BLOCK> inline acc_t fold_block(acc_t acc) {
    __shared__ alignas(16) uint8 memory[Threads / WARP * sizeof(acc_t)];
    acc_t *of_warp = (acc_t *)memory;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    acc = fold_warp_in_order<WARP>(acc);
    __syncthreads(); /* earlier use of the memory */
    if (lane == 0)
        of_warp[warp] = acc;
    __syncthreads();
    if (warp == 0) {
        acc = lane < Threads / WARP ? of_warp[lane] : identity_as<acc_t>();
        acc = fold_warp_in_order<Threads / WARP>(acc);
    }
    return acc;
}
