/* Scans along a short axis: arrays of outer x extent x inner with an extent of a few. A tile is whole slabs, which are
 * one run of consecutive elements, or, of larger slabs, neighbouring columns, which are a run for each row. Runs pass
 * through shared memory, so that memory is read and written in whole vectors wherever they begin; there each thread
 * scans columns by itself, or some neighbouring lanes share a column. */

enum {
    STAGED = SLAB_SCAN_BYTES + 32,                /* and what lies behind the last vector */
    SKEWED = STAGED + (STAGED / 128 + 1) * 16     /* as 'skewed' lays it out */
};

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

/* The 16 bytes at an address, of which only those before 'end' and not before 'begin' may be read. */
inline uint4 load_within(uint64 from, uint64 begin, uint64 end) {
    const uint64 low = from & ~15ull;
    if (low == from && from + 16 <= end)
        return __ldcs((const uint4 *)from);
    if (low >= begin && low + 32 <= end)
        return load_straddling((const void *)from);
    uint8 bytes[16];
#pragma unroll
    for (int b = 0; b < 16; b++)
        bytes[b] = from + b < end ? *(const uint8 *)(from + b) : (uint8)0;
    uint4 bits;
    memcpy(&bits, bytes, 16);
    return bits;
}

inline void load_runs(const scan_slabs_args &p, const slab_tile &t, const in_t *array, uint8 *memory) {
    const uint64 begin = (uint64)array, end = (uint64)(array + p.outer * p.extent * p.inner);
    const uint32 vectors = (t.length * (uint32)sizeof(in_t) + 15) / 16, pitch = t.pitch * (uint32)sizeof(in_t);
#pragma unroll 2
    for (uint32 i = threadIdx.x; i < t.runs * vectors; i += BLOCK) {
        const uint32 run = t.runs == 1 ? 0 : i / vectors, byte = (i - run * vectors) * 16;
        *(uint4 *)skewed(memory, run * pitch + byte) =
            load_within((uint64)(array + t.at + run * p.inner) + byte, begin, end);
    }
}

/* What a vector of memory takes of a run: all of it, or some results at an end. 'byte' is the vector's first, among the
 * run's. */
inline void store_part(uint8 *memory, uint32 run, uint64 to, int64 byte, int64 bytes) {
    if (byte >= 0 && byte + 16 <= bytes) {
        const uint32 from = run + (uint32)byte, shift = from & 15;
        uint4 bits = *(const uint4 *)skewed(memory, from - shift);
        if (shift)
            bits = straddling(bits, *(const uint4 *)skewed(memory, from - shift + 16), shift);
        __stcs((uint4 *)to, bits);
        return;
    }
    const int64 first = byte < 0 ? 0 : byte, last = byte + 16 < bytes ? byte + 16 : bytes;
    if ((to - byte & sizeof(result_t) - 1) == 0)
        for (int64 b = first; b < last; b += sizeof(result_t))
            *(result_t *)(to + (b - byte)) = *(const result_t *)skewed(memory, run + (uint32)b);
    else
        for (int64 b = first; b < last; b++)
            *(uint8 *)(to + (b - byte)) = *skewed(memory, run + (uint32)b);
}

inline void store_runs(const scan_slabs_args &p, const slab_tile &t, uint8 *memory) {
    const uint32 bytes = t.length * (uint32)sizeof(result_t), pitch = t.pitch * (uint32)sizeof(result_t);
    const uint32 vectors = (bytes + 30) / 16; /* that a run may lie in */
#pragma unroll 2
    for (uint32 i = threadIdx.x; i < t.runs * vectors; i += BLOCK) {
        const uint32 run = t.runs == 1 ? 0 : i / vectors, at = (i - run * vectors) * 16;
        const uint64 begin = (uint64)(p.out + t.at + run * p.inner), shift = begin & 15;
        if (at < shift + bytes)
            store_part(memory, run * pitch, begin - shift + at, (int64)at - (int64)shift, bytes);
    }
}

/* A column, in a tile in shared memory. */
struct slab_column {
    const uint8 *x, *y;
    uint8 *out;
    uint64 before;
    uint32 first, step, extent; /* the element in row 0, elements from a row to the next, rows */
    acc_t base;
    bool has_base;

