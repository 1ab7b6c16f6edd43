/* Reductions of rows of consecutive elements: an array of rows x extent, each row shared by 'blocks' thread blocks. What
 * they found is folded in their order, so that a result is the same bits every run: by the block that comes last, or,
 * for little input, in a cluster of blocks that see each other's shared memory and need no workspace. One launch,
 * whatever the shape. */
struct reduce_args {
    const in_t *x, *y;
    result_t *out;
    slot *partials;     /* rows x blocks */
    uint32 *arrived;    /* a row: blocks that are done. 0 before and after */
    const slot *carry;  /* what earlier pieces gave, or NULL */
    slot *total;        /* instead of 'out': the accumulator itself */
    uint64 rows, extent, chunk, blocks;
    uint64 before; /* elements in earlier pieces */
};

enum {
    VECTOR = 16 / sizeof(in_t),  /* elements that one load brings */
    A_THREAD = VECTOR * UNROLL,  /* that it takes at a time */
    CLUSTER = 8,                 /* blocks */
    CLUSTER_BLOCK = sizeof(acc_t) <= 16 ? 1024 : 256 /* threads a block of a cluster */
};
constexpr int STEPS_A_LANE = LANE_LIMIT / UNROLL > 0 ? LANE_LIMIT / UNROLL : 1;

struct row {
    const in_t *x, *y;
    uint64 extent, before;
    bool aligned; /* to 16 bytes, x and y */
};

inline value_t second_of(const row &r, uint64 at) {
    return HAS_SECOND ? value_of(load(r.y + at)) : value_t(0);
}

/* This thread's 'Count' vectors of a step, from addresses that vectors can be loaded from. */
template <int Threads, int Count> inline void add_vectors(const row &r, uint64 at, lane_t *lanes) {
    in_t a[Count * VECTOR], b[Count * VECTOR];
#pragma unroll
    for (int u = 0; u < Count; u++) {
        uint4 bits = __ldcs((const uint4 *)(r.x + at + u * Threads * VECTOR));
        memcpy(a + u * VECTOR, &bits, 16);
    }
#pragma unroll
    for (int u = 0; u < Count && HAS_SECOND; u++) {
        uint4 bits = __ldcs((const uint4 *)(r.y + at + u * Threads * VECTOR));
        memcpy(b + u * VECTOR, &bits, 16);
    }
    if constexpr (HAS_MANY) {
        lanes[0] = combine(lanes[0], lift_many<Count * VECTOR>(a));
    } else {
#pragma unroll
        for (int u = 0; u < Count; u++)
#pragma unroll
            for (int k = 0; k < VECTOR; k++) {
                value_t second = HAS_SECOND ? value_of(b[u * VECTOR + k]) : value_t(0);
                uint64 index = r.before + at + u * Threads * VECTOR + k;
                lanes[k] = append(lanes[k], value_of(a[u * VECTOR + k]), second, index);
            }
    }
}

inline void add_singles(const row &r, uint64 from, uint64 to, lane_t *lanes) {
#pragma unroll
    for (int k = 0; k < VECTOR; k++)
        if (from + k < to)
            lanes[k] = append(lanes[k], value_of(load(r.x + from + k)), second_of(r, from + k), r.before + from + k);
}

/* A step that is not whole or not aligned, with few registers: the whole ones want them. */
template <int Threads> inline void add_rest(const row &r, uint64 at, uint64 end, lane_t *lanes) {
#pragma unroll 1
    for (int u = 0; u < UNROLL; u++) {
        uint64 from = at + u * Threads * VECTOR;
        if (r.aligned && from + VECTOR <= end)
            add_vectors<Threads, 1>(r, from, lanes);
        else
            add_singles(r, from, end, lanes);
    }
}

inline acc_t empty_lanes(acc_t acc, lane_t *lanes) {
#pragma unroll
    for (int k = 0; k < VECTOR; k++) {
        acc = combine(acc, widen(lanes[k]));
        lanes[k] = identity_as<lane_t>();
    }
    return acc;
}

