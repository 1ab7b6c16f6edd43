/* Scans of neighbouring planes, rows of columns that start anew: rows side by side in vectors (row_steps.h), wider ones
 * a vector of columns after the other. A part of scan.h, which includes it for each class and output type. */
#include "cpu/kernels/row_steps.h"

enum { NAME(MOST_ROW_STEPS_) = sizeof(L_T) == 4 ? 4 : 3 };

ALWAYS_INLINE L_V NAME(taken_)(L_V fill, __mmask16 lanes, __m512i from, L_V x) {
    return (L_V)(sizeof(L_T) == 4
                     ? _mm512_mask_permutexvar_epi32((__m512i)fill, lanes, from, (__m512i)x)
                     : _mm512_mask_permutexvar_epi64((__m512i)fill, (__mmask8)lanes, from, (__m512i)x));
}

/* The lanes 'own', which are neighbours, at x + at; of n elements, nothing else is read. */
ALWAYS_INLINE L_V NAME(load_lanes_)(const E_T *x, ptrdiff_t at, size_t n, __mmask16 own) {
    if (sizeof(E_T) == 4 && sizeof(L_T) == 4)
        return (L_V)_mm512_maskz_loadu_epi32(own, x + at);
    if (sizeof(E_T) == 8)
        return (L_V)_mm512_maskz_loadu_epi64((__mmask8)own, x + at);
    if (n >= LANES && (size_t)at <= n - LANES)
        return LOAD(x + at);
    const unsigned first = (unsigned)__builtin_ctz(own), count = (unsigned)__builtin_popcount(own);
    const uint64_t bytes = _bzhi_u64(UINT64_MAX, count * sizeof *x) << first * sizeof *x;
    const __m512i v = _mm512_maskz_loadu_epi8(bytes, x + at);
    E_T elements[LANES];
    memcpy(elements, &v, sizeof elements);
    return LOAD(elements);
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
    NOT_IN_VECTORS(exclusive); /* nor a loop for each form */
    UNROLL_8 for (size_t step = 0; step < NAME(MOST_ROW_STEPS_); step++) if (step < s->count) x =
        COMBINE(NAME(taken_)(s->identity, s->takes[step], s->from[step], x), x);
    const L_V was = *before;
    if (s->goes_on)
        *before = COMBINE(was, NAME(taken_)(s->identity, (__mmask16)-1, s->last, x));
    return COMBINE_BESIDE(was, exclusive ? NAME(taken_)(s->identity, s->takes[0], s->from[0], x) : x);
}

/* The lanes 'own' of one vector at 'from'; n elements are at x. */
ALWAYS_INLINE void NAME(scan_own_lanes_)(tally_monoid m, const NAME(row_scan_) * s, const E_T *x, size_t n,
                                         const E_T *from, __mmask16 own, L_V *before, O_T *to) {
    L_V v = NAME(load_lanes_)(x, from - x, n, own);
    if (SETTLES(m) && s->settles && NAME(is_settled_)(m, v, *before))
        v = *before;
    else
        v = ARE_NUMBERS(v, *before) ? NAME(scan_rows_in_vector_)(m, s, v, true, before)
                                    : NAME(scan_rows_in_vector_)(m, s, v, false, before);
    NAME(store_lanes_)(to, own, v);
}

/* n elements, planes of 'plane' each, which start from *value; it becomes the value after the last one if that
 * 'goes_on' from one vector to the next. 'count' and 'goes_on' are constants where this is inlined. */
ALWAYS_INLINE void NAME(scan_rows_by_)(tally_monoid m, size_t count, bool goes_on, const E_T *x, size_t n, size_t plane,
                                       const row_steps *steps, tally_cpu_scan_options how, L_V *value, O_T *out) {
    enum { SETTLING = 8 /* vectors of a plane */ };
    NAME(row_scan_)
    s = {.count = count,
         .last = steps->last,
         .exclusive = how.exclusive,
         .goes_on = goes_on,
         .settles = plane > SETTLING * LANES,
         .identity = NAME(kept_identity_)(m)};
    UNROLL_8 for (size_t step = 0; step < NAME(MOST_ROW_STEPS_); step++) if (step < count) {
        s.from[step] = steps->from[step];
        s.takes[step] = (__mmask16)steps->takes[step];
    }
    const size_t filled = steps->filled, in_plane = (plane + filled - 1) / filled, rest = plane - (in_plane - 1) * filled;
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
            NAME(scan_own_lanes_)(m, &s, x, n, here, (__mmask16)own, &before, to);
        NAME(scan_own_lanes_)(m, &s, x, n, here, (__mmask16)last_own, &before, to);
        return;
    }
    /* One loop, since a plane may have two vectors. */
    for (size_t vectors = n / plane * in_plane, left = in_plane; vectors > 0; vectors--) {
        const bool is_last = --left == 0;
        NAME(scan_own_lanes_)(m, &s, x, n, here, (__mmask16)(is_last ? last_own : own), &before, to);
        const ptrdiff_t by = is_last ? next_plane : next;
        here += by, to += by;
        if (is_last && vectors > 1) {
            before = start;
            left = in_plane;
        }
    }
    *value = before;
}

