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

#endif
