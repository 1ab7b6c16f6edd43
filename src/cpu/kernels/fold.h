/* The kernels of the monoids of one class over one element type: a text that type.h includes once for each class, with
 *
 *     ELEMENT     the input's type tag (i8 ... f64)
 *     CLASS       the class of monoids.def; names below end in it: fold_SUM_sum is the sum's fold
 *     LANE, ACC   type tags of vector lanes and of the accumulator
 *     FLUSH       how many elements a lane may take before it is emptied into the accumulator
 *     LANE_ABS    prefix of the function for ABS: abs or magnitude
 *     NARROW_PRODUCTS   defined if elements have at most half the bits of a lane
 *     FAST_FOLD   optional: a file with faster folds for some of the class' monoids
 *     COMPENSATES    defined if the accumulator of sums has no more digits than their results
 *     FAST_ROWS      optional: a file with faster folds for their short rows and segments
 *     ON_<class>  defined as KEEP for the classes whose monoids are wanted (classes.h)
 *
 * The algorithms are ordinary functions that take the monoid as their first argument. Each is inlined into one small
 * function per monoid (DEFINE_KERNELS), where the monoid is a constant and its switch disappears. */

#include "cpu/kernels/classes.h"

#define NAME(function) PASTE4(function, _, CLASS, )
#define E_T            PASTE2(e_, ELEMENT)
#define L_T            PASTE2(s_, LANE)
#define A_T            PASTE2(s_, ACC)
#define L_V            PASTE2(v_, LANE)
#define A_V            PASTE2(v_, ACC)
#define e_lane         PASTE2(e_, LANE)
#define LANES          LANES_OF(L_T)
#define LOAD(p)        PASTE4(load_, LANE, _from_, ELEMENT)(p)
#define LOAD_ONE(p)    PASTE4(scalar_, LANE, _from_, ELEMENT)(*(p))
#define LOAD_ACC(p)    PASTE4(load_, ACC, _from_, LANE)(p)
#define SPLAT(value)   ((L_T)(value) - (L_V){0}) /* adding 0 would lose the sign of -0 */

/* ---- the table's expressions, over vectors and scalars ---- */

#define HIGHEST       PASTE2(HIGHEST_, LANE)
#define LOWEST        PASTE2(LOWEST_, LANE)
#define MIN(p, q)     PASTE4(STRICTLY, min_, LANE, )(p, q)
#define MAX(p, q)     PASTE4(STRICTLY, max_, LANE, )(p, q)
#define ABS(p)        PASTE4(LANE_ABS, _, LANE, )(p)
#define IS_NONZERO(p) PASTE2(nonzero_, LANE)((L_V)((p) << COUNT_SHIFT))

ALWAYS_INLINE L_V NAME(lift_lanes)(tally_monoid m, L_V x, L_V y) {
    (void)x, (void)y;
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) lift
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return components;)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

ALWAYS_INLINE L_V NAME(combine_lanes)(tally_monoid m, L_V a, L_V b) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return components;)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#undef MIN
#undef MAX
#undef ABS
#undef IS_NONZERO
#define MIN(p, q)     PASTE4(scalar_, STRICTLY, min_, LANE)(p, q)
#define MAX(p, q)     PASTE4(scalar_, STRICTLY, max_, LANE)(p, q)
#define ABS(p)        PASTE4(scalar_, LANE_ABS, _, LANE)(p)
#define IS_NONZERO(p) PASTE2(scalar_nonzero_, LANE)((L_T)((p) << COUNT_SHIFT))

ALWAYS_INLINE L_T NAME(identity_of)(tally_monoid m) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) identity
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (L_T)(components);)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

ALWAYS_INLINE L_T NAME(lift_one)(tally_monoid m, L_T x, L_T y) {
    (void)x, (void)y;
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) lift
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (L_T)(components);)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

