/* Plans of CUDA devices: kernels made for the computation, scratch memory, and runs as launches. */
#include "cuda/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/run.h"
#include "cuda/exact.h"
#include "cuda/path.h"
#include "cuda/specialize.h"
#include "gpu/user.h"

/* ---- creation ---- */

static const struct {
    const char *name;
    size_t member;
} kernels[] = {
#define TALLY_CUDA_KERNEL(name, text)                   {#name, offsetof(tally_cuda_kernels, name)},
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) {#name, offsetof(tally_cuda_kernels, name)},
#include "cuda/kernels.def"
};

/* For a kernel that takes more shared memory than it is given unasked. */
static tally_status allow_shared(const tally_cuda_plan *plan, CUfunction kernel, unsigned shared) {
    return tally_cuda_check(
        plan->device->api->cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared),
        "asking for shared memory");
}

/* For one whose blocks are all there at once, too. */
static tally_status prepare_resident(tally_cuda_plan *plan, CUfunction kernel, unsigned threads, unsigned shared) {
    int blocks = 0;
    tally_status status = allow_shared(plan, kernel, shared);
    if (status == TALLY_OK)
        status = tally_cuda_check(
            plan->device->api->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)threads, shared),
            "asking how many thread blocks fit");
    if (status == TALLY_OK && blocks < 1)
        return tally_fail(TALLY_UNSUPPORTED, "this device has too little shared memory for a tile of %s",
                          tally_dtype_name(plan->base.computation.desc.in));
    plan->resident = (uint64_t)plan->device->multiprocessors * (uint64_t)blocks;
    return status;
}

/* How many blocks of a kernel a cluster may have. More than 8 is not promised of any device, and its processors may lie
 * so that none has them. */
static unsigned most_of_cluster(const tally_cuda_plan *plan, CUfunction kernel) {
    enum { PROMISED = 8, WIDE = 16, THREADS = 1024 };
    const tally_cuda_api *api = plan->device->api;
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {WIDE, 1, 1}};
    const CUlaunchConfig config = {.gridDimX = WIDE,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = THREADS,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .attrs = &cluster,
                                   .numAttrs = 1};
    int clusters = 0;
    const bool are_told =
        api->cuOccupancyMaxActiveClusters &&
        api->cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) == CUDA_SUCCESS &&
        api->cuOccupancyMaxActiveClusters(&clusters, kernel, &config) == CUDA_SUCCESS;
    return are_told && clusters > 0 ? WIDE : PROMISED;
}

/* The kernels of a part, which the module has. */
static tally_status find_kernels(tally_cuda_plan *plan, const char *const *part, const tally_cuda_module *module) {
    tally_status status = TALLY_OK;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels && status == TALLY_OK; k++)
        if (tally_cuda_part_has(part, k))
            status = tally_cuda_function(module, kernels[k].name,
                                         (CUfunction *)((char *)&plan->kernels + kernels[k].member));
    return status;
}

static tally_status load_kernels(tally_cuda_plan *plan) {
    const tally_cuda_module *modules[TALLY_CUDA_MOST_PARTS];
    tally_cuda_texts texts;
    tally_status status = tally_cuda_specialize(&plan->base.computation, plan->device->architecture, &texts);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_modules_get(plan->device, (const char *const *)texts.text, texts.count, tally_cuda_options,
                                    tally_cuda_option_count, modules);
    for (size_t k = 0; k < texts.count && status == TALLY_OK; k++)
        status = find_kernels(plan, texts.part[k], modules[k]);
    tally_cuda_texts_free(&texts);
    if (status == TALLY_OK && plan->base.computation.exact)
        status = tally_cuda_exact_prepare(plan);
    const tally_cuda_sizes *sizes = &plan->sizes;
    if (status == TALLY_OK && plan->kernels.scan)
        status = prepare_resident(plan, plan->kernels.scan, sizes->scan.threads, sizes->scan.shared);
    if (status == TALLY_OK && plan->kernels.scan_held && sizes->has_clusters)
        plan->sizes.held_cluster = most_of_cluster(plan, plan->kernels.scan_held);
    if (status == TALLY_OK && plan->kernels.fold_runs_in_waves)
        status = prepare_resident(plan, plan->kernels.fold_runs_in_waves, sizes->wave.threads, sizes->wave.shared);
    if (status == TALLY_OK && plan->kernels.scan_panels)
        status = allow_shared(plan, plan->kernels.scan_panels, sizes->scan.shared);
    if (status == TALLY_OK && plan->kernels.scan_narrow)
        status = allow_shared(plan, plan->kernels.scan_narrow, sizes->scan.shared);
    if (status == TALLY_OK && plan->kernels.sum_panels)
        status = allow_shared(plan, plan->kernels.sum_panels, sizes->scan.shared);
    return status;
}

