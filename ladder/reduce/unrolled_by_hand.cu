/* unrolled-by-hand: the stages are written out one by one. The compiler knows BLOCK and removes the stages that it does
 * not need.
 *
 * Removes: the loop: strides become constants in the instructions.
 * Left: a barrier after each stage, even when only one warp still works.
 * Look at: instructions per warp: if unrolled-by-pragma has as many, the compiler did the same by itself. */
template <unsigned stride> inline void add_from(value *partial, value &own) {
    if (stride < BLOCK) {
        if (threadIdx.x < stride) {
            own += partial[threadIdx.x + stride];
            partial[threadIdx.x] = own;
        }
        __syncthreads();
    }
}

extern "C" __global__ void reduce(const value *x, value *sum, uint64 n) {
    __shared__ value partial[BLOCK];
    value own = element_or(x, global_thread(), n, 0);
    partial[threadIdx.x] = own;
    __syncthreads();
    add_from<512>(partial, own);
    add_from<256>(partial, own);
    add_from<128>(partial, own);
    add_from<64>(partial, own);
    add_from<32>(partial, own);
    add_from<16>(partial, own);
    add_from<8>(partial, own);
    add_from<4>(partial, own);
    add_from<2>(partial, own);
    add_from<1>(partial, own);
    if (threadIdx.x == 0)
        add_block(sum, own);
}
