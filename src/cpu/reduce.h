/* Reductions over all values and along an axis. */
#ifndef TALLY_CPU_REDUCE_H
#define TALLY_CPU_REDUCE_H

#include "cpu/cpu.h"

/* Without 'into', results go to args->out. With it, for input in pieces, they are combined into the outer x inner
 * accumulators there, and 'index' is the number of elements that each group had before this piece. */
tally_status tally_cpu_reduce(tally_cpu_plan *plan, const tally_args *args, uint64_t index, void *into);

#endif
