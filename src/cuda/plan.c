/* The CUDA back end's part of plans (gpu/plan.h): kernels made for the computation, device memory, and runs as
 * launches. */
#include "cuda/plan.h"

#include <stddef.h>

#include "cuda/carry.h"
#include "cuda/exact.h"
#include "cuda/accumulator.h"
#include "cuda/labels.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/path.h"
#include "cuda/places.h"
#include "cuda/scan_exactly.h"
#include "cuda/specialize.h"
#include "cuda/states.h"
#include "cuda/words.h"
#include "gpu/by_host.h"
#include "gpu/labels.h"
#include "gpu/user.h"

/* ---- plans ---- */

/* The plans that this one runs. */
static tally_status load_plans(tally_cuda_plan *plan) {
    const tally_computation *c = &plan->gpu.base.computation;
    tally_computation other;
    if (tally_cuda_has_group_states(c))
        return TALLY_OK;
    if (tally_cuda_has_states(c) && c->desc.grouping != TALLY_LABELS) {
        tally_cuda_computation_of_states(c, &other);
        return c->takes_words ? TALLY_OK : tally_cuda_plan_create(&plan->device->base, &other, &plan->states);
    }
    if (tally_cuda_counts_places(c)) {
        tally_cuda_computation_of_places(c, &other);
        return tally_cuda_plan_create(&plan->device->base, &other, &plan->places);
    }
    if (tally_is_exact_scan(c))
        return tally_cuda_computation_in_window(c, &other)
                   ? tally_cuda_plan_create(&plan->device->base, &other, &plan->in_window)
                   : TALLY_OK;
    if (c->desc.grouping != TALLY_LABELS)
        return TALLY_OK;
    tally_gpu_computation_of_sorted(c, &other);
    other.takes_turns = plan->sizes.labels_may_fail;
    return tally_cuda_plan_create(&plan->device->base, &other, &plan->sorted);
}

static tally_status load(tally_gpu_plan *gpu) {
    tally_cuda_plan *plan = (tally_cuda_plan *)gpu;
    plan->device = (tally_cuda_device *)gpu->base.device;
    tally_computation states;
    if (tally_cuda_is_by_host(&gpu->base.computation))
        return tally_gpu_host_open(gpu);
    const bool has_states = tally_cuda_has_states(&gpu->base.computation);
    if (has_states)
        tally_cuda_computation_of_states(&gpu->base.computation, &states);
    tally_cuda_sizes_of(has_states ? &states : &gpu->base.computation, plan->device->architecture, &plan->sizes);
    gpu->total_bytes = plan->sizes.slot_bytes;
    tally_status status = tally_cuda_loading_begin(plan);
    if (status == TALLY_OK)
        status = load_plans(plan);
    if (status != TALLY_OK)
        tally_cuda_loading_end(plan);
    return status;
}

static void unload(tally_gpu_plan *gpu) {
    tally_cuda_plan *plan = (tally_cuda_plan *)gpu;
    if (plan->sorted)
        tally_gpu_plan_destroy(plan->sorted);
    if (plan->in_window)
        tally_gpu_plan_destroy(plan->in_window);
    if (plan->places)
        tally_gpu_plan_destroy(plan->places);
    if (plan->states)
        tally_gpu_plan_destroy(plan->states);
    tally_cuda_loading_end(plan);
}

/* ---- memory ---- */

static tally_status enter(const tally_device *device) {
    return tally_cuda_enter((const tally_cuda_device *)device);
}

static void leave(const tally_device *device) {
    tally_cuda_leave((const tally_cuda_device *)device);
}

static tally_status allocate(tally_device *device, size_t bytes, const char *what, tally_gpu_memory *memory) {
    const tally_cuda_api *api = ((const tally_cuda_device *)device)->api;
    memory->bytes = bytes;
    return tally_cuda_check(api->cuMemAlloc(&memory->address, bytes), what);
}

static void release(tally_device *device, tally_gpu_memory *memory) {
    ((const tally_cuda_device *)device)->api->cuMemFree(memory->address);
}

static tally_status check_pointer(const tally_device *device, const char *name, const void *pointer) {
    const tally_cuda_device *cuda = (const tally_cuda_device *)device;
    unsigned type = 0;
    if (!pointer || cuda->reads_any_memory)
        return TALLY_OK;
    CUresult result =
        cuda->api->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, tally_cuda_address(pointer));
    if (result == CUDA_ERROR_INVALID_VALUE)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "%s is host memory, which the device cannot reach; copy it with tally_alloc and "
                          "tally_copy",
                          name);
    return tally_cuda_check(result, "asking what memory a pointer is of");
}

/* ---- runs ---- */

static void cut(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_computation *c = &plan->gpu.base.computation;
    if (tally_cuda_is_by_host(c))
        *cut = (tally_cuda_cut){.elements = shape->extent, .groups = shape->groups};
    else if (plan->sorted)
        tally_cuda_labels_cut(plan, shape, cut);
    else if (plan->places)
        tally_cuda_places_cut(plan, shape, cut);
    else if (tally_cuda_has_states(c) && !tally_cuda_has_group_states(c))
        tally_cuda_words_cut(plan, shape, cut);
    else
        tally_cuda_cut_make(plan, shape, cut);
    if (plan->in_window)
        tally_cuda_scan_exactly_cut(plan, shape, cut);
}

