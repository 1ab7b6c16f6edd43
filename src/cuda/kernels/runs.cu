/* Runs of equal keys: where they begin, how many there are, and what tiles say of those that reach over their ends. */

/* What is found in a tile, in one word: the number of heads up to its end, in so many bits, and what these say. */
enum { COUNT_BITS = 60 };
constexpr uint64 FRESH = 1ull << 61;  /* what is open behind the tile has begun in it */
constexpr uint64 ENDS = 1ull << 60;   /* what was open before the tile ends in it */
constexpr uint64 COUNT = (1ull << COUNT_BITS) - 1;

inline uint64 add_lanes(uint64 value) {
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        value += __shfl_xor_sync(ALL_LANES, value, d);
    return value;
}

inline bool is_head(const groups_args &p, uint64 at) {
    return at == 0 || load(p.index + at) != load(p.index + at - 1);
}

/* ---- for fold_cuts.cu ---- */

/* The run that began in an earlier tile and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the tile that it began in, if that is near */
};

inline bool is_fresh(const groups_args &p, uint64 number) {
    return p.of_tile[number] & FRESH;
}

inline bool find_ending(const groups_args &p, uint64 number, ending *e) {
    if (!number || !(p.of_tile[number] & ENDS))
        return false;
    e->group = (p.of_tile[number - 1] & COUNT) - 1;
    e->first = number - 1;
    for (int k = 0; k < NEAR && !is_fresh(p, e->first); k++)
        e->first--;
    return true;
}

/* The last tile before 'end' in which a run begins that goes on behind it, or none does. */
inline uint64 last_fresh(const groups_args &p, uint64 end) {
    __shared__ uint64 found;
    enum { AHEAD = 8 /* looks that a thread has under way */ };
    for (;; end -= AHEAD * BLOCK) {
        __syncthreads();
        if (threadIdx.x == 0)
            found = 0;
        __syncthreads();
        uint64 best = 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            uint64 back = k * BLOCK + threadIdx.x;
            if (back < end && is_fresh(p, end - 1 - back) && !best)
                best = end - back;
        }
        if (best)
            atomicMax(&found, best);
        __syncthreads();
        if (found) /* the first tile at the latest */
            return found - 1;
    }
}
