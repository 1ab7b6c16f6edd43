/* vulkan_modules.h: the shaders that ladder/CMakeLists.txt compiles.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_LADDER_VULKAN_MODULES_H
#define TALLY_LADDER_VULKAN_MODULES_H

#include <stddef.h>
#include <stdint.h>

typedef struct ladder_vulkan_module {
    const char *name; /* the file's, without ".comp" */
    const uint32_t *words;
    size_t bytes;
} ladder_vulkan_module;

extern const ladder_vulkan_module ladder_vulkan_modules[];
extern const size_t ladder_vulkan_module_count;

/* The module of a source, by its name up to the dot; NULL if there is none. */
const ladder_vulkan_module *ladder_vulkan_module_of(const char *file);

/* What every module takes as arguments (vulkan/vocabulary.glsl). The steps count elements. The roofs, read_all and
 * copy_all, count vectors of 16 bytes, and a workgroup takes LADDER_ROOF_STEP at a time (vulkan/roof.glsl). */
enum { LADDER_ROOF_BLOCK = 256, LADDER_ROOF_STEP = 8 * LADDER_ROOF_BLOCK };
typedef struct ladder_vulkan_arguments {
    uint64_t x, sums;
    uint32_t n, groups;
} ladder_vulkan_arguments;

#endif
