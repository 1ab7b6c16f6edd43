/* The kernels of the monoids with several components over one element type: as fold.h, a text that type.h includes once
 * for each class, with
 *
 *   ELEMENT, CLASS   as in fold.h
 *   LANE             type tag of lifted values
 *   C0, C1, ...      type tags of the components, two at least
 *   FAST_FOLD        a file with a faster fold of whole runs (minmax.h, indexed.h, logsumexp.h, moments.h, integers.h)
 *   FAST_COLUMNS     defined if that file has a faster fold of some columns (indexed.h), too
 *   SORTS_LABELS     defined if elements taken one by one would lose too many digits; there is no fold_labels then
 *   ON_<class>       as in fold.h
 *
 * The rest is straight from the table, one by one. */

#include "cpu/kernels/classes.h"

#define NAME(function) PASTE4(function, _, CLASS, )
#define E_T            PASTE2(e_, ELEMENT)
#define L_T            PASTE2(s_, LANE)
#define A_T            NAME(acc)
#define LOAD_ONE(p)    PASTE4(scalar_, LANE, _from_, ELEMENT)(*(p))

/* FOR_C2(x) is x where there is a third component, and so on. */
#ifdef C2
#define FOR_C2 KEEP
#else
#define FOR_C2 DROP
#endif
#ifdef C3
#define FOR_C3 KEEP
#else
#define FOR_C3 DROP
#endif
#ifdef C4
#define FOR_C4 KEEP
#else
#define FOR_C4 DROP
#endif
#ifdef C5
#define FOR_C5 KEEP
#else
#define FOR_C5 DROP
#endif

typedef struct A_T {
    PASTE2(s_, C0) c0;
    PASTE2(s_, C1) c1;
    FOR_C2(PASTE2(s_, C2) c2;)
    FOR_C3(PASTE2(s_, C3) c3;)
    FOR_C4(PASTE2(s_, C4) c4;)
    FOR_C5(PASTE2(s_, C5) c5;)
} A_T;

#define HIGHEST   PASTE2(HIGHEST_, LANE)
#define LOWEST    PASTE2(LOWEST_, LANE)
#define NO_INDEX  INT64_MAX
#define MIN(p, q) PASTE4(scalar_, STRICTLY, min_, LANE)(p, q)
#define MAX(p, q) PASTE4(scalar_, STRICTLY, max_, LANE)(p, q)
/* NaN comes before every number; of equals, the smaller index. */
#define AS_EXTREME(v, w)        ((v) == (w) || (IS_NAN(v) && IS_NAN(w)))
#define BEFORE_MIN(v, i, w, j)  ((v) < (w) || (IS_NAN(v) && !IS_NAN(w)) || (AS_EXTREME(v, w) && (i) < (j)))
#define BEFORE_MAX(v, i, w, j)  ((v) > (w) || (IS_NAN(v) && !IS_NAN(w)) || (AS_EXTREME(v, w) && (i) < (j)))
#define RATIO(p, q)             ((q) == 0 ? 0 : (p) / (q))
#define SHIFTED_EXP(p, m)       ((p) == (m) ? 1 : exp((p) - (m)))
#define SUM_OF_EXPS(m, s, n, t) ((m) < (n) ? (s)*SHIFTED_EXP(m, n) + (t) : (s) + (t)*SHIFTED_EXP(n, m))
#define IS_FINITE(p)            ((p) - (p) == 0)
#define ZERO_OR_NAN(p)          ((p) - (p))
#define WORD(p)                 ((s_u64)(p))
#define SIGN(p)                 (ELEMENT_IS_SIGNED ? (s_u64)((s_i64)(p) >> 63) : 0)
#define HIGH_SQUARE(p)          scalar_high_square(ELEMENT_IS_SIGNED ? scalar_magnitude_u64(WORD(p)) : WORD(p))
#define CARRY(p, q)             ((s_u64)((p) + (q) < (p)))

ALWAYS_INLINE A_T NAME(identity_of)(tally_monoid m) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) identity,
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (A_T){components};)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

ALWAYS_INLINE A_T NAME(lift)(tally_monoid m, L_T x, int64_t i) {
    (void)x, (void)i;
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) lift,
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (A_T){components};)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

ALWAYS_INLINE A_T NAME(combine)(tally_monoid m, A_T a, A_T b) {
    const PASTE2(s_, C0) a0 = a.c0, b0 = b.c0;
    const PASTE2(s_, C1) a1 = a.c1, b1 = b.c1;
    FOR_C2(const PASTE2(s_, C2) a2 = a.c2, b2 = b.c2;)
    FOR_C3(const PASTE2(s_, C3) a3 = a.c3, b3 = b.c3;)
    FOR_C4(const PASTE2(s_, C4) a4 = a.c4, b4 = b.c4;)
    FOR_C5(const PASTE2(s_, C5) a5 = a.c5, b5 = b.c5;)
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine,
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (A_T){components};)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#undef HIGHEST
#undef LOWEST
#undef NO_INDEX
#undef MIN
#undef MAX
#undef AS_EXTREME
#undef BEFORE_MIN
#undef BEFORE_MAX
#undef RATIO
#undef SHIFTED_EXP
#undef SUM_OF_EXPS
#undef IS_FINITE
#undef ZERO_OR_NAN
#undef WORD
#undef SIGN
#undef HIGH_SQUARE
#undef CARRY

