/* Runs of equal keys: where they begin, how many there are, and the word that a tile publishes about runs that cross
 * its ends. */

/* A tile's word: the number of heads up to its end, in the lower COUNT_BITS bits, and the two bits below. */
enum { COUNT_BITS = 60 };
constexpr uint64 FRESH = 1ull << 61;  /* the run that continues after the tile has begun in it */
constexpr uint64 ENDS = 1ull << 60;   /* the run that began before the tile ends in it */
constexpr uint64 COUNT = (1ull << COUNT_BITS) - 1;

inline uint64 add_lanes(uint64 value) {
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        value += __shfl_xor_sync(ALL_LANES, value, d);
    return value;
}

enum { REFUSED_RUNS = 4 /* TALLY_GPU_REFUSED_RUNS of gpu/plan.h */ };

inline bool is_head(const groups_args &p, uint64 at) {
    return at == 0 || load(p.keys + at) != load(p.keys + at - 1);
}

/* ---- for fold_cuts.cu ---- */

enum { ENDS_STAND = 0 }; /* for fold_cuts.cu: whether groups' ends are known before the folds are done */

/* The run that began in an earlier tile and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the tile that it began in, if that is near */
};

inline bool is_fresh(const groups_args &p, uint64 number) {
    return p.heads[number] & FRESH;
}

inline bool find_ending(const groups_args &p, uint64 number, ending *e) {
    if (!number || !(p.heads[number] & ENDS))
        return false;
    e->group = (p.heads[number - 1] & COUNT) - 1;
    e->first = number - 1;
    for (int k = 0; k < NEAR && !is_fresh(p, e->first); k++)
        e->first--;
    return true;
}

/* The last tile before 'end' that is FRESH, for all threads of the block; the first tile of all always is. */
inline uint64 last_fresh(const groups_args &p, uint64 end) {
    __shared__ uint64 found;
    enum { AHEAD = 8 /* words that a thread reads at a time */ };
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
        if (found)
            return found - 1;
    }
}
