/* The way out of the accumulators: the 'lower' column of operators.def, for the layouts that the kernels have, in
 * batches. Results that round (means, roots) are formed in f64 and converted once. */
#include <math.h>
#include <string.h>

#include "core/dtype.h"
#include "core/status.h"
#include "cpu/exact.h"
#include "cpu/lower.h"

typedef struct value_and_index {
    int64_t value; /* of any type of at most 8 bytes; the index is aligned behind it */
    int64_t index;
} value_and_index;

static uint64_t count_of(tally_counts counts, size_t i) {
    return counts.each ? counts.each[i] : counts.first + (uint64_t)((int64_t)i * counts.step);
}

static void convert(const tally_cpu_plan *plan, tally_dtype from, const void *values, size_t count, void *out) {
    tally_dtype to = plan->base.computation.desc.out;
    tally_cpu_convert *function = plan->device->level->convert[from][to];
    if (from == to)
        memcpy(out, values, count * tally_dtype_size(to));
    else
        function(values, count, out);
}

/* The accumulator's type as the operator means it: absolute values are unsigned, whatever type they were added in. */
static tally_dtype value_type(const tally_cpu_plan *plan) {
    tally_dtype type = plan->kernels->acc_type;
    return plan->base.computation.monoid == TALLY_MONOID_sumabs ? tally_dtype_to_unsigned(type) : type;
}

static void lower_value(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    convert(plan, value_type(plan), acc, count, out);
}

static void lower_pair(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    tally_dtype in = plan->base.computation.desc.in;
    convert(plan, tally_dtype_value(in), acc, 2 * count, out);
}

/* Processors give 0 / 0 a sign of their own, and what is not a number has none here. */
static double real(double x) {
    return x == x ? x : NAN;
}

/* Forms f64 or i64 values in pieces on the stack and converts them. */
#define IN_PIECES(type, dtype, EXPRESSION)                                                                             \
    do {                                                                                                               \
        type value[TALLY_CPU_BATCH];                                                                                   \
        size_t out_bytes = plan->base.computation.out_bytes;                                                           \
        for (size_t done = 0; done < count;) {                                                                         \
            size_t piece = count - done < TALLY_CPU_BATCH ? count - done : (size_t)TALLY_CPU_BATCH;                    \
            for (size_t k = 0; k < piece; k++) {                                                                       \
                const size_t i = done + k;                                                                             \
                value[k] = EXPRESSION;                                                                                 \
            }                                                                                                          \
            convert(plan, dtype, value, piece, tally_at_mutable(out, done, out_bytes));                                \
            done += piece;                                                                                             \
        }                                                                                                              \
    } while (0)

/* ---- results that are computed: by the table's expression, from integers as from f64 ---- */

#define SQRT(x)      sqrt(x)
#define LOG(x)       log(x)
#define IS_FINITE(x) isfinite(x)
#define NOT_A_NUMBER ((double)NAN)

enum {
#define TALLY_COMPONENT(identity, lift, combine) +1
#define TALLY_MONOID(name, class, components)    COMPONENTS_##name = 0 components,
#include "core/monoids.def"
};

#define DEFINE_RESULT(name, lower)                                                                                     \
    static inline double result_##name(double a0, double a1, double a2, double a3, double a4, double a5, double n,     \
                                       double ddof) {                                                                  \
        const double a = a0;                                                                                           \
        (void)a, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)n, (void)ddof;                                \
        return lower;                                                                                                  \
    }
#define AT(k, COMPONENTS) (double)v[i * (COMPONENTS) + ((k) < (COMPONENTS) ? (k) : 0)]
#define RESULT(name, C)                                                                                                \
    result_##name(AT(0, C), AT(1, C), AT(2, C), AT(3, C), AT(4, C), AT(5, C), (double)count_of(counts, i), ddof)
#define DEFINE_LOWER(name, C, type, IN, dtype, EXPRESSION)                                                             \
    static void lower_##name##_##type(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,  \
                                      void *out) {                                                                     \
        const double ddof = plan->base.computation.desc.ddof;                                                          \
        const type *v = acc;                                                                                           \
        IN_PIECES(IN, dtype, EXPRESSION);                                                                              \
    }

