/* Which way a run goes: the kernels that serve the computation and the shape best. */
#ifndef TALLY_CUDA_PATH_H
#define TALLY_CUDA_PATH_H

#include "cuda/launch.h"

/* 'resident': blocks that the device holds at a time, of a kernel whose blocks wait for each other. */
void tally_cuda_cut_make(const tally_cuda_device *device, const tally_computation *computation,
                         const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                         tally_cuda_cut *cut);

/* Enqueues everything that a run takes. The device's context is current. */
tally_status tally_cuda_launch_all(const tally_cuda_launch *launch);

#endif
