/* Scans straight from elements to output elements for the monoids of one class: a text that type.h includes once for
 * each class and output type, with ELEMENT, CLASS, ACC and ON_<class> as in fold.h, and
 *
 *     LANE    the output's type tag, in which the scan runs (integers wrap, so their own width suffices)
 *     WIDTH   same or wide: ends the names below
 *     SCANS_GROUPS   defined if there is to be a scan of short groups, too
 *
 * A vector is scanned in registers in log2(lanes) steps; each step combines it with itself shifted up. Then the value
 * before it is combined in. Only this last step waits for the vector before. */

#include "cpu/kernels/classes.h"
#include "cpu/kernels/settled.h"

#define NAME(function) PASTE4(function, CLASS, _, WIDTH)
#define E_T            PASTE2(e_, ELEMENT)
#define L_T            PASTE2(s_, LANE)
#define A_T            PASTE2(s_, ACC)
#define O_T            PASTE2(e_, LANE)
#define L_V            PASTE2(v_, LANE)
#define LANES          LANES_OF(L_T)
#define LOAD(p)        PASTE4(load_, LANE, _from_, ELEMENT)(p)
#define LOAD_ONE(p)    PASTE4(scalar_, LANE, _from_, ELEMENT)(*(p))
#define SPLAT(value)   ((L_T)(value) - (L_V){0}) /* adding 0 would lose the sign of -0 */
#define SHIFT_UP       PASTE2(shift_up_, LANE)
#define REVERSED       PASTE2(reversed_, LANE)
#define LAST           PASTE2(last_, LANE)
#define SETTLES(m)     (m == TALLY_MONOID_min || m == TALLY_MONOID_max || m == TALLY_MONOID_band || m == TALLY_MONOID_bor)

#define HIGHEST   PASTE2(HIGHEST_, LANE)
#define LOWEST    PASTE2(LOWEST_, LANE)
#define MIN(p, q) PASTE2(min_, LANE)(p, q)
#define MAX(p, q) PASTE2(max_, LANE)(p, q)

ALWAYS_INLINE L_V NAME(scan_combine_)(tally_monoid m, L_V a, L_V b) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return components;)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#ifdef SCANS_EXTREMES
#undef MIN
#undef MAX
#define MIN(p, q) PASTE2(smaller_, LANE)(p, q)
#define MAX(p, q) PASTE2(larger_, LANE)(p, q)

/* The same of numbers none of which is NaN, in a third of the instructions. */
ALWAYS_INLINE L_V NAME(scan_combine_numbers_)(tally_monoid m, L_V a, L_V b) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return components;)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}
#define ARE_NUMBERS(a, b) has_no_nan(PASTE2(ordered_, LANE)(all_ordered, a, b), LANES)
#define COMBINE(a, b)     (numbers ? NAME(scan_combine_numbers_)(m, a, b) : NAME(scan_combine_)(m, a, b))
#else
#define ARE_NUMBERS(a, b) ((void)(a), (void)(b), false)
#define COMBINE(a, b)     ((void)numbers, NAME(scan_combine_)(m, a, b))
#endif

#define COMBINE_BESIDE(a, b) (m == TALLY_MONOID_sum ? PASTE2(sum_beside_, LANE)(a, b) : COMBINE(a, b))

#undef MIN
#undef MAX
#define MIN(p, q) PASTE2(scalar_min_, LANE)(p, q)
#define MAX(p, q) PASTE2(scalar_max_, LANE)(p, q)

ALWAYS_INLINE L_T NAME(scan_combine_one_)(tally_monoid m, L_T a, L_T b) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (L_T)(components);)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

ALWAYS_INLINE L_T NAME(scan_identity_)(tally_monoid m) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) identity
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (L_T)(components);)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#undef MIN
#undef MAX
#undef HIGHEST
#undef LOWEST

/* n elements one by one; returns the value after them. */
ALWAYS_INLINE L_T NAME(scan_scalars_)(tally_monoid m, const E_T *x, size_t n, bool reverse, bool exclusive, L_T before,
                                      O_T *out) {
    for (size_t k = 0; k < n; k++) {
        size_t i = reverse ? n - 1 - k : k;
        L_T value = LOAD_ONE(x + i);
        L_T after = NAME(scan_combine_one_)(m, before, value);
        memcpy(out + i, exclusive ? &before : &after, sizeof after);
        before = after;
    }
    return before;
}

