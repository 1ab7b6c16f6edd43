/* The kernel for columns of any length (columns.cu): a block's panel and chunk. */

/* One block's work. */
struct panel_part {
    uint64 chunk;
    uint64 slab;    /* the beginning of the slab, or of the first one, in elements */
    uint64 column;  /* the panel's first column, among outer x inner */
    uint64 in_slab; /* the same among the slab's inner ones */
    uint32 columns, slabs;
};

/* Panels of all slabs, or groups of slabs. */
inline uint64 all_panels(const columns_args &p) {
    return (p.slabs == 1 ? p.outer : quotient(p.outer + p.slabs - 1, p.slabs)) * p.panels;
}
inline panel_part panel_part_at(const columns_args &p, uint64 all, uint64 number) {
    panel_part b;
    const uint64 inner = p.in_clusters ? p.chunks : all, of_outer = number < inner ? 0 : quotient(number, inner);
    const uint64 of_inner = number - of_outer * inner;
    b.chunk = p.in_clusters ? of_inner : of_outer;
    const uint64 panel = (p.in_clusters ? of_outer : of_inner) * p.slabs;
    const uint64 outer = p.panels == 1 ? panel : panel < p.panels ? 0 : quotient(panel, p.panels);
    b.slab = outer * p.extent * p.inner;
    b.in_slab = (panel - outer * p.panels) * p.panel;
    b.column = outer * p.inner + b.in_slab;
    b.columns = p.inner - b.in_slab < p.panel ? (uint32)(p.inner - b.in_slab) : p.panel;
    b.slabs = p.outer - outer < p.slabs ? (uint32)(p.outer - outer) : p.slabs;
    return b;
}

/* How rows that are all there are loaded: as a word, as two whose shift is the same for all of the thread's rows, or as
 * the two words that each lies across. */
enum loading_rows { ROWS_IN_LINE, ROWS_BY_WORDS, ROWS_ACROSS };
template <loading_rows How, int Width> inline few<in_t, Width> load_row(const stretch<Width> &s, const in_t *from) {
    if constexpr (How == ROWS_BY_WORDS)
        return s.load_by_words(from);
    else
        return How == ROWS_IN_LINE ? load_few<Width>(from) : load_few_straddling<Width>(from);
}

template <loading_rows How, int Width, int AHEAD = rows_ahead(Width), class Lane>
inline void add_rows(const stretch<Width> &s, uint32 number, Lane *lanes) {
    few<in_t, Width> x[AHEAD], y[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        const uint64 i = s.at + u * s.step;
        x[u] = load_row<How>(s, s.x + i);
        if (HAS_SECOND)
            y[u] = load_row<How>(s, s.y + i);
    }
    add_loaded<Width, AHEAD>(s, number, x, y, 0, AHEAD, [](int) { return Width; }, lanes);
}

/* Adds the next rows of which some are there. Those whose words are the slab's are loaded together, like a whole step:
 * a column may have no other. The rest, at the ends of the slab, are loaded one by one. */
template <int Width, class Lane> inline void add_some_rows(const stretch<Width> &s, uint32 number, Lane *lanes) {
    constexpr int AHEAD = rows_ahead(Width);
    if constexpr (Width == 1) { /* each load has its predicate; words took 1.25 of the time */
        few<in_t, 1> x[AHEAD], y[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            x[u] = s.load_any(s.x, s.at + u * s.step);
            if (HAS_SECOND)
                y[u] = s.load_any(s.y, s.at + u * s.step);
        }
        add_loaded<1, AHEAD>(s, number, x, y, 0, AHEAD, [&](int u) { return s.at + u * s.step < s.end; }, lanes);
        return;
    }
    const int from = !s.aligned && s.at < Width ? 1 : 0;
    int to = 0, end = 0;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        const uint64 i = s.at + u * s.step;
        to += i + (s.aligned ? 1 : 2) * Width <= s.end;
        end += i < s.end;
    }
