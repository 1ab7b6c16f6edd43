/* A run of a plan as launches. */
#ifndef TALLY_CUDA_LAUNCH_H
#define TALLY_CUDA_LAUNCH_H

#include "cuda/dispatch.h"

/* Enqueues all of a run on a path of its own kernels: not by labels, of words or in a window. The device's context is
 * current. */
tally_status tally_cuda_launch_all(const tally_cuda_launch *launch);

/* As tally_gpu_calls has them, but for the end of plans that give words. */
tally_status tally_cuda_clear_totals(tally_gpu_plan *plan, uint64_t totals, const void *initial, uint64_t count);
tally_status tally_cuda_lower_totals(tally_gpu_plan *plan, uint64_t totals, uint64_t count, uint64_t elements,
                                     void *out);

#endif
