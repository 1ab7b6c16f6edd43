/* Columns of a few rows, whose elements are all loaded at once (columns.cu). */

enum { THIN = 4 /* rows at most */ };

/* A thread's columns of a panel: all of their elements. */
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
        s.aligned = (((uint64)(s.x + column) | (uint64)(HAS_SECOND ? s.y + column : nullptr) | p.inner * sizeof(in_t)) &
                     (Width * sizeof(in_t) - 1)) == 0;
#pragma unroll
        for (int r = 0; r < THIN; r++)
            if (r < p.extent) {
                x[r] = s.load_any(s.x, column + r * p.inner);
                if (HAS_SECOND)
                    y[r] = s.load_any(s.y, column + r * p.inner);
            }
    }
    /* All threads call this: lanes write together. */
    void fold(const columns_args &p, uint32 number) const {
        uint32 outer;
        const uint64 column = column_of(p, number, &outer), first = outer * p.inner + column;
        const bool works = threadIdx.x * Width < p.panel && column < p.inner;
        const uint64 left = works ? p.inner - column : 0;
        acc_t acc[Width];
#pragma unroll
        for (int k = 0; k < Width && works; k++) {
            running<lane_t> sum;
#pragma unroll
            for (int r = 0; r < THIN; r++)
                if (r < p.extent) {
                    value_t second = HAS_SECOND ? value_of(y[r].element[k]) : value_t(0);
                    sum.append(value_of(x[r].element[k]), second, p.before + r);
                }
            acc[k] = widen(sum.sum());
        }
        /* Lanes write together where one lane's results are less than a word of the memory's, or several vectors. On an H200
         * band of i16 1 x 3 x 28730000 to an address in the middle of a vector took 0.70 of the time this way, but norm1 of
         * f32 3121 x 3 x 3650 1.11. */
        constexpr bool ARE_PARTS = Width <= 8 && (sizeof(result_t) < 4 || Width * sizeof(result_t) > 16);
        const bool alone = !ARE_PARTS || p.to.carry || p.to.total;
        if (alone && works)
            give_columns<Width>(p, first, left, acc);
        if constexpr (ARE_PARTS) {
            if (alone)
                return;
            few<result_t, Width> results;
#pragma unroll
            for (int k = 0; k < Width && works; k++)
                results.element[k] = lower(acc[k], p.to.count, 0);
            const int count = left < Width ? (int)left : Width;
            store_of_lanes(p.to.out + first, results, lane_results::of(count, threadIdx.x != 0));
        }
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

/* A thread is soon done, so each block has one panel and there are many blocks. On an H200 1000 slabs of 3 x 50000 f32
 * took 194 us this way, and 210 in resident blocks that load the next panel meanwhile. */
extern "C" __global__ void __launch_bounds__(BLOCK, THIN_RESIDENT) fold_thin_columns(columns_args p) {
    if (p.width == 1)
        fold_thin<1>(p);
    else
        fold_thin<COLUMN_WIDTH>(p);
}
