/* Plans of Vulkan that take or give states in words, through the host. The device adds what exact sums of all values
 * and along an axis are made of, and the host turns that into words. For all other states the input is copied to the
 * host, whose CPU has a plan for them. */
#ifndef TALLY_VULKAN_WORDS_H
#define TALLY_VULKAN_WORDS_H

#include "gpu/plan.h"

typedef struct tally_vulkan_words_plan {
    tally_gpu_plan gpu;
    tally_device *host; /* a CPU whose plan this is; NULL: */
    tally_plan *plan;   /* it is the plan of the device that adds */
} tally_vulkan_words_plan;

/* Whether the host's CPU does it all. */
static inline bool tally_vulkan_words_are_hosts(const tally_computation *c) {
    return c->takes_words || (c->gives_words && (!c->exact || c->desc.grouping >= TALLY_SEGMENTS));
}

/* For these: makes the plan of the host. */
tally_status tally_vulkan_words_load(tally_gpu_plan *plan);

/* As tally_gpu_calls has them. */
void tally_vulkan_words_unload(tally_gpu_plan *plan);
size_t tally_vulkan_words_workspace(const tally_gpu_plan *plan, const tally_shape *shape);
tally_status tally_vulkan_words_run(tally_gpu_plan *plan, const tally_gpu_run *run);

#endif
