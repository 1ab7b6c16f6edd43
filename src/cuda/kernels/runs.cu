/* Runs of equal keys: where they begin, how many there are, and the word that a tile publishes about runs that cross
 * its ends. */

/* A tile's word: the number of heads up to its end, in the lower COUNT_BITS bits, and the two bits below. */
enum { COUNT_BITS = 60 };
constexpr uint64 FRESH = 1ull << 61;  /* the run that continues after the tile has begun in it */
constexpr uint64 ENDS = 1ull << 60;   /* the run that began before the tile ends in it */
constexpr uint64 COUNT = (1ull << COUNT_BITS) - 1;

enum {
    STRIP = WARP * WARP, /* elements whose bits a warp of mark_runs.cu finds together */
    MARKERS = 16         /* such warps of a block */
};

template <class T> inline T add_lanes(T value) {
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        value += __shfl_xor_sync(ALL_LANES, value, d);
    return value;
}


inline bool is_head(const groups_args &p, uint64 at) {
    return at == 0 || load(p.keys + at) != load(p.keys + at - 1);
}

/* Bits of the heads among Words * WARP elements from 'first' on: a word for WARP of them, which is the lane's number. All
 * lanes of a warp call this. */
template <int Words> inline uint32 find_heads(const groups_args &p, uint64 first) {
    constexpr int loads = sizeof(index_t) <= 4 ? 32 : 16, at_once = Words < loads ? Words : loads;
    const uint32 lane = threadIdx.x % WARP;
    const uint64 left = first < p.n ? p.n - first : 0;
    const uint32 there = left < Words * WARP ? (uint32)left : Words * WARP;
    uint32 mine = 0;
    auto keep = [&](int word, bool is_there) {
        const uint32 bits = __ballot_sync(ALL_LANES, is_there);
        if ((int)lane == word)
            mine = bits;
    };
    if (!is_aligned(p.keys)) {
#pragma unroll 1
        for (int w = 0; w < Words; w++)
            keep(w, w * WARP + lane < there && is_head(p, first + w * WARP + lane));
        return mine;
    }
    const index_t *from = p.keys + first + lane;
    index_t before = lane == WARP - 1 && first && there ? from[-WARP] : index_t(0); /* the last lane's of the word before */
#pragma unroll 1
    for (int done = 0; done < Words; done += at_once) {
        index_t key[at_once];
#pragma unroll
        for (int k = 0; k < at_once; k++)
            key[k] = (done + k) * WARP + lane < there ? from[(done + k) * WARP] : index_t(0);
#pragma unroll
        for (int k = 0; k < at_once; k++) {
            const index_t other = k ? key[k ? k - 1 : 0] : before;
            const index_t previous = __shfl_sync(ALL_LANES, lane == WARP - 1 ? other : key[k], lane - 1);
            keep(done + k, key[k] != previous);
        }
        before = key[at_once - 1];
    }
    const uint32 begin = lane * WARP;
    if (first == 0 && lane == 0)
        mine |= 1;
    return begin >= there ? 0 : there - begin < WARP ? mine & ((1u << (there - begin)) - 1) : mine;
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
    const uint64 own = load_ahead(p.heads + number);
    uint64 words[NEAR + 1]; /* of the tiles before; the first of all is always FRESH */
#pragma unroll
    for (uint32 k = 0; k <= NEAR; k++)
        words[k] = k < number ? load_ahead(p.heads + (number - 1 - k)) : 0;
    if (!number || !(own & ENDS))
        return false;
    e->group = (words[0] & COUNT) - 1;
    uint32 back = NEAR;
#pragma unroll
    for (uint32 k = NEAR; k-- > 0;)
        back = words[k] & FRESH ? k : back;
    e->first = number - 1 - back;
    return true;
}

/* The last tile before 'end' that is FRESH, for all lanes of a warp. False if it is farther than 'most' tiles. */
inline bool find_last_fresh(const groups_args &p, uint64 end, uint64 most, uint64 *found) {
    enum { AHEAD = 4 /* words that a lane reads at a time */ };
    for (uint64 done = 0; done < most && done < end; done += AHEAD * WARP) {
        uint32 lanes[AHEAD];
#pragma unroll
        for (uint32 k = 0; k < AHEAD; k++) {
            const uint64 back = done + k * WARP + threadIdx.x % WARP;
            lanes[k] = __ballot_sync(ALL_LANES, back < end && is_fresh(p, end - 1 - back));
        }
#pragma unroll
        for (uint32 k = 0; k < AHEAD; k++)
            if (lanes[k]) {
                *found = end - done - k * WARP - __ffs(lanes[k]);
                return true;
            }
    }
    return false;
}

/* The last tile before 'end' that is FRESH, for all threads of the block. */
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
