/* The way out of the accumulators: the 'lower' column of operators.def, for the layouts that the kernels have, in
 * batches. Results that round (means, roots) are formed in f64 and converted once. */
#include <math.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "cpu/copy.h"
#include "cpu/exact.h"
#include "cpu/lower.h"
#include "cpu/text/kernels.h"
#include "exact/round.h"

typedef struct value_and_index {
    int64_t value; /* of any type of at most 8 bytes; the index is aligned behind it */
    int64_t index;
} value_and_index;

static void convert(const tally_cpu_plan *plan, tally_dtype from, const void *values, size_t count, void *out) {
    tally_dtype to = plan->base.computation.desc.out;
    tally_cpu_convert *function = plan->device->level->types[from]->convert[to];
    if (from == to)
        tally_cpu_copy(out, values, count * tally_dtype_size(to));
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

/* Extremes in exact mode: a NaN has no sign and no payload. */
#define DEFINE_LOWER_EXTREMES(type, dtype)                                                                             \
    static void lower_extremes_##type(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,  \
                                      void *out) {                                                                     \
        (void)counts;                                                                                                  \
        const type *a = acc;                                                                                           \
        const tally_computation *c = &plan->base.computation;                                                          \
        count *= c->per_result;                                                                                        \
        for (size_t done = 0; done < count;) {                                                                         \
            type values[TALLY_CPU_BATCH];                                                                              \
            const size_t piece = least(count - done, TALLY_CPU_BATCH);                                                 \
            for (size_t i = 0; i < piece; i++)                                                                         \
                values[i] = a[done + i] == a[done + i] ? a[done + i] : (type)NAN;                                      \
            convert(plan, dtype, values, piece, tally_at_mutable(out, done, c->out_bytes));                            \
            done += piece;                                                                                             \
        }                                                                                                              \
    }
DEFINE_LOWER_EXTREMES(float, TALLY_F32)
DEFINE_LOWER_EXTREMES(double, TALLY_F64)

/* Computes values in pieces, by the operator's kernel: in place where they have the output's type, else on the stack,
 * from where they are converted. */
static void lower_computed(const tally_cpu_plan *plan, tally_cpu_form *form, tally_dtype type, const void *acc,
                           size_t count, tally_counts counts, void *out) {
    const tally_computation *c = &plan->base.computation;
    if (type == c->desc.out) {
        form(acc, count, counts, c->desc.ddof, out);
        return;
    }
    for (size_t done = 0; done < count;) {
        double values[TALLY_CPU_BATCH];
        const size_t piece = least(count - done, TALLY_CPU_BATCH);
        form(tally_at(acc, done, plan->acc_bytes), piece, counts, c->desc.ddof, values);
        convert(plan, type, values, piece, tally_at_mutable(out, done, c->out_bytes));
        done += piece;
        counts.each = counts.each ? counts.each + piece : NULL;
        counts.first += (uint64_t)((int64_t)piece * counts.step);
    }
}

#define DEFINE_LOWER(from, type)                                                                                       \
    static void lower_##from(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,           \
                             void *out) {                                                                              \
        const tally_cpu_forms *forms = &plan->device->level->forms[plan->base.computation.desc.op];                    \
        lower_computed(plan, forms->from, type, acc, count, counts, out);                                              \
    }
DEFINE_LOWER(from_i64, forms->values)
DEFINE_LOWER(from_u64, forms->values)
DEFINE_LOWER(from_f64, forms->values)
DEFINE_LOWER(near, TALLY_F32)

/* Whether results have the digits of f32, or fewer, and accumulate in no more by request. */
static bool suits_near(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return plan->device->level->forms[c->desc.op].near && c->desc.acc == TALLY_F32 &&
           tally_dtype_is_float(c->desc.out) && c->out_bytes <= sizeof(float);
}

/* Whatever the size of the value, the index stands 8 bytes after the value's start, because it is aligned to 8. */
static void lower_index(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const value_and_index *a = acc;
    for (size_t done = 0; done < count;) {
        int64_t values[TALLY_CPU_BATCH];
        const size_t piece = least(count - done, TALLY_CPU_BATCH);
        for (size_t i = 0; i < piece; i++)
            values[i] = a[done + i].index;
        convert(plan, TALLY_I64, values, piece, tally_at_mutable(out, done, plan->base.computation.out_bytes));
        done += piece;
    }
}

/* Whether doubles hold a sum and a number of elements. Then their quotient, and the sum's root, rounds once. */
static bool fits_double(const uint64_t *words, int word_count, bool is_signed, uint64_t n) {
    const uint64_t limit = UINT64_C(1) << 53, above = is_signed ? 0 - (words[0] >> 63) : 0;
    for (int k = 1; k < word_count; k++)
        if (words[k] != above)
            return false;
    return (above ? 0 - words[0] : words[0]) <= limit && n <= limit && n > 0;
}

