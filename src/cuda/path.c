#include "cuda/path.h"

#include <string.h>

#include "cuda/columns.h"
#include "cuda/exact.h"
#include "cuda/groups.h"
#include "cuda/reduce.h"
#include "cuda/scan.h"
#include "cuda/scan_columns.h"

enum { SHORT_GROUP = 2048 /* elements; groups of fewer are reduced many at a time */ };

/* ---- cutting ---- */

/* Scans rows, whose elements are neighbours, or columns. */
static void cut_scan_along_axis(const tally_cuda_device *device, const tally_computation *c,
                                const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                                tally_cuda_cut *cut) {
    if (shape->inner == 1)
        tally_cuda_scan_cut(c, sizes, resident, cut);
    else if (!tally_cuda_narrow_cut(sizes, resident, shape, cut))
        tally_cuda_scan_columns_cut(device, c, sizes, shape, cut);
}

/* Short groups are taken many at a time, if one of the ways to do that takes them. */
static void cut_reduction_along_axis(const tally_cuda_device *device, const tally_computation *c,
                                     const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const bool are_short = shape->outer > 1 && shape->extent && shape->extent < SHORT_GROUP;
    if (are_short &&
        (tally_cuda_short_rows_cut(device, c, sizes, shape, cut) || tally_cuda_slabs_cut(device, sizes, shape, cut)))
        return;
    if (shape->inner > 1 && shape->extent)
        tally_cuda_columns_cut(device, c, sizes, shape, cut);
    else
        tally_cuda_rows_cut(device, sizes, shape->extent, cut);
}

static void cut_axis(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                     uint64_t resident, const tally_shape *shape, tally_cuda_cut *cut) {
    cut->groups = shape->outer * shape->inner;
    cut->elements = cut->groups * shape->extent;
    if (!cut->groups || (tally_is_scan(c) && !cut->elements))
        return;
    if (tally_is_scan(c))
        cut_scan_along_axis(device, c, sizes, resident, shape, cut);
    else
        cut_reduction_along_axis(device, c, sizes, shape, cut);
}

void tally_cuda_cut_make(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                         uint64_t resident, const tally_shape *shape, tally_cuda_cut *cut) {
    memset(cut, 0, sizeof *cut);
    tally_grouping grouping = c->desc.grouping;
    if (c->exact) {
        tally_cuda_exact_cut(c, sizes, resident, shape, cut);
        return;
    }
    if (grouping == TALLY_AXIS) {
        cut_axis(device, c, sizes, resident, shape, cut);
        return;
    }
    cut->elements = shape->extent;
    cut->groups = 1;
    if (grouping == TALLY_ALL_VALUES && !tally_is_scan(c))
        tally_cuda_rows_cut(device, sizes, shape->extent, cut);
    else if (!tally_is_scan(c))
        tally_cuda_groups_cut(c, sizes, resident, shape, cut);
    else if (shape->extent || grouping == TALLY_SEGMENTS)
        tally_cuda_scan_cut(c, sizes, resident, cut);
}

/* ---- launching ---- */

static tally_status zero(const tally_cuda_launch *l) {
    if (!l->cut->zeroed_bytes)
        return TALLY_OK;
    return tally_cuda_check(
        l->plan->device->api->cuMemsetD32Async(l->workspace, 0, l->cut->zeroed_bytes / 4, l->stream),
        "clearing the workspace");
}

tally_status tally_cuda_launch_all(const tally_cuda_launch *l) {
    tally_status status = zero(l);
    if (status != TALLY_OK)
        return status;
    switch (l->cut->path) {
    case TALLY_CUDA_NOTHING:
        return TALLY_OK;
    case TALLY_CUDA_ROWS:
        return tally_cuda_rows_launch(l);
    case TALLY_CUDA_SHORT_ROWS:
        return tally_cuda_short_rows_launch(l);
    case TALLY_CUDA_TINY_ROWS:
        return tally_cuda_tiny_rows_launch(l);
    case TALLY_CUDA_SLABS:
        return tally_cuda_slabs_launch(l);
    case TALLY_CUDA_COLUMNS:
        return tally_cuda_columns_launch(l);
    case TALLY_CUDA_SCAN:
        return tally_cuda_scan_launch(l);
    case TALLY_CUDA_HELD:
        return tally_cuda_held_launch(l);
    case TALLY_CUDA_STRETCHES:
        return tally_cuda_stretches_launch(l);
    case TALLY_CUDA_PANELS:
        return tally_cuda_panels_launch(l);
    case TALLY_CUDA_NARROW:
        return tally_cuda_narrow_launch(l);
    case TALLY_CUDA_GROUPS:
        return tally_cuda_groups_launch(l);
    case TALLY_CUDA_EXACT:
        return tally_cuda_exact_launch(l);
    }
    return TALLY_OK;
}
