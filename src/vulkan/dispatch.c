#include "vulkan/dispatch.h"

#include "core/arithmetic.h"
#include "vulkan/path.h"

typedef tally_vulkan_arguments arguments;

static void dispatch(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkPipeline kernel, const arguments *a,
                     uint64_t groups) {
    const tally_vulkan_api *api = &plan->device->api;
    if (!groups)
        return;
    const uint64_t x = groups < TALLY_VULKAN_MOST_GRID ? groups : TALLY_VULKAN_MOST_GRID;
    const uint64_t rows = groups / x + (groups % x != 0);
    api->vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, kernel);
    api->vkCmdPushConstants(buffer, plan->device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *a, a);
    api->vkCmdDispatch(buffer, (uint32_t)x, (uint32_t)(rows < TALLY_VULKAN_MOST_GRID ? rows : TALLY_VULKAN_MOST_GRID),
                       1);
}

void tally_vulkan_dispatch(const tally_vulkan_launch *l, VkPipeline kernel, const arguments *a, uint64_t groups) {
    dispatch(l->plan, l->buffer, kernel, a, groups);
}

void tally_vulkan_then(const tally_vulkan_launch *l) {
    tally_vulkan_after_dispatches(l->plan->device, l->buffer);
}

arguments tally_vulkan_arguments_of(const tally_vulkan_launch *l) {
    const tally_args *a = l->args;
    const tally_vulkan_cut *cut = l->cut;
    return (arguments){.x = tally_vulkan_address(a->x),
                       .y = tally_vulkan_address(a->y),
                       .out_at = tally_vulkan_address(a->out),
                       .initial = tally_vulkan_address(a->initial),
                       .count = l->count,
                       .columns = cut->columns,
                       .extent = cut->extent,
                       .inner = cut->inner,
                       .before = l->pieces.before,
                       .chunk = (uint32_t)cut->chunk,
                       .chunks = (uint32_t)cut->chunks,
                       .panels = (uint32_t)cut->panels,
                       .types = l->plan->types,
                       .ddof = l->plan->gpu.base.computation.desc.ddof,
                       .width = cut->width,
                       .many = cut->many};
}

void tally_vulkan_dispatch_panels(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkPipeline kernel,
                                  arguments *a) {
    a->panels = (uint32_t)divide_up(a->columns, a->width);
    dispatch(plan, buffer, kernel, a, a->panels);
}

/* ---- segments and keys ---- */

/* Results that the output takes. */
static uint64_t room_of(const tally_computation *c, const tally_args *a) {
    uint64_t room = a->out_bytes / (c->out_bytes * c->per_result);
    if (a->keys_out && a->keys_out_bytes / c->index_bytes < room)
        room = a->keys_out_bytes / c->index_bytes;
    return room;
}

void tally_vulkan_group_arguments(const tally_vulkan_launch *l, arguments *a) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const bool keys = c->desc.grouping == TALLY_KEYS;
    if (keys) {
        a->room = room_of(c, l->args);
        a->keys = tally_vulkan_address(l->args->keys);
    } else {
        a->segments = l->args->shape.groups;
        a->offsets = tally_vulkan_address(l->args->offsets);
    }
    if (!tally_is_scan(c)) /* a carry has the same place */
        a->keys_out = tally_vulkan_address(l->args->keys_out);
    a->control = l->control ? l->control : l->workspace + l->cut->control;
}

void tally_vulkan_inspect(const tally_vulkan_launch *l, const arguments *groups) {
    if (!l->is_clear) {
        tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_CLEAR_CONTROL], groups, 1);
        tally_vulkan_then(l);
    }
    if (l->plan->gpu.base.computation.desc.grouping == TALLY_SEGMENTS)
        tally_vulkan_inspect_segments(l, groups);
}

void tally_vulkan_inspect_segments(const tally_vulkan_launch *l, const arguments *groups) {
    enum { INSPECTED = 4 /* vectors a thread, of control.comp */, MOST = 4096 };
    const tally_computation *c = &l->plan->gpu.base.computation;
    const tally_vulkan_cut *cut = l->cut;
    const VkPipeline *k = l->plan->kernels;
    arguments a = *groups;
    const uint64_t vectors = divide_up(a.segments + 1, 16 / c->index_bytes);
    a.marks = cut->head_words ? l->workspace + cut->heads : 0;
    a.tile = (uint32_t)cut->tile;
    a.tiles = a.marks ? 0 : (uint32_t)cut->tiles;
    const uint64_t items = most(divide_up(vectors, INSPECTED), a.tiles);
    a.refuses_empty = tally_empty_is_error(c);
    a.listed = l->workspace + cut->listed;
    a.most_listed = cut->most_listed;
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_INSPECT_SEGMENTS], &a,
                          least(divide_up(items, l->plan->device->block), MOST));
    tally_vulkan_then(l);
}

void tally_vulkan_tell(const tally_vulkan_launch *l, const arguments *groups) {
    const VkDeviceAddress to[] = {l->outcome, l->runs};
    arguments a = *groups;
    for (uint32_t k = 0; k < 2; k++)
        if (to[k]) {
            a.out_at = to[k];
            a.only_runs = k;
            tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_REPORT], &a, 1);
        }
}

/* Reverse tiles begin at the end; rows begin where the last one ends, if they are not taken as one array. */
bool tally_vulkan_is_misaligned(const tally_computation *c, const tally_vulkan_cut *cut, const tally_args *a) {
    const bool as_one = cut->rows_a_chunk || cut->rows_once; /* all rows */
    const bool by_rows = c->desc.grouping == TALLY_AXIS && a->shape.outer > 1 && !as_one;
    const uint64_t elements = as_one ? cut->elements : a->shape.extent;
    const uint64_t within = c->reverse || by_rows ? elements : 0, result = c->out_bytes * c->per_result;
    const uint64_t low = tally_vulkan_address(a->x) | tally_vulkan_address(a->y) | tally_vulkan_address(a->out) |
                         within * c->in_bytes | within * result;
    return low % 16 != 0;
}

unsigned tally_vulkan_ahead(const tally_vulkan_plan *plan, const tally_vulkan_cut *cut, const tally_args *a) {
    /* Elements of one byte could lie in 256 ways. Results of 8 bytes are stored by twos, in as many instructions. */
    enum { LEAST_BYTES = 2, MOST_BYTES = 4 };
    const tally_computation *c = &plan->gpu.base.computation;
    const uint64_t x = tally_vulkan_address(a->x), out = tally_vulkan_address(a->out);
    const bool fills = 16 / c->in_bytes * c->out_bytes >= 16;
    if (!tally_vulkan_takes_once(plan->device, c) || !cut->tiles || plan->device->lanes == 1 || c->reverse ||
        c->in_bytes < LEAST_BYTES || x % c->in_bytes || out % c->out_bytes || (c->out_bytes > MOST_BYTES && out % 16))
        return 0;
    return (unsigned)(x % 16 + (fills ? out % 16 * 16 : 0));
}