#pragma unroll 1
    for (int u = 0; u < end; u++) { /* in order, which an operator of the caller's may show */
        if (u == from && from < to) {
            words_across<Width> of_x[AHEAD], of_y[HAS_SECOND ? AHEAD : 1];
            few<in_t, Width> x[AHEAD], y[AHEAD];
#pragma unroll
            for (int v = 0; v < AHEAD; v++) {
                if (v < from || v >= to)
                    continue;
                of_x[v].load_from(s.x + s.at + v * s.step);
                if (HAS_SECOND)
                    of_y[v].load_from(s.y + s.at + v * s.step);
            }
#pragma unroll
            for (int v = 0; v < AHEAD; v++) {
                x[v] = of_x[v].elements();
                if (HAS_SECOND)
                    y[v] = of_y[v].elements();
            }
            add_loaded<Width, AHEAD>(s, number, x, y, from, to, [](int) { return Width; }, lanes);
            u = to - 1;
            continue;
        }
        const uint64 i = s.at + u * s.step;
        const int left = s.end - i < Width ? (int)(s.end - i) : Width;
        few<in_t, Width> x = {}, y = {};
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (k < left) {
                x.element[k] = load(s.x + i + k);
                if (HAS_SECOND)
                    y.element[k] = load(s.y + i + k);
            }
        stretch<Width> of_row = s;
#pragma unroll
        for (int k = 0; k < Width; k++)
            of_row.row[k] += u * s.rows_a_step;
        add_loaded<Width, 1>(of_row, number + u, &x, &y, 0, 1, [=](int) { return left; }, lanes);
    }
}

/* ---- what the threads of a column fold ---- */

#if MOMENTS == 2 && !SKIPS_NAN
#if BRIEF_MOMENTS == MOMENTS_IN_INTEGERS
/* Sums of narrow integers, of which the squares may wrap. */
struct column_powers {
    uint64 count = 0, squares = 0;
    int64 all = 0;

    template <class Sums> void add(const Sums &more) {
        count += more.count;
        all += more.all;
        squares += more.squares;
    }
    /* Squares of distances from the integer next to the mean do not wrap, and lose one bit at most. */
    acc_t sum() const {
        acc_t r = identity_as<acc_t>();
        if (count == 0)
            return r;
        const double n = (double)count, inverse = reciprocal(n), mean = (double)all * inverse;
        const int64 near = (int64)(mean + (mean < 0 ? -0.5 : 0.5));
        const double away = (double)(all - near * (int64)count);
        r.a0 = n;
        r.a1 = (double)near;
        r.a2 = away * inverse;
        r.a3 = __fma_rn(-away, r.a2, (double)(squares - (uint64)near * (2 * (uint64)all - (uint64)near * count)));
        return r;
    }
};
#else
/* Sums of distances from an element of the column, and of their squares. To move them to another element takes no
 * division, unlike the sum of two variances. At most log2(rows) bits of 53 are lost, so results of 64 bits are not made
 * this way. */
struct column_powers {
    double count = 0, shift = 0, distances = 0, squares = 0;

    template <class Sums> void add(const Sums &more) {
        const double n = (double)more.count;
        if (count == 0)
            shift = more.shift;
        const double by = more.shift - shift, its = more.distances, moved = n > 0 ? __fma_rn(n, by, its) : 0;
        count += n;
        distances += moved;
        squares += n > 0 ? __fma_rn(by, its + moved, (double)more.squares) : 0;
    }
    acc_t sum() const {
        return count > 0 ? moments_about<acc_t>(count, shift, distances, squares) : identity_as<acc_t>();
    }
};
#endif
template <> inline column_powers identity_as<column_powers>() {
    return column_powers();
}
inline column_powers combine(column_powers a, const column_powers &b) {
    a.add(b);
    return a;
}
inline acc_t sum_of(const column_powers &spot) {
    return spot.sum();
}
inline void empty_lane(const column_sum &lane, uint64, uint64, bool, column_powers &spot) {
    spot.add(lane);
}
template <bool> struct choice {
    typedef acc_t spot;
};
template <> struct choice<true> {
    typedef column_powers spot;
};
typedef choice<BRIEF_MOMENTS == MOMENTS_IN_INTEGERS || sizeof(out_t) < 8>::spot spot_t;
#else
typedef acc_t spot_t;
#endif
static_assert(sizeof(spot_t) <= sizeof(acc_t), "they share the memory's size");

