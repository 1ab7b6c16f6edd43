/* Scans along an axis whose elements do not lie next to each other: arrays of outer x extent x inner with inner > 1. A
 * thread takes a stretch of 'chunk' rows of 'width' columns, and neighbouring threads take neighbouring columns. With
 * one chunk that is all. With more, launches of their own sum the chunks and scan the sums, which reads the input
 * twice. */

template <int Width> struct stretch {
    enum { AHEAD = sizeof(acc_t) > 32 ? 1 : Width > 1 ? 4 : 8 }; /* rows whose loads are under way together */
    uint64 column; /* the first, of outer x inner */
    uint64 chunk;
    uint64 first, count; /* rows, logical */
    uint64 at;           /* element of row 0 */
    bool aligned;        /* x and y can be loaded Width elements at a time */
};

/* The stretches of a launch, numbered with the columns running fastest. */
template <int Width> inline bool stretch_at(const scan_columns_args &p, uint64 number, stretch<Width> *s) {
    uint64 columns = p.outer * p.inner, across = columns / Width;
    if (number >= across * p.chunks)
        return false;
    s->chunk = p.chunks > 1 ? quotient(number, across) : 0;
    s->column = (number - s->chunk * across) * Width;
    s->first = s->chunk * p.chunk;
    if (SIZE_ON_DEVICE && s->first > p.extent)
        s->first = p.extent; /* the stretch has no rows */
    s->count = p.extent - s->first < p.chunk ? p.extent - s->first : p.chunk;
    const uint64 slab = p.outer == 1 ? 0 : quotient(s->column, p.inner);
    s->at = s->column + slab * (p.extent - 1) * p.inner;
    s->aligned = (((uint64)(p.x + s->at) | (uint64)(HAS_SECOND ? p.y + s->at : nullptr)) &
                  (Width * sizeof(in_t) - 1)) == 0;
    return true;
}

inline uint64 row_of(const scan_columns_args &p, uint64 logical) {
    return REVERSE ? p.extent - 1 - logical : logical;
}

template <int Width> inline few<in_t, Width> load_row(bool aligned, const in_t *from) {
    /* load_few tells the caches to keep nothing. Single elements are of narrow arrays, where a line has elements of
     * many rows. */
    if (Width > 1 && aligned)
        return load_few<Width>(from);
    few<in_t, Width> f;
#pragma unroll
    for (int k = 0; k < Width; k++)
        f.element[k] = load(from + k);
    return f;
}

/* The AHEAD rows of a stretch from its j-th on. */
template <int Width> struct rows {
    enum { AHEAD = stretch<Width>::AHEAD };
    few<in_t, Width> x[AHEAD], y[AHEAD];

    void load_from(const scan_columns_args &p, const stretch<Width> &s, uint64 j) {
#if MOMENTS
        /* Variances of single columns wait for instructions. Others got slower this way. */
        if (Width == 1 && s.aligned) {
            const in_t *from = p.x + s.at + row_of(p, s.first + j) * p.inner;
#pragma unroll
            for (int u = 0; u < AHEAD; u++, REVERSE ? from -= p.inner : from += p.inner)
                if (j + u < s.count)
                    x[u].element[0] = *from;
            return;
        }
#endif
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (j + u < s.count) {
                uint64 at = s.at + row_of(p, s.first + j + u) * p.inner;
                x[u] = load_row<Width>(s.aligned, p.x + at);
                if (HAS_SECOND)
                    y[u] = load_row<Width>(s.aligned, p.y + at);
            }
    }
    void add_to(running<acc_t> &sum, const scan_columns_args &p, int u, int k, uint64 row) const {
        value_t second = HAS_SECOND ? value_of(y[u].element[k]) : value_t(0);
        sum.add_next(value_of(x[u].element[k]), second, p.before + row);
    }
};

/* Tells a sum of a single column its first element, if that spares it a test of each. */
template <int Width>
inline void begin_all(const scan_columns_args &p, const stretch<Width> &s, running<acc_t> (&sum)[Width]) {
    if (MOMENTS && Width == 1 && (!SIZE_ON_DEVICE || s.count))
        sum[0].begin(value_of(load(p.x + s.at + row_of(p, s.first) * p.inner)));
}

