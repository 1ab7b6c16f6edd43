/* Plans of Vulkan that take or give states in words, through the host: the device adds what exact sums are made of, and
 * the host turns that into words. States that come in are copied to the host and combined there. */
#ifndef TALLY_VULKAN_WORDS_H
#define TALLY_VULKAN_WORDS_H

#include "gpu/plan.h"

typedef struct tally_vulkan_words_plan {
    tally_gpu_plan gpu;
    tally_device *host; /* WORDS_IN: a CPU, and a plan of it */
    tally_plan *plan;   /* WORDS_OUT: the plan of the device that adds */
} tally_vulkan_words_plan;

/* WORDS_IN: makes the plan of the host. */
tally_status tally_vulkan_words_load(tally_gpu_plan *plan);

/* As tally_gpu_calls has them. */
void tally_vulkan_words_unload(tally_gpu_plan *plan);
size_t tally_vulkan_words_workspace(const tally_gpu_plan *plan, const tally_shape *shape);
tally_status tally_vulkan_words_run(tally_gpu_plan *plan, const tally_gpu_run *run);

#endif
