/* Columns of a few dozen rows (columns.cu). A thread has some neighbouring columns of a slab, and all of their rows, of
 * which it loads a few at a time. Its columns are those whose results begin with an aligned vector, so that results are
 * written whole; the rows begin anywhere. */

template <int Width> struct thin_columns {
    typedef few<result_t, Width> thin_results;
    typedef choice_of_lanes<Width, COLUMN_PACKS && Width % 4 == 0> kept;
    typedef typename kept::type lane;
    /* Rows that are loaded at a time; of the rest, four and what is left. */
    enum { THIN = Width * sizeof(in_t) > 8 || HAS_SECOND ? 4 : 8 };
    enum { LANES = kept::COUNT, UNIT = sizeof(thin_results) < 32 ? (int)sizeof(thin_results) : 32 };

    const columns_args &p;
    uint64 slab;       /* its first element */
    uint64 results;    /* the number of its first one */
    int64 column;      /* the first of the thread's, in the slab; below 0 where results begin within a unit */
    int begin, end;    /* those of the thread's columns that there are */
    bool has_neighbour; /* whether the lane that shares stores with this one has the columns next to these */

    thin_columns(const columns_args &p, uint64 number) : p(p) {
        const uint64 outer = p.outer == 1 ? 0 : quotient(number, p.panels), within = number - outer * p.panels;
        slab = outer * p.extent * p.inner;
        results = outer * p.inner;
        const uint64 to = (uint64)(p.to.out + results);
        column = (int64)(within * Width) - (are_in_units() ? (int)(to % UNIT / sizeof(result_t)) : 0);
        const int64 left = (int64)p.inner - column;
        begin = column < 0 ? (int)-column : 0;
        end = outer >= p.outer || left <= begin ? begin : left < Width ? (int)left : Width;
        has_neighbour = threadIdx.x & 1 ? within != 0 : within + 1 < p.panels;
    }
    /* Whether results can lie so that each thread's begin with a unit, which is a sector of memory at most. */
    bool are_in_units() const {
        return (uint64)p.to.out % sizeof(result_t) == 0;
    }
    bool is_whole() const {
        return begin == 0 && end == Width;
    }
    /* How a thread's elements of a row are loaded; elements() is asked for when the loads of all rows are under way. */
    struct in_line {
        few<in_t, Width> loaded;

        void load_from(const in_t *from, int, int) {
            loaded = load_few<Width>(from);
        }
        few<in_t, Width> elements() const {
            return loaded;
        }
    };
    struct across : words_across<Width> {
        void load_from(const in_t *from, int, int) {
            words_across<Width>::load_from(from);
        }
    };
    struct one_by_one : in_line {
        void load_from(const in_t *from, int begin, int end) {
#pragma unroll
            for (int k = 0; k < Width; k++)
                this->loaded.element[k] = load(from + (k >= begin && k < end ? k : begin));
        }
    };
    /* Adds some rows from 'row' on. */
    template <class Loaded, int Rows> void add_rows(uint32 row, lane (&lanes)[LANES]) const {
        Loaded of_x[Rows], of_y[HAS_SECOND ? Rows : 1];
        few<in_t, Width> x[Rows], y[Rows];
        const uint64 first = slab + row * p.inner + column;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            of_x[r].load_from(p.x + first + r * p.inner, begin, end);
            if (HAS_SECOND)
                of_y[HAS_SECOND ? r : 0].load_from(p.y + first + r * p.inner, begin, end);
        }
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            x[r] = of_x[r].elements();
            if (HAS_SECOND)
                y[r] = of_y[HAS_SECOND ? r : 0].elements();
        }
        stretch<Width> s;
        s.base = p.before;
        s.rows_a_step = 1;