/* One vector in the order of its lanes; *before is the value before it, in every lane, and becomes the one after.
 * 'numbers' is a constant where this is inlined: no NaN is among them. */
ALWAYS_INLINE L_V NAME(scan_steps_)(tally_monoid m, L_V x, bool exclusive, bool numbers, L_V *before) {
    const L_V identity = SPLAT(NAME(scan_identity_)(m));
    UNROLL_8 for (size_t shift = 1; shift < LANES; shift *= 2) x = COMBINE(SHIFT_UP(x, identity, shift), x);
    L_V result = COMBINE_BESIDE(*before, exclusive ? SHIFT_UP(x, identity, 1) : x);
    /* not the last lane of the result, though it is equal: so the next vector waits for one operation only */
    *before = COMBINE(*before, LAST(x));
    return result;
}
ALWAYS_INLINE L_V NAME(scan_vector_)(tally_monoid m, L_V x, bool exclusive, L_V *before) {
    return ARE_NUMBERS(x, *before) ? NAME(scan_steps_)(m, x, exclusive, true, before)
                                   : NAME(scan_steps_)(m, x, exclusive, false, before);
}

/* Whether a vector changes nothing: no prefix differs from the value before it. So it is with most vectors of a long
 * scan for the smallest element, whose loop then is a copy's. */
ALWAYS_INLINE bool NAME(is_settled_)(tally_monoid m, L_V x, L_V before) {
    if (m == TALLY_MONOID_min)
        return !PASTE2(any_smaller_, LANE)(x, before);
    if (m == TALLY_MONOID_max)
        return !PASTE2(any_larger_, LANE)(x, before);
    return !any_bit((v_u64)NAME(scan_combine_)(m, before, x) ^ (v_u64)before);
}

#include "cpu/kernels/scan_vectors.h"

/* Whole vectors from where the scan begins, then the rest: a few elements one by one, more as a vector. (Zen 5, rows of
 * 30 f32 0.21 ns an element one by one, 0.10 so; of 20 0.15 and 0.16.) */
enum { NAME(FEW_) = 3 };
ALWAYS_INLINE void NAME(scan_)(tally_monoid m, NAME(blocks_function_) * by_blocks, const E_T *x, size_t n,
                               tally_cpu_scan_options how, L_T start, O_T *out) {
    size_t vectors = n / LANES, rest = n % LANES;
    size_t vectors_at = how.reverse ? rest : 0, rest_at = how.reverse ? 0 : n - rest;
    L_V before = SPLAT(start);
    if (vectors < NAME(LEAST_VECTORS_)) /* not in a part that is streamed: the bits would depend on it */
        by_blocks = NULL;
    if (how.stream)
        NAME(stream_vectors_)(m, by_blocks, x + vectors_at, vectors, how, &before, out + vectors_at);
    else
        NAME(scan_vectors_)(m, by_blocks, x + vectors_at, vectors, how, &before, out + vectors_at);
#if defined(__AVX512BW__)
    if (!how.reverse && sizeof(E_T) == sizeof(L_T) && rest > NAME(FEW_)) {
        v_u64 bytes;
        load_bytes(x + rest_at, rest * sizeof *x, &bytes);
        bytes = (v_u64)NAME(scan_vector_)(m, (L_V)bytes, how.exclusive, &before);
        _mm512_mask_storeu_epi8(out + rest_at, _bzhi_u64(UINT64_MAX, (unsigned)(rest * sizeof(L_T))), (__m512i)bytes);
        return;
    }
#endif
    NOT_IN_VECTORS(rest); /* nor in as many copies as a vector has lanes */
    NAME(scan_scalars_)(m, x + rest_at, rest, how.reverse, how.exclusive, before[0], out + rest_at);
}

/* The identity in every lane. gcc makes -1 anew for each use, by an instruction that waits for what its register held:
 * band of i32 in rows of 12 took 0.64 ns an element, bor 0.13. */
