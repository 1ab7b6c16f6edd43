#include "cuda/carry.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cuda/dispatch.h"
#include "cuda/exact.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/specialize.h"
#include "gpu/by_host.h"
#include "gpu/pieces.h"

enum { BLOCKS = 64 /* for each multiprocessor at most; their threads take turns */ };

/* TALLY_UNSUPPORTED for plans that take or give words, for reverse scans, and for exact mode of floats, for whose
 * states there is no kernel. */
static tally_status check(const tally_computation *c) {
    if (c->takes_words || c->gives_words || c->exact || c->reverse)
        return tally_fail(TALLY_UNSUPPORTED, "CUDA does not go on from states %s",
                          c->exact     ? "of exact sums of floats in a stream"
                          : c->reverse ? "in a reverse scan"
                                       : "in a plan of words");
    return TALLY_OK;
}

/* ---- the kernel ---- */

static tally_status compile(tally_cuda_plan *plan, const tally_words_form *form) {
    const tally_cuda_module *module;
    tally_cuda_texts texts;
    tally_status status =
        tally_cuda_specialize_carry(&plan->gpu.base.computation, form, plan->device->architecture, &texts);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_modules_get(plan->device, (const char *const *)texts.text, 1, tally_cuda_options,
                                    tally_cuda_option_count, &module);
    tally_cuda_texts_free(&texts);
    return status == TALLY_OK ? tally_cuda_function(module, "carry_of_states", &plan->carry_of_states) : status;
}

/* The device's context is current. */
static tally_status load(tally_cuda_plan *plan) {
    tally_words_form form;
    if (plan->carry_of_states)
        return TALLY_OK;
    tally_status status = check(&plan->gpu.base.computation);
    if (status == TALLY_OK)
        status = tally_words_form_of(&plan->gpu.base.computation, &form);
    return status == TALLY_OK ? compile(plan, &form) : status;
}

tally_status tally_cuda_carry_load(tally_plan *base) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    tally_status status = tally_cuda_enter(plan->device);
    if (status != TALLY_OK)
        return status;
    status = load(plan);
    tally_cuda_leave(plan->device);
    return status;
}

static tally_status start(const tally_cuda_plan *plan, tally_cuda_carry_args *args, CUstream stream) {
    void *parameters[] = {args};
    const tally_cuda_grid grid = {.x = tally_cuda_blocks_for(plan->device, args->rows, TALLY_CUDA_BLOCK, BLOCKS),
                                  .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_start(plan->device, plan->carry_of_states, grid, stream, parameters,
                            "launching the kernel of carries");
}

/* ---- scans behind other parts ---- */

static tally_status run_after(tally_cuda_plan *plan, const tally_args *args, const int64_t *words, uint64_t parts,
                              uint64_t before, tally_stream stream) {
    tally_gpu_plan *gpu = &plan->gpu;
    const uint64_t columns = gpu->base.computation.desc.grouping == TALLY_AXIS ? args->shape.inner : 1;
    tally_status status = load(plan);
    if (status == TALLY_OK)
        status = tally_gpu_grow(gpu, &gpu->totals[0], columns * gpu->total_bytes);
    if (status != TALLY_OK || !columns)
        return status;
    gpu->input = (tally_pieces){0}; /* whose accumulators these were */
    tally_cuda_carry_args carry = {.totals = gpu->totals[0].address,
                                   .x = tally_cuda_address(words),
                                   .initial = tally_cuda_address(args->initial),
                                   .rows = columns,
                                   .extent = parts};
    status = start(plan, &carry, stream ? (CUstream)stream : plan->device->stream);
    const tally_gpu_run run = {
        .args = args, .pieces = {.carry = gpu->totals[0].address, .before = before}, .stream = stream};
    return status == TALLY_OK ? gpu->calls->run(gpu, &run) : status;
}

tally_status tally_cuda_run_after(tally_plan *base, const tally_args *args, const int64_t *words, uint64_t parts,
                                  uint64_t before, tally_stream stream) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    tally_status status = tally_cuda_enter(plan->device);
    if (status != TALLY_OK)
        return status;
    status = run_after(plan, args, words, parts, before, stream);
    tally_cuda_leave(plan->device);
    return status;
}

/* ---- pieces behind others ---- */

/* What the kernel found of the states, before the elements of each. */
typedef struct findings {
    uint64_t not_bad;
    uint32_t refused, padding;
} findings;

static tally_status fetch(const tally_cuda_plan *plan, CUdeviceptr from, size_t bytes, void *to) {
    const tally_cuda_api *api = plan->device->api;
    tally_status status =
        tally_cuda_check(api->cuMemcpyAsync(tally_cuda_address(to), from, bytes, plan->device->stream),
                         "reading the outcome of tally_resume");
    if (status == TALLY_OK)
        status = tally_cuda_check(api->cuStreamSynchronize(plan->device->stream), "waiting for the device");
    return status;
}

