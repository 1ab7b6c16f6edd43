/* Plans of Vulkan that take or give states in words, through the host. The device adds what exact sums of all values
 * and along an axis are made of, and the host turns that into words. All other states are the host's (gpu/by_host.h),
 * and so are the few computations that Vulkan has no kernels for. */
#ifndef TALLY_VULKAN_WORDS_H
#define TALLY_VULKAN_WORDS_H

#include "gpu/by_host.h"

typedef struct tally_vulkan_words_plan {
    tally_gpu_plan gpu;
    tally_plan *plan; /* of the device that adds; NULL: the host computes */
} tally_vulkan_words_plan;

/* Whether the host computes. Kernels of scans have neither a group's begin before its end, nor the number of elements
 * that are no NaNs. */
static inline bool tally_vulkan_is_by_host(const tally_computation *c) {
    const bool by_groups = c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
    const bool counts_from_end =
        by_groups && c->reverse && c->entry && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED;
    const bool counts_numbers = c->skips_nan && c->desc.op == TALLY_MEAN && tally_is_scan(c);
    return c->takes_words || (c->gives_words && (!c->exact || c->desc.grouping >= TALLY_SEGMENTS)) || counts_from_end ||
           counts_numbers;
}

/* As tally_gpu_calls has them. */
void tally_vulkan_words_unload(tally_gpu_plan *plan);
size_t tally_vulkan_words_workspace(const tally_gpu_plan *plan, const tally_shape *shape);
tally_status tally_vulkan_words_run(tally_gpu_plan *plan, const tally_gpu_run *run);

#endif
