/* Exact mode on Vulkan: how a run is cut, and its dispatches. */
#ifndef TALLY_VULKAN_EXACT_H
#define TALLY_VULKAN_EXACT_H

#include "vulkan/launch.h"

void tally_vulkan_exact_cut(const tally_vulkan_device *device, const tally_computation *computation,
                            const tally_shape *shape, tally_vulkan_cut *cut);

void tally_vulkan_exact_launch(const tally_vulkan_launch *launch);

#endif
