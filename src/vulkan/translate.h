/* A user's operator as GLSL, written from its tree (user/tree.h). */
#ifndef TALLY_VULKAN_TRANSLATE_H
#define TALLY_VULKAN_TRANSLATE_H

#include "core/computation.h"
#include "gpu/text.h"
#include "vulkan/arithmetic.h"

typedef struct tally_vulkan_operator {
    tally_text text; /* acc_t, identity, lift, combine, lower, raise; from malloc */
    tally_vulkan_slot slot;
    bool has_double;
} tally_vulkan_operator;

/* Fails as tally_user_read. */
tally_status tally_vulkan_translate(const tally_computation *computation, tally_vulkan_operator *made);

#endif
