/* Exact scans: one whose integers have few words, and one in all words if an element did not fit. */
#ifndef TALLY_CUDA_SCAN_EXACTLY_H
#define TALLY_CUDA_SCAN_EXACTLY_H

#include "cuda/dispatch.h"

/* Makes the plan of scans in a window, for types that have one. */
tally_status tally_cuda_scan_exactly_load(tally_cuda_plan *plan);

/* Adds a scan in a window to the cut, if it pays. */
void tally_cuda_scan_exactly_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_scan_exactly(const tally_cuda_launch *launch);

#endif
