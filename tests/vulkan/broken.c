/* Makes a buffer of no bytes, which Vulkan forbids, so that validated.sh can check that its layer reports it. */
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <stdio.h>

#include "vulkan/driver.h"

int main(void) {
    const tally_vulkan_loader *loader;
    tally_vulkan_api api;
    VkPhysicalDevice physical;
    VkDevice device;
    VkBuffer buffer = VK_NULL_HANDLE;
    uint32_t count = 1;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    const VkBufferCreateInfo nothing = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    if (tally_vulkan_driver(&loader) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    if (loader->vkEnumeratePhysicalDevices(loader->instance, &count, &physical) < 0 || !count ||
        loader->vkCreateDevice(physical, &info, NULL, &device) != VK_SUCCESS ||
        tally_vulkan_device_functions(loader, device, &api) != TALLY_OK)
        return 1;
    api.vkCreateBuffer(device, &nothing, NULL, &buffer);
    api.vkDestroyBuffer(device, buffer, NULL);
    api.vkDestroyDevice(device, NULL);
    return 0;
}
