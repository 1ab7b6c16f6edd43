/* Columns of a few dozen rows (columns.cu). A thread has some neighbouring columns of a slab, and all of their rows, of
 * which it loads a few at a time. */

enum { THIN = 4 /* rows that are loaded at a time; the rest are two or one */ };

template <int Width> struct thin_columns {
    const columns_args &p;
    uint64 slab;   /* its first element */
    uint64 column; /* the first of the thread's, in the slab */
    int count;     /* the thread's columns, or 0 */

    thin_columns(const columns_args &p, uint64 number) : p(p) {
        const uint64 outer = quotient(number, p.panels), left = p.inner - (number - outer * p.panels) * Width;
        slab = outer * p.extent * p.inner;
        column = p.inner - left;
        count = outer >= p.outer ? 0 : left < Width ? (int)left : Width;
    }
    uint64 result() const { /* the number of its first one */
        return slab / p.extent + column;
    }
    /* How a thread's elements of a row are loaded; elements() is asked for when the loads of all rows are under way. */
    struct in_line {
        few<in_t, Width> loaded;

        void load_from(const in_t *from, int) {
            loaded = load_few<Width>(from);
        }
        few<in_t, Width> elements() const {
            return loaded;
        }
    };
    struct across : words_across<Width> {
        void load_from(const in_t *from, int) {
            words_across<Width>::load_from(from);
        }
    };
    struct one_by_one : in_line {
        void load_from(const in_t *from, int count) {
#pragma unroll
            for (int k = 0; k < Width; k++)
                this->loaded.element[k] = load(from + (k < count ? k : 0));
        }
    };
    /* Adds some rows from 'row' on. */
    template <class Loaded, int Rows> void add_rows(uint32 row, column_sum (&lanes)[Width]) const {
        Loaded of_x[Rows], of_y[HAS_SECOND ? Rows : 1];
        few<in_t, Width> x[Rows], y[Rows];
        const uint64 first = slab + row * p.inner + column;
#pragma unroll
        for (int r = 0; r < Rows; r++) {
            of_x[r].load_from(p.x + first + r * p.inner, count);
            if (HAS_SECOND)
                of_y[HAS_SECOND ? r : 0].load_from(p.y + first + r * p.inner, count);
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
    template <class Loaded> void add_all(column_sum (&lanes)[Width]) const {
        const uint32 extent = (uint32)p.extent;
        uint32 row = 0;
#pragma unroll 1
        for (; row + THIN <= extent; row += THIN)
            add_rows<Loaded, THIN>(row, lanes);
        if (extent & 2)
            add_rows<Loaded, 2>(row, lanes);
        if (extent & 1)
            add_rows<Loaded, 1>(extent - 1, lanes);
    }
    /* Words, and the columns that a slab's last thread has too many, may reach into the next row, but not out of the
     * array. */
    void fold(column_sum (&lanes)[Width]) const {
        const uint64 addresses = (uint64)p.x | (uint64)(HAS_SECOND ? p.y : nullptr) | p.inner * sizeof(in_t);
        const uint64 first = slab + column, last = first + (p.extent - 1) * p.inner;
        if ((addresses & (Width * sizeof(in_t) - 1)) == 0)
            add_all<in_line>(lanes);
        else if (Width > 1 && first >= Width && last + 2 * Width <= p.outer * p.extent * p.inner)
            add_all<across>(lanes);
        else
            add_all<one_by_one>(lanes);
    }
    /* All threads call this: lanes write together where one lane's results are less than a word of the memory's, or
     * several vectors. On an H200 band of i16 1 x 3 x 28730000 to an address in the middle of a vector took 0.70 of the
     * time this way, but norm1 of f32 3121 x 3 x 3650 1.11. */
    void give_all(const column_sum (&lanes)[Width]) const {
        constexpr bool ARE_PARTS = Width <= 8 && (sizeof(result_t) < 4 || Width * sizeof(result_t) > 16);
        if (p.to.carry || p.to.total) {
            acc_t acc[Width];
#pragma unroll
            for (int k = 0; k < Width; k++)
                acc[k] = lanes[k].sum_from(p.before, 1);
            if (count)
                give_columns<Width>(p, result(), count, acc);
            return;
        }
        few<result_t, Width> results;
#pragma unroll
        for (int k = 0; k < Width; k++)
            if constexpr (MOMENTS == 2)
                results.element[k] = lanes[k].result(0);
            else
                results.element[k] = lower(lanes[k].sum_from(p.before, 1), p.to.count, 0);
        result_t *const to = p.to.out + result();
        if constexpr (ARE_PARTS) {
            const bool follows_whole = threadIdx.x && (column || p.inner % Width == 0); /* the lane before has Width */
            store_of_lanes(to, results, lane_results::of(count, follows_whole));
        } else if (count == Width) {
            store_few(to, results);
        } else {
#pragma unroll
            for (int k = 0; k < Width; k++)
                if (k < count)
                    store(to + k, results.element[k]);
        }
    }
};

template <int Width> inline void fold_thin(const columns_args &p) {
    const uint64 all = p.outer * p.panels;
    for (uint64 first = blockIdx.x * (uint64)BLOCK; first < all; first += gridDim.x * (uint64)BLOCK) {
        const thin_columns<Width> mine(p, first + threadIdx.x);
        column_sum lanes[Width];
        if (mine.count)
            mine.fold(lanes);
        mine.give_all(lanes);
    }
}

/* A thread is soon done, so there are many blocks. On an H200 1000 slabs of 3 x 50000 f32 took 194 us this way, and 210
 * in resident blocks that load what is next meanwhile. */
extern "C" __global__ void __launch_bounds__(BLOCK, THIN_RESIDENT) fold_thin_columns(columns_args p) {
    if (p.width == 1)
        fold_thin<1>(p);
    else
        fold_thin<COLUMN_WIDTH>(p);
}
