/* Reductions of short groups of numbers, many at a time, by masked loads and trees (kernels/trees.c). Elements are
 * lifted first where they are not numbers already (lifted.h). */
#ifndef TALLY_CPU_GROUP_TREES_H
#define TALLY_CPU_GROUP_TREES_H

#include "cpu/cpu.h"

/* Whether that is the faster way for so many groups of so many elements in all, unless they have one length. */
bool tally_cpu_folds_by_trees(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups, bool are_foreseen);

/* Whether it is for rows of one length that are not packed as columns. */
bool tally_cpu_folds_rows_by_trees(const tally_cpu_plan *plan, uint64_t extent);

/* out[i] = the result of elements offsets[i] .. offsets[i + 1] - 1, for i < count. lengths[i] is their number, where
 * plan->lower uses it. */
void tally_cpu_fold_by_trees(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                             size_t count, const uint64_t *lengths, void *out);

#endif