template <int Width> inline void sum_all(const scan_columns_args &p) {
    stretch<Width> s;
    for (uint64 n = blockIdx.x * (uint64)BLOCK + threadIdx.x; stretch_at(p, n, &s); n += gridDim.x * (uint64)BLOCK) {
        running<acc_t> sum[Width];
        begin_all(p, s, sum);
        for (uint64 j = 0; j < s.count; j += s.AHEAD) {
            rows<Width> r;
            r.load_from(p, s, j);
#pragma unroll
            for (int u = 0; u < s.AHEAD; u++)
                if (j + u < s.count)
#pragma unroll
                    for (int k = 0; k < Width; k++)
                        r.add_to(sum[k], p, u, k, row_of(p, s.first + j + u));
#pragma unroll
            for (int k = 0; k < Width; k++)
                if (j + s.AHEAD < s.count)
                    sum[k].settle(); /* a sum that keeps digits only for some elements */
        }
#pragma unroll
        for (int k = 0; k < Width; k++)
            p.partials[s.chunk * p.outer * p.inner + s.column + k].write(sum[k].sum());
    }
}

/* The sum of each stretch. */
extern "C" __global__ void __launch_bounds__(BLOCK) sum_stretches(scan_columns_args p SIZED) {
    TAKE_SIZE(p.extent)
    if (p.width == 1)
        sum_all<1>(p);
    else
        sum_all<COLUMN_WIDTH>(p);
}

/* ---- from the sums of stretches to those of all stretches before ---- */

