/* The table of element types in memory, and the questions about them that the whole library asks. */
#ifndef TALLY_CORE_DTYPE_H
#define TALLY_CORE_DTYPE_H

#include <stdbool.h>

#include "tally/tally.h"

typedef enum tally_dtype_kind {
    TALLY_KIND_NONE, /* TALLY_DEFAULT */
    TALLY_KIND_SIGNED,
    TALLY_KIND_UNSIGNED,
    TALLY_KIND_FLOAT
} tally_dtype_kind;

/* The layout of a float: a sign, the exponent, and the significand without its leading bit. */
typedef struct tally_float_format {
    int precision;          /* bits of the significand, the leading one included */
    int lowest;             /* the smallest subnormal is 2^lowest */
    int bits;               /* of the whole format */
    uint64_t infinity, one; /* the bits of these numbers */
    uint64_t nan;           /* of the quiet NaN that is returned */
} tally_float_format;

/* A row of dtypes.def. */
typedef struct tally_dtype_entry {
    const char *name, *numpy_name, *npy_code, *device_name;
    tally_dtype_kind kind;
    unsigned bytes;
    tally_dtype value;
    unsigned char saved_code; /* 0: there is none */
    int levels, product_levels;
    tally_float_format format; /* of a float */
} tally_dtype_entry;

extern const tally_dtype_entry tally_dtypes[TALLY_DTYPE_COUNT];

static inline bool tally_dtype_is_valid(tally_dtype t) {
    return t > TALLY_DEFAULT && t < TALLY_DTYPE_COUNT;
}
static inline bool tally_dtype_is_float(tally_dtype t) {
    return tally_dtypes[t].kind == TALLY_KIND_FLOAT;
}
static inline bool tally_dtype_is_signed(tally_dtype t) {
    return tally_dtypes[t].kind == TALLY_KIND_SIGNED;
}
static inline bool tally_dtype_is_unsigned(tally_dtype t) {
    return tally_dtypes[t].kind == TALLY_KIND_UNSIGNED;
}

/* The type that an element is computed with: of halves f32, of all others the type itself. */
static inline tally_dtype tally_dtype_value(tally_dtype t) {
    return tally_dtypes[t].value;
}

/* The unsigned type of the same width; floats stay what they are. */
tally_dtype tally_dtype_to_unsigned(tally_dtype t);

#endif
