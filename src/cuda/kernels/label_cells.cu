/* Reductions by labels by one atomic operation for each element: minima, maxima and bits, in whatever order. A block has
 * a cell for each group in shared memory. If there are more groups than one table holds, blocks that read the same
 * elements share the groups out, as in label_sums.cu. Then the tables are folded, and after that the results are
 * written: a group that is empty, or looks so, leaves all to the sort, which tells it. */
enum {
    WIDEST_OF_CELLS = sizeof(in_t) > sizeof(index_t) ? sizeof(in_t) : sizeof(index_t),
    CELL_WIDTH = 16 / WIDEST_OF_CELLS > 4 ? 4 : 16 / WIDEST_OF_CELLS, /* neighbouring elements of a thread */
    CELL_AHEAD = 4
};

#if CELL_BYTES == 8
typedef uint64 cell_t;
inline cell_t bits_of(double x) {
    return (cell_t)__double_as_longlong(x);
}
inline void of_bits(cell_t bits, double *to) {
    *to = __longlong_as_double((int64)bits);
}
#else
typedef uint32 cell_t;
inline cell_t bits_of(float x) {
    return __float_as_uint(x);
}
inline void of_bits(cell_t bits, float *to) {
    *to = __uint_as_float(bits);
}
#endif
const cell_t ALL_BITS = ~(cell_t)0, SIGN_BIT = ALL_BITS ^ ALL_BITS >> 1;

/* A number as one without a sign, in the same order; -0 before 0. */
template <class T> inline cell_t key_of(T x) {
    if constexpr (T(0.5f) != T(0)) {
        const cell_t bits = bits_of(x);
        if (is_nan(x)) /* before all others, or the identity */
            return (CELL_KIND == CELL_MIN) != NAN_IS_IDENTITY ? 0 : ALL_BITS;
        return bits ^ (bits & SIGN_BIT ? ALL_BITS : SIGN_BIT);
    } else {
        return (cell_t)x ^ (CELL_KIND <= CELL_MAX && T(-1) < T(0) ? SIGN_BIT : 0);
    }
}
template <class T> inline void from_key(cell_t key, T *to) {
    if constexpr (T(0.5f) != T(0)) {
        const bool is_not_a_number = !NAN_IS_IDENTITY && key == (CELL_KIND == CELL_MIN ? 0 : ALL_BITS);
        of_bits(is_not_a_number ? ALL_BITS >> 1 : key ^ (key & SIGN_BIT ? SIGN_BIT : ALL_BITS), to);
    } else {
        *to = (T)(key ^ (CELL_KIND <= CELL_MAX && T(-1) < T(0) ? SIGN_BIT : 0));
    }
}

inline cell_t of_two(cell_t a, cell_t b) {
    return CELL_KIND == CELL_MIN   ? (a < b ? a : b)
           : CELL_KIND == CELL_MAX ? (a > b ? a : b)
           : CELL_KIND == CELL_AND ? a & b
           : CELL_KIND == CELL_OR  ? a | b
                                   : a ^ b;
}
/* Most elements leave a minimum as it is; reading it costs nothing where many are of one group. Shared memory has atomic
 * operations on words of 32 bits, of which bits take two. */
inline void put(cell_t *cell, cell_t key) {
    if (CELL_KIND != CELL_XOR) {
        const cell_t before = peek_shared(cell);
        if (of_two(before, key) == before)
            return;
    }
    if (CELL_KIND == CELL_MIN)
        atomicMin(cell, key);
    if (CELL_KIND == CELL_MAX)
        atomicMax(cell, key);
    if constexpr (CELL_KIND > CELL_MAX)
#pragma unroll
        for (int w = 0; w < (int)sizeof(cell_t) / 4; w++) {
            uint32 *word = (uint32 *)cell + w;
            const uint32 bits = (uint32)(key >> 32 * w);
            if (CELL_KIND == CELL_XOR)
                atomicXor(word, bits);
            if (CELL_KIND == CELL_AND)
                atomicAnd(word, bits);
            if (CELL_KIND == CELL_OR)
                atomicOr(word, bits);
        }
}

