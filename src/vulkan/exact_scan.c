#include "vulkan/exact_scan.h"

#include "core/arithmetic.h"
#include "vulkan/scan_window.h"

/* Mesa's lavapipe ends a thread's loops after 65535 rounds of them all (LP_MAX_TGSI_LOOP_ITERATIONS), and counts those
 * of eight threads together. An element of f64 takes 400 at worst: five loops over all words, and the search for the
 * next segment. */
enum {
    CHUNK = 512, /* elements of a column, which a thread takes; a chunk's sum takes 296 bytes */
    CHUNK_IN_SOFTWARE = 128,
    FAN_IN = 64 /* sums of chunks, the same */
};

/* The sums of a column's chunks are one level, the sums of FAN_IN of them the next. The last level is one thread's. */
static bool is_last(uint64_t sums) {
    return sums <= FAN_IN;
}

static bool is_grouped(const tally_computation *c) {
    return c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
}

void tally_vulkan_exact_scan_cut(const tally_vulkan_device *device, const tally_computation *c, tally_vulkan_slot slot,
                                 uint32_t block, const tally_shape *shape, tally_vulkan_cut *cut) {
    const uint64_t most_groups = (uint64_t)TALLY_VULKAN_MOST_GRID * TALLY_VULKAN_MOST_GRID;
    if (!cut->elements && !(c->desc.grouping == TALLY_SEGMENTS && shape->groups))
        return;
    cut->path = TALLY_VULKAN_PREFIXES;
    cut->chunk = device->is_software ? CHUNK_IN_SOFTWARE : CHUNK;
    cut->chunks = most(1, divide_up(cut->extent, cut->chunk));
    cut->too_many = cut->chunks > UINT32_MAX || cut->columns > most_groups / cut->chunks * block;
    if (is_grouped(c))
        cut->control = tally_vulkan_place(cut, sizeof(tally_vulkan_control));
    if (cut->chunks == 1)
        return;
    uint64_t sums = cut->chunks;
    for (uint64_t level = sums; !is_last(level); sums += level)
        level = divide_up(level, FAN_IN);
    cut->slots = tally_vulkan_place(cut, cut->columns * sums * slot.bytes);
}

static void dispatch(const tally_vulkan_launch *l, tally_vulkan_kernel kernel, const tally_vulkan_arguments *a) {
    tally_vulkan_dispatch(l, l->plan->kernels[kernel], a, divide_up(l->cut->columns * a->chunks, l->plan->block));
}

/* Turns the sums of chunks, each column's, into the sums up to the end of each chunk. */
static void scan_sums(const tally_vulkan_launch *l, const tally_vulkan_arguments *of_elements, uint64_t sums) {
    tally_vulkan_arguments a = *of_elements;
    const VkDeviceAddress next = a.slots + l->cut->columns * sums * l->plan->slot.bytes;
    a.x = a.slots;
    a.extent = sums;
    a.chunk = FAN_IN;
    a.chunks = (uint32_t)divide_up(sums, FAN_IN);
    a.out_at = a.slots = 0;
    if (!is_last(sums)) {
        a.out_at = next;
        dispatch(l, TALLY_VULKAN_SCAN_SUMS, &a);
        tally_vulkan_then(l);
        a.out_at = 0;
        a.slots = next;
        scan_sums(l, &a, a.chunks);
    }
    dispatch(l, TALLY_VULKAN_SCAN_SUMS, &a);
    tally_vulkan_then(l);
}

void tally_vulkan_exact_scan_launch(const tally_vulkan_launch *l) {
    const bool grouped = is_grouped(&l->plan->gpu.base.computation);
    tally_vulkan_arguments a = tally_vulkan_arguments_of(l);
    if (grouped) {
        tally_vulkan_group_arguments(l, &a);
        tally_vulkan_inspect(l, &a);
    } else {
        a.carry = l->pieces.carry;
        a.total = l->pieces.total;
    }
    a.in_groups = grouped;
    a.window = 0;
    if (l->cut->in_window.tiles && !l->pieces.total && !l->count) { /* pieces hand on sums in all words */
        a.window = l->workspace + l->cut->in_window.window;
        tally_vulkan_window_launch(l, &a);
    }
    if (l->cut->chunks > 1) {
        a.slots = l->workspace + l->cut->slots;
        dispatch(l, TALLY_VULKAN_SUM_CHUNKS, &a);
        tally_vulkan_then(l);
        scan_sums(l, &a, a.chunks);
    }
    dispatch(l, TALLY_VULKAN_GIVE_PREFIXES, &a);
    if (grouped)
        tally_vulkan_tell(l, &a);
}

void tally_vulkan_exact_scan_begin(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                                   const void *initial, uint64_t columns) {
    const tally_args args = {.initial = initial};
    const tally_vulkan_cut cut = {.columns = columns, .inner = 1, .chunk = CHUNK, .chunks = 1};
    const tally_vulkan_launch launch = {.plan = plan, .args = &args, .cut = &cut, .buffer = buffer};
    tally_vulkan_arguments a = tally_vulkan_arguments_of(&launch);
    a.total = totals;
    dispatch(&launch, TALLY_VULKAN_GIVE_PREFIXES, &a);
}
