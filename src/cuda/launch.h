/* A run of a plan as launches: the plan's kernels and memory, and what all of a run's launches are told. */
#ifndef TALLY_CUDA_LAUNCH_H
#define TALLY_CUDA_LAUNCH_H

#include "core/run.h"
#include "cuda/start.h"
#include "cuda/workspace.h"

/* A plan's kernels; NULL where its computation has no such one. */
typedef struct tally_cuda_kernels {
#define TALLY_CUDA_KERNEL(name, text)                   CUfunction name;
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) CUfunction name;
#include "cuda/kernels.def"
} tally_cuda_kernels;

typedef struct tally_cuda_memory {
    CUdeviceptr address;
    size_t bytes;
} tally_cuda_memory;

typedef struct tally_cuda_plan {
    tally_plan base;
    tally_cuda_device *device;
    tally_cuda_sizes sizes;
    tally_cuda_kernels kernels;
    uint64_t resident; /* blocks that the device holds at a time, of a kernel whose blocks wait for each other */
    tally_cuda_memory scratch;

    /* Input in pieces: for each column what has come so far, in totals[current]. A run reads those and writes to the
     * others, so that it leaves them as they were if it fails. */
    tally_pieces input;
    int current;
    tally_cuda_memory totals[2];
} tally_cuda_plan;

typedef struct tally_cuda_pieces {
    CUdeviceptr carry; /* what earlier pieces have come to; 0 where the input is whole */
    CUdeviceptr total; /* where what all pieces up to this one come to is written; 0 likewise */
    uint64_t before;   /* elements, or rows, in earlier pieces */
} tally_cuda_pieces;

typedef struct tally_cuda_launch {
    tally_cuda_plan *plan;
    const tally_args *args;
    const tally_cuda_cut *cut;
    CUdeviceptr workspace;
    tally_cuda_pieces pieces;
    CUstream stream;
} tally_cuda_launch;

/* Enqueues a kernel of the run that takes one struct of arguments. */
tally_status tally_cuda_enqueue(const tally_cuda_launch *launch, CUfunction kernel, tally_cuda_grid grid,
                                void *arguments, const char *what);

/* Sets accumulators to nothing, or to the initial value, and gives the results of accumulators. Both wait until that is
 * done. */
tally_status tally_cuda_clear_totals(tally_cuda_plan *plan, CUdeviceptr totals, const void *initial, uint64_t count);
tally_status tally_cuda_lower_totals(tally_cuda_plan *plan, CUdeviceptr totals, uint64_t count, uint64_t elements,
                                     void *out);

#endif
