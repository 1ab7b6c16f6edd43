#include "gpu/pieces.h"

#include <inttypes.h>

#include "core/status.h"
#include "gpu/by_host.h"

tally_status tally_gpu_begin_pieces(tally_gpu_plan *plan, uint64_t columns, const void *initial) {
    size_t bytes;
    if (__builtin_mul_overflow(columns, plan->total_bytes, &bytes))
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %" PRIu64 " accumulators", columns);
    tally_status status = plan->calls->check_pointer(plan->base.device, "args.initial", initial);
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
    tally_status status = plan->calls->check_pointer(plan->base.device, "args.initial", initial);
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
    status = tally_gpu_run_entered(plan, &run);
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
    tally_status status = tally_gpu_enter(plan);
    if (status != TALLY_OK)
        return status;
    status = push(plan, args);
    tally_gpu_leave(plan);
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
    tally_status status = tally_gpu_enter(plan);
    if (status != TALLY_OK)
        return status;
    status = finish(plan, out, out_bytes);
    tally_gpu_leave(plan);
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