/* Elements in any order: the blocks of a row take turns, step by step. */
template <int Threads> inline acc_t fold_steps(const row &r, uint64 blocks) {
    constexpr uint64 STEP = Threads * A_THREAD;
    uint64 end = r.extent;
    acc_t acc = identity_as<acc_t>();
    lane_t lanes[VECTOR];
#pragma unroll
    for (int k = 0; k < VECTOR; k++)
        lanes[k] = identity_as<lane_t>();
    int steps = 0;
    for (uint64 step = blockIdx.x * STEP; step < end; step += blocks * STEP) {
        uint64 at = step + threadIdx.x * VECTOR;
        if (r.aligned && step + STEP <= end)
            add_vectors<Threads, UNROLL>(r, at, lanes);
        else
            add_rest<Threads>(r, at, end, lanes);
        if (++steps == STEPS_A_LANE) {
            acc = empty_lanes(acc, lanes);
            steps = 0;
        }
    }
    return fold_block<Threads>(empty_lanes(acc, lanes));
}

/* Elements in their order: each block has a chunk, and each thread takes consecutive ones. */
template <int Threads> inline acc_t fold_chunk(const row &r, uint64 begin, uint64 end) {
    constexpr uint64 STEP = Threads * A_THREAD;
    acc_t acc = identity_as<acc_t>();
    for (uint64 step = begin; step < end; step += STEP) {
        acc_t mine = identity_as<acc_t>();
        uint64 at = step + threadIdx.x * (VECTOR * UNROLL);
        for (uint64 i = at; i < at + VECTOR * UNROLL && i < end; i++)
            mine = combine(mine, lift_as<acc_t>(value_of(load(r.x + i)), second_of(r, i), r.before + i));
        mine = fold_block<Threads>(mine);
        acc = combine(acc, mine);
    }
    return acc;
}

inline void finish_row(const reduce_args &p, uint64 number, acc_t acc) {
    if (p.carry)
        acc = combine(p.carry[number].read(), acc);
    if (p.total)
        p.total[number].write(acc);
    else
        store(p.out + number, lower(acc, p.before + p.extent, 0));
}

/* The last block of a row folds what all of them found. */
inline void fold_partials(const reduce_args &p, uint64 number, acc_t acc) {
    __shared__ bool is_last;
    slot *partials = p.partials + number * p.blocks;
    if (threadIdx.x == 0) {
        partials[blockIdx.x].write(acc);
        __threadfence();
        is_last = atomicAdd(&p.arrived[number], 1) == p.blocks - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    uint64 each = (p.blocks + BLOCK - 1) / BLOCK, begin = threadIdx.x * each;
    acc = identity_as<acc_t>();
    for (uint64 b = begin; b < begin + each && b < p.blocks; b++)
        acc = combine(acc, partials[b].read());
    acc = fold_block<BLOCK>(acc);
    if (threadIdx.x == 0) {
        p.arrived[number] = 0;
        finish_row(p, number, acc);
    }
}

template <int Threads> inline acc_t fold_row(const reduce_args &p, uint64 number) {
    row r = {p.x + number * p.extent, HAS_SECOND ? p.y + number * p.extent : nullptr, p.extent, p.before, false};
    r.aligned = (((uint64)r.x | (uint64)r.y) & 15) == 0;
    uint64 begin = blockIdx.x * p.chunk, end = begin + p.chunk < p.extent ? begin + p.chunk : p.extent;
    return COMMUTES ? fold_steps<Threads>(r, p.blocks) : fold_chunk<Threads>(r, begin, end);
}

/* The grid has four blocks a processor, all there at once; large accumulators would let their registers forbid it. */
enum { BLOCKS_A_PROCESSOR = sizeof(acc_t) > 16 && sizeof(acc_t) <= 32 ? 4 : 1 };

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_A_PROCESSOR) reduce(reduce_args p) {
    for (uint64 number = blockIdx.y; number < p.rows; number += gridDim.y) {
        acc_t acc = fold_row<BLOCK>(p, number);
        if (p.blocks > 1)
            fold_partials(p, number, acc);
        else if (threadIdx.x == 0)
            finish_row(p, number, acc);
    }
}
