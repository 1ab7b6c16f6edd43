#include "vulkan/scan_window.h"

#include "core/arithmetic.h"
#include "vulkan/dispatch.h"

/* The kernels' bits need fewer than 2^33 elements. */
enum {
    LEAST_ELEMENTS = 1 << 20,
    MOST_LOG = 33,
    WINDOW_BYTES = 32, /* of window_at in scan_window.comp; as many of a sum */
    GROUPS = 396,      /* as of scan_once.comp */
    CHECK_GROUPS = 1056,
    LEAST_BLOCK = 128
};

static unsigned words_of_sum(const tally_computation *c) {
    return tally_vulkan_window_words(c->desc.in == TALLY_F64 ? TALLY_VULKAN_window64 : TALLY_VULKAN_window32);
}

/* The shared memory that scan_in_window.comp takes, at most. */
static unsigned shared_bytes(const tally_vulkan_device *v, const tally_computation *c) {
    const unsigned sums = (TALLY_VULKAN_WINDOW_VECTORS + 1) * v->block;
    const unsigned words = words_of_sum(c) * (sums + sums / 32 + sums / 8 + 16), cuts = TALLY_VULKAN_WINDOW_VECTORS;
    return sizeof(uint32_t) * (words + cuts * v->block);
}

/* It takes doubles, integers of 64 bits, and workgroups that wait for others that have started. */
static bool has_window(const tally_vulkan_device *v, const tally_computation *c) {
    return c->desc.in == c->desc.out && v->least_once != UINT64_MAX && v->has_double && v->has_int64 && v->rounds_f32 &&
           v->rounds_f64 && v->block >= LEAST_BLOCK && v->shared_bytes >= shared_bytes(v, c);
}

tally_status tally_vulkan_window_load(tally_vulkan_plan *plan) {
    static const tally_vulkan_kernel kernels[] = {TALLY_VULKAN_FIND_WINDOW, TALLY_VULKAN_CHECK_WINDOW,
                                                  TALLY_VULKAN_SCAN_IN_WINDOW, TALLY_VULKAN_MARK_HEADS};
    tally_vulkan_device *device = plan->device;
    const tally_vulkan_module *module;
    tally_vulkan_slot slot;
    if (!has_window(device, &plan->gpu.base.computation))
        return TALLY_OK;
    tally_computation c = plan->gpu.base.computation;
    c.in_window = true;
    const size_t count = sizeof kernels / sizeof *kernels - (c.desc.grouping == TALLY_ALL_VALUES ? 1 : 0);
    tally_status status = tally_vulkan_module_get(device, &c, &module, &slot);
    for (size_t k = 0; k < count && status == TALLY_OK; k++)
        status = tally_vulkan_pipeline_get(device, &c, module, device->block, kernels[k], TALLY_VULKAN_PLAIN,
                                           &plan->kernels[kernels[k]]);
    if (status == TALLY_OK)
        status = tally_vulkan_pipeline_get(device, &c, module, device->block, TALLY_VULKAN_SCAN_IN_WINDOW,
                                           TALLY_VULKAN_ANYWHERE, &plan->anywhere[TALLY_VULKAN_SCAN_IN_WINDOW]);
    if (status == TALLY_OK)
        status =
            tally_vulkan_service_get(device, &c, TALLY_VULKAN_CLEAR_TILES, &plan->kernels[TALLY_VULKAN_CLEAR_TILES]);
    plan->has_window = status == TALLY_OK;
    return status;
}

/* ---- cuts ---- */

static uint64_t tile_of(const tally_vulkan_plan *plan) {
    return (uint64_t)plan->device->block * TALLY_VULKAN_WINDOW_VECTORS * (16 / plan->gpu.base.computation.in_bytes);
}

/* Words of the sums of some tiles, and the ticket. A sum travels in one word more than it has (scan_in_window.comp). */
static uint64_t words_of_tiles(const tally_vulkan_plan *plan, uint64_t tiles) {
    enum { WINDOW = 32 };
    return divide_up(tiles, WINDOW) * WINDOW * (words_of_sum(&plan->gpu.base.computation) + 1) + 1;
}

