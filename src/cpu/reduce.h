/* Reductions over all values and along an axis. */
#ifndef TALLY_CPU_REDUCE_H
#define TALLY_CPU_REDUCE_H

#include "cpu/cpu.h"

/* Without 'into', results go to args->out. With it, for input in pieces, they are combined into the outer x inner
 * accumulators there, and 'index' is the number of elements that each group had before this piece. */
tally_status tally_cpu_reduce(tally_cpu_plan *plan, const tally_args *args, uint64_t index, void *into);

/* Groups of 'extent' elements each, one after the other, whatever the plan's grouping is; and whether that is a faster
 * way for them than that of groups of any length. */
bool tally_cpu_reduces_rows(const tally_cpu_plan *plan, uint64_t extent);
tally_status tally_cpu_reduce_rows(tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t extent,
                                   void *out);

#endif
