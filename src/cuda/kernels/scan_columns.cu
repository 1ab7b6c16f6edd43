/* Scans along an axis whose elements do not lie next to each other: arrays of outer x extent x inner with inner > 1. A
 * thread takes a stretch of 'chunk' rows of one column, neighbouring threads take neighbouring columns. With one chunk
 * that is all; else the chunks' sums are taken and scanned in launches of their own, which go over the input twice. */
struct scan_columns_args {
    const in_t *x, *y;
    result_t *out;
    const out_t *initial;
    slot *partials;    /* chunks x outer x inner */
    const slot *carry; /* a column: what earlier pieces gave, or NULL */
    slot *total;       /* a column: receives what this and earlier pieces give, or NULL */
    uint64 outer, extent, inner, chunk, chunks;
    uint64 before; /* rows in earlier pieces */
};

enum { AHEAD = sizeof(acc_t) > 32 ? 1 : 8 };

struct stretch {
    uint64 column; /* of outer x inner */
    uint64 chunk;
    uint64 first, count; /* rows, logical */
    uint64 at;           /* element of row 0 */
};

/* The stretches of a launch, numbered with the columns running fastest. */
inline bool stretch_at(const scan_columns_args &p, uint64 number, stretch *s) {
    uint64 columns = p.outer * p.inner;
    if (number >= columns * p.chunks)
        return false;
    s->chunk = number / columns;
    s->column = number % columns;
    s->first = s->chunk * p.chunk;
    s->count = p.extent - s->first < p.chunk ? p.extent - s->first : p.chunk;
    s->at = s->column / p.inner * p.inner * p.extent + s->column % p.inner;
    return true;
}

inline uint64 row_of(const scan_columns_args &p, uint64 logical) {
    return REVERSE ? p.extent - 1 - logical : logical;
}

inline acc_t lift_at(const scan_columns_args &p, const stretch &s, uint64 row) {
    uint64 at = s.at + row * p.inner;
    value_t y = HAS_SECOND ? value_of(load(p.y + at)) : value_t(0);
    return lift_as<acc_t>(value_of(load(p.x + at)), y, p.before + row);
}

inline acc_t fold_stretch(const scan_columns_args &p, const stretch &s) {
    acc_t sum = identity_as<acc_t>();
    uint64 k = 0;
    for (; k + AHEAD <= s.count; k += AHEAD) {
        acc_t few[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            few[j] = lift_at(p, s, row_of(p, s.first + k + j));
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            sum = combine(sum, few[j]);
    }
    for (; k < s.count; k++)
        sum = combine(sum, lift_at(p, s, row_of(p, s.first + k)));
    return sum;
}

/* What each stretch adds up to. */
extern "C" __global__ void __launch_bounds__(BLOCK) sum_stretches(scan_columns_args p) {
    stretch s;
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; stretch_at(p, k, &s);
         k += gridDim.x * (uint64)BLOCK)
        p.partials[k].write(fold_stretch(p, s));
}

/* The threads of a warp share a column: each takes consecutive chunks. */
struct share {
    uint64 first, end;
};
inline share share_of(uint64 chunks) {
    uint64 each = (chunks + WARP - 1) / WARP, first = threadIdx.x % WARP * each;
    return {first < chunks ? first : chunks, first + each < chunks ? first + each : chunks};
}

/* Turns the chunks' sums into those of all chunks before. */
extern "C" __global__ void __launch_bounds__(BLOCK) scan_stretches(scan_columns_args p) {
    uint64 columns = p.outer * p.inner, warps = gridDim.x * (uint64)(BLOCK / WARP);
    share mine = share_of(p.chunks);
    int lane = threadIdx.x % WARP;
    for (uint64 c = (blockIdx.x * (uint64)BLOCK + threadIdx.x) / WARP; c < columns; c += warps) {
        acc_t sum = identity_as<acc_t>();
        for (uint64 k = mine.first; k < mine.end; k++)
            sum = combine(sum, p.partials[k * columns + c].read());
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            acc_t left = from_below(sum, d);
            if (lane >= d)
                sum = combine(left, sum);
        }
        acc_t before = from_below(sum, 1);
        if (lane == 0)
            before = identity_as<acc_t>();
        for (uint64 k = mine.first; k < mine.end; k++) {
            acc_t next = combine(before, p.partials[k * columns + c].read());
            p.partials[k * columns + c].write(before);
            before = next;
        }
    }
}

/* Scans each stretch from what came before it. */
extern "C" __global__ void __launch_bounds__(BLOCK) scan_columns(scan_columns_args p) {
    stretch s;
    bool has_base = p.carry || p.initial;
    for (uint64 k = blockIdx.x * (uint64)BLOCK + threadIdx.x; stretch_at(p, k, &s);
         k += gridDim.x * (uint64)BLOCK) {
        acc_t run = p.chunks > 1 ? p.partials[k].read() : identity_as<acc_t>();
        acc_t base = p.carry ? p.carry[s.column].read() : p.initial ? raise(load(p.initial)) : identity_as<acc_t>();
        for (uint64 j = 0; j < s.count; j += AHEAD) {
            acc_t few[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                if (j + u < s.count)
                    few[u] = lift_at(p, s, row_of(p, s.first + j + u));
#pragma unroll
            for (int u = 0; u < AHEAD; u++) {
                if (j + u >= s.count)
                    break;
                uint64 logical = s.first + j + u;
                acc_t next = combine(run, few[u]);
                acc_t told = INCLUSIVE ? next : run;
                if (has_base)
                    told = combine(base, told);
                store(p.out + s.at + row_of(p, logical) * p.inner, lower(told, p.before + logical + INCLUSIVE, 0));
                run = next;
            }
        }
        if (p.total && s.first + s.count == p.extent)
            p.total[s.column].write(has_base ? combine(base, run) : run);
    }
}
