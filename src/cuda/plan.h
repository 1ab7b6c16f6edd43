/* Plans of CUDA devices: the kernels that were made for a computation. */
#ifndef TALLY_CUDA_PLAN_H
#define TALLY_CUDA_PLAN_H

#include "cuda/cuda.h"
#include "cuda/sizes.h"
#include "gpu/plan.h"

/* A plan's kernels; NULL where its computation has no such one. */
typedef struct tally_cuda_kernels {
#define TALLY_CUDA_KERNEL(name, text)                   CUfunction name;
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) CUfunction name;
#include "cuda/kernels.def"
} tally_cuda_kernels;

typedef struct tally_cuda_plan {
    tally_gpu_plan gpu;
    tally_plan *sorted; /* LABELS: reduces the sorted elements by segments; NULL for other groupings */
    tally_cuda_device *device;
    tally_cuda_sizes sizes;
    tally_cuda_kernels kernels;
    tally_plan *in_window; /* exact scans: the plan of those in a window, if it can serve; else NULL */
    tally_plan *states;    /* WORDS_OUT: the plan that makes the accumulators; else NULL */
    uint64_t resident;     /* blocks that the device holds at a time, of a kernel whose blocks wait for each other */
} tally_cuda_plan;

tally_status tally_cuda_supports(const tally_device *device, const tally_computation *computation);
tally_status tally_cuda_plan_create(tally_device *device, const tally_computation *computation, tally_plan **plan);

#endif
