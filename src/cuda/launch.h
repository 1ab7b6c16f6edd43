/* A run of a plan as launches: what all of them are told. */
#ifndef TALLY_CUDA_LAUNCH_H
#define TALLY_CUDA_LAUNCH_H

#include "cuda/plan.h"
#include "cuda/start.h"
#include "cuda/workspace.h"

typedef struct tally_cuda_launch {
    tally_cuda_plan *plan;
    const tally_args *args;
    const tally_cuda_cut *cut;
    CUdeviceptr workspace;
    tally_gpu_pieces pieces;
    CUstream stream;
} tally_cuda_launch;

/* Enqueues a kernel of the run that takes one struct of arguments. */
tally_status tally_cuda_enqueue(const tally_cuda_launch *launch, CUfunction kernel, tally_cuda_grid grid,
                                void *arguments, const char *what);

/* As tally_gpu_calls has them. */
tally_status tally_cuda_clear_totals(tally_gpu_plan *plan, uint64_t totals, const void *initial, uint64_t count);
tally_status tally_cuda_lower_totals(tally_gpu_plan *plan, uint64_t totals, uint64_t count, uint64_t elements,
                                     void *out);

#endif
