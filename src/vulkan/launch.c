#include "vulkan/launch.h"

/* As arguments.comp declares them. */
typedef struct arguments {
    uint64_t x, y, out, slots, carry, total, initial, index;
    uint64_t columns, extent, inner, chunk, chunks, before;
    uint32_t types;
    int32_t ddof;
    uint32_t width, unused;
} arguments;
_Static_assert(sizeof(arguments) == TALLY_VULKAN_ARGUMENT_BYTES, "the kernels' arguments");

enum { MOST_GRID = 65535 /* workgroups a dimension, which every device takes */ };

/* Workgroups that are too many for the grid take turns. */
static void dispatch(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkPipeline kernel, const arguments *a,
                     uint64_t groups) {
    const tally_vulkan_api *api = &plan->device->api;
    const uint64_t x = groups < MOST_GRID ? groups : MOST_GRID, rows = groups / x + (groups % x != 0);
    api->vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, kernel);
    api->vkCmdPushConstants(buffer, plan->device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *a, a);
    api->vkCmdDispatch(buffer, (uint32_t)x, (uint32_t)(rows < MOST_GRID ? rows : MOST_GRID), 1);
}

/* What the dispatches before have written is there for those that follow. */
static void then(const tally_vulkan_plan *plan, VkCommandBuffer buffer) {
    tally_vulkan_barrier(plan->device, buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

static arguments arguments_of(const tally_vulkan_launch *l) {
    const tally_args *a = l->args;
    const tally_vulkan_cut *cut = l->cut;
    return (arguments){.x = tally_vulkan_address(a->x),
                       .y = tally_vulkan_address(a->y),
                       .out = tally_vulkan_address(a->out),
                       .initial = tally_vulkan_address(a->initial),
                       .index = l->count,
                       .columns = cut->columns,
                       .extent = cut->extent,
                       .inner = cut->inner,
                       .chunk = cut->chunk,
                       .chunks = cut->chunks,
                       .before = l->pieces.before,
                       .types = l->plan->types,
                       .ddof = l->plan->base.computation.desc.ddof,
                       .width = cut->width};
}

static uint64_t panels(uint64_t columns, uint32_t width) {
    const uint64_t w = width ? width : 1;
    return columns / w + (columns % w != 0);
}

/* Elements to results, or to an accumulator a chunk and those to results. */
static void launch_fold(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    arguments a = arguments_of(l);
    const bool at_once = cut->chunks == 1;
    a.carry = at_once ? l->pieces.carry : 0;
    a.total = at_once ? l->pieces.total : 0;
    a.slots = at_once ? 0 : l->workspace + cut->slots;
    dispatch(l->plan, l->buffer, l->plan->kernels[TALLY_VULKAN_REDUCE], &a,
             panels(cut->columns, cut->width) * cut->chunks);
    if (at_once)
        return;
    then(l->plan, l->buffer);
    a.x = a.slots;
    a.slots = 0;
    a.carry = l->pieces.carry;
    a.total = l->pieces.total;
    /* 'before' and 'extent' add up to the elements that there are, for means */
    a.chunk = cut->chunks;
    a.chunks = 1;
    a.width = cut->fold_width;
    dispatch(l->plan, l->buffer, l->plan->fold_slots, &a, panels(cut->columns, cut->fold_width));
}

/* With several chunks: their accumulators, what comes before each, and the scan of each from there. */
static void launch_scan(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    arguments a = arguments_of(l);
    const bool along_rows = cut->path == TALLY_VULKAN_ALONG_ROWS;
    a.carry = l->pieces.carry;
    if (a.carry)
        a.initial = 0;
    if (cut->chunks > 1) {
        arguments sums = a;
        sums.slots = l->workspace + cut->slots;
        sums.carry = 0;
        dispatch(l->plan, l->buffer, l->plan->kernels[TALLY_VULKAN_REDUCE], &sums,
                 panels(cut->columns, cut->width) * cut->chunks);
        then(l->plan, l->buffer);
        sums.carry = a.carry;
        sums.total = l->pieces.total;
        sums.width = cut->fold_width;
        dispatch(l->plan, l->buffer, l->plan->kernels[TALLY_VULKAN_SPINE], &sums,
                 panels(cut->columns, cut->fold_width));
        then(l->plan, l->buffer);
        a.slots = sums.slots;
    } else {
        a.total = l->pieces.total;
    }
    dispatch(l->plan, l->buffer, l->plan->kernels[along_rows ? TALLY_VULKAN_SCAN_ROWS : TALLY_VULKAN_SCAN_COLUMNS], &a,
             cut->scan_groups);
}

/* ---- segments and keys ---- */

static uint64_t divide_up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* Results that the output takes. */
static uint64_t room_of(const tally_computation *c, const tally_args *a) {
    uint64_t room = a->out_bytes / (c->out_bytes * c->per_result);
    if (a->keys_out && a->keys_out_bytes / c->index_bytes < room)
        room = a->keys_out_bytes / c->index_bytes;
    return room;
}

static void launch_inspection(const tally_vulkan_launch *l, const arguments *groups) {
    const tally_computation *c = &l->plan->base.computation;
    const tally_vulkan_cut *cut = l->cut;
    const uint64_t items = groups->columns + 1 > cut->tiles ? groups->columns + 1 : cut->tiles;
    const uint64_t wanted = divide_up(items, l->plan->device->block);
    arguments a = *groups;
    a.chunk = cut->tile;
    a.chunks = cut->tiles;
    a.width = !tally_is_scan(c) && (c->entry->flags & TALLY_OPERATOR_EMPTY_IS_ERROR) ? 1 : 0;
    dispatch(l->plan, l->buffer, l->plan->kernels[TALLY_VULKAN_INSPECT_SEGMENTS], &a, wanted);
    then(l->plan, l->buffer);
}

static void launch_groups(const tally_vulkan_launch *l) {
    const tally_computation *c = &l->plan->base.computation;
    const tally_vulkan_cut *cut = l->cut;
    const VkPipeline *k = l->plan->kernels;
    const bool keys = c->desc.grouping == TALLY_KEYS;
    const bool counts = cut->chunks > 1 || (keys && !tally_is_scan(c));
    arguments a = arguments_of(l);
    a.columns = l->args->shape.segments;
    a.index = tally_vulkan_address(keys ? l->args->keys : l->args->offsets);
    a.inner = room_of(c, l->args);
    a.carry = tally_vulkan_address(l->args->keys_out);
    a.total = l->workspace + cut->control;
    a.before = l->workspace + cut->places;
    a.slots = counts ? l->workspace + cut->slots : 0;
    dispatch(l->plan, l->buffer, k[TALLY_VULKAN_CLEAR_CONTROL], &a, 1);
    then(l->plan, l->buffer);
    if (!keys)
        launch_inspection(l, &a);
    if (counts) {
        dispatch(l->plan, l->buffer, k[TALLY_VULKAN_FOLD_GROUPS], &a, cut->chunks);
        then(l->plan, l->buffer);
        dispatch(l->plan, l->buffer, k[TALLY_VULKAN_SPINE_OF_GROUPS], &a, 1);
        then(l->plan, l->buffer);
    }
    dispatch(l->plan, l->buffer, k[TALLY_VULKAN_GIVE_GROUPS], &a, cut->chunks);
    const VkDeviceAddress reports[] = {l->outcome, l->runs};
    for (uint32_t r = 0; r < 2; r++)
        if (reports[r]) {
            a.out = reports[r];
            a.width = r;
            dispatch(l->plan, l->buffer, k[TALLY_VULKAN_REPORT], &a, 1);
        }
}

void tally_vulkan_launch_all(const tally_vulkan_launch *l) {
    switch (l->cut->path) {
    case TALLY_VULKAN_FOLD:
        then(l->plan, l->buffer); /* whoever used the workspace before is done with it */
        launch_fold(l);
        break;
    case TALLY_VULKAN_ALONG_ROWS:
    case TALLY_VULKAN_ALONG_COLUMNS:
        then(l->plan, l->buffer);
        launch_scan(l);
        break;
    case TALLY_VULKAN_BY_GROUPS:
        then(l->plan, l->buffer);
        launch_groups(l);
        break;
    default:
        break;
    }
}

/* ---- pieces ---- */

static arguments totals_arguments(const tally_vulkan_plan *plan, uint64_t count) {
    return (arguments){.columns = count,
                       .inner = 1,
                       .chunk = 1,
                       .chunks = 1,
                       .types = plan->types,
                       .ddof = plan->base.computation.desc.ddof,
                       .width = plan->device->block};
}

void tally_vulkan_clear_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               const void *initial, uint64_t count) {
    arguments a = totals_arguments(plan, count);
    const bool scans = plan->kernels[TALLY_VULKAN_SPINE] != VK_NULL_HANDLE;
    a.total = totals;
    a.initial = tally_vulkan_address(initial);
    a.chunks = scans ? 0 : 1;
    dispatch(plan, buffer, scans ? plan->kernels[TALLY_VULKAN_SPINE] : plan->fold_slots, &a, panels(count, a.width));
}

void tally_vulkan_lower_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               uint64_t count, uint64_t elements, void *out) {
    arguments a = totals_arguments(plan, count);
    a.x = totals;
    a.out = tally_vulkan_address(out);
    a.extent = 1;
    a.before = elements - 1;
    dispatch(plan, buffer, plan->fold_slots, &a, panels(count, a.width));
}
