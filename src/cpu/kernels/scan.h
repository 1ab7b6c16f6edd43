/* Scans straight from elements to output elements for the monoids of one class: a text that type.h includes once for
 * each class and output type, with ELEMENT, CLASS, ACC and ON_<class> as in fold.h, and
 *
 *   LANE    the output's type tag, in which the scan runs (integers wrap, so their own width will do)
 *   WIDTH   same or wide: ends the names below
 *
 * A vector is scanned in registers in log2(lanes) steps, each combining it with itself shifted up; then the value that
 * came before is combined in. Only that last step waits for the vector before. */

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
#define STREAM         PASTE2(stream_, LANE)

#define HIGHEST   PASTE2(HIGHEST_, LANE)
#define LOWEST    PASTE2(LOWEST_, LANE)
#define MIN(p, q) PASTE2(min_, LANE)(p, q)
#define MAX(p, q) PASTE2(max_, LANE)(p, q)

ALWAYS_INLINE L_V NAME(scan_combine_)(tally_monoid m, L_V a, L_V b) {
    switch (m) {
#define TALLY_MONOID(name, class, identity, lift, combine) ON_##class(case TALLY_MONOID_##name : return combine;)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#undef MIN
#undef MAX
#define MIN(p, q) PASTE2(scalar_min_, LANE)(p, q)
#define MAX(p, q) PASTE2(scalar_max_, LANE)(p, q)

ALWAYS_INLINE L_T NAME(scan_combine_one_)(tally_monoid m, L_T a, L_T b) {
    switch (m) {
#define TALLY_MONOID(name, class, identity, lift, combine) ON_##class(case TALLY_MONOID_##name : return (L_T)(combine);)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

ALWAYS_INLINE L_T NAME(scan_identity_)(tally_monoid m) {
    switch (m) {
#define TALLY_MONOID(name, class, identity, lift, combine)                                                             \
    ON_##class(case TALLY_MONOID_##name : return (L_T)(identity);)
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

/* One vector in the order of its lanes; *before is the value before it, in every lane, and becomes the one after. */
ALWAYS_INLINE L_V NAME(scan_vector_)(tally_monoid m, L_V x, bool exclusive, L_V *before) {
    const L_V identity = SPLAT(NAME(scan_identity_)(m));
    UNROLL_8 for (size_t shift = 1; shift < LANES; shift *= 2) x =
        NAME(scan_combine_)(m, SHIFT_UP(x, identity, shift), x);
    L_V after = NAME(scan_combine_)(m, *before, x);
    L_V result = exclusive ? NAME(scan_combine_)(m, *before, SHIFT_UP(x, identity, 1)) : after;
    *before = SPLAT(after[LANES - 1]);
    return result;
}

ALWAYS_INLINE void NAME(scan_vectors_)(tally_monoid m, const E_T *x, size_t vectors, bool reverse, bool exclusive,
                                       bool stream, L_V *before, O_T *out) {
    for (size_t k = 0; k < vectors; k++) {
        size_t i = (reverse ? vectors - 1 - k : k) * LANES;
        L_V v = LOAD(x + i);
        v = NAME(scan_vector_)(m, reverse ? REVERSED(v) : v, exclusive, before);
        if (reverse)
            v = REVERSED(v);
        if (stream)
            STREAM(out + i, v);
        else
            memcpy(out + i, &v, sizeof v);
    }
}

/* Elements until the output is aligned, whole vectors, and the rest; backwards for a reverse scan. */
ALWAYS_INLINE void NAME(scan_)(tally_monoid m, const E_T *x, size_t n, bool reverse, bool exclusive, bool stream,
                               L_T start, O_T *out) {
    size_t head = (VECTOR_BYTES - (uintptr_t)out % VECTOR_BYTES) % VECTOR_BYTES / sizeof(L_T);
    if (head > n || (uintptr_t)out % sizeof(L_T))
        head = stream = 0;
    size_t body = (n - head) / LANES, tail = n - head - body * LANES;
    size_t first = reverse ? tail : head, last = reverse ? head : tail;
    size_t first_at = reverse ? n - first : 0, last_at = reverse ? 0 : n - last;
    L_V before = SPLAT(NAME(scan_scalars_)(m, x + first_at, first, reverse, exclusive, start, out + first_at));
    if (stream)
        NAME(scan_vectors_)(m, x + head, body, reverse, exclusive, true, &before, out + head);
    else
        NAME(scan_vectors_)(m, x + head, body, reverse, exclusive, false, &before, out + head);
    NAME(scan_scalars_)(m, x + last_at, last, reverse, exclusive, before[0], out + last_at);
    if (stream)
        end_stream();
}

enum { NAME(COLUMN_TILE_) = 4096 / sizeof(L_T) };

ALWAYS_INLINE void NAME(scan_column_row_)(tally_monoid m, const E_T *x, size_t width, bool exclusive,
                                          L_T *restrict before, O_T *out) {
    for (size_t j = 0; j < width; j++) {
        L_T value = LOAD_ONE(x + j);
        L_T after = NAME(scan_combine_one_)(m, before[j], value);
        out[j] = exclusive ? before[j] : after;
        before[j] = after;
    }
}

/* Rows of tiles that stay in the first cache with their running values. */
ALWAYS_INLINE void NAME(scan_columns_)(tally_monoid m, const E_T *x, size_t rows, size_t width, size_t stride,
                                       bool reverse, bool exclusive, A_T *acc, O_T *out) {
    L_T before[NAME(COLUMN_TILE_)];
    for (size_t first = 0; first < width; first += NAME(COLUMN_TILE_)) {
        size_t tile = width - first < NAME(COLUMN_TILE_) ? width - first : (size_t)NAME(COLUMN_TILE_);
        for (size_t j = 0; j < tile; j++)
            before[j] = (L_T)acc[first + j];
        for (size_t k = 0; k < rows; k++) {
            size_t at = (reverse ? rows - 1 - k : k) * stride + first;
            NAME(scan_column_row_)(m, x + at, tile, exclusive, before, out + at);
        }
        for (size_t j = 0; j < tile; j++)
            acc[first + j] = (A_T)before[j];
    }
}

#define DEFINE_SCAN(name)                                                                                              \
    static void PASTE4(scan_, name, _, WIDTH)(const void *x, size_t n, bool reverse, bool exclusive, bool stream,      \
                                              const void *acc, void *out) {                                            \
        const L_T start = (L_T) * (const A_T *)acc;                                                                    \
        if (reverse)                                                                                                   \
            NAME(scan_)(TALLY_MONOID_##name, x, n, true, exclusive, stream, start, out);                               \
        else if (exclusive)                                                                                            \
            NAME(scan_)(TALLY_MONOID_##name, x, n, false, true, stream, start, out);                                   \
        else                                                                                                           \
            NAME(scan_)(TALLY_MONOID_##name, x, n, false, false, stream, start, out);                                  \
    }                                                                                                                  \
    static void PASTE4(scan_columns_, name, _, WIDTH)(const void *x, size_t rows, size_t width, size_t stride,         \
                                                      bool reverse, bool exclusive, void *acc, void *out) {            \
        if (exclusive)                                                                                                 \
            NAME(scan_columns_)(TALLY_MONOID_##name, x, rows, width, stride, reverse, true, acc, out);                 \
        else                                                                                                           \
            NAME(scan_columns_)(TALLY_MONOID_##name, x, rows, width, stride, reverse, false, acc, out);                \
    }                                                                                                                  \
    static const tally_cpu_direct_scan PASTE4(direct_scan_, name, _, WIDTH) = {PASTE4(scan_, name, _, WIDTH),          \
                                                                               PASTE4(scan_columns_, name, _, WIDTH)};

/* Of the class' monoids those whose accumulator is the result and whose lift is the element. */
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
#define TALLY_MONOID(name, class, identity, lift, combine) ON_##class(SCAN_##name)
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
#undef STREAM
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
