/* Reductions along an axis whose elements do not lie next to each other: arrays of outer x extent x inner with inner > 1.
 * A block has a panel of columns and a chunk of the rows; in each step it takes 'groups' rows of the panel, each thread
 * 'width' neighbouring elements, the same columns every time. A panel that is as wide as the rows is a stretch of
 * consecutive elements, and a thread's elements may then be of two rows. At the end the threads of a column are folded
 * in their order, and a second kernel folds the chunks in a fixed one, so that a result is the same bits every run.
 * Where the operator does not commute, each thread has a part of the chunk's rows that follow each other. */
struct columns_args {
    const in_t *x, *y;
    slot *partials; /* chunks x outer x inner */
    destination to;
    uint64 outer, extent, inner;
    uint64 before; /* rows in earlier pieces */
    uint64 panels; /* a slab */
    uint64 chunks, chunk; /* a panel; rows each */
    uint32 width;  /* COLUMN_WIDTH, or 1 */
    uint32 panel;  /* columns a panel */
    uint32 groups; /* rows a step */
};

/* Blocks a processor, for which registers must do. */
constexpr int COLUMN_RESIDENT = COLUMN_WIDTH * sizeof(acc_t) <= 32 ? 4 : sizeof(acc_t) <= 32 ? 2 : 1;

/* One block's work. */
struct panel_part {
    uint64 number; /* of all panels */
    uint64 chunk;
    uint64 slab;    /* its first element */
    uint64 column;  /* the panel's first, of outer x inner */
    uint64 in_slab; /* the same, of inner */
    uint32 columns;
};

inline panel_part panel_part_at(const columns_args &p, uint64 number) {
    panel_part b;
    uint64 all = p.outer * p.panels;
    b.chunk = number / all;
    b.number = number % all;
    uint64 outer = b.number / p.panels;
    b.slab = outer * p.extent * p.inner;
    b.in_slab = b.number % p.panels * p.panel;
    b.column = outer * p.inner + b.in_slab;
    b.columns = p.inner - b.in_slab < p.panel ? (uint32)(p.inner - b.in_slab) : p.panel;
    return b;
}

/* ---- a thread's elements ---- */

/* Rows whose loads are under way together: 64 bytes a thread or so. */
constexpr int rows_ahead(int width) {
    return UNROLL == 1 ? 1 : width * (int)sizeof(in_t) >= 16 ? 4 : 8;
}

template <int Width> struct stretch {
    const in_t *x, *y;
    uint64 at, end;      /* elements: the next, the bound */
    uint64 step, stride; /* elements: between the rows that are loaded together, and to the next such */
    uint64 row[Width];   /* of the next elements, in all pieces */
    uint64 rows_a_step, rows_a_stride;
    bool aligned; /* to Width elements, x and y */

    few<in_t, Width> load_any(const in_t *from, uint64 i) const {
        if (aligned && i + Width <= end)
            return load_few<Width>(from + i);
        few<in_t, Width> f = {};
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (i + k < end)
                f.element[k] = load(from + i + k);
        return f;
    }
};