ALWAYS_INLINE A_T NAME(fold_one_by_one)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    for (size_t k = 0; k < n; k++)
        acc = NAME(combine)(m, acc, NAME(lift)(m, LOAD_ONE(x + k), (int64_t)(index + k)));
    return acc;
}

ALWAYS_INLINE void NAME(fold_columns_one_by_one)(tally_monoid m, const E_T *restrict x, size_t rows, size_t width,
                                                 size_t stride, uint64_t index, A_T *restrict acc) {
    for (size_t r = 0; r < rows; r++, x += stride)
        for (size_t j = 0; j < width; j++)
            acc[j] = NAME(combine)(m, acc[j], NAME(lift)(m, LOAD_ONE(x + j), (int64_t)(index + r)));
}

ALWAYS_INLINE A_T NAME(prefixes_by_table)(tally_monoid m, const E_T *x, size_t n, uint64_t index, bool reverse,
                                          bool exclusive, A_T acc, A_T *prefixes) {
    for (size_t k = 0; k < n; k++) {
        size_t i = reverse ? n - 1 - k : k;
        A_T before = acc;
        acc = NAME(combine)(m, acc, NAME(lift)(m, LOAD_ONE(x + i), (int64_t)(index + i)));
        prefixes[i] = exclusive ? before : acc;
    }
    return acc;
}

#ifdef FAST_FOLD
#include FAST_FOLD
#else
#define FOLD NAME(fold_one_by_one)
#endif

#ifndef FOLD_FEW
#define FOLD_FEW NAME(fold_one_by_one)
#endif
#ifndef PREFIXES
#define PREFIXES NAME(prefixes_by_table)
#endif

#ifndef COMBINE_ALL
ALWAYS_INLINE void NAME(combine_each)(tally_monoid m, size_t count, const A_T *other, A_T *acc) {
    for (size_t i = 0; i < count; i++)
        acc[i] = NAME(combine)(m, acc[i], other[i]);
}
#define COMBINE_ALL NAME(combine_each)
#endif

/* Shorter runs are not worth blocks. */
#ifndef FOLD_FROM
#define FOLD_FROM 32
#endif

/* The monoid's fold as a function of its own, for any length. */
typedef A_T NAME(fold_function)(const E_T *x, size_t n, uint64_t index, A_T acc);

ALWAYS_INLINE A_T NAME(fold)(tally_monoid m, const E_T *x, size_t n, uint64_t index, A_T acc) {
    return n < FOLD_FROM ? FOLD_FEW(m, x, n, index, acc) : FOLD(m, x, n, index, acc);
}

ALWAYS_INLINE void NAME(fold_rows)(tally_monoid m, NAME(fold_function) * fold, const E_T *x, size_t rows, size_t extent,
                                   A_T *acc) {
    if (extent == 1) { /* only lifted */
        for (size_t r = 0; r < rows; r++)
            acc[r] = NAME(lift)(m, LOAD_ONE(x + r), 0);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        acc[r] = fold(x + r * extent, extent, 0, NAME(identity_of)(m));
}

ALWAYS_INLINE void NAME(fold_segments)(tally_monoid m, NAME(fold_function) * fold, const E_T *x,
                                       const uint64_t *offsets, size_t count, A_T *acc) {
    for (size_t i = 0; i < count; i++)
        acc[i] = fold(x + offsets[i], offsets[i + 1] - offsets[i], 0, NAME(identity_of)(m));
}

#ifdef SORTS_LABELS
#define FOR_LABELS DROP
#else
#define FOR_LABELS KEEP
ALWAYS_INLINE void NAME(fold_labels)(tally_monoid m, const E_T *x, const uint32_t *labels, const uint64_t *places,
                                     size_t n, uint64_t index, A_T *acc) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t place = places ? places[i] : index + i;
        acc[labels[i]] = NAME(combine)(m, acc[labels[i]], NAME(lift)(m, LOAD_ONE(x + i), (int64_t)place));
    }
}
#endif

#ifdef FOLD_COLUMNS
ALWAYS_INLINE void NAME(fold_columns)(tally_monoid m, const E_T *restrict x, size_t rows, size_t width, size_t stride,
                                      uint64_t index, A_T *restrict acc) {
    FOLD_COLUMNS(m, x, rows, width, stride, index, acc);
}
#elif !defined(FAST_COLUMNS)
ALWAYS_INLINE void NAME(fold_columns)(tally_monoid m, const E_T *restrict x, size_t rows, size_t width, size_t stride,
                                      uint64_t index, A_T *restrict acc) {
    NAME(fold_columns_one_by_one)(m, x, rows, width, stride, index, acc);
}
#else
ALWAYS_INLINE void NAME(fold_columns)(tally_monoid m, const E_T *restrict x, size_t rows, size_t width, size_t stride,
                                      uint64_t index, A_T *restrict acc) {
    const size_t whole = NAME(fold_columns_in_lanes)(m, x, rows, width, stride, index, acc);
    NAME(fold_columns_one_by_one)(m, x + whole, rows, width - whole, stride, index, acc + whole);
}
#endif

