/* Folds the accumulators of a warp in their order; its first lane has the result. Lanes from 'Lanes' on have none. */
template <int Lanes = WARP> inline acc_t fold_warp_in_order(acc_t acc) {
#if IS_LOGSUMEXP
    const auto own = acc.a0;
#pragma unroll
    for (int d = 1; d < Lanes; d *= 2)
        acc.a0 = larger(acc.a0, from_across(acc.a0, d));
    acc.a1 = own == acc.a0 ? acc.a1 : acc.a1 * exp_below(own - acc.a0); /* one exponential, and not one for each step */
#pragma unroll
    for (int d = 1; d < Lanes; d *= 2)
        acc.a1 += from_across(acc.a1, d);
#elif MOMENTS == 2
    /* Sums of distances from a mean of one lane, and then of squares of those from the mean of all, with one division
     * and not one for each step. Distances are halved and numbers of elements scaled, so that neither differences of
     * finite numbers overflow nor products with their number. */
    const uint32 there = __ballot_sync(ALL_LANES, acc.a0 > 0);
    const double reference = from_lane(acc.a1, there ? __ffs(there) - 1 : 0);
    const double distance = acc.a0 > 0 ? 0.5 * acc.a1 - 0.5 * reference + 0.5 * acc.a2 : 0; /* half of it */
    double count = acc.a0, distances = acc.a0 * 0x1p-64 * distance;
#pragma unroll
    for (int d = 1; d < Lanes; d *= 2) {
        count += from_across(count, d);
        distances += from_across(distances, d);
    }
    const double mean = distances * (reciprocal(count > 0 ? count : 1) * 0x1p64), away = distance - mean;
    const bool stays = !__all_sync(ALL_LANES, IS_FINITE(acc.a3)); /* infinite or NaN, whatever the means are */
    acc.a3 += acc.a0 > 0 && !stays ? 4 * acc.a0 * away * away : 0;
#pragma unroll
    for (int d = 1; d < Lanes; d *= 2)
        acc.a3 += from_across(acc.a3, d);
    acc.a0 = count;
    acc.a1 = reference;
    acc.a2 = 2 * mean;
#else
#pragma unroll IS_LARGE ? 1 : 5
    for (int d = 1; d < Lanes; d *= 2) {
        acc_t next = from_above(acc, d);
        if ((threadIdx.x % WARP & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
#endif
    return acc;
}

/* Folds the accumulators of a block's threads in their order; thread 0 has the result. */
template <int Threads = BLOCK> inline acc_t fold_block(acc_t acc) {
    __shared__ alignas(16) uint8 memory[Threads / WARP * sizeof(acc_t)];
    acc_t *of_warp = (acc_t *)memory;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    acc = fold_warp_in_order(acc);
    __syncthreads(); /* earlier use of the memory */
    if (lane == 0)
        of_warp[warp] = acc;
    __syncthreads();
    /* One thread goes over the warps. With a tree in the first warp instead, the compiler no longer recognised that the
     * loop of loads before it is the same for all threads of a warp. Sums of 2^28 f32 took 0.98 of CUB's time on an
     * H200 this way and 1.01 with the tree, in different runs. */
    if (!COMBINES_SLOWLY && threadIdx.x == 0)
        for (int w = 1; w < Threads / WARP; w++)
            acc = combine(acc, of_warp[w]);
    if (COMBINES_SLOWLY && warp == 0)
        acc = fold_warp_in_order<Threads / WARP>(lane < Threads / WARP ? of_warp[lane] : identity_as<acc_t>());
    return acc;
}
