/* Plans of CUDA that take or give states in words, for all operators but exact sums, which exact.c has. A plan that
 * gives states runs the operator's own plan, plan->states, which leaves accumulators as at the end of a piece, and then
 * turns these into words. A plan that takes states combines them with two kernels of its own. */
#ifndef TALLY_CUDA_WORDS_H
#define TALLY_CUDA_WORDS_H

#include "cuda/dispatch.h"

void tally_cuda_words_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);
/* The workspace has been cleared. */
tally_status tally_cuda_words_launch(const tally_cuda_launch *launch);

/* The end of pieces: the words of 'count' accumulators of 'elements' elements each. Waits for the device. */
tally_status tally_cuda_words_lower_totals(tally_cuda_plan *plan, CUdeviceptr totals, uint64_t count, uint64_t elements,
                                           void *out);

#endif
