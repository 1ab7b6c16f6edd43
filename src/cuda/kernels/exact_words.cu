/* Exact mode, elements that are states in words: a first kernel checks them all, a second one adds those of a group. */

/* Groups of states, each 'inner' states from the one before it. By segments and keys they are neighbours. */
struct group_of_states {
    uint64 first, count, inner;
};
#if GROUPS == SEGMENTS || GROUPS == KEYS
inline uint64 groups_of(const words_args &p) {
    return groups_of(p.groups);
}
inline group_of_states group_at(const words_args &p, uint64 g) {
    const uint64 begin = begin_of(p.groups, g);
    return {begin, begin_of(p.groups, g + 1) - begin, 1};
}
inline group_of_states all_states(const words_args &p) {
    const uint64 begin = begin_of(p.groups, 0);
    return {begin, begin_of(p.groups, groups_of(p.groups)) - begin, 1};
}
#else
inline uint64 groups_of(const words_args &p) {
    return p.rows;
}
inline group_of_states group_at(const words_args &p, uint64 g) {
    return {g / p.inner * p.inner * p.extent + g % p.inner, p.extent, p.inner};
}
inline group_of_states all_states(const words_args &p) {
    return {0, p.rows * p.extent, 1};
}
#endif

/* Set once a state is wrong; *where becomes the complement of the first one's number. */
inline void refuse(const words_args &p, uint64 state) {
    atomicOr(p.refused, (uint32)REFUSED_WORDS);
    atomicMax(p.where, ~state);
}

/* A warp checks a state: the check word, and that there are not more special elements than elements. */
extern "C" __global__ void __launch_bounds__(BLOCK) check_words(words_args p) {
    if (*p.refused & ~REFUSED_WORDS)
        return;
    const group_of_states all = all_states(p);
    const uint64 end = all.first + all.count, warps = gridDim.x * (uint64)WARPS;
    for (uint64 s = all.first + blockIdx.x * (uint64)WARPS + threadIdx.x / WARP; s < end; s += warps) {
        const int64 *words = p.x + s * WORDS_COUNT;
        uint64 sum = 0, elements = (uint64)load(words + 1);
        bool is_bad = false;
        for (int i = 1 + lane_of(); i < WORDS_COUNT; i += WARP) {
            int64 word = load(words + i);
            sum += weight_of(i) * (uint64)word;
            is_bad |= i < 6 ? (uint64)word > elements : !elements && word != 0;
        }
        sum = join_warp(sum, [](uint64 a, uint64 b) { return a + b; });
        is_bad |= sum != (uint64)load(words);
        if (__ballot_sync(ALL_LANES, is_bad) && lane_of() == 0)
            refuse(p, s);
    }
}

/* A warp adds the states of a group. Words have room for 2^31 of them, added before or here. */
extern "C" __global__ void __launch_bounds__(BLOCK) join_words(words_args p) {
    __shared__ int64 limbs[WARPS][STATE_LIMBS];
    int64 *mine = limbs[threadIdx.x / WARP];
    if (*p.refused)
        return;
    const uint64 groups = groups_of(p);
    for (uint64 g = blockIdx.x * (uint64)WARPS + threadIdx.x / WARP; g < groups; g += gridDim.x * (uint64)WARPS) {
        const group_of_states group = group_at(p, g);
        const int64 *first = p.x + group.first * WORDS_COUNT;
        uint64 elements = 0;
        uint32 saw = 0;
        for (int i = lane_of(); i < STATE_LIMBS; i += WARP)
            mine[i] = 0;
        __syncwarp();
        for (uint64 part = 0; part < group.count; part++, first += group.inner * WORDS_COUNT) {
            elements += (uint64)load(first + 1);
            for (int i = lane_of(); i < 4 + WORDS_DIGITS + WORDS_SQUARES; i += WARP) {
                int64 word = load(first + 2 + i);
                if (i >= 4 + WORDS_DIGITS)
                    mine[SUM_LIMBS + i - 4 - WORDS_DIGITS] += word;
                else if (i >= 4)
                    mine[i - 4] += word;
                else if (word)
                    saw |= i == 0 ? SAW_PLUS_INFINITY : i == 1 ? SAW_MINUS_INFINITY : i == 2 ? SAW_NAN : SAW_OTHER;
            }
        }
        __syncwarp();
        give([=](int i) { return mine[i]; }, mine, saw, elements, p.out + g);
    }
}
