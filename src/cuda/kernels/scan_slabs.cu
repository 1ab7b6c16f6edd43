/* Scans along a short axis: arrays of outer x extent x inner with an extent of a few. A tile is whole slabs, which are
 * one run of consecutive elements, or, of larger slabs, neighbouring columns, which are a run for each row. Runs pass
 * through shared memory, so that memory is read and written in whole vectors wherever they begin; there each thread
 * scans columns by itself, or some neighbouring lanes share a column. */

enum {
    ELEMENTS = SLAB_SCAN_BYTES / (sizeof(in_t) + sizeof(result_t)), /* of a tile at most */
    VECTORS_OF_THREAD = (ELEMENTS * sizeof(in_t) / 16 + 2 + BLOCK - 1) / BLOCK
};
/* What a tile's elements or results of so many bytes take, with what lies behind the last vector, as 'skewed' lays it
 * out. */
constexpr int staged(int size) {
    return (ELEMENTS * size + 32) / 128 * 144 + 160;
}

/* Room for a vector is left out after each 128 bytes, which are once around the banks; otherwise slabs whose size is a
 * power of two would all begin in one bank. */
inline uint8 *skewed(uint8 *memory, uint32 byte) {
    return memory + byte + byte / 128 * 16;
}

struct slab_tile {
    uint64 column;  /* the first, of outer x inner */
    uint64 at;      /* its physically lowest element */
    uint32 columns;
    uint32 runs;
    uint32 length;  /* elements of a run */
    uint32 pitch;   /* elements from a run to the next in shared memory, where they are whole vectors */
};
inline slab_tile slab_tile_at(const scan_slabs_args &p, uint64 number) {
    slab_tile t;
    if (p.slabs) {
        const uint64 first = number * p.slabs, left = p.outer - first;
        t.columns = (uint32)((left < p.slabs ? left : p.slabs) * p.inner);
        t.column = first * p.inner;
        t.at = t.column * p.extent;
        t.runs = 1;
        t.length = t.columns * (uint32)p.extent;
        t.pitch = 0;
    } else {
        const uint64 slab = number / p.panels, column = (number - slab * p.panels) * p.panel, left = p.inner - column;
        t.columns = t.length = left < p.panel ? (uint32)left : p.panel;
        t.column = slab * p.inner + column;
        t.at = slab * p.extent * p.inner + column;
        t.runs = (uint32)p.extent;
        t.pitch = p.panel;
    }
    return t;
}

template <class T> inline uint32 slab_shift(const T *array, const slab_tile &t) {
    return t.runs == 1 ? (uint32)(uint64)(array + t.at) & (16 - (uint32)sizeof(T)) : 0;
}

/* Where a tile's runs lie: in memory, and in shared memory. A single run begins there as far behind a multiple of 16 as
 * it does in memory, so that vectors pass as they are; others begin with a vector. */
template <class T> struct slab_runs {
    uint64 first;    /* the address of the first element */
    uint64 apart;    /* bytes from a run to the next */
    uint32 runs;
    uint32 bytes;    /* of a run */
    uint32 pitch;    /* bytes from a run to the next in shared memory */
    uint32 shift;    /* of the first element there, a multiple of its size */
    uint32 vectors;  /* that a run may lie in */

    slab_runs(const scan_slabs_args &p, const slab_tile &t, const T *array) {
        first = (uint64)(array + t.at);
        apart = p.inner * sizeof(T);
        runs = t.runs;
        bytes = t.length * (uint32)sizeof(T);
        pitch = t.pitch * (uint32)sizeof(T);
        shift = slab_shift(array, t);
        vectors = (bytes + (runs == 1 ? (uint32)first & 15 : 15) + 15) / 16;
    }
    /* Calls use(run, byte) for each vector that may have some of a run's bytes. */
    template <class Use> void each(Use use) const {
        if (runs == 1) {
#pragma unroll 2
            for (uint32 v = threadIdx.x; v < vectors; v += BLOCK)
                use(0, v * 16);
        } else {
            const float of_vectors = 1 / (float)vectors;
#pragma unroll 1
            for (uint32 i = threadIdx.x; i < runs * vectors; i += BLOCK) {
                const uint32 run = (uint32)(((float)i + 0.5f) * of_vectors); /* both are small */
                use(run, (i - run * vectors) * 16);
            }
        }
    }
};

