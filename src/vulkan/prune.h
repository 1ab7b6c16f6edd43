/* One kernel of a module by itself. A module's kernels share functions, but not their shared memory, of which drivers
 * may give each kernel what all of them take: NVIDIA's does, and few workgroups fit a processor then. */
#ifndef TALLY_VULKAN_PRUNE_H
#define TALLY_VULKAN_PRUNE_H

#include <stddef.h>
#include <stdint.h>

/* Copies what of a module of SPIR-V belongs to the entry point with this name: what it calls, and the shared memory of
 * that. Gives the number of words, at most 'count', or 0 if there is no such entry point or no memory. */
size_t tally_vulkan_prune(const uint32_t *words, size_t count, const char *name, uint32_t *to);

#endif
