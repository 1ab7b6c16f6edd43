#include "cpu/lone.h"

#include <math.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/few_rows.h"
#include "cpu/lifted.h"
#include "cpu/lower.h"
#include "cpu/scan_run.h"

typedef enum lone_result { ELEMENT, NUMBER, TRUTH, ONE_FOR_ALL, SPREAD, LIFTED, OTHER } lone_result;

/* The kernel that lifts elements to f32 without a loss, where results have no more digits. The norm of one is its
 * magnitude. */
static tally_cpu_lift_32 *lift_to_f32(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const bool is_narrow = tally_dtype_is_float(c->desc.in) && c->in_bytes <= sizeof(float);
    if (!is_narrow || c->desc.out != c->desc.in)
        return NULL;
    return plan->device->scans->lift_32(c->desc.op == TALLY_NORM2 ? TALLY_MONOID_sumabs : c->monoid, c->desc.in);
}

/* A mean and a logsumexp of one integer are that integer. Of a float, NaN loses its sign and payload on the way. */
static lone_result result_of(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const bool is_float = tally_dtype_is_float(c->desc.in);
    tally_cpu_convert *const *const convert = plan->device->level->types[c->desc.in]->convert;
    if (c->exact || c->skips_nan || c->takes_words || c->gives_words)
        return tally_cpu_result_is_element(plan) ? ELEMENT : OTHER;
    if (tally_class_of(c->monoid) == TALLY_CLASS_INDEXED)
        return ONE_FOR_ALL;
    if (c->monoid == TALLY_MONOID_nonzero)
        return TRUTH;
    if (c->desc.op == TALLY_VAR || c->desc.op == TALLY_STD)
        return !is_float ? ONE_FOR_ALL : tally_cpu_has_few_rows(plan, 1, 1) ? SPREAD : OTHER;
    const bool is_mean = c->desc.op == TALLY_MEAN || c->desc.op == TALLY_LOGSUMEXP;
    if (is_mean && is_float && c->desc.out == c->desc.in && !tally_cpu_result_is_element(plan))
        return NUMBER;
    if (tally_cpu_result_is_element(plan) || (is_mean && !is_float && convert[c->desc.out]))
        return ELEMENT;
    const bool is_lifted = plan->lifted.scan && plan->lifted.parts == TALLY_CPU_NUMBER;
    return lift_to_f32(plan) || (is_lifted && c->desc.op != TALLY_NORM2) ? LIFTED : OTHER;
}

bool tally_cpu_has_lone(const tally_cpu_plan *plan) {
    return result_of(plan) != OTHER;
}

void tally_cpu_fill_results(const tally_cpu_plan *plan, const void *acc, uint64_t n, uint64_t elements, bool stream,
                            void *out) {
    const tally_computation *c = &plan->base.computation;
    _Alignas(16) unsigned char result[16];
    plan->lower(plan, acc, 1, (tally_counts){NULL, elements, 0}, result);
    plan->device->scans->fill(result, c->out_bytes * c->per_result, n, stream && n >= TALLY_CPU_LEAST_STREAMED, out);
}

/* Whether elements are not zero: any, all, and how many are. */
static void find_truths(const tally_cpu_plan *plan, const void *x, uint64_t n, void *out) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t sign = tally_dtype_is_float(c->desc.in) ? UINT64_C(1) << (8 * c->in_bytes - 1) : 0; /* of -0 */
    if (c->out_bytes == 1) {
        plan->device->scans->truths(x, n, c->in_bytes, ~sign, out);
        return;
    }
    for (uint64_t done = 0, count; done < n; done += count) {
        uint8_t truths[1024];
        count = least(n - done, sizeof truths);
        plan->device->scans->truths(tally_at(x, done, c->in_bytes), count, c->in_bytes, ~sign, truths);
        tally_cpu_convert_numbers(plan, TALLY_U8, c->desc.out, truths, count,
                                  tally_at_mutable(out, done, c->out_bytes));
    }
}

