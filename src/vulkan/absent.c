/* In place of the Vulkan back end in a library that is built without it. */
#include "core/backend.h"
#include "core/status.h"
#include "tally/vulkan.h"

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

tally_status tally_vulkan_require(void *instance, void *physical_device, tally_vulkan_requirements *requirements) {
    (void)instance;
    (void)physical_device;
    (void)requirements;
    return refuse();
}

tally_status tally_vulkan_open(const tally_vulkan_context *context, tally_device **device) {
    (void)context;
    (void)device;
    return refuse();
}

tally_status tally_vulkan_record(tally_plan *plan, const tally_args *args, const tally_vulkan_extra *extra,
                                 void *command_buffer) {
    (void)plan;
    (void)args;
    (void)extra;
    (void)command_buffer;
    return refuse();
}

const tally_backend tally_vulkan_backend = {"vulkan", absent_count, absent_describe, absent_open, absent_count};