ALWAYS_INLINE L_T NAME(combine_one)(tally_monoid m, L_T a, L_T b) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (L_T)(components);)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#undef MIN
#undef MAX
#define MIN(p, q) PASTE4(scalar_, STRICTLY, min_, ACC)(p, q)
#define MAX(p, q) PASTE4(scalar_, STRICTLY, max_, ACC)(p, q)

ALWAYS_INLINE A_T NAME(combine_acc)(tally_monoid m, A_T a, A_T b) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return (A_T)(components);)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#undef MIN
#undef MAX
#define MIN(p, q) PASTE4(STRICTLY, min_, ACC, )(p, q)
#define MAX(p, q) PASTE4(STRICTLY, max_, ACC, )(p, q)

ALWAYS_INLINE A_V NAME(combine_accs)(tally_monoid m, A_V a, A_V b) {
    switch (m) {
#define TALLY_COMPONENT(identity, lift, combine) combine
#define TALLY_MONOID(name, class, components)    ON_##class(case TALLY_MONOID_##name : return components;)
#include "core/monoids.def"
    default:
        __builtin_unreachable();
    }
}

#undef MIN
#undef MAX
#undef ABS
#undef IS_NONZERO
#undef HIGHEST
#undef LOWEST

/* ---- the algorithms ---- */

ALWAYS_INLINE L_T NAME(element)(tally_monoid m, const E_T *x, const E_T *y) {
    return NAME(lift_one)(m, LOAD_ONE(x), m == TALLY_MONOID_dot ? LOAD_ONE(y) : 0);
}

ALWAYS_INLINE L_V NAME(elements)(tally_monoid m, const E_T *x, const E_T *y) {
#ifdef NARROW_PRODUCTS /* the table's expression, by a cheaper multiplication */
    if (m == TALLY_MONOID_dot)
        return PASTE2(product_, LANE)(LOAD(x), LOAD(y));
    if (m == TALLY_MONOID_sumsq) {
        const L_V value = LOAD(x);
        return PASTE2(product_, LANE)(value, value);
    }
#endif
    return NAME(lift_lanes)(m, LOAD(x), m == TALLY_MONOID_dot ? LOAD(y) : SPLAT(0));
}

/* A vector's lanes as one accumulator. They are widened first; then one half of a vector is combined with the other. */
ALWAYS_INLINE A_T NAME(horizontal)(tally_monoid m, L_V lanes) {
    enum { PARTS = sizeof(A_T) / sizeof(L_T) };
    A_V part[PARTS];
    if (PARTS == 1) {
        memcpy(part, &lanes, sizeof lanes);
    } else {
        e_lane lane[LANES];
        memcpy(lane, &lanes, sizeof lane);
        UNROLL_8 for (size_t k = 0; k < PARTS; k++) part[k] = LOAD_ACC(lane + k * (LANES / PARTS));
    }
    UNROLL_8 for (size_t k = PARTS / 2; k > 0; k /= 2) UNROLL_8 for (size_t l = 0; l < k; l++) part[l] =
        NAME(combine_accs)(m, part[l], part[l + k]);
    UNROLL_8 for (size_t bytes = VECTOR_BYTES / 2; bytes >= sizeof(A_T); bytes /= 2) part[0] =
        NAME(combine_accs)(m, part[0], (A_V)swapped_parts((v_u8)part[0], bytes));
    return part[0][0];
}

/* n elements, fewer than a vector has lanes; the other lanes are the identity. */
ALWAYS_INLINE L_V NAME(last_elements)(tally_monoid m, const E_T *x, const E_T *y, size_t n) {
    E_T own[2][VECTOR_BYTES / sizeof(E_T)];
    load_bytes(x, n * sizeof(E_T), own[0]);
    if (m == TALLY_MONOID_dot)
        load_bytes(y, n * sizeof(E_T), own[1]);
    const L_V lifted = NAME(elements)(m, own[0], own[1]);
    if (NAME(identity_of)(m) == 0) /* as 0 is, when it is lifted */
        return lifted;
    const v_u8 mask = first_bytes(n * sizeof(L_T));
    return (L_V)((mask & (v_u8)lifted) | (~mask & (v_u8)SPLAT(NAME(identity_of)(m))));
}