inline acc_t sum_of(const acc_t &spot) {
    return spot;
}
inline void empty_lane(const column_sum &lane, uint64 base, uint64 step, bool is_first, acc_t &spot) {
    const acc_t next = lane.sum_from(base, step);
    spot = COMBINES_SLOWLY && is_first ? next : combine(spot, next);
}
/* After 'steps', if lanes count them. */
template <int Width>
inline void empty_columns(const stretch<Width> &s, int steps, bool is_first, column_sum *lanes, spot_t *spots) {
#pragma unroll
    for (int k = 0; k < Width; k++) {
        const uint64 base = s.base + (column_sum::IS_KEY ? s.row[k] - steps * s.rows_a_stride : 0);
        empty_lane(lanes[k], base, s.rows_a_step, is_first, spots[k]);
        lanes[k] = {};
    }
}

#if COLUMN_PACKS
template <int Width>
inline void empty_columns(const stretch<Width> &, int, bool, packed_lanes<Width> *lanes, spot_t *spots) {
#pragma unroll
    for (int k = 0; k < Width; k++)
        spots[k] = combine(spots[k], lanes->accumulator(k));
    *lanes = {};
}
#endif

#if HALF_COLUMNS
/* A thread's columns of halves, in floats: distances from the first of up to LIMIT rows, and their squares. They may
 * cost 7 of 24 bits, and results have 11 at most. Squares of bf16 may leave the range of floats. So rows go to the spots
 * as doubles if the largest value of some column among them is not from 2^-40 to 2^56, nor 0. Then two values of a
 * column whose difference has a square that is lost are equal, or do not show beside others. */
