/* Reductions by segments of some MB, in two launches. In the first, no block knows whether all offsets are good, so results
 * wait in memory (fold_segments.cu). The last (fold_cuts.cu) looks at what all blocks have found, and moves them. */

/* What is refused, as in struct control. Where results wait, each block looks at what all tiles have found. All threads of
 * a block call this. */
inline uint32 what_is_refused(const groups_args &p) {
    __shared__ uint64 bad, empty;
    __syncthreads();
    if (threadIdx.x == 0)
        bad = empty = 0;
    __syncthreads();
    const bool is_given = p.given_up && !*p.given_up; /* tables of labels have given all results */
#pragma unroll 4
    for (uint64 k = threadIdx.x; k < p.tiles && !is_given; k += BLOCK) {
        const uint64 not_bad = p.found[2 * k], not_empty = p.found[2 * k + 1];
        if (not_bad)
            atomicMax((unsigned long long *)&bad, (unsigned long long)not_bad);
        if (not_empty)
            atomicMax((unsigned long long *)&empty, (unsigned long long)not_empty);
    }
    __syncthreads();
    const uint32 refused = (is_given || bad != 0) | (empty != 0) << 1;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        control told = control();
        told.refused = refused;
        told.not_bad = bad;
        told.not_empty = empty;
        *p.told = told;
    }
    return refused;
}

/* Moves the results that wait to their places: those of segments that lie in one tile. Empty ones have none yet. */
inline void move_results(const groups_args &p) {
    enum { AT_A_TIME = sizeof(result_t) <= 8 ? 4 : 2 };
    const uint64 me = blockIdx.x * (uint64)BLOCK + threadIdx.x, stride = gridDim.x * (uint64)BLOCK;
    for (uint64 g = me; g < p.segments; g += AT_A_TIME * stride) {
        result_t result[AT_A_TIME];
        uint64 begin[AT_A_TIME], end[AT_A_TIME];
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++) {
            const uint64 at = g + j * stride < p.segments ? g + j * stride : g;
            begin[j] = begin_of(p, at);
            end[j] = begin_of(p, at + 1);
            result[j] = p.apart[at];
        }
#pragma unroll
        for (uint32 j = 0; j < AT_A_TIME; j++)
            if (g + j * stride < p.segments) {
                const bool is_empty = begin[j] == end[j];
                if (is_empty || begin[j] >> p.tile_bits == (end[j] - 1) >> p.tile_bits)
                    put(p.out + g + j * stride, is_empty ? lower(identity_as<acc_t>(), 0, begin[j]) : result[j]);
            }
    }
}
