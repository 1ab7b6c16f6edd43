/* Plans of Vulkan devices: pipelines for the computation, scratch memory, and runs as recordings. */
#include "vulkan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/run.h"
#include "gpu/user.h"
#include "tally/vulkan.h"
#include "vulkan/cut.h"
#include "vulkan/exact.h"
#include "vulkan/launch.h"

/* ---- creation ---- */

static tally_status check_supported(const tally_computation *c) {
    const tally_grouping grouping = c->desc.grouping;
    const bool grouped = grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS;
    if (grouped && c->reverse && (c->desc.op == TALLY_ARGMIN || c->desc.op == TALLY_ARGMAX))
        return tally_fail(TALLY_UNSUPPORTED, "reverse scan of %s by %s on Vulkan: a group's first element comes last",
                          c->entry->name, tally_grouping_name(grouping));
    return tally_user_check(c, "Vulkan");
}

static tally_status load_kernels(tally_vulkan_plan *plan, const tally_vulkan_module *module) {
    const tally_computation *c = &plan->base.computation;
    const tally_grouping grouping = c->desc.grouping;
    const bool segments = grouping == TALLY_SEGMENTS, keys = grouping == TALLY_KEYS, grouped = segments || keys;
    const bool exact = c->exact, fast = !exact, scan = fast && tally_is_scan(c);
    const bool once = tally_vulkan_takes_once(plan->device, c);
    const bool by_teams = fast && segments && !scan && c->entry;
    const bool in_tiles = tally_vulkan_takes_tiles(c, plan->slot);
    const bool needed[TALLY_VULKAN_KERNEL_COUNT] = {
        [TALLY_VULKAN_REDUCE] = fast && !grouped,
        [TALLY_VULKAN_SHORT_ROWS] = grouping == TALLY_AXIS && in_tiles,
        [TALLY_VULKAN_SPINE] = scan && !grouped,
        [TALLY_VULKAN_SCAN_ROWS] = scan && !grouped,
        [TALLY_VULKAN_SCAN_ONCE] = once,
        [TALLY_VULKAN_SCAN_COLUMNS] = scan && grouping == TALLY_AXIS,
        [TALLY_VULKAN_FOLD_GROUPS] = fast && grouped && !by_teams,
        [TALLY_VULKAN_SPINE_OF_GROUPS] = fast && grouped,
        [TALLY_VULKAN_GIVE_GROUPS] = scan && grouped,
        [TALLY_VULKAN_GIVE_RUNS] = fast && grouped && !scan && !by_teams,
        [TALLY_VULKAN_SHORT_SEGMENTS] = by_teams && !(in_tiles && plan->device->is_software),
        [TALLY_VULKAN_TILED_SEGMENTS] = by_teams && in_tiles,
        [TALLY_VULKAN_OPEN_SEGMENTS] = by_teams,
        [TALLY_VULKAN_CLOSE_SEGMENTS] = by_teams,
        [TALLY_VULKAN_CLEAR_CONTROL] = grouped,
        [TALLY_VULKAN_CLEAR_TILES] = once,
        [TALLY_VULKAN_INSPECT_SEGMENTS] = segments,
        [TALLY_VULKAN_REPORT] = grouped,
        [TALLY_VULKAN_EXACT_ROWS] = exact && !grouped,
        [TALLY_VULKAN_EXACT_MERGE] = exact && !grouped,
        [TALLY_VULKAN_EXACT_SEGMENTS] = exact && segments,
        [TALLY_VULKAN_COUNT_HEADS] = exact && keys,
        [TALLY_VULKAN_RANK_HEADS] = exact && keys,
        [TALLY_VULKAN_EXACT_RUNS] = exact && keys,
    };
    tally_status status = TALLY_OK;
    for (int k = 0; k < TALLY_VULKAN_KERNEL_COUNT && status == TALLY_OK; k++)
        if (needed[k] && k >= TALLY_VULKAN_CLEAR_CONTROL && k <= TALLY_VULKAN_REPORT)
            status = tally_vulkan_service_get(plan->device, (tally_vulkan_kernel)k, &plan->kernels[k]);
        else if (needed[k])
            status = tally_vulkan_pipeline_get(plan->device, c, module, plan->block, (tally_vulkan_kernel)k,
                                               TALLY_VULKAN_PLAIN, &plan->kernels[k]);
    if (status == TALLY_OK && fast && !grouped && !scan)
        status = tally_vulkan_pipeline_get(plan->device, c, module, plan->block, TALLY_VULKAN_REDUCE,
                                           TALLY_VULKAN_FROM_SLOTS, &plan->fold_slots);
    if (status == TALLY_OK && once)
        status = tally_vulkan_pipeline_get(plan->device, c, module, plan->block, TALLY_VULKAN_SCAN_ONCE,
                                           TALLY_VULKAN_ANYWHERE, &plan->scan_once_anywhere);
    return status;
}

