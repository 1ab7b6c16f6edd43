/* A loader of Vulkan that passes everything on to the machine's own and, as FAKE_VULKAN says, plays devices and faults
 * that the machine does not have. A feature that is missing is neither to be asked for nor used: devices are not made
 * then, nor modules whose SPIR-V declares the capability. Several words may be given, with commas between them:
 *
 *   old, no_driver, no_device   what opening finds
 *   no_double, no_int64, no_address, no_float_atomics   features that are missing
 *   no_rounding   kernels cannot be told to round to nearest
 *   no_shuffles   threads of a subgroup cannot exchange values
 *   discrete   the first device is a GPU with memory of its own
 *   nvidia     NVIDIA's own driver, on whose devices a workgroup may wait for another; "mesa": one of which that is not
 *              known
 *   small      workgroups of 128, 16 KB of shared memory
 *   unmakeable, no_compute, no_mapped   a device that does not open, without queues that compute, without memory that
 *              the host sees; "no_1_2": without the functions that came with Vulkan 1.2
 *   full, unmappable, lost, lost_waiting, no_kernels, no_recording, no_fence   what calls to the device answer
 *   no_clock   queues that cannot say when a command ran
 *   idle       dispatches do nothing
 *   takes_kernels   kernels are taken and not compiled, for plans that are not run
 *   caches     a driver that gives compiled pipelines back; "warm": and compiles none that it is not given */
#define _GNU_SOURCE
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static PFN_vkGetInstanceProcAddr real_instance;
static PFN_vkGetDeviceProcAddr real_device;
static VkInstance the_instance;
static PFN_vkQueueSubmit real_submit;
static PFN_vkCmdDispatch real_dispatch;
static PFN_vkBeginCommandBuffer real_begin;

static bool plays(const char *word) {
    const char *all = getenv("FAKE_VULKAN");
    const char *found = all ? strstr(all, word) : NULL;
    return found && (found == all || found[-1] == ',') && strchr(",", found[strlen(word)]);
}

#define REAL(name)        ((PFN_##name)real_instance(the_instance, #name))
#define REAL_DEVICE(name) ((PFN_##name)real_device(device, #name))

static VkResult fake_version(uint32_t *version) {
    *version = plays("old") ? VK_API_VERSION_1_1 : VK_API_VERSION_1_3;
    return VK_SUCCESS;
}

static VkResult fake_create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *callbacks,
                                     VkInstance *instance) {
    if (plays("no_driver"))
        return VK_ERROR_INCOMPATIBLE_DRIVER;
    const VkResult result = ((PFN_vkCreateInstance)real_instance(NULL, "vkCreateInstance"))(info, callbacks, instance);
    the_instance = *instance;
    return result;
}

static VkResult fake_enumerate(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices) {
    if (!plays("no_device"))
        return REAL(vkEnumeratePhysicalDevices)(instance, count, devices);
    *count = 0;
    return VK_SUCCESS;
}

static void fake_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties) {
    REAL(vkGetPhysicalDeviceProperties)(device, properties);
    if (plays("discrete"))
        properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    if (plays("no_clock"))
        properties->limits.timestampComputeAndGraphics = VK_FALSE;
    if (plays("small")) {
        properties->limits.maxComputeWorkGroupInvocations = 128;
        properties->limits.maxComputeWorkGroupSize[0] = 128;
        properties->limits.maxComputeSharedMemorySize = 16384;
    }
}

static void fake_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
    REAL(vkGetPhysicalDeviceProperties2)(device, properties);
    for (VkBaseOutStructure *p = properties->pNext; p && plays("no_rounding"); p = p->pNext)
        if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES) {
            ((VkPhysicalDeviceVulkan12Properties *)p)->shaderRoundingModeRTEFloat32 = VK_FALSE;
            ((VkPhysicalDeviceVulkan12Properties *)p)->shaderRoundingModeRTEFloat64 = VK_FALSE;
        }
    for (VkBaseOutStructure *p = properties->pNext; p && plays("no_shuffles"); p = p->pNext)
        if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)
            ((VkPhysicalDeviceSubgroupProperties *)p)->supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
    for (VkBaseOutStructure *p = properties->pNext; p; p = p->pNext)
        if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES) {
            VkDriverId *const driver = &((VkPhysicalDeviceDriverProperties *)p)->driverID;
            *driver = plays("nvidia") ? VK_DRIVER_ID_NVIDIA_PROPRIETARY
                      : plays("mesa") ? VK_DRIVER_ID_MESA_RADV
                                      : *driver;
        }
}

