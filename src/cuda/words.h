/* Plans of CUDA that take or give states in words, for all operators but exact sums, which exact.c has. A plan that
 * gives states runs the operator's own plan, which leaves accumulators as at the end of a piece, and then turns these
 * into words. A plan that takes states combines them with two kernels of its own. */
#ifndef TALLY_CUDA_WORDS_H
#define TALLY_CUDA_WORDS_H

#include "cuda/dispatch.h"

/* Whether a plan is of that kind. */
bool tally_cuda_has_states(const tally_computation *computation);

/* The computation of the same states from elements to values, with the same grouping. */
void tally_cuda_computation_of_states(const tally_computation *computation, tally_computation *states);

/* Makes the operator's own plan, plan->states, where the plan needs it. */
tally_status tally_cuda_words_load(tally_cuda_plan *plan);

void tally_cuda_words_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_words_launch(const tally_cuda_launch *launch);

/* The end of pieces: enqueues the words of 'count' accumulators of 'elements' elements each. */
tally_status tally_cuda_words_of_totals(const tally_cuda_plan *plan, CUdeviceptr totals, uint64_t count,
                                        uint64_t elements, void *out, CUstream stream);

#endif
