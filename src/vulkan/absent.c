/* In place of the Vulkan back end in a library that is built without it. */
#include "core/backend.h"
#include "core/status.h"

static tally_status refuse(void) {
    return tally_fail(TALLY_NO_DEVICE, "this library is built without Vulkan (TALLY_VULKAN=OFF); open \"cpu\"");
}

static size_t absent_count(void) {
    return 0;
}

static void absent_describe(size_t index, tally_device_info *info) {
    (void)index;
    (void)info;
}

static tally_status absent_open(const char *options, tally_device **device) {
    (void)options;
    (void)device;
    return refuse();
}

const tally_backend tally_vulkan_backend = {"vulkan", absent_count, absent_describe, absent_open, absent_count};
