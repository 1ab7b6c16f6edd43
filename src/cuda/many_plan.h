/* Plans of several GPUs: the part of the device's interface that concerns them. */
#ifndef TALLY_CUDA_MANY_PLAN_H
#define TALLY_CUDA_MANY_PLAN_H

#include "cuda/many.h"

tally_status tally_cuda_many_supports(const tally_device *device, const tally_computation *computation);
tally_status tally_cuda_many_plan_create(tally_device *device, const tally_computation *computation, tally_plan **plan);
void tally_cuda_many_plan_destroy(tally_plan *plan);
tally_status tally_cuda_many_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes);
tally_status tally_cuda_many_run(tally_plan *plan, const tally_args *args, uint64_t results, tally_stream stream);
tally_status tally_cuda_many_run_sized(tally_plan *plan, const tally_args *args, const tally_sizes *sizes,
                                       tally_stream stream);
tally_status tally_cuda_many_push(tally_plan *plan, const tally_args *args);
tally_status tally_cuda_many_finish(tally_plan *plan, void *out, size_t out_bytes);
void tally_cuda_many_reset(tally_plan *plan);
tally_status tally_cuda_many_resume(tally_plan *plan, const tally_words_form *form, const int64_t *words,
                                    uint64_t columns);

#endif
