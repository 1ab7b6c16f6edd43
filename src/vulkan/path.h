/* Which way a run goes, and into what parts it is cut. */
#ifndef TALLY_VULKAN_PATH_H
#define TALLY_VULKAN_PATH_H

#include "vulkan/cut.h"

/* Threads a workgroup: fewer where accumulators are so long that shared memory would not hold a tile of them. */
uint32_t tally_vulkan_block_of(const tally_vulkan_device *device, const tally_computation *c, tally_vulkan_slot slot);

/* The same of the kernels that take segments as runs, besides teams of so many threads. */
uint32_t tally_vulkan_block_of_segments(uint32_t block);

/* And of scans by groups in one pass, beside tiles in three. */
uint32_t tally_vulkan_block_of_groups_once(const tally_vulkan_device *device, uint32_t block);

void tally_vulkan_cut_make(const tally_vulkan_device *device, const tally_computation *computation,
                           tally_vulkan_slot slot, const tally_shape *shape, tally_vulkan_cut *cut);

/* Elements from which on one pass is taken: 2^22 f32 take 24 us on an H200, in two passes 29; fewer were not tried. */
enum { TALLY_VULKAN_LEAST_ONCE = 1 << 22 };

/* Whether scan_once.comp has a computation's long scans. */
bool tally_vulkan_takes_once(const tally_vulkan_device *device, const tally_computation *computation);

/* The same of groups_once.comp, and by segments and keys. */
bool tally_vulkan_takes_groups_once(const tally_vulkan_device *device, const tally_computation *computation);

/* Whether moment_tiles.comp has a computation's scans of rows and by groups, and its reductions by keys. */
bool tally_vulkan_takes_moments(const tally_computation *computation);

/* Whether give_rows() of group_tiles.comp has a computation's scans of rows. */
bool tally_vulkan_takes_rows(const tally_computation *computation);

/* Whether long_runs.comp takes chunks of a computation's reductions by keys in which few runs end. */
bool tally_vulkan_takes_long_runs(const tally_computation *computation);

/* Whether short_rows.comp and tiled_segments.comp have a computation's reductions along an axis and by segments. */
bool tally_vulkan_takes_tiles(const tally_computation *computation, tally_vulkan_slot slot);

#endif