ALWAYS_INLINE L_V NAME(kept_identity_)(tally_monoid m) {
    L_V identity = SPLAT(NAME(scan_identity_)(m));
    if (m == TALLY_MONOID_band || m == TALLY_MONOID_min)
        LOADED_ONCE(identity);
    return identity;
}

#if defined(__AVX512BW__)
/* The lanes 'own' at x; nothing else is read. */
ALWAYS_INLINE L_V NAME(load_lanes_)(const E_T *x, __mmask16 own) {
    if (sizeof(E_T) == 4 && sizeof(L_T) == 4)
        return (L_V)_mm512_maskz_loadu_epi32(own, x);
    if (sizeof(E_T) == 8)
        return (L_V)_mm512_maskz_loadu_epi64((__mmask8)own, x);
    E_T elements[LANES];
    if (sizeof elements == 32) {
        const __m256i part =
            sizeof(E_T) == 4 ? _mm256_maskz_loadu_epi32((__mmask8)own, x) : _mm256_maskz_loadu_epi16(own, x);
        memcpy(elements, &part, sizeof part < sizeof elements ? sizeof part : sizeof elements);
    } else {
        const __m128i part = sizeof(E_T) == 2 ? _mm_maskz_loadu_epi16((__mmask8)own, x) : _mm_maskz_loadu_epi8(own, x);
        memcpy(elements, &part, sizeof part < sizeof elements ? sizeof part : sizeof elements);
    }
    return LOAD(elements);
}

ALWAYS_INLINE void NAME(store_lanes_)(O_T *out, __mmask16 lanes, L_V v) {
    if (sizeof(L_T) == 4)
        _mm512_mask_storeu_epi32(out, lanes, (__m512i)v);
    else
        _mm512_mask_storeu_epi64(out, (__mmask8)lanes, (__m512i)v);
}
#endif

/* ---- columns ---- */

/* One row of at least a vector, of which before[] is combined into each element and becomes the result. The last vector
 * overlaps the one before it, so it is computed before any of them is stored, from values of its own: a vector that is
 * loaded from two stores waits for both (29 columns of i8: 5.3 ns a row so, 2.4 with these). */
ALWAYS_INLINE void NAME(scan_column_row_)(tally_monoid m, const E_T *x, size_t width, bool exclusive, L_T *before,
                                          L_V *last_before, O_T *out) {
    const size_t last = width - LANES;
    L_V was;
    const L_V last_was = *last_before, last_after = NAME(scan_combine_)(m, last_was, LOAD(x + last));
    for (size_t j = 0; j < last; j += LANES) {
        memcpy(&was, before + j, sizeof was);
        const L_V after = NAME(scan_combine_)(m, was, LOAD(x + j));
        memcpy(before + j, &after, sizeof after);
        memcpy(out + j, exclusive ? &was : &after, sizeof after);
    }
    *last_before = last_after;
    memcpy(out + last, exclusive ? &last_was : &last_after, sizeof last_after);
}

/* A few rows with nothing before them: the running values of a row are the results of the row before, if they are
 * exclusive those of the row itself. (2 x 2 x 3294 of f32 0.129 ns an element with running values of their own, of the
 * accumulators' type, and 0.042 so; 3 x 67619 of i8 0.19 and 0.014.) */
enum { NAME(FEW_ROWS_) = 4 };
ALWAYS_INLINE void NAME(scan_fresh_rows_)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                          tally_cpu_scan_options how, size_t out_stride, O_T *out) {
    const L_V identity = NAME(kept_identity_)(m);
    const size_t last = width - LANES;
    L_V was = identity, last_was = identity;
    bool has_values = false;
    for (size_t k = 0; k < rows; k++) {
        const size_t row = how.reverse ? rows - 1 - k : k, from = how.exclusive ? how.reverse ? row + 1 : row - 1 : row;
        O_T *const to = out + row * out_stride;
        const O_T *const values = how.reverse ? to + out_stride : to - out_stride;
        if (how.exclusive && k == 0) {
            for (size_t j = 0; j < last; j += LANES)
                memcpy(to + j, &identity, sizeof identity);
        } else {
            last_was = NAME(scan_combine_)(m, last_was, LOAD(x + from * stride + last));
            for (size_t j = 0; j < last; j += LANES) {
                NOT_IN_VECTORS(has_values); /* nor a loop for either */
                if (has_values)
                    memcpy(&was, values + j, sizeof was);
                const L_V after = NAME(scan_combine_)(m, was, LOAD(x + from * stride + j));
                memcpy(to + j, &after, sizeof after);
            }
            has_values = true;
        }
        memcpy(to + last, &last_was, sizeof last_was);
    }
}

