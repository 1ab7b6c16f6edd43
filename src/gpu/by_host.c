#include "gpu/by_host.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/arguments.h"
#include "core/arithmetic.h"
#include "core/status.h"

tally_status tally_gpu_host_open(tally_gpu_plan *plan) {
    tally_gpu_host *host = &plan->host;
    if (host->plan)
        return TALLY_OK;
    tally_status status = tally_cpu_backend.open("", &host->device);
    if (status == TALLY_OK)
        status = host->device->interface->plan_create(host->device, &plan->base.computation, &host->plan);
    if (status != TALLY_OK) {
        tally_close(host->device);
        *host = (tally_gpu_host){0};
    }
    return status;
}

static tally_status no_memory(uint64_t bytes) {
    return tally_fail(TALLY_OUT_OF_MEMORY, "no memory of the host's for copies of %" PRIu64 " bytes", bytes);
}

/* ---- copies of a run's arrays, side by side ---- */

enum { ARRAYS = 6, ALIGNMENT = 64 };

/* Bytes of each. */
typedef struct copies {
    uint64_t x, y, index, initial, out, keys_out;
} copies;

static copies copies_of(const tally_computation *c, const tally_args *a, bool is_push) {
    const bool axis = c->desc.grouping == TALLY_AXIS, segments = c->desc.grouping == TALLY_SEGMENTS;
    const uint64_t columns = axis ? a->shape.outer * a->shape.inner : 1, elements = columns * a->shape.extent;
    const uint64_t each = c->out_bytes * c->per_result;
    const uint64_t groups = segments || c->desc.grouping == TALLY_LABELS ? a->shape.groups : columns;
    const uint64_t results = tally_is_scan(c) ? elements : is_push ? 0 : groups;
    copies b = {.x = elements * c->in_bytes,
                .y = a->y ? elements * c->in_bytes : 0,
                .index = (segments ? a->shape.groups + 1 : elements) * c->index_bytes,
                .initial = a->initial ? c->out_bytes : 0,
                .out = results * each};
    if (!tally_counts_runs(c))
        return b;
    b.out = least(elements * each, a->out_bytes);
    b.keys_out = a->keys_out ? least(elements * c->index_bytes, a->keys_out_bytes) : 0;
    return b;
}