tally_status tally_vulkan_plan_create(tally_device *device, const tally_computation *c, tally_plan **out) {
    tally_status status = check_supported(c);
    if (status != TALLY_OK)
        return status;
    tally_vulkan_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a plan");
    plan->base.device = device;
    plan->device = (tally_vulkan_device *)device;
    tally_computation_copy(c, &plan->base.computation);
    plan->types = tally_vulkan_types_of(c);
    const tally_vulkan_module *module;
    status = tally_vulkan_module_get(plan->device, c, &module, &plan->slot);
    if (status == TALLY_OK) {
        plan->block = tally_vulkan_block_of(plan->device, plan->slot);
        status = load_kernels(plan, module);
    }
    if (status != TALLY_OK) {
        free(plan);
        return status;
    }
    *out = &plan->base;
    return TALLY_OK;
}

void tally_vulkan_plan_destroy(tally_plan *base) {
    tally_vulkan_plan *plan = (tally_vulkan_plan *)base;
    tally_vulkan_release(plan->device, &plan->scratch);
    tally_vulkan_release(plan->device, &plan->outcome);
    tally_vulkan_release(plan->device, &plan->totals[0]);
    tally_vulkan_release(plan->device, &plan->totals[1]);
    tally_vulkan_commands_destroy(plan->device, &plan->commands);
    free(plan);
}

tally_status tally_vulkan_plan_workspace(const tally_plan *base, const tally_shape *shape, size_t *bytes) {
    const tally_vulkan_plan *plan = (const tally_vulkan_plan *)base;
    tally_vulkan_cut cut;
    tally_vulkan_cut_make(plan->device, &base->computation, plan->slot, shape, &cut);
    *bytes = cut.bytes;
    return TALLY_OK;
}

/* ---- memory ---- */

/* At least 'bytes' of the plan's own memory. What it held is lost when it grows. */
static tally_status grow(tally_vulkan_plan *plan, tally_vulkan_memory *memory, size_t bytes) {
    if (bytes <= memory->bytes)
        return TALLY_OK;
    tally_vulkan_memory larger;
    tally_status status = tally_vulkan_allocate(plan->device, bytes, "allocating a plan's scratch memory", &larger);
    if (status != TALLY_OK)
        return status;
    tally_vulkan_release(plan->device, memory);
    *memory = larger;
    return TALLY_OK;
}

static tally_status workspace_of(tally_vulkan_plan *plan, const tally_args *args, const tally_vulkan_cut *cut,
                                 VkDeviceAddress *workspace) {
    if (args->workspace && cut->bytes) {
        *workspace = tally_vulkan_address(args->workspace);
        return tally_run_check_workspace(args, cut->bytes, 16);
    }
    tally_status status = grow(plan, &plan->scratch, cut->bytes);
    *workspace = plan->scratch.address;
    return status;
}

/* ---- runs ---- */

/* Of a caller's device the library does not know what lies where. */
static tally_status check_pointer(const tally_vulkan_plan *plan, const char *name, const void *pointer) {
    tally_vulkan_memory memory;
    if (!pointer || !plan->device->owns_device || tally_vulkan_find(plan->device, pointer, &memory))
        return TALLY_OK;
    return tally_fail(TALLY_INVALID_ARGUMENT,
                      "args.%s is no memory of this device; allocate it with tally_alloc and fill it with tally_copy",
                      name);
}

