#include "vulkan/workspace.h"

#include <string.h>

#include "core/arithmetic.h"
#include "vulkan/exact.h"

enum {
    GROUPS = 1024,   /* workgroups that a long reduction or scan is cut into: about what a large GPU holds at a time */
    UNROLL = 4,      /* vectors a thread, as in reduce.comp */
    SHORT_ROW = 512, /* rows up to here are taken many at a time */
    ROWS_A_THREAD = 8,  /* of a short row or a column, at least */
    PANEL = 64,         /* neighbouring columns of a workgroup, if there are as many */
    THREADS = 1 << 17,  /* that a scan along columns is cut into */
    LEAST_STRETCH = 32, /* rows of a column that a scanning thread takes */
    ALIGNMENT = 256
};

/* The least power of two that is not less. */
static uint64_t power_of_two(uint64_t n, uint64_t limit) {
    uint64_t power = 1;
    while (power < n && power < limit)
        power *= 2;
    return power;
}

uint32_t tally_vulkan_block_of(const tally_vulkan_device *device, tally_vulkan_slot slot) {
    enum { BESIDES = 1024, LEAST = 32 /* a word of head bits */ };
    const unsigned a_thread = slot.bytes * (1 + tally_vulkan_tile_slots(slot)) + (unsigned)sizeof(uint64_t);
    uint32_t block = device->block;
    while (block > LEAST && block * a_thread + BESIDES > device->shared_bytes)
        block /= 2;
    return block;
}

size_t tally_vulkan_place(tally_vulkan_cut *cut, uint64_t bytes) {
    size_t at = cut->bytes;
    cut->bytes += (size_t)divide_up(bytes, ALIGNMENT) * ALIGNMENT;
    return at;
}

/* Chunks of whole steps, at most 'wanted'. */
static void cut_chunks(tally_vulkan_cut *cut, uint64_t step, uint64_t wanted) {
    const uint64_t chunks = most(1, least(divide_up(cut->extent, step), wanted));
    cut->chunk = most(1, divide_up(divide_up(cut->extent, chunks), step)) * step;
    cut->chunks = most(1, divide_up(cut->extent, cut->chunk));
}

static void cut_fold(uint32_t block, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t step = (uint64_t)block * UNROLL * (16 / c->in_bytes);
    cut->path = TALLY_VULKAN_FOLD;
    if (cut->inner == 1 && (cut->columns == 1 || cut->extent > SHORT_ROW)) {
        cut->width = 0;
        cut_chunks(cut, step, GROUPS / cut->columns);
    } else if (cut->inner == 1) {
        cut->width = (uint32_t)(block / power_of_two(divide_up(cut->extent, ROWS_A_THREAD), block));
        cut->chunk = most(1, cut->extent);
        cut->chunks = 1;
    } else {
        cut->width = (uint32_t)power_of_two(cut->columns, PANEL);
        const uint64_t panels = divide_up(cut->columns, cut->width), parts = block / cut->width;
        cut_chunks(cut, parts * ROWS_A_THREAD, 2 * GROUPS / panels);
    }
    cut->fold_width = (uint32_t)power_of_two(cut->columns, most(1, block / power_of_two(cut->chunks, 256)));
}

static void cut_scan(uint32_t block, const tally_computation *c, tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    if (cut->inner == 1 && (cut->columns == 1 || cut->extent > SHORT_ROW)) {
        cut->path = TALLY_VULKAN_ALONG_ROWS;
        cut->width = 0;
        cut_chunks(cut, (uint64_t)block * tally_vulkan_tile_slots(slot) * (16 / c->in_bytes), GROUPS / cut->columns);
        cut->scan_groups = cut->columns * cut->chunks;
    } else {
        cut->path = TALLY_VULKAN_ALONG_COLUMNS;
        cut_chunks(cut, LEAST_STRETCH, THREADS / cut->columns);
        const uint64_t parts = power_of_two(divide_up(cut->chunk, ROWS_A_THREAD), block);
        cut->width = (uint32_t)least(power_of_two(cut->columns, block), block / parts);
        cut->scan_groups = divide_up(cut->columns * cut->chunks, block);
    }
    cut->fold_width = (uint32_t)power_of_two(cut->columns, most(1, block / power_of_two(cut->chunks, 256)));
}

/* A chunk is some tiles. Keys' runs are counted beforehand, which takes the records of chunks even of one. */
static void cut_groups(uint32_t block, const tally_computation *c, tally_vulkan_slot slot, const tally_shape *shape,
                       tally_vulkan_cut *cut) {
    const bool keys = c->desc.grouping == TALLY_KEYS;
    if (!cut->extent && (keys || tally_is_scan(c)) && !shape->segments)
        return;
    cut->path = TALLY_VULKAN_BY_GROUPS;
    cut->tile = (uint64_t)block * tally_vulkan_tile_slots(slot);
    cut->tiles = most(1, divide_up(cut->extent, cut->tile));
    cut_chunks(cut, cut->tile, GROUPS);
    cut->control = tally_vulkan_place(cut, sizeof(tally_vulkan_control));
    if (cut->chunks > 1 || (keys && !tally_is_scan(c)))
        cut->slots = tally_vulkan_place(cut, cut->chunks * tally_vulkan_record_bytes(slot));
    if (!keys)
        cut->places = tally_vulkan_place(cut, cut->tiles * sizeof(uint64_t));
}

void tally_vulkan_cut_make(const tally_vulkan_device *device, const tally_computation *c, tally_vulkan_slot slot,
                           const tally_shape *shape, tally_vulkan_cut *cut) {
    const bool axis = c->desc.grouping == TALLY_AXIS;
    const uint32_t block = tally_vulkan_block_of(device, slot);
    memset(cut, 0, sizeof *cut);
    cut->columns = axis ? shape->outer * shape->inner : 1;
    cut->extent = shape->extent;
    cut->inner = axis ? shape->inner : 1;
    cut->elements = cut->columns * cut->extent;
    if (c->exact) {
        tally_vulkan_exact_cut(device, c, shape, cut);
        return;
    }
    if (c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS) {
        cut_groups(block, c, slot, shape, cut);
        return;
    }
    if (!cut->columns || (tally_is_scan(c) && !cut->elements))
        return;
    if (tally_is_scan(c))
        cut_scan(block, c, slot, cut);
    else
        cut_fold(block, c, cut);
    if (cut->chunks > 1)
        cut->slots = tally_vulkan_place(cut, cut->columns * cut->chunks * slot.bytes);
}
