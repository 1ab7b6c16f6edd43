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

/* Some steps of neighbouring elements. */
struct elements {
    few<in_t, WIDTH> x[AHEAD];
    few<index_t, WIDTH> label[AHEAD];

    void load_from(const tables_args &p, uint64 step, uint64 stride, uint64 steps) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const uint64 at = (step + k * stride < steps ? step + k * stride : steps - 1) * WIDTH;
            label[k] = load_few<WIDTH>(p.labels + at);
            x[k] = load_few<WIDTH>(p.x + at);
        }
    }
};

struct own_table {
    acc_t *first;
    uint64 first_bad;

    uint32 place_of(const tables_args &p, index_t label, uint64 i) {
        if (is_in_range(p, label))
            return (uint32)label * blockDim.x;
        first_bad = i < first_bad ? i : first_bad;
        return (uint32)p.groups * blockDim.x;
    }
    void add(const tables_args &p, in_t x, index_t label, uint64 i) {
        acc_t &acc = first[place_of(p, label, i)];
        acc = combine(acc, lift_as<acc_t>(value_of(x), value_t(0), i));
    }
    /* Some at a time, whose accumulators are loaded together. */
    void add_all(const tables_args &p, const few<in_t, WIDTH> &x, const few<index_t, WIDTH> &label, uint64 i) {
        enum { TOGETHER = WIDTH < 4 ? WIDTH : 4 };
#pragma unroll
        for (int begin = 0; begin < WIDTH; begin += TOGETHER) {
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

/* The elements of whole steps, those of the next ones loaded meanwhile. */
inline void add_steps(own_table &table, const tables_args &p, uint64 steps) {
    const uint64 stride = gridDim.x * (uint64)blockDim.x;
    uint64 step = blockIdx.x * (uint64)blockDim.x + threadIdx.x;
    if (step >= steps)
        return;
    elements next;
    next.load_from(p, step, stride, steps);
    while (step < steps) {
        const elements here = next;
        const uint64 after = step + AHEAD * stride;
        if (after < steps)
            next.load_from(p, after, stride, steps);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (step + k * stride < steps)
                table.add_all(p, here.x[k], here.label[k], (step + k * stride) * WIDTH);
        step = after;
    }
}

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
    const bool is_aligned =
        ((uint64)p.x & (WIDTH * sizeof(in_t) - 1)) == 0 && ((uint64)p.labels & (WIDTH * sizeof(index_t) - 1)) == 0;
    const uint64 steps = is_aligned ? p.n / WIDTH : 0, me = blockIdx.x * (uint64)blockDim.x + threadIdx.x;
    add_steps(table, p, steps);
    for (uint64 i = steps * WIDTH + me; i < p.n; i += gridDim.x * (uint64)blockDim.x)
        table.add(p, load(p.x + i), load(p.labels + i), i);
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