/* All columns must stand for the same number of elements, which it gives. */
static tally_status compare_rows(const tally_cuda_plan *plan, CUdeviceptr elements, uint64_t columns, uint64_t *rows) {
    uint64_t *of = malloc((columns + 1) * sizeof *of);
    if (!of)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for the numbers of elements of %" PRIu64 " states", columns);
    tally_status status = fetch(plan, elements, columns * sizeof *of, of);
    for (uint64_t j = 1; j < columns && status == TALLY_OK; j++)
        if (of[j] != of[0])
            status =
                tally_fail(TALLY_BAD_STATE,
                           "words of state %" PRIu64 ": they stand for %" PRIu64 " elements, those before for %" PRIu64,
                           j, of[j], of[0]);
    *rows = of[0];
    free(of);
    return status;
}

static tally_status resume(tally_cuda_plan *plan, const int64_t *words, uint64_t columns) {
    tally_gpu_plan *gpu = &plan->gpu;
    uint64_t rows = 0;
    findings found = {0};
    tally_status status = load(plan);
    if (status == TALLY_OK)
        status = gpu->calls->check_pointer(gpu->base.device, "words", words);
    if (status == TALLY_OK)
        status = tally_gpu_begin_pieces(gpu, columns, NULL);
    if (status == TALLY_OK)
        status = tally_gpu_grow(gpu, &gpu->scratch, sizeof found + columns * sizeof(uint64_t));
    if (status != TALLY_OK || !columns)
        return status;
    const CUdeviceptr scratch = gpu->scratch.address;
    tally_cuda_carry_args args = {.totals = gpu->totals[0].address,
                                  .x = tally_cuda_address(words),
                                  .refused = scratch + offsetof(findings, refused),
                                  .not_bad = scratch + offsetof(findings, not_bad),
                                  .elements = scratch + sizeof found,
                                  .rows = columns,
                                  .extent = 1};
    status = tally_cuda_check(plan->device->api->cuMemsetD32Async(scratch, 0, sizeof found / 4, plan->device->stream),
                              "clearing the outcome of tally_resume");
    if (status == TALLY_OK)
        status = start(plan, &args, plan->device->stream);
    if (status == TALLY_OK)
        status = fetch(plan, scratch, sizeof found, &found);
    if (status == TALLY_OK && found.refused)
        status = tally_words_refuse(~found.not_bad);
    if (status == TALLY_OK)
        status = compare_rows(plan, args.elements, columns, &rows);
    gpu->input.rows = rows;
    gpu->resumed = true;
    return status;
}

/* The host adds the initial value to each accumulator. It does so once after tally_resume: no kernel would pay. */
static tally_status put_before_exact(tally_gpu_plan *gpu, uint64_t totals, const void *initial, uint64_t count) {
    tally_device *const device = gpu->base.device;
    const size_t bytes = count * gpu->total_bytes;
    char *const sums = malloc(2 * bytes), *const values = sums + bytes;
    if (!sums)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %" PRIu64 " initial values", count);
    const tally_gpu_memory *const spare = &gpu->totals[!gpu->current];
    tally_status status = tally_cuda_clear_totals(gpu, spare->address, initial, count);
    if (status == TALLY_OK)
        status = tally_cuda_memory_copy(device, sums, (const void *)(uintptr_t)totals, bytes);
    if (status == TALLY_OK)
        status = tally_cuda_memory_copy(device, values, (const void *)(uintptr_t)spare->address, bytes);
    for (uint64_t g = 0; g < count && status == TALLY_OK; g++)
        tally_cuda_add_scans(&gpu->base.computation, values + g * gpu->total_bytes, sums + g * gpu->total_bytes);
    if (status == TALLY_OK)
        status = tally_cuda_memory_copy(device, (void *)(uintptr_t)totals, sums, bytes);
    free(sums);
    return status;
}

tally_status tally_cuda_put_before(tally_gpu_plan *gpu, uint64_t totals, const void *initial, uint64_t count) {
    const tally_cuda_plan *plan = (const tally_cuda_plan *)gpu;
    if (gpu->base.computation.exact)
        return put_before_exact(gpu, totals, initial, count);
    tally_cuda_carry_args args = {.totals = totals, .initial = tally_cuda_address(initial), .rows = count};
    tally_status status = start(plan, &args, plan->device->stream);
    if (status == TALLY_OK)
        status =
            tally_cuda_check(plan->device->api->cuStreamSynchronize(plan->device->stream), "waiting for the device");
    return status;
}

tally_status tally_cuda_resume(tally_plan *base, const tally_words_form *form, const int64_t *words, uint64_t columns) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    tally_status status = tally_cuda_enter(plan->device);
    if (status != TALLY_OK)
        return status;
    const tally_computation *c = &base->computation;
    if (c->gives_words || c->reverse)
        status = tally_gpu_host_resume(&plan->gpu, form, words, columns);
    else if (c->exact && !plan->states)
        status = tally_gpu_resume_exact(&plan->gpu, form, words, columns);
    else
        status = resume(plan, words, columns);
    tally_cuda_leave(plan->device);
    if (status != TALLY_OK)
        tally_gpu_plan_reset(base);
    return status;
}
