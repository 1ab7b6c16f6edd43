/* Kernels as entry points. glslc makes modules with one, main; but all kernels of a monoid share most of their
 * functions, and as one module take a fifth of the room. Drivers compile only what an entry point calls. */
#ifndef TALLY_VULKAN_ENTRIES_H
#define TALLY_VULKAN_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies a module of SPIR-V and makes an entry point of each function without arguments that has one of the kernels'
 * names, in place of main, which calls them and is left out, as are names and source lines. Gives the number of words,
 * at most 'room', or 0 if there is too little room or the words are no such module. */
size_t tally_vulkan_add_entries(const uint32_t *words, size_t count, uint32_t *to, size_t room);

#endif