/* A text for each number of steps. */
ALWAYS_INLINE void NAME(scan_rows_side_by_side_)(tally_monoid m, bool goes_on, const E_T *x, size_t n, size_t plane,
                                                 const row_steps *steps, tally_cpu_scan_options how, L_V *value,
                                                 O_T *out) {
    if (steps->count == 1)
        NAME(scan_rows_by_)(m, 1, goes_on, x, n, plane, steps, how, value, out);
    else if (steps->count == 2)
        NAME(scan_rows_by_)(m, 2, goes_on, x, n, plane, steps, how, value, out);
    else if (steps->count == 3)
        NAME(scan_rows_by_)(m, 3, goes_on, x, n, plane, steps, how, value, out);
    else if (LANES > 8)
        NAME(scan_rows_by_)(m, 4, goes_on, x, n, plane, steps, how, value, out);
}

/* Planes whose rows would fill more than half a vector. */
ALWAYS_INLINE void NAME(scan_wide_planes_)(tally_monoid m, const E_T *x, size_t n, size_t rows, size_t width,
                                           tally_cpu_scan_options how, L_V start, O_T *out) {
    bool exclusive = how.exclusive;
    const ptrdiff_t step = how.reverse ? -(ptrdiff_t)width : (ptrdiff_t)width;
    for (size_t plane = 0; plane < n; plane += rows * width)
        for (size_t j = 0; j < width; j += LANES) {
            const size_t some = width - j < LANES ? width - j : LANES;
            const __mmask16 own = (__mmask16)((1u << some) - 1);
            ptrdiff_t at = (ptrdiff_t)(plane + j + (how.reverse ? (rows - 1) * width : 0));
            L_V before = start;
            for (size_t row = 0; row < rows; row++, at += step) {
                NOT_IN_VECTORS(exclusive);
                const L_V v = NAME(load_lanes_)(x, at, n, own);
                const L_V after = NAME(scan_combine_)(m, before, v);
                NAME(store_lanes_)(out + at, own, exclusive ? before : after);
                before = after;
            }
        }
}

enum { NAME(MOST_WIDE_ROWS_) = 12 }; /* taller planes take strips of several vectors */

ALWAYS_INLINE void NAME(scan_masked_planes_)(tally_monoid m, const E_T *x, size_t planes, size_t rows, size_t width,
                                             tally_cpu_scan_options how, const A_T *acc, O_T *out) {
    _Alignas(64) L_T buffer[NAME(BUFFER_)];
    const size_t plane = rows * width, n = planes * plane;
    const size_t most = how.stream && plane < NAME(BUFFER_) ? NAME(BUFFER_) / plane * plane : n;
    const tally_cpu_scan_options cached = {how.reverse, how.exclusive, false, 0};
    const L_V start = SPLAT(acc ? (L_T)*acc : NAME(scan_identity_)(m));
    const bool is_wide = width > LANES / 2, is_tall = is_wide && rows > NAME(MOST_WIDE_ROWS_);
    row_steps steps;
    if (!is_wide)
        FIND_STEPS(LANES, rows, width, how.reverse, &steps);
    for (size_t done = 0, block; done < n; done += block) {
        block = n - done < most ? n - done : most;
        O_T *const to = most < n ? (O_T *)buffer : out + done;
        L_V value = start;
        for (size_t at = 0; is_tall && at < block; at += plane)
            NAME(scan_wide_columns_)(m, x + done + at, rows, width, width, cached, NULL, width, to + at);
        if (is_wide && !is_tall)
            NAME(scan_wide_planes_)(m, x + done, block, rows, width, cached, start, to);
        else if (!is_wide && steps.is_whole)
            NAME(scan_rows_side_by_side_)(m, false, x + done, block, block, &steps, cached, &value, to);
        else if (!is_wide)
            NAME(scan_rows_side_by_side_)(m, true, x + done, block, plane, &steps, cached, &value, to);
        if (most < n)
            stream_bytes(out + done, buffer, block * sizeof *buffer);
    }
    if (how.stream)
        end_stream();
}

/* A few columns with running values, or NULL; whole vectors of rows, then the others. */
ALWAYS_INLINE void NAME(scan_narrow_columns_)(tally_monoid m, const E_T *x, size_t rows, size_t width,
                                              tally_cpu_scan_options how, L_T *values, O_T *out) {
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
        NAME(scan_rows_side_by_side_)
        (m, true, x + at, block * width, block * width, &steps, how, &value, how.stream ? (O_T *)buffer : out + at);
        if (how.stream)
            stream_bytes(out + at, buffer, block * width * sizeof *buffer);
    }
    memcpy(lane, &value, sizeof value);
    for (size_t j = 0; values && j < width; j++)
        values[j] = lane[how.reverse ? LANES - width + j : j];
}
