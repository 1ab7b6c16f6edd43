/* Reductions of rows of consecutive elements: an array of rows x extent, each row shared by 'blocks' thread blocks. What
 * they found is folded in their order, so that a result is the same bits every run. Who folds it depends on how much there
 * is: a cluster of blocks that see each other's shared memory and need no workspace; a second kernel, started while the
 * first still runs; or the block that comes last, for which counters must be cleared before. */
struct reduce_args {
    const in_t *x, *y;
    result_t *out;
    slot *partials;     /* rows x blocks */
    uint32 *arrived;    /* a row: blocks that are done, 0 before and after. NULL: reduce_partials comes after */
    const slot *carry;  /* what earlier pieces gave, or NULL */
    slot *total;        /* instead of 'out': the accumulator itself */
    uint64 rows, extent, chunk, blocks;
    uint64 before; /* elements in earlier pieces */
};

enum {
    A_THREAD = VECTOR * UNROLL,  /* elements that it takes at a time */
    CLUSTER = 8,                 /* blocks */
    CLUSTER_BLOCK = sizeof(acc_t) <= 16 ? 1024 : 256 /* threads a block of a cluster */
};
constexpr int STEPS_A_LANE = lanes::LIMIT / UNROLL > 0 ? lanes::LIMIT / UNROLL : 1;

struct row {
    const in_t *x, *y;
    uint64 extent, before;
    bool aligned; /* to 16 bytes, x and y */
};

inline value_t second_of(const row &r, uint64 at) {
    return HAS_SECOND ? value_of(load(r.y + at)) : value_t(0);
}

/* This thread's 'Count' vectors of a step, from addresses that vectors can be loaded from. */
template <int Threads, int Count> inline void add_vectors(const row &r, uint64 at, lanes &l) {
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
#pragma unroll
    for (int u = 0; u < Count; u++)
        add_vector(l, a + u * VECTOR, b + u * VECTOR, r.before + at + u * Threads * VECTOR);
}

inline void add_singles(const row &r, uint64 from, uint64 to, lanes &l) {
#pragma unroll
    for (int k = 0; k < VECTOR; k++)
        if (from + k < to)
            l.add(k, value_of(load(r.x + from + k)), second_of(r, from + k), r.before + from + k);
}

/* A step that is not whole or not aligned, with few registers: the whole ones want them. */
template <int Threads> inline void add_rest(const row &r, uint64 at, uint64 end, lanes &l) {
#pragma unroll 1
    for (int u = 0; u < UNROLL; u++) {
        uint64 from = at + u * Threads * VECTOR;
        if (r.aligned && from + VECTOR <= end)
            add_vectors<Threads, 1>(r, from, l);
        else
            add_singles(r, from, end, l);
    }
}

/* Elements in any order: the blocks of a row take turns, step by step. */
template <int Threads> inline acc_t fold_steps(const row &r, uint64 blocks) {
    constexpr uint64 STEP = Threads * A_THREAD;
    uint64 end = r.extent;
    acc_t acc = identity_as<acc_t>();
    lanes l;
    int steps = 0;
    for (uint64 step = blockIdx.x * STEP; step < end; step += blocks * STEP) {
        uint64 at = step + threadIdx.x * VECTOR;
        if (r.aligned && step + STEP <= end)
            add_vectors<Threads, UNROLL>(r, at, l);
        else
            add_rest<Threads>(r, at, end, l);
        if (++steps == STEPS_A_LANE) {
            acc = combine(acc, l.take());
            steps = 0;
        }
    }
    return fold_block<Threads>(combine(acc, l.take()));
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

/* What the blocks of a row found, folded by those of one. */
inline acc_t fold_partials(const reduce_args &p, uint64 number) {
    constexpr int AHEAD = sizeof(acc_t) > 16 ? 1 : 8;
    const slot *partials = p.partials + number * p.blocks;
    const uint64 each = (p.blocks + BLOCK - 1) / BLOCK;
    acc_t acc = identity_as<acc_t>();
    for (uint64 k = 0; k < each; k += AHEAD) {
        acc_t next[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            uint64 b = threadIdx.x * each + k + u;
            next[u] = k + u < each && b < p.blocks ? partials[b].read() : identity_as<acc_t>();
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            acc = combine(acc, next[u]);
    }
    return fold_block<BLOCK>(acc);
}

/* The last block of a row folds what all of them found. */
inline void fold_as_last(const reduce_args &p, uint64 number) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(&p.arrived[number], 1) == p.blocks - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    acc_t acc = fold_partials(p, number);
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
    wait_for_last();
    let_next_start();
    for (uint64 number = blockIdx.y; number < p.rows; number += gridDim.y) {
        acc_t acc = fold_row<BLOCK>(p, number);
        if (threadIdx.x == 0 && p.blocks > 1)
            p.partials[number * p.blocks + blockIdx.x].write(acc);
        else if (threadIdx.x == 0)
            finish_row(p, number, acc);
        if (p.arrived)
            fold_as_last(p, number);
    }
}

/* The end of a reduction whose blocks do not count themselves: a block a row. */
extern "C" __global__ void __launch_bounds__(BLOCK) reduce_partials(reduce_args p) {
    wait_for_last();
    let_next_start();
    for (uint64 number = blockIdx.x; number < p.rows; number += gridDim.x) {
        acc_t acc = fold_partials(p, number);
        if (threadIdx.x == 0)
            finish_row(p, number, acc);
    }
}