/* What the tiles' one pass cannot know in time: where a group starts that is met from its other end. */
static tally_status check_supported(const tally_computation *c) {
    tally_grouping grouping = c->desc.grouping;
    bool grouped = grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS;
    if (grouped && c->reverse && (c->desc.op == TALLY_ARGMIN || c->desc.op == TALLY_ARGMAX))
        return tally_fail(TALLY_UNSUPPORTED, "reverse scan of %s by %s on CUDA: a group's first element comes last",
                          c->entry->name, tally_grouping_name(grouping));
    return tally_user_check(c, "CUDA");
}

tally_status tally_cuda_plan_create(tally_device *device, const tally_computation *c, tally_plan **out) {
    tally_status status = check_supported(c);
    if (status != TALLY_OK)
        return status;
    tally_cuda_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a plan");
    plan->base.device = device;
    plan->device = (tally_cuda_device *)device;
    tally_computation_copy(c, &plan->base.computation);
    tally_cuda_sizes_of(c, plan->device->architecture, &plan->sizes);
    status = tally_cuda_enter(plan->device);
    if (status == TALLY_OK) {
        status = load_kernels(plan);
        tally_cuda_leave(plan->device);
    }
    if (status != TALLY_OK) {
        free(plan);
        return status;
    }
    *out = &plan->base;
    return TALLY_OK;
}

void tally_cuda_plan_destroy(tally_plan *base) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    if (tally_cuda_enter(plan->device) == TALLY_OK) {
        plan->device->api->cuMemFree(plan->scratch.address);
        plan->device->api->cuMemFree(plan->totals[0].address);
        plan->device->api->cuMemFree(plan->totals[1].address);
        tally_cuda_leave(plan->device);
    }
    free(plan);
}

tally_status tally_cuda_plan_workspace(const tally_plan *base, const tally_shape *shape, size_t *bytes) {
    const tally_cuda_plan *plan = (const tally_cuda_plan *)base;
    tally_cuda_cut cut;
    tally_cuda_cut_make(plan->device, &base->computation, &plan->sizes, plan->resident, shape, &cut);
    *bytes = cut.bytes;
    return TALLY_OK;
}

/* ---- memory ---- */

/* At least 'bytes' of the plan's own memory. What it held is lost when it grows. */
static tally_status grow(tally_cuda_plan *plan, tally_cuda_memory *memory, size_t bytes) {
    if (bytes <= memory->bytes)
        return TALLY_OK;
    const tally_cuda_api *api = plan->device->api;
    CUdeviceptr address;
    tally_status status = tally_cuda_check(api->cuMemAlloc(&address, bytes), "allocating a plan's scratch memory");
    if (status != TALLY_OK)
        return status;
    api->cuMemFree(memory->address); /* waits for what still uses it */
    memory->address = address;
    memory->bytes = bytes;
    return TALLY_OK;
}

static tally_status workspace_of(tally_cuda_plan *plan, const tally_args *args, const tally_cuda_cut *cut,
                                 CUdeviceptr *workspace) {
    if (args->workspace && cut->bytes) {
        *workspace = tally_cuda_address(args->workspace);
        return tally_run_check_workspace(args, cut->bytes, 256);
    }
    tally_status status = grow(plan, &plan->scratch, cut->bytes);
    *workspace = plan->scratch.address;
    return status;
}

