/* How a run of a plan is cut into dispatches, and the scratch memory that they share. Decided by the shape alone, so
 * that results are the same bits every run. */
#ifndef TALLY_VULKAN_WORKSPACE_H
#define TALLY_VULKAN_WORKSPACE_H

#include "vulkan/pipeline.h"

typedef enum tally_vulkan_path {
    TALLY_VULKAN_NOTHING,      /* no results */
    TALLY_VULKAN_FOLD,         /* reduce.comp */
    TALLY_VULKAN_ALONG_ROWS,   /* scan_rows.comp */
    TALLY_VULKAN_ALONG_COLUMNS /* scan_columns.comp */
} tally_vulkan_path;

typedef struct tally_vulkan_cut {
    tally_vulkan_path path;
    uint64_t elements;
    uint64_t columns, extent, inner;
    uint64_t chunk, chunks; /* rows of a column that are taken together, and how many times */
    uint32_t width;         /* columns a workgroup, in the first pass; 0: rows by vectors */
    uint32_t fold_width;    /* in the pass over accumulators */
    uint64_t scan_groups;   /* workgroups of a scan's last pass */

    /* byte offsets in the workspace */
    size_t slots;
    size_t bytes;
} tally_vulkan_cut;

void tally_vulkan_cut_make(const tally_vulkan_device *device, const tally_computation *computation,
                           tally_vulkan_slot slot, const tally_shape *shape, tally_vulkan_cut *cut);

#endif
