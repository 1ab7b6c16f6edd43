/* The Vulkan back end's part of plans (gpu/plan.h): pipelines for the computation, device memory, and runs as
 * recordings. */
#include "vulkan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "gpu/labels.h"
#include "gpu/pieces.h"
#include "gpu/user.h"
#include "tally/vulkan.h"
#include "vulkan/exact.h"
#include "vulkan/exact_scan.h"
#include "vulkan/labels.h"
#include "vulkan/launch.h"
#include "vulkan/path.h"
#include "vulkan/scan_window.h"
#include "vulkan/words.h"

/* ---- kernels ---- */

/* The kernels that the module of running variances has. */
static bool is_of_moments(tally_vulkan_kernel kernel) {
    return kernel == TALLY_VULKAN_FOLD_GROUPS ||
           (kernel >= TALLY_VULKAN_MOMENT_ROWS && kernel <= TALLY_VULKAN_MOMENT_RUNS);
}

static unsigned block_of(const tally_vulkan_plan *plan, tally_vulkan_kernel kernel) {
    const bool of_tiles = kernel == TALLY_VULKAN_SEGMENT_TILES || kernel == TALLY_VULKAN_JOIN_TILES;
    return of_tiles                             ? tally_vulkan_block_of_segments(plan->block)
           : kernel == TALLY_VULKAN_GROUPS_ONCE ? tally_vulkan_block_of_groups_once(plan->device, plan->block)
                                                : plan->block;
}

/* Fills in which kernels a plan launches. */
static void list_needed(const tally_vulkan_plan *plan, bool needed[TALLY_VULKAN_KERNEL_COUNT]) {
    const tally_computation *c = &plan->gpu.base.computation;
    const tally_grouping grouping = c->desc.grouping;
    const bool segments = grouping == TALLY_SEGMENTS, keys = grouping == TALLY_KEYS, grouped = segments || keys;
    const bool exact = tally_vulkan_folds_exactly(c), exact_scan = tally_is_exact_scan(c), fast = !c->exact;
    const bool scan = fast && tally_is_scan(c);
    const bool once = tally_vulkan_takes_once(plan->device, c),
               groups_once = tally_vulkan_takes_groups_once(plan->device, c);
    const bool by_segments = fast && segments && !scan;
    const bool few = tally_vulkan_has_few(c->monoid);
    const bool by_teams = by_segments && c->entry;
    const bool always_by_teams = by_teams && tally_vulkan_has_running(c->monoid);
    const bool in_tiles = tally_vulkan_takes_tiles(c, plan->slot), moments = tally_vulkan_takes_moments(c);
    const bool all[TALLY_VULKAN_KERNEL_COUNT] = {
        [TALLY_VULKAN_REDUCE] = fast && !grouped,
        [TALLY_VULKAN_SHORT_ROWS] = grouping == TALLY_AXIS && in_tiles,
        [TALLY_VULKAN_SLABS] = grouping == TALLY_AXIS && fast && c->entry && !moments,
        [TALLY_VULKAN_TALL_SLABS] = grouping == TALLY_AXIS && scan && few && !moments,
        [TALLY_VULKAN_SPINE] = scan && !grouped,
        [TALLY_VULKAN_SCAN_ROWS] = scan && !grouped && !moments,
        [TALLY_VULKAN_SCAN_ONCE] = once,
        [TALLY_VULKAN_FEW_ROWS] = scan && grouping == TALLY_AXIS && few && !moments,
        [TALLY_VULKAN_SCAN_COLUMNS] = scan && grouping == TALLY_AXIS && !moments,
        [TALLY_VULKAN_SUM_COLUMNS] = scan && grouping == TALLY_AXIS && !moments,
        [TALLY_VULKAN_FOLD_GROUPS] = fast && grouped && !by_segments,
        [TALLY_VULKAN_SPINE_OF_GROUPS] = fast && grouped && !by_segments,
        [TALLY_VULKAN_GROUPS_ONCE] = groups_once,
        [TALLY_VULKAN_GIVE_GROUPS] = scan && grouped && !moments,
        [TALLY_VULKAN_GIVE_ROWS] = tally_vulkan_takes_rows(c),
        [TALLY_VULKAN_GIVE_RUNS] = fast && keys && !scan && !moments,
        [TALLY_VULKAN_GIVE_LONG_RUNS] = tally_vulkan_takes_long_runs(c),
        [TALLY_VULKAN_SEGMENT_TILES] = by_segments && !always_by_teams,
        [TALLY_VULKAN_JOIN_TILES] = by_segments,
        [TALLY_VULKAN_MOMENT_COLUMNS] = scan && grouping == TALLY_AXIS && moments,
        [TALLY_VULKAN_MOMENT_SLABS] = scan && grouping == TALLY_AXIS && moments,
        [TALLY_VULKAN_MOMENT_TALL] = scan && grouping == TALLY_AXIS && moments,
        [TALLY_VULKAN_MOMENT_ROWS] = scan && !grouped && moments,
        [TALLY_VULKAN_MOMENT_GROUPS] = scan && grouped && moments,
        [TALLY_VULKAN_MOMENT_RUNS] = grouped && !scan && moments,
        [TALLY_VULKAN_SHORT_SEGMENTS] = by_teams && !(in_tiles && plan->device->is_software),
        [TALLY_VULKAN_TILED_SEGMENTS] = by_teams && in_tiles,
        [TALLY_VULKAN_LONG_SEGMENTS] = by_teams,
        [TALLY_VULKAN_CLEAR_CONTROL] = grouped,
        [TALLY_VULKAN_CLEAR_TILES] = once || groups_once,
        [TALLY_VULKAN_INSPECT_SEGMENTS] = segments,
        [TALLY_VULKAN_REPORT] = grouped,
        [TALLY_VULKAN_EXACT_ROWS] = exact && !grouped,
        [TALLY_VULKAN_EXACT_MERGE] = exact && !grouped,
        [TALLY_VULKAN_EXACT_SEGMENTS] = exact && segments,
        [TALLY_VULKAN_EXACT_PIECES] = exact && segments,
        [TALLY_VULKAN_EXACT_JOIN] = exact && segments,
        [TALLY_VULKAN_COUNT_HEADS] = exact && keys,
        [TALLY_VULKAN_RANK_HEADS] = exact && keys,
        [TALLY_VULKAN_EXACT_RUNS] = exact && keys,
        [TALLY_VULKAN_SUM_CHUNKS] = exact_scan,
        [TALLY_VULKAN_SCAN_SUMS] = exact_scan,
        [TALLY_VULKAN_GIVE_PREFIXES] = exact_scan,
    };
    memcpy(needed, all, sizeof all);
}