struct half_sum {
    float shift = 0, distances = 0, squares = 0;
    uint32 count = 0;
};
template <int Width> struct half_lanes {
    enum { LIMIT = 128, NUMBERS = sizeof(column_powers) / sizeof(double) };
    static constexpr uint32 LEAST = (127 - 40) << 23, MOST = (127 + 56) << 23; /* as bits of floats */
    static_assert(Width * sizeof(column_powers) * BLOCK <= COLUMN_SPOTS * sizeof(acc_t), "threads' spots fit");
    half_sum of[Width];
    double *kept; /* the thread's spots, in shared memory: with those in registers fewer blocks would fit */

    explicit half_lanes(spot_t *memory) : kept((double *)memory + threadIdx.x) {
#pragma unroll
        for (int k = 0; k < Width; k++)
            set_spot(k, column_powers());
    }
    column_powers spot(int k) const {
        double number[NUMBERS];
#pragma unroll
        for (int j = 0; j < NUMBERS; j++)
            number[j] = kept[(k * NUMBERS + j) * BLOCK];
        column_powers r;
        memcpy(&r, number, sizeof r);
        return r;
    }
    void set_spot(int k, const column_powers &spot) {
        double number[NUMBERS];
        memcpy(number, &spot, sizeof spot);
#pragma unroll
        for (int j = 0; j < NUMBERS; j++)
            kept[(k * NUMBERS + j) * BLOCK] = number[j];
    }
    template <class Sums> void add_to_spot(int k, const Sums &more) {
        column_powers next = spot(k);
        next.add(more);
        set_spot(k, next);
    }
    static bool is_far(float largest) {
        const uint32 bits = __float_as_uint(largest);
        return ARE_SAME<in_t, bf16> && bits != 0 && bits - LEAST > MOST - LEAST;
    }
};
template <int Width, int Rows, class Left>
inline void add_loaded(const stretch<Width> &, uint32, const few<in_t, Width> *x, const few<in_t, Width> *, int from,
                       int to, Left left, half_lanes<Width> *lanes) {
    const auto is_there = [=](int u, int k) { return u >= from && u < to && k < left(u); };
    const auto first_of = [&](int k) {
        float first = 0;
#pragma unroll
        for (int u = Rows - 1; u >= 0; u--)
            first = is_there(u, k) ? value_of(x[u].element[k]) : first;
        return first;
    };
    const auto add_to = [&](auto &sum, int k) {
#pragma unroll
        for (int u = 0; u < Rows; u++)
            if (is_there(u, k)) {
                const auto away = value_of(x[u].element[k]) - sum.shift;
                sum.distances += away;
                sum.squares += away * away;
                sum.count += 1;
            }
    };
    bool are_far = false;
#pragma unroll
    for (int k = 0; k < Width; k++) {
        float largest = 0;
#pragma unroll
        for (int u = 0; u < Rows; u++)
            if (is_there(u, k))
                largest = larger(largest, fabsf(value_of(x[u].element[k])));
        are_far |= half_lanes<Width>::is_far(largest);
    }
#pragma unroll
    for (int k = 0; k < Width; k++) {
        half_sum &sum = lanes->of[k];
        if (are_far) {
            column_powers rows;
            rows.shift = first_of(k);
            add_to(rows, k);
            lanes->add_to_spot(k, rows);
        } else {
            sum.shift = sum.count ? sum.shift : first_of(k);
            add_to(sum, k);
        }
    }
}
template <int Width>
inline void empty_columns(const stretch<Width> &, int, bool, half_lanes<Width> *lanes, spot_t *) {
#pragma unroll
    for (int k = 0; k < Width; k++) {
        lanes->add_to_spot(k, lanes->of[k]);
        lanes->of[k] = {};
    }
}
#endif

/* Elements that a lane adds one by one. Errors of a variance grow with their number, so blocks of rows are combined. */
#if HALF_COLUMNS
constexpr int MOST_IN_A_LANE = half_lanes<1>::LIMIT;
#elif BRIEF_MOMENTS
constexpr int MOST_IN_A_LANE = brief<lane_t>::LIMIT;
#else
constexpr int MOST_IN_A_LANE = MOMENTS == 2 && !SKIPS_NAN && sizeof(out_t) < 8 ? 1 << 20
                               : MOMENTS                                        ? 32
                               : column_sum::IS_KEY ? 0xffff : COLUMN_PACKS ? 0xfffff : LANE_LIMIT;
#endif
/* Lanes that take any number need no accumulators beside them. */
constexpr bool FILLS_LANES = MOST_IN_A_LANE < 1 << 20;