/* The 16 bytes at an address, of which only those before 'end' and not before 'begin' may be read. */
__noinline__ uint4 load_within(uint64 from, uint64 begin, uint64 end) {
    uint8 bytes[16];
#pragma unroll 1
    for (int b = 0; b < 16; b++)
        bytes[b] = from + b >= begin && from + b < end ? *(const uint8 *)(from + b) : (uint8)0;
    uint4 bits;
    memcpy(&bits, bytes, 16);
    return bits;
}

/* A tile's elements on their way to shared memory. Those of whole slabs are loaded before the tile is needed, all
 * vectors of a thread together. */
struct slab_load {
    uint4 bits[VECTORS_OF_THREAD];
    bool is_begun;

    void begin(const scan_slabs_args &p, const slab_tile &t, const in_t *array) {
        const slab_runs<in_t> r(p, t, array);
        const uint64 from = r.first - r.shift;
        is_begun = r.runs == 1 && from % 16 == 0 && is_inside(p, r, array);
        if (is_begun)
#pragma unroll
            for (int k = 0; k < VECTORS_OF_THREAD; k++)
                if (threadIdx.x + k * BLOCK < r.vectors)
                    bits[k] = __ldcs((const uint4 *)from + threadIdx.x + k * BLOCK);
    }
    void end(const scan_slabs_args &p, const slab_tile &t, const in_t *array, uint8 *memory) const {
        const slab_runs<in_t> r(p, t, array);
        const uint64 from = r.first - r.shift, low = (uint64)array,
                     high = (uint64)(array + p.outer * p.extent * p.inner);
        if (is_begun) {
#pragma unroll
            for (int k = 0; k < VECTORS_OF_THREAD; k++)
                if (threadIdx.x + k * BLOCK < r.vectors)
                    *(uint4 *)skewed(memory, (threadIdx.x + k * BLOCK) * 16) = bits[k];
        } else if (is_inside(p, r, array)) {
            r.each([&](uint32 run, uint32 byte) {
                const uint64 at = from + run * r.apart + byte;
                if (byte < r.shift + r.bytes)
                    *(uint4 *)skewed(memory, run * r.pitch + byte) =
                        at & 15 ? load_straddling((const void *)at) : __ldcs((const uint4 *)at);
            });
        } else {
            r.each([&](uint32 run, uint32 byte) {
                if (byte < r.shift + r.bytes)
                    *(uint4 *)skewed(memory, run * r.pitch + byte) =
                        load_within(from + run * r.apart + byte, low, high);
            });
        }
    }
    /* Whether all vectors that hold some of the tile are in the array. */
    static bool is_inside(const scan_slabs_args &p, const slab_runs<in_t> &r, const in_t *array) {
        return r.first >= (uint64)array + 16 &&
               r.first + (r.runs - 1) * r.apart + r.bytes + 48 <= (uint64)(array + p.outer * p.extent * p.inner);
    }
};

/* Writes whole vectors of memory, and of those at a run's ends the results that are the run's. */
inline void store_runs(const scan_slabs_args &p, const slab_tile &t, uint8 *memory) {
    const slab_runs<result_t> r(p, t, p.out);
    r.each([&](uint32 run, uint32 byte) {
        const uint64 begin = r.first + run * r.apart, to = (begin & ~15ull) + byte;
        const int32 of_run = (int32)(byte - ((uint32)begin & 15)), bytes = (int32)r.bytes; /* the vector's first byte */
        const uint32 from = run * r.pitch + r.shift + of_run, apart = from & 15;
        if (of_run >= 0 && of_run + 16 <= bytes) {
            uint4 bits = *(const uint4 *)skewed(memory, from - apart);
            if (apart)
                bits = straddling(bits, *(const uint4 *)skewed(memory, from - apart + 16), apart);
            __stcs((uint4 *)to, bits);
            return;
        }
        const int32 size = (int32)sizeof(result_t), end = of_run + 16 < bytes ? of_run + 16 : bytes;
#pragma unroll 1
        for (int32 at = of_run < 0 ? 0 : of_run / size * size; at < end; at += size)
            store((result_t *)(begin + at), *(const result_t *)skewed(memory, run * r.pitch + r.shift + at));
    });
}