/* Lanes of ones come from a general register: gcc makes them by an instruction that waits for what its register held,
 * so that each fold would wait for the one before (AVX-512, Zen 5: band of i8 in rows of 100 0.04 and 0.11 ns). */
ALWAYS_INLINE L_V NAME(identities)(tally_monoid m) {
    L_T identity = NAME(identity_of)(m);
#if defined(__AVX512F__)
    if (identity == (L_T)-1)
        __asm__("" : "+r"(identity));
#endif
    return SPLAT(identity);
}

/* Eight independent vectors at a time: that many are needed to hide the latency of an addition behind two loads a
 * cycle. The last elements, which fill no vector, are a vector of their own. */
ALWAYS_INLINE A_T NAME(fold_lanes)(tally_monoid m, const E_T *x, const E_T *y, size_t n, A_T acc) {
    const size_t y_step = m == TALLY_MONOID_dot ? LANES : 0;
    const L_V identity = NAME(identities)(m);
    while (n) {
        const size_t rounds = n / (8 * LANES) < FLUSH ? n / (8 * LANES) : FLUSH;
        L_V lanes[8];
        UNROLL_8 for (int j = 0; j < 8; j++) lanes[j] = identity;
        for (size_t i = 0; i < rounds; i++, x += 8 * LANES, y += 8 * y_step)
            UNROLL_8 for (size_t j = 0; j < 8; j++) {
                lanes[j] = NAME(combine_lanes)(m, lanes[j], NAME(elements)(m, x + j * LANES, y + j * y_step));
                IN_ORDER(x);
            }
        n -= 8 * LANES * rounds;
        if (rounds) { /* else the others are identities; to combine them takes as long as a group of 30 elements */
            UNROLL_8 for (int j = 0; j < 4; j++) lanes[j] = NAME(combine_lanes)(m, lanes[j], lanes[j + 4]);
            UNROLL_8 for (int j = 0; j < 2; j++) lanes[j] = NAME(combine_lanes)(m, lanes[j], lanes[j + 2]);
        }
        if (n < 8 * LANES) {
            for (; n >= LANES; n -= LANES, x += LANES, y += y_step)
                lanes[0] = NAME(combine_lanes)(m, lanes[0], NAME(elements)(m, x, y));
            if (n)
                lanes[1] = NAME(combine_lanes)(m, lanes[1], NAME(last_elements)(m, x, y, n));
            n = 0;
        }
        acc = NAME(combine_acc)(m, acc, NAME(horizontal)(m, NAME(combine_lanes)(m, lanes[0], lanes[1])));
    }
    return acc;
}

#ifdef FAST_FOLD
#include FAST_FOLD
#else
/* If the class has a faster fold for some of its monoids, folds as many elements as it can. */
ALWAYS_INLINE size_t NAME(fast_fold)(tally_monoid m, const E_T *x, const E_T *y, size_t n, A_T *acc) {
    (void)m, (void)x, (void)y, (void)n, (void)acc;
    return 0;
}
#endif

ALWAYS_INLINE A_T NAME(fold)(tally_monoid m, const E_T *x, const E_T *y, size_t n, A_T acc) {
    const size_t fast = NAME(fast_fold)(m, x, y, n, &acc);
    return NAME(fold_lanes)(m, x + fast, m == TALLY_MONOID_dot ? y + fast : y, n - fast, acc);
}

/* 'extent' is a constant where this is inlined, so that the rows become lanes. */
ALWAYS_INLINE void NAME(fold_rows_of)(tally_monoid m, const E_T *restrict x, const E_T *restrict y, size_t rows,
                                      size_t extent, A_T *restrict acc) {
    for (size_t r = 0; r < rows; r++) {
        L_T row = NAME(element)(m, x + r * extent, y + r * extent);
        for (size_t e = 1; e < extent; e++)
            row = NAME(combine_one)(m, row, NAME(element)(m, x + r * extent + e, y + r * extent + e));
        acc[r] = (A_T)row;
    }
}

