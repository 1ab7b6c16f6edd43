/* The first launch of a reduction by segments. The next one starts early, which it could not after a memset. */
extern "C" __global__ void __launch_bounds__(BLOCK) clear_control(groups_args p) {
    let_next_start();
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    if (me == 0)
        *p.told = control();
    for (uint64 k = me; p.bits && k <= p.tiles * (MERGED_TILE / WARP) / 4; k += stride) /* merged_segments.cu */
        ((uint4 *)p.bits)[k] = uint4();
}
