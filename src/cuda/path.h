/* The path of a run: the kernels that serve the computation and the shape best. */
#ifndef TALLY_CUDA_PATH_H
#define TALLY_CUDA_PATH_H

#include "cuda/cut.h"

/* Chooses the kernels that serve the computation and the shape best. 'resident': blocks that the device holds at a
 * time, of a kernel whose blocks wait for each other. */
void tally_cuda_cut_make(const tally_cuda_device *device, const tally_computation *computation,
                         const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                         tally_cuda_cut *cut);

#endif