/* The monoid's fold as a function that the functions below call instead of repeating it. */
typedef A_T NAME(fold_function)(const E_T *x, const E_T *y, size_t n, A_T acc);

#ifdef FAST_ROWS
#include FAST_ROWS
#else
/* True if the class has a faster fold for this monoid and has used it. */
ALWAYS_INLINE bool NAME(fast_rows)(tally_monoid m, NAME(fold_function) * fold, const E_T *x, size_t rows, size_t extent,
                                   A_T *acc) {
    (void)m, (void)fold, (void)x, (void)rows, (void)extent, (void)acc;
    return false;
}
ALWAYS_INLINE bool NAME(fast_segments)(tally_monoid m, NAME(fold_function) * fold, const E_T *x,
                                       const uint64_t *offsets, size_t count, A_T *acc) {
    (void)m, (void)fold, (void)x, (void)offsets, (void)count, (void)acc;
    return false;
}
#endif

/* Rows of one element are only lifted. The commonest short lengths of rows have code of their own for the commonest
 * monoids. Other lengths need few enough calls as they are. */
ALWAYS_INLINE void NAME(fold_rows)(tally_monoid m, NAME(fold_function) * fold, const E_T *x, const E_T *y, size_t rows,
                                   size_t extent, A_T *acc) {
    if (extent == 1) {
        NAME(fold_rows_of)(m, x, y, rows, 1, acc);
        return;
    }
    if (NAME(fast_rows)(m, fold, x, rows, extent, acc))
        return;
    if (m == TALLY_MONOID_sum || m == TALLY_MONOID_min || m == TALLY_MONOID_max) {
        switch (extent) {
        case 2:
            NAME(fold_rows_of)(m, x, y, rows, 2, acc);
            return;
        case 3:
            NAME(fold_rows_of)(m, x, y, rows, 3, acc);
            return;
        case 4:
            NAME(fold_rows_of)(m, x, y, rows, 4, acc);
            return;
        default:
            break;
        }
    }
    for (size_t r = 0; r < rows; r++)
        acc[r] = fold(x + r * extent, m == TALLY_MONOID_dot ? y + r * extent : y, extent, (A_T)NAME(identity_of)(m));
}

/* Many segments of one short length are rows, for which the monoid's function is called instead of being repeated. */
typedef void NAME(fold_rows_function)(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                                      size_t extent, void *acc);

ALWAYS_INLINE void NAME(fold_segments)(tally_monoid m, NAME(fold_function) * fold, NAME(fold_rows_function) * fold_rows,
                                       const E_T *x, const E_T *y, const uint64_t *offsets, size_t count, A_T *acc) {
    const uint64_t length = offsets[1] - offsets[0];
    uint64_t differs = 0;
    if (length <= 64)
        for (size_t i = 0; i < count; i++)
            differs |= (offsets[i + 1] - offsets[i]) ^ length;
    if (length - 1 < 64 && !differs) {
        fold_rows(NULL, x + offsets[0], m == TALLY_MONOID_dot ? y + offsets[0] : y, count, length, acc);
        return;
    }
    if (NAME(fast_segments)(m, fold, x, offsets, count, acc))
        return;
    for (size_t i = 0; i < count; i++) {
        const uint64_t first = offsets[i], n = offsets[i + 1] - first;
        acc[i] = fold(x + first, m == TALLY_MONOID_dot ? y + first : y, n, (A_T)NAME(identity_of)(m));
    }
}

/* ---- labels ---- */

ALWAYS_INLINE void NAME(fold_labels)(tally_monoid m, const E_T *x, const E_T *y, const uint32_t *labels, size_t n,
                                     A_T *acc) {
    for (size_t i = 0; i < n; i++)
        acc[labels[i]] =
            NAME(combine_acc)(m, acc[labels[i]], (A_T)NAME(element)(m, x + i, m == TALLY_MONOID_dot ? y + i : y));
}

