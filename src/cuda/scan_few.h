/* Scans along an axis of a few elements, each result by itself: whether a run can go this way, and its launch. */
#ifndef TALLY_CUDA_SCAN_FEW_H
#define TALLY_CUDA_SCAN_FEW_H

#include "cuda/dispatch.h"

/* Whether scan_few.cu is faster than the way that such a scan goes otherwise. */
bool tally_cuda_scans_few(const tally_computation *computation, const tally_cuda_sizes *sizes,
                          const tally_shape *shape);

/* Whether this run can go that way. Results need elements whose own results may already be written, so it cannot run in
 * place; nor can pieces, or results that are pairs and begin in the middle of one. */
bool tally_cuda_can_scan_few(const tally_cuda_launch *launch);
tally_status tally_cuda_scan_few_launch(const tally_cuda_launch *launch);

#endif
