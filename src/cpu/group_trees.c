#include "cpu/group_trees.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/offsets.h"

/* Groups that are shorter on average. Sums of floats are trees of their own (kernels/rows.h), and integers that are
 * summed are differences of prefixes (group_ends.h). (Zen 5, 300,000 elements, exponential lengths, ns an element as
 * before and so, in groups of 20 and of 40 to 50: products of f32 to f64 0.34, 0.11 and 0.45, 0.21, squares of f64 0.39
 * and 0.33, products of i8 and f64 0.33, 0.13 and 0.24, 0.16, largest of f32 and f64 0.31, 0.15 and 0.16, 0.17, of i8
 * 0.09 and 0.05; minmax of f32 0.25 and 0.20, argmin 0.25 and 0.19.) */
static uint64_t short_length(const tally_cpu_plan *plan, bool are_foreseen) {
    const tally_computation *c = &plan->base.computation;
    const bool is_wide = c->in_bytes == sizeof(uint64_t);
    /* A fold each takes half the time where the processor foresees how long groups are. (20,000 and 1,000,000 elements,
     * uniform lengths, as trees and by folds: products of f32 in 18 0.27 and 0.18, in 15 0.40 and 0.44, of f64 in 50
     * 0.15, 0.11 and 0.22, 0.27; magnitudes of i32 in 18 0.19, 0.15, in 28 0.25, 0.30; largest of i64 in 18 0.19, 0.20,
     * in 50 0.15, 0.12 and 0.21, 0.27, of f16 in 50 0.126, 0.135 and 0.15, 0.19.) */
    enum { FORESEEN = 11, FORESEEN_64 = 15 };
    enum { WIDENED = 10, SUMS = 24, LIFTED = 36, NUMBERS_64 = 40, LONGEST = TALLY_CPU_SHORT_GROUP };
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_COUNT:
        return 0;
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
        if (c->monoid == TALLY_MONOID_sum || !tally_dtype_is_float(plan->lifted.type))
            return 0;
        return is_wide && !are_foreseen ? SUMS : WIDENED;
    case TALLY_CLASS_TOTAL:
        return is_wide ? (are_foreseen ? FORESEEN_64 : LONGEST) : are_foreseen ? FORESEEN : SUMS;
    default:
        if (c->monoid == TALLY_MONOID_bxor)
            return 0;
        if (plan->lifted.parts == TALLY_CPU_PLACE)
            return LONGEST;
        if (plan->lifted.by_order && tally_class_of(c->monoid) == TALLY_CLASS_VALUE)
            return LONGEST;
        if (!tally_cpu_lifts_nothing(plan))
            return are_foreseen && tally_class_of(c->monoid) == TALLY_CLASS_MAGNITUDE ? FORESEEN : LIFTED;
        if (!is_wide)
            return LONGEST;
        return are_foreseen ? FORESEEN_64 : tally_class_of(c->monoid) == TALLY_CLASS_VALUES ? NUMBERS_64 : LONGEST;
    }
}

bool tally_cpu_folds_by_trees(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups, bool are_foreseen) {
    return plan->base.computation.entry && !plan->base.computation.gives_words && !plan->states &&
           !plan->lower_elements && plan->lifted.tree.fold && elements < groups * short_length(plan, are_foreseen);
}

/* Rows that are folded one by one keep vectors of elements apart until their end. (Zen 5, ns an element so and as a
 * tree: smallest of u8 in rows of 33, 60, 100, 203 0.042, 0.032, 0.029, 0.017 and 0.039, 0.025, 0.025, 0.022, of i16 in
 * 33, 60, 100 0.076, 0.044, 0.031 and 0.062, 0.040, 0.042, of i32 in 33 0.076 and 0.086, of f16 in 33, 60 0.151, 0.108
 * and 0.116, 0.121, of f32 in 33, 100, 203 0.130, 0.080, 0.056 and 0.101, 0.073, 0.068; minmax of f32 in 60, 100 0.215,
 * 0.215 and 0.137, 0.132, of i8 0.092, 0.062 and 0.046, 0.044, of i16 in 60, 100 0.107, 0.066 and 0.071, 0.076; places
 * of u8 in 100, 203 0.049, 0.035 and 0.040, 0.032, of i32 in 100 and 203 0.113, 0.091 and 0.106, 0.095.) */