#include "cpu/kernels/scan_strips.h"

/* A tile of columns whose running values stay in the first-level cache. Output that is streamed goes through a buffer,
 * as many rows at a time as it has room for, if the rows are neighbours. Strips do not read rows in order, so the next
 * rows are fetched (35 x 4575 x 90 f32, ns an element: 0.34 without, 0.28 so). */
ALWAYS_INLINE void NAME(scan_column_tile_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t rows,
                                           size_t width, size_t stride, tally_cpu_scan_options how, L_T *before,
                                           size_t out_stride, O_T *out) {
    const bool in_place = (const void *)x == (const void *)out;
    if (!before && rows <= NAME(FEW_ROWS_) && width >= LANES && !how.stream && !(how.exclusive && in_place)) {
        NAME(scan_fresh_rows_)(m, x, rows, width, stride, how, out_stride, out);
        return;
    }
    _Alignas(64) L_T own[NAME(BUFFER_)], buffer[NAME(BUFFER_)];
    L_V last_before = {0};
    const size_t last = width < LANES ? 0 : width - LANES;
    const L_V identity = NAME(kept_identity_)(m);
    for (size_t j = 0; !before && j < width; j += LANES)
        memcpy(own + j, &identity, sizeof identity);
    before = before ? before : own;
    size_t most = !how.stream ? rows : width == out_stride ? NAME(BUFFER_) / width : 1;
    most = IN_STRIPS(width) && most > NAME(STRIP_ROWS_) ? (size_t)NAME(STRIP_ROWS_) : most;
    if (width >= LANES)
        memcpy(&last_before, before + last, sizeof last_before);
    for (size_t done = 0, block; done < rows; done += block) {
        block = rows - done < most ? rows - done : most;
        const size_t first = how.reverse ? rows - done - block : done;
        O_T *const results = out + first * out_stride, *const to = how.stream ? (O_T *)buffer : results;
        const ptrdiff_t next = (ptrdiff_t)first + (how.reverse ? -(ptrdiff_t)block : (ptrdiff_t)block);
        if (IN_STRIPS(width) && how.stream)
            fetch_near((const char *)(x + next * (ptrdiff_t)stride), block * width * sizeof *x);
        if (IN_STRIPS(width))
            NAME(scan_strips_)(m, shared, x + first * stride, block, width, stride, how, before, out_stride, to);
        for (size_t k = 0; !IN_STRIPS(width) && k < block; k++) {
            const size_t row = how.reverse ? block - 1 - k : k;
            NAME(scan_column_row_)
            (m, x + (first + row) * stride, width, how.exclusive, before, &last_before, to + row * out_stride);
        }
        if (how.stream)
            stream_bytes(results, buffer, block * width * sizeof *buffer);
    }
    if (!IN_STRIPS(width))
        memcpy(before + last, &last_before, sizeof last_before);
}

ALWAYS_INLINE void NAME(scan_wide_columns_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t rows,
                                            size_t width, size_t stride, tally_cpu_scan_options how, L_T *before,
                                            size_t out_stride, O_T *out) {
    for (size_t first = 0; first < width; first += NAME(BUFFER_)) {
        const size_t tile = width - first < NAME(BUFFER_) ? width - first : (size_t)NAME(BUFFER_);
        NAME(scan_column_tile_)
        (m, shared, x + first, rows, tile, stride, how, before ? before + first : NULL, out_stride, out + first);
    }
}

#if defined(__AVX512BW__)
#include "cpu/kernels/scan_planes.h"
#else
#include "cpu/kernels/scan_rows.h"
#endif

ALWAYS_INLINE void NAME(scan_columns_)(tally_monoid m, NAME(shared_) shared, const E_T *x, size_t rows, size_t width,
                                       size_t stride, tally_cpu_scan_options how, L_T *before, size_t out_stride,
                                       O_T *out) {
    if (width == stride && width == out_stride && width <= NARROW_ROWS)
        NAME(scan_narrow_columns_)(m, shared, x, rows, width, how, before, out);
    else
        NAME(scan_wide_columns_)(m, shared, x, rows, width, stride, how, before, out_stride, out);
    if (how.stream)
        end_stream();
}

