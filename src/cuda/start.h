/* How a kernel is started: its grid, and what is asked for beside it. */
#ifndef TALLY_CUDA_START_H
#define TALLY_CUDA_START_H

#include "cuda/cuda.h"

typedef struct tally_cuda_grid {
    uint64_t x, y;     /* thread blocks; y 0 is 1 */
    unsigned threads;  /* a block */
    unsigned shared;   /* bytes of dynamic shared memory a block */
    unsigned cluster;  /* blocks that see each other's shared memory; 0: none, or as the kernel says */
    bool starts_early; /* all its blocks wait by themselves for the kernel before it, and may start meanwhile */
} tally_cuda_grid;

/* Enqueues it. 'what' begins the message of a failure: "launching a scan". */
tally_status tally_cuda_start(const tally_cuda_device *device, CUfunction kernel, tally_cuda_grid grid, CUstream stream,
                              void **parameters, const char *what);

#endif