#pragma unroll
        for (int k = 0; k < Width; k++)
            s.row[k] = row;
        add_loaded<Width, Rows>(s, row, x, y, 0, Rows, [](int) { return Width; }, lanes);
    }
    template <class Loaded> void add_all(lane (&lanes)[LANES]) const {
        const uint32 extent = (uint32)p.extent;
        uint32 row = 0;
#pragma unroll 1
        for (; row + THIN <= extent; row += THIN)
            add_rows<Loaded, THIN>(row, lanes);
        if (THIN > 4 && row + 4 <= extent) {
            add_rows<Loaded, 4>(row, lanes);
            row += 4;
        }
        const uint32 rest = extent - row;
        if (rest == 3)
            add_rows<Loaded, 3>(row, lanes);
        else if (rest == 2)
            add_rows<Loaded, 2>(row, lanes);
        else if (rest == 1)
            add_rows<Loaded, 1>(row, lanes);
    }
    /* Words, and the columns that a slab's first and last threads have too many, may reach into other rows, but not out
     * of the array. */
    void fold(lane (&lanes)[LANES]) const {
        const int64 first = (int64)slab + column, last = first + (int64)((p.extent - 1) * p.inner);
        const int64 all = (int64)(p.outer * p.extent * p.inner);
        const uint64 addresses = (uint64)(p.x + first) | (uint64)(HAS_SECOND ? p.y + first : nullptr);
        const bool are_in_line = ((addresses | p.inner * sizeof(in_t)) & (Width * sizeof(in_t) - 1)) == 0;
        if (are_in_line && first >= 0 && last + Width <= all)
            add_all<in_line>(lanes);
        else if (Width > 1 && first >= Width && last + 2 * Width <= all)
            add_all<across>(lanes);
        else
            add_all<one_by_one>(lanes);
    }
    /* Whole results, of which several vectors pass between neighbouring lanes so that each store of a warp writes whole
     * sectors. All lanes call this. */
    void store_units(result_t *to, const thin_results &mine) const {
        constexpr int VECTORS = sizeof mine / 16;
        if constexpr (VECTORS <= 1) {
            if (is_whole())
                store_aligned_once((thin_results *)to, mine);
        } else {
            const bool is_odd = threadIdx.x & 1;
            const uint32 wholes = __ballot_sync(ALL_LANES, is_whole());
            const bool are_two = has_neighbour && is_whole() && wholes >> (threadIdx.x % WARP ^ 1) & 1;
            uint4 bits[VECTORS], *const vectors = (uint4 *)to;
            memcpy(bits, &mine, sizeof mine);
#pragma unroll
            for (int v = 0; v < VECTORS; v += 2) {
                const uint4 other = from_across(is_odd ? bits[v] : bits[v + 1], 1);
                if (are_two) {
                    __stcs(vectors + v + (is_odd ? 1 - VECTORS : 0), is_odd ? other : bits[v]);
                    __stcs(vectors + v + (is_odd ? 1 : VECTORS), is_odd ? bits[v + 1] : other);
                } else if (is_whole()) {
                    __stcs(vectors + v, bits[v]);
                    __stcs(vectors + v + 1, bits[v + 1]);
                }
            }
        }
    }
    /* All threads call this. */
    void give_all(const lane (&lanes)[LANES]) const {
        if (p.to.carry || p.to.total) {
#pragma unroll
            for (int k = 0; k < Width; k++)
                if (k >= begin && k < end)
                    give(p.to, results + column + k, sum_of_column(lanes, k, p.before));
            return;
        }
        thin_results mine;
#pragma unroll
        for (int k = 0; k < Width; k++)
            if constexpr (MOMENTS == 2)
                mine.element[k] = lanes[k].result(0);
            else
                mine.element[k] = lower(sum_of_column(lanes, k, p.before), p.to.count, 0);
        result_t *const to = p.to.out + results + column;
        if (!are_in_units()) {
            const bool follows_whole = threadIdx.x && (column || p.inner % Width == 0); /* the lane before has Width */
            store_of_lanes(to, mine, lane_results::of(end, follows_whole));
            return;
        }
        store_units(to, mine);
        if (!is_whole())
#pragma unroll
            for (int k = 0; k < Width; k++)
                if (k >= begin && k < end)
                    store_aligned_once(to + k, mine.element[k]);
    }
};

template <int Width> inline void fold_thin(const columns_args &p) {
    const uint64 all = p.outer * p.panels;
    prepare_powers();
    for (uint64 first = blockIdx.x * (uint64)BLOCK; first < all; first += gridDim.x * (uint64)BLOCK) {
        const thin_columns<Width> mine(p, first + threadIdx.x);
        typename thin_columns<Width>::lane lanes[thin_columns<Width>::LANES];
        if (mine.begin < mine.end)
            mine.fold(lanes);
        mine.give_all(lanes);
    }
}

/* A thread is soon done, so there are many blocks. On an H200 1000 slabs of 3 x 50000 f32 took 194 us this way, and 210
 * in resident blocks that load what is next meanwhile. */
extern "C" __global__ void __launch_bounds__(BLOCK, THIN_BLOCKS) fold_thin_columns(columns_args p) {
    if (p.width == 1)
        fold_thin<1>(p);
    else
        fold_thin<THIN_WIDTH>(p);
}