/* A column, in a tile in shared memory. */
struct slab_column {
    uint8 *x, *y, *out;
    uint64 before;
    uint32 x_at, y_at, out_at; /* the bytes at which its elements in row 0 lie */
    uint32 step, extent;       /* elements from a row to the next, rows */
    acc_t base;
    bool has_base;

    /* The sum that rows behind 'before' are added to. It begins with the base, so that results need no other sum. */
    acc_t behind(const acc_t &before) const {
        return has_base ? combine(base, before) : before;
    }
    const in_t *element(uint8 *memory, uint32 at, uint32 row) const {
        return (const in_t *)skewed(memory, at + row * (step * (uint32)sizeof(in_t)));
    }
    value_t value_in(uint32 logical) const {
        return value_of(*element(x, x_at, REVERSE ? extent - 1 - logical : logical));
    }
    /* Adds rows [from, to), in logical order, to 'sum', and if Writes writes their results. */
    template <bool Writes> short_running scan(short_running sum, uint32 from, uint32 to) const {
        sum.begin(value_in(from));
#pragma unroll 4
        for (uint32 logical = from; logical < to; logical++) {
            const uint32 row = REVERSE ? extent - 1 - logical : logical;
            const value_t value = value_of(*element(x, x_at, row));
            const value_t second = HAS_SECOND ? value_of(*element(y, y_at, row)) : value_t(0);
            result_t *to_write = (result_t *)skewed(out, out_at + row * (step * (uint32)sizeof(result_t)));
            if (Writes && !INCLUSIVE)
                *to_write = sum.result(before + logical);
            sum.add_next(value, second, before + row);
            if (Writes && INCLUSIVE)
                *to_write = sum.result(before + logical + 1);
            if ((logical - from) % SETTLING == SETTLING - 1)
                sum.settle();
        }
        return sum;
    }
};

inline slab_column slab_column_of(const scan_slabs_args &p, const slab_tile &t, uint8 *x, uint8 *y, uint8 *out,
                                  uint32 number) {
    const uint32 inner = (uint32)p.inner, extent = (uint32)p.extent;
    const uint32 first = !p.slabs || extent == 1 ? number : number + number / inner * inner * (extent - 1);
    slab_column c;
    c.x = x;
    c.y = y;
    c.out = out;
    c.before = p.before;
    c.x_at = slab_shift(p.x, t) + first * (uint32)sizeof(in_t);
    c.y_at = HAS_SECOND ? slab_shift(p.y, t) + first * (uint32)sizeof(in_t) : 0;
    c.out_at = slab_shift(p.out, t) + first * (uint32)sizeof(result_t);
    c.step = p.slabs ? inner : t.pitch;
    c.extent = extent;
    c.base = identity_as<acc_t>();
    c.has_base = p.carry || p.initial;
    if (c.has_base)
        c.base = p.carry ? p.carry[t.column + number].read() : raise(load(p.initial));
    return c;
}

/* A thread for each column. */
inline void scan_slab_columns(const scan_slabs_args &p, const slab_tile &t, uint8 *x, uint8 *y, uint8 *out) {
    for (uint32 number = threadIdx.x; number < t.columns; number += BLOCK) {
        const slab_column c = slab_column_of(p, t, x, y, out, number);
        const short_running run = c.scan<true>(c.behind(identity_as<acc_t>()), 0, c.extent);
        if (p.total)
            p.total[t.column + number].write(run.sum());
    }
}

/* What a lane's rows are added to: the sum of the rows that the lanes below it have of the column. All lanes call this.
 */
