/* Reductions of many small slabs, each of extent x inner consecutive elements: short rows (inner == 1) and short
 * columns. A tile of whole slabs passes through shared memory, so that memory is read in whole vectors for any extent;
 * then one thread, or a few neighbouring ones, fold each column. The next tile is loaded meanwhile. */

enum {
    SLAB_LOADS = 4,                      /* vectors of a tile that each thread loads */
    SLAB_TILE = BLOCK * SLAB_LOADS * 16, /* bytes */
    /* Bytes left out after each 128, which are once around the banks; otherwise slabs whose size is a power of two
     * would all begin in one bank. */
    PAD = sizeof(in_t) > 4 ? sizeof(in_t) : 4,
    STAGED = SLAB_TILE + SLAB_TILE / 128 * PAD,
};

/* Where lanes meet in no bank without them, there are no PADs, so that an element costs no computation of its place. */
template <bool Padded> inline uint8 *staged_at(uint8 *memory, uint32 byte) {
    return memory + byte + (Padded ? byte / 128 * PAD : 0);
}

struct slab_tile {
    uint64 first; /* slab */
    uint32 slabs;
    uint32 count; /* elements */
};

inline slab_tile slab_tile_at(const slabs_args &p, uint64 number) {
    slab_tile t = {number * p.slabs_a_tile, p.slabs_a_tile, 0};
    if (t.first + t.slabs > p.slabs)
        t.slabs = (uint32)(p.slabs - t.first);
    t.count = t.slabs * p.extent * p.inner;
    return t;
}

/* A thread's part of a tile that is being loaded, in vectors of memory: 'shift' elements of the tile's first vector lie
 * before the tile, and some of the last one after it. */
struct flight {
    uint4 vector[SLAB_LOADS];

    static uint32 shift_of(const in_t *from) {
        return (uint64)from % sizeof(in_t) == 0 ? (uint32)((uint64)from % 16 / sizeof(in_t)) : 0;
    }
    void load_from(const in_t *from, uint32 count) {
        uint32 shift = shift_of(from);
        bool whole = ((uint64)(from - shift) & 15) == 0;
#pragma unroll
        for (int v = 0; v < SLAB_LOADS; v++) {
            int first = (int)((threadIdx.x + v * BLOCK) * VECTOR) - (int)shift;
            if (whole && first >= 0 && first + VECTOR <= (int)count)
                vector[v] = __ldcs((const uint4 *)(from + first));
            else if (first < (int)count)
                vector[v] = load_some(from, first, (int)count);
        }
    }
    static uint4 load_some(const in_t *from, int first, int count) {
        in_t few[VECTOR] = {};
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            if (first + k >= 0 && first + k < count)
                few[k] = load(from + first + k);
        uint4 bits;
        memcpy(&bits, few, 16);
        return bits;
    }
    void put(uint8 *memory, bool is_padded) const {
#pragma unroll
        for (int v = 0; v < SLAB_LOADS; v++) {
            const uint32 at = (threadIdx.x + v * BLOCK) * 16;
            if (!is_padded) {
                *(uint4 *)(memory + at) = vector[v];
                continue;
            }
            uint32 *to = (uint32 *)staged_at<true>(memory, at);
            to[0] = vector[v].x;
            to[1] = vector[v].y;
            to[2] = vector[v].z;
            to[3] = vector[v].w;
        }
    }
};

struct staged_tile {
    uint8 *x, *y;
    uint32 shift_x, shift_y;
};

template <bool Padded> inline value_t staged_element(uint8 *memory, uint32 e) {
    return value_of(*(const in_t *)staged_at<Padded>(memory, e * (uint32)sizeof(in_t)));
}

/* What a lane adds of a column. */
#if IS_LOGSUMEXP
typedef exponentials_below part_sum;
#else
typedef brief<lane_t> part_sum;
#endif

/* Adds rows [row, end) of a column that starts at element 'at' of the tile. They are few enough for one lane. */
template <bool Rows, bool Padded>
inline void add_part(const slabs_args &p, const staged_tile &s, uint32 at, uint32 row, uint32 end, part_sum &sum) {
#if IS_LOGSUMEXP
    term_t next = least_term();
#pragma unroll 4
    for (uint32 r = row; r < end; r++)
        next = larger(next, (term_t)staged_element<Padded>(s.x, s.shift_x + at + r * (Rows ? 1 : p.inner)));
    sum.raise(next);
#pragma unroll 4
    for (; row < end; row++)
        sum.append(staged_element<Padded>(s.x, s.shift_x + at + row * (Rows ? 1 : p.inner)), value_t(0), row);
#else
#pragma unroll IS_LARGE ? 1 : 4
    for (; row < end; row++) {
        const uint32 e = at + row * (Rows ? 1 : p.inner);
        sum.add(staged_element<Padded>(s.x, s.shift_x + e),
                HAS_SECOND ? staged_element<Padded>(s.y, s.shift_y + e) : value_t(0), row);
    }
#endif
}

