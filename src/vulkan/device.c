/* A Vulkan device as a device of the library: finding it, its spec, what it can do. GPUs are counted before what merely
 * plays one, each in the loader's order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "gpu/pieces.h"
#include "tally/vulkan.h"
#include "vulkan/adapt.h"
#include "vulkan/arguments.h"
#include "vulkan/path.h"
#include "vulkan/pipeline.h"
#include "vulkan/plan.h"
#include "vulkan/self_test.h"
#include "vulkan/vulkan.h"

enum { MOST_DEVICES = 64, BLOCK = 256, LEAST_BLOCK = 128, LEAST_LANES = 8, MOST_LANES = 32 };

/* ---- what devices there are ---- */

static bool is_gpu(const VkPhysicalDeviceProperties *p) {
    return p->deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ||
           p->deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
           p->deviceType == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
}

static tally_status list_devices(const tally_vulkan_loader *loader, VkPhysicalDevice sorted[MOST_DEVICES],
                                 uint32_t *count, uint32_t *gpus) {
    VkPhysicalDevice all[MOST_DEVICES];
    uint32_t found = MOST_DEVICES;
    const VkResult result = loader->vkEnumeratePhysicalDevices(loader->instance, &found, all);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return tally_vulkan_check(result, "listing the Vulkan devices");
    *count = *gpus = 0;
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t k = 0; k < found; k++) {
            VkPhysicalDeviceProperties properties;
            loader->vkGetPhysicalDeviceProperties(all[k], &properties);
            if (is_gpu(&properties) == (turn == 0))
                sorted[(*count)++] = all[k];
            *gpus += turn == 0 && is_gpu(&properties);
        }
    return TALLY_OK;
}

static size_t count_of(bool only_gpus) {
    const tally_vulkan_loader *loader;
    VkPhysicalDevice devices[MOST_DEVICES];
    uint32_t count, gpus;
    if (tally_vulkan_driver(&loader) != TALLY_OK || list_devices(loader, devices, &count, &gpus) != TALLY_OK)
        return 0;
    return only_gpus ? gpus : count;
}

static size_t vulkan_count(void) {
    return count_of(false);
}
static size_t vulkan_automatic_count(void) {
    return count_of(true);
}

