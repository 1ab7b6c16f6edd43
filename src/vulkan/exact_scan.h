/* Exact scans on Vulkan: the cut of a run, and its dispatches. */
#ifndef TALLY_VULKAN_EXACT_SCAN_H
#define TALLY_VULKAN_EXACT_SCAN_H

#include "vulkan/dispatch.h"

void tally_vulkan_exact_scan_cut(const tally_vulkan_device *device, const tally_computation *computation,
                                 tally_vulkan_slot slot, uint32_t block, const tally_shape *shape,
                                 tally_vulkan_cut *cut);

void tally_vulkan_exact_scan_launch(const tally_vulkan_launch *launch);

/* Records the setting of columns' sums to 0 or the initial value. */
void tally_vulkan_exact_scan_begin(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                                   const void *initial, uint64_t columns);

#endif