/* Knuth's two-sum (The Art of Computer Programming 2, 4.2.2) for every addition. The error of a sum is then about one
 * rounding, however long it is. */
#ifdef COMPENSATES
#define FOR_PAIRS KEEP
ALWAYS_INLINE void NAME(fold_labels_to_pairs)(tally_monoid m, const E_T *x, const E_T *y, const uint32_t *labels,
                                              size_t n, A_T *pairs) {
    for (size_t i = 0; i < n; i++) {
        A_T *const pair = pairs + 2 * (size_t)labels[i];
        const A_T term = (A_T)NAME(element)(m, x + i, m == TALLY_MONOID_dot ? y + i : y), before = pair[0];
        const A_T sum = before + term, moved = sum - before;
        pair[0] = sum;
        pair[1] += (before - (sum - moved)) + (term - moved);
    }
}

/* The second number of an infinite sum is NaN. */
static __attribute__((unused)) void NAME(sum_pairs)(size_t count, void *acc) {
    A_T *const sums = acc;
    for (size_t i = 0; i < count; i++)
        sums[i] = sums[2 * i] - sums[2 * i] == 0 ? sums[2 * i] + sums[2 * i + 1] : sums[2 * i];
}
#else
#define FOR_PAIRS DROP
#endif

/* ---- columns ---- */

/* Whether lanes are results: they have the digits of f32, and the accumulator, which is f64, no more of few rows. */
#if defined(__AVX512BW__)
#define IS_NEAR(m, before)                                                                                             \
    ((before) == TALLY_CPU_NEAR && (L_T)0.5 > 0 && sizeof(L_T) < sizeof(A_T) && (m) != TALLY_MONOID_dot)
#else
#define IS_NEAR(m, before) 0
#endif

enum {
    NAME(STRIP) = 8, /* vectors: independent ones, as many as fold_vectors has */
    /* Rows that are read side by side. With 8, reading and writing the accumulators took a fifth of the time; lanes of
     * every type can take 32. */
    NAME(STRIP_ROWS) = TALLY_CPU_NEAR_ROWS
};

/* acc[0 .. LANES - 1] = themselves, or the identity if they are fresh, combined with the lanes. */
ALWAYS_INLINE void NAME(take_lanes)(tally_monoid m, L_V lanes, bool fresh, A_T *acc) {
    if (sizeof(A_T) == sizeof(L_T)) {
        L_V before;
        memcpy(&before, acc, sizeof before);
        before = NAME(combine_lanes)(m, fresh ? SPLAT(NAME(identity_of)(m)) : before, lanes);
        memcpy(acc, &before, sizeof before);
        return;
    }
    enum { PARTS = sizeof(A_T) / sizeof(L_T), OF_PART = LANES / PARTS };
    e_lane lane[LANES];
    memcpy(lane, &lanes, sizeof lane);
    UNROLL_8 for (size_t k = 0; k < PARTS; k++) {
        A_V before = (A_T)NAME(identity_of)(m) - (A_V){0};
        if (!fresh)
            memcpy(&before, acc + k * OF_PART, sizeof before);
        before = NAME(combine_accs)(m, before, LOAD_ACC(lane + k * OF_PART));
        memcpy(acc + k * OF_PART, &before, sizeof before);
    }
}

/* 'vectors' vectors of columns. 'vectors' is a constant where this is inlined. The processor does not see that the next
 * strip continues each row, so it is prefetched: 700 x 2048 f64 of rows of 9922 took 170 us without, 110 with. */