static void read_properties(tally_vulkan_device *v) {
    VkPhysicalDeviceProperties properties;
    v->loader.vkGetPhysicalDeviceProperties(v->physical, &properties);
    v->loader.vkGetPhysicalDeviceMemoryProperties(v->physical, &v->types);
    snprintf(v->name, sizeof v->name, "%.127s", properties.deviceName);
    v->version = properties.apiVersion;
    v->driver_version = properties.driverVersion;
    v->vendor = properties.vendorID;
    v->model = properties.deviceID;
    memcpy(v->cache_uuid, properties.pipelineCacheUUID, sizeof v->cache_uuid);
    v->is_software = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    v->shared_bytes = properties.limits.maxComputeSharedMemorySize;
    const VkPhysicalDeviceLimits *limits = &properties.limits;
    v->block = limits->maxComputeWorkGroupInvocations >= BLOCK && limits->maxComputeWorkGroupSize[0] >= BLOCK
                   ? BLOCK
                   : LEAST_BLOCK;
    for (uint32_t k = 0; k < v->types.memoryHeapCount; k++)
        if (v->types.memoryHeaps[k].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            v->memory_bytes += v->types.memoryHeaps[k].size;
    /* Memory that a GPU with memory of its own maps may be slow to read from, or small. */
    const bool own = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    v->shares_memory = false;
    for (uint32_t k = 0; k < v->types.memoryTypeCount && !own; k++) {
        const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        v->shares_memory |= (v->types.memoryTypes[k].propertyFlags & wanted) == wanted;
    }
}

static void describe(const tally_vulkan_device *v, tally_device_info *info) {
    snprintf(info->spec, sizeof info->spec, "vulkan:%d", v->ordinal);
    snprintf(info->name, sizeof info->name, "%s", v->name);
    snprintf(info->detail, sizeof info->detail, "Vulkan %u.%u.%u, %s", VK_API_VERSION_MAJOR(v->version),
             VK_API_VERSION_MINOR(v->version), VK_API_VERSION_PATCH(v->version),
             v->is_software ? "a software device" : "a GPU");
    info->memory_bytes = v->memory_bytes;
}

static void vulkan_describe(const tally_device *device, tally_device_info *info) {
    describe((const tally_vulkan_device *)device, info);
}

static void vulkan_describe_index(size_t index, tally_device_info *info) {
    const tally_vulkan_loader *loader;
    VkPhysicalDevice devices[MOST_DEVICES];
    uint32_t count, gpus;
    if (tally_vulkan_driver(&loader) != TALLY_OK || list_devices(loader, devices, &count, &gpus) != TALLY_OK ||
        index >= count)
        return;
    tally_vulkan_device v = {.loader = *loader, .physical = devices[index], .ordinal = (int)index};
    read_properties(&v);
    describe(&v, info);
}

/* ---- opening ---- */

static const tally_device_interface vulkan_interface;

typedef struct features {
    VkPhysicalDeviceFeatures2 base;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDevice16BitStorageFeatures halves;
} features;

static tally_status check_features(const tally_vulkan_device *v, features *f) {
    *f = (features){.base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                    .base.pNext = &f->v12,
                    .v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                    .v12.pNext = &f->halves,
                    .halves.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    if (v->version < VK_API_VERSION_1_2)
        return tally_fail(TALLY_NO_DEVICE, "vulkan:%d (%s) speaks Vulkan %u.%u; 1.2 is needed: update its driver",
                          v->ordinal, v->name, VK_API_VERSION_MAJOR(v->version), VK_API_VERSION_MINOR(v->version));
    v->loader.vkGetPhysicalDeviceFeatures2(v->physical, &f->base);
    if (!f->v12.bufferDeviceAddress)
        return tally_fail(TALLY_UNSUPPORTED, "vulkan:%d (%s) has no bufferDeviceAddress, by which kernels reach memory",
                          v->ordinal, v->name);
    return TALLY_OK;
}

/* The library's own kernels have no use for it, a program's (kernel.h) may. */
static bool has_extension(const tally_vulkan_device *v, const char *name) {
    VkExtensionProperties *all;
    uint32_t count = 0;
    bool found = false;
    if (v->loader.vkEnumerateDeviceExtensionProperties(v->physical, NULL, &count, NULL) != VK_SUCCESS || count == 0)
        return false;
    all = calloc(count, sizeof *all);
    if (all && v->loader.vkEnumerateDeviceExtensionProperties(v->physical, NULL, &count, all) >= VK_SUCCESS)
        for (uint32_t k = 0; k < count && !found; k++)
            found = strcmp(all[k].extensionName, name) == 0;
    free(all);
    return found;
}

static bool adds_floats(const tally_vulkan_device *v) {
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT has = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 base = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has};
    if (!has_extension(v, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME))
        return false;
    v->loader.vkGetPhysicalDeviceFeatures2(v->physical, &base);
    return has.shaderBufferFloat32AtomicAdd;
}

/* A family that computes; one that does nothing else is as good. */
static bool find_family(tally_vulkan_device *v) {
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    v->loader.vkGetPhysicalDeviceQueueFamilyProperties(v->physical, &count, families);
    for (v->family = 0; v->family < count; v->family++)
        if (families[v->family].queueFlags & VK_QUEUE_COMPUTE_BIT)
            return true;
    return false;
}

/* Vulkan promises that; but copies would fail without a word that says why. */
static bool sees_memory(const tally_vulkan_device *v) {
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    for (uint32_t k = 0; k < v->types.memoryTypeCount; k++)
        if ((v->types.memoryTypes[k].propertyFlags & wanted) == wanted)
            return true;
    return false;
}

static tally_status create_device(tally_vulkan_device *v) {
    features has;
    tally_status status = check_features(v, &has);
    if (status != TALLY_OK)
        return status;
    if (!find_family(v))
        return tally_fail(TALLY_NO_DEVICE, "vulkan:%d (%s) has no queue that computes", v->ordinal, v->name);
    if (!sees_memory(v))
        return tally_fail(TALLY_UNSUPPORTED, "vulkan:%d (%s) has no memory that the host can map", v->ordinal, v->name);
    v->has_double = has.base.features.shaderFloat64;
    v->has_int64 = has.base.features.shaderInt64;
    v->stores_bytes = has.v12.storageBuffer8BitAccess && has.halves.storageBuffer16BitAccess;
    v->adds_floats = adds_floats(v);
    static const char *const extensions[] = {VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME};
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
        .shaderBufferFloat32AtomicAdd = VK_TRUE};
    features wanted = {.base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                       .base.pNext = &wanted.v12,
                       .base.features = {.shaderInt64 = has.base.features.shaderInt64,
                                         .shaderFloat64 = has.base.features.shaderFloat64},
                       .v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                       .v12.pNext = &wanted.halves,
                       .v12.bufferDeviceAddress = VK_TRUE,
                       .v12.storageBuffer8BitAccess = v->stores_bytes,
                       .halves.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                       .halves.pNext = v->adds_floats ? &atomic_float : NULL,
                       .halves.storageBuffer16BitAccess = v->stores_bytes};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = v->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &wanted.base,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = v->adds_floats ? 1 : 0,
                                     .ppEnabledExtensionNames = extensions};
    status =
        tally_vulkan_check(v->loader.vkCreateDevice(v->physical, &info, NULL, &v->device), "opening the Vulkan device");
    v->owns_device = status == TALLY_OK;
    return status;
}

