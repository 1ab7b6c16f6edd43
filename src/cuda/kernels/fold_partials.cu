/* The second kernel of a reduction of rows: one block per result (partials.cu). */
extern "C" __global__ void __launch_bounds__(BLOCK) fold_partials(partials_args p SIZED) {
    TAKE_SIZE(p.to.count)
    wait_for_last();
    let_next_start();
    for (uint64 number = blockIdx.x; number < p.results; number += gridDim.x) {
        const acc_t acc = fold_block<BLOCK>(fold_share(p, number, threadIdx.x, BLOCK));
        if (threadIdx.x == 0)
            give(p.to, number, acc);
    }
}
