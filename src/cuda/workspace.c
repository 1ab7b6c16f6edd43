#include "cuda/workspace.h"

#include <string.h>

enum {
    SHORT_ROW = 2048,       /* rows up to here are reduced by tiles */
    BLOCKS_A_PROCESSOR = 4, /* thread blocks for a long reduction */
    LEAST_TILE = 512,       /* elements */
    RING = 6,               /* waves, as in tiles.cu */
    LEAST_STRETCH = 32,     /* rows of a column that one thread takes */
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

/* Little input is cut into smaller tiles, so that all processors have one. */
static void cut_tiles(const tally_cuda_sizes *sizes, uint64_t resident, bool has_segments, tally_cuda_cut *cut) {
    uint64_t whole = (uint64_t)sizes->tile_threads * sizes->tile_items;
    uint64_t fair = divide_up(divide_up(cut->elements, resident), LEAST_TILE) * LEAST_TILE;
    cut->path = TALLY_CUDA_TILES;
    cut->tile = least(whole, most(LEAST_TILE, fair));
    cut->tiles = most(1, divide_up(cut->elements, cut->tile));
    cut->tile_grid = least(cut->tiles, resident);
    cut->control = place(cut, sizeof(tally_cuda_control));
    cut->entries = place(cut, RING * cut->tile_grid * sizes->entry_bytes);
    cut->zeroed_bytes = cut->bytes;
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
                     uint64_t resident, const tally_shape *shape, tally_cuda_cut *cut) {
    bool scan = tally_is_scan(c);
    cut->rows = shape->outer * shape->inner;
    cut->elements = cut->rows * shape->extent;
    if (!cut->rows || (scan && !cut->elements))
        return;
    if (shape->inner > 1 && shape->extent) {
        cut->columns = cut->rows;
        cut_columns(device, sizes, shape->extent, cut);
    } else if (scan || (shape->extent && shape->extent < SHORT_ROW && cut->rows > 1)) {
        cut_tiles(sizes, resident, false, cut);
    } else {
        cut_rows(device, sizes, shape->extent, cut);
    }
}

void tally_cuda_cut_make(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                         uint64_t resident, const tally_shape *shape, tally_cuda_cut *cut) {
    memset(cut, 0, sizeof *cut);
    tally_grouping grouping = c->desc.grouping;
    if (grouping == TALLY_AXIS) {
        cut_axis(device, c, sizes, resident, shape, cut);
        return;
    }
    cut->elements = shape->extent;
    cut->rows = 1;
    if (grouping == TALLY_ALL_VALUES && !tally_is_scan(c))
        cut_rows(device, sizes, shape->extent, cut);
    else if (shape->extent || grouping == TALLY_SEGMENTS)
        cut_tiles(sizes, resident, grouping == TALLY_SEGMENTS, cut);
}