ALWAYS_INLINE void NAME(fold_strip)(tally_monoid m, const E_T *x, const E_T *y, size_t rows, size_t stride,
                                    size_t vectors, tally_cpu_before before, A_T *acc) {
    const size_t y_stride = m == TALLY_MONOID_dot ? stride : 0, y_step = m == TALLY_MONOID_dot ? LANES : 0;
    L_V v[NAME(STRIP)];
    UNROLL_8 for (size_t k = 0; k < vectors; k++) v[k] = NAME(elements)(m, x + k * LANES, y + k * y_step);
    for (size_t r = 1; r < rows; r++) {
        x += stride, y += y_stride;
        if (vectors == NAME(STRIP))
            fetch_near((const char *)(x + NAME(STRIP) * LANES), NAME(STRIP) * LANES * sizeof(E_T));
        UNROLL_8 for (size_t k = 0; k < vectors; k++) v[k] =
            NAME(combine_lanes)(m, v[k], NAME(elements)(m, x + k * LANES, y + k * y_step));
    }
    if (IS_NEAR(m, before))
        UNROLL_8 for (size_t k = 0; k < vectors; k++) {
            v[k] = NAME(combine_lanes)(m, SPLAT(NAME(identity_of)(m)), v[k]);
            memcpy((e_lane *)acc + k * LANES, &v[k], sizeof v[k]);
        }
    else
        UNROLL_8 for (size_t k = 0; k < vectors; k++)
            NAME(take_lanes)(m, v[k], before != TALLY_CPU_SOME, acc + k * LANES);
}

/* The accumulator of column j. */
ALWAYS_INLINE A_T *NAME(acc_of)(tally_monoid m, A_T *acc, size_t j, tally_cpu_before before) {
    (void)m, (void)before;
    return IS_NEAR(m, before) ? (A_T *)((e_lane *)acc + j) : acc + j;
}

/* The last columns, which fill no vector. */
ALWAYS_INLINE void NAME(fold_last_columns)(tally_monoid m, const E_T *x, const E_T *y, size_t rows, size_t columns,
                                           size_t stride, tally_cpu_before before, A_T *acc) {
    const size_t y_stride = m == TALLY_MONOID_dot ? stride : 0;
    for (size_t j = 0; j < columns; j++) {
        const E_T *partner = m == TALLY_MONOID_dot ? y + j : y;
        L_T lane = NAME(element)(m, x + j, partner);
        for (size_t r = 1; r < rows; r++)
            lane = NAME(combine_one)(m, lane, NAME(element)(m, x + r * stride + j, partner + r * y_stride));
        const A_T all = NAME(combine_acc)(m, before == TALLY_CPU_SOME ? acc[j] : (A_T)NAME(identity_of)(m), (A_T)lane);
        if (IS_NEAR(m, before))
            ((e_lane *)acc)[j] = (L_T)all;
        else
            acc[j] = all;
    }
}

/* Few rows of any number of columns. Columns at the end that fill no vector are taken along with some before them,
 * whose lanes are dropped, if there are so many. */
ALWAYS_INLINE void NAME(fold_few_rows)(tally_monoid m, const E_T *x, const E_T *y, size_t rows, size_t width,
                                       size_t stride, tally_cpu_before before, A_T *acc) {
    const size_t y_is_read = m == TALLY_MONOID_dot;
    size_t j = 0;
    for (; j + NAME(STRIP) * LANES <= width; j += NAME(STRIP) * LANES)
        NAME(fold_strip)
    (m, x + j, y + j * y_is_read, rows, stride, NAME(STRIP), before, NAME(acc_of)(m, acc, j, before));
    for (; j + 2 * LANES <= width; j += 2 * LANES)
        NAME(fold_strip)(m, x + j, y + j * y_is_read, rows, stride, 2, before, NAME(acc_of)(m, acc, j, before));
    for (; j + LANES <= width; j += LANES)
        NAME(fold_strip)(m, x + j, y + j * y_is_read, rows, stride, 1, before, NAME(acc_of)(m, acc, j, before));
    if (j == width)
        return;
    if (width < LANES) {
        NAME(fold_last_columns)(m, x, y, rows, width, stride, before, acc);
        return;
    }
    const size_t back = width - LANES, size = IS_NEAR(m, before) ? sizeof(L_T) : sizeof(A_T);
    A_T last[LANES];
    memcpy(last, NAME(acc_of)(m, acc, back, before), LANES * size);
    NAME(fold_strip)(m, x + back, y + back * y_is_read, rows, stride, 1, before, last);
    memcpy(NAME(acc_of)(m, acc, j, before), NAME(acc_of)(m, last, j - back, before), (width - j) * size);
}