    /* The sum that rows behind 'before' are added to, and that of all rows. Those of variances begin with the base, so
     * that results need no accumulator. */
    acc_t behind(const acc_t &before) const {
        return MOMENTS && has_base ? combine(base, before) : before;
    }
    acc_t total(const acc_t &run) const {
        return !MOMENTS && has_base ? combine(base, run) : run;
    }
    result_t result(const running<acc_t> &sum, uint64 count) const {
        return !MOMENTS && has_base ? lower(combine(base, sum.sum()), count, 0) : sum.result(count);
    }
    /* Adds rows [from, to), in logical order, to 'run', and if Writes writes their results. */
    template <bool Writes> acc_t scan(acc_t run, uint32 from, uint32 to) const {
        running<acc_t> sum = run;
#pragma unroll 4
        for (uint32 logical = from; logical < to; logical++) {
            const uint32 row = REVERSE ? extent - 1 - logical : logical, e = first + row * step;
            const value_t value = value_of(*(const in_t *)skewed((uint8 *)x, e * (uint32)sizeof(in_t)));
            const value_t second =
                HAS_SECOND ? value_of(*(const in_t *)skewed((uint8 *)y, e * (uint32)sizeof(in_t))) : value_t(0);
            result_t *to_write = (result_t *)skewed(out, e * (uint32)sizeof(result_t));
            if (Writes && !INCLUSIVE)
                *to_write = result(sum, before + logical);
            sum.add_next(value, second, before + row);
            if (Writes && INCLUSIVE)
                *to_write = result(sum, before + logical + 1);
            if ((logical - from) % SETTLING == SETTLING - 1)
                sum.settle();
        }
        return sum.sum();
    }
};

inline slab_column slab_column_of(const scan_slabs_args &p, const slab_tile &t, uint8 *x, uint8 *y, uint8 *out,
                                  uint32 number) {
    const uint32 inner = (uint32)p.inner, extent = (uint32)p.extent;
    slab_column c = {x, y, out, p.before, number, p.slabs ? inner : t.pitch, extent, identity_as<acc_t>(),
                     p.carry || p.initial};
    if (p.slabs && extent > 1)
        c.first += (inner == 1 ? number : number / inner) * inner * (extent - 1);
    if (c.has_base)
        c.base = p.carry ? p.carry[t.column + number].read() : raise(load(p.initial));
    return c;
}

/* A thread for each column. */
inline void scan_slab_columns(const scan_slabs_args &p, const slab_tile &t, uint8 *x, uint8 *y, uint8 *out) {
    for (uint32 number = threadIdx.x; number < t.columns; number += BLOCK) {
        const slab_column c = slab_column_of(p, t, x, y, out, number);
        const acc_t run = c.scan<true>(c.behind(identity_as<acc_t>()), 0, c.extent);
        if (p.total)
            p.total[t.column + number].write(c.total(run));
    }
}

/* Neighbouring lanes share a column: each takes some rows. */
inline void scan_shared_columns(const scan_slabs_args &p, const slab_tile &t, uint8 *x, uint8 *y, uint8 *out) {
    const uint32 lanes = 1u << p.part_bits, lane = threadIdx.x & (lanes - 1), all = t.columns << p.part_bits;
    for (uint32 i = threadIdx.x; i < (all + WARP - 1) / WARP * WARP; i += BLOCK) { /* all lanes: they shuffle */
        const bool works = i < all;
        const slab_column c = slab_column_of(p, t, x, y, out, works ? i >> p.part_bits : 0);
        const uint32 end = (lane + 1) * p.rows < c.extent ? (lane + 1) * p.rows : c.extent, from = lane * p.rows;
        acc_t sum = works ? c.scan<false>(identity_as<acc_t>(), from, end) : identity_as<acc_t>();
        for (uint32 d = 1; d < lanes; d *= 2) {
            const acc_t left = from_below(sum, d);
            if (lane >= d)
                sum = combine(left, sum);
        }
        acc_t run = from_below(sum, 1);
        if (lane == 0)
            run = identity_as<acc_t>();
        if (!works || from >= end)
            continue;
        run = c.scan<true>(c.behind(run), from, end);
        if (p.total && end == c.extent)
            p.total[t.column + (i >> p.part_bits)].write(c.total(run));
    }
}

enum { /* a processor: before sm_80 it holds 1024 threads */
    SLAB_BLOCKS = sizeof(acc_t) > 32 ? 1 : sizeof(acc_t) > 8 || TALLY_ARCHITECTURE < 80 ? 4 : 6
};

extern "C" __global__ void __launch_bounds__(BLOCK, SLAB_BLOCKS) scan_slabs(scan_slabs_args p) {
    __shared__ alignas(16) uint8 memory[2 + HAS_SECOND][SKEWED];
    uint8 *const x = memory[0], *const out = memory[1], *const y = memory[HAS_SECOND ? 2 : 0];
    for (uint64 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
        const slab_tile t = slab_tile_at(p, number);
        load_runs(p, t, p.x, x);
        if (HAS_SECOND)
            load_runs(p, t, p.y, y);
        __syncthreads();
        p.part_bits ? scan_shared_columns(p, t, x, y, out) : scan_slab_columns(p, t, x, y, out);
        __syncthreads();
        store_runs(p, t, out);
    }
}
