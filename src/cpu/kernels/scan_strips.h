/* Scans down a few columns. Up to two vectors of them have their running values in registers: from the first-level
 * cache, each row would wait some ten cycles for the one before. A part of scan.h, which includes it for each class and
 * output type. (From the cache and so, ns an element: 24 columns of u32 0.130 and 0.048, 12 of f64 0.38 and 0.17, 64 of
 * f32 0.090 and 0.080, 100 of f32 0.095 and 0.088. Many more columns lose, since rows are no longer read in order:
 * 50000 x 200 of f32 0.46 and 0.63.) */
#if defined(__AVX512BW__)
#include "cpu/kernels/row_steps.h"

enum { NAME(STRIP_) = 4 * LANES, NAME(MOST_STRIPS_) = 2, NAME(STRIP_ROWS_) = 64 };

/* What a strip starts from: values[width], which become those behind the last row, or 'start' every 'in_plane' rows. */
typedef struct NAME(strip_start_) {
    L_T *values;
    L_V start;
    size_t in_plane;
} NAME(strip_start_);

/* What planes and columns share, as functions that are not inlined. */
typedef struct NAME(shared_) {
    void (*strips)(const E_T *x, size_t rows, size_t width, size_t stride, tally_cpu_scan_options how,
                   NAME(strip_start_) from, size_t out_stride, O_T *out);
    void (*rows)(bool goes_on, const E_T *x, size_t n, size_t plane, const row_steps *steps, tally_cpu_scan_options how,
                 L_V *value, O_T *out);
} NAME(shared_);

/* Up to 'vectors' vectors of columns, a constant where this is inlined. */
ALWAYS_INLINE void NAME(scan_strip_)(tally_monoid m, size_t vectors, const E_T *x, size_t rows, size_t width,
                                     size_t stride, tally_cpu_scan_options how, NAME(strip_start_) from,
                                     size_t out_stride, O_T *out) {
    const __mmask16 whole = (__mmask16)((1u << LANES) - 1), last = (__mmask16)(whole >> (vectors * LANES - width));
    const ptrdiff_t step = how.reverse ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
    const ptrdiff_t out_step = how.reverse ? -(ptrdiff_t)out_stride : (ptrdiff_t)out_stride;
    const E_T *here = x + (how.reverse ? (rows - 1) * stride : 0);
    O_T *to = out + (how.reverse ? (rows - 1) * out_stride : 0);
    bool exclusive = how.exclusive;
    L_V before[4];
    UNROLL_8 for (size_t v = 0; v < vectors; v++) {
        v_u64 bits;
        if (from.values)
            load_bytes(from.values + v * LANES, (v + 1 < vectors ? LANES : width - v * LANES) * sizeof(L_T), &bits);
        before[v] = from.values ? (L_V)bits : from.start;
    }
    for (size_t left = from.in_plane; rows > 0; rows--, here += step, to += out_step) {
        NOT_IN_VECTORS(exclusive); /* nor a loop for each form */
        UNROLL_8 for (size_t v = 0; v < vectors; v++) {
            const __mmask16 own = v + 1 < vectors ? whole : last;
            const L_V after = NAME(scan_combine_)(m, before[v], NAME(load_lanes_)(here + v * LANES, own));
            NAME(store_lanes_)(to + v * LANES, own, exclusive ? before[v] : after);
            before[v] = after;
        }
        if (--left == 0) {
            UNROLL_8 for (size_t v = 0; v < vectors; v++) before[v] = from.start;
            left = from.in_plane;
        }
    }
    UNROLL_8 for (size_t v = 0; v < vectors; v++) if (from.values)
        NAME(store_lanes_)((O_T *)from.values + v * LANES, v + 1 < vectors ? whole : last, before[v]);
}

ALWAYS_INLINE void NAME(scan_strips_from_)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                           tally_cpu_scan_options how, NAME(strip_start_) from, size_t out_stride,
                                           O_T *out) {
    for (size_t j = 0, some; j < width; j += some) {
        some = width - j < NAME(STRIP_) ? width - j : (size_t)NAME(STRIP_);
        if (some <= LANES)
            NAME(scan_strip_)(m, 1, x + j, rows, some, stride, how, from, out_stride, out + j);
        else if (some <= 2 * LANES)
            NAME(scan_strip_)(m, 2, x + j, rows, some, stride, how, from, out_stride, out + j);
        else if (some <= 3 * LANES)
            NAME(scan_strip_)(m, 3, x + j, rows, some, stride, how, from, out_stride, out + j);
        else
            NAME(scan_strip_)(m, 4, x + j, rows, some, stride, how, from, out_stride, out + j);
        from.values = from.values ? from.values + some : NULL;
    }
}

ALWAYS_INLINE void NAME(scan_strips_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t rows, size_t width,
                                      size_t stride, tally_cpu_scan_options how, L_T *before, size_t out_stride,
                                      O_T *out) {
    (void)m;
    shared.strips(x, rows, width, stride, how, (NAME(strip_start_)){.values = before}, out_stride, out);
}
#define IN_STRIPS(width) ((width) <= NAME(MOST_STRIPS_) * NAME(STRIP_))
#define NARROW_ROWS      (LANES / 2)
#else
enum { NAME(STRIP_ROWS_) = 64 };
typedef struct NAME(shared_) {
    size_t none;
} NAME(shared_);

/* Less than a vector, element by element. */
ALWAYS_INLINE void NAME(scan_strips_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t rows, size_t width,
                                      size_t stride, tally_cpu_scan_options how, L_T *before, size_t out_stride,
                                      O_T *out) {
    (void)shared;
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
