/* Scans of neighbouring planes, rows of columns that start anew: rows side by side in vectors (row_steps.h), wider ones
 * a vector of columns after the other. A part of scan.h, which includes it for each class and output type. */
#include "cpu/kernels/row_steps.h"

enum { NAME(MOST_ROW_STEPS_) = sizeof(L_T) == 4 ? 4 : 3 };

ALWAYS_INLINE L_V NAME(taken_)(L_V fill, __mmask16 lanes, __m512i from, L_V x) {
    return (L_V)(sizeof(L_T) == 4 ? _mm512_mask_permutexvar_epi32((__m512i)fill, lanes, from, (__m512i)x)
                                  : _mm512_mask_permutexvar_epi64((__m512i)fill, (__mmask8)lanes, from, (__m512i)x));
}

/* What a loop over vectors keeps in registers. */
typedef struct NAME(row_scan_) {
    __m512i from[NAME(MOST_ROW_STEPS_)], last;
    __mmask16 takes[NAME(MOST_ROW_STEPS_)];
    size_t count;
    bool exclusive, goes_on, settles;
    L_V identity;
} NAME(row_scan_);

/* One vector. *before is the value before its first row in each column, and becomes the one after its last. */
ALWAYS_INLINE L_V NAME(scan_rows_in_vector_)(tally_monoid m, const NAME(row_scan_) * s, L_V x, bool numbers,
                                             L_V *before) {
    bool exclusive = s->exclusive;
    size_t count = s->count;
    NOT_IN_VECTORS(exclusive); /* nor a loop for each form */
    NOT_IN_VECTORS(count);
    UNROLL_8 for (size_t step = 0; step < NAME(MOST_ROW_STEPS_); step++) {
        if (step > 0 && step == count)
            break;
        x = COMBINE(NAME(taken_)(s->identity, s->takes[step], s->from[step], x), x);
    }
    const L_V was = *before;
    if (s->goes_on)
        *before = COMBINE(was, NAME(taken_)(s->identity, (__mmask16)-1, s->last, x));
    return COMBINE_BESIDE(was, exclusive ? NAME(taken_)(s->identity, s->takes[0], s->from[0], x) : x);
}

/* The lanes 'own' of one vector. */
ALWAYS_INLINE void NAME(scan_own_lanes_)(tally_monoid m, const NAME(row_scan_) * s, const E_T *from, __mmask16 own,
                                         L_V *before, O_T *to) {
    L_V v = NAME(load_lanes_)(from, own);
    if (SETTLES(m) && s->settles && NAME(is_settled_)(m, v, *before))
        v = *before;
    else
        v = ARE_NUMBERS(v, *before) ? NAME(scan_rows_in_vector_)(m, s, v, true, before)
                                    : NAME(scan_rows_in_vector_)(m, s, v, false, before);
    NAME(store_lanes_)(to, own, v);
}

/* n elements, planes of 'plane' each, which start from *value; it becomes the value after the last one if that
 * 'goes_on' from one vector to the next. 'goes_on' is a constant where this is inlined. */
ALWAYS_INLINE void NAME(scan_rows_by_)(tally_monoid m, bool goes_on, const E_T *x, size_t n, size_t plane,
                                       const row_steps *steps, tally_cpu_scan_options how, L_V *value, O_T *out) {
    enum { SETTLING = 8 /* vectors of a plane */ };
    NAME(row_scan_)
    s = {.count = steps->count,
         .last = steps->last,
         .exclusive = how.exclusive,
         .goes_on = goes_on,
         .settles = plane > SETTLING * LANES,
         .identity = NAME(kept_identity_)(m)};
    UNROLL_8 for (size_t step = 0; step < NAME(MOST_ROW_STEPS_); step++) {
        s.from[step] = steps->from[step];
        s.takes[step] = (__mmask16)steps->takes[step];
    }
    const size_t filled = steps->filled, in_plane = (plane + filled - 1) / filled,
                 rest = plane - (in_plane - 1) * filled;
    const uint32_t own = ((1u << filled) - 1) << (how.reverse ? LANES - filled : 0);
    const uint32_t last_own = ((1u << rest) - 1) << (how.reverse ? LANES - rest : 0);
    const ptrdiff_t next = how.reverse ? -(ptrdiff_t)filled : (ptrdiff_t)filled;
    const ptrdiff_t next_plane = how.reverse ? -(ptrdiff_t)rest : (ptrdiff_t)rest;
    const L_V start = *value;
    L_V before = start;
    const E_T *here = x + (how.reverse ? (ptrdiff_t)n - (ptrdiff_t)LANES : 0);
    O_T *to = out + (here - x);
    if (!goes_on) {
        for (size_t vectors = in_plane; vectors > 1; vectors--, here += next, to += next)
            NAME(scan_own_lanes_)(m, &s, here, (__mmask16)own, &before, to);
        NAME(scan_own_lanes_)(m, &s, here, (__mmask16)last_own, &before, to);
        return;
    }
    /* One loop, since a plane may have two vectors. */
    for (size_t vectors = n / plane * in_plane, left = in_plane; vectors > 0; vectors--) {
        const bool is_last = --left == 0;
        NAME(scan_own_lanes_)(m, &s, here, (__mmask16)(is_last ? last_own : own), &before, to);
        const ptrdiff_t by = is_last ? next_plane : next;
        here += by, to += by;
        if (is_last && vectors > 1) {
            before = start;
            left = in_plane;
        }
    }
    *value = before;
}