bool tally_cpu_folds_rows_by_trees(const tally_cpu_plan *plan, uint64_t extent) {
    enum { LEAST = 9, PLACES = 512, NUMBERS = 128, HALVES = 96, BITS = 64, FLOATS = 508 }; /* bytes */
    const tally_computation *c = &plan->base.computation;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const bool is_float = tally_dtype_is_float(c->desc.in), is_f32 = c->desc.in == TALLY_F32;
    if (extent < LEAST || !tally_cpu_folds_by_trees(plan, 1, 1, false))
        return false;
    const uint64_t most = plan->lifted.parts == TALLY_CPU_PLACE                     ? (is_float ? 0 : PLACES)
                          : kind == TALLY_CLASS_BITS                                ? (c->in_bytes == 1 ? BITS : 0)
                          : kind != TALLY_CLASS_VALUE && kind != TALLY_CLASS_VALUES ? 0
                          : is_f32                                                  ? FLOATS
                          : c->in_bytes > sizeof(uint16_t)                          ? 0
                          : !is_float                                               ? NUMBERS
                          : kind == TALLY_CLASS_VALUE                               ? HALVES
                                                                                    : 0;
    return extent * c->in_bytes <= most;
}

static void fold_alone(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                       const uint64_t *lengths, void *out) {
    const size_t bytes = plan->base.computation.in_bytes;
    _Alignas(64) unsigned char acc[16];
    plan->kernels->identity(&plan->context, 1, acc);
    plan->kernels->fold(&plan->context, tally_at(x, offsets[0], bytes), tally_at(y, offsets[0], bytes),
                        offsets[1] - offsets[0], 0, acc);
    plan->lower(plan, acc, 1, (tally_counts){lengths, 0, 0}, out);
}

/* Groups whose elements are numbers already, or were lifted: x is element 0. */
static void fold_numbers(const tally_cpu_plan *plan, const void *x, const uint64_t *offsets, size_t count,
                         const tally_cpu_carry *start, const uint64_t *lengths, void *out) {
    const tally_cpu_lifted *const l = &plan->lifted;
    const bool places = l->parts == TALLY_CPU_PLACE,
               gives_places = places && plan->base.computation.desc.out == TALLY_I64;
    uint64_t first[TALLY_CPU_BATCH], second[TALLY_CPU_BATCH];
    if (tally_cpu_writes_results(plan)) {
        l->tree.fold(x, offsets, count, &l->tree, &start->first, out);
        return;
    }
    l->tree.fold(x, offsets, count, &l->tree, &start->first, first);
    if (places)
        l->first_equal(x, offsets, count, first, gives_places ? out : (void *)second);
    else if (l->second)
        l->second_tree.fold(x, offsets, count, &l->second_tree, &start->second, second);
    if (!gives_places)
        tally_cpu_lower_prefixes(plan, first, second, count, (tally_counts){lengths, 0, 0}, out);
}

void tally_cpu_fold_by_trees(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                             size_t count, const uint64_t *lengths, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_lifted *const l = &plan->lifted;
    tally_cpu_lifted_block block;
    tally_cpu_carry start;
    plan->kernels->identity(&plan->context, 1, block.narrow);
    tally_cpu_split(plan, block.narrow, 1, 0, l->carry, &start.first, &start.second);
    tally_cpu_convert_numbers(plan, l->carry, l->type, &start.first, 1, block.narrow);
    memcpy(&start.first, block.narrow, sizeof start.first);
    if (tally_cpu_lifts_nothing(plan)) {
        fold_numbers(plan, x, offsets, count, &start, lengths, out);
        return;
    }
    for (size_t done = 0, taken; done < count; done += most(taken, 1)) {
        const uint64_t *const own = offsets + done, *const each = lengths ? lengths + done : NULL;
        void *const to = tally_at_mutable(out, done, c->out_bytes * c->per_result);
        taken = tally_cpu_groups_within(own, count - done, TALLY_CPU_LIFTED_BLOCK);
        if (taken == 0) {
            fold_alone(plan, x, y, own, each, to);
            continue;
        }
        const void *const lifted = tally_cpu_lift(plan, tally_at(x, own[0], c->in_bytes),
                                                  tally_at(y, own[0], c->in_bytes), own[taken] - own[0], &block);
        fold_numbers(plan, (const char *)lifted - own[0] * l->bytes, own, taken, &start, each, to);
    }
}
