/* Kernels as entry points. glslc makes modules with one entry point, main. But all kernels of a monoid share most of
 * their functions, and one module of all takes a fifth of the space. Drivers compile only the functions that an entry
 * point calls. */
#ifndef TALLY_VULKAN_ENTRIES_H
#define TALLY_VULKAN_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies a module of SPIR-V and makes an entry point of each function without arguments that has a kernel's name. They
 * replace main, which calls them and is left out, as are names and source lines. Returns the number of words, at most
 * 'room', or 0 if there is too little room or the words are not such a module. */
size_t tally_vulkan_add_entries(const uint32_t *words, size_t count, uint32_t *to, size_t room);

#endif
