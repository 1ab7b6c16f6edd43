/* The kernel for columns of any length (columns.cu): a block's panel and chunk. */

/* One block's work. */
struct panel_part {
    uint64 number;  /* of the panel, among those of all slabs */
    uint64 chunk;
    uint64 slab;    /* the beginning of the slab, in elements */
    uint64 column;  /* the panel's first column, among outer x inner */
    uint64 in_slab; /* the same among the slab's inner ones */
    uint32 columns;
};

inline panel_part panel_part_at(const columns_args &p, uint64 number) {
    panel_part b;
    uint64 all = p.outer * p.panels;
    b.chunk = quotient(number, all);
    b.number = number - b.chunk * all;
    uint64 outer = quotient(b.number, p.panels);
    b.slab = outer * p.extent * p.inner;
    b.in_slab = (b.number - outer * p.panels) * p.panel;
    b.column = outer * p.inner + b.in_slab;
    b.columns = p.inner - b.in_slab < p.panel ? (uint32)(p.inner - b.in_slab) : p.panel;
    return b;
}

/* ---- a column's sum ---- */

#if IS_LOGSUMEXP
/* Several elements raise the largest value together, so an element costs one exponential that waits for no other. */
struct column_sum {
    enum { RAISES = 1, COUNTS_FROM_CHUNK = 0 };
    typedef decltype(lane_t::a0) real;
    real largest = -GREATEST_FINITE<real>, of_largest = 0;

    void raise(real next) {
        next = larger(largest, next);
        next = next > GREATEST_FINITE<real> ? GREATEST_FINITE<real> : next;
        of_largest *= exp_below(largest - next);
        largest = next;
    }
    void append(value_t x, value_t, uint64) {
        of_largest += exp_below((real)x - largest);
    }
    lane_t sum() const {
        return of_exponentials<lane_t>(largest, of_largest);
    }
};
#elif IS_ARGMIN || IS_ARGMAX
/* Rows are counted from the chunk's first on, so their number takes one register. */
typedef components<decltype(lane_t::a0), uint32> short_lane;
struct column_sum : running<short_lane> {
    enum { RAISES = 0, COUNTS_FROM_CHUNK = 1 };

    void raise(value_t) {}
};
inline acc_t widen_from(const short_lane &lane, uint64 base) {
    acc_t acc;
    acc.a0 = lane.a0;
    acc.a1 = lane.a1 == (uint32)NO_INDEX ? NO_INDEX : base + lane.a1;
    return acc;
}
#else
struct column_sum : brief<lane_t> {
    enum { RAISES = 0, COUNTS_FROM_CHUNK = 0 };

    void raise(value_t) {}
};
#endif
#if !(IS_ARGMIN || IS_ARGMAX)
inline acc_t widen_from(const lane_t &lane, uint64) {
    return widen(lane);
}
#endif

/* How rows are loaded: WHOLE, all of them are there, and aligned; ACROSS, as the words that they lie across, which are
 * there; or ANY. */
enum way { WHOLE, ACROSS, ANY };
template <int Width, way Way> inline few<in_t, Width> load_row(const stretch<Width> &s, const in_t *from, uint64 i) {
    return Way == WHOLE ? load_few<Width>(from + i)
           : Way == ACROSS ? load_few_straddling<Width>(from + i)
                           : s.load_any(from, i);
}

