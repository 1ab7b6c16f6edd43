/* An open Vulkan device, as the parts of this back end see it. */
#ifndef TALLY_VULKAN_VULKAN_H
#define TALLY_VULKAN_VULKAN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"
#include "gpu/hash.h"
#include "vulkan/driver.h"

typedef struct tally_vulkan_pipeline tally_vulkan_pipeline;
typedef struct tally_vulkan_module tally_vulkan_module;

/* Memory that the library allocated. */
typedef struct tally_vulkan_memory {
    VkDeviceMemory memory;
    VkBuffer buffer;
    VkDeviceAddress address; /* 0: none */
    VkDeviceSize bytes;
    void *host; /* where the host sees it, or NULL */
} tally_vulkan_memory;

/* A command buffer of our own, and what tells that it is done. */
typedef struct tally_vulkan_commands {
    VkCommandPool pool;
    VkCommandBuffer buffer;
    VkFence fence;
} tally_vulkan_commands;

typedef struct tally_vulkan_device {
    tally_device base;
    tally_vulkan_loader loader;
    tally_vulkan_api api;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue; /* one that takes computations; of a caller's device, NULL */
    uint32_t family;
    bool owns_device;      /* else the caller's own */
    VkPipelineCache cache; /* a caller's, or none */
    int ordinal;

    char name[128];
    uint32_t version, driver_version, vendor, model;
    uint8_t cache_uuid[VK_UUID_SIZE];
    bool is_software;                     /* a CPU that plays a GPU */
    bool has_double, has_int64;           /* shaderFloat64, shaderInt64 */
    bool preserves_f32, preserves_f64;    /* infinities and NaNs, if told to */
    bool rounds_f32, rounds_f64;          /* to nearest, if told to */
    bool keeps_f16, keeps_f32, keeps_f64; /* subnormals, if told to */
    bool adds_floats;   /* atomically, in memory: VK_EXT_shader_atomic_float; of a caller's device, false */
    bool shares_memory; /* with the host: what is allocated is mapped, too */
    /* From this many elements on scans of all values take one pass, in which workgroups wait for others that have
     * started: UINT64_MAX if nothing guarantees that those go on. */
    uint64_t least_once;
    bool stores_bytes; /* and half words, by instructions of their own; of a caller's device, false */
    bool has_shuffles;
    unsigned lanes; /* neighbouring threads that exchange values by shuffles; 1: none do */
    unsigned block; /* threads a workgroup */
    unsigned shared_bytes;
    uint64_t memory_bytes;
    VkPhysicalDeviceMemoryProperties types;

    VkPipelineLayout layout;

    pthread_mutex_t mutex; /* guards what follows, and the queue */
    tally_vulkan_memory *memories;
    size_t memory_count, memory_room;
    tally_vulkan_memory staging;
    tally_vulkan_commands copies;
    pthread_mutex_t building; /* guards modules and pipelines */
    tally_vulkan_module *modules;
    tally_vulkan_pipeline *pipelines; /* a list, the newest first */
} tally_vulkan_device;

static inline VkDeviceAddress tally_vulkan_address(const void *pointer) {
    return (VkDeviceAddress)(uintptr_t)pointer;
}
static inline void *tally_vulkan_pointer(VkDeviceAddress address) {
    return (void *)(uintptr_t)address;
}

/* ---- memory.c ---- */

/* The memory that an address lies in, or false. The device's mutex is not held. */
bool tally_vulkan_find(tally_vulkan_device *device, const void *pointer, tally_vulkan_memory *memory);

tally_status tally_vulkan_allocate(tally_vulkan_device *device, size_t bytes, const char *what,
                                   tally_vulkan_memory *memory);
/* The same, mapped for the host, whatever the device. */
tally_status tally_vulkan_allocate_shared(tally_vulkan_device *device, size_t bytes, const char *what,
                                          tally_vulkan_memory *memory);
void tally_vulkan_release(tally_vulkan_device *device, const tally_vulkan_memory *memory);

tally_status tally_vulkan_alloc(tally_device *device, size_t bytes, void **memory);
void tally_vulkan_free(tally_device *device, void *memory);
tally_status tally_vulkan_copy(tally_device *device, void *to, const void *from, size_t bytes);

/* From the host to the beginning of memory that is no caller's. */
tally_status tally_vulkan_fill(tally_device *device, const tally_vulkan_memory *memory, const void *from, size_t bytes);

/* ---- commands ---- */

tally_status tally_vulkan_commands_create(tally_vulkan_device *device, tally_vulkan_commands *commands);
void tally_vulkan_commands_destroy(tally_vulkan_device *device, const tally_vulkan_commands *commands);

/* Begins a recording; ends it, submits it and waits. 'locked': the caller holds the device's mutex. */
tally_status tally_vulkan_begin(tally_vulkan_device *device, const tally_vulkan_commands *commands);
tally_status tally_vulkan_submit(tally_vulkan_device *device, const tally_vulkan_commands *commands, bool locked,
                                 const char *what);

/* Orders all earlier commands, and their writes, before all later ones. */
void tally_vulkan_barrier(const tally_vulkan_device *device, VkCommandBuffer buffer, VkPipelineStageFlags before,
                          VkAccessFlags written, VkPipelineStageFlags after, VkAccessFlags read);
/* The same between dispatches, also of earlier submissions. */
void tally_vulkan_after_dispatches(const tally_vulkan_device *device, VkCommandBuffer buffer);

#endif