static void fake_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features) {
    REAL(vkGetPhysicalDeviceFeatures2)(device, features);
    if (plays("no_double"))
        features->features.shaderFloat64 = VK_FALSE;
    if (plays("no_int64"))
        features->features.shaderInt64 = VK_FALSE;
    for (VkBaseOutStructure *f = features->pNext; f; f = f->pNext) {
        if (f->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES && plays("no_address"))
            ((VkPhysicalDeviceVulkan12Features *)f)->bufferDeviceAddress = VK_FALSE;
        if (f->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT && plays("no_float_atomics"))
            ((VkPhysicalDeviceShaderAtomicFloatFeaturesEXT *)f)->shaderBufferFloat32AtomicAdd = VK_FALSE;
    }
}

static void fake_families(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *families) {
    REAL(vkGetPhysicalDeviceQueueFamilyProperties)(device, count, families);
    for (uint32_t k = 0; families && k < *count && plays("no_compute"); k++)
        families[k].queueFlags &= ~(VkQueueFlags)VK_QUEUE_COMPUTE_BIT;
}

static void fake_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *memory) {
    REAL(vkGetPhysicalDeviceMemoryProperties)(device, memory);
    for (uint32_t k = 0; k < memory->memoryTypeCount && plays("no_mapped"); k++)
        memory->memoryTypes[k].propertyFlags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
}

static VkResult fake_create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                   const VkAllocationCallbacks *callbacks, VkDevice *device) {
    if (plays("unmakeable"))
        return VK_ERROR_INITIALIZATION_FAILED;
    for (const VkBaseInStructure *f = info->pNext; f; f = f->pNext)
        if (f->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
            const VkPhysicalDeviceFeatures *asked = &((const VkPhysicalDeviceFeatures2 *)f)->features;
            if ((plays("no_double") && asked->shaderFloat64) || (plays("no_int64") && asked->shaderInt64))
                return VK_ERROR_FEATURE_NOT_PRESENT;
        }
    return REAL(vkCreateDevice)(physical, info, callbacks, device);
}

static VkResult fake_begin(VkCommandBuffer buffer, const VkCommandBufferBeginInfo *info) {
    return plays("no_recording") ? VK_ERROR_OUT_OF_HOST_MEMORY : real_begin(buffer, info);
}

static VkResult fake_fence(VkDevice device, const VkFenceCreateInfo *info, const VkAllocationCallbacks *callbacks,
                           VkFence *fence) {
    return plays("no_fence") ? VK_ERROR_OUT_OF_HOST_MEMORY : REAL_DEVICE(vkCreateFence)(device, info, callbacks, fence);
}

static VkResult fake_wait(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all, uint64_t nanoseconds) {
    const VkResult result = REAL_DEVICE(vkWaitForFences)(device, count, fences, all, nanoseconds);
    return plays("lost_waiting") ? VK_ERROR_DEVICE_LOST : result;
}

static VkResult fake_allocate(VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *callbacks,
                              VkDeviceMemory *memory) {
    if (plays("full"))
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return REAL_DEVICE(vkAllocateMemory)(device, info, callbacks, memory);
}

static VkResult fake_map(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                         VkMemoryMapFlags flags, void **address) {
    if (plays("unmappable"))
        return VK_ERROR_MEMORY_MAP_FAILED;
    return REAL_DEVICE(vkMapMemory)(device, memory, offset, size, flags, address);
}

static VkResult fake_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence) {
    if (plays("lost"))
        return VK_ERROR_DEVICE_LOST;
    return real_submit(queue, count, submits, fence);
}

/* What a driver that keeps pipelines has: the real header, and a word. */
static const char compiled[] = "compiled";
static VkPipelineCache warm;

static VkResult fake_create_cache(VkDevice device, const VkPipelineCacheCreateInfo *info,
                                  const VkAllocationCallbacks *callbacks, VkPipelineCache *cache) {
    VkPipelineCacheCreateInfo without = *info;
    without.initialDataSize = 0;
    const VkResult result = REAL_DEVICE(vkCreatePipelineCache)(device, &without, callbacks, cache);
    const size_t size = info->initialDataSize;
    if (size > sizeof compiled && strcmp((const char *)info->pInitialData + size - sizeof compiled, compiled) == 0)
        warm = *cache;
    return result;
}

static VkResult fake_cache_data(VkDevice device, VkPipelineCache cache, size_t *size, void *data) {
    size_t header = data && *size >= sizeof compiled ? *size - sizeof compiled : 0;
    const bool more = plays("caches");
    if (!more)
        header = *size;
    const VkResult result = REAL_DEVICE(vkGetPipelineCacheData)(device, cache, &header, data);
    if (more && data)
        memcpy((char *)data + header, compiled, sizeof compiled);
    *size = header + (more ? sizeof compiled : 0);
    return result;
}

static void fake_dispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z) {
    if (!plays("idle"))
        real_dispatch(buffer, x, y, z);
}

