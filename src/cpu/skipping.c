#include "cpu/skipping.h"

#include <math.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/converted.h"
#include "cpu/nans.h"
#include "cpu/scratch.h"

enum { LOOKED_AT = 8 * 1024 /* labels whose elements are looked at at a time */ };

/* ---- which way ---- */

bool tally_cpu_neutral(const tally_computation *c, double *value) {
    switch (c->desc.op) {
    case TALLY_SUM:
    case TALLY_SUMSQ:
    case TALLY_NORM1:
    case TALLY_NORM2:
    case TALLY_DOT:
    case TALLY_MEAN:
        *value = -0.0;
        return true;
    case TALLY_ANY:
    case TALLY_COUNT_NONZERO:
    case TALLY_NORM_INF:
        *value = 0;
        return true;
    case TALLY_PROD:
        *value = 1;
        return true;
    case TALLY_ALL: /* a state is how many are not zero, beside the number of elements that were not left out */
        *value = c->gives_words ? 0 : 1;
        return true;
    case TALLY_MIN:
    case TALLY_ARGMIN:
        *value = (double)INFINITY;
        return true;
    case TALLY_MAX:
    case TALLY_ARGMAX:
    case TALLY_LOGSUMEXP:
        *value = -(double)INFINITY;
        return true;
    default:
        return false;
    }
}

tally_cpu_skipping tally_cpu_skipping_of(const tally_computation *c) {
    double value;
    const bool is_scan = tally_is_scan(c), has_neutral = tally_cpu_neutral(c, &value);
    const bool counts = c->desc.op == TALLY_MEAN || tally_class_of(c->monoid) == TALLY_CLASS_INDEXED ||
                        (!is_scan && (c->exact || c->gives_words)) ||
                        (!is_scan && tally_has_trait(c, TALLY_OPERATOR_EMPTY_IS_ERROR));
    if (!c->skips_nan)
        return TALLY_CPU_KEEPS_NANS;
    if (c->desc.grouping == TALLY_LABELS)
        return TALLY_CPU_DROPS_LABELS;
    if (!has_neutral || counts)
        return TALLY_CPU_COUNTS_ELEMENTS;
    const bool by_blocks = c->desc.grouping == TALLY_ALL_VALUES || c->desc.grouping == TALLY_AXIS;
    return by_blocks && !is_scan ? TALLY_CPU_REPLACES_NANS : TALLY_CPU_STAGES_ELEMENTS;
}

bool tally_cpu_gives_nothing(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return tally_has_trait(c, TALLY_OPERATOR_EMPTY_IS_ERROR) && !c->gives_words &&
           (!tally_is_scan(c) || tally_class_of(c->monoid) == TALLY_CLASS_INDEXED);
}

void tally_cpu_lower_nothing(const tally_cpu_plan *plan, size_t i, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_level *level = plan->device->level;
    const bool is_index = c->entry->result == TALLY_RESULT_INDEX;
    const double nan = NAN;
    const int64_t index = -1;
    const tally_dtype from = is_index ? TALLY_I64 : TALLY_F64;
    for (size_t k = 0; k < c->per_result; k++) {
        void *const to = tally_at_mutable(out, i * c->per_result + k, c->out_bytes);
        if (from == c->desc.out)
            memcpy(to, is_index ? (const void *)&index : &nan, c->out_bytes);
        else
            level->types[from]->convert[c->desc.out](is_index ? (const void *)&index : &nan, 1, to);
    }
}

/* By labels, the number of elements comes with the accumulators. */
static void lower_or_nothing(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,
                             void *out) {
    plan->lower_elements(plan, acc, count, counts, out);
    for (size_t i = 0; i < count; i++)
        if (!tally_count_of(counts, i))
            tally_cpu_lower_nothing(plan, i, out);
}

