/* The way out of the accumulators: what the 'lower' column of operators.def says, for the layouts that the kernels
 * have, in batches. Results that round (means, roots) are formed in f64 and converted once. */
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

typedef struct moments {
    double count, mean, squares;
} moments;

typedef struct scaled_sum {
    double largest, sum;
} scaled_sum;

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

static void lower_any(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const int64_t *a = acc;
    IN_PIECES(int64_t, TALLY_I64, a[i] != 0);
}

static void lower_all(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const int64_t *a = acc;
    IN_PIECES(int64_t, TALLY_I64, (uint64_t)a[i] == count_of(counts, i));
}

static void lower_mean_i64(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const int64_t *a = acc;
    IN_PIECES(double, TALLY_F64, real((double)a[i] / (double)count_of(counts, i)));
}

static void lower_mean_u64(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const uint64_t *a = acc;
    IN_PIECES(double, TALLY_F64, real((double)a[i] / (double)count_of(counts, i)));
}

static void lower_mean_f64(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const double *a = acc;
    IN_PIECES(double, TALLY_F64, real(a[i] / (double)count_of(counts, i)));
}

static void lower_root_u64(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const uint64_t *a = acc;
    IN_PIECES(double, TALLY_F64, real(sqrt((double)a[i])));
}

static void lower_root_f64(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const double *a = acc;
    IN_PIECES(double, TALLY_F64, real(sqrt(a[i])));
}

/* Whatever the size of the value, the index stands 8 bytes after the value's start, because it is aligned to 8. */
static void lower_index(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const value_and_index *a = acc;
    IN_PIECES(int64_t, TALLY_I64, a[i].index);
}

/* The deviation of an infinite element from an infinite mean has no value. */
static double variance(const tally_cpu_plan *plan, moments m) {
    if (!isfinite(m.mean))
        return NAN;
    double degrees = m.count - plan->base.computation.desc.ddof;
    return degrees > 0 ? m.squares / degrees : NAN;
}

static void lower_var(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const moments *a = acc;
    IN_PIECES(double, TALLY_F64, real(variance(plan, a[i])));
}

static void lower_std(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const moments *a = acc;
    IN_PIECES(double, TALLY_F64, real(sqrt(variance(plan, a[i]))));
}

/* An infinite largest value is the result; the sum of nothing is 0, whose logarithm is -infinity. */
static void lower_logsumexp(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const scaled_sum *a = acc;
    IN_PIECES(double, TALLY_F64, real(isinf(a[i].largest) ? a[i].largest : a[i].largest + log(a[i].sum)));
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
    tally_dtype acc = c->monoid == TALLY_MONOID_user ? TALLY_DEFAULT : value_type(plan);
    switch (c->desc.op) {
    case TALLY_USER:
        plan->lower = lower_user;
        break;
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
        plan->lower = lower_index;
        break;
    case TALLY_MINMAX:
        plan->lower = lower_pair;
        break;
    case TALLY_ANY:
        plan->lower = lower_any;
        break;
    case TALLY_ALL:
        plan->lower = lower_all;
        break;
    case TALLY_MEAN:
        plan->lower = acc == TALLY_I64 ? lower_mean_i64 : acc == TALLY_U64 ? lower_mean_u64 : lower_mean_f64;
        break;
    case TALLY_NORM2: /* integer squares fill 64 bits as unsigned */
        plan->lower = acc == TALLY_F64 ? lower_root_f64 : lower_root_u64;
        break;
    case TALLY_VAR:
        plan->lower = lower_var;
        break;
    case TALLY_STD:
        plan->lower = lower_std;
        break;
    case TALLY_LOGSUMEXP:
        plan->lower = lower_logsumexp;
        break;
    default:
        plan->lower = lower_value;
        break;
    }
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