ALWAYS_INLINE void NAME(fold_columns)(tally_monoid m, const E_T *x, const E_T *y, size_t rows, size_t width,
                                      size_t stride, tally_cpu_before before, A_T *acc) {
    const size_t y_stride = m == TALLY_MONOID_dot ? stride : 0;
    size_t blocks = (rows + NAME(STRIP_ROWS) - 1) / NAME(STRIP_ROWS);
    for (size_t count; rows; rows -= count, x += count * stride, y += count * y_stride, before = TALLY_CPU_SOME) {
        count = rows / blocks--;
        NAME(fold_few_rows)(m, x, y, count, width, stride, before, acc);
    }
}

ALWAYS_INLINE A_T NAME(prefixes)(tally_monoid m, const E_T *x, const E_T *y, size_t n, bool reverse, bool exclusive,
                                 A_T acc, A_T *prefixes) {
    for (size_t k = 0; k < n; k++) {
        size_t i = reverse ? n - 1 - k : k;
        A_T before = acc;
        acc = NAME(combine_acc)(m, acc, (A_T)NAME(element)(m, x + i, m == TALLY_MONOID_dot ? y + i : y));
        prefixes[i] = exclusive ? before : acc;
    }
    return acc;
}

/* ---- one small function a monoid ---- */

#define DEFINE_KERNELS(name)                                                                                           \
    static A_T PASTE4(fold_values_, CLASS, _, name)(const E_T *x, const E_T *y, size_t n, A_T acc) {                   \
        return NAME(fold)(TALLY_MONOID_##name, x, y, n, acc);                                                          \
    }                                                                                                                  \
    static void PASTE4(identity_, CLASS, _, name)(const tally_cpu_context *context, size_t count, void *acc) {         \
        (void)context;                                                                                                 \
        for (size_t i = 0; i < count; i++)                                                                             \
            ((A_T *)acc)[i] = (A_T)NAME(identity_of)(TALLY_MONOID_##name);                                             \
    }                                                                                                                  \
    static void PASTE4(fold_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,          \
                                              size_t n, uint64_t index, void *acc) {                                   \
        (void)context, (void)index;                                                                                    \
        *(A_T *)acc = PASTE4(fold_values_, CLASS, _, name)(x, y, n, *(A_T *)acc);                                      \
    }                                                                                                                  \
    static void PASTE4(fold_rows_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,     \
                                                   size_t rows, size_t extent, void *acc) {                            \
        (void)context;                                                                                                 \
        NAME(fold_rows)(TALLY_MONOID_##name, PASTE4(fold_values_, CLASS, _, name), x, y, rows, extent, acc);           \
    }                                                                                                                  \
    static void PASTE4(fold_segments_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y, \
                                                       const uint64_t *offsets, size_t count, void *acc) {             \
        (void)context;                                                                                                 \
        NAME(fold_segments)                                                                                            \
        (TALLY_MONOID_##name, PASTE4(fold_values_, CLASS, _, name), PASTE4(fold_rows_, CLASS, _, name), x, y, offsets, \
         count, acc);                                                                                                  \
    }                                                                                                                  \
    static void PASTE4(fold_labels_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,   \
                                                     const uint32_t *labels, const uint64_t *places, size_t n,         \
                                                     uint64_t index, void *acc) {                                      \
        (void)context, (void)places, (void)index;                                                                      \
        NAME(fold_labels)(TALLY_MONOID_##name, x, y, labels, n, acc);                                                  \
    }                                                                                                                  \
    FOR_PAIRS(static void PASTE4(fold_labels_to_pairs_, CLASS, _,                                                      \
                                 name)(const tally_cpu_context *context, const void *x, const void *y,                 \
                                       const uint32_t *labels, size_t n, void *pairs) {                                \
        (void)context;                                                                                                 \
        NAME(fold_labels_to_pairs)(TALLY_MONOID_##name, x, y, labels, n, pairs);                                       \
    })                                                                                                                 \
    static void PASTE4(fold_block_, CLASS, _, name)(const void *x, const void *y, size_t rows, size_t width,           \
                                                    size_t stride, tally_cpu_before before, void *acc) {               \
        NAME(fold_columns)(TALLY_MONOID_##name, x, y, rows, width, stride, before, acc);                               \
    }                                                                                                                  \
    static void PASTE4(fold_columns_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,  \
                                                      size_t rows, size_t width, size_t stride, uint64_t index,        \
                                                      void *acc) {                                                     \
        (void)context, (void)index;                                                                                    \
        PASTE4(fold_block_, CLASS, _, name)(x, y, rows, width, stride, TALLY_CPU_SOME, acc);                           \
    }                                                                                                                  \
    static void PASTE4(prefixes_, CLASS, _, name)(const tally_cpu_context *context, const void *x, const void *y,      \
                                                  size_t n, uint64_t index, bool reverse, bool exclusive, void *acc,   \
                                                  void *prefixes) {                                                    \
        (void)context, (void)index;                                                                                    \
        *(A_T *)acc = NAME(prefixes)(TALLY_MONOID_##name, x, y, n, reverse, exclusive, *(A_T *)acc, prefixes);         \
    }                                                                                                                  \
    static void PASTE4(combine_, CLASS, _, name)(const tally_cpu_context *context, size_t count, const void *other,    \
                                                 void *acc) {                                                          \
        (void)context;                                                                                                 \
        for (size_t i = 0; i < count; i++)                                                                             \
            ((A_T *)acc)[i] = NAME(combine_acc)(TALLY_MONOID_##name, ((A_T *)acc)[i], ((const A_T *)other)[i]);        \
    }                                                                                                                  \
    /* a table that nothing refers to leaves the library with its functions */                                         \
    static __attribute__((unused)) const tally_cpu_kernels PASTE4(kernels_, CLASS, _, name) = {                        \
        .acc_bytes = sizeof(A_T),                                                                                      \
        .acc_type = (tally_dtype)PASTE2(DTYPE_, ACC),                                                                  \
        .identity = PASTE4(identity_, CLASS, _, name),                                                                 \
        .fold = PASTE4(fold_, CLASS, _, name),                                                                         \
        .fold_rows = PASTE4(fold_rows_, CLASS, _, name),                                                               \
        .fold_segments = PASTE4(fold_segments_, CLASS, _, name),                                                       \
        .fold_labels = PASTE4(fold_labels_, CLASS, _, name),                                                           \
        FOR_PAIRS(.fold_labels_to_pairs = PASTE4(fold_labels_to_pairs_, CLASS, _, name),                               \
                  .sum_pairs = NAME(sum_pairs), )                                                                      \
            .fold_columns = PASTE4(fold_columns_, CLASS, _, name),                                                     \
        .fold_block = PASTE4(fold_block_, CLASS, _, name),                                                             \
        .prefixes = PASTE4(prefixes_, CLASS, _, name),                                                                 \
        .combine = PASTE4(combine_, CLASS, _, name),                                                                   \
    };

#define TALLY_COMPONENT(identity, lift, combine)
#define TALLY_MONOID(name, class, components) ON_##class(DEFINE_KERNELS(name))
#include "core/monoids.def"

#undef DEFINE_KERNELS
#undef FOR_PAIRS
#undef IS_NEAR
#undef SPLAT
#undef LOAD_ACC
#undef LOAD_ONE
#undef LOAD
#undef LANES
#undef e_lane
#undef A_V
#undef L_V
#undef A_T
#undef L_T
#undef E_T
#undef NAME
#include "cpu/kernels/undefine.h"
