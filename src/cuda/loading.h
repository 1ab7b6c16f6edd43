/* The kernels of plans, each loaded when a run first needs it. Compiling takes most of a program's start, and a shape
 * takes some few of a plan's kernels. */
#ifndef TALLY_CUDA_LOADING_H
#define TALLY_CUDA_LOADING_H

#include "cuda/cuda.h"

/* Kernels of plans, to be loaded together: their texts are compiled side by side. Begins as zero. */
typedef struct tally_cuda_wanted {
    struct {
        tally_cuda_plan *plan;
        bool kernels[TALLY_CUDA_KERNELS];
    } of[4];        /* a plan, and those that it runs */
    size_t count;   /* of them */
    size_t kernels; /* of all */
} tally_cuda_wanted;

/* Numbers the plan's kernels. Of an operator of the caller's it loads one that calls all of its functions, so that
 * creating the plan tells what is wrong with their texts. */
tally_status tally_cuda_loading_begin(tally_cuda_plan *plan);
void tally_cuda_loading_end(tally_cuda_plan *plan);

/* Whether a kernel is left that no run needed yet. */
bool tally_cuda_lacks_kernels(const tally_cuda_plan *plan);

/* Wants a kernel, unless it is loaded. */
void tally_cuda_want(tally_cuda_wanted *wanted, tally_cuda_plan *plan, tally_cuda_kernel_number kernel);

/* Loads the kernels, also while a stream of the caller's is captured. */
tally_status tally_cuda_load_wanted(const tally_cuda_wanted *wanted);

/* The kernel, loaded, and allowed to have so many bytes of dynamic shared memory. Any thread may call, with the
 * device's context current. */
tally_status tally_cuda_kernel_get(tally_cuda_plan *plan, tally_cuda_kernel_number kernel, unsigned shared,
                                   CUfunction *function);

/* How many blocks of so many threads of a kernel the device holds at a time, and, unless 'widest' is NULL, how many a
 * cluster of it may have. It is asked once of one kernel of a plan, the one whose cut depends on it, which is loaded. 0
 * if that fails; the run will tell why. Any thread may call. */
uint64_t tally_cuda_resident(tally_cuda_plan *plan, tally_cuda_kernel_number kernel, unsigned threads,
                             unsigned *widest);

#endif