/* The key of an empty group. With integers as wide as a cell an element may have it, too. */
inline cell_t nothing() {
    return !NEEDS_ELEMENTS ? key_of(identity_as<acc_t>().a0) : CELL_KIND == CELL_MIN ? ALL_BITS : 0;
}

/* The cells of all blocks. */
inline cell_t *cells_of(const label_sums_args &p) {
    return (cell_t *)p.partials;
}

struct cell_table {
    cell_t *cells;
    uint32 begin, groups;
    uint64 first_bad;

    /* Some neighbouring elements of the input, from i. */
    template <int Count>
    void add(const label_sums_args &p, const few<in_t, Count> &x, const few<index_t, Count> &label, uint64 i) {
        bool is_bad = false;
#pragma unroll
        for (int j = 0; j < Count; j++) {
            const index_t of = label.element[j];
            const bool is_good = sizeof(index_t) <= 4 ? (uint32)of < (uint32)p.groups : (uint64)of < p.groups;
            const uint32 g = (uint32)of - begin;
            const cell_t key = key_of(lift_as<acc_t>(value_of(x.element[j]), value_t(0), i + j).a0);
            if ((sizeof(index_t) <= 4 || is_good) && g < groups)
                put(cells + g, key);
            is_bad |= !is_good;
        }
        if (is_bad)
#pragma unroll
            for (int j = 0; j < Count; j++)
                first_bad = (uint64)label.element[j] >= p.groups && i + j < first_bad ? i + j : first_bad;
    }
};

extern "C" __global__ void __launch_bounds__(WORD_THREADS, 1) fill_cells(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
    extern __shared__ __align__(16) uint8 cell_memory[];
    const uint32 part = blockIdx.x % p.parts, chunk = blockIdx.x / p.parts, begin = part * p.width;
    const uint32 groups = begin >= p.groups ? 0 : p.groups - begin < p.width ? (uint32)p.groups - begin : p.width;
    cell_table table = {(cell_t *)cell_memory, begin, groups, ~0ull};
    for (uint32 g = threadIdx.x; g < p.width; g += WORD_THREADS)
        table.cells[g] = nothing();
    __syncthreads();
    const uint64 me = chunk * (uint64)WORD_THREADS + threadIdx.x, stride = p.chunks * WORD_THREADS;
    take_labelled<CELL_WIDTH, CELL_AHEAD, false, false>(
        p, me, stride, [&](const auto &x, const auto &label, uint64 i) { table.add(p, x, label, i); });
    __syncthreads();
    for (uint32 g = threadIdx.x; g < groups; g += WORD_THREADS)
        cells_of(p)[chunk * p.groups + begin + g] = table.cells[g];
    if (part == 0 && !p.skips && table.first_bad != ~0ull) {
        atomicOr(&p.told->refused, 1u);
        atomicMax(&p.told->not_bad, ~table.first_bad);
    }
}

/* Some lanes of a warp for each group. */
extern "C" __global__ void __launch_bounds__(BLOCK) fold_cells(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
    if (p.told->refused)
        return;
    const uint64 each = gridDim.x * (uint64)(BLOCK / p.lanes), turns = (p.groups + each - 1) / each;
    for (uint64 turn = 0; turn < turns; turn++) {
        const uint64 g = (turn * gridDim.x + blockIdx.x) * (BLOCK / p.lanes) + threadIdx.x / p.lanes;
        cell_t key = nothing();
#pragma unroll 4
        for (uint64 k = threadIdx.x % p.lanes; k < p.chunks && g < p.groups; k += p.lanes)
            key = of_two(key, cells_of(p)[k * p.groups + g]);
        for (uint32 d = 1; d < p.lanes; d *= 2)
            key = of_two(key, from_across(key, d));
        if (g < p.groups && threadIdx.x % p.lanes == 0) {
            cells_of(p)[g] = key;
            if (NEEDS_ELEMENTS && key == nothing())
                atomicOr(&p.window->failed, 1u);
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) give_cells(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
    if (p.told->refused || p.window->failed)
        return;
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < p.groups; g += gridDim.x * (uint64)BLOCK) {
        acc_t acc;
        from_key(cells_of(p)[g], &acc.a0);
        store(p.out + g, lower(acc, 0, 0));
    }
}