static void lower_integer_moments(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,
                                  void *out) {
    (void)counts;
    const tally_computation *c = &plan->base.computation;
    enum { WORDS = 6 };
    for (size_t i = 0; i < count; i++)
        tally_round_integer_moments((const uint64_t *)acc + WORDS * i, tally_dtype_is_signed(c->desc.in),
                                    (uint64_t)c->desc.ddof, c->desc.op, c->desc.out,
                                    tally_at_mutable(out, i, c->out_bytes));
}

static void lower_integer(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const tally_computation *c = &plan->base.computation;
    const int word_count = (int)(plan->acc_bytes / sizeof(uint64_t));
    const bool is_signed = tally_dtype_is_signed(c->desc.in), is_mean = c->entry->exact == TALLY_EXACTLY_MEAN;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *words = (const uint64_t *)acc + i * (size_t)word_count;
        const uint64_t n = tally_count_of(counts, i);
        void *const value = tally_at_mutable(out, i, c->out_bytes);
        if (c->desc.out != TALLY_F64 || !fits_double(words, word_count, is_signed, n)) {
            tally_round_integer(words, word_count, is_signed, n, c->desc.op, c->desc.out, value);
            continue;
        }
        const double sum = is_signed ? (double)(int64_t)words[0] : (double)words[0];
        const double result = is_mean ? sum / (double)n : sqrt(sum);
        memcpy(value, &result, sizeof result);
    }
}

static void lower_user(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const tally_cpu_context *context = &plan->context;
    for (size_t i = 0; i < count; i++) {
        uint64_t element = 0;
        context->op.lower(context->op.context, tally_at(acc, i, context->acc_stride), tally_count_of(counts, i),
                          &element);
        memcpy(tally_at_mutable(out, i, context->out_bytes), &element, context->out_bytes);
    }
}

void tally_cpu_lower_choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    if (c->exact || c->rounds_integer) {
        plan->lower = c->exact                                 ? tally_cpu_exact_lower
                      : c->monoid == TALLY_MONOID_wide_moments ? lower_integer_moments
                                                               : lower_integer;
        return;
    }
    const tally_cpu_forms *const forms = &plan->device->level->forms[c->desc.op];
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const tally_dtype in = tally_dtype_value(c->desc.in);
    const bool is_extreme = kind == TALLY_CLASS_VALUE || kind == TALLY_CLASS_VALUES || kind == TALLY_CLASS_MAGNITUDE;
    if (is_extreme && c->desc.mode == TALLY_EXACT && tally_dtype_is_float(in))
        plan->lower = in == TALLY_F64 ? lower_extremes_double : lower_extremes_float;
    else if (kind == TALLY_CLASS_USER)
        plan->lower = plan->context.text ? tally_cpu_text_lower : lower_user;
    else if (kind == TALLY_CLASS_INDEXED)
        plan->lower = lower_index;
    else if (kind == TALLY_CLASS_VALUES)
        plan->lower = lower_pair;
    else if (!forms->from_i64 && !forms->from_f64)
        plan->lower = lower_value;
    else if (suits_near(plan))
        plan->lower = lower_near;
    else if (value_type(plan) == TALLY_U64 || kind == TALLY_CLASS_SQUARE) /* integer squares fill 64 bits as unsigned */
        plan->lower = value_type(plan) == TALLY_F64 ? lower_from_f64 : lower_from_u64;
    else
        plan->lower = value_type(plan) == TALLY_I64 ? lower_from_i64 : lower_from_f64;
}

bool tally_cpu_result_is_number(const tally_cpu_plan *plan) {
    return plan->lower == lower_value;
}

bool tally_cpu_result_is_element(const tally_cpu_plan *plan) {
    const tally_desc *d = &plan->base.computation.desc;
    return tally_cpu_result_is_number(plan) && plan->lifted.scan && plan->lifted.by_conversion &&
           (d->in == d->out || plan->device->level->types[d->in]->convert[d->out]);
}

void tally_cpu_convert_elements(const tally_cpu_plan *plan, const void *x, size_t count, void *out) {
    if (x != out || plan->base.computation.desc.in != plan->base.computation.desc.out)
        convert(plan, plan->base.computation.desc.in, x, count, out);
}

void tally_cpu_raise(const tally_cpu_plan *plan, const void *element, void *acc) {
    const tally_computation *c = &plan->base.computation;
    if (c->exact) {
        tally_cpu_exact_raise(plan, element, acc);
        return;
    }
    tally_dtype from = c->desc.out, to = plan->kernels->acc_type;
    tally_cpu_convert *function = plan->device->level->types[from]->convert[to];
    if (from == to)
        memcpy(acc, element, plan->acc_bytes);
    else /* there is none only from floats to integers, which tally_args_check refuses */
        function(element, 1, acc);
}