/* Planes of one column are rows. Those of more than a vector are scanned one by one, as only their ends need masks. */
#define NOT_INLINED static __attribute__((noinline)) void
#if defined(__AVX512BW__)
#define DEFINE_SHARED(name)                                                                                            \
    NOT_INLINED PASTE4(scan_strips_, name, _, WIDTH)(const E_T *x, size_t rows, size_t width, size_t stride,           \
                                                     tally_cpu_scan_options how, NAME(strip_start_) from,              \
                                                     size_t out_stride, O_T *out) {                                    \
        NAME(scan_strips_from_)(TALLY_MONOID_##name, x, rows, width, stride, how, from, out_stride, out);              \
    }                                                                                                                  \
    NOT_INLINED PASTE4(scan_by_side_, name, _, WIDTH)(bool goes_on, const E_T *x, size_t n, size_t plane,              \
                                                      const row_steps *steps, tally_cpu_scan_options how, L_V *value,  \
                                                      O_T *out) {                                                      \
        if (goes_on)                                                                                                   \
            NAME(scan_rows_by_)(TALLY_MONOID_##name, true, x, n, plane, steps, how, value, out);                       \
        else                                                                                                           \
            NAME(scan_rows_by_)(TALLY_MONOID_##name, false, x, n, plane, steps, how, value, out);                      \
    }
#define SHARED_OF(name)                                                                                                \
    (NAME(shared_)) {                                                                                                  \
        PASTE4(scan_strips_, name, _, WIDTH), PASTE4(scan_by_side_, name, _, WIDTH)                                    \
    }
#define SCAN_PLANES(name)                                                                                              \
    if (width == 1 && rows > LANES)                                                                                    \
        NAME(scan_rows_)(PASTE4(scan_, name, _, WIDTH), x, planes, rows, how, acc, out);                               \
    else                                                                                                               \
        NAME(scan_masked_planes_)(TALLY_MONOID_##name, SHARED_OF(name), x, planes, rows, width, how, acc, out)
#else
#define DEFINE_SHARED(name)
#define SHARED_OF(name)                                                                                                \
    (NAME(shared_)) {                                                                                                  \
        0                                                                                                              \
    }
#define SCAN_PLANES(name)                                                                                              \
    if (width == 1)                                                                                                    \
        NAME(scan_rows_)(TALLY_MONOID_##name, PASTE4(scan_, name, _, WIDTH), x, planes, rows, how, acc, out);          \
    for (size_t plane = 0; width > 1 && plane < planes; plane++)                                                       \
        PASTE4(scan_columns_, name, _, WIDTH)                                                                          \
    ((const E_T *)x + plane * rows * width, rows, width, width, how, NULL, width, (O_T *)out + plane * rows * width)
#endif

#ifdef SCANS_GROUPS
#include "cpu/kernels/scan_groups.h"

#define DEFINE_GROUPS(name)                                                                                            \
    static void PASTE4(scan_groups_, name, _, WIDTH)(const void *x, const int8_t *heads, size_t n,                     \
                                                     tally_cpu_scan_options how, const void *start, void *acc,         \
                                                     void *out) {                                                      \
        NAME(scan_groups_)                                                                                             \
        (TALLY_MONOID_##name, x, (const e_i8 *)heads, n, how.reverse, how.exclusive, (L_T) * (const A_T *)start, acc,  \
         out);                                                                                                         \
    }
#define GROUPS_OF(name) PASTE4(scan_groups_, name, _, WIDTH)
#else
#define DEFINE_GROUPS(name)
#define GROUPS_OF(name) NULL
#endif

/* The forward scans have code of their own; reverse scans, and those that settle, decide in the loop. */
#define DEFINE_SCAN(name)                                                                                              \
    DEFINE_BLOCKS(name)                                                                                                \
    static void PASTE4(scan_, name, _, WIDTH)(const void *x, size_t n, tally_cpu_scan_options how, const void *acc,    \
                                              void *out) {                                                             \
        enum { SETTLES_IN_LOOP = SETTLES(TALLY_MONOID_##name) };                                                       \
        const L_T start = (L_T) * (const A_T *)acc;                                                                    \
        if (how.reverse)                                                                                               \
            NAME(scan_)                                                                                                \
        (TALLY_MONOID_##name, BLOCKS_OF(name), x, n,                                                                   \
         (tally_cpu_scan_options){true, how.exclusive, how.stream, how.ahead}, start, out);                            \
        else if (how.exclusive || SETTLES_IN_LOOP) NAME(scan_)(                                                        \
            TALLY_MONOID_##name, BLOCKS_OF(name), x, n,                                                                \
            (tally_cpu_scan_options){false, !SETTLES_IN_LOOP || how.exclusive, how.stream, how.ahead}, start, out);    \
        else NAME(scan_)(TALLY_MONOID_##name, BLOCKS_OF(name), x, n,                                                   \
                         (tally_cpu_scan_options){false, false, how.stream, how.ahead}, start, out);                   \
    }                                                                                                                  \
    DEFINE_SHARED(name)                                                                                                \
    NOT_INLINED PASTE4(scan_columns_, name, _, WIDTH)(const void *x, size_t rows, size_t width, size_t stride,         \
                                                      tally_cpu_scan_options how, void *before, size_t out_stride,     \
                                                      void *out) {                                                     \
        NAME(scan_columns_)                                                                                            \
        (TALLY_MONOID_##name, SHARED_OF(name), x, rows, width, stride, how, before, out_stride, out);                  \
    }                                                                                                                  \
    static void PASTE4(scan_planes_, name, _, WIDTH)(const void *x, size_t planes, size_t rows, size_t width,          \
                                                     tally_cpu_scan_options how, const void *acc, void *out) {         \
        SCAN_PLANES(name);                                                                                             \
    }                                                                                                                  \
    DEFINE_GROUPS(name)                                                                                                \
    static const tally_cpu_direct_scan PASTE4(direct_scan_, name, _, WIDTH) = {                                        \
        PASTE4(scan_, name, _, WIDTH), PASTE4(scan_planes_, name, _, WIDTH), PASTE4(scan_columns_, name, _, WIDTH),    \
        GROUPS_OF(name)};

/* The monoids of the class whose accumulator is the result and whose lift is the element. */
#define SCAN_sum  DEFINE_SCAN(sum)
#define SCAN_prod DEFINE_SCAN(prod)
#define SCAN_min  DEFINE_SCAN(min)
#define SCAN_max  DEFINE_SCAN(max)
#define SCAN_band DEFINE_SCAN(band)
#define SCAN_bor  DEFINE_SCAN(bor)
#define SCAN_bxor DEFINE_SCAN(bxor)
#define SCAN_sumabs
#define SCAN_sumsq
#define SCAN_dot
#define SCAN_nonzero
#define SCAN_maxabs
#define TALLY_COMPONENT(identity, lift, combine)
#define TALLY_MONOID(name, class, components) ON_##class(SCAN_##name)
#include "core/monoids.def"

#undef SCAN_sum
#undef SCAN_prod
#undef SCAN_min
#undef SCAN_max
#undef SCAN_band
#undef SCAN_bor
#undef SCAN_bxor
#undef SCAN_sumabs
#undef SCAN_sumsq
#undef SCAN_dot
#undef SCAN_nonzero
#undef SCAN_maxabs
#undef DEFINE_SCAN
#undef DEFINE_GROUPS
#undef DEFINE_BLOCKS
#undef BLOCKS_OF
#undef DEFINE_SHARED
#undef SHARED_OF
#undef SCAN_PLANES
#undef NOT_INLINED
#undef GROUPS_OF
#undef COMBINE
#undef COMBINE_BESIDE
#undef ARE_NUMBERS
#undef SCANS_EXTREMES
#undef SETTLES
#undef IN_STRIPS
#undef NARROW_ROWS
#undef LAST
#undef REVERSED
#undef SHIFT_UP
#undef SPLAT
#undef LOAD_ONE
#undef LOAD
#undef LANES
#undef L_V
#undef O_T
#undef A_T
#undef L_T
#undef E_T
#undef NAME
#include "cpu/kernels/undefine.h"