/* The next rows, all there or not. */
template <int Width, bool Whole> inline void add_rows(const stretch<Width> &s, lane_t *lanes) {
    constexpr int AHEAD = rows_ahead(Width);
    few<in_t, Width> x[AHEAD], y[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        uint64 i = s.at + u * s.step;
        x[u] = Whole ? load_few<Width>(s.x + i) : s.load_any(s.x, i);
        if (HAS_SECOND)
            y[u] = Whole ? load_few<Width>(s.y + i) : s.load_any(s.y, i);
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (Whole || s.at + u * s.step + k < s.end) {
                value_t second = HAS_SECOND ? value_of(y[u].element[k]) : value_t(0);
                lanes[k] = combine(lanes[k], lift_as<lane_t>(value_of(x[u].element[k]), second,
                                                             s.row[k] + u * s.rows_a_step));
            }
}

template <int Width> inline void empty_columns(lane_t *lanes, acc_t *acc) {
#pragma unroll
    for (int k = 0; k < Width; k++) {
        acc[k] = combine(acc[k], widen(lanes[k]));
        lanes[k] = identity_as<lane_t>();
    }
}

template <int Width> inline void fold_stretch(stretch<Width> s, acc_t *acc) {
    constexpr int AHEAD = rows_ahead(Width), MOST = LANE_LIMIT / AHEAD;
    lane_t lanes[Width];
#pragma unroll
    for (int k = 0; k < Width; k++) {
        acc[k] = identity_as<acc_t>();
        lanes[k] = identity_as<lane_t>();
    }
    int steps = 0;
    while (s.at < s.end) {
        if (s.aligned && s.at + (AHEAD - 1) * s.step + Width <= s.end)
            add_rows<Width, true>(s, lanes);
        else
            add_rows<Width, false>(s, lanes);
        s.at += s.stride;
#pragma unroll
        for (int k = 0; k < Width; k++)
            s.row[k] += s.rows_a_stride;
        if (++steps == MOST) {
            empty_columns<Width>(lanes, acc);
            steps = 0;
        }
    }
    empty_columns<Width>(lanes, acc);
}

/* The part of the thread whose first element is the panel's at 'spot', counted row after row. */
template <int Width> inline stretch<Width> stretch_of(const columns_args &p, const panel_part &b, uint32 spot) {
    stretch<Width> s;
    uint32 group = spot / p.panel, column = spot % p.panel;
    constexpr int AHEAD = rows_ahead(Width);
    uint64 first = b.chunk * p.chunk, end = p.extent - first < p.chunk ? p.extent : first + p.chunk;
    if (COMMUTES) {
        first += group;
        s.rows_a_step = p.groups;
        s.rows_a_stride = AHEAD * p.groups;
    } else {
        uint64 each = (end - first + p.groups - 1) / p.groups;
        first += group * each;
        end = first + each < end ? first + each : end;
        s.rows_a_step = 1;
        s.rows_a_stride = AHEAD;
    }
    s.x = p.x + b.slab;
    s.y = HAS_SECOND ? p.y + b.slab : nullptr;
    s.step = s.rows_a_step * p.inner;
    s.stride = s.rows_a_stride * p.inner;
    s.at = first * p.inner + b.in_slab + column;
    s.end = column < b.columns ? end * p.inner : 0;
    s.aligned = (((uint64)(s.x + s.at) | (uint64)(HAS_SECOND ? s.y + s.at : nullptr)) & (Width * sizeof(in_t) - 1)) == 0;
#pragma unroll
    for (int k = 0; k < Width; k++)
        s.row[k] = p.before + first + (column + k) / p.panel;
    return s;
}

/* ---- what becomes of it ---- */

template <int Width> inline void give_columns(const columns_args &p, uint64 column, const acc_t *acc) {
    if (p.to.carry || p.to.total) {
#pragma unroll
        for (int k = 0; k < Width; k++)
            give(p.to, column + k, acc[k]);
        return;
    }
    few<result_t, Width> results;
#pragma unroll
    for (int k = 0; k < Width; k++)
        results.element[k] = lower(acc[k], p.to.count, 0);
    store_few(p.to.out + column, results);
}

/* Folds 'groups' accumulators of each column, which lie a panel apart, into the first; a thread takes eight of them
 * between two barriers. */
inline void fold_groups(acc_t *spots, uint32 panel, uint32 groups) {
    constexpr uint32 AT_ONCE = 8;
    __syncthreads();
    for (uint32 d = 1; d < groups; d *= AT_ONCE) {
        const uint32 wholes = (groups + AT_ONCE * d - 1) / (AT_ONCE * d);
        for (uint32 i = threadIdx.x; i < wholes * panel; i += BLOCK) {
            const uint32 group = i / panel * AT_ONCE * d, at = group * panel + i % panel;
            acc_t acc = spots[at];
#pragma unroll
            for (uint32 k = 1; k < AT_ONCE; k++)
                if (group + k * d < groups)
                    acc = combine(acc, spots[at + k * d * panel]);
            spots[at] = acc;
        }
        __syncthreads();
    }
}

template <int Width> inline void fold_panel(const columns_args &p, const panel_part &b, acc_t *spots) {
    uint32 spot = threadIdx.x * Width;
    bool works = spot < p.groups * p.panel;
    acc_t acc[Width];
    if (works)
        fold_stretch(stretch_of<Width>(p, b, spot), acc);
    if (p.groups == 1 && p.chunks == 1) {
        if (works && spot < b.columns)
            give_columns<Width>(p, b.column + spot, acc);
        return;
    }
    __syncthreads(); /* earlier use of the memory */
    if (works)
#pragma unroll
        for (int k = 0; k < Width; k++)
            spots[spot + k] = acc[k];
    fold_groups(spots, p.panel, p.groups);
    slot *partials = p.partials + b.chunk * p.outer * p.inner;
    for (uint32 j = threadIdx.x; j < b.columns; j += BLOCK)
        if (p.chunks > 1)
            partials[b.column + j].write(spots[j]);
        else
            give(p.to, b.column + j, spots[j]);
}

extern "C" __global__ void __launch_bounds__(BLOCK, COLUMN_RESIDENT) fold_columns(columns_args p) {
    __shared__ alignas(16) uint8 memory[COLUMN_SPOTS * sizeof(acc_t)];
    let_next_start();
    uint64 parts = p.outer * p.panels * p.chunks;
    for (uint64 number = blockIdx.x; number < parts; number += gridDim.x) {
        panel_part b = panel_part_at(p, number);
        if (p.width == 1)
            fold_panel<1>(p, b, (acc_t *)memory);
        else
            fold_panel<COLUMN_WIDTH>(p, b, (acc_t *)memory);
    }
}

/* ---- what the chunks of columns gave ---- */

/* The results are shared out evenly among the blocks, and the threads of a block among its results, until each has few
 * chunks. */
extern "C" __global__ void __launch_bounds__(BLOCK) fold_column_partials(partials_args p) {
    constexpr uint32 SPOTS = 16384 / sizeof(slot) < BLOCK ? 16384 / sizeof(slot) : BLOCK, A_SHARE = 8;
    __shared__ alignas(16) uint8 memory[SPOTS * sizeof(acc_t)];
    acc_t *spots = (acc_t *)memory;
    const uint64 fair = (p.results + gridDim.x - 1) / gridDim.x;
    const uint32 at_once = fair < SPOTS ? (uint32)fair : SPOTS, most = SPOTS / at_once;
    const uint32 shares = p.chunks < (uint64)A_SHARE * most ? ((uint32)p.chunks + A_SHARE - 1) / A_SHARE : most;
    wait_for_last();
    let_next_start();
    for (uint64 first = (uint64)blockIdx.x * at_once; first < p.results; first += (uint64)gridDim.x * at_once) {
        const uint32 here = p.results - first < at_once ? (uint32)(p.results - first) : at_once;
        const uint32 share = threadIdx.x / here, column = threadIdx.x - share * here;
        if (share < shares)
            spots[threadIdx.x] = fold_share(p, first + column, share, shares);
        fold_groups(spots, here, shares);
        if (threadIdx.x < here)
            give(p.to, first + column, spots[column]);
        __syncthreads();
    }
}

/* ---- a few rows ---- */

/* A thread's rows of a panel where there are at most THIN. */
enum { THIN = 4 };

template <int Width> struct thin_rows {
    few<in_t, Width> x[THIN], y[THIN];

    static uint64 column_of(const columns_args &p, uint32 number, uint32 *outer) {
        *outer = number / (uint32)p.panels;
        return (uint64)(number - *outer * (uint32)p.panels) * p.panel + threadIdx.x * Width;
    }
    void load_from(const columns_args &p, uint32 number) {
        stretch<Width> s;
        uint32 outer;
        uint64 column = column_of(p, number, &outer), slab = outer * p.extent * p.inner;
        if (threadIdx.x * Width >= p.panel || column >= p.inner)
            return;
        s.x = p.x + slab;
        s.y = HAS_SECOND ? p.y + slab : nullptr;
        s.end = p.extent * p.inner;
        s.aligned = (((uint64)(s.x + column) | (uint64)(HAS_SECOND ? s.y + column : nullptr)) &
                     (Width * sizeof(in_t) - 1)) == 0;
#pragma unroll
        for (int r = 0; r < THIN; r++)
            if (r < p.extent) {
                x[r] = s.load_any(s.x, column + r * p.inner);
                if (HAS_SECOND)
                    y[r] = s.load_any(s.y, column + r * p.inner);
            }
    }
    void fold(const columns_args &p, uint32 number) const {
        uint32 outer;
        uint64 column = column_of(p, number, &outer);
        if (threadIdx.x * Width >= p.panel || column >= p.inner)
            return;
        acc_t acc[Width];
#pragma unroll
        for (int k = 0; k < Width; k++) {
            lane_t sum = identity_as<lane_t>();
#pragma unroll
            for (int r = 0; r < THIN; r++)
                if (r < p.extent) {
                    value_t second = HAS_SECOND ? value_of(y[r].element[k]) : value_t(0);
                    sum = combine(sum, lift_as<lane_t>(value_of(x[r].element[k]), second, p.before + r));
                }
            acc[k] = widen(sum);
        }
        give_columns<Width>(p, outer * p.inner + column, acc);
    }
};

template <int Width> inline void fold_thin(const columns_args &p) {
    uint32 panels = (uint32)(p.outer * p.panels);
    for (uint32 number = blockIdx.x; number < panels; number += gridDim.x) {
        thin_rows<Width> rows;
        rows.load_from(p, number);
        rows.fold(p, number);
    }
}

/* The same where a thread's few rows are soon done: a block has one panel, and there are many blocks. On an H200 1000
 * slabs of 3 x 50000 f32 took 194 us so, and 210 in blocks that stay and have the next panel on its way meanwhile. */
extern "C" __global__ void __launch_bounds__(BLOCK, COLUMN_RESIDENT) fold_thin_columns(columns_args p) {
    if (p.width == 1)
        fold_thin<1>(p);
    else
        fold_thin<COLUMN_WIDTH>(p);
}
