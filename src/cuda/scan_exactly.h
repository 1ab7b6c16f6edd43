/* Exact scans: one whose integers have few words, and one in all words if an element did not fit. */
#ifndef TALLY_CUDA_SCAN_EXACTLY_H
#define TALLY_CUDA_SCAN_EXACTLY_H

#include "cuda/dispatch.h"

/* The computation of the plan of scans in a window, plan->in_window. False for types that have none. */
bool tally_cuda_computation_in_window(const tally_computation *computation, tally_computation *in_window);

/* Adds a scan in a window to the cut, if it pays. */
void tally_cuda_scan_exactly_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);

/* The workspace has been cleared. */
tally_status tally_cuda_scan_exactly(const tally_cuda_launch *launch);

#endif
