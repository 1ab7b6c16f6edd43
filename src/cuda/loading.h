/* The kernels of plans, loaded part by part when a run first needs one. Compiling takes most of a program's start, and
 * a shape takes one or two of a plan's parts. */
#ifndef TALLY_CUDA_LOADING_H
#define TALLY_CUDA_LOADING_H

#include "cuda/cuda.h"

/* Parts of plans, to be loaded together: their texts are compiled side by side. Begins as zero. */
typedef struct tally_cuda_wanted {
    struct {
        tally_cuda_plan *plan;
        uint32_t parts; /* a bit each */
    } of[4];            /* a plan, and those that it runs */
    size_t count;
} tally_cuda_wanted;

/* Finds the plan's parts and numbers its kernels. Of an operator of the caller's it loads all, so that creating the
 * plan tells what is wrong with the operator's text. */
tally_status tally_cuda_loading_begin(tally_cuda_plan *plan);
void tally_cuda_loading_end(tally_cuda_plan *plan);

/* Whether a part is left that no run needed yet. */
bool tally_cuda_lacks_parts(const tally_cuda_plan *plan);

/* Loads all parts. */
tally_status tally_cuda_load_all(tally_cuda_plan *plan);

/* Wants the part with a kernel, unless it is loaded. */
void tally_cuda_want(tally_cuda_wanted *wanted, tally_cuda_plan *plan, tally_cuda_kernel_number kernel);

/* Loads the parts, also while a stream of the caller's is captured. */
tally_status tally_cuda_load_wanted(const tally_cuda_wanted *wanted);

/* The kernel, loaded, and allowed to have so many bytes of dynamic shared memory. Any thread may call, with the
 * device's context current. */
tally_status tally_cuda_kernel_get(tally_cuda_plan *plan, tally_cuda_kernel_number kernel, unsigned shared,
                                   CUfunction *function);

#endif