/* ---- runs ---- */

static tally_status check_pointer(const tally_cuda_plan *plan, const char *name, const void *pointer) {
    if (!pointer || plan->device->reads_any_memory)
        return TALLY_OK;
    unsigned type = 0;
    CUresult result =
        plan->device->api->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, tally_cuda_address(pointer));
    if (result == CUDA_ERROR_INVALID_VALUE)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "args.%s is host memory, which the device cannot reach; copy it with tally_alloc and "
                          "tally_copy",
                          name);
    return tally_cuda_check(result, "asking what memory a pointer is of");
}

static tally_status check_pointers(const tally_cuda_plan *plan, const tally_args *args, uint64_t elements,
                                   bool is_push) {
    tally_pointer all[TALLY_POINTERS];
    tally_status status = check_pointer(plan, "workspace", args->workspace);
    tally_run_pointers(&plan->base.computation, args, elements, is_push, all);
    for (int k = 0; k < TALLY_POINTERS && status == TALLY_OK; k++)
        status = check_pointer(plan, all[k].name, all[k].address);
    return status;
}

/* What the kernels found wrong, once they are done. */
static tally_status outcome_of(const tally_computation *c, const tally_args *args, const tally_cuda_control *control) {
    const bool is_bad = control->refused & TALLY_CUDA_REFUSED_BAD;
    const tally_outcome outcome = {.is_bad = is_bad,
                                   .is_empty = control->refused & TALLY_CUDA_REFUSED_EMPTY,
                                   .lacks_room = control->refused & TALLY_CUDA_REFUSED_RUNS,
                                   .segment = is_bad ? ~control->not_bad : ~control->not_empty,
                                   .runs = control->runs};
    return tally_run_outcome(c, args, &outcome);
}

/* Waits for a synchronous run and fetches what it has to say. */
static tally_status conclude(tally_cuda_plan *plan, const tally_args *args, const tally_cuda_cut *cut,
                             CUdeviceptr workspace) {
    const tally_cuda_api *api = plan->device->api;
    const tally_computation *c = &plan->base.computation;
    tally_cuda_control control = {0};
    bool tells = cut->path != TALLY_CUDA_NOTHING && (c->desc.grouping == TALLY_SEGMENTS || tally_counts_runs(c));
    tally_status status = TALLY_OK;
    if (tells)
        status = tally_cuda_check(api->cuMemcpyAsync(tally_cuda_address(&control), workspace + cut->control,
                                                     sizeof control, plan->device->stream),
                                  "reading a run's outcome");
    if (status == TALLY_OK)
        status = tally_cuda_check(api->cuStreamSynchronize(plan->device->stream), "running a plan");
    if (status != TALLY_OK)
        return status;
    if (tally_counts_runs(c) && args->count)
        *args->count = control.runs;
    return outcome_of(c, args, &control);
}

static tally_status count_later(const tally_cuda_plan *plan, const tally_args *args, const tally_cuda_cut *cut,
                                CUdeviceptr workspace, CUstream stream) {
    if (!tally_counts_runs(&plan->base.computation) || !args->count)
        return TALLY_OK;
    if (cut->path == TALLY_CUDA_NOTHING) {
        *args->count = 0;
        return TALLY_OK;
    }
    return tally_cuda_check(
        plan->device->api->cuMemcpyAsync(tally_cuda_address(args->count),
                                         workspace + cut->control + offsetof(tally_cuda_control, runs),
                                         sizeof *args->count, stream),
        "copying the number of runs");
}

static tally_status run(tally_cuda_plan *plan, const tally_args *args, tally_cuda_pieces pieces, CUstream stream) {
    const tally_computation *c = &plan->base.computation;
    tally_cuda_cut cut;
    tally_cuda_cut_make(plan->device, c, &plan->sizes, plan->resident, &args->shape, &cut);
    CUdeviceptr workspace = 0;
    tally_status status = tally_run_check_empty(c, args);
    if (status == TALLY_OK)
        status = check_pointers(plan, args, cut.elements, pieces.total != 0);
    if (status == TALLY_OK)
        status = workspace_of(plan, args, &cut, &workspace);
    if (status != TALLY_OK)
        return status;
    tally_cuda_launch launch = {plan, args, &cut, workspace, pieces, stream ? stream : plan->device->stream};
    status = tally_cuda_launch_all(&launch);
    if (status == TALLY_OK)
        status = stream ? count_later(plan, args, &cut, workspace, stream) : conclude(plan, args, &cut, workspace);
    return status;
}

