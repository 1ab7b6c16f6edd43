/* Exact mode on CUDA: the cut of a run, and its launches. */
#ifndef TALLY_CUDA_EXACT_H
#define TALLY_CUDA_EXACT_H

#include "cuda/dispatch.h"

void tally_cuda_exact_cut(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);

/* As tally_gpu_calls has it. */
tally_status tally_cuda_put_exact(const tally_computation *computation, const tally_superaccumulator *sums, int count,
                                  uint32_t saw, char *to);

/* Adds an accumulator of an exact scan to another one. */
void tally_cuda_add_scans(const tally_computation *computation, const void *from, void *to);

/* The workspace has been cleared. */
tally_status tally_cuda_exact_launch(const tally_cuda_launch *launch);

#endif
