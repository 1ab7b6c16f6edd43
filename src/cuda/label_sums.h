/* Reductions by labels on CUDA whose accumulators are integers, in tables in shared memory (label_sums.cu), by buckets
 * where there are many groups (label_buckets.cu); and minima, maxima and bits in such tables (label_cells.cu). */
#ifndef TALLY_CUDA_LABEL_SUMS_H
#define TALLY_CUDA_LABEL_SUMS_H

#include "cuda/dispatch.h"

enum {
    TALLY_CUDA_LEAST_OF_LABEL_SUMS = 1 << 16 /* elements. For fewer, clearing and folding tables would take longest */
};

/* Reserves what must be zero before a run, and the rest. Leaves cut->labels.sums.chunks 0 if this is no way for the
 * run. */
void tally_cuda_label_sums_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);

tally_status tally_cuda_label_sums_launch(const tally_cuda_launch *launch);

/* Whether elements whose label is out of range are left out. */
static inline bool tally_cuda_leaves_out(const tally_cuda_launch *launch) {
    return (launch->plan->gpu.base.computation.desc.flags & TALLY_SKIP_BAD_LABELS) != 0;
}

#endif
