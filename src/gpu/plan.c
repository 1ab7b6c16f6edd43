#include "gpu/plan.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/status.h"
#include "gpu/by_host.h"

static tally_status enter(const tally_gpu_plan *plan) {
    return plan->calls->enter ? plan->calls->enter(plan->base.device) : TALLY_OK;
}

static void leave(const tally_gpu_plan *plan) {
    if (plan->calls->leave)
        plan->calls->leave(plan->base.device);
}

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
    status = enter(plan);
    if (status == TALLY_OK) {
        status = calls->load(plan);
        leave(plan);
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
    if (enter(plan) == TALLY_OK) {
        plan->calls->release(base->device, &plan->scratch);
        plan->calls->release(base->device, &plan->totals[0]);
        plan->calls->release(base->device, &plan->totals[1]);
        if (plan->calls->unload)
            plan->calls->unload(plan);
        leave(plan);
    }
    tally_gpu_host_close(plan);
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
    tally_status status = calls->check_pointer(plan->base.device, "workspace", run->args->workspace);
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

static tally_status run_entered(tally_gpu_plan *plan, const tally_gpu_run *run) {
    tally_status status = tally_run_check_empty(&plan->base.computation, run->args);
    return status == TALLY_OK ? plan->calls->run(plan, run) : status;
}

tally_status tally_gpu_run_with(tally_gpu_plan *plan, const tally_args *args, void *stream, const void *extra) {
    const tally_gpu_run run = {.args = args, .stream = stream, .extra = extra};
    tally_status status = enter(plan);
    if (status != TALLY_OK)
        return status;
    status = run_entered(plan, &run);
    leave(plan);
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

/* ---- pieces ---- */

tally_status tally_gpu_begin_pieces(tally_gpu_plan *plan, uint64_t columns, const void *initial) {
    size_t bytes;
    if (__builtin_mul_overflow(columns, plan->total_bytes, &bytes))
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %" PRIu64 " accumulators", columns);
    tally_status status = plan->calls->check_pointer(plan->base.device, "initial", initial);
    for (int k = 0; k < 2 && status == TALLY_OK; k++)
        status = tally_gpu_grow(plan, &plan->totals[k], bytes ? bytes : 1);
    if (status == TALLY_OK && columns)
        status = plan->calls->clear_totals(plan, plan->totals[0].address, initial, columns);
    if (status != TALLY_OK)
        return status;
    plan->current = 0;
    plan->input = (tally_pieces){.begun = true, .columns = columns};
    return TALLY_OK;
}

/* Kernels take pieces of elements from the first to the last. */
static bool are_hosts(const tally_gpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return plan->by_host || c->takes_words || c->reverse || !plan->calls->clear_totals;
}

static tally_status put_before(tally_gpu_plan *plan, uint64_t columns, const void *initial) {
    tally_status status = plan->calls->check_pointer(plan->base.device, "initial", initial);
    return status == TALLY_OK ? plan->calls->put_before(plan, plan->totals[plan->current].address, initial, columns)
                              : status;
}

static tally_status push(tally_gpu_plan *plan, const tally_args *args) {
    uint64_t columns;
    bool first = !plan->input.begun;
    if (are_hosts(plan))
        return tally_gpu_host_push(plan, args);
    tally_status status = tally_pieces_next(&plan->input, &plan->base.computation, &args->shape, &columns);
    if (status == TALLY_OK && first)
        status = tally_gpu_begin_pieces(plan, columns, args->initial);
    else if (status == TALLY_OK && plan->resumed && args->initial)
        status = put_before(plan, columns, args->initial);
    if (status != TALLY_OK)
        return status;
    plan->resumed = false;
    if (!args->shape.extent || !columns)
        return TALLY_OK;
    const tally_gpu_run run = {.args = args,
                               .pieces = {.carry = plan->totals[plan->current].address,
                                          .total = plan->totals[!plan->current].address,
                                          .before = plan->input.rows}};
    status = run_entered(plan, &run);
    if (status == TALLY_OK) {
        plan->input.rows += args->shape.extent;
        plan->current = !plan->current;
    } else if (first) {
        plan->input.begun = false; /* as if it had not been called */
    }
    return status;
}

tally_status tally_gpu_plan_push(tally_plan *base, const tally_args *args) {
    tally_gpu_plan *plan = (tally_gpu_plan *)base;
    tally_status status = enter(plan);
    if (status != TALLY_OK)
        return status;
    status = push(plan, args);
    leave(plan);
    return status;
}

/* tally_finish without a push gives the reduction of zero elements. */
static tally_status finish(tally_gpu_plan *plan, void *out, size_t out_bytes) {
    const tally_computation *c = &plan->base.computation;
    uint64_t columns;
    if (are_hosts(plan))
        return tally_gpu_host_finish(plan, out, out_bytes);
    if (tally_is_scan(c))
        return TALLY_OK;
    tally_status status = tally_pieces_finish(&plan->input, c, out_bytes, &columns);
    if (status == TALLY_OK)
        status = plan->calls->check_pointer(plan->base.device, "out", out);
    if (status == TALLY_OK && !plan->input.begun)
        status = tally_gpu_begin_pieces(plan, 1, NULL);
    if (status == TALLY_OK && columns)
        status = plan->calls->lower_totals(plan, plan->totals[plan->current].address, columns, plan->input.rows, out);
    return status;
}

tally_status tally_gpu_plan_finish(tally_plan *base, void *out, size_t out_bytes) {
    tally_gpu_plan *plan = (tally_gpu_plan *)base;
    tally_status status = enter(plan);
    if (status != TALLY_OK)
        return status;
    status = finish(plan, out, out_bytes);
    leave(plan);
    if (status == TALLY_OK)
        tally_gpu_plan_reset(base);
    return status;
}

void tally_gpu_plan_reset(tally_plan *base) {
    tally_gpu_plan *plan = (tally_gpu_plan *)base;
    plan->input = (tally_pieces){0};
    plan->resumed = false;
    tally_gpu_host_reset(plan);
}
