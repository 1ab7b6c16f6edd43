/* How a shape is cut: which path a run of it takes, into what parts, and where they have their scratch memory. Decided
 * by the shape alone, so that results are the same bits every run. */
#ifndef TALLY_VULKAN_CUT_H
#define TALLY_VULKAN_CUT_H

#include "vulkan/workspace.h"

void tally_vulkan_cut_make(const tally_vulkan_device *device, const tally_computation *computation,
                           tally_vulkan_slot slot, const tally_shape *shape, tally_vulkan_cut *cut);

/* Elements from which on one pass is taken: 2^22 f32 take 24 us on an H200, in two passes 29; fewer were not tried. */
enum { TALLY_VULKAN_LEAST_ONCE = 1 << 22 };

/* Whether scan_once.comp has a computation's long scans. */
bool tally_vulkan_takes_once(const tally_vulkan_device *device, const tally_computation *computation);

/* Whether short_rows.comp and tiled_segments.comp have a computation's reductions along an axis and by segments. */
bool tally_vulkan_takes_tiles(const tally_computation *computation, tally_vulkan_slot slot);

#endif