inline short_running sum_below(const slab_column &c, uint32 lane, uint32 lanes, uint32 from, uint32 end) {
#if MOMENTS == 2 && !SKIPS_NAN
    /* Plain sums, relative to the column's first element: each is of rows that begin with that. */
    short_running sum;
    sum.begin(c.value_in(0));
#pragma unroll 4
    for (uint32 logical = from; logical < end; logical++)
        sum.add_from_shift(c.value_in(logical));
    for (uint32 d = 1; d < lanes; d *= 2)
        sum.add_from([=](auto value) {
            const auto left = from_below(value, d);
            return lane >= d ? left : 0;
        });
    short_running below = sum;
    below.move_from([=](auto value) {
        const auto left = from_below(value, 1);
        return lane ? left : 0;
    });
    below.settle();
    return c.has_base ? short_running(c.behind(below.sum())) : below;
#else
    acc_t sum = from < end ? c.scan<false>(identity_as<acc_t>(), from, end).sum() : identity_as<acc_t>();
    for (uint32 d = 1; d < lanes; d *= 2) {
        const acc_t left = from_below(sum, d);
        if (lane >= d)
            sum = combine(left, sum);
    }
    const acc_t below = from_below(sum, 1);
    return c.behind(lane ? below : identity_as<acc_t>());
#endif
}

/* Neighbouring lanes share a column: each takes some rows. */
inline void scan_shared_columns(const scan_slabs_args &p, const slab_tile &t, uint8 *x, uint8 *y, uint8 *out) {
    const uint32 lanes = 1u << p.part_bits, lane = threadIdx.x & (lanes - 1), all = t.columns << p.part_bits;
    for (uint32 i = threadIdx.x; i < (all + WARP - 1) / WARP * WARP; i += BLOCK) { /* all lanes: they shuffle */
        const bool works = i < all;
        const slab_column c = slab_column_of(p, t, x, y, out, works ? i >> p.part_bits : 0);
        const uint32 end = (lane + 1) * p.rows < c.extent ? (lane + 1) * p.rows : c.extent, from = lane * p.rows;
        short_running run = sum_below(c, lane, lanes, from, works ? end : from);
        if (!works || from >= end)
            continue;
        run = c.scan<true>(run, from, end);
        if (p.total && end == c.extent)
            p.total[t.column + (i >> p.part_bits)].write(run.sum());
    }
}

enum { /* a processor: before sm_80 it holds 1024 threads */
    SLAB_BLOCKS = sizeof(acc_t) > 32 ? 1 : sizeof(acc_t) > 8 || TALLY_ARCHITECTURE < 80 ? 4 : HAS_SECOND ? 5 : 6,
    /* The next tile is loaded before this one is scanned. Narrow accumulators have no registers to spare for that. */
    LOADS_AHEAD = sizeof(acc_t) > 8
};

extern "C" __global__ void __launch_bounds__(BLOCK, SLAB_BLOCKS) scan_slabs(scan_slabs_args p) {
    enum { OF_ELEMENTS = staged(sizeof(in_t)), OF_INPUTS = (1 + HAS_SECOND) * OF_ELEMENTS };
    __shared__ alignas(16) uint8 memory[OF_INPUTS + staged(sizeof(result_t))];
    uint8 *const x = memory, *const y = memory + (OF_INPUTS - OF_ELEMENTS), *const out = memory + OF_INPUTS;
    slab_load of_x, of_y;
    const auto begin = [&](const slab_tile &t) {
        of_x.begin(p, t, p.x);
        if (HAS_SECOND)
            of_y.begin(p, t, p.y);
    };
    if (LOADS_AHEAD)
        begin(slab_tile_at(p, blockIdx.x));
    for (uint64 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
        const slab_tile t = slab_tile_at(p, number);
        if (!LOADS_AHEAD)
            begin(t);
        of_x.end(p, t, p.x, x);
        if (HAS_SECOND)
            of_y.end(p, t, p.y, y);
        __syncthreads();
        if (LOADS_AHEAD && number + gridDim.x < p.tiles)
            begin(slab_tile_at(p, number + gridDim.x));
        p.part_bits ? scan_shared_columns(p, t, x, y, out) : scan_slab_columns(p, t, x, y, out);
        __syncthreads();
        store_runs(p, t, out);
    }
}
