/* look-back: a single pass (Merrill and Garland 2016). A block publishes its part's total at once, and the sum of all
 * elements up to its end as soon as it knows that sum. To find it, the block looks back over the totals of the parts
 * before it, a warp's width at a time, until one of them has such a sum.
 *
 * Removes: the second reading, and two launches of three: every element is read once and written once.
 * Left: the chain of sums from part to part: a block cannot write before the one before it has looked back.
 * Look at: percent of the roof. No counter shows the time of the look-back itself, because it is waiting. */
enum { ITEMS = 16, PART = BLOCK * ITEMS };

/* A part's state is one word of 64 bits, so that value and flag arrive together. */
enum { NOTHING = 0, TOTAL = 1, SUM_UP_TO = 2 };

inline uint64 pack(unsigned flag, value v) {
    union {
        value v;
        unsigned bits;
    } both;
    both.v = v;
    return (uint64)flag << 32 | both.bits;
}

inline value value_in(uint64 state) {
    union {
        unsigned bits;
        value v;
    } both;
    both.bits = (unsigned)state;
    return both.v;
}

inline value scan_warp(value own, unsigned lane) {
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const value left = __shfl_up_sync(ALL_LANES, own, distance);
        if (lane >= distance)
            own += left;
    }
    return own;
}

/* The first warp: the sum of all parts before this one. Lane 0 looks at the nearest part. */
inline value look_back(volatile uint64 *states, uint64 part, unsigned lane) {
    value before = 0;
    for (uint64 nearest = part;; nearest -= WARP) {
        uint64 state = (uint64)SUM_UP_TO << 32; /* the sum before the first part is 0 */
        if (lane < nearest)
            do
                state = states[nearest - 1 - lane];
            while (state >> 32 == NOTHING);
        const unsigned sums = __ballot_sync(ALL_LANES, state >> 32 == SUM_UP_TO);
        const unsigned last = sums ? __ffs(sums) - 1 : WARP - 1; /* its sum already contains the lanes beyond it */
        value found = lane <= last ? value_in(state) : 0;
        for (unsigned distance = WARP / 2; distance > 0; distance /= 2)
            found += __shfl_down_sync(ALL_LANES, found, distance);
        before += __shfl_sync(ALL_LANES, found, 0);
        if (sums)
            return before;
    }
}

/* states[0] counts the parts that blocks have taken, so that parts begin in order; the other states are the parts'. */
extern "C" __global__ void scan(const value *x, value *out, uint64 *states, uint64 n) {
    __shared__ value staged[PART + PART / WARP], of_warp[WARP], before_part;
    __shared__ uint64 my_part;
    const unsigned t = threadIdx.x, warp = t / WARP, lane = t % WARP;
    if (t == 0)
        my_part = atomicAdd(states, 1ull);
    __syncthreads();
    const uint64 part = my_part, first = part * PART;
    /* Neighbouring threads load neighbouring elements; then each thread takes ITEMS in a row. A word of padding for every
     * 32 keeps both access patterns free of bank conflicts. */
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        const unsigned at = k * BLOCK + t;
        staged[at + at / WARP] = element_or(x, first + at, n, 0);
    }
    __syncthreads();
    value items[ITEMS], sum = 0;
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        const unsigned at = t * ITEMS + k;
        items[k] = sum += staged[at + at / WARP];
    }
    const value own = scan_warp(sum, lane), left = __shfl_up_sync(ALL_LANES, own, 1);
    if (lane == WARP - 1)
        of_warp[warp] = own;
    __syncthreads();
    if (warp == 0) {
        const value up_to = scan_warp(lane < BLOCK / WARP ? of_warp[lane] : 0, lane);
        const value total = __shfl_sync(ALL_LANES, up_to, WARP - 1);
        of_warp[lane] = up_to;
        if (lane == 0)
            ((volatile uint64 *)states)[1 + part] = pack(part == 0 ? SUM_UP_TO : TOTAL, total);
        const value before = look_back(states + 1, part, lane);
        if (lane == 0) {
            ((volatile uint64 *)states)[1 + part] = pack(SUM_UP_TO, before + total);
            before_part = before;
        }
    }
    __syncthreads();
    const value before = before_part + (warp > 0 ? of_warp[warp - 1] : 0) + (lane > 0 ? left : 0);
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        const unsigned at = t * ITEMS + k;
        staged[at + at / WARP] = before + items[k];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < ITEMS; k++) {
        const unsigned at = k * BLOCK + t;
        if (first + at < n)
            out[first + at] = staged[at + at / WARP];
    }
}
