/* Scans down a few columns. Up to two vectors of them have their running values in registers: from the first-level
 * cache, each row would wait some ten cycles for the one before. A part of scan.h, which includes it for each class and
 * output type. (From the cache and so, ns an element: 24 columns of u32 0.130 and 0.048, 12 of f64 0.38 and 0.17, 64 of
 * f32 0.090 and 0.080, 100 of f32 0.095 and 0.088. Many more columns lose, since rows are no longer read in order:
 * 50000 x 200 of f32 0.46 and 0.63.) */
#if defined(__AVX512BW__)
enum { NAME(STRIP_) = 2 * LANES, NAME(MOST_STRIPS_) = 4, NAME(STRIP_ROWS_) = 64 };

/* If rows are whole, a vector also reads what is behind the columns, but nothing beyond the last row. If they are not,
 * other columns are there, which belong to another thread. */
ALWAYS_INLINE void NAME(scan_strip_)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride, bool whole,
                                     tally_cpu_scan_options how, L_T *before, size_t out_stride, O_T *out) {
    const size_t first = width < LANES ? width : LANES, second = width - first;
    const size_t ends = whole ? (NAME(STRIP_) - width + stride - 1) / stride : rows,
                 safe = rows > ends ? rows - ends : 0;
    const __mmask16 lanes_a = (__mmask16)((1u << first) - 1), lanes_b = (__mmask16)((1u << second) - 1);
    bool exclusive = how.exclusive, has_second = second > 0;
    v_u64 part, a_bits, b_bits;
    E_T last[NAME(STRIP_)];
    load_bytes(before, first * sizeof *before, &a_bits);
    load_bytes(before + first, second * sizeof *before, &b_bits);
    L_V a = (L_V)a_bits, b = (L_V)b_bits;
    const size_t start = how.reverse ? rows - 1 : 0, unsafe = how.reverse ? 0 : safe;
    const ptrdiff_t step = how.reverse ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
    const ptrdiff_t out_step = how.reverse ? -(ptrdiff_t)out_stride : (ptrdiff_t)out_stride;
    const E_T *here = x + start * stride;
    O_T *to = out + start * out_stride;
    for (size_t k = 0; k < rows; k++, here += step, to += out_step) {
        const E_T *from = here;
        if (k - unsafe < rows - safe) {
            load_bytes(from, first * sizeof *from, &part);
            memcpy(last, &part, LANES * sizeof *last);
            load_bytes(from + first, second * sizeof *from, &part);
            memcpy(last + LANES, &part, LANES * sizeof *last);
            from = last;
        }
        NOT_IN_VECTORS(exclusive); /* nor a loop for each form */
        NOT_IN_VECTORS(has_second);
        const L_V after = NAME(scan_combine_)(m, a, LOAD(from));
        NAME(store_lanes_)(to, lanes_a, exclusive ? a : after);
        a = after;
        if (has_second) {
            const L_V after_b = NAME(scan_combine_)(m, b, LOAD(from + LANES));
            NAME(store_lanes_)(to + LANES, lanes_b, exclusive ? b : after_b);
            b = after_b;
        }
    }
    NAME(store_lanes_)((O_T *)before, lanes_a, a);
    NAME(store_lanes_)((O_T *)before + first, lanes_b, b);
}

ALWAYS_INLINE void NAME(scan_strips_)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                      tally_cpu_scan_options how, L_T *before, size_t out_stride, O_T *out) {
    for (size_t j = 0, some; j < width; j += some) {
        some = width - j < NAME(STRIP_) ? width - j : (size_t)NAME(STRIP_);
        NAME(scan_strip_)(m, x + j, rows, some, stride, width == stride, how, before + j, out_stride, out + j);
    }
}
#define IN_STRIPS(width) ((width) <= NAME(MOST_STRIPS_) * NAME(STRIP_))
#define NARROW_ROWS      (LANES / 2)
#else
enum { NAME(STRIP_ROWS_) = 64 };

/* Less than a vector, element by element. */
ALWAYS_INLINE void NAME(scan_strips_)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                      tally_cpu_scan_options how, L_T *before, size_t out_stride, O_T *out) {
    for (size_t k = 0; k < rows; k++) {
        const size_t row = how.reverse ? rows - 1 - k : k;
        for (size_t j = 0; j < width; j++) {
            NOT_IN_VECTORS(j);
            const L_T was = before[j];
            before[j] = NAME(scan_combine_one_)(m, was, LOAD_ONE(x + row * stride + j));
            memcpy(out + row * out_stride + j, how.exclusive ? &was : before + j, sizeof was);
        }
    }
}
#define IN_STRIPS(width) ((width) < LANES)
#define NARROW_ROWS      (LANES - 1)
#endif
