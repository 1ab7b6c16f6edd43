/* Tests whether a device computes correctly what every run relies on. */
#ifndef TALLY_VULKAN_SELF_TEST_H
#define TALLY_VULKAN_SELF_TEST_H

#include "vulkan/vulkan.h"

/* Computes a sum and a scan of some thousand numbers with known results. A pass is noted, in the process and in the
 * cache's folder, for this device, driver and library, and the test is not repeated. TALLY_DEVICE_FAILED names the
 * device and the fault. The environment variable TALLY_SELF_TEST=0 skips the test. */
tally_status tally_vulkan_self_test(tally_vulkan_device *device);

#endif