static VkResult fake_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                               const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *callbacks,
                               VkPipeline *pipelines) {
    if (plays("no_kernels") || (plays("warm") && (!cache || cache != warm)))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (plays("takes_kernels")) {
        for (uint32_t k = 0; k < count; k++)
            pipelines[k] = VK_NULL_HANDLE;
        return VK_SUCCESS;
    }
    return REAL_DEVICE(vkCreateComputePipelines)(device, cache, count, infos, callbacks, pipelines);
}

/* What SPIR-V's OpCapability declares. */
static bool is_missing(uint32_t capability) {
    enum { FLOAT16 = 9, FLOAT64 = 10, INT64 = 11, INT64_ATOMICS = 12, INT16 = 22, INT8 = 39, SHUFFLE_RELATIVE = 66 };
    switch (capability) {
    case FLOAT64:
        return plays("no_double");
    case INT64:
        return plays("no_int64");
    case SHUFFLE_RELATIVE:
        return plays("no_shuffles");
    case FLOAT16:
    case INT64_ATOMICS:
    case INT16:
    case INT8:
        return true; /* the library asks no device for them */
    default:
        return false;
    }
}

static VkResult fake_create_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                   const VkAllocationCallbacks *callbacks, VkShaderModule *module) {
    enum { HEADER_WORDS = 5, OP_CAPABILITY = 17 };
    const uint32_t *words = info->pCode;
    for (size_t at = HEADER_WORDS; at < info->codeSize / sizeof *words; at += words[at] >> 16)
        if ((words[at] & 0xffff) == OP_CAPABILITY && is_missing(words[at + 1]))
            return VK_ERROR_FEATURE_NOT_PRESENT;
    return REAL_DEVICE(vkCreateShaderModule)(device, info, callbacks, module);
}

static PFN_vkVoidFunction fake_device_function(VkDevice device, const char *name);

static const struct {
    const char *name;
    PFN_vkVoidFunction function;
    bool of_device;
} fakes[] = {
    {"vkEnumerateInstanceVersion", (PFN_vkVoidFunction)fake_version, false},
    {"vkCreateInstance", (PFN_vkVoidFunction)fake_create_instance, false},
    {"vkEnumeratePhysicalDevices", (PFN_vkVoidFunction)fake_enumerate, false},
    {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)fake_properties, false},
    {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)fake_properties2, false},
    {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)fake_features, false},
    {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)fake_families, false},
    {"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)fake_memory, false},
    {"vkCreateDevice", (PFN_vkVoidFunction)fake_create_device, false},
    {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)fake_device_function, false},
    {"vkAllocateMemory", (PFN_vkVoidFunction)fake_allocate, true},
    {"vkBeginCommandBuffer", (PFN_vkVoidFunction)fake_begin, true},
    {"vkCreateFence", (PFN_vkVoidFunction)fake_fence, true},
    {"vkWaitForFences", (PFN_vkVoidFunction)fake_wait, true},
    {"vkMapMemory", (PFN_vkVoidFunction)fake_map, true},
    {"vkQueueSubmit", (PFN_vkVoidFunction)fake_submit, true},
    {"vkCreateShaderModule", (PFN_vkVoidFunction)fake_create_module, true},
    {"vkCreateComputePipelines", (PFN_vkVoidFunction)fake_pipelines, true},
    {"vkCreatePipelineCache", (PFN_vkVoidFunction)fake_create_cache, true},
    {"vkGetPipelineCacheData", (PFN_vkVoidFunction)fake_cache_data, true},
    {"vkCmdDispatch", (PFN_vkVoidFunction)fake_dispatch, true},
};

static PFN_vkVoidFunction find(const char *name, bool of_device) {
    for (size_t k = 0; k < sizeof fakes / sizeof *fakes; k++)
        if (fakes[k].of_device == of_device && strcmp(fakes[k].name, name) == 0)
            return fakes[k].function;
    return NULL;
}

static PFN_vkVoidFunction fake_device_function(VkDevice device, const char *name) {
    real_device = REAL(vkGetDeviceProcAddr);
    real_submit = REAL_DEVICE(vkQueueSubmit);
    real_dispatch = REAL_DEVICE(vkCmdDispatch);
    real_begin = REAL_DEVICE(vkBeginCommandBuffer);
    if (plays("no_clock") && strcmp(name, "vkCmdWriteTimestamp") == 0)
        return NULL;
    if (plays("no_1_2") && strcmp(name, "vkGetBufferDeviceAddress") == 0)
        return NULL;
    PFN_vkVoidFunction fake = find(name, true);
    return fake ? fake : real_device(device, name);
}

__attribute__((visibility("default"))) PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name);
PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name) {
    if (!real_instance) {
        void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
        void *address = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
        memcpy(&real_instance, &address, sizeof address);
    }
    if (!real_instance)
        return NULL;
    PFN_vkVoidFunction fake = find(name, false);
    return fake ? fake : real_instance(instance, name);
}
