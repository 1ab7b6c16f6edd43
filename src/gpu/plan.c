#include "gpu/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/status.h"

/* ---- creation ---- */

tally_status tally_gpu_plan_create(tally_device *device, const tally_computation *c, const tally_gpu_calls *calls,
                                   tally_plan **out) {
    tally_status status = calls->supports(device, c);
    if (status != TALLY_OK)
        return status;
    tally_gpu_plan *plan = calloc(1, calls->plan_bytes);
    if (!plan)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a plan");
    plan->base.device = device;
    plan->calls = calls;
    tally_computation_copy(c, &plan->base.computation);
    status = tally_gpu_enter(plan);
    if (status == TALLY_OK) {
        status = calls->load(plan);
        tally_gpu_leave(plan);
    }
    if (status != TALLY_OK) {
        free(plan);
        return status;
    }
    *out = &plan->base;
    return TALLY_OK;
}

void tally_gpu_plan_destroy(tally_plan *base) {
    tally_gpu_plan *plan = (tally_gpu_plan *)base;
    const bool is_entered = tally_gpu_enter(plan) == TALLY_OK; /* not where the caller's context is gone */
    if (is_entered) {
        plan->calls->release(base->device, &plan->scratch);
        plan->calls->release(base->device, &plan->totals[0]);
        plan->calls->release(base->device, &plan->totals[1]);
    }
    if (plan->calls->unload)
        plan->calls->unload(plan);
    if (is_entered)
        tally_gpu_leave(plan);
    tally_plan_destroy(plan->host.plan);
    tally_close(plan->host.device);
    free(plan);
}

tally_status tally_gpu_plan_workspace(const tally_plan *base, const tally_shape *shape, size_t *bytes) {
    const tally_gpu_plan *plan = (const tally_gpu_plan *)base;
    *bytes = plan->calls->workspace(plan, shape);
    return TALLY_OK;
}

/* ---- runs ---- */

tally_status tally_gpu_grow(tally_gpu_plan *plan, tally_gpu_memory *memory, size_t bytes) {
    if (bytes <= memory->bytes)
        return TALLY_OK;
    tally_gpu_memory larger = {0};
    tally_status status =
        plan->calls->allocate(plan->base.device, bytes, "allocating a plan's scratch memory", &larger);
    if (status != TALLY_OK)
        return status;
    plan->calls->release(plan->base.device, memory);
    *memory = larger;
    return TALLY_OK;
}

static tally_status check_pointers(const tally_gpu_plan *plan, const tally_gpu_run *run, uint64_t elements) {
    const tally_gpu_calls *calls = plan->calls;
    const bool is_push = run->pieces.total != 0;
    tally_pointer all[TALLY_POINTERS];
    tally_status status = calls->check_pointer(plan->base.device, "args.workspace", run->args->workspace);
    tally_run_pointers(&plan->base.computation, run->args, elements, is_push, all);
    for (int k = 0; k < TALLY_POINTERS && status == TALLY_OK; k++)
        status = calls->check_pointer(plan->base.device, all[k].name, all[k].address);
    return status;
}

tally_status tally_gpu_prepare(tally_gpu_plan *plan, const tally_gpu_run *run, uint64_t elements, size_t bytes,
                               uint64_t *workspace) {
    const tally_args *args = run->args;
    tally_status status = check_pointers(plan, run, elements);
    if (status == TALLY_OK && args->workspace && bytes) {
        *workspace = (uint64_t)(uintptr_t)args->workspace;
        return tally_run_check_workspace(args, bytes, plan->calls->alignment);
    }
    if (status == TALLY_OK)
        status = tally_gpu_grow(plan, &plan->scratch, bytes);
    *workspace = plan->scratch.address;
    return status;
}

bool tally_gpu_has_findings(const tally_computation *c) {
    return c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_LABELS || tally_counts_runs(c) ||
           c->takes_words;
}

tally_status tally_gpu_conclude(const tally_gpu_plan *plan, const tally_args *args, const tally_gpu_findings *f) {
    const tally_computation *c = &plan->base.computation;
    const bool is_bad = f->refused & TALLY_GPU_REFUSED_BAD;
    if (f->refused & TALLY_GPU_REFUSED_WORDS)
        return tally_words_refuse(f->bad);
    if (c->takes_words && f->refused & TALLY_GPU_REFUSED_EMPTY)
        return tally_fail(TALLY_EMPTY,
                          "%s of nothing has no value, and the states of result %" PRIu64 " have no elements",
                          c->entry->name, f->empty);
    const tally_outcome outcome = {.is_bad = is_bad,
                                   .is_empty = f->refused & TALLY_GPU_REFUSED_EMPTY,
                                   .lacks_room = f->refused & TALLY_GPU_REFUSED_RUNS,
                                   .segment = is_bad ? f->bad : f->empty,
                                   .label = f->label,
                                   .runs = f->runs};
    if (tally_counts_runs(c) && args->count)
        *args->count = f->runs;
    return tally_run_outcome(c, args, &outcome);
}

tally_status tally_gpu_run_entered(tally_gpu_plan *plan, const tally_gpu_run *run) {
    tally_status status = tally_run_check_empty(&plan->base.computation, run->args);
    return status == TALLY_OK ? plan->calls->run(plan, run) : status;
}

tally_status tally_gpu_run_with(tally_gpu_plan *plan, const tally_args *args, void *stream, const void *extra) {
    const tally_gpu_run run = {.args = args, .stream = stream, .extra = extra};
    tally_status status = tally_gpu_enter(plan);
    if (status != TALLY_OK)
        return status;
    status = tally_gpu_run_entered(plan, &run);
    tally_gpu_leave(plan);
    return status;
}

tally_status tally_gpu_plan_run(tally_plan *base, const tally_args *args, uint64_t results, tally_stream stream) {
    (void)results;
    return tally_gpu_run_with((tally_gpu_plan *)base, args, stream, NULL);
}

tally_status tally_gpu_plan_run_sized(tally_plan *base, const tally_args *args, const tally_sizes *sizes,
                                      tally_stream stream) {
    return tally_gpu_run_with((tally_gpu_plan *)base, args, stream, sizes);
}
