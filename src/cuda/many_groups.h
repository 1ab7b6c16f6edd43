/* Runs by segments and keys on several GPUs. Parts end where groups do, so every group is one GPU's, and nothing is
 * joined. The host reads some offsets or keys to find such places, so only synchronous runs are shared out. */
#ifndef TALLY_CUDA_MANY_GROUPS_H
#define TALLY_CUDA_MANY_GROUPS_H

#include "cuda/many_shared.h"

/* Runs the parts and waits. *is_done stays false, and nothing is written, if one GPU should run it all: there are too
 * few data, one group has nearly all of them, or the offsets are wrong. */
tally_status tally_cuda_many_run_groups(tally_cuda_shared *run, bool *is_done);

/* Whether groups are shared out. States are not, as a part in a stream would not tell of damaged ones, nor are segments
 * that become states. */
bool tally_cuda_many_shares_groups(const tally_computation *computation);

/* The kernels of segments for a GPU, where groups are shared out. */
tally_status tally_cuda_many_load_rebase(tally_cuda_device *gpu, const tally_computation *computation,
                                         tally_cuda_on_gpu *own);

void tally_cuda_many_free_scratch(tally_cuda_many_plan *plan);

#endif