/* The elements themselves; out may be x. */
static void find_numbers(const tally_cpu_plan *plan, const void *x, uint64_t n, void *out) {
    enum { BLOCK_BYTES = 4096 };
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_nans *const nans = &plan->device->level->nans[c->desc.in];
    const float none = NAN;
    unsigned char nan[8];
    tally_cpu_convert_numbers(plan, TALLY_F32, c->desc.in, &none, 1, nan);
    if (out != x) {
        nans->replace(x, n, nan, out);
        return;
    }
    for (uint64_t done = 0, count; done < n; done += count) {
        unsigned char block[BLOCK_BYTES];
        void *const at = tally_at_mutable(out, done, c->in_bytes);
        count = least(n - done, BLOCK_BYTES / c->in_bytes);
        memcpy(block, at, count * c->in_bytes);
        nans->replace(block, count, nan, at);
    }
}

/* Elements that are lifted to numbers: magnitudes, squares, products. (Zen 5, ns an element as rows of one and so:
 * norm1 of f32 0.087 and 0.032, of bf16 0.22 and 0.09, dots of f32 0.106 and 0.048, of f16 0.34 and 0.08.) */
static void find_lifted(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, void *out) {
    const tally_computation *c = &plan->base.computation;
    tally_cpu_lift_32 *const lift_32 = lift_to_f32(plan);
    const bool is_norm = c->desc.op == TALLY_NORM2, is_direct = c->desc.out == TALLY_F32 && out != x;
    const float none = NAN; /* of a norm, without a sign and a payload */
    tally_cpu_lifted_block block;
    for (uint64_t done = 0, count; done < n; done += count) {
        const void *const from = tally_at(x, done, c->in_bytes), *const other = tally_at(y, done, c->in_bytes);
        void *const to = tally_at_mutable(out, done, c->out_bytes);
        count = least(n - done, TALLY_CPU_LIFTED_BLOCK);
        if (lift_32) {
            /* whole vectors are written */
            void *numbers = is_direct && count == TALLY_CPU_LIFTED_BLOCK ? to : block.lifted;
            lift_32(from, other, count, is_norm ? block.narrow : numbers);
            if (is_norm)
                plan->device->level->nans[TALLY_F32].replace(block.narrow, count, &none, numbers);
            if (numbers != to)
                tally_cpu_convert_numbers(plan, TALLY_F32, c->desc.out, numbers, count, to);
            continue;
        }
        const void *const lifted = tally_cpu_lift(plan, from, other, count, &block);
        tally_cpu_lower_prefixes(plan, lifted, NULL, count, (tally_counts){NULL, 1, 0}, to);
    }
}

/* Variances of floats: all the same as that of the first one, unless an element is not finite. Their moments tell. */
static void find_spreads(const tally_cpu_plan *plan, const void *x, uint64_t n, bool stream, void *out) {
    enum { BLOCK = 4096 };
    const tally_computation *c = &plan->base.computation;
    for (uint64_t done = 0, count; done < n; done += count) {
        const void *const from = tally_at(x, done, c->in_bytes);
        void *const to = tally_at_mutable(out, done, c->out_bytes);
        _Alignas(64) tally_cpu_moments all, one;
        count = least(n - done, BLOCK);
        plan->kernels->identity(&plan->context, 1, &all);
        plan->kernels->fold(&plan->context, from, NULL, count, 0, &all);
        plan->kernels->fold_rows(&plan->context, from, NULL, 1, 1, &one);
        if (isfinite(all.squares))
            tally_cpu_fill_results(plan, &one, count, 1, stream, to);
        else
            tally_cpu_reduce_few_rows(plan, from, 1, count, count, to);
    }
}

void tally_cpu_reduce_lone(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, bool stream,
                           void *out) {
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    switch (result_of(plan)) {
    case ELEMENT:
        tally_cpu_convert_elements(plan, x, n, out);
        return;
    case NUMBER:
        find_numbers(plan, x, n, out);
        return;
    case TRUTH:
        find_truths(plan, x, n, out);
        return;
    case SPREAD:
        find_spreads(plan, x, n, stream, out);
        return;
    case LIFTED:
        find_lifted(plan, x, y, n, out);
        return;
    default: /* that of the first one */
        plan->kernels->fold_rows(&plan->context, x, NULL, 1, 1, acc);
        tally_cpu_fill_results(plan, acc, n, 1, stream, out);
    }
}
