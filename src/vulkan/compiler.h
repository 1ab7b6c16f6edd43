/* The compiler of GLSL for user operators, opened when the first one is used. */
#ifndef TALLY_VULKAN_COMPILER_H
#define TALLY_VULKAN_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#include "tally/tally.h"

/* SPIR-V of a compute shader, from malloc. TALLY_UNSUPPORTED without a compiler, with the reason and what to do;
 * TALLY_INVALID_ARGUMENT with the compiler's message about the text. The environment variable TALLY_LIBSHADERC names
 * another library than the system's. Any thread may call. */
tally_status tally_vulkan_compile(const char *text, const char *name, uint32_t **words, size_t *count);

#endif