/* Planes whose rows would fill more than half a vector. Where they are a strip, all are one run of rows. */
ALWAYS_INLINE void NAME(scan_wide_planes_)(NAME(shared_) shared, const E_T *x, size_t n, size_t rows, size_t width,
                                           tally_cpu_scan_options how, L_V start, O_T *out) {
    const NAME(strip_start_) from = {.start = start, .in_plane = rows};
    const size_t all = n / width, at_once = width <= NAME(STRIP_) ? all : rows;
    for (size_t row = 0; row < all; row += at_once)
        shared.strips(x + row * width, at_once, width, width, how, from, width, out + row * width);
}

/* Rows one by one. */
ALWAYS_INLINE void NAME(scan_rows_)(NAME(scan_function_) * scan, const E_T *x, size_t rows, size_t extent,
                                    tally_cpu_scan_options how, const A_T *start, O_T *out) {
    L_T buffer[NAME(BUFFER_)];
    const tally_cpu_scan_options cached = {how.reverse, how.exclusive, false, 0};
    const size_t most = how.stream ? NAME(BUFFER_) / extent : rows;
    for (size_t done = 0; done < rows; done += most) {
        const size_t block = rows - done < most ? rows - done : most;
        O_T *const to = how.stream ? (O_T *)buffer : out + done * extent;
        for (size_t r = 0; r < block; r++)
            scan(x + (done + r) * extent, extent, cached, start, to + r * extent);
        if (how.stream)
            stream_bytes(out + done * extent, buffer, block * extent * sizeof *buffer);
    }
    if (how.stream)
        end_stream();
}

ALWAYS_INLINE void NAME(scan_masked_planes_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t planes,
                                             size_t rows, size_t width, tally_cpu_scan_options how, const A_T *acc,
                                             O_T *out) {
    _Alignas(64) L_T buffer[NAME(BUFFER_)];
    const size_t plane = rows * width, n = planes * plane;
    const size_t most = how.stream && plane < NAME(BUFFER_) ? NAME(BUFFER_) / plane * plane : n;
    const tally_cpu_scan_options cached = {how.reverse, how.exclusive, false, 0};
    const L_V start = SPLAT(acc ? (L_T)*acc : NAME(scan_identity_)(m));
    const bool is_wide = width > LANES / 2;
    row_steps steps;
    if (!is_wide)
        FIND_STEPS(LANES, rows, width, how.reverse, &steps);
    for (size_t done = 0, block; done < n; done += block) {
        block = n - done < most ? n - done : most;
        O_T *const to = most < n ? (O_T *)buffer : out + done;
        L_V value = start;
        if (most < n) /* masked loads do not teach the processor what comes next */
            fetch_bytes((const char *)(x + done + block), block * sizeof *x);
        if (is_wide)
            NAME(scan_wide_planes_)(shared, x + done, block, rows, width, cached, start, to);
        else if (steps.is_whole)
            shared.rows(false, x + done, block, block, &steps, cached, &value, to);
        else
            shared.rows(true, x + done, block, plane, &steps, cached, &value, to);
        if (most < n)
            stream_bytes(out + done, buffer, block * sizeof *buffer);
    }
    if (how.stream)
        end_stream();
}

/* A few columns with running values, or NULL; whole vectors of rows, then the others. */
ALWAYS_INLINE void NAME(scan_narrow_columns_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t rows,
                                              size_t width, tally_cpu_scan_options how, L_T *values, O_T *out) {
    _Alignas(64) L_T buffer[NAME(BUFFER_)];
    L_T lane[LANES];
    row_steps steps;
    const size_t at_once = LANES / width, most = how.stream ? NAME(BUFFER_) / (at_once * width) * at_once : rows;
    for (size_t l = 0; l < LANES; l++) {
        const size_t j = (how.reverse ? LANES - 1 - l : l) % width;
        lane[l] = values ? values[how.reverse ? width - 1 - j : j] : NAME(scan_identity_)(m);
    }
    L_V value;
    memcpy(&value, lane, sizeof value);
    for (size_t done = 0, block; done < rows; done += block) {
        block = rows - done < most ? rows - done : most;
        block = block > at_once ? block / at_once * at_once : block;
        const size_t at = (how.reverse ? rows - done - block : done) * width;
        if (done == 0 || block < at_once)
            FIND_STEPS(LANES, block < at_once ? block : SIZE_MAX / width, width, how.reverse, &steps);
        shared.rows(true, x + at, block * width, block * width, &steps, how, &value,
                    how.stream ? (O_T *)buffer : out + at);
        if (how.stream)
            stream_bytes(out + at, buffer, block * width * sizeof *buffer);
    }
    memcpy(lane, &value, sizeof value);
    for (size_t j = 0; values && j < width; j++)
        values[j] = lane[how.reverse ? LANES - width + j : j];
}
