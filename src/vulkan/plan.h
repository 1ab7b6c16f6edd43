/* Plans of Vulkan devices: the pipelines that were made for a computation. */
#ifndef TALLY_VULKAN_PLAN_H
#define TALLY_VULKAN_PLAN_H

#include "gpu/plan.h"
#include "vulkan/pipeline.h"

struct tally_vulkan_cut;

typedef struct tally_vulkan_plan {
    tally_gpu_plan gpu;
    tally_vulkan_device *device;
    tally_vulkan_slot slot;
    uint32_t block; /* threads a workgroup */
    uint32_t types;
    VkPipeline kernels[TALLY_VULKAN_KERNEL_COUNT];
    VkPipeline folds[TALLY_VULKAN_PURPOSES];        /* special reductions; made when first needed */
    VkPipeline fold_slots;                          /* the reduction of accumulators */
    VkPipeline anywhere[TALLY_VULKAN_KERNEL_COUNT]; /* for arrays not aligned for vectors; made when first needed */
    VkPipeline shifted; /* scan_once.comp for arrays that lie so (tally_vulkan_ahead); made when first needed */
    unsigned shifted_by;
    const tally_vulkan_module *module;
    bool has_window;    /* the kernels of exact scans in a window are loaded */
    tally_plan *sorted; /* LABELS: reduces the sorted elements by segments; NULL for other groupings */
    tally_vulkan_commands commands;
    tally_vulkan_memory outcome; /* a tally_vulkan_control that the host reads; of labels, two */
    /* Reductions by segments: two control blocks, of which runs that the host waits for take one in turns, and clear
     * the other: so they need no dispatch for it. */
    tally_vulkan_memory controls;
    bool next_control, next_is_clear; /* the block of the next run, and whether it is clear */
} tally_vulkan_plan;

/* The cut of a run, by any path. */
void tally_vulkan_plan_cut(const tally_vulkan_plan *plan, const tally_shape *shape, struct tally_vulkan_cut *cut);

tally_status tally_vulkan_supports(const tally_device *device, const tally_computation *computation);
tally_status tally_vulkan_plan_create(tally_device *device, const tally_computation *computation, tally_plan **plan);
tally_status tally_vulkan_run_sized(tally_plan *plan, const tally_args *args, const tally_sizes *sizes,
                                    tally_stream stream);
tally_status tally_vulkan_resume(tally_plan *plan, const tally_words_form *form, const int64_t *words,
                                 uint64_t columns);

#endif
