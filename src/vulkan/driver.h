/* Vulkan's loader, opened at run time, and its functions in tables. */
#ifndef TALLY_VULKAN_DRIVER_H
#define TALLY_VULKAN_DRIVER_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "tally/tally.h"

/* loader->vkEnumeratePhysicalDevices(loader->instance, ...) and so on. */
typedef struct tally_vulkan_loader {
    PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr;
    VkInstance instance; /* the process's own */
#define VULKAN_GLOBAL(name)   PFN_##name name;
#define VULKAN_INSTANCE(name) PFN_##name name;
#include "vulkan/driver.def"
} tally_vulkan_loader;

typedef struct tally_vulkan_api {
#define VULKAN_DEVICE(name) PFN_##name name;
#include "vulkan/driver.def"
} tally_vulkan_api;

/* The loader with an instance. The first call opens it, and it stays open; later calls repeat the first outcome and its
 * message. TALLY_NO_DEVICE says what is missing and what to do. Any thread may call. The environment variable
 * TALLY_LIBVULKAN names another library than the system's libvulkan.so.1. */
tally_status tally_vulkan_driver(const tally_vulkan_loader **loader);

/* The same functions for another instance of the loader's, the caller's own. */
tally_status tally_vulkan_instance_functions(VkInstance instance, tally_vulkan_loader *loader);

/* A device's functions; TALLY_DEVICE_FAILED names one that is missing. */
tally_status tally_vulkan_device_functions(const tally_vulkan_loader *loader, VkDevice device, tally_vulkan_api *api);

/* A result as a status, with a message that begins with 'what' ("copying 100 bytes"): TALLY_OUT_OF_MEMORY, and
 * TALLY_DEVICE_FAILED for everything else. Costs nothing when the result is VK_SUCCESS. */
tally_status tally_vulkan_check(VkResult result, const char *what);

#endif
