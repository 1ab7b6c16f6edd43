#include "cuda/workspace.h"

#include <string.h>

enum {
    SHORT_ROW = 2048,        /* rows up to here are reduced by tiles */
    BLOCKS_A_PROCESSOR = 16, /* thread blocks for a long reduction: two waves */
    LEAST_STRETCH = 32,      /* rows of a column that one thread takes */
    ALIGNMENT = 256
};

static uint64_t divide_up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static size_t place(tally_cuda_cut *cut, uint64_t bytes) {
    size_t at = cut->bytes;
    cut->bytes += (size_t)divide_up(bytes, ALIGNMENT) * ALIGNMENT;
    return at;
}

static void cut_rows(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t extent,
                     tally_cuda_cut *cut) {
    uint64_t step = (uint64_t)TALLY_CUDA_BLOCK * sizes->vector * sizes->unroll;
    uint64_t wanted = (uint64_t)device->multiprocessors * BLOCKS_A_PROCESSOR;
    uint64_t blocks = most(1, least(divide_up(extent, step), wanted / cut->rows));
    cut->path = TALLY_CUDA_ROWS;
    cut->chunk = divide_up(divide_up(extent, blocks), step) * step;
    cut->blocks = cut->chunk ? divide_up(extent, cut->chunk) : 1;
    if (cut->blocks > 1) {
        cut->arrived = place(cut, cut->rows * sizeof(uint32_t));
        cut->zeroed_bytes = cut->bytes;
        cut->partials = place(cut, cut->rows * cut->blocks * sizes->slot_bytes);
    }
}

static void cut_tiles(const tally_cuda_sizes *sizes, bool has_segments, tally_cuda_cut *cut) {
    uint64_t tile = (uint64_t)TALLY_CUDA_BLOCK * sizes->tile_items;
    cut->path = TALLY_CUDA_TILES;
    cut->tiles = most(1, divide_up(cut->elements, tile));
    cut->control = place(cut, sizeof(tally_cuda_control));
    cut->status = place(cut, cut->tiles * sizeof(uint32_t));
    cut->zeroed_bytes = cut->bytes;
    cut->aggregates = place(cut, cut->tiles * sizes->record_bytes);
    cut->prefixes = place(cut, cut->tiles * sizes->record_bytes);
    if (has_segments)
        cut->first_segment = place(cut, cut->tiles * sizeof(uint64_t));
}

static void cut_columns(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t extent,
                        tally_cuda_cut *cut) {
    uint64_t wanted = (uint64_t)device->multiprocessors * (uint64_t)device->threads_per_sm * 2;
    uint64_t chunks = least(divide_up(wanted, cut->columns), divide_up(extent, LEAST_STRETCH));
    cut->path = TALLY_CUDA_COLUMNS;
    cut->stretch = most(1, divide_up(extent, most(1, chunks)));
    cut->column_chunks = most(1, divide_up(extent, cut->stretch));
    if (cut->column_chunks > 1)
        cut->partials = place(cut, cut->columns * cut->column_chunks * sizes->slot_bytes);
}

static void cut_axis(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                     const tally_shape *shape, tally_cuda_cut *cut) {
    bool scan = tally_is_scan(c);
    cut->rows = shape->outer * shape->inner;
    cut->elements = cut->rows * shape->extent;
    if (!cut->rows || (scan && !cut->elements))
        return;
    if (shape->inner > 1 && shape->extent) {
        cut->columns = cut->rows;
        cut_columns(device, sizes, shape->extent, cut);
    } else if (scan || (shape->extent && shape->extent < SHORT_ROW && cut->rows > 1)) {
        cut_tiles(sizes, false, cut);
    } else {
        cut_rows(device, sizes, shape->extent, cut);
    }
}

void tally_cuda_cut_make(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                         const tally_shape *shape, tally_cuda_cut *cut) {
    memset(cut, 0, sizeof *cut);
    tally_grouping grouping = c->desc.grouping;
    if (grouping == TALLY_AXIS) {
        cut_axis(device, c, sizes, shape, cut);
        return;
    }
    cut->elements = shape->extent;
    cut->rows = 1;
    if (grouping == TALLY_ALL_VALUES && !tally_is_scan(c))
        cut_rows(device, sizes, shape->extent, cut);
    else if (shape->extent || grouping == TALLY_SEGMENTS)
        cut_tiles(sizes, grouping == TALLY_SEGMENTS, cut);
}
