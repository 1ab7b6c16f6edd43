/* Shared by reductions by segments and by keys. */

/* A chunk's parts of groups that cross its ends. */
struct cut {
    slot before; /* of the group that began in an earlier chunk and ends in this one */
    slot after;  /* of the group that continues after this chunk */
#if GROUPS == KEYS && NEEDS_START
    uint64 start; /* the beginning of the group that continues, if in this chunk */
    uint64 end;   /* the end of the group from before */
#endif
};
static_assert(sizeof(cut) == CUT_BYTES);

enum { NEAR = 8 /* chunks that a group may cross for one thread to fold their parts */ };

/* ---- memory ---- */

template <class T> __noinline__ void store_slowly(T *to, T value) {
    store(to, value);
}
template <class T> inline bool is_aligned(const T *at) {
    return ((uint64)at & (sizeof(T) - 1)) == 0;
}
inline void put(result_t *to, result_t result) {
    if (is_aligned(to))
        *to = result;
    else
        store_slowly(to, result);
}

#if GROUPS == SEGMENTS
inline uint64 begin_of(const groups_args &p, uint64 segment) {
    return (uint64)load(p.offsets + segment);
}
#endif

/* ---- joining ---- */

struct join_memory {
    alignas(16) uint8 of_warps[BLOCK / WARP][sizeof(acc_t)]; /* since the last border of each warp */
    uint32 has_border[BLOCK / WARP];
};

/* What a segmented scan over the threads of a block gives each of them. */
struct joined {
    acc_t before; /* of the threads before, since the last border among them */
    acc_t own;    /* since the last border in the warp, up to this thread */
    acc_t carry;  /* of the warps before, since the last border among them */
    bool is_after_border; /* in the warp */

    /* The sum since the last border, over the threads up to this one. */
    acc_t since() const {
        return is_after_border ? own : combine(carry, own);
    }
};

/* A thread has a border if a group begins or ends among its elements; 'acc' is what it has behind its last border. All
 * threads of the block call this. */
inline joined join(join_memory &s, bool has_border, acc_t acc) {
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const uint32 lanes = __ballot_sync(ALL_LANES, has_border), before_lane = lanes & ((1u << lane) - 1);
    const uint32 up_to = before_lane | (has_border ? 1u << lane : 0);
    const int since = up_to ? WARP - 1 - __clz(up_to) : 0;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const acc_t left = from_below(acc, d);
        if ((int)lane - d >= since)
            acc = combine(left, acc);
    }
    if (lane == WARP - 1) {
        *(acc_t *)s.of_warps[warp] = acc;
        s.has_border[warp] = lanes != 0;
    }
    acc_t before = from_below(acc, 1);
    __syncthreads();
    acc_t carry = identity_as<acc_t>();
#pragma unroll 1
    for (uint32 w = 0; w < warp; w++)
        carry = s.has_border[w] ? *(acc_t *)s.of_warps[w] : combine(carry, *(acc_t *)s.of_warps[w]);
    if (!before_lane)
        before = lane ? combine(carry, before) : carry;
    return {before, acc, carry, up_to != 0};
}
