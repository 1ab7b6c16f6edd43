/* Memory that a plan keeps from run to run. It grows when a run needs more than any before. */
#ifndef TALLY_CPU_SCRATCH_H
#define TALLY_CPU_SCRATCH_H

#include "cpu/cpu.h"

/* At least this many bytes, aligned to 64, with no particular content. */
tally_status tally_cpu_scratch(tally_cpu_plan *plan, size_t bytes, void **scratch);

/* The same for sparse_labels.c, which runs a reduction of its own in between. It begins with zeros, and keeps what was
 * written. */
tally_status tally_cpu_sparse_scratch(tally_cpu_plan *plan, size_t bytes, void **scratch);

/* The same for each thread; tally_cpu_worker gives a thread's, and tally_cpu_staging the plan's staging bytes before
 * it.
 */
tally_status tally_cpu_worker_scratch(tally_cpu_plan *plan, size_t bytes);

static inline void *tally_cpu_staging(const tally_cpu_plan *plan, unsigned worker) {
    return (char *)plan->worker_scratch + worker * plan->worker_bytes;
}
static inline void *tally_cpu_worker(const tally_cpu_plan *plan, unsigned worker) {
    return (char *)tally_cpu_staging(plan, worker) + plan->staging_bytes;
}

#endif