static char *align(char *at) {
    return (char *)(((uintptr_t)at + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

/* Takes the next 'bytes' of the host's memory and copies to them what is there. */
static void *fetch(tally_device *device, char **at, const void *from, uint64_t bytes, tally_status *status) {
    char *const to = align(*at);
    *at = to + bytes;
    if (from && bytes && *status == TALLY_OK)
        *status = device->interface->copy(device, to, from, bytes);
    return from ? to : NULL;
}

static tally_status give(tally_device *device, void *to, const void *from, uint64_t bytes) {
    return to && bytes ? device->interface->copy(device, to, from, bytes) : TALLY_OK;
}

static tally_status compute(tally_gpu_plan *plan, const tally_args *own, bool is_push) {
    uint64_t results;
    tally_status status = tally_args_check(&plan->base.computation, own, is_push, &results);
    if (status != TALLY_OK)
        return status;
    return is_push ? plan->host.device->interface->push(plan->host.plan, own)
                   : plan->host.device->interface->run(plan->host.plan, own, results, TALLY_SYNCHRONOUS);
}

static tally_status run_on_copies(tally_gpu_plan *plan, const tally_args *args, bool is_push, copies bytes,
                                  char *memory) {
    const tally_computation *c = &plan->base.computation;
    tally_device *const device = plan->base.device;
    const tally_grouping grouping = c->desc.grouping;
    const bool keys = tally_counts_runs(c), keeps = tally_is_scan(c) && grouping == TALLY_SEGMENTS;
    const void *const index = grouping == TALLY_KEYS     ? args->keys
                              : grouping == TALLY_LABELS ? args->labels
                                                         : args->offsets;
    tally_status status = TALLY_OK;
    uint64_t runs = 0;
    tally_args own = *args;
    own.x = fetch(device, &memory, args->x, bytes.x, &status);
    own.y = fetch(device, &memory, args->y, bytes.y, &status);
    own.offsets = own.keys = own.labels = fetch(device, &memory, index, bytes.index, &status);
    own.initial = fetch(device, &memory, args->initial, bytes.initial, &status);
    own.out = fetch(device, &memory, args->out, keeps ? bytes.out : 0, &status); /* what no segment has stays */
    memory = (char *)own.out + bytes.out;
    own.keys_out = args->keys_out ? align(memory) : NULL;
    own.out_bytes = bytes.out;
    own.keys_out_bytes = bytes.keys_out;
    own.count = keys ? &runs : NULL;
    own.workspace = NULL;
    own.workspace_bytes = 0;
    if (status == TALLY_OK)
        status = compute(plan, &own, is_push);
    if (keys && args->count)
        *args->count = runs;
    if (status == TALLY_OK)
        status = give(device, args->out, own.out, keys ? runs * c->out_bytes * c->per_result : bytes.out);
    if (status == TALLY_OK && keys)
        status = give(device, args->keys_out, own.keys_out, runs * c->index_bytes);
    return status;
}

static tally_status run(tally_gpu_plan *plan, const tally_args *args, bool is_push) {
    const copies b = copies_of(&plan->base.computation, args, is_push);
    const uint64_t all = b.x + b.y + b.index + b.initial + b.out + b.keys_out + ARRAYS * ALIGNMENT;
    char *const memory = malloc(all);
    const tally_status status = memory ? run_on_copies(plan, args, is_push, b, memory) : no_memory(all);
    free(memory);
    return status;
}

tally_status tally_gpu_host_run(tally_gpu_plan *plan, const tally_args *args) {
    const tally_status status = tally_gpu_host_open(plan);
    return status == TALLY_OK ? run(plan, args, false) : status;
}

/* ---- pieces ---- */

static uint64_t columns_of(const tally_computation *c, const tally_args *args) {
    return c->desc.grouping == TALLY_AXIS ? args->shape.inner : 1;
}

tally_status tally_gpu_host_push(tally_gpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    const tally_gpu_run as_push = {.args = args, .pieces = {.total = 1}};
    uint64_t none;
    tally_status status = tally_gpu_host_open(plan);
    if (status == TALLY_OK)
        status = tally_gpu_prepare(plan, &as_push, columns_of(c, args) * args->shape.extent, 0, &none);
    if (status == TALLY_OK)
        status = run(plan, args, true);
    if (status == TALLY_OK && !plan->by_host) {
        plan->by_host = true;
        plan->host.columns = columns_of(c, args);
    }
    return status;
}

tally_status tally_gpu_host_finish(tally_gpu_plan *plan, void *out, size_t out_bytes) {
    const tally_computation *c = &plan->base.computation;
    tally_device *const device = plan->base.device;
    const uint64_t columns = plan->by_host ? plan->host.columns : 1, bytes = columns * c->out_bytes * c->per_result;
    tally_status status = tally_gpu_host_open(plan);
    if (status != TALLY_OK || tally_is_scan(c))
        return status;
    void *const results = malloc(bytes ? bytes : 1);
    if (!results)
        return no_memory(bytes);
    status = plan->calls->check_pointer(device, "out", out);
    if (status == TALLY_OK)
        status = plan->host.device->interface->finish(plan->host.plan, results, least(bytes, out_bytes));
    if (status == TALLY_OK)
        status = give(device, out, results, bytes);
    free(results);
    return status;
}

tally_status tally_gpu_host_resume(tally_gpu_plan *plan, const tally_words_form *form, const int64_t *words,
                                   uint64_t columns) {
    const uint64_t bytes = columns * form->count * sizeof *words;
    tally_status status = plan->calls->check_pointer(plan->base.device, "words", words);
    if (status == TALLY_OK)
        status = tally_gpu_host_open(plan);
    int64_t *const copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return no_memory(bytes);
    if (status == TALLY_OK && bytes)
        status = plan->base.device->interface->copy(plan->base.device, copy, words, bytes);
    if (status == TALLY_OK)
        status = plan->host.device->interface->resume(plan->host.plan, form, copy, columns);
    free(copy);
    if (status == TALLY_OK) {
        plan->by_host = true;
        plan->host.columns = columns;
    }
    return status;
}

void tally_gpu_host_reset(tally_gpu_plan *plan) {
    plan->by_host = false;
    if (plan->host.plan)
        plan->host.device->interface->reset(plan->host.plan);
}