/* 'memory' is the block's. */
template <int Width> inline void fold_stretch(stretch<Width> s, spot_t *sums, [[maybe_unused]] spot_t *memory) {
    constexpr int AHEAD = rows_ahead(Width), MOST = MOST_IN_A_LANE / AHEAD;
    constexpr int TWICE = sizeof(acc_t) <= 8 && !HAS_SECOND && Width * sizeof(in_t) == 16 ? 2 : 1; /* if all are there */
    constexpr bool HAS_PAIRS = Width * sizeof(in_t) == 8 && sizeof(in_t) < 4;
#if HALF_COLUMNS
    half_lanes<Width> lanes[] = {half_lanes<Width>(memory)};
#else
    typedef choice_of_lanes<Width, COLUMN_PACKS && Width % 4 == 0> kept;
    typename kept::type lanes[kept::COUNT];
#endif
#pragma unroll
    for (int k = 0; k < Width; k++)
        sums[k] = identity_as<spot_t>();
    int steps = 0;
    bool is_first = true;
    while (s.at < s.end) {
        if (TWICE > 1 && s.aligned && steps + TWICE <= MOST && s.at + (TWICE * AHEAD - 1) * s.step + Width <= s.end) {
            add_rows<ROWS_IN_LINE, Width, TWICE * AHEAD>(s, steps * AHEAD, lanes);
            s.at += TWICE * s.stride;
#pragma unroll
            for (int k = 0; k < Width; k++)
                s.row[k] += TWICE * s.rows_a_stride;
            if (FILLS_LANES)
                steps += TWICE;
            continue;
        }
        if (FILLS_LANES && steps == MOST) {
            empty_columns(s, steps, is_first, lanes, sums);
            is_first = false;
            steps = 0;
        }
        const uint64 last = s.at + (AHEAD - 1) * s.step;
        const bool has_words = Width > 1 && s.has_words(s.at) && s.has_words(last);
        if (s.aligned && last + Width <= s.end)
            add_rows<ROWS_IN_LINE>(s, steps * AHEAD, lanes);
        else if (HAS_PAIRS && !s.aligned && s.in_step && has_words)
            add_rows<HAS_PAIRS ? ROWS_BY_WORDS : ROWS_ACROSS>(s, steps * AHEAD, lanes);
        else if (!s.aligned && has_words)
            add_rows<ROWS_ACROSS>(s, steps * AHEAD, lanes);
        else
            add_some_rows(s, steps * AHEAD, lanes);
        s.at += s.stride;
#pragma unroll
        for (int k = 0; k < Width; k++)
            s.row[k] += s.rows_a_stride;
        steps += FILLS_LANES;
    }
    empty_columns(s, steps, is_first, lanes, sums);
#if HALF_COLUMNS
#pragma unroll
    for (int k = 0; k < Width; k++)
        sums[k] = lanes->spot(k);
#endif
}

/* The stretch of the thread whose first element is number 'spot' of a step, counted slab after slab and row after row. */
template <int Width> inline stretch<Width> stretch_of(const columns_args &p, const panel_part &b, uint32 spot) {
    stretch<Width> s;
    const uint32 row = small_quotient(spot, p.panel), slab = p.slabs == 1 ? 0 : small_quotient(row, p.groups);
    const uint32 column = spot - row * p.panel, group = row - slab * p.groups;
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
    s.x = p.x + b.slab + slab * p.extent * p.inner;
    s.y = HAS_SECOND ? p.y + (s.x - p.x) : nullptr;
    s.step = s.rows_a_step * p.inner;
    s.stride = s.rows_a_stride * p.inner;
    s.at = first * p.inner + b.in_slab + column;
    s.end = column < b.columns ? end * p.inner : 0;
    s.aligned = (((uint64)(s.x + s.at) | (uint64)(HAS_SECOND ? s.y + s.at : nullptr) | s.step * sizeof(in_t)) &
                 (Width * sizeof(in_t) - 1)) == 0;
    const uint64 shift = (uint64)(s.x + s.at) & 3;
    s.in_step = (s.step * sizeof(in_t) & 3) == 0 && (!HAS_SECOND || ((uint64)(s.y + s.at) & 3) == shift);
    s.bits = (uint32)shift * 8;
    uint32 of_row = column, rows = (uint32)(first - b.chunk * p.chunk);
#pragma unroll
    for (int k = 0; k < Width; k++) {
        s.row[k] = rows;
        of_row = of_row + 1 == p.panel ? 0 : of_row + 1;
        rows += of_row == 0;
    }
    return s;
}

#if TALLY_ARCHITECTURE >= 90