/* The layout is made first, when all functions are known. */
static void close_parts(tally_vulkan_device *v) {
    if (v->layout) {
        if (v->owns_device)
            v->api.vkDeviceWaitIdle(v->device);
        tally_vulkan_pipelines_destroy(v);
        tally_vulkan_release(v, &v->staging);
        for (size_t k = 0; k < v->memory_count; k++)
            tally_vulkan_release(v, &v->memories[k]);
        tally_vulkan_commands_destroy(v, &v->copies);
        v->api.vkDestroyPipelineLayout(v->device, v->layout, NULL);
    }
    if (v->owns_device && v->api.vkDestroyDevice)
        v->api.vkDestroyDevice(v->device, NULL);
    pthread_mutex_destroy(&v->mutex);
    pthread_mutex_destroy(&v->building);
    free(v->memories);
    free(v);
}

/* Vulkan promises nothing of workgroups that wait for each other, but on NVIDIA's GPUs those that have started go on.
 * Nor does it promise that neighbouring threads are neighbours in subgroups, which are full; they are in the drivers
 * that this was tried with. */
static void read_driver(tally_vulkan_device *v) {
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                                   .pNext = &driver};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &subgroup};
    v->loader.vkGetPhysicalDeviceProperties2(v->physical, &properties);
    const bool is_nvidia = driver.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    v->least_once = is_nvidia ? TALLY_VULKAN_LEAST_ONCE : UINT64_MAX;
    const bool is_known = is_nvidia || driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
    v->has_shuffles = subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT;
    v->lanes = 1;
    for (unsigned lanes = LEAST_LANES; lanes <= MOST_LANES && is_known && v->has_shuffles; lanes *= 2)
        if (lanes <= subgroup.subgroupSize)
            v->lanes = lanes;
}

/* Everything besides the VkDevice. Frees 'v' if it fails. */
static tally_status finish_opening(tally_vulkan_device *v, tally_device **device) {
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, TALLY_VULKAN_ARGUMENT_BYTES};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &range};
    v->base.interface = &vulkan_interface;
    tally_vulkan_read_float_controls(v);
    read_driver(v);
    tally_status status = tally_vulkan_device_functions(&v->loader, v->device, &v->api);
    if (status == TALLY_OK)
        status = tally_vulkan_check(v->api.vkCreatePipelineLayout(v->device, &layout, NULL, &v->layout),
                                    "making a pipeline layout");
    if (status == TALLY_OK && v->owns_device) {
        v->api.vkGetDeviceQueue(v->device, v->family, 0, &v->queue);
        status = tally_vulkan_commands_create(v, &v->copies);
    }
    if (status != TALLY_OK) {
        close_parts(v);
        return status;
    }
    *device = &v->base;
    return TALLY_OK;
}

static tally_vulkan_device *new_device(const tally_vulkan_loader *loader) {
    tally_vulkan_device *v = calloc(1, sizeof *v);
    if (!v) {
        tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a Vulkan device");
        return NULL;
    }
    v->loader = *loader;
    pthread_mutex_init(&v->mutex, NULL);
    pthread_mutex_init(&v->building, NULL);
    return v;
}

