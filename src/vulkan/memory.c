/* Device memory: allocations that have an address, copies between them and the host, and the command buffers of copies
 * and synchronous runs. Memory that host and device share is mapped for its whole life; otherwise copies pass through a
 * buffer that both see. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/vulkan.h"

enum { STAGING_BYTES = 16 << 20 };

/* ---- commands ---- */

tally_status tally_vulkan_commands_create(tally_vulkan_device *device, tally_vulkan_commands *commands) {
    const tally_vulkan_api *api = &device->api;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = device->family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    *commands = (tally_vulkan_commands){0};
    VkResult result = api->vkCreateCommandPool(device->device, &pool, NULL, &commands->pool);
    if (result == VK_SUCCESS) {
        const VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                    .commandPool = commands->pool,
                                                    .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                    .commandBufferCount = 1};
        result = api->vkAllocateCommandBuffers(device->device, &buffer, &commands->buffer);
    }
    if (result == VK_SUCCESS)
        result = api->vkCreateFence(device->device, &fence, NULL, &commands->fence);
    if (result != VK_SUCCESS) {
        tally_vulkan_commands_destroy(device, commands);
        *commands = (tally_vulkan_commands){0};
    }
    return tally_vulkan_check(result, "making a command buffer");
}

void tally_vulkan_commands_destroy(tally_vulkan_device *device, const tally_vulkan_commands *commands) {
    device->api.vkDestroyFence(device->device, commands->fence, NULL);
    device->api.vkDestroyCommandPool(device->device, commands->pool, NULL);
}

tally_status tally_vulkan_begin(tally_vulkan_device *device, const tally_vulkan_commands *commands) {
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    return tally_vulkan_check(device->api.vkBeginCommandBuffer(commands->buffer, &begin), "beginning a recording");
}

tally_status tally_vulkan_submit(tally_vulkan_device *device, const tally_vulkan_commands *commands, bool locked,
                                 const char *what) {
    const tally_vulkan_api *api = &device->api;
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands->buffer};
    VkResult result = api->vkEndCommandBuffer(commands->buffer);
    if (result == VK_SUCCESS) {
        if (!locked)
            pthread_mutex_lock(&device->mutex);
        result = api->vkQueueSubmit(device->queue, 1, &submit, commands->fence);
        if (!locked)
            pthread_mutex_unlock(&device->mutex);
        if (result == VK_SUCCESS) {
            result = api->vkWaitForFences(device->device, 1, &commands->fence, VK_TRUE, UINT64_MAX);
            api->vkResetFences(device->device, 1, &commands->fence);
        }
    }
    return tally_vulkan_check(result, what);
}

void tally_vulkan_barrier(const tally_vulkan_device *device, VkCommandBuffer buffer, VkPipelineStageFlags before,
                          VkAccessFlags written, VkPipelineStageFlags after, VkAccessFlags read) {
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = read};
    device->api.vkCmdPipelineBarrier(buffer, before, after, 0, 1, &barrier, 0, NULL, 0, NULL);
}

