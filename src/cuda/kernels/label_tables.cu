/* Reductions by few labels: each thread has a table of accumulators of its own in shared memory, one for each group.
 * The tables of a block lie side by side, so that the lanes of a warp use different banks whatever their labels are,
 * and no two threads ever wait for each other. A block folds its tables at the end, and a second launch those of all
 * blocks, in a fixed order. */
enum {
    WIDEST = sizeof(in_t) > sizeof(index_t) ? sizeof(in_t) : sizeof(index_t),
    WIDTH = 16 / WIDEST,       /* neighbouring elements of a thread */
    AHEAD = WIDTH <= 4 ? 4 : 2 /* steps whose loads are under way */
};

inline bool is_in_range(const tables_args &p, index_t label) {
    return sizeof(index_t) <= 4 ? (uint32)label < (uint32)p.groups : (uint64)label < p.groups;
}

struct own_table {
    acc_t *first;
    uint64 first_bad;

    uint32 place_of(const tables_args &p, index_t label, uint64 i) {
        if (is_in_range(p, label))
            return (uint32)label * blockDim.x;
        first_bad = i < first_bad ? i : first_bad;
        return (uint32)p.groups * blockDim.x;
    }
    /* Some at a time, whose accumulators are loaded together. */
    template <int Count>
    void add(const tables_args &p, const few<in_t, Count> &x, const few<index_t, Count> &label, uint64 i) {
        enum { TOGETHER = Count < 4 ? Count : 4 };
#pragma unroll
        for (int begin = 0; begin < Count; begin += TOGETHER) {
            uint32 place[TOGETHER];
            acc_t acc[TOGETHER];
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
                place[k] = place_of(p, label.element[begin + k], i + begin + k);
                acc[k] = first[place[k]];
            }
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
#pragma unroll
                for (int before = 0; before < k; before++)
                    acc[k] = place[before] == place[k] ? acc[before] : acc[k];
                acc[k] = combine(acc[k], lift_as<acc_t>(value_of(x.element[begin + k]), value_t(0), i + begin + k));
            }
#pragma unroll
            for (int k = 0; k < TOGETHER; k++)
                first[place[k]] = acc[k];
        }
    }
};

/* Group g of the block's tables. All lanes of a warp call this. */
inline acc_t fold_tables(const acc_t *tables, uint32 g) {
    acc_t acc = identity_as<acc_t>();
#pragma unroll 4
    for (uint32 t = threadIdx.x % WARP; t < blockDim.x; t += WARP)
        acc = combine(acc, tables[g * blockDim.x + t]);
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        acc = combine(acc, from_across(acc, d));
    return acc;
}

extern "C" __global__ void __launch_bounds__(MOST_TABLE_THREADS) fill_tables(tables_args p SIZED) {
    TAKE_SIZE(p.n)
    extern __shared__ __align__(16) uint8 table_memory[];
    acc_t *const tables = (acc_t *)table_memory;
    own_table table = {tables + threadIdx.x, ~0ull};
    for (uint32 g = 0; g <= (uint32)p.groups; g++)
        table.first[g * blockDim.x] = identity_as<acc_t>();
    const uint64 me = blockIdx.x * (uint64)blockDim.x + threadIdx.x, stride = gridDim.x * (uint64)blockDim.x;
    take_labelled<WIDTH, AHEAD, true, false>(
        p, me, stride, [&](const auto &x, const auto &label, uint64 i) { table.add(p, x, label, i); });
    __syncthreads();
    for (uint32 g = threadIdx.x / WARP; g < (uint32)p.groups; g += blockDim.x / WARP) {
        const acc_t acc = fold_tables(tables, g);
        if (threadIdx.x % WARP == 0)
            p.partials[g * (uint64)gridDim.x + blockIdx.x].write(acc);
    }
    if (!p.skips && table.first_bad != ~0ull) {
        atomicOr(&p.told->refused, 1u);
        atomicMax(&p.told->not_bad, ~table.first_bad);
    }
}

/* A warp for each group. */
extern "C" __global__ void __launch_bounds__(BLOCK) fold_blocks(tables_args p SIZED) {
    TAKE_SIZE(p.n)
    if (p.told->refused)
        return;
    for (uint64 g = blockIdx.x * (uint64)(BLOCK / WARP) + threadIdx.x / WARP; g < p.groups;
         g += gridDim.x * (uint64)(BLOCK / WARP)) {
        acc_t acc = identity_as<acc_t>();
#pragma unroll 4
        for (uint64 b = threadIdx.x % WARP; b < p.blocks; b += WARP)
            acc = combine(acc, p.partials[g * p.blocks + b].read());
#pragma unroll
        for (int d = 1; d < WARP; d *= 2)
            acc = combine(acc, from_across(acc, d));
        if (threadIdx.x % WARP == 0)
            store(p.out + g, lower(acc, 0, 0));
    }
}
