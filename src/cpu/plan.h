/* The CPU's part of the interface that concerns plans. */
#ifndef TALLY_CPU_PLAN_H
#define TALLY_CPU_PLAN_H

#include "core/backend.h"
#include "cpu/cpu.h"

tally_status tally_cpu_supports(const tally_device *device, const tally_computation *computation);
tally_status tally_cpu_plan_create(tally_device *device, const tally_computation *computation, tally_plan **plan);
/* Fills in a plan that its caller holds and runs no job with: one from elements to values, without words. */
tally_status tally_cpu_plan_for_caller(tally_cpu_device *device, const tally_computation *computation,
                                       tally_cpu_plan *plan);
void tally_cpu_plan_destroy(tally_plan *plan);
tally_status tally_cpu_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes);
tally_status tally_cpu_plan_run(tally_plan *plan, const tally_args *args, uint64_t results, tally_stream stream);
tally_status tally_cpu_plan_run_sized(tally_plan *plan, const tally_args *args, const tally_sizes *sizes,
                                      tally_stream stream);
tally_status tally_cpu_plan_push(tally_plan *plan, const tally_args *args);
tally_status tally_cpu_plan_finish(tally_plan *plan, void *out, size_t out_bytes);
void tally_cpu_plan_reset(tally_plan *plan);
tally_status tally_cpu_plan_resume(tally_plan *plan, const tally_words_form *form, const int64_t *words,
                                   uint64_t columns);

#endif
