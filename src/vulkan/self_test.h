/* Whether a device computes rightly what every run relies on. */
#ifndef TALLY_VULKAN_SELF_TEST_H
#define TALLY_VULKAN_SELF_TEST_H

#include "vulkan/vulkan.h"

/* A sum and a scan over some thousand numbers, whose results are known. What has passed once is noted, in the process
 * and in the cache's folder, for this device, driver and library, and not done again. TALLY_DEVICE_FAILED names the
 * device and what was wrong. The environment variable TALLY_SELF_TEST=0 leaves it out. */
tally_status tally_vulkan_self_test(tally_vulkan_device *device);

#endif