static tally_status load_kernels(tally_vulkan_plan *plan) {
    const tally_computation *c = &plan->gpu.base.computation;
    const bool moments = tally_vulkan_takes_moments(c);
    const tally_vulkan_module *const module = plan->module, *of_moments = NULL;
    bool needed[TALLY_VULKAN_KERNEL_COUNT];
    list_needed(plan, needed);
    tally_status status = moments ? tally_vulkan_moments_get(plan->device, &of_moments) : TALLY_OK;
    for (int k = 0; k < TALLY_VULKAN_KERNEL_COUNT && status == TALLY_OK; k++)
        if (needed[k] && k >= TALLY_VULKAN_CLEAR_CONTROL && k < TALLY_VULKAN_EXACT_ROWS)
            status = tally_vulkan_service_get(plan->device, c, (tally_vulkan_kernel)k, &plan->kernels[k]);
        else if (needed[k])
            status = tally_vulkan_pipeline_get(
                plan->device, c, moments && is_of_moments((tally_vulkan_kernel)k) ? of_moments : module,
                block_of(plan, (tally_vulkan_kernel)k), (tally_vulkan_kernel)k, TALLY_VULKAN_PLAIN, &plan->kernels[k]);
    if (status == TALLY_OK && needed[TALLY_VULKAN_REDUCE] && !tally_is_scan(c))
        status = tally_vulkan_pipeline_get(plan->device, c, module, plan->block, TALLY_VULKAN_REDUCE,
                                           TALLY_VULKAN_FROM_SLOTS, &plan->fold_slots);
    if (status == TALLY_OK && tally_is_exact_scan(c))
        status = tally_vulkan_window_load(plan);
    return status;
}

