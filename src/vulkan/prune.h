/* One kernel of a module by itself. A module's kernels share functions but not their shared memory, and a driver may
 * give each kernel the shared memory of all: NVIDIA's does, and then few workgroups fit a processor. */
#ifndef TALLY_VULKAN_PRUNE_H
#define TALLY_VULKAN_PRUNE_H

#include <stddef.h>
#include <stdint.h>

/* Copies the part of a module of SPIR-V that belongs to the entry point with this name: the functions that it calls,
 * and their shared memory. Those of 'others' entry points named in 'other' stay besides. Returns the number of words,
 * at most 'count', or 0 if there is no such entry point or too little memory. */
size_t tally_vulkan_prune(const uint32_t *words, size_t count, const char *name, const char *const *other,
                          size_t others, uint32_t *to);

#endif
