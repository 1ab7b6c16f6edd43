/* Changes to modules for the device before they are loaded.
 *
 * By default a driver's compiler may assume that no result is infinite or NaN, and drop tests for those. NVIDIA's does:
 * the variance with an infinite element came out infinite instead of NaN. An execution mode forbids this on devices
 * that have it (VkPhysicalDeviceVulkan12Properties). Another fixes the roundings on which exact sums rely.
 *
 * If kernels compile for a CPU, loops that GPUs should unroll stay loops, because compiling the unrolled ones takes
 * longer than running them. */
#ifndef TALLY_VULKAN_ADAPT_H
#define TALLY_VULKAN_ADAPT_H

#include "vulkan/vulkan.h"

/* Sets preserves_, rounds_ and keeps_. */
void tally_vulkan_read_float_controls(tally_vulkan_device *device);

enum { TALLY_VULKAN_ADAPT_WORDS = 1024 };

/* Copies a module, with the execution mode SignedZeroInfNanPreserve for every entry point in the widths that the device
 * and the module have; DenormPreserve in 16 bits, if 'keeps_halves', and in 32, if 'keeps_floats'; and, if its
 * results depend on how sums are rounded, RoundingModeRTE and DenormPreserve in 32 and 64 bits. What the device lacks,
 * shuffles and stores of bytes, goes: the text does not execute it there. Returns the number of words, at most
 * TALLY_VULKAN_ADAPT_WORDS more, or 0 if there is too little memory. */
size_t tally_vulkan_adapt(const tally_vulkan_device *device, bool rounds, bool keeps_halves, bool keeps_floats,
                          const uint32_t *words, size_t count, uint32_t *to);

#endif