/* The kernels that sort by label, and the plan of the sorted elements. */
static tally_status load_sorting(tally_vulkan_plan *plan) {
    const tally_computation *c = &plan->gpu.base.computation;
    const bool needed[TALLY_VULKAN_KERNEL_COUNT] = {
        [TALLY_VULKAN_CLEAR_CONTROL] = true,
        [TALLY_VULKAN_REPORT] = true,
        [TALLY_VULKAN_COUNT_DIGITS] = true,
        [TALLY_VULKAN_PLACE_DIGITS] = true,
        [TALLY_VULKAN_SORT_BY_DIGIT] = true,
        [TALLY_VULKAN_PACK_SORTED] = c->in_bytes < sizeof(uint32_t),
        [TALLY_VULKAN_FIND_GROUPS] = true,
        [TALLY_VULKAN_FIND_INDICES] = tally_class_of(c->monoid) == TALLY_CLASS_INDEXED,
    };
    tally_computation sorted;
    tally_status status = TALLY_OK;
    for (int k = 0; k < TALLY_VULKAN_KERNEL_COUNT && status == TALLY_OK; k++)
        if (needed[k])
            status = tally_vulkan_service_get(plan->device, c, (tally_vulkan_kernel)k, &plan->kernels[k]);
    if (status != TALLY_OK)
        return status;
    tally_gpu_computation_of_sorted(c, &sorted);
    return tally_vulkan_plan_create(&plan->device->base, &sorted, &plan->sorted);
}

static tally_status load(tally_gpu_plan *gpu) {
    tally_vulkan_plan *plan = (tally_vulkan_plan *)gpu;
    const tally_computation *c = &gpu->base.computation;
    plan->device = (tally_vulkan_device *)gpu->base.device;
    plan->types = tally_vulkan_types_of(c);
    if (c->desc.grouping == TALLY_LABELS)
        return load_sorting(plan);
    const tally_status status = tally_vulkan_module_get(plan->device, c, &plan->module, &plan->slot);
    if (status != TALLY_OK)
        return status;
    plan->block = tally_vulkan_block_of(plan->device, c, plan->slot);
    gpu->total_bytes = tally_vulkan_folds_exactly(c) ? tally_vulkan_exact_state_bytes(c) : plan->slot.bytes;
    return load_kernels(plan);
}

/* The pipelines belong to the device. */
static void unload(tally_gpu_plan *gpu) {
    const tally_vulkan_plan *plan = (const tally_vulkan_plan *)gpu;
    if (plan->sorted)
        tally_gpu_plan_destroy(plan->sorted);
    tally_vulkan_release(plan->device, &plan->outcome);
    tally_vulkan_release(plan->device, &plan->controls);
    tally_vulkan_commands_destroy(plan->device, &plan->commands);
}

/* ---- memory ---- */

static tally_status allocate(tally_device *device, size_t bytes, const char *what, tally_gpu_memory *memory) {
    tally_vulkan_memory *made = malloc(sizeof *made);
    if (!made)
        return tally_fail(TALLY_OUT_OF_MEMORY, "%s: no memory of the host's for it", what);
    tally_status status = tally_vulkan_allocate((tally_vulkan_device *)device, bytes, what, made);
    if (status == TALLY_OK)
        *memory = (tally_gpu_memory){.address = made->address, .bytes = bytes, .handle = made};
    else
        free(made);
    return status;
}

static void release(tally_device *device, tally_gpu_memory *memory) {
    if (memory->handle)
        tally_vulkan_release((tally_vulkan_device *)device, memory->handle);
    free(memory->handle);
}

/* The library does not know where a caller's device has what memory. */
static tally_status check_pointer(const tally_device *device, const char *name, const void *pointer) {
    tally_vulkan_device *vulkan = (tally_vulkan_device *)device;
    tally_vulkan_memory memory;
    if (!pointer || !vulkan->owns_device || tally_vulkan_find(vulkan, pointer, &memory))
        return TALLY_OK;
    return tally_fail(TALLY_INVALID_ARGUMENT,
                      "%s is not memory of this device; allocate it with tally_alloc and fill it with tally_copy",
                      name);
}

/* ---- runs ---- */

void tally_vulkan_plan_cut(const tally_vulkan_plan *plan, const tally_shape *shape, tally_vulkan_cut *cut) {
    if (plan->sorted)
        tally_vulkan_labels_cut(plan, shape, cut);
    else
        tally_vulkan_cut_make(plan->device, &plan->gpu.base.computation, plan->slot, shape, cut);
    if (tally_is_exact_scan(&plan->gpu.base.computation))
        tally_vulkan_window_cut(plan, cut);
}

