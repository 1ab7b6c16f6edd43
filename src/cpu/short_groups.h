/* Reductions of many short groups that lie side by side. */
#ifndef TALLY_CPU_SHORT_GROUPS_H
#define TALLY_CPU_SHORT_GROUPS_H

#include "cpu/short_choice.h"

/* Whether the next one can be used, and is the faster way for so many elements and groups. */
bool tally_cpu_stands_groups(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups,
                             tally_cpu_spread_of_lengths lengths);

/* acc[i] = elements offsets[i] .. offsets[i + 1] - 1 of x (and y), for i < count. Both have 'elements' elements. */
void tally_cpu_fold_short_groups(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t elements,
                                 const uint64_t *offsets, size_t count, void *acc);

#endif
