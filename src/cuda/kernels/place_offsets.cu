/* Of each tile, in physical order, and of what follows them: the least of the segments' offsets that makes a head there
 * or later. */
extern "C" __global__ void __launch_bounds__(BLOCK) place_offsets(const index_t *offsets, uint64 segments, uint64 n,
                                                                  uint64 tile, uint64 tiles, uint64 *first_offset,
                                                                  const uint32 *refused) {
    if (*refused)
        return;
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; k <= tiles; k += gridDim.x * (uint64)BLOCK) {
        uint64 position = (k < tiles ? k * tile : n) + REVERSE, low = 0, high = segments + 1;
        while (low < high) {
            uint64 middle = (low + high) / 2;
            if ((uint64)load(offsets + middle) >= position)
                high = middle;
            else
                low = middle + 1;
        }
        first_offset[k] = low;
    }
}