static tally_status vulkan_open(const char *options, tally_device **device) {
    const tally_vulkan_loader *loader;
    VkPhysicalDevice devices[MOST_DEVICES];
    uint32_t count, gpus;
    int ordinal = 0;
    tally_status status = tally_gpu_parse_ordinal("vulkan", options, &ordinal);
    if (status == TALLY_OK)
        status = tally_vulkan_driver(&loader);
    if (status == TALLY_OK)
        status = list_devices(loader, devices, &count, &gpus);
    if (status != TALLY_OK)
        return status;
    if ((uint32_t)ordinal >= count)
        return tally_gpu_no_device("vulkan", "Vulkan", options, count);
    tally_vulkan_device *v = new_device(loader);
    if (!v)
        return TALLY_OUT_OF_MEMORY;
    v->physical = devices[ordinal];
    v->ordinal = ordinal;
    read_properties(v);
    status = create_device(v);
    if (status != TALLY_OK) {
        close_parts(v);
        return status;
    }
    tally_device *opened;
    status = finish_opening(v, &opened);
    if (status != TALLY_OK)
        return status;
    status = tally_vulkan_self_test(v);
    if (status == TALLY_OK)
        *device = opened;
    else
        close_parts(v);
    return status;
}

/* ---- a device of the caller's ---- */

tally_status tally_vulkan_require(void *instance, void *physical_device, tally_vulkan_requirements *requirements) {
    const tally_vulkan_loader *own;
    if (!instance || !physical_device || !requirements)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_vulkan_require: NULL where an instance, a physical device and a place are expected");
    if (requirements->struct_size != sizeof *requirements)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_vulkan_requirements.struct_size is %zu; set it to sizeof(tally_vulkan_requirements), "
                          "%zu",
                          requirements->struct_size, sizeof *requirements);
    tally_vulkan_device v = {.physical = physical_device};
    features has;
    tally_status status = tally_vulkan_driver(&own);
    if (status == TALLY_OK)
        status = tally_vulkan_instance_functions(instance, &v.loader);
    if (status != TALLY_OK)
        return status;
    read_properties(&v);
    status = check_features(&v, &has);
    if (status != TALLY_OK)
        return status;
    requirements->buffer_device_address = 1;
    requirements->shader_int64 = has.base.features.shaderInt64 ? 1 : 0;
    requirements->shader_float64 = has.base.features.shaderFloat64 ? 1 : 0;
    return TALLY_OK;
}

tally_status tally_vulkan_open(const tally_vulkan_context *context, tally_device **device) {
    const tally_vulkan_loader *own;
    tally_vulkan_loader loader;
    if (!context || !device || !context->instance || !context->physical_device || !context->device)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_vulkan_open: NULL where a context with an instance, a physical "
                          "device and a device, and a place for the device, are expected");
    if (context->struct_size != sizeof *context)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_vulkan_context.struct_size is %zu; set it to sizeof(tally_vulkan_context), %zu",
                          context->struct_size, sizeof *context);
    tally_status status = tally_vulkan_driver(&own);
    if (status == TALLY_OK)
        status = tally_vulkan_instance_functions(context->instance, &loader);
    tally_vulkan_device *v = status == TALLY_OK ? new_device(&loader) : NULL;
    if (status != TALLY_OK || !v)
        return status != TALLY_OK ? status : TALLY_OUT_OF_MEMORY;
    v->physical = context->physical_device;
    v->device = context->device;
    v->family = context->queue_family;
    v->has_double = context->shader_float64 != 0;
    v->has_int64 = context->shader_int64 != 0;
    v->cache = (VkPipelineCache)(uintptr_t)context->pipeline_cache;
    read_properties(v);
    return finish_opening(v, device);
}

static void vulkan_close(tally_device *device) {
    close_parts((tally_vulkan_device *)device);
}

static const tally_device_interface vulkan_interface = {
    .close = vulkan_close,
    .describe = vulkan_describe,
    .alloc = tally_vulkan_alloc,
    .free = tally_vulkan_free,
    .copy = tally_vulkan_copy,
    .supports = tally_vulkan_supports,
    .plan_create = tally_vulkan_plan_create,
    .plan_destroy = tally_gpu_plan_destroy,
    .plan_workspace = tally_gpu_plan_workspace,
    .run = tally_gpu_plan_run,
    .run_sized = tally_vulkan_run_sized,
    .push = tally_gpu_plan_push,
    .finish = tally_gpu_plan_finish,
    .reset = tally_gpu_plan_reset,
    .resume = tally_vulkan_resume,
};

const tally_backend tally_vulkan_backend = {.name = "vulkan",
                                            .device_count = vulkan_count,
                                            .describe = vulkan_describe_index,
                                            .open = vulkan_open,
                                            .automatic_count = vulkan_automatic_count};
