/* Exact mode on CUDA: what kernels/exact.cu needs to be told, how a run is cut, and its launches. */
#ifndef TALLY_CUDA_EXACT_H
#define TALLY_CUDA_EXACT_H

#include "cuda/launch.h"
#include "core/text.h"

/* Preprocessor symbols of one computation, and its kernels. */
void tally_cuda_exact_choices(tally_text *text, const tally_computation *computation);
void tally_cuda_exact_kernels(tally_text *text, const tally_computation *computation);

/* Of a sum in global memory: struct row_sum of exact.cu. */
unsigned tally_cuda_exact_slot_bytes(const tally_computation *computation);

/* Asks what the device holds of a plan's kernels at a time. */
tally_status tally_cuda_exact_prepare(tally_cuda_plan *plan);

void tally_cuda_exact_cut(const tally_computation *computation, uint64_t resident, const tally_shape *shape,
                          tally_cuda_cut *cut);

/* The workspace has been cleared. */
tally_status tally_cuda_exact_launch(const tally_cuda_launch *launch);

#endif