void tally_cpu_skipping_choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_skipping way = tally_cpu_skipping_of(c);
    double value = 0;
    if (way == TALLY_CPU_KEEPS_NANS)
        return;
    plan->context.nans = &plan->device->level->nans[c->desc.in];
    tally_cpu_neutral(c, &value);
    if (c->exact) /* of a scan, which is -0 only where all elements are */
        value = 0;
    if (c->desc.in == TALLY_F64)
        memcpy(plan->context.neutral, &value, sizeof value);
    else
        plan->device->level->types[TALLY_F64]->convert[c->desc.in](&value, 1, plan->context.neutral);
    if (way == TALLY_CPU_REPLACES_NANS) {
        plan->context.replaces = true;
        plan->lifted = (tally_cpu_lifted){0};
        tally_cpu_choose_shown(&plan->context, plan);
        if (plan->kernels != &plan->converted)
            tally_cpu_convert_first(plan, c->desc.in, plan->kernels);
    }
    if (way == TALLY_CPU_STAGES_ELEMENTS)
        plan->staging_bytes = tally_cpu_staging_bytes(plan, TALLY_CPU_SCAN_BYTES / c->in_bytes);
    if (way == TALLY_CPU_DROPS_LABELS && tally_cpu_gives_nothing(plan)) {
        plan->lower_elements = plan->lower;
        plan->lower = lower_or_nothing;
    }
}

/* ---- accumulators that show a NaN ---- */

void tally_cpu_choose_shown(tally_cpu_context *context, const tally_cpu_plan *elements) {
    const tally_computation *c = &elements->base.computation;
    const tally_dtype value = tally_dtype_value(c->desc.in);
    context->shown = TALLY_DEFAULT;
    context->shows_count = c->exact;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_FLOATS: /* moments of what is not finite are slow */
        context->shown = c->monoid == TALLY_MONOID_logsumexp ? TALLY_F64 : TALLY_DEFAULT;
        break;
    case TALLY_CLASS_VALUES:
    case TALLY_CLASS_INDEXED:
        context->shown = value;
        break;
    case TALLY_CLASS_COUNT:
        break;
    default:
        context->shown = c->exact ? TALLY_DEFAULT : elements->kernels->acc_type;
    }
}

/* ---- elements that change nothing ---- */

size_t tally_cpu_staging_bytes(const tally_cpu_plan *plan, uint64_t n) {
    const tally_computation *c = &plan->base.computation;
    return (size_t)round_up(n * c->in_bytes, 64) << tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
}

void tally_cpu_stage(const tally_cpu_plan *plan, unsigned worker, const void **x, const void **y, uint64_t n) {
    if (!plan->staging_bytes)
        return;
    void *const to_x = tally_cpu_staging(plan, worker);
    void *const to_y = tally_at_mutable(to_x, round_up(n * plan->base.computation.in_bytes, 64), 1);
    tally_cpu_replace_nans(&plan->context, *x, *y, n, to_x, to_y);
    *x = to_x;
    *y = *y ? to_y : NULL;
}

void tally_cpu_drop_nans(const tally_cpu_plan *plan, const void *x, const void *y, size_t n, tally_cpu_places places,
                         uint32_t *labels) {
    for (size_t done = 0, count; plan->context.nans && done < n; done += count) {
        uint8_t marks[LOOKED_AT];
        const size_t bytes = plan->context.in_bytes;
        count = least(n - done, LOOKED_AT);
        if (!tally_cpu_mark_nans(&plan->context, tally_at(x, done, bytes), tally_at(y, done, bytes), count, marks))
            continue;
        const bool is_hot = places.groups == places.hot;
        for (size_t i = 0; i < count; i++) {
            const size_t number = done + i;
            const size_t place = is_hot ? places.spare + number % TALLY_CPU_HOT_COPIES
                                        : places.groups + number % places.copies * (places.groups + (size_t)1);
            labels[number] = marks[i] ? (uint32_t)place : labels[number];
        }
    }
}

size_t tally_cpu_close_up(const tally_cpu_plan *plan, const void **x, const void **y, size_t n, uint32_t *labels,
                          void *room) {
    const tally_cpu_nans *const nans = plan->context.nans;
    uint8_t marks[TALLY_CPU_CLOSED_UP];
    if (!nans || !tally_cpu_mark_nans(&plan->context, *x, *y, n, marks))
        return n;
    void *const second = (char *)room + TALLY_CPU_CLOSED_UP * sizeof(double);
    nans->keep(*x, marks, n, room);
    *x = room;
    if (*y) {
        nans->keep(*y, marks, n, second);
        *y = second;
    }
    return plan->device->level->nans[TALLY_F32].keep(labels, marks, n, labels);
}