/* Paths that run another plan, or are no other plan's, are launched from here. */
static tally_status launch(const tally_cuda_launch *l) {
    const tally_cuda_path path = l->cut->path;
    const bool is_words = path == TALLY_CUDA_WORDS, is_labels = path == TALLY_CUDA_LABELS;
    if (!is_words && !is_labels && path != TALLY_CUDA_TABLES && path != TALLY_CUDA_PLACES && !l->cut->in_window.has)
        return tally_cuda_launch_all(l);
    const tally_status status = tally_cuda_clear(l, l->cut->zeroed_bytes);
    if (status != TALLY_OK)
        return status;
    return is_words                    ? tally_cuda_words_launch(l)
           : is_labels                 ? tally_cuda_labels_launch(l)
           : path == TALLY_CUDA_TABLES ? tally_cuda_tables_launch(l)
           : path == TALLY_CUDA_PLACES ? tally_cuda_places_launch(l)
                                       : tally_cuda_scan_exactly(l);
}

/* Loads the kernels of a run that no run before it needed, all at once. */
static tally_status load_wanted(const tally_cuda_launch *l) {
    tally_cuda_wanted wanted = {.count = 0};
    tally_cuda_launch dry = *l;
    if (!tally_cuda_lacks_kernels(l->plan))
        return TALLY_OK;
    dry.wanted = &wanted;
    const tally_status status = launch(&dry);
    return status == TALLY_OK ? tally_cuda_load_wanted(&wanted) : status;
}

static size_t workspace(const tally_gpu_plan *gpu, const tally_shape *shape) {
    tally_cuda_cut c;
    cut((tally_cuda_plan *)gpu, shape, &c);
    return c.bytes;
}

static tally_status fetch(const tally_cuda_device *device, CUdeviceptr from, size_t bytes, void *to) {
    return tally_cuda_check(device->api->cuMemcpyAsync(tally_cuda_address(to), from, bytes, device->stream),
                            "reading a run's outcome");
}

static tally_status wait(const tally_cuda_device *device) {
    return tally_cuda_check(device->api->cuStreamSynchronize(device->stream), "running a plan");
}

/* The label that is out of range, for the message. */
static tally_status fetch_label(const tally_cuda_launch *l, tally_gpu_findings *findings) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    int64_t label = 0;
    tally_status status = fetch(l->plan->device, tally_cuda_address(l->args->labels) + findings->bad * c->index_bytes,
                                c->index_bytes, &label);
    if (status == TALLY_OK)
        status = wait(l->plan->device);
    findings->label = tally_label_value(c, &label);
    return status;
}

/* Whether the segments that labels become have findings of their own. */
static bool finds_twice(const tally_cuda_launch *l) {
    return l->cut->path == TALLY_CUDA_LABELS && l->cut->labels.sorts && l->args->shape.groups;
}

/* Waits for a synchronous run and fetches its findings. Those of labels are in two places. */
static tally_status conclude(const tally_cuda_launch *l) {
    const tally_cuda_device *device = l->plan->device;
    uint64_t size = 0;
    const bool has_findings =
        l->cut->path != TALLY_CUDA_NOTHING && tally_gpu_has_findings(&l->plan->gpu.base.computation);
    tally_cuda_control control = {0}, of_sorted = {0};
    tally_status status = TALLY_OK;
    if (has_findings)
        status = fetch(device, l->workspace + l->cut->control, sizeof control, &control);
    if (status == TALLY_OK && has_findings && finds_twice(l))
        status = fetch(device, l->workspace + l->cut->labels.control, sizeof of_sorted, &of_sorted);
    if (status == TALLY_OK && l->size)
        status = fetch(device, l->size, sizeof size, &size);
    if (status == TALLY_OK)
        status = wait(device);
    if (status == TALLY_OK && l->size)
        status = tally_run_check_size(&l->plan->gpu.base.computation, l->args, size);
    if (status != TALLY_OK)
        return status;
    if (of_sorted.refused & TALLY_GPU_REFUSED_BAD) /* nothing was sorted, so no offset was written but a bad one */
        of_sorted = (tally_cuda_control){0};
    tally_gpu_findings findings = {.refused = control.refused | of_sorted.refused,
                                   .bad = ~control.not_bad,
                                   .empty = ~(control.not_empty | of_sorted.not_empty),
                                   .runs = control.runs};
    if (l->plan->sorted && findings.refused & TALLY_GPU_REFUSED_BAD)
        status = fetch_label(l, &findings);
    return status == TALLY_OK ? tally_gpu_conclude(&l->plan->gpu, l->args, &findings) : status;
}

static tally_status count_later(const tally_cuda_launch *l) {
    const tally_args *args = l->args;
    if (!tally_counts_runs(&l->plan->gpu.base.computation) || !args->count)
        return TALLY_OK;
    if (l->cut->path == TALLY_CUDA_NOTHING) {
        *args->count = 0;
        return TALLY_OK;
    }
    const CUdeviceptr runs = l->workspace + l->cut->control + offsetof(tally_cuda_control, runs);
    return tally_cuda_check(
        l->plan->device->api->cuMemcpyAsync(tally_cuda_address(args->count), runs, sizeof *args->count, l->stream),
        "copying the number of runs");
}

