/* The launch before a scan of segments: its offsets are checked and become bits (offset_bits.cu). */
extern "C" __global__ void __launch_bounds__(BLOCK) mark_offsets(offset_marks m, uint32 *refused, uint64 *where) {
    const findings f = look_and_mark_all(m, blockIdx.x * (uint64)BLOCK + threadIdx.x, gridDim.x * (uint64)BLOCK);
    tell(f, false, refused, where); /* an empty segment of a scan has no results */
}