/* What another block of the cluster has at this place. */
template <class Spot> inline Spot spot_at_block(const Spot *at, uint32 block) {
    constexpr int words = (sizeof(Spot) + 3) / 4;
    const uint32 *const from = (const uint32 *)((const uint8 *)at - ((uint64)at & 3));
    uint32 word[words];
#pragma unroll
    for (int w = 0; w < words; w++)
        word[w] = load_at_block(from + w, block);
    if (sizeof(Spot) < 4)
        word[0] >>= ((uint64)at & 3) * 8;
    Spot spot = identity_as<Spot>();
    memcpy(&spot, word, sizeof spot);
    return spot;
}

/* The blocks of a cluster have a chunk of the same panel each, whose sums lie in 'spots'. Each gives the results of a share
 * of the columns. A block stays until nobody reads its memory. */
template <class Spot> inline void give_as_cluster(const columns_args &p, const panel_part &b, const Spot *spots) {
    const uint32 chunks = (uint32)p.chunks, all = b.slabs * b.columns, each = (all + chunks - 1) / chunks;
    const uint32 first = (uint32)b.chunk * each, end = first + each < all ? first + each : all;
    arrive_in_cluster();
    wait_for_cluster();
    for (uint32 j = first + threadIdx.x; j < end; j += BLOCK) {
        const uint32 slab = b.slabs == 1 ? 0 : small_quotient(j, b.columns);
        const Spot *const at = spots + (slab * p.groups * p.panel + j - slab * b.columns);
        Spot acc = spot_at_block(at, 0);
        if constexpr (COMBINES_TOGETHER && ARE_SAME<Spot, acc_t>) {
            for (uint32 c = 1; c < chunks; c += MOST_TOGETHER - 1) {
                Spot some[MOST_TOGETHER] = {acc};
#pragma unroll
                for (uint32 k = 1; k < MOST_TOGETHER; k++)
                    some[k] = c + k - 1 < chunks ? spot_at_block(at, c + k - 1) : identity_as<Spot>();
                acc = combine_all(some);
            }
        } else {
#pragma unroll IS_LARGE ? 1 : CLUSTER - 1
            for (uint32 c = 1; c < CLUSTER; c++)
                if (c < chunks)
                    acc = combine(acc, spot_at_block(at, c));
        }
        give(p.to, b.column + j, sum_of(acc));
    }
    __syncwarp();
    arrive_in_cluster();
    wait_for_cluster();
}
#endif

/* The last block of a panel gives the results. 'others' blocks have handed over sums of its columns, 'results' apart,
 * and 'spots' has its own. Threads share columns where these are few. */
inline void give_handed(handed *from, uint32 others, uint32 results, uint32 columns, spot_t *spots,
                        const destination to, uint64 column) {
    constexpr uint32 AHEAD = sizeof(acc_t) > 32 ? 1 : sizeof(acc_t) > 8 ? 2 : 4;
    constexpr uint32 THREADS = COLUMN_SPOTS < BLOCK ? (int)COLUMN_SPOTS : (int)BLOCK;
    const uint32 fit = columns < THREADS ? THREADS / columns : 1, shares = fit < others ? fit : others;
    const uint32 here = shares > 1 ? columns : BLOCK, share = threadIdx.x / here;
    const uint32 each = (others + shares - 1) / shares, step = COMMUTES ? shares : 1;
    for (uint32 j = threadIdx.x - share * here; j - threadIdx.x % here < columns; j += here) {
        const bool works = share < shares && j < columns;
        const acc_t own = works ? sum_of(spots[j]) : identity_as<acc_t>();
        acc_t acc = identity_as<acc_t>();
        uint32 at = COMMUTES ? share : share * each;
        const uint32 end = !works ? 0 : COMMUTES || at + each > others ? others : at + each;
#pragma unroll 1
        for (; at < end; at += AHEAD * step) {
            acc_t next[AHEAD];
#pragma unroll
            for (uint32 u = 0; u < AHEAD; u++)
                next[u] = identity_as<acc_t>();
            take_over<true, false>(from + at * results + j, step * results, (end - at) * results, next);
#if COMBINES_TOGETHER
            acc_t all[AHEAD + 1] = {acc};
#pragma unroll
            for (uint32 u = 0; u < AHEAD; u++)
                all[u + 1] = next[u];
            acc = combine_all(all);
#else
#pragma unroll
            for (uint32 u = 0; u < AHEAD; u++)
                acc = combine(acc, next[u]);
#endif
        }
        if (shares > 1) { /* then this is the only round */
            acc_t *const of_shares = (acc_t *)spots;
            __syncthreads();
            if (works)
                of_shares[threadIdx.x] = acc;
            fold_groups(of_shares, columns, shares, 1);
            acc = of_shares[j];
        }
        if (works && share == 0)
            give(to, column + j, combine(acc, own));
    }
}

