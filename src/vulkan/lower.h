/* The way out of the kernels: results from accumulators. */
#ifndef TALLY_VULKAN_LOWER_H
#define TALLY_VULKAN_LOWER_H

#include "gpu/text.h"
#include "vulkan/arithmetic.h"

/* Adds result_t lower(acc_t acc, wide count, wide start). */
void tally_vulkan_lower_add(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

#endif