tally_status tally_cuda_plan_run(tally_plan *base, const tally_args *args, uint64_t results, tally_stream stream) {
    (void)results;
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    tally_status status = tally_cuda_enter(plan->device);
    if (status != TALLY_OK)
        return status;
    status = run(plan, args, (tally_cuda_pieces){0, 0, 0}, (CUstream)stream);
    tally_cuda_leave(plan->device);
    return status;
}

/* ---- pieces ---- */

static tally_status begin_pieces(tally_cuda_plan *plan, uint64_t columns, const void *initial) {
    size_t bytes;
    if (__builtin_mul_overflow(columns, plan->sizes.slot_bytes, &bytes))
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %" PRIu64 " accumulators", columns);
    tally_status status = check_pointer(plan, "initial", initial);
    for (int k = 0; k < 2 && status == TALLY_OK; k++)
        status = grow(plan, &plan->totals[k], bytes ? bytes : 1);
    if (status == TALLY_OK)
        status = tally_cuda_clear_totals(plan, plan->totals[0].address, initial, columns);
    if (status != TALLY_OK)
        return status;
    plan->current = 0;
    plan->input = (tally_pieces){.begun = true, .columns = columns};
    return TALLY_OK;
}

static tally_status push(tally_cuda_plan *plan, const tally_args *args) {
    uint64_t columns;
    bool first = !plan->input.begun;
    tally_status status = tally_pieces_next(&plan->input, &plan->base.computation, &args->shape, &columns);
    if (status == TALLY_OK && first)
        status = begin_pieces(plan, columns, args->initial);
    if (status != TALLY_OK || !args->shape.extent || !columns)
        return status;
    tally_cuda_pieces pieces = {plan->totals[plan->current].address, plan->totals[!plan->current].address,
                                plan->input.rows};
    status = run(plan, args, pieces, NULL);
    if (status == TALLY_OK) {
        plan->input.rows += args->shape.extent;
        plan->current = !plan->current;
    } else if (first) {
        plan->input.begun = false; /* as if it had not been tried */
    }
    return status;
}

tally_status tally_cuda_plan_push(tally_plan *base, const tally_args *args) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    tally_status status = tally_cuda_enter(plan->device);
    if (status != TALLY_OK)
        return status;
    status = push(plan, args);
    tally_cuda_leave(plan->device);
    return status;
}

/* A tally_finish without a push is the reduction of nothing. */
static tally_status finish(tally_cuda_plan *plan, void *out, size_t out_bytes) {
    const tally_computation *c = &plan->base.computation;
    if (tally_is_scan(c))
        return TALLY_OK;
    uint64_t columns;
    tally_status status = tally_pieces_finish(&plan->input, c, out_bytes, &columns);
    if (status == TALLY_OK)
        status = check_pointer(plan, "out", out);
    if (status == TALLY_OK && !plan->input.begun)
        status = begin_pieces(plan, 1, NULL);
    if (status == TALLY_OK)
        status = tally_cuda_lower_totals(plan, plan->totals[plan->current].address, columns, plan->input.rows, out);
    return status;
}

tally_status tally_cuda_plan_finish(tally_plan *base, void *out, size_t out_bytes) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    tally_status status = tally_cuda_enter(plan->device);
    if (status != TALLY_OK)
        return status;
    status = finish(plan, out, out_bytes);
    tally_cuda_leave(plan->device);
    if (status == TALLY_OK)
        tally_cuda_plan_reset(base);
    return status;
}

void tally_cuda_plan_reset(tally_plan *base) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base;
    plan->input = (tally_pieces){0};
}