void tally_vulkan_after_dispatches(const tally_vulkan_device *device, VkCommandBuffer buffer) {
    tally_vulkan_barrier(device, buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

/* ---- allocations ---- */

/* The first of the memory types for a buffer that has all of 'wanted' and none of 'unwanted'; -1: none. */
static int type_with(const tally_vulkan_device *device, uint32_t allowed, VkMemoryPropertyFlags wanted,
                     VkMemoryPropertyFlags unwanted) {
    for (uint32_t k = 0; k < device->types.memoryTypeCount; k++) {
        const VkMemoryPropertyFlags flags = device->types.memoryTypes[k].propertyFlags;
        if ((allowed >> k & 1) && (flags & wanted) == wanted && !(flags & unwanted))
            return (int)k;
    }
    return -1;
}

enum {
    LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    MAPPED = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    CACHED = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
    /* memory that must be requested specially */
    ODD = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
          VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD
};

typedef enum purpose { FOR_KERNELS, FOR_STAGING, FOR_BOTH /* of kernels and the host */ } purpose;

static int choose_type(const tally_vulkan_device *device, uint32_t allowed, purpose what) {
    static const VkMemoryPropertyFlags for_staging[] = {MAPPED | CACHED, MAPPED},
                                       for_sharing[] = {LOCAL | MAPPED | CACHED, LOCAL | MAPPED}, alone[] = {LOCAL, 0};
    const VkMemoryPropertyFlags *const wishes = what != FOR_KERNELS     ? for_staging
                                                : device->shares_memory ? for_sharing
                                                                        : alone;
    int type = -1;
    for (int k = 0; k < 2 && type < 0; k++)
        type = type_with(device, allowed, wishes[k], ODD);
    return type;
}

static VkResult bind(tally_vulkan_device *device, tally_vulkan_memory *m, purpose what) {
    const tally_vulkan_api *api = &device->api;
    VkMemoryRequirements needs;
    api->vkGetBufferMemoryRequirements(device->device, m->buffer, &needs);
    const int type = choose_type(device, needs.memoryTypeBits, what);
    if (type < 0)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = what == FOR_STAGING ? NULL : &flags,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex = (uint32_t)type};
    VkResult result = api->vkAllocateMemory(device->device, &info, NULL, &m->memory);
    if (result == VK_SUCCESS)
        result = api->vkBindBufferMemory(device->device, m->buffer, m->memory, 0);
    if (result == VK_SUCCESS && (what != FOR_KERNELS || device->shares_memory))
        result = api->vkMapMemory(device->device, m->memory, 0, VK_WHOLE_SIZE, 0, &m->host);
    return result;
}

static VkResult allocate(tally_vulkan_device *device, size_t bytes, purpose what, tally_vulkan_memory *m) {
    const tally_vulkan_api *api = &device->api;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        /* whole words: kernels read those that hold the last bytes */
        .size = (bytes + 16) / 16 * 16,
        .usage =
            VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
            (what == FOR_STAGING ? 0 : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)};
    *m = (tally_vulkan_memory){.bytes = info.size};
    if (bytes > PTRDIFF_MAX)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkResult result = api->vkCreateBuffer(device->device, &info, NULL, &m->buffer);
    if (result == VK_SUCCESS)
        result = bind(device, m, what);
    if (result == VK_SUCCESS && what != FOR_STAGING) {
        const VkBufferDeviceAddressInfo where = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                                 .buffer = m->buffer};
        m->address = api->vkGetBufferDeviceAddress(device->device, &where);
    }
    if (result != VK_SUCCESS) {
        tally_vulkan_release(device, m);
        *m = (tally_vulkan_memory){0};
    }
    return result;
}

tally_status tally_vulkan_allocate(tally_vulkan_device *device, size_t bytes, const char *what,
                                   tally_vulkan_memory *memory) {
    return tally_vulkan_check(allocate(device, bytes, FOR_KERNELS, memory), what);
}

tally_status tally_vulkan_allocate_shared(tally_vulkan_device *device, size_t bytes, const char *what,
                                          tally_vulkan_memory *memory) {
    return tally_vulkan_check(allocate(device, bytes, FOR_BOTH, memory), what);
}

void tally_vulkan_release(tally_vulkan_device *device, const tally_vulkan_memory *memory) {
    device->api.vkDestroyBuffer(device->device, memory->buffer, NULL);
    device->api.vkFreeMemory(device->device, memory->memory, NULL);
}

static tally_vulkan_memory *find(const tally_vulkan_device *device, const void *pointer) {
    const VkDeviceAddress address = tally_vulkan_address(pointer);
    for (size_t k = 0; k < device->memory_count; k++)
        if (address - device->memories[k].address < device->memories[k].bytes)
            return &device->memories[k];
    return NULL;
}

bool tally_vulkan_find(tally_vulkan_device *device, const void *pointer, tally_vulkan_memory *memory) {
    pthread_mutex_lock(&device->mutex);
    const tally_vulkan_memory *found = find(device, pointer);
    if (found)
        *memory = *found;
    pthread_mutex_unlock(&device->mutex);
    return found != NULL;
}

static bool reserve(tally_vulkan_device *device) {
    if (device->memory_count < device->memory_room)
        return true;
    const size_t room = device->memory_room ? 2 * device->memory_room : 16;
    tally_vulkan_memory *list = realloc(device->memories, room * sizeof *list);
    if (!list)
        return false;
    device->memories = list;
    device->memory_room = room;
    return true;
}

tally_status tally_vulkan_alloc(tally_device *base, size_t bytes, void **memory) {
    tally_vulkan_device *device = (tally_vulkan_device *)base;
    tally_vulkan_memory m;
    char what[80];
    snprintf(what, sizeof what, "allocating %zu bytes on vulkan:%d", bytes, device->ordinal);
    tally_status status = tally_vulkan_allocate(device, bytes, what, &m);
    if (status != TALLY_OK)
        return status;
    pthread_mutex_lock(&device->mutex);
    const bool kept = reserve(device);
    if (kept)
        device->memories[device->memory_count++] = m;
    pthread_mutex_unlock(&device->mutex);
    if (!kept) {
        tally_vulkan_release(device, &m);
        return tally_fail(TALLY_OUT_OF_MEMORY, "%s: no memory to note it", what);
    }
    *memory = (void *)(uintptr_t)m.address;
    return TALLY_OK;
}

