/* Shared by every path of a run: the kernels' arguments, dispatches, and the barriers between them. */
#ifndef TALLY_VULKAN_DISPATCH_H
#define TALLY_VULKAN_DISPATCH_H

#include "vulkan/arguments.h"
#include "vulkan/cut.h"
#include "vulkan/plan.h"

typedef struct tally_vulkan_launch {
    const tally_vulkan_plan *plan;
    const tally_args *args;
    const tally_vulkan_cut *cut;
    VkDeviceAddress workspace;
    tally_gpu_pieces pieces;
    VkDeviceAddress count;                 /* where the number of elements lies, or 0 */
    VkDeviceAddress outcome;               /* receives a tally_vulkan_control, or 0 */
    VkDeviceAddress runs;                  /* receives the number of runs of keys alone, or 0 */
    VkDeviceAddress control, next_control; /* control blocks of this run and the next; 0: in the workspace */
    bool is_clear;                         /* the run before has cleared 'control' */
    VkCommandBuffer buffer;
} tally_vulkan_launch;

/* The part of them that every path fills in alike. */
tally_vulkan_arguments tally_vulkan_arguments_of(const tally_vulkan_launch *launch);

enum { TALLY_VULKAN_MOST_GRID = 65535 /* workgroups a dimension, which every device takes */ };

/* Records a dispatch; later commands of the same run need a barrier first. If there are too many workgroups for the
 * grid, they take turns in kernels that allow it. */
void tally_vulkan_dispatch(const tally_vulkan_launch *launch, VkPipeline kernel,
                           const tally_vulkan_arguments *arguments, uint64_t groups);
void tally_vulkan_then(const tally_vulkan_launch *launch);

/* The same of a kernel that takes arguments->width columns a workgroup. */
void tally_vulkan_dispatch_panels(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkPipeline kernel,
                                  tally_vulkan_arguments *arguments);

/* By segments or keys: further arguments. */
void tally_vulkan_group_arguments(const tally_vulkan_launch *launch, tally_vulkan_arguments *arguments);
void tally_vulkan_inspect(const tally_vulkan_launch *launch, const tally_vulkan_arguments *groups);
void tally_vulkan_inspect_segments(const tally_vulkan_launch *launch, const tally_vulkan_arguments *groups);
void tally_vulkan_tell(const tally_vulkan_launch *launch, const tally_vulkan_arguments *groups);

/* Whether a run's tiles begin where vectors do not. */
bool tally_vulkan_is_misaligned(const tally_computation *computation, const tally_vulkan_cut *cut,
                                const tally_args *args);

/* X_AHEAD + 16 * OUT_AHEAD of the version of scan_once.comp that a run takes; 0: another. */
unsigned tally_vulkan_ahead(const tally_vulkan_plan *plan, const tally_vulkan_cut *cut, const tally_args *args);

#endif
