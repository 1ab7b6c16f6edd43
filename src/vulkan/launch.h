/* The paths of a run: each dispatches its kernels one after the other. */
#ifndef TALLY_VULKAN_LAUNCH_H
#define TALLY_VULKAN_LAUNCH_H

#include "vulkan/dispatch.h"

/* Records all of a run, but for one by labels. */
void tally_vulkan_launch_all(const tally_vulkan_launch *launch);

/* The version of the reduction that a run along an axis takes. On an H100 the sums of 65536 rows of 4096 f32 take 340
 * us by rows alone, and 417 by the kernel that has columns, too; other monoids gained nothing. */
/* That of the kernel that reads the elements of a reduction, or of tall columns of a scan first. */
tally_vulkan_purpose tally_vulkan_fold_purpose(const tally_vulkan_plan *plan, const tally_vulkan_cut *cut);

/* The kernel of a run, if it has one, of which there is another for arrays that are not aligned for vectors. */
tally_vulkan_kernel tally_vulkan_kernel_of_tiles(const tally_computation *computation, const tally_vulkan_cut *cut,
                                                 bool counts);

/* Records the setting of accumulators to the identity or the initial value, and the results of accumulators. */
void tally_vulkan_clear_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               const void *initial, uint64_t count);
void tally_vulkan_lower_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               uint64_t count, uint64_t elements, void *out);

#endif
