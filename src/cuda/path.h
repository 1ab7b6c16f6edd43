/* The path of a run: the kernels that serve the computation and the shape best. */
#ifndef TALLY_CUDA_PATH_H
#define TALLY_CUDA_PATH_H

#include "cuda/cuda.h"
#include "cuda/cut.h"

/* Chooses the kernels that serve the computation and the shape best. Where that depends on what the device holds of a
 * kernel at a time, the kernel is loaded. */
void tally_cuda_cut_make(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);

#endif
