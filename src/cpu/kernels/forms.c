/* Results that are computed from accumulators: means, roots, truth values, variances. Each operator's expression in
 * operators.def becomes a loop without branches for each type of the accumulator, from integers as from f64. */
#include <math.h>

#include "core/operator.h"
#include "cpu/kernels/form_vectors.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

/* Processors give 0 / 0 a sign of their own, and what is not a number has none here. */
ALWAYS_INLINE double real(double x) {
    return x == x ? x : NAN;
}

#define SQRT(x)      __builtin_sqrt(x)
#define LOG(x)       plain_log(x)
#define RATIO(p, q)  ((p) / (q)) /* q is not 0 where the ratio counts */
#define IS_FINITE(x) ((x) - (x) == 0)
#define NOT_A_NUMBER ((double)NAN)

enum {
#define TALLY_COMPONENT(identity, lift, combine) +1
#define TALLY_MONOID(name, class, components)    COMPONENTS_##name = 0 components,
#include "core/monoids.def"
};

#define DEFINE_RESULT(name, lower)                                                                                     \
    ALWAYS_INLINE double result_##name(double a0, double a1, double a2, double a3, double a4, double a5, double n,     \
                                       double ddof) {                                                                  \
        const double a = a0;                                                                                           \
        (void)a, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)n, (void)ddof;                                \
        return lower;                                                                                                  \
    }
#define AT(k, COMPONENTS) (double)v[i * (COMPONENTS) + ((k) < (COMPONENTS) ? (k) : 0)]
#define RESULT(name, C)   result_##name(AT(0, C), AT(1, C), AT(2, C), AT(3, C), AT(4, C), AT(5, C), (double)count, ddof)
/* The choice of where the numbers of elements come from stays outside the loops. Results are written to the caller's
 * memory. */
#define DEFINE_FORM(name, type, value_type, EXPRESSION, BY_VECTORS)                                                    \
    static void form_##name##_##type(const void *acc, size_t n, tally_counts counts, double ddof, void *target) {      \
        const type *restrict v = acc;                                                                                  \
        value_type *restrict values = target;                                                                          \
        const size_t begin = BY_VECTORS;                                                                               \
        int64_t count = (int64_t)(counts.first + begin * (uint64_t)counts.step);                                       \
        if (counts.each)                                                                                               \
            for (size_t i = begin; i < n; i++) {                                                                       \
                count = (int64_t)(counts.each[i] + counts.first);                                                      \
                values[i] = EXPRESSION;                                                                                \
            }                                                                                                          \
        else                                                                                                           \
            for (size_t i = begin; i < n; i++, count += counts.step)                                                   \
                values[i] = EXPRESSION;                                                                                \
    }

#define DEFINE_REAL(op, name, C, type)                                                                                 \
    DEFINE_FORM(name, type, e_f64, real(RESULT(name, C)), vectors_of_##type(op, v, n, counts, values))
#define LOWER_FLOAT(op, name, C, lower)                                                                                \
    DEFINE_RESULT(name, lower)                                                                                         \
    DEFINE_REAL(op, name, C, int64_t)                                                                                  \
    DEFINE_REAL(op, name, C, uint64_t)                                                                                 \
    DEFINE_REAL(op, name, C, double)
#define LOWER_FLAG(op, name, C, lower)                                                                                 \
    DEFINE_RESULT(name, lower)                                                                                         \
    DEFINE_FORM(name, int64_t, e_u8, RESULT(name, C) != 0, 0)
#define LOWER_SAME(op, name, C, lower)
#define LOWER_WIDE(op, name, C, lower)
#define LOWER_WIDE_UNSIGNED(op, name, C, lower)
#define LOWER_UNSIGNED(op, name, C, lower)
#define LOWER_INDEX(op, name, C, lower)
#define TALLY_OPERATOR(ENUMERATOR, name, monoid, lower, result, ...)                                                   \
    LOWER_##result(TALLY_##ENUMERATOR, name, COMPONENTS_##monoid, lower)
#include "core/operators.def"

#define NEAR_mean      NEAR(mean)
#define NEAR_norm2     NEAR(norm2)
#define NEAR_logsumexp NEAR(logsumexp)
#define NEAR_var       NULL
#define NEAR_std       NULL
#define NEAR_skewness  NULL
#define NEAR_kurtosis  NULL
/* Accumulators of several numbers are f64. */
#define ENTRY_FLOAT(name, C)                                                                                           \
    {                                                                                                                  \
        (C) > 1 ? NULL : form_##name##_int64_t, (C) > 1 ? NULL : form_##name##_uint64_t, form_##name##_double,         \
            NEAR_##name, TALLY_F64                                                                                     \
    }
#define ENTRY_FLAG(name, C)                                                                                            \
    { form_##name##_int64_t, NULL, NULL, NULL, TALLY_U8 }
#define ENTRY_SAME(name, C)                                                                                            \
    { NULL, NULL, NULL, NULL, TALLY_DEFAULT }
#define ENTRY_WIDE          ENTRY_SAME
#define ENTRY_WIDE_UNSIGNED ENTRY_SAME
#define ENTRY_UNSIGNED      ENTRY_SAME
#define ENTRY_INDEX         ENTRY_SAME
extern const tally_cpu_forms PASTE4(tally_cpu_forms, _, TALLY_LEVEL, )[TALLY_USER];
const tally_cpu_forms PASTE4(tally_cpu_forms, _, TALLY_LEVEL, )[TALLY_USER] = {
#define TALLY_OPERATOR(ENUMERATOR, name, monoid, lower, result, ...)                                                   \
    [TALLY_##ENUMERATOR] = ENTRY_##result(name, COMPONENTS_##monoid),
#include "core/operators.def"
};