/* Tells the caller's status of a run whose size is on the device. */
static tally_status report_size(const tally_cuda_launch *l, const tally_sizes *sizes) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const bool has_findings = l->cut->path != TALLY_CUDA_NOTHING && tally_gpu_has_findings(c);
    const CUdeviceptr refused = l->workspace + l->cut->control + offsetof(tally_cuda_control, refused),
                      later = l->workspace + l->cut->labels.control + offsetof(tally_cuda_control, refused);
    tally_cuda_size_args args = {.status = tally_cuda_address(sizes->status),
                                 .refused = has_findings ? refused : 0,
                                 .refused_later = finds_twice(l) ? later : 0,
                                 .most = tally_largest_size(c, &l->args->shape)};
    const tally_cuda_grid one = {.x = 1, .threads = 1};
    return sizes->status ? tally_cuda_enqueue(l, l->plan->kernels.report_size, one, &args, "reporting a size")
                         : TALLY_OK;
}

static tally_status check_sizes(const tally_cuda_plan *plan, const tally_sizes *sizes) {
    const tally_computation *c = &plan->gpu.base.computation;
    const tally_status status = check_pointer(
        &plan->device->base, c->desc.grouping == TALLY_SEGMENTS ? "tally_sizes.groups" : "tally_sizes.extent",
        tally_size_of(c, sizes));
    return status == TALLY_OK ? check_pointer(&plan->device->base, "tally_sizes.status", sizes->status) : status;
}

static tally_status run_by_host(tally_gpu_plan *gpu, const tally_gpu_run *r) {
    return r->stream
               ? tally_fail(TALLY_UNSUPPORTED, "words by labels pass through the host; run the plan without a stream")
               : tally_gpu_host_run(gpu, r->args);
}

static tally_status run(tally_gpu_plan *gpu, const tally_gpu_run *r) {
    tally_cuda_plan *plan = (tally_cuda_plan *)gpu;
    const tally_sizes *sizes = gpu->base.computation.is_sized ? r->extra : NULL;
    tally_cuda_cut c;
    uint64_t memory;
    cut(plan, &r->args->shape, &c);
    tally_status status = tally_gpu_prepare(gpu, r, c.elements, c.bytes, &memory);
    if (status == TALLY_OK && sizes)
        status = check_sizes(plan, sizes);
    if (status != TALLY_OK || tally_cuda_is_by_host(&gpu->base.computation))
        return status == TALLY_OK ? run_by_host(gpu, r) : status;
    const tally_cuda_launch l = {.plan = plan,
                                 .args = r->args,
                                 .cut = &c,
                                 .workspace = memory,
                                 .pieces = r->pieces,
                                 .stream = r->stream ? (CUstream)r->stream : plan->device->stream,
                                 .size = sizes ? tally_cuda_address(tally_size_of(&gpu->base.computation, sizes)) : 0};
    status = load_wanted(&l);
    if (status == TALLY_OK)
        status = launch(&l);
    if (status == TALLY_OK && sizes)
        status = report_size(&l, sizes);
    if (status == TALLY_OK)
        status = r->stream ? count_later(&l) : conclude(&l);
    return status;
}

/* ---- the end of pieces ---- */

static tally_status lower_totals(tally_gpu_plan *gpu, uint64_t totals, uint64_t count, uint64_t elements, void *out) {
    tally_cuda_plan *plan = (tally_cuda_plan *)gpu;
    return plan->states ? tally_cuda_words_lower_totals(plan, totals, count, elements, out)
                        : tally_cuda_lower_totals(gpu, totals, count, elements, out);
}

static tally_status fill(tally_device *device, const tally_gpu_memory *memory, const void *from, size_t bytes) {
    return tally_cuda_memory_copy(device, (void *)(uintptr_t)memory->address, from, bytes);
}

static const tally_gpu_calls calls = {.name = "CUDA",
                                      .plan_bytes = sizeof(tally_cuda_plan),
                                      .alignment = 256,
                                      .supports = tally_cuda_supports,
                                      .enter = enter,
                                      .leave = leave,
                                      .allocate = allocate,
                                      .release = release,
                                      .check_pointer = check_pointer,
                                      .load = load,
                                      .unload = unload,
                                      .workspace = workspace,
                                      .run = run,
                                      .clear_totals = tally_cuda_clear_totals,
                                      .lower_totals = lower_totals,
                                      .put_before = tally_cuda_put_before,
                                      .fill = fill,
                                      .put_exact = tally_cuda_put_exact};

tally_status tally_cuda_supports(const tally_device *device, const tally_computation *c) {
    (void)device;
    return tally_user_check(c, calls.name);
}

tally_status tally_cuda_plan_create(tally_device *device, const tally_computation *c, tally_plan **plan) {
    return tally_gpu_plan_create(device, c, &calls, plan);
}
