/* Questions about element types, for the whole library. */
#ifndef TALLY_CORE_DTYPE_H
#define TALLY_CORE_DTYPE_H

#include <stdbool.h>

#include "tally/tally.h"

static inline bool tally_dtype_is_valid(tally_dtype t) {
    return t > TALLY_DEFAULT && t < TALLY_DTYPE_COUNT;
}
static inline bool tally_dtype_is_float(tally_dtype t) {
    return t >= TALLY_F16 && t <= TALLY_F64;
}
static inline bool tally_dtype_is_signed(tally_dtype t) {
    return t >= TALLY_I8 && t <= TALLY_I64;
}
static inline bool tally_dtype_is_unsigned(tally_dtype t) {
    return t >= TALLY_U8 && t <= TALLY_U64;
}

/* The unsigned type of the same width; floats stay what they are. */
static inline tally_dtype tally_dtype_to_unsigned(tally_dtype t) {
    return tally_dtype_is_signed(t) ? (tally_dtype)(t + (TALLY_U8 - TALLY_I8)) : t;
}

#endif
