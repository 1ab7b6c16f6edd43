/* What a back end has no kernels for: the host copies the input, its CPU computes, and the output is copied back. So
 * all devices have the same computations. It is slower than the CPU alone, and takes no stream. */
#ifndef TALLY_GPU_BY_HOST_H
#define TALLY_GPU_BY_HOST_H

#include "gpu/plan.h"

/* Makes the host's plan, if it is not there yet. It ends with the device's. */
tally_status tally_gpu_host_open(tally_gpu_plan *plan);

/* A run, whose pointers have been checked. */
tally_status tally_gpu_host_run(tally_gpu_plan *plan, const tally_args *args);

/* Input in pieces. From the first of these calls on the input is the host's, until it is finished or reset. */
tally_status tally_gpu_host_push(tally_gpu_plan *plan, const tally_args *args);
tally_status tally_gpu_host_finish(tally_gpu_plan *plan, void *out, size_t out_bytes);
tally_status tally_gpu_host_resume(tally_gpu_plan *plan, const tally_words_form *form, const int64_t *words,
                                   uint64_t columns);
void tally_gpu_host_reset(tally_gpu_plan *plan);

#endif
