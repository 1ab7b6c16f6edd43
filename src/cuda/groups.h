/* Reductions by segments and by keys on CUDA: how a run is cut, and its launches. */
#ifndef TALLY_CUDA_GROUPS_H
#define TALLY_CUDA_GROUPS_H

#include "cuda/dispatch.h"

void tally_cuda_groups_cut(const tally_cuda_device *device, const tally_computation *computation,
                           const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                           tally_cuda_cut *cut);

/* The workspace has been cleared. */
tally_status tally_cuda_groups_launch(const tally_cuda_launch *launch);

#endif
