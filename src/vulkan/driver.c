/* Opens Vulkan's loader and translates its results. */
#include "vulkan/driver.h"

#include <pthread.h>
#include <stdbool.h>

#include "core/status.h"
#include "gpu/library.h"

static const char what_to_do[] = "install a Vulkan loader and a driver (Debian: libvulkan1 and the GPU's driver), or "
                                 "open \"cpu\"";

/* Written once, by open_loader. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tally_vulkan_loader table;
static tally_opening opening;

static const char *name_of(VkResult result) {
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
        return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
        return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED:
        return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT:
        return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
        return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
        return "VK_ERROR_TOO_MANY_OBJECTS";
    default:
        return "an error";
    }
}

tally_status tally_vulkan_instance_functions(VkInstance instance, tally_vulkan_loader *loader) {
    *loader = table;
    loader->instance = instance;
#define VULKAN_INSTANCE(name)                                                                                          \
    loader->name = (PFN_##name)table.vkGetInstanceProcAddr(instance, #name);                                           \
    if (!loader->name)                                                                                                 \
        return tally_fail(TALLY_NO_DEVICE, "Vulkan's loader has no function " #name ": %s", what_to_do);
#include "vulkan/driver.def"
    return TALLY_OK;
}

tally_status tally_vulkan_device_functions(const tally_vulkan_loader *loader, VkDevice device, tally_vulkan_api *api) {
#define VULKAN_DEVICE(name)                                                                                            \
    api->name = (PFN_##name)loader->vkGetDeviceProcAddr(device, #name);                                                \
    if (!api->name)                                                                                                    \
        return tally_fail(TALLY_DEVICE_FAILED,                                                                         \
                          "the Vulkan device has no function " #name ": was its instance made for Vulkan 1.2?");
#include "vulkan/driver.def"
    return TALLY_OK;
}

static tally_status create_instance(const char *path) {
    uint32_t version = 0;
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "tally", .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (!table.vkEnumerateInstanceVersion || table.vkEnumerateInstanceVersion(&version) != VK_SUCCESS ||
        version < VK_API_VERSION_1_2)
        return tally_fail(TALLY_NO_DEVICE, "%s is too old: it speaks Vulkan %u.%u, and 1.2 is needed; %s", path,
                          version ? VK_API_VERSION_MAJOR(version) : 1, VK_API_VERSION_MINOR(version), what_to_do);
    const VkResult result = table.vkCreateInstance(&info, NULL, &table.instance);
    if (result == VK_SUCCESS)
        return TALLY_OK;
    return tally_fail(
        TALLY_NO_DEVICE, "Vulkan does not start: vkCreateInstance gives %s (%d): does vulkaninfo work? %s",
        name_of(result), (int)result, result == VK_ERROR_INCOMPATIBLE_DRIVER ? what_to_do : "Else open \"cpu\"");
}

/* A refused library stays open, because something that a driver began may still need its code. */
static tally_status open_loader(void) {
    const char *given = tally_library_path("TALLY_LIBVULKAN"), *path = given ? given : "libvulkan.so.1", *reason;
    void *library = tally_library_open(path, &reason);
    if (!library)
        return tally_fail(TALLY_NO_DEVICE, "no Vulkan loader: %s: %s", reason, what_to_do);
    if (!tally_library_find(library, "vkGetInstanceProcAddr", &table.vkGetInstanceProcAddr))
        return tally_fail(TALLY_NO_DEVICE, "%s is no Vulkan loader: it has no function vkGetInstanceProcAddr", path);
#define VULKAN_GLOBAL(name) table.name = (PFN_##name)table.vkGetInstanceProcAddr(NULL, #name);
#include "vulkan/driver.def"
    if (!table.vkCreateInstance)
        return tally_fail(TALLY_NO_DEVICE, "%s is no Vulkan loader: it has no function vkCreateInstance", path);
    const tally_status status = create_instance(path);
    return status == TALLY_OK ? tally_vulkan_instance_functions(table.instance, &table) : status;
}

static void open_once(void) {
    tally_opening_keep(&opening, open_loader());
}

tally_status tally_vulkan_driver(const tally_vulkan_loader **loader) {
    pthread_once(&once, open_once);
    if (opening.status == TALLY_OK)
        *loader = &table;
    return tally_opening_repeat(&opening);
}

tally_status tally_vulkan_check(VkResult result, const char *what) {
    switch (result) {
    case VK_SUCCESS:
        return TALLY_OK;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
        return tally_fail(TALLY_OUT_OF_MEMORY, "%s: %s", what, name_of(result));
    case VK_ERROR_DEVICE_LOST:
        return tally_fail(TALLY_DEVICE_FAILED,
                          "%s: the device is lost (VK_ERROR_DEVICE_LOST), and what lay in its memory with it: close it "
                          "and open it anew. Are all pointers to its memory, and as large as their sizes say?",
                          what);
    default:
        return tally_fail(TALLY_DEVICE_FAILED, "%s: %s (%d)", what, name_of(result), (int)result);
    }
}
