#include "cpu/group_trees.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/offsets.h"

bool tally_cpu_folds_by_trees(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups) {
    const tally_computation *c = &plan->base.computation;
    enum { LONGEST = 64 };
    /* sums of floats are trees of their own (kernels/rows.h), of as many digits as there are */
    const bool is_sum_of_floats = c->monoid == TALLY_MONOID_sum && tally_dtype_is_float(c->desc.in);
    return c->entry && !c->gives_words && !plan->states && !plan->lower_elements && plan->lifted.tree.fold &&
           !is_sum_of_floats && elements < groups * LONGEST;
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
    const bool places = l->parts == TALLY_CPU_PLACE, gives_places = places && plan->base.computation.desc.out == TALLY_I64;
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