static size_t workspace(const tally_gpu_plan *gpu, const tally_shape *shape) {
    tally_vulkan_cut c;
    tally_vulkan_plan_cut((const tally_vulkan_plan *)gpu, shape, &c);
    return c.bytes;
}

/* The plan's own command buffer, recording. */
static tally_status begin(tally_vulkan_plan *plan) {
    tally_status status = TALLY_OK;
    if (!plan->device->owns_device)
        return tally_fail(TALLY_UNSUPPORTED, "this device is the caller's, and the library has no queue of it: give a "
                                             "command buffer as the stream");
    if (!plan->commands.buffer)
        status = tally_vulkan_commands_create(plan->device, &plan->commands);
    return status == TALLY_OK ? tally_vulkan_begin(plan->device, &plan->commands) : status;
}

/* The same; what is recorded comes after all that was submitted before. */
static tally_status begin_after_pieces(tally_vulkan_plan *plan) {
    const tally_status status = begin(plan);
    if (status == TALLY_OK)
        tally_vulkan_after_dispatches(plan->device, plan->commands.buffer);
    return status;
}

static tally_status submit(tally_vulkan_plan *plan, const char *what) {
    tally_vulkan_barrier(plan->device, plan->commands.buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    return tally_vulkan_submit(plan->device, &plan->commands, false, what);
}

/* Submits a synchronous run, waits and reads its findings. */
static tally_status conclude(tally_vulkan_plan *plan, const tally_args *args, bool has_findings, bool *has_ended) {
    const tally_vulkan_control *control = plan->outcome.host;
    tally_gpu_findings findings = {0};
    tally_status status = submit(plan, "running a plan");
    *has_ended = status == TALLY_OK;
    if (status != TALLY_OK)
        return status;
    if (has_findings && plan->sorted)
        status = tally_vulkan_labels_findings(plan, args, control, &findings);
    else if (has_findings)
        findings = (tally_gpu_findings){
            .refused = control->refused, .bad = ~control->not_bad, .empty = ~control->not_empty, .runs = control->runs};
    return status != TALLY_OK ? status : tally_gpu_conclude(&plan->gpu, args, &findings);
}

/* What a recording cannot do. */
static tally_status check_run(const tally_computation *c, const tally_gpu_run *r, const tally_vulkan_cut *cut) {
    if (r->stream && tally_counts_runs(c) && r->args->count)
        return tally_fail(TALLY_INVALID_ARGUMENT, "args.count is host memory, which a command buffer does not reach; "
                                                  "leave it NULL with a stream");
    if (cut->too_many)
        return tally_fail(TALLY_UNSUPPORTED, "%s%s by %s: so many groups take more workgroups than Vulkan has",
                          c->exact ? "exact " : "", c->entry ? c->entry->name : "a user operator",
                          tally_grouping_name(c->desc.grouping));
    return TALLY_OK;
}

/* The special version of a reduction, or of a scan's first pass, that a shape takes, if it has not been made before. */
static tally_status load_special_fold(tally_vulkan_plan *plan, const tally_vulkan_cut *cut) {
    const tally_vulkan_purpose purpose = tally_vulkan_fold_purpose(plan, cut);
    if (purpose == TALLY_VULKAN_PLAIN || plan->folds[purpose])
        return TALLY_OK;
    return tally_vulkan_pipeline_get(plan->device, &plan->gpu.base.computation, plan->module, plan->block, cut->fold,
                                     purpose, &plan->folds[purpose]);
}

/* The kernels that scan rows in one pass. */
static tally_status load_rows_once(tally_vulkan_plan *plan) {
    const tally_computation *c = &plan->gpu.base.computation;
    VkPipeline *const clear = &plan->kernels[TALLY_VULKAN_CLEAR_TILES];
    VkPipeline *const once = &plan->kernels[TALLY_VULKAN_GROUPS_ONCE];
    tally_status status = TALLY_OK;
    if (!*clear)
        status = tally_vulkan_service_get(plan->device, c, TALLY_VULKAN_CLEAR_TILES, clear);
    if (status == TALLY_OK && !*once)
        status = tally_vulkan_pipeline_get(plan->device, c, plan->module, block_of(plan, TALLY_VULKAN_GROUPS_ONCE),
                                           TALLY_VULKAN_GROUPS_ONCE, TALLY_VULKAN_PLAIN, once);
    return status;
}

/* The version of scan_once.comp for arrays that lie so; 0: none is needed. */
static tally_status load_shifted(tally_vulkan_plan *plan, unsigned ahead) {
    if (!ahead || plan->shifted_by == ahead)
        return TALLY_OK;
    const tally_status status = tally_vulkan_pipeline_get(
        plan->device, &plan->gpu.base.computation, plan->module, block_of(plan, TALLY_VULKAN_SCAN_ONCE),
        TALLY_VULKAN_SCAN_ONCE, (tally_vulkan_purpose)(TALLY_VULKAN_SHIFTED + ahead), &plan->shifted);
    plan->shifted_by = status == TALLY_OK ? ahead : 0;
    return status;
}

static tally_status run(tally_gpu_plan *gpu, const tally_gpu_run *r) {
    tally_vulkan_plan *plan = (tally_vulkan_plan *)gpu;
    const tally_computation *c = &gpu->base.computation;
    const tally_vulkan_extra *extra = r->extra;
    tally_vulkan_cut shape_cut;
    uint64_t memory;
    tally_vulkan_plan_cut(plan, &r->args->shape, &shape_cut);
    if (r->pieces.carry || r->pieces.total) {
        shape_cut.rows_a_chunk = 0;
        shape_cut.rows_once = false;
    }
    const bool has_findings = !r->stream && shape_cut.path != TALLY_VULKAN_NOTHING && tally_gpu_has_findings(c);
    tally_status status = check_run(c, r, &shape_cut);
    const tally_vulkan_kernel tiles = tally_vulkan_kernel_of_tiles(c, &shape_cut, extra && extra->count);
    if (status == TALLY_OK && tiles != TALLY_VULKAN_KERNEL_COUNT && !tally_vulkan_takes_moments(c) &&
        !plan->anywhere[tiles] && !plan->device->is_software && tally_vulkan_is_misaligned(c, &shape_cut, r->args) &&
        !(tiles == TALLY_VULKAN_SCAN_ONCE && tally_vulkan_ahead(plan, &shape_cut, r->args)))
        status = tally_vulkan_pipeline_get(plan->device, c, plan->module, block_of(plan, tiles), tiles,
                                           TALLY_VULKAN_ANYWHERE, &plan->anywhere[tiles]);
    if (status == TALLY_OK && shape_cut.rows_once)
        status = load_rows_once(plan);
    if (status == TALLY_OK && tiles == TALLY_VULKAN_SCAN_ONCE)
        status = load_shifted(plan, tally_vulkan_ahead(plan, &shape_cut, r->args));
    if (status == TALLY_OK && (shape_cut.path == TALLY_VULKAN_FOLD || (shape_cut.tall_rows && shape_cut.chunks > 1)))
        status = load_special_fold(plan, &shape_cut);
    if (status == TALLY_OK)
        status = tally_gpu_prepare(gpu, r, shape_cut.elements, shape_cut.bytes, &memory);
    if (status == TALLY_OK && has_findings && !plan->outcome.buffer)
        status = tally_vulkan_allocate_shared(plan->device, 2 * sizeof(tally_vulkan_control),
                                              "allocating memory for a run's outcome", &plan->outcome);
    const bool has_controls =
        !r->stream && (shape_cut.path == TALLY_VULKAN_BY_SEGMENTS || shape_cut.path == TALLY_VULKAN_IN_TILES);
    if (status == TALLY_OK && has_controls && !plan->controls.buffer)
        status = tally_vulkan_allocate(plan->device, 2 * sizeof(tally_vulkan_control),
                                       "allocating memory for what a run finds", &plan->controls);
    if (status == TALLY_OK && !r->stream)
        status = begin(plan);
    if (status != TALLY_OK)
        return status;
    const VkDeviceAddress controls = has_controls ? plan->controls.address : 0,
                          second = controls ? controls + sizeof(tally_vulkan_control) : 0;
    const tally_vulkan_launch launch = {.plan = plan,
                                        .args = r->args,
                                        .cut = &shape_cut,
                                        .workspace = memory,
                                        .pieces = r->pieces,
                                        .count = extra ? extra->count : 0,
                                        .runs = extra && tally_counts_runs(c) ? extra->runs : 0,
                                        .outcome = has_findings ? plan->outcome.address : 0,
                                        .control = plan->next_control ? second : controls,
                                        .next_control = plan->next_control ? controls : second,
                                        .is_clear = has_controls && plan->next_is_clear,
                                        .buffer = r->stream ? (VkCommandBuffer)r->stream : plan->commands.buffer};
    if (shape_cut.path == TALLY_VULKAN_BY_LABELS)
        tally_vulkan_labels_launch(&launch);
    else
        tally_vulkan_launch_all(&launch);
    if (r->stream)
        return TALLY_OK;
    plan->next_is_clear &= !has_controls; /* until the run has ended */
    bool has_ended = false;
    status = conclude(plan, r->args, has_findings, &has_ended);
    if (has_controls && has_ended) {
        plan->next_control = !plan->next_control;
        plan->next_is_clear = true;
    }
    return status;
}

/* ---- pieces ---- */

/* Exact reductions begin with their first piece. */
static tally_status clear_totals(tally_gpu_plan *gpu, uint64_t totals, const void *initial, uint64_t count) {
    tally_vulkan_plan *plan = (tally_vulkan_plan *)gpu;
    if (tally_vulkan_folds_exactly(&gpu->base.computation))
        return TALLY_OK;
    tally_status status = begin_after_pieces(plan);
    if (status != TALLY_OK)
        return status;
    if (tally_is_exact_scan(&gpu->base.computation))
        tally_vulkan_exact_scan_begin(plan, plan->commands.buffer, totals, initial, count);
    else
        tally_vulkan_clear_totals(plan, plan->commands.buffer, totals, initial, count);
    return submit(plan, "beginning with pieces");
}

static tally_status lower_totals(tally_gpu_plan *gpu, uint64_t totals, uint64_t count, uint64_t elements, void *out) {
    tally_vulkan_plan *plan = (tally_vulkan_plan *)gpu;
    tally_status status = begin_after_pieces(plan);
    if (status != TALLY_OK)
        return status;
    if (gpu->base.computation.exact)
        tally_vulkan_exact_finish(plan, plan->commands.buffer, elements ? totals : 0, count, elements, out);
    else
        tally_vulkan_lower_totals(plan, plan->commands.buffer, totals, count, elements, out);
    return submit(plan, "finishing pieces");
}

static tally_status fill(tally_device *device, const tally_gpu_memory *memory, const void *from, size_t bytes) {
    return tally_vulkan_fill(device, memory->handle, from, bytes);
}

static const tally_gpu_calls calls = {.name = "Vulkan",
                                      .plan_bytes = sizeof(tally_vulkan_plan),
                                      .alignment = 16,
                                      .supports = tally_vulkan_supports,
                                      .allocate = allocate,
                                      .release = release,
                                      .check_pointer = check_pointer,
                                      .load = load,
                                      .unload = unload,
                                      .workspace = workspace,
                                      .run = run,
                                      .clear_totals = clear_totals,
                                      .lower_totals = lower_totals,
                                      .fill = fill,
                                      .put_exact = tally_vulkan_put_exact};

tally_status tally_vulkan_resume(tally_plan *base, const tally_words_form *form, const int64_t *words,
                                 uint64_t columns) {
    const tally_computation *c = &base->computation;
    const bool has_states = c->exact && !c->gives_words && !tally_is_scan(c);
    tally_gpu_plan *const plan = (tally_gpu_plan *)base;
    tally_gpu_plan_reset(base);
    const tally_status status = has_states ? tally_gpu_resume_exact(plan, form, words, columns)
                                           : tally_gpu_host_resume(plan, form, words, columns);
    if (status != TALLY_OK)
        tally_gpu_plan_reset(base);
    return status;
}

static tally_status load_words(tally_gpu_plan *gpu) {
    const tally_computation *c = &gpu->base.computation;
    tally_computation states;
    if (tally_vulkan_is_by_host(c))
        return tally_gpu_host_open(gpu);
    tally_computation_of_states(c, &states);
    states.desc.grouping = c->desc.grouping;
    states.skips_nan = c->skips_nan;
    return tally_vulkan_plan_create(gpu->base.device, &states, &((tally_vulkan_words_plan *)gpu)->plan);
}

/* Their pieces are the host's. */
static const tally_gpu_calls words_calls = {.name = "Vulkan",
                                            .plan_bytes = sizeof(tally_vulkan_words_plan),
                                            .alignment = 16,
                                            .supports = tally_vulkan_supports,
                                            .allocate = allocate,
                                            .release = release,
                                            .check_pointer = check_pointer,
                                            .load = load_words,
                                            .unload = tally_vulkan_words_unload,
                                            .workspace = tally_vulkan_words_workspace,
                                            .run = tally_vulkan_words_run};

/* Only exact sums have the number of elements that are no NaNs. So a mean of these is an exact one. */
static const tally_computation *counted(const tally_computation *given, tally_computation *exact) {
    if (!given->skips_nan || given->desc.op != TALLY_MEAN || tally_is_scan(given) || given->gives_words)
        return given;
    *exact = *given;
    exact->exact = true;
    return exact;
}

tally_status tally_vulkan_supports(const tally_device *device, const tally_computation *given) {
    tally_computation exact;
    const tally_computation *c = counted(given, &exact);
    const tally_status status = tally_user_check(c, calls.name);
    return status != TALLY_OK || tally_vulkan_is_by_host(c)
               ? status
               : tally_vulkan_module_check((const tally_vulkan_device *)device, c);
}

tally_status tally_vulkan_plan_create(tally_device *device, const tally_computation *given, tally_plan **plan) {
    tally_computation exact;
    const tally_computation *c = counted(given, &exact);
    const bool through_host = c->gives_words || tally_vulkan_is_by_host(c);
    return tally_gpu_plan_create(device, c, through_host ? &words_calls : &calls, plan);
}

/* The host reads the size, so a command buffer cannot be given. */
tally_status tally_vulkan_run_sized(tally_plan *base, const tally_args *args, const tally_sizes *sizes,
                                    tally_stream stream) {
    tally_device *const device = base->device;
    uint64_t size;
    if (stream)
        return tally_fail(TALLY_UNSUPPORTED,
                          "tally_run_sized with a command buffer: on Vulkan the host reads the size; "
                          "tally_vulkan_record takes the number of all values from the device");
    tally_status status = device->interface->copy(device, &size, tally_size_of(&base->computation, sizes), sizeof size);
    if (status == TALLY_OK)
        status = tally_run_of_size(base, args, size, stream);
    const uint32_t told = (uint32_t)status;
    if (sizes->status && device->interface->copy(device, sizes->status, &told, sizeof told) != TALLY_OK)
        return TALLY_DEVICE_FAILED;
    return status;
}

/* ---- recording ---- */

static tally_status check_extra(const tally_computation *c, const tally_vulkan_extra *extra) {
    if (!extra)
        return TALLY_OK;
    if (extra->struct_size != sizeof *extra)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_vulkan_extra.struct_size is %zu; set it to sizeof(tally_vulkan_extra), %zu",
                          extra->struct_size, sizeof *extra);
    if (extra->count && c->desc.grouping != TALLY_ALL_VALUES)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_vulkan_extra.count is for all values; %s have their own counts",
                          tally_grouping_name(c->desc.grouping));
    if (extra->runs && !tally_counts_runs(c))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_vulkan_extra.runs is for reductions by keys");
    return TALLY_OK;
}

tally_status tally_vulkan_record(tally_plan *base, const tally_args *args, const tally_vulkan_extra *extra,
                                 void *command_buffer) {
    uint64_t results;
    if (!base || !args || !command_buffer)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_vulkan_record: NULL where a plan, its arguments and a command buffer are expected");
    if (base->device->interface->plan_create != tally_vulkan_plan_create)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_vulkan_record: the plan is not of a Vulkan device");
    if (base->computation.is_sized)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_vulkan_record: a plan with TALLY_SIZE_ON_DEVICE runs by "
                                                  "tally_run_sized; tally_vulkan_extra.count is for plans without it");
    tally_status status = check_extra(&base->computation, extra);
    if (status == TALLY_OK)
        status = tally_args_check(&base->computation, args, false, &results);
    if (status != TALLY_OK)
        return status;
    return tally_gpu_run_with((tally_gpu_plan *)base, args, command_buffer, extra);
}
