#include "vulkan/pipeline_cache.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/cache.h"

typedef struct header { /* of what vkGetPipelineCacheData gives */
    uint32_t bytes, version, vendor, model;
    uint8_t uuid[VK_UUID_SIZE];
} header;

/* Drivers check this, too, and some have checked it badly. */
static bool is_of_device(const tally_vulkan_device *device, const tally_image *image) {
    header h;
    if (image->size < sizeof h)
        return false;
    memcpy(&h, image->bytes, sizeof h);
    return h.bytes == sizeof h && h.version == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && h.vendor == device->vendor &&
           h.model == device->model && memcmp(h.uuid, device->cache_uuid, sizeof h.uuid) == 0;
}

void tally_vulkan_hash_device(const tally_vulkan_device *v, tally_hash *hash) {
    const uint32_t which[] = {v->vendor, v->model, v->version, v->driver_version};
    tally_hash_add_text(hash, tally_version());
    tally_hash_add(hash, which, sizeof which);
    tally_hash_add(hash, v->cache_uuid, sizeof v->cache_uuid);
}

static tally_key key_of(const tally_vulkan_device *device, tally_key words, tally_vulkan_kernel kernel,
                        const tally_vulkan_choices *choices) {
    tally_hash hash;
    tally_hash_begin(&hash);
    tally_hash_add_text(&hash, "a pipeline of Vulkan");
    tally_vulkan_hash_device(device, &hash);
    tally_hash_add(&hash, &words, sizeof words);
    tally_hash_add_text(&hash, tally_vulkan_kernel_names[kernel]);
    tally_hash_add(&hash, choices, sizeof *choices);
    return tally_hash_end(&hash);
}

tally_vulkan_cached tally_vulkan_cache_find(tally_vulkan_device *device, tally_key words, tally_vulkan_kernel kernel,
                                            const tally_vulkan_choices *choices) {
    tally_vulkan_cached found = {.cache = device->cache};
    tally_image image = {0};
    if (!device->owns_device)
        return found;
    found.key = key_of(device, words, kernel, choices);
    if (tally_cache_load(found.key, &image) && !is_of_device(device, &image))
        tally_image_free(&image);
    const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                            .initialDataSize = image.size,
                                            .pInitialData = image.bytes};
    /* Without a cache a pipeline is compiled and not kept. */
    found.is_ours = device->api.vkCreatePipelineCache(device->device, &info, NULL, &found.cache) == VK_SUCCESS;
    found.is_known = image.size != 0;
    tally_image_free(&image);
    return found;
}

static void keep(tally_vulkan_device *device, const tally_vulkan_cached *cached) {
    const tally_vulkan_api *api = &device->api;
    tally_image image = {0};
    if (api->vkGetPipelineCacheData(device->device, cached->cache, &image.size, NULL) != VK_SUCCESS ||
        image.size <= sizeof(header)) /* some drivers keep nothing, or keep it elsewhere */
        return;
    image.bytes = malloc(image.size);
    if (image.bytes &&
        api->vkGetPipelineCacheData(device->device, cached->cache, &image.size, image.bytes) == VK_SUCCESS &&
        is_of_device(device, &image))
        tally_cache_store(cached->key, &image);
    tally_image_free(&image);
}

void tally_vulkan_cache_done(tally_vulkan_device *device, const tally_vulkan_cached *cached, bool made) {
    if (!cached->is_ours)
        return;
    if (made && !cached->is_known)
        keep(device, cached);
    device->api.vkDestroyPipelineCache(device->device, cached->cache, NULL);
}
