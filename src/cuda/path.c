#include "cuda/path.h"

#include <string.h>

#include "cuda/columns.h"
#include "cuda/accumulator.h"
#include "cuda/exact.h"
#include "cuda/exact_chunks.h"
#include "cuda/group_words.h"
#include "cuda/groups.h"
#include "cuda/reduce.h"
#include "cuda/scan.h"
#include "cuda/scan_columns.h"
#include "cuda/scan_few.h"
#include "cuda/scan_tall.h"
#include "cuda/states.h"

enum {
    SHORT_GROUP = 2048, /* elements; groups of fewer are reduced many at a time */
    LITTLE = 2 << 20,   /* bytes read and written by a scan along an axis */
    BUSY_WAVES = 70,    /* per cent of the multiprocessors among which slabs can be shared evenly */
    MOST_HELD = 8 << 20 /* the same of columns that clusters hold, where there is another way */
};

/* Whether tiles of some rows (scan_tall.cu) are faster than waves, or than panels where slabs are too many for those.
 * On an H200, in microseconds (in brackets: in waves): argmin of f32 1 x 5000000 x 4 143 (230), all of i32 1 x 2800000
 * x 17 110 (120), any of f32 1 x 1522641 x 72 237 (291), count_nonzero of f32 1 x 55227 x 6 11.2 (12.0); but minmax of
 * f32 1 x 10000000 x 2 108 (100), and before the last changes dot of bf16 1 x 459779 x 39 70 (65). */
static bool are_fast_tiles(const tally_computation *c, const tally_cuda_sizes *sizes, const tally_shape *shape,
                           const tally_cuda_cut *tall, bool has_waves) {
    enum {
        NARROW = 64,   /* bytes of a row */
        OF_ENTRY = 16, /* bytes of a tile's column, read and written, for each byte of its sum's entry */
        FEW = 3        /* columns */
    };
    const uint64_t result = c->out_bytes * c->per_result, each = c->in_bytes + result;
    if (tall->elements * each <= LITTLE)
        return has_waves; /* else columns are held in registers */
    if (tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) ||
        (tall->tall.tiles > 1 && tall->tall.strands * tall->tall.rows * each < OF_ENTRY * sizes->entry_bytes))
        return false;
    const bool are_narrow = result <= 4 && shape->inner * c->in_bytes <= NARROW;
    return has_waves ? shape->inner > FEW || sizes->slot_bytes > 8 || (are_narrow && c->in_bytes == 1)
                     : are_narrow && c->in_bytes <= 2;
}

/* Whether clusters hold the columns of little input, with a block for most multiprocessors: nothing is cleared before.
 */
static bool cut_little(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                       const tally_shape *shape, tally_cuda_cut *cut) {
    tally_cuda_cut held = *cut;
    if (cut->elements * (c->in_bytes + c->out_bytes * c->per_result) > MOST_HELD ||
        !tally_cuda_held_columns_cut(device, c, sizes, shape, &held) ||
        held.held_columns.panels * held.held_columns.blocks * 4 < (uint64_t)device->multiprocessors)
        return false;
    *cut = held;
    return true;
}

static bool cut_narrow(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                       const tally_shape *shape, tally_cuda_cut *cut) {
    if (cut_little(device, c, sizes, shape, cut))
        return true;
    tally_cuda_cut tall = *cut;
    const uint64_t resident = tally_cuda_blocks_together(device);
    const bool has_tiles = tally_cuda_tall_cut(device, c, sizes, shape, &tall),
               has_waves = tally_cuda_narrow_cut(sizes, resident, shape, cut),
               are_idle = has_waves && resident / shape->outer * shape->outer * 100 < resident * BUSY_WAVES;
    if (!has_tiles || !(are_idle || are_fast_tiles(c, sizes, shape, &tall, has_waves)))
        return has_waves;
    *cut = tall;
    return true;
}

/* Scans rows, whose elements are neighbours, or columns. If only the device knows the extent, the kernels are those
 * that take any. */
static void cut_scan_along_axis(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_cuda_device *device = plan->device;
    const tally_computation *c = &plan->gpu.base.computation;
    const tally_cuda_sizes *sizes = &plan->sizes;
    if (tally_cuda_scans_by_chunks_alone(c)) {
        tally_cuda_exact_chunks_cut(device, c, sizes, shape, cut);
        return;
    }
    if (!c->is_sized && (tally_cuda_scan_thin_cut(device, c, sizes, shape, cut) ||
                         tally_cuda_scan_slabs_cut(device, c, sizes, shape, cut)))
        return;
    if (shape->inner == 1 && shape->extent > 1)
        tally_cuda_scan_cut(plan, shape, cut);
    else if (c->is_sized || shape->extent == 1 || !cut_narrow(device, c, sizes, shape, cut))
        tally_cuda_scan_columns_cut(device, c, sizes, shape, cut);
}

/* Short groups are taken many at a time, if one of the ways to do that takes them. */
static void cut_reduction_along_axis(const tally_cuda_device *device, const tally_computation *c,
                                     const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    if (!c->is_sized && shape->extent == 1 && !sizes->is_large) {
        cut->path = TALLY_CUDA_TINY_ROWS;
        return;
    }
    if (shape->inner > 1 && shape->extent && tally_cuda_thin_columns_cut(c, sizes, shape, cut))
        return;
    const bool are_many = !c->is_sized && shape->outer > 1 && shape->extent;
    if (are_many && (tally_cuda_short_rows_cut(device, c, sizes, shape, cut) ||
                     (shape->extent < SHORT_GROUP && tally_cuda_slabs_cut(device, sizes, shape, cut))))
        return;
    if (shape->inner > 1 && shape->extent)
        tally_cuda_columns_cut(device, c, sizes, shape, cut);
    else
        tally_cuda_rows_cut(device, sizes, shape->extent, cut);
}

static void cut_axis(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_computation *c = &plan->gpu.base.computation;
    cut->groups = shape->outer * shape->inner;
    cut->elements = cut->groups * shape->extent;
    if (!cut->groups || (tally_is_scan(c) && !cut->elements))
        return;
    if (tally_is_scan(c)) {
        cut_scan_along_axis(plan, shape, cut);
        cut->is_few = tally_cuda_scans_few(c, &plan->sizes, shape);
    } else {
        cut_reduction_along_axis(plan->device, c, &plan->sizes, shape, cut);
    }
}

void tally_cuda_cut_make(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_cuda_device *device = plan->device;
    const tally_computation *c = &plan->gpu.base.computation;
    const tally_cuda_sizes *sizes = &plan->sizes;
    const tally_grouping grouping = c->desc.grouping;
    memset(cut, 0, sizeof *cut);
    if (c->exact && !tally_is_scan(c)) {
        tally_cuda_exact_cut(plan, shape, cut);
        return;
    }
    if (grouping == TALLY_AXIS) {
        cut_axis(plan, shape, cut);
        return;
    }
    cut->elements = shape->extent;
    cut->groups = 1;
    if (tally_cuda_has_group_states(c)) {
        tally_cuda_group_words_cut(device, c, sizes, shape, cut);
        return;
    }
    if (grouping == TALLY_ALL_VALUES && !tally_is_scan(c))
        tally_cuda_rows_cut(device, sizes, shape->extent, cut);
    else if (!tally_is_scan(c))
        tally_cuda_groups_cut(device, c, sizes, tally_cuda_blocks_together(device), shape, cut);
    else if (shape->extent || grouping == TALLY_SEGMENTS)
        tally_cuda_scan_cut(plan, shape, cut);
}
