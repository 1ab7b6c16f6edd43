/* Clears a part of the workspace. Unlike a memset it starts early, and so does what follows. */
extern "C" __global__ void __launch_bounds__(BLOCK) clear_words(clear_words_args p) {
    wait_for_last();
    let_next_start();
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k < p.count; k += gridDim.x * (uint64)BLOCK)
        p.words[k] = 0;
}