/* Calls use(chunk, sum) for the chunks [first, end) of a column in their order, with several sums under way. */
template <class Use> inline void for_chunks(const scan_columns_args &p, uint64 column, uint64 first, uint64 end,
                                            Use use) {
    constexpr int AHEAD = sizeof(acc_t) > 32 ? 1 : 8;
    const uint64 columns = p.outer * p.inner;
    for (uint64 c = first; c < end; c += AHEAD) {
        acc_t sums[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (c + u < end)
                sums[u] = p.partials[(c + u) * columns + column].read();
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (c + u < end)
                use(c + u, sums[u]);
    }
}

/* Returns the sum of the warps before this one in the block; 'total' is, in each warp's last lane, the warp's own sum.
 */
inline acc_t sum_of_warps_before(acc_t total) {
    __shared__ alignas(16) uint8 memory[BLOCK / WARP * sizeof(acc_t)];
    acc_t *of_warp = (acc_t *)memory, sum = identity_as<acc_t>();
    __syncthreads(); /* earlier use of the memory */
    if (threadIdx.x % WARP == WARP - 1)
        of_warp[threadIdx.x / WARP] = total;
    __syncthreads();
    for (int w = 0; w < (int)(threadIdx.x / WARP); w++)
        sum = combine(sum, of_warp[w]);
    return sum;
}

/* A block has SUMS_ACROSS columns. Neighbouring threads have neighbouring columns, and take consecutive chunks. */
inline void scan_sums_across(const scan_columns_args &p) {
    enum { SHARES = BLOCK / SUMS_ACROSS };
    __shared__ alignas(16) uint8 memory[BLOCK * (sizeof(acc_t) <= 16 ? sizeof(acc_t) : 1)]; /* larger ones: none */
    acc_t *of_threads = (acc_t *)memory;
    const uint64 columns = p.outer * p.inner, each = (p.chunks + SHARES - 1) / SHARES;
    const uint32 share = threadIdx.x / SUMS_ACROSS, across = threadIdx.x % SUMS_ACROSS;
    const uint64 begin = share * each, end = begin + each < p.chunks ? begin + each : p.chunks;
    for (uint64 first = blockIdx.x * (uint64)SUMS_ACROSS; first < columns; first += gridDim.x * (uint64)SUMS_ACROSS) {
        const uint64 column = first + across;
        acc_t sum = identity_as<acc_t>();
        if (column < columns)
            for_chunks(p, column, begin, end, [&](uint64, acc_t chunk) { sum = combine(sum, chunk); });
        __syncthreads(); /* earlier use of the memory */
        of_threads[threadIdx.x] = sum;
        __syncthreads();
        acc_t before = identity_as<acc_t>();
        for (uint32 k = 0; k < share; k++)
            before = combine(before, of_threads[k * SUMS_ACROSS + across]);
        if (column < columns)
            for_chunks(p, column, begin, end, [&](uint64 c, acc_t chunk) {
                p.partials[c * columns + column].write(before);
                before = combine(before, chunk);
            });
    }
}

/* A column is shared by 'Threads' threads, a warp's or a block's: each takes consecutive chunks. */
template <int Threads> inline void scan_sums(const scan_columns_args &p) {
    const uint64 columns = p.outer * p.inner;
    const uint64 each = (p.chunks + Threads - 1) / Threads, begin = threadIdx.x % Threads * each;
    const uint64 end = begin + each < p.chunks ? begin + each : p.chunks;
    const int lane = threadIdx.x % WARP;
    for (uint64 column = (blockIdx.x * (uint64)BLOCK + threadIdx.x) / Threads; column < columns;
         column += gridDim.x * (uint64)(BLOCK / Threads)) {
        acc_t sum = identity_as<acc_t>();
        for_chunks(p, column, begin, end, [&](uint64, acc_t chunk) { sum = combine(sum, chunk); });
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            acc_t left = from_below(sum, d);
            if (lane >= d)
                sum = combine(left, sum);
        }
        acc_t before = from_below(sum, 1);
        if (lane == 0)
            before = identity_as<acc_t>();
        if (Threads > WARP)
            before = combine(sum_of_warps_before(sum), before);
        for_chunks(p, column, begin, end, [&](uint64 c, acc_t chunk) {
            p.partials[c * columns + column].write(before);
            before = combine(before, chunk);
        });
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) scan_stretches(scan_columns_args p) {
    if (p.outer * p.inner >= MANY_COLUMNS && p.chunks > MANY_CHUNKS && sizeof(acc_t) <= 16)
        scan_sums_across(p);
    else if (p.chunks > MANY_CHUNKS)
        scan_sums<BLOCK>(p);
    else
        scan_sums<WARP>(p);
}

/* ---- scans ---- */

template <int Width> inline void scan_all(const scan_columns_args &p) {
    stretch<Width> s;
    bool has_base = !MOMENTS && (p.carry || p.initial);
    const bool is_aligned = ((uint64)p.out & (sizeof(result_t) - 1)) == 0;
    for (uint64 n = blockIdx.x * (uint64)BLOCK + threadIdx.x; stretch_at(p, n, &s); n += gridDim.x * (uint64)BLOCK) {
        running<acc_t> run[Width];
        acc_t base[Width];
#pragma unroll
        for (int k = 0; k < Width; k++) {
            uint64 column = s.column + k;
            if (p.chunks > 1)
                run[k] = p.partials[s.chunk * p.outer * p.inner + column].read();
            base[k] = p.carry ? p.carry[column].read() : p.initial ? raise(load(p.initial)) : identity_as<acc_t>();
#if MOMENTS /* so that results need no accumulator */
            if (p.carry)
                run[k] = combine(base[k], run[k].sum());
#endif
        }
        begin_all(p, s, run);
        /* Fetching the next rows while these are written took registers, and 10% more time on an H200. */
        for (uint64 j = 0; j < s.count; j += s.AHEAD) {
            rows<Width> r;
            r.load_from(p, s, j);
#pragma unroll
            for (int u = 0; u < s.AHEAD; u++) {
                if (j + u >= s.count)
                    break;
                uint64 logical = s.first + j + u, row = row_of(p, logical);
                few<result_t, Width> results;
#pragma unroll
                for (int k = 0; k < Width; k++) {
#if MOMENTS
                    r.add_to(run[k], p, u, k, row);
                    results.element[k] = run[k].result(0);
#else
                    acc_t told;
                    if (!INCLUSIVE)
                        told = run[k].sum();
                    r.add_to(run[k], p, u, k, row);
                    if (INCLUSIVE)
                        told = run[k].sum();
                    if (has_base)
                        told = combine(base[k], told);
                    results.element[k] = lower(told, p.before + logical + INCLUSIVE, 0);
#endif
                }
                result_t *to = p.out + s.at + row * p.inner;
                if (MOMENTS && Width == 1 && is_aligned)
                    *to = results.element[0];
                else
                    store_few(to, results);
            }
#pragma unroll
            for (int k = 0; k < Width; k++)
                if (j + s.AHEAD < s.count)
                    run[k].settle();
        }
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (p.total && s.first + s.count == p.extent)
                p.total[s.column + k].write(has_base ? combine(base[k], run[k].sum()) : run[k].sum());
    }
}

/* Scans each stretch from the sum before it. */
extern "C" __global__ void __launch_bounds__(BLOCK) scan_columns(scan_columns_args p SIZED) {
    TAKE_SIZE(p.extent)
    if (p.width == 1)
        scan_all<1>(p);
    else
        scan_all<COLUMN_WIDTH>(p);
}
