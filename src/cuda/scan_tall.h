/* Scans down the columns of a few tall slabs in one pass: the cut of a run, and its launch. */
#ifndef TALLY_CUDA_SCAN_TALL_H
#define TALLY_CUDA_SCAN_TALL_H

#include "cuda/dispatch.h"

/* Cuts a scan for scan_tall.cu. False if another way is better. */
bool tally_cuda_tall_cut(const tally_cuda_device *device, const tally_computation *computation,
                         const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_tall_launch(const tally_cuda_launch *launch);

#endif
