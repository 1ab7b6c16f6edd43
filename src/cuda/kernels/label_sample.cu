/* What label_sums.cu learns of a sample of its input: the largest exponent, and whether a group has many of the elements. */
/* 'Count' of the elements of a sample, from number 'first': each anywhere in its share, so that no regular input deceives
 * it. All loads are under way together. */
template <int Count, uint32 Sample, class T>
inline void load_sample(const T *from, uint64 n, uint32 first, T to[Count]) {
    uint64 at[Count]; /* n is below 2^32 */
#pragma unroll
    for (int k = 0; k < Count; k++) {
        const uint32 one = first + k * WORD_THREADS;
        uint32 any = one * 2654435761u;
        any = (any ^ any >> 15) * 2246822519u;
        at[k] = n * one / Sample + ((n / Sample) * (any ^ any >> 13) >> 32);
    }
    if (is_aligned(from))
#pragma unroll
        for (int k = 0; k < Count; k++)
            to[k] = from[at[k]];
    else
#pragma unroll
        for (int k = 0; k < Count; k++)
            to[k] = load_slowly(from + at[k]);
}

/* A group that has a tenth or more of the elements, as a sample tells. Threads add its elements in registers, so that
 * they need not wait for each other. By 65536 labels that takes 1.4 ms instead of 3.6 if half of them are one (H200).
 */
inline void find_hot(const label_sums_args &p) {
    enum { OF_THREAD = 4, LEAST = OF_THREAD * WORD_THREADS / 10 };
    __shared__ uint32 candidates[WARP], count[WARP];
    index_t here[OF_THREAD];
    uint32 label[OF_THREAD], mine = 0;
    load_sample<OF_THREAD, OF_THREAD * WORD_THREADS>(p.labels, p.n, threadIdx.x, here);
#pragma unroll
    for (int k = 0; k < OF_THREAD; k++)
        label[k] = (uint64)here[k] < p.groups ? (uint32)here[k] : ~0u;
    if (threadIdx.x % WARP == 0)
        candidates[threadIdx.x / WARP] = label[0];
    if (threadIdx.x < WARP)
        count[threadIdx.x] = 0;
    __syncthreads();
    for (uint32 c = 0; c < WARP; c++) {
        uint32 of_warp = 0;
#pragma unroll
        for (int k = 0; k < OF_THREAD; k++)
            of_warp += __popc(__ballot_sync(ALL_LANES, label[k] == candidates[c]));
        mine = threadIdx.x % WARP == c ? of_warp : mine;
    }
    atomicAdd(&count[threadIdx.x % WARP], mine);
    __syncthreads();
    if (threadIdx.x < WARP && count[threadIdx.x] >= LEAST && candidates[threadIdx.x] != ~0u)
        atomicMax(&p.window->hot, candidates[threadIdx.x] + 1);
}

/* The largest exponent of a sample. Infinities and NaNs have none. */
inline void find_highest(const label_sums_args &p, uint32 part) {
#if IS_WINDOW
    enum { SAMPLED = 2, SAMPLE = 16 * WORD_THREADS }; /* of SAMPLING_BLOCKS blocks */
    __shared__ uint32 largest;
    if (threadIdx.x == 0)
        largest = 0;
    __syncthreads();
    in_t x[SAMPLED];
    uint32 mine = 0;
    load_sample<SAMPLED, SAMPLE>(p.x, p.n, part * SAMPLED * WORD_THREADS + threadIdx.x, x);
#pragma unroll
    for (int k = 0; k < SAMPLED; k++) {
        const uint32 exponent = exponent_of(value_of(x[k]));
        mine = exponent > mine && exponent < NO_NUMBER ? exponent : mine;
    }
    atomicMax(&largest, mine);
    __syncthreads();
    const uint32 highest = largest + MARGIN > LEAST_HIGHEST ? largest + MARGIN : (uint32)LEAST_HIGHEST;
    if (threadIdx.x == 0)
        atomicMax(&p.window->highest, highest < MOST_HIGHEST ? highest : (uint32)MOST_HIGHEST);
#endif
}

/* The first block looks at labels, the others at elements: one multiprocessor takes long to fetch as many sectors. */
extern "C" __global__ void __launch_bounds__(WORD_THREADS) find_window(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
    if (p.n == 0) {
#if IS_WINDOW
        if (blockIdx.x == 0 && threadIdx.x == 0)
            p.window->highest = LEAST_HIGHEST; /* a window for sums of nothing, too */
#endif
        return;
    }
    if (blockIdx.x == 0)
        find_hot(p);
    else
        find_highest(p, blockIdx.x - 1);
}
