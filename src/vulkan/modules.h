/* The kernels that were compiled when the library was built: SPIR-V whose words are packed as bytes, about half of
 * them, without names. The table is written by pack.c. */
#ifndef TALLY_VULKAN_MODULES_H
#define TALLY_VULKAN_MODULES_H

#include "vulkan/specialize.h"

typedef struct tally_vulkan_packed_module {
    tally_monoid monoid;
    tally_vulkan_arithmetic arithmetic;
    const unsigned char *bytes;
    size_t count;
} tally_vulkan_packed_module;

extern const tally_vulkan_packed_module tally_vulkan_modules[];
extern const size_t tally_vulkan_module_count;

#endif