#define DEFINE_KERNELS(name)                                                                                           \
    static A_T PASTE4(fold_values_, CLASS, _, name)(const E_T *x, size_t n, uint64_t index, A_T acc) {                 \
        return NAME(fold)(TALLY_MONOID_##name, x, n, index, acc);                                                      \
    }                                                                                                                  \
    static void PASTE4(identity_, CLASS, _, name)(const tally_cpu_context *context, size_t count, void *acc) {         \
        (void)context;                                                                                                 \
        for (size_t i = 0; i < count; i++)                                                                             \
            ((A_T *)acc)[i] = NAME(identity_of)(TALLY_MONOID_##name);                                                  \
    }                                                                                                                  \
    static void PASTE4(fold_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,          \
                                              size_t n, uint64_t index, void *acc) {                                   \
        (void)context, (void)y;                                                                                        \
        *(A_T *)acc = PASTE4(fold_values_, CLASS, _, name)(x, n, index, *(A_T *)acc);                                  \
    }                                                                                                                  \
    static void PASTE4(fold_rows_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,     \
                                                   size_t rows, size_t extent, void *acc) {                            \
        (void)context, (void)y;                                                                                        \
        NAME(fold_rows)(TALLY_MONOID_##name, PASTE4(fold_values_, CLASS, _, name), x, rows, extent, acc);              \
    }                                                                                                                  \
    static void PASTE4(fold_segments_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y, \
                                                       const uint64_t *offsets, size_t count, void *acc) {             \
        (void)context, (void)y;                                                                                        \
        NAME(fold_segments)(TALLY_MONOID_##name, PASTE4(fold_values_, CLASS, _, name), x, offsets, count, acc);        \
    }                                                                                                                  \
    FOR_LABELS(static void PASTE4(fold_labels_, CLASS, _, name)(                                                       \
        const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,                        \
        const uint64_t *places, size_t n, uint64_t index, void *acc) {                                                 \
        (void)context, (void)y;                                                                                        \
        NAME(fold_labels)(TALLY_MONOID_##name, x, labels, places, n, index, acc);                                      \
    })                                                                                                                 \
    static void PASTE4(fold_columns_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,  \
                                                      size_t rows, size_t width, size_t stride, uint64_t index,        \
                                                      void *acc) {                                                     \
        (void)context, (void)y;                                                                                        \
        NAME(fold_columns)(TALLY_MONOID_##name, x, rows, width, stride, index, acc);                                   \
    }                                                                                                                  \
    static void PASTE4(prefixes_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,      \
                                                  size_t n, uint64_t index, bool reverse, bool exclusive, void *acc,   \
                                                  void *prefixes) {                                                    \
        (void)context, (void)y;                                                                                        \
        *(A_T *)acc = PREFIXES(TALLY_MONOID_##name, x, n, index, reverse, exclusive, *(A_T *)acc, prefixes);           \
    }                                                                                                                  \
    static void PASTE4(combine_, CLASS, _, name)(const tally_cpu_context *context, size_t count, const void *other,    \
                                                 void *acc) {                                                          \
        (void)context;                                                                                                 \
        COMBINE_ALL(TALLY_MONOID_##name, count, other, acc);                                                           \
    }                                                                                                                  \
    static const tally_cpu_kernels PASTE4(kernels_, CLASS, _, name) = {                                                \
        .acc_bytes = sizeof(A_T),                                                                                      \
        .acc_type = TALLY_DEFAULT,                                                                                     \
        .identity = PASTE4(identity_, CLASS, _, name),                                                                 \
        .fold = PASTE4(fold_, CLASS, _, name),                                                                         \
        .fold_rows = PASTE4(fold_rows_, CLASS, _, name),                                                               \
        .fold_segments = PASTE4(fold_segments_, CLASS, _, name),                                                       \
        FOR_LABELS(.fold_labels = PASTE4(fold_labels_, CLASS, _, name), ).fold_columns =                               \
            PASTE4(fold_columns_, CLASS, _, name),                                                                     \
        .prefixes = PASTE4(prefixes_, CLASS, _, name),                                                                 \
        .combine = PASTE4(combine_, CLASS, _, name),                                                                   \
    };

#define TALLY_COMPONENT(identity, lift, combine)
#define TALLY_MONOID(name, class, components) ON_##class(DEFINE_KERNELS(name))
#include "core/monoids.def"

#undef DEFINE_KERNELS
#undef FOLD
#undef FOLD_FROM
#undef FOLD_FEW
#undef FOLD_COLUMNS
#undef COMBINE_ALL
#undef PREFIXES
#undef FOR_LABELS
#undef FOR_C2
#undef FOR_C3
#undef FOR_C4
#undef FOR_C5
#undef LOAD_ONE
#undef A_T
#undef L_T
#undef E_T
#undef NAME
#include "cpu/kernels/undefine.h"