#define LOWER_FLOAT(name, C, lower)                                                                                    \
    DEFINE_RESULT(name, lower)                                                                                         \
    DEFINE_LOWER(name, C, int64_t, double, TALLY_F64, real(RESULT(name, C)))                                           \
    DEFINE_LOWER(name, C, uint64_t, double, TALLY_F64, real(RESULT(name, C)))                                          \
    DEFINE_LOWER(name, C, double, double, TALLY_F64, real(RESULT(name, C)))
#define LOWER_FLAG(name, C, lower)                                                                                     \
    DEFINE_RESULT(name, lower)                                                                                         \
    DEFINE_LOWER(name, C, int64_t, int64_t, TALLY_I64, RESULT(name, C) != 0)
#define LOWER_SAME(name, C, lower)
#define LOWER_WIDE(name, C, lower)
#define LOWER_WIDE_UNSIGNED(name, C, lower)
#define LOWER_UNSIGNED(name, C, lower)
#define LOWER_INDEX(name, C, lower)
#define TALLY_OPERATOR(ENUMERATOR, name, monoid, lower, result, ...) LOWER_##result(name, COMPONENTS_##monoid, lower)
#include "core/operators.def"

#define ENTRY_FLOAT(name)                                                                                              \
    { lower_##name##_int64_t, lower_##name##_uint64_t, lower_##name##_double }
#define ENTRY_FLAG(name)                                                                                               \
    { lower_##name##_int64_t, NULL, NULL }
#define ENTRY_SAME(name)                                                                                               \
    { NULL, NULL, NULL }
#define ENTRY_WIDE          ENTRY_SAME
#define ENTRY_WIDE_UNSIGNED ENTRY_SAME
#define ENTRY_UNSIGNED      ENTRY_SAME
#define ENTRY_INDEX         ENTRY_SAME
static const struct {
    tally_cpu_lower *from_i64, *from_u64, *from_f64;
} computed[TALLY_USER] = {
#define TALLY_OPERATOR(ENUMERATOR, name, monoid, lower, result, ...) [TALLY_##ENUMERATOR] = ENTRY_##result(name),
#include "core/operators.def"
};

/* Whatever the size of the value, the index stands 8 bytes after the value's start, because it is aligned to 8. */
static void lower_index(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const value_and_index *a = acc;
    IN_PIECES(int64_t, TALLY_I64, a[i].index);
}

static void lower_user(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const tally_cpu_context *context = &plan->context;
    for (size_t i = 0; i < count; i++) {
        uint64_t element = 0;
        context->op.lower(context->op.context, tally_at(acc, i, context->acc_stride), count_of(counts, i), &element);
        memcpy(tally_at_mutable(out, i, context->out_bytes), &element, context->out_bytes);
    }
}

void tally_cpu_lower_choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    if (c->exact) {
        plan->lower = tally_cpu_exact_lower;
        return;
    }
    const tally_monoid_class kind = tally_class_of(c->monoid);
    if (kind == TALLY_CLASS_USER)
        plan->lower = lower_user;
    else if (kind == TALLY_CLASS_INDEXED)
        plan->lower = lower_index;
    else if (kind == TALLY_CLASS_VALUES)
        plan->lower = lower_pair;
    else if (!computed[c->desc.op].from_i64)
        plan->lower = lower_value;
    else if (value_type(plan) == TALLY_U64 || kind == TALLY_CLASS_SQUARE) /* integer squares fill 64 bits as unsigned */
        plan->lower = value_type(plan) == TALLY_F64 ? computed[c->desc.op].from_f64 : computed[c->desc.op].from_u64;
    else
        plan->lower = value_type(plan) == TALLY_I64 ? computed[c->desc.op].from_i64 : computed[c->desc.op].from_f64;
}

void tally_cpu_raise(const tally_cpu_plan *plan, const void *element, void *acc) {
    const tally_computation *c = &plan->base.computation;
    tally_dtype from = c->desc.out, to = plan->kernels->acc_type;
    tally_cpu_convert *function = plan->device->level->convert[from][to];
    if (from == to)
        memcpy(acc, element, plan->acc_bytes);
    else /* there is none only from floats to integers, which tally_args_check refuses */
        function(element, 1, acc);
}
