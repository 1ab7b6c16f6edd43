/* A user's operator as GLSL. Its five texts are in the subset of C that CUDA compiles and that docs/man/tally_plan.3
 * describes: structs of numbers and arrays, expressions, functions beside acc_t with the usual statements. They mean
 * what C means: arithmetic happens in int and wider types, conversions are implicit, conditions are numbers. GLSL would
 * read them differently. So every expression is read with its type and written with its conversions. */
#ifndef TALLY_VULKAN_TRANSLATE_H
#define TALLY_VULKAN_TRANSLATE_H

#include "core/computation.h"
#include "gpu/text.h"
#include "vulkan/specialize.h"

typedef struct tally_vulkan_operator {
    tally_text text; /* acc_t, identity, lift, combine, lower, raise; from malloc */
    tally_vulkan_slot slot;
    bool has_double;
} tally_vulkan_operator;

/* TALLY_INVALID_ARGUMENT for what C does not allow, TALLY_UNSUPPORTED for what the subset does not have, each with the
 * text's name, its line and column. */
tally_status tally_vulkan_translate(const tally_computation *computation, tally_vulkan_operator *made);

#endif
