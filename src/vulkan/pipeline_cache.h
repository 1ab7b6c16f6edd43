/* Compiled pipelines on disk, in the folder of gpu/cache.h. Each pipeline is an entry of its own. So entries are
 * written when pipelines are made, need no merging, and are removed one by one when the folder is full. */
#ifndef TALLY_VULKAN_PIPELINE_CACHE_H
#define TALLY_VULKAN_PIPELINE_CACHE_H

#include "gpu/hash.h"
#include "vulkan/pipeline.h"

typedef struct tally_vulkan_cached {
    VkPipelineCache cache; /* to make the pipeline with */
    tally_key key;
    bool is_ours, is_known; /* not the caller's; the disk had it */
} tally_vulkan_cached;

/* Adds what compiled code depends on: the device, its driver and this library's version. */
void tally_vulkan_hash_device(const tally_vulkan_device *device, tally_hash *hash);

/* For a kernel whose loaded words have this hash. For a caller's device the caller's cache, if there is one. */
tally_vulkan_cached tally_vulkan_cache_find(tally_vulkan_device *device, tally_key words, tally_vulkan_kernel kernel,
                                            const tally_vulkan_choices *choices);

/* Call this when the pipeline has been made, or has failed: writes what is new. */
void tally_vulkan_cache_done(tally_vulkan_device *device, const tally_vulkan_cached *cached, bool made);

#endif
