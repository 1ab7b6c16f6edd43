/* Exact reductions on Vulkan: the cut of a run, and its dispatches. */
#ifndef TALLY_VULKAN_EXACT_H
#define TALLY_VULKAN_EXACT_H

#include "vulkan/dispatch.h"

static inline bool tally_vulkan_folds_exactly(const tally_computation *c) {
    return c->exact && !tally_is_scan(c);
}

void tally_vulkan_exact_cut(const tally_vulkan_device *device, const tally_computation *computation,
                            const tally_shape *shape, tally_vulkan_cut *cut);

void tally_vulkan_exact_launch(const tally_vulkan_launch *launch);

/* The monoid whose kernels exact mode of floats takes: sum, dot or moments. */
tally_monoid tally_vulkan_exact_monoid_of(const tally_computation *computation);

/* The bytes of a column's state between pieces. */
uint64_t tally_vulkan_exact_state_bytes(const tally_computation *computation);

/* As tally_gpu_calls has it. */
tally_status tally_vulkan_put_exact(const tally_computation *computation, const tally_superaccumulator *sums, int count,
                                    uint32_t saw, char *to);

/* Records: the results of such sums. 'totals' 0: sums of nothing. */
void tally_vulkan_exact_finish(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               uint64_t columns, uint64_t elements, void *out);

#endif