/* What the first lane of a column stores; all lanes of the warp call this. */
inline result_t result_of_parts(part_sum &sum, uint32 part, uint32 parts, uint32 extent) {
#if MOMENTS == 2 && !SKIPS_NAN
    for (uint32 d = 1; d < parts; d *= 2) /* a lane that adds values of another column is not read any more */
        sum.add_from([=](auto value) { return from_above(value, d); });
    return sum.result(extent);
#elif IS_LOGSUMEXP
    const term_t own = sum.largest;
    for (uint32 d = 1; d < parts; d *= 2)
        sum.largest = larger(sum.largest, from_across(sum.largest, d));
    sum.of_largest *= power_below(own, sum.largest);
    for (uint32 d = 1; d < parts; d *= 2)
        sum.of_largest += from_across(sum.of_largest, d);
    return lower(widen(sum.sum()), extent, 0);
#else
    acc_t acc = widen(sum.sum());
    for (uint32 d = 1; d < parts; d *= 2) {
        const acc_t next = from_above(acc, d);
        if ((part & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return lower(acc, extent, 0);
#endif
}

/* Rows: inner is 1. Alone: each column has one thread. Both are constants, so that no division and no shuffle is left.
 */
template <bool Rows, bool Alone, bool Padded>
inline void fold_slab_tile(const slabs_args &p, const slab_tile &t, const staged_tile &s) {
    uint32 inner = Rows ? 1 : p.inner, part_bits = Alone ? 0 : p.part_bits, parts = 1u << part_bits;
    uint32 columns = t.slabs * inner, each = (p.extent + parts - 1) >> part_bits;
    result_t *out = p.out + t.first * inner;
    for (uint32 base = 0; base < columns << part_bits; base += BLOCK) { /* all threads: warps shuffle */
        uint32 column = (base + threadIdx.x) >> part_bits, part = threadIdx.x & (parts - 1);
        uint32 slab = Rows ? column : column / inner, at = slab * p.extent * inner + column - slab * inner;
        uint32 row = part * each, end = row + each < p.extent ? row + each : p.extent;
        part_sum sum;
#if MOMENTS == 2 && !SKIPS_NAN /* all lanes of a column add distances from one number, without a division for each */
        if (column < columns)
            sum.begin(staged_element<Padded>(s.x, s.shift_x + at));
#endif
        if (column < columns)
            add_part<Rows, Padded>(p, s, at, row, end, sum);
        const result_t result = result_of_parts(sum, part, parts, p.extent);
        if (part == 0 && column < columns)
            store(out + column, result);
    }
}

template <bool Padded> inline void fold_any_slab_tile(const slabs_args &p, const slab_tile &t, const staged_tile &s) {
    if (p.inner > 1)
        fold_slab_tile<false, false, Padded>(p, t, s);
    else if (p.part_bits)
        fold_slab_tile<true, false, Padded>(p, t, s);
    else
        fold_slab_tile<true, true, Padded>(p, t, s);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 4) fold_slabs(slabs_args p) {
    __shared__ alignas(16) uint8 memory[1 + HAS_SECOND][STAGED];
    const uint64 slab = (uint64)p.extent * p.inner;
    const bool is_padded = sizeof(in_t) >= 4 || p.is_padded; /* wide elements always: any of f32 took 1.06 of the time */
    prepare_powers();
    flight x, y;
    auto load_tile = [&](uint64 number) {
        if (number >= p.tiles)
            return;
        slab_tile t = slab_tile_at(p, number);
        x.load_from(p.x + t.first * slab, t.count);
        if (HAS_SECOND)
            y.load_from(p.y + t.first * slab, t.count);
    };
    load_tile(blockIdx.x);
    for (uint64 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
        slab_tile t = slab_tile_at(p, number);
        staged_tile s = {memory[0], memory[HAS_SECOND], flight::shift_of(p.x + t.first * slab), 0};
        x.put(s.x, is_padded);
        if (HAS_SECOND) {
            s.shift_y = flight::shift_of(p.y + t.first * slab);
            y.put(s.y, is_padded);
        }
        __syncthreads();
        load_tile(number + gridDim.x);
        if (is_padded)
            fold_any_slab_tile<true>(p, t, s);
        else
            fold_any_slab_tile<sizeof(in_t) >= 4>(p, t, s);
        __syncthreads();
    }
}
