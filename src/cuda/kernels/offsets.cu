/* What is wrong with offsets: bit 0 decreasing or past the end, bit 1 an empty segment where the operator has no value
 * of nothing. where[] receives the complement of the least segment concerned, of each kind. */
extern "C" __global__ void __launch_bounds__(BLOCK) check_segments(const index_t *offsets, uint64 segments, uint64 n,
                                                                   uint32 refuses_empty, uint32 *refused,
                                                                   uint64 *where) {
    uint64 bad = ~0ull, empty = ~0ull;
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g <= segments; g += gridDim.x * (uint64)BLOCK) {
        index_t begin = load(offsets + g), end = g < segments ? load(offsets + g + 1) : begin;
        if (begin > end || (uint64)begin > n || (uint64)end > n)
            bad = g < bad ? g : bad;
        else if (refuses_empty && g < segments && begin == end)
            empty = g < empty ? g : empty;
    }
    if (bad != ~0ull) {
        atomicOr(refused, 1);
        atomicMax(&where[0], ~bad);
    }
    if (empty != ~0ull) {
        atomicOr(refused, 2);
        atomicMax(&where[1], ~empty);
    }
}
