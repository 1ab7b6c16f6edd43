/* The launch of a kernel: its grid, its attributes, and the arguments common to all launches of a run. */
#ifndef TALLY_CUDA_DISPATCH_H
#define TALLY_CUDA_DISPATCH_H

#include "cuda/cut.h"
#include "cuda/loading.h"

enum { TALLY_CUDA_MOST_GRID_X = 1 << 30, TALLY_CUDA_MOST_GRID_Y = 65535 };

typedef struct tally_cuda_grid {
    uint64_t x, y;     /* thread blocks; y may be left 0, which is 1 */
    unsigned threads;  /* of a block */
    unsigned shared;   /* bytes of dynamic shared memory of a block */
    unsigned cluster;  /* blocks that access each other's shared memory; 0: none, or as many as the kernel says */
    bool starts_early; /* while the kernel before it still runs: all its blocks wait for that by themselves */
    bool is_together;  /* its blocks wait for each other, so all of them must be resident at once */
} tally_cuda_grid;

/* Enqueues the kernel. 'what' begins the message of a failure: "launching a scan". */
tally_status tally_cuda_start(const tally_cuda_device *device, CUfunction kernel, tally_cuda_grid grid, CUstream stream,
                              void **parameters, const char *what);

/* The number of blocks of 'block' threads for this many threads: at least one, and at most most_a_processor for each
 * multiprocessor, whose threads then take turns. */
uint64_t tally_cuda_blocks_for(const tally_cuda_device *device, uint64_t threads, unsigned block,
                               unsigned most_a_processor);

/* ---- of a run ---- */

typedef struct tally_cuda_launch {
    tally_cuda_plan *plan;
    const tally_args *args;
    const tally_cuda_cut *cut;
    CUdeviceptr workspace;
    tally_gpu_pieces pieces;
    CUdeviceptr window;   /* of an exact scan; or 0 */
    CUdeviceptr given_up; /* of labels: a word, 0 if tables gave the results, so that nothing is left to do; or 0 */
    CUstream stream;
    CUdeviceptr size;          /* where the number of elements lies; 0: it is args->shape.extent */
    tally_cuda_wanted *wanted; /* not NULL: nothing is enqueued, and this gets the kernels that would be */
} tally_cuda_launch;

/* Enqueues a kernel of the run that takes one struct of arguments and, if its text is of a size on the device, that
 * (size.cu). Then no kernel starts early, since the one before it in the stream may write the size. */
tally_status tally_cuda_enqueue(const tally_cuda_launch *launch, tally_cuda_kernel_number kernel, tally_cuda_grid grid,
                                void *arguments, const char *what);

/* Enqueues the clearing of so many bytes of the run's workspace, a multiple of 4. */
tally_status tally_cuda_clear(const tally_cuda_launch *launch, size_t bytes);

#endif