void tally_vulkan_free(tally_device *base, void *memory) {
    tally_vulkan_device *device = (tally_vulkan_device *)base;
    tally_vulkan_memory m = {0};
    pthread_mutex_lock(&device->mutex);
    tally_vulkan_memory *found = find(device, memory);
    if (found) {
        m = *found;
        *found = device->memories[--device->memory_count];
    }
    pthread_mutex_unlock(&device->mutex);
    if (found)
        tally_vulkan_release(device, &m);
}

/* ---- copies; the mutex is held ---- */

typedef struct side {
    const tally_vulkan_memory *memory; /* NULL: of the host */
    VkDeviceSize offset;
    char *host; /* where the host can reach it, or NULL */
} side;

static tally_status side_of(tally_vulkan_device *device, const void *pointer, size_t bytes, side *s) {
    *s = (side){.memory = find(device, pointer), .host = (char *)pointer};
    if (!s->memory)
        return TALLY_OK;
    s->offset = tally_vulkan_address(pointer) - s->memory->address;
    s->host = s->memory->host ? (char *)s->memory->host + s->offset : NULL;
    if (bytes > s->memory->bytes - s->offset)
        return tally_fail(TALLY_INVALID_ARGUMENT, "copying %zu bytes: less memory is there behind that address", bytes);
    return TALLY_OK;
}

static tally_status copy_on_device(tally_vulkan_device *device, VkBuffer to, VkDeviceSize to_offset, VkBuffer from,
                                   VkDeviceSize from_offset, size_t bytes) {
    const VkBufferCopy region = {from_offset, to_offset, bytes};
    if (!device->owns_device)
        return tally_fail(TALLY_UNSUPPORTED, "this device is the caller's, and the library has no queue of it to copy "
                                             "with: copy in a command buffer of your own");
    tally_status status = tally_vulkan_begin(device, &device->copies);
    if (status != TALLY_OK)
        return status;
    tally_vulkan_barrier(device, device->copies.buffer,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    device->api.vkCmdCopyBuffer(device->copies.buffer, from, to, 1, &region);
    tally_vulkan_barrier(device, device->copies.buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    return tally_vulkan_submit(device, &device->copies, true, "copying");
}

static tally_status copy_through_staging(tally_vulkan_device *device, const side *to, const side *from, size_t bytes) {
    if (!device->staging.buffer) {
        tally_status status = tally_vulkan_check(allocate(device, STAGING_BYTES, FOR_STAGING, &device->staging),
                                                 "allocating a staging buffer");
        if (status != TALLY_OK)
            return status;
    }
    for (size_t done = 0; done < bytes; done += STAGING_BYTES) {
        const size_t part = bytes - done < STAGING_BYTES ? bytes - done : STAGING_BYTES;
        tally_status status = TALLY_OK;
        if (to->memory) {
            memcpy(device->staging.host, from->host + done, part);
            status = copy_on_device(device, to->memory->buffer, to->offset + done, device->staging.buffer, 0, part);
        } else if (from->memory) {
            status = copy_on_device(device, device->staging.buffer, 0, from->memory->buffer, from->offset + done, part);
            if (status == TALLY_OK)
                memcpy(to->host + done, device->staging.host, part);
        }
        if (status != TALLY_OK)
            return status;
    }
    return TALLY_OK;
}

static tally_status copy(tally_vulkan_device *device, const side *to, const side *from, size_t bytes) {
    if (to->host && from->host) {
        memmove(to->host, from->host, bytes);
        return TALLY_OK;
    }
    if (to->memory && from->memory)
        return copy_on_device(device, to->memory->buffer, to->offset, from->memory->buffer, from->offset, bytes);
    return copy_through_staging(device, to, from, bytes);
}

tally_status tally_vulkan_copy(tally_device *base, void *to, const void *from, size_t bytes) {
    tally_vulkan_device *device = (tally_vulkan_device *)base;
    side target, source;
    pthread_mutex_lock(&device->mutex);
    tally_status status = side_of(device, to, bytes, &target);
    if (status == TALLY_OK)
        status = side_of(device, from, bytes, &source);
    if (status == TALLY_OK)
        status = copy(device, &target, &source, bytes);
    pthread_mutex_unlock(&device->mutex);
    return status;
}

tally_status tally_vulkan_fill(tally_device *base, const tally_vulkan_memory *memory, const void *from, size_t bytes) {
    tally_vulkan_device *device = (tally_vulkan_device *)base;
    const side to = {.memory = memory, .host = memory->host}, source = {.host = (char *)(uintptr_t)from};
    pthread_mutex_lock(&device->mutex);
    const tally_status status = copy(device, &to, &source, bytes);
    pthread_mutex_unlock(&device->mutex);
    return status;
}
