/* Reductions by labels: the elements are sorted by label, and each group is then a segment of a plan of its own. */
#ifndef TALLY_VULKAN_LABELS_H
#define TALLY_VULKAN_LABELS_H

#include "vulkan/dispatch.h"

void tally_vulkan_labels_cut(const tally_vulkan_plan *plan, const tally_shape *shape, tally_vulkan_cut *cut);

/* Records all of a run by labels. */
void tally_vulkan_labels_launch(const tally_vulkan_launch *launch);

/* The findings of a run, from those of the sorting and of the sorted elements. */
tally_status tally_vulkan_labels_findings(const tally_vulkan_plan *plan, const tally_args *args,
                                          const tally_vulkan_control control[2], tally_gpu_findings *findings);

#endif
