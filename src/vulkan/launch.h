/* Runs as dispatches: the pipelines of a plan, their arguments and the barriers between them. */
#ifndef TALLY_VULKAN_LAUNCH_H
#define TALLY_VULKAN_LAUNCH_H

#include "vulkan/workspace.h"

typedef struct tally_vulkan_plan {
    tally_plan base;
    tally_vulkan_device *device;
    tally_vulkan_slot slot;
    uint32_t types;
    VkPipeline kernels[TALLY_VULKAN_KERNEL_COUNT];
    VkPipeline fold_slots; /* the reduction of accumulators */
    tally_vulkan_commands commands;
    tally_vulkan_memory scratch;
    tally_vulkan_memory outcome; /* a tally_vulkan_control that the host reads */

    /* input in pieces: an accumulator a column, in totals[current]; a run reads those and writes the others */
    bool has_pieces;
    int current;
    tally_vulkan_memory totals[2];
    uint64_t piece_rows, piece_columns;
} tally_vulkan_plan;

typedef struct tally_vulkan_pieces {
    VkDeviceAddress carry, total; /* 0: the input is whole */
    uint64_t before;              /* elements, or rows, in earlier pieces */
} tally_vulkan_pieces;

typedef struct tally_vulkan_launch {
    const tally_vulkan_plan *plan;
    const tally_args *args;
    const tally_vulkan_cut *cut;
    VkDeviceAddress workspace;
    tally_vulkan_pieces pieces;
    VkDeviceAddress count;   /* where the number of elements lies, or 0 */
    VkDeviceAddress outcome; /* receives a tally_vulkan_control, or 0 */
    VkDeviceAddress runs;    /* receives the number of runs of keys alone, or 0 */
    VkCommandBuffer buffer;
} tally_vulkan_launch;

/* Records everything that a run takes. */
void tally_vulkan_launch_all(const tally_vulkan_launch *launch);

/* Records: accumulators of nothing, or of the initial value; and the results of accumulators. */
void tally_vulkan_clear_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               const void *initial, uint64_t count);
void tally_vulkan_lower_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               uint64_t count, uint64_t elements, void *out);

#endif