static tally_status check_pointers(const tally_vulkan_plan *plan, const tally_args *args, uint64_t elements,
                                   bool is_push) {
    tally_pointer all[TALLY_POINTERS];
    tally_status status = check_pointer(plan, "workspace", args->workspace);
    tally_run_pointers(&plan->base.computation, args, elements, is_push, all);
    for (int k = 0; k < TALLY_POINTERS && status == TALLY_OK; k++)
        status = check_pointer(plan, all[k].name, all[k].address);
    return status;
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

static tally_status submit(tally_vulkan_plan *plan, const char *what) {
    tally_vulkan_barrier(plan->device, plan->commands.buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    return tally_vulkan_submit(plan->device, &plan->commands, false, what);
}

/* What the kernels found wrong, once they are done. */
static tally_status outcome_of(const tally_computation *c, const tally_args *args,
                               const tally_vulkan_control *control) {
    const bool is_bad = control->refused & TALLY_VULKAN_REFUSED_BAD;
    const tally_outcome outcome = {.is_bad = is_bad,
                                   .is_empty = control->refused & TALLY_VULKAN_REFUSED_EMPTY,
                                   .lacks_room = control->refused & TALLY_VULKAN_REFUSED_RUNS,
                                   .segment = is_bad ? ~control->not_bad : ~control->not_empty,
                                   .runs = control->runs};
    return tally_run_outcome(c, args, &outcome);
}

static bool is_grouped(const tally_computation *c) {
    return c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
}

/* Submits a synchronous run and hears what it has to say. */
static tally_status conclude(tally_vulkan_plan *plan, const tally_args *args, const tally_vulkan_cut *cut) {
    const tally_computation *c = &plan->base.computation;
    const tally_vulkan_control *control = plan->outcome.host;
    tally_status status = submit(plan, "running a plan");
    if (status != TALLY_OK || cut->path == TALLY_VULKAN_NOTHING || !is_grouped(c)) {
        if (status == TALLY_OK && tally_counts_runs(c) && args->count)
            *args->count = 0;
        return status;
    }
    if (tally_counts_runs(c) && args->count)
        *args->count = control->runs;
    return outcome_of(c, args, control);
}

static tally_status run(tally_vulkan_plan *plan, const tally_args *args, tally_vulkan_pieces pieces,
                        const tally_vulkan_extra *extra, VkCommandBuffer stream) {
    const tally_computation *c = &plan->base.computation;
    tally_vulkan_cut cut;
    tally_vulkan_cut_make(plan->device, c, plan->slot, &args->shape, &cut);
    VkDeviceAddress workspace = 0;
    const bool tells = !stream && cut.path != TALLY_VULKAN_NOTHING && is_grouped(c);
    tally_status status = tally_run_check_empty(c, args);
    if (status == TALLY_OK && stream && tally_counts_runs(c) && args->count)
        status = tally_fail(TALLY_INVALID_ARGUMENT, "args.count is host memory, which a command buffer does not reach; "
                                                    "leave it NULL with a stream");
    if (status == TALLY_OK && cut.too_many)
        status = tally_fail(TALLY_UNSUPPORTED, "%s%s by %s: so many groups take more workgroups than Vulkan has",
                            c->exact ? "exact " : "", c->entry ? c->entry->name : "a user operator",
                            tally_grouping_name(c->desc.grouping));
    if (status == TALLY_OK)
        status = check_pointers(plan, args, cut.elements, pieces.total != 0);
    if (status == TALLY_OK)
        status = workspace_of(plan, args, &cut, &workspace);
    if (status == TALLY_OK && tells && !plan->outcome.buffer)
        status = tally_vulkan_allocate_shared(plan->device, sizeof(tally_vulkan_control),
                                              "allocating memory for a run's outcome", &plan->outcome);
    if (status == TALLY_OK && !stream)
        status = begin(plan);
    if (status != TALLY_OK)
        return status;
    const tally_vulkan_launch launch = {.plan = plan,
                                        .args = args,
                                        .cut = &cut,
                                        .workspace = workspace,
                                        .pieces = pieces,
                                        .count = extra ? extra->count : 0,
                                        .runs = extra && tally_counts_runs(c) ? extra->runs : 0,
                                        .outcome = tells ? plan->outcome.address : 0,
                                        .buffer = stream ? stream : plan->commands.buffer};
    tally_vulkan_launch_all(&launch);
    return stream ? TALLY_OK : conclude(plan, args, &cut);
}

tally_status tally_vulkan_plan_run(tally_plan *base, const tally_args *args, uint64_t results, tally_stream stream) {
    (void)results;
    return run((tally_vulkan_plan *)base, args, (tally_vulkan_pieces){0, 0, 0}, NULL, (VkCommandBuffer)stream);
}

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
    if (!tally_vulkan_is_plan(base))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_vulkan_record: the plan is not of a Vulkan device");
    tally_status status = check_extra(&base->computation, extra);
    if (status == TALLY_OK)
        status = tally_args_check(&base->computation, args, false, &results);
    if (status != TALLY_OK)
        return status;
    return run((tally_vulkan_plan *)base, args, (tally_vulkan_pieces){0, 0, 0}, extra, (VkCommandBuffer)command_buffer);
}

/* ---- pieces ---- */

static tally_status begin_pieces(tally_vulkan_plan *plan, uint64_t columns, const void *initial) {
    const tally_computation *c = &plan->base.computation;
    size_t bytes;
    if (__builtin_mul_overflow(columns, c->exact ? tally_vulkan_exact_state_bytes(c) : plan->slot.bytes, &bytes))
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %" PRIu64 " accumulators", columns);
    tally_status status = check_pointer(plan, "initial", initial);
    for (int k = 0; k < 2 && status == TALLY_OK; k++)
        status = grow(plan, &plan->totals[k], bytes ? bytes : 1);
    if (status == TALLY_OK && columns && !c->exact) { /* exact sums begin with their first piece */
        status = begin(plan);
        if (status == TALLY_OK) {
            tally_vulkan_clear_totals(plan, plan->commands.buffer, plan->totals[0].address, initial, columns);
            status = submit(plan, "beginning with pieces");
        }
    }
    if (status != TALLY_OK)
        return status;
    plan->current = 0;
    plan->input = (tally_pieces){.begun = true, .columns = columns};
    return TALLY_OK;
}

tally_status tally_vulkan_plan_push(tally_plan *base, const tally_args *args) {
    tally_vulkan_plan *plan = (tally_vulkan_plan *)base;
    uint64_t columns;
    bool first = !plan->input.begun;
    tally_status status = tally_pieces_next(&plan->input, &base->computation, &args->shape, &columns);
    if (status == TALLY_OK && first)
        status = begin_pieces(plan, columns, args->initial);
    if (status != TALLY_OK || !args->shape.extent || !columns)
        return status;
    const bool begins = base->computation.exact && plan->input.rows == 0;
    const tally_vulkan_pieces pieces = {begins ? 0 : plan->totals[plan->current].address,
                                        plan->totals[!plan->current].address, plan->input.rows};
    status = run(plan, args, pieces, NULL, NULL);
    if (status == TALLY_OK) {
        plan->input.rows += args->shape.extent;
        plan->current = !plan->current;
    } else if (first) {
        plan->input.begun = false; /* as if it had not been tried */
    }
    return status;
}

/* A tally_finish without a push is the reduction of nothing. */
static tally_status finish(tally_vulkan_plan *plan, void *out, size_t out_bytes) {
    const tally_computation *c = &plan->base.computation;
    if (tally_is_scan(c))
        return TALLY_OK;
    uint64_t columns;
    tally_status status = tally_pieces_finish(&plan->input, c, out_bytes, &columns);
    if (status == TALLY_OK)
        status = check_pointer(plan, "out", out);
    if (status == TALLY_OK && !plan->input.begun)
        status = begin_pieces(plan, 1, NULL);
    if (status == TALLY_OK && columns)
        status = begin(plan);
    if (status != TALLY_OK || !columns)
        return status;
    const VkDeviceAddress totals = plan->totals[plan->current].address;
    if (c->exact)
        tally_vulkan_exact_finish(plan, plan->commands.buffer, plan->input.rows ? totals : 0, columns, plan->input.rows,
                                  out);
    else
        tally_vulkan_lower_totals(plan, plan->commands.buffer, totals, columns, plan->input.rows, out);
    return submit(plan, "finishing pieces");
}

tally_status tally_vulkan_plan_finish(tally_plan *base, void *out, size_t out_bytes) {
    tally_status status = finish((tally_vulkan_plan *)base, out, out_bytes);
    if (status == TALLY_OK)
        tally_vulkan_plan_reset(base);
    return status;
}

void tally_vulkan_plan_reset(tally_plan *base) {
    tally_vulkan_plan *plan = (tally_vulkan_plan *)base;
    plan->input = (tally_pieces){0};
}
