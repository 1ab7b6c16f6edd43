/* Plans of CUDA devices, as the device's interface has them. */
#ifndef TALLY_CUDA_PLAN_H
#define TALLY_CUDA_PLAN_H

#include "cuda/cuda.h"

tally_status tally_cuda_supports(const tally_device *device, const tally_computation *computation);
tally_status tally_cuda_plan_create(tally_device *device, const tally_computation *computation, tally_plan **plan);

#endif