/* Adds the next rows to the lanes. */
template <int Width, way Way> inline void add_rows(const stretch<Width> &s, column_sum *lanes) {
    constexpr int AHEAD = rows_ahead(Width);
    constexpr bool Whole = Way != ANY;
    few<in_t, Width> x[AHEAD], y[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        uint64 i = s.at + u * s.step;
        x[u] = load_row<Width, Way>(s, s.x, i);
        if (HAS_SECOND)
            y[u] = load_row<Width, Way>(s, s.y, i);
    }
#pragma unroll
    for (int k = 0; k < Width && column_sum::RAISES; k++) {
        value_t next = range<value_t>::lowest();
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (Whole || s.at + u * s.step + k < s.end)
                next = larger(next, value_of(x[u].element[k]));
        lanes[k].raise(next);
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (Whole || s.at + u * s.step + k < s.end) {
                value_t second = HAS_SECOND ? value_of(y[u].element[k]) : value_t(0);
                const uint64 row = s.row[k] + u * s.rows_a_step;
                lanes[k].append(value_of(x[u].element[k]), second,
                                column_sum::COUNTS_FROM_CHUNK ? (uint32)(row - s.base) : row);
            }
}

template <int Width> inline void empty_columns(uint64 base, bool is_first, column_sum *lanes, acc_t *acc) {
#pragma unroll
    for (int k = 0; k < Width; k++) {
        const acc_t next = widen_from(lanes[k].sum(), base);
        acc[k] = COMBINES_SLOWLY && is_first ? next : combine(acc[k], next);
        lanes[k] = {};
    }
}

/* Elements that a lane adds one by one. Errors of a variance grow with their number, so blocks of rows are combined. */
#if BRIEF_MOMENTS
constexpr int MOST_IN_A_LANE = brief<lane_t>::LIMIT;
#else
constexpr int MOST_IN_A_LANE = MOMENTS ? 32 : LANE_LIMIT;
#endif
/* Lanes that take any number need no accumulators beside them. */
constexpr bool FILLS_LANES = MOST_IN_A_LANE < 1 << 20;

template <int Width> inline void fold_stretch(stretch<Width> s, acc_t *acc) {
    constexpr int AHEAD = rows_ahead(Width), MOST = MOST_IN_A_LANE / AHEAD;
    column_sum lanes[Width];
#pragma unroll
    for (int k = 0; k < Width; k++)
        acc[k] = identity_as<acc_t>();
    int steps = 0;
    bool is_first = true;
    while (s.at < s.end) {
        const uint64 last = s.at + (AHEAD - 1) * s.step;
        if (s.aligned && last + Width <= s.end)
            add_rows<Width, WHOLE>(s, lanes);
        else if (Width > 1 && !s.aligned && s.has_words(s.at) && s.has_words(last))
            add_rows<Width, ACROSS>(s, lanes);
        else
            add_rows<Width, ANY>(s, lanes);
        s.at += s.stride;
#pragma unroll
        for (int k = 0; k < Width; k++)
            s.row[k] += s.rows_a_stride;
        if (FILLS_LANES && ++steps == MOST) {
            empty_columns<Width>(s.base, is_first, lanes, acc);
            is_first = false;
            steps = 0;
        }
    }
    empty_columns<Width>(s.base, is_first, lanes, acc);
}

/* The stretch of the thread whose first element is number 'spot' of a step, counted row after row. */
template <int Width> inline stretch<Width> stretch_of(const columns_args &p, const panel_part &b, uint32 spot) {
    stretch<Width> s;
    uint32 group = spot / p.panel, column = spot % p.panel;
    constexpr int AHEAD = rows_ahead(Width);
    uint64 first = b.chunk * p.chunk;
    if (SIZE_ON_DEVICE && first > p.extent)
        first = p.extent; /* the chunk has no rows */
    uint64 end = p.extent - first < p.chunk ? p.extent : first + p.chunk;
    s.base = p.before + first;
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
    s.aligned = (((uint64)(s.x + s.at) | (uint64)(HAS_SECOND ? s.y + s.at : nullptr) | s.step * sizeof(in_t)) &
                 (Width * sizeof(in_t) - 1)) == 0;
#pragma unroll
    for (int k = 0; k < Width; k++)
        s.row[k] = p.before + first + (column + k) / p.panel;
    return s;
}

template <int Width> inline void fold_panel(const columns_args &p, const panel_part &b, acc_t *spots) {
    uint32 spot = threadIdx.x * Width;
    bool works = spot < p.groups * p.panel;
    acc_t acc[Width];
    if (works)
        fold_stretch(stretch_of<Width>(p, b, spot), acc);
    if (p.groups == 1 && p.chunks == 1) {
        if (works && spot < b.columns)
            give_columns<Width>(p, b.column + spot, b.columns - spot, acc);
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

/* Threads of COLUMN_WIDTH columns and of one have kernels of their own, which are compiled side by side. */
template <int Width> inline void fold_columns_of(const columns_args &p) {
    __shared__ alignas(16) uint8 memory[COLUMN_SPOTS * sizeof(acc_t)];
    let_next_start();
    uint64 parts = p.outer * p.panels * p.chunks;
    for (uint64 number = blockIdx.x; number < parts; number += gridDim.x)
        fold_panel<Width>(p, panel_part_at(p, number), (acc_t *)memory);
}