void tally_vulkan_window_cut(const tally_vulkan_plan *plan, tally_vulkan_cut *cut) {
    const uint64_t tiles = divide_up(cut->elements, tile_of(plan));
    if (!plan->has_window || cut->path != TALLY_VULKAN_PREFIXES || cut->elements >> MOST_LOG ||
        cut->elements < least(LEAST_ELEMENTS, plan->device->least_once) || cut->inner != 1)
        return;
    cut->in_window.tiles = tiles;
    cut->in_window.words = words_of_tiles(plan, tiles) + words_of_tiles(plan, 1); /* and of a last one by itself */
    cut->in_window.groups = least(tiles, GROUPS);
    if (plan->gpu.base.computation.desc.grouping != TALLY_ALL_VALUES)
        cut->in_window.head_words = tiles * tile_of(plan) / 32;
    cut->in_window.window = tally_vulkan_place(cut, WINDOW_BYTES);
    cut->in_window.sums =
        tally_vulkan_place(cut, (cut->in_window.words + cut->in_window.head_words) * sizeof(uint32_t));
    cut->in_window.all = tally_vulkan_place(cut, WINDOW_BYTES);
}

/* ---- runs ---- */

/* In place, elements would be gone when a later one turned out not to fit. So all of them are checked before. */
static bool is_in_place(const tally_vulkan_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t x = tally_vulkan_address(l->args->x), out = tally_vulkan_address(l->args->out);
    return x + l->cut->elements * c->in_bytes > out && out + l->cut->elements * c->out_bytes > x;
}

/* All groups are one array here, which tiles in reverse begin at the end of. */
static bool is_misaligned(const tally_vulkan_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t within = c->reverse ? l->cut->elements * c->in_bytes : 0;
    return (tally_vulkan_address(l->args->x) | tally_vulkan_address(l->args->out) | within) % 16 != 0;
}

/* Clears the words of tiles' sums, finds the window, and notes where groups begin. */
static void prepare(const tally_vulkan_launch *l, const tally_vulkan_arguments *scan) {
    const VkPipeline *k = l->plan->kernels;
    tally_vulkan_arguments clear = *scan;
    clear.words = l->cut->in_window.words + l->cut->in_window.head_words;
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_CLEAR_TILES], &clear,
                          least(divide_up(clear.words, l->plan->device->block), l->cut->in_window.groups));
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_FIND_WINDOW], scan, 1);
    tally_vulkan_then(l);
    if (scan->heads) {
        tally_vulkan_dispatch(l, k[TALLY_VULKAN_MARK_HEADS], scan, CHECK_GROUPS);
        tally_vulkan_then(l);
    }
    if (!is_in_place(l))
        return;
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_CHECK_WINDOW], scan, CHECK_GROUPS);
    tally_vulkan_then(l);
}

/* Whole tiles, and the rest of the last one, which continues from their sum. Tiles that begin anywhere need not be
 * whole. */
void tally_vulkan_window_launch(const tally_vulkan_launch *l, const tally_vulkan_arguments *scan) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t tile = tile_of(l->plan), tiles = is_misaligned(l) ? 0 : l->cut->elements / tile,
                   whole = tiles * tile;
    tally_vulkan_arguments a = *scan;
    a.tile_words = l->workspace + l->cut->in_window.sums;
    a.heads = l->cut->in_window.head_words ? a.tile_words + l->cut->in_window.words * sizeof(uint32_t) : 0;
    if (c->desc.grouping == TALLY_AXIS) {
        a.inner = a.extent;
        a.extent = l->cut->elements;
    }
    prepare(l, &a);
    a.carry = a.total = 0; /* before, the latter was the control block */
    if (tiles) {
        a.tiles = (uint32_t)tiles;
        a.total = l->workspace + l->cut->in_window.all;
        tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_SCAN_IN_WINDOW], &a,
                              least(tiles, l->cut->in_window.groups));
        tally_vulkan_then(l);
        a.carry = a.total;
        a.total = 0;
        a.tile_words += words_of_tiles(l->plan, tiles) * sizeof(uint32_t);
        a.heads += a.heads ? whole / 8 : 0;
        a.x += c->reverse ? 0 : whole * c->in_bytes;
        a.out_at += c->reverse ? 0 : whole * c->out_bytes;
        a.extent -= whole;
    }
    if (!a.extent)
        return;
    a.tiles = (uint32_t)divide_up(a.extent, tile);
    tally_vulkan_dispatch(l, l->plan->anywhere[TALLY_VULKAN_SCAN_IN_WINDOW], &a,
                          least(a.tiles, l->cut->in_window.groups));
    tally_vulkan_then(l);
}