template <int Width> inline void fold_panel(const columns_args &p, const panel_part &b, spot_t *spots) {
    const uint32 spot = threadIdx.x * Width, spots_a_slab = p.groups * p.panel;
    const bool works = spot < b.slabs * spots_a_slab;
    spot_t sums[Width];
    if (HALF_COLUMNS)
        __syncthreads(); /* earlier use of the memory */
    if (works)
        fold_stretch(stretch_of<Width>(p, b, spot), sums, spots);
    if (p.groups == 1 && p.chunks == 1) {
        acc_t acc[Width];
#pragma unroll
        for (int k = 0; k < Width && works; k++)
            acc[k] = sum_of(sums[k]);
        if (works && spot < b.slabs * b.columns)
            give_columns<Width>(p, b.column + spot, b.slabs * b.columns - spot, acc);
        return;
    }
    __syncthreads(); /* earlier use of the memory */
    if (works)
#pragma unroll
        for (int k = 0; k < Width; k++)
            spots[spot + k] = sums[k];
    fold_groups(spots, p.panel, p.groups, b.slabs);
#if TALLY_ARCHITECTURE >= 90
    if (p.in_clusters) {
        give_as_cluster(p, b, spots);
        return;
    }
#endif
    const uint64 results = p.outer * p.inner;
    slot *const partials = p.partials + b.chunk * results;
    handed *const all_handed = (handed *)p.partials + b.column;
    if (p.hands_over && b.chunk + 1 == p.chunks)
        return; /* fold_columns_of goes on */
    for (uint32 j = threadIdx.x; j < b.slabs * b.columns; j += BLOCK) {
        const uint32 slab = b.slabs == 1 ? 0 : small_quotient(j, b.columns); /* of several they are whole rows */
        const acc_t acc = sum_of(spots[slab * spots_a_slab + j - slab * b.columns]);
        if (p.hands_over)
            give_away(all_handed + b.chunk * results + j, acc);
        else if (p.chunks > 1)
            partials[b.column + j].write(acc);
        else
            give(p.to, b.column + j, acc);
    }
}

/* Threads of COLUMN_WIDTH columns and of one have kernels of their own, which are compiled side by side. */
template <int Width> inline void fold_columns_of(const columns_args &p) {
    __shared__ alignas(16) uint8 memory[COLUMN_SPOTS * sizeof(acc_t)];
    wait_for_last(); /* which may hand over in the same memory */
    let_next_start();
    prepare_powers();
    const uint64 all = all_panels(p), parts = all * p.chunks;
    const uint32 first = p.in_clusters ? blockIdx.x : ordinal_of_block(); /* a panel's last block waits for the others */
    for (uint64 number = first; number < parts; number += gridDim.x)
        fold_panel<Width>(p, panel_part_at(p, all, number), (spot_t *)memory);
    if (!p.hands_over)
        return;
    uint32 number = first;
    hide(number); /* or what it is made of is kept in registers all along */
    const panel_part b = panel_part_at(p, all, number); /* the block's only one */
    if (b.chunk + 1 == p.chunks)
        give_handed((handed *)p.partials + b.column, (uint32)b.chunk, (uint32)(p.outer * p.inner), b.columns,
                    (spot_t *)memory, p.to, b.column);
}
