/* Stands in for the Vulkan back end in a library that is built without it. */
#include "core/backend.h"
#include "tally/vulkan.h"

const tally_backend tally_vulkan_backend = {.name = "vulkan", .left_out = "Vulkan (TALLY_VULKAN=OFF)"};

tally_status tally_vulkan_require(void *instance, void *physical_device, tally_vulkan_requirements *requirements) {
    (void)instance, (void)physical_device, (void)requirements;
    return tally_backend_refuse(&tally_vulkan_backend);
}

tally_status tally_vulkan_open(const tally_vulkan_context *context, tally_device **device) {
    (void)context, (void)device;
    return tally_backend_refuse(&tally_vulkan_backend);
}

tally_status tally_vulkan_record(tally_plan *plan, const tally_args *args, const tally_vulkan_extra *extra,
                                 void *command_buffer) {
    (void)plan, (void)args, (void)extra, (void)command_buffer;
    return tally_backend_refuse(&tally_vulkan_backend);
}
