/* Reverse scans of argmin and argmax by segments and keys: another plan scans to indices that count from the first
 * element of all, and a last kernel counts them from their groups' (places.cu). */
#ifndef TALLY_CUDA_PLACES_H
#define TALLY_CUDA_PLACES_H

#include "cuda/dispatch.h"

/* The computation of the plan that scans, plan->places. */
void tally_cuda_computation_of_places(const tally_computation *computation, tally_computation *places);

void tally_cuda_places_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);
/* The workspace has been cleared. */
tally_status tally_cuda_places_launch(const tally_cuda_launch *launch);

#endif
