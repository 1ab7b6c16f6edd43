/* Input data: patterns that each show something, made once per type and sliced. */
#ifndef TALLY_CONFORMANCE_DATA_H
#define TALLY_CONFORMANCE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally/tally.h"

typedef enum pattern {
    SMALL_INTEGERS, /* -3 to 3: float sums of them are exact in any order; many ties */
    UNIFORM,        /* integers of all sizes; floats of normal distribution */
    POSITIVE,       /* floats from 0.5 to 1.5: sums that grow, where a naive one loses digits */
    SPECIAL,        /* small integers with rare NaN, infinities, zeros of both signs, subnormals */
    POWERS,         /* 1 and -1, rarely 2 and 1/2: products are exact */
    POWERS_SPECIAL, /* likewise with rare NaN, infinities and zeros */
    NEAR_ONE,       /* products that neither overflow nor vanish */
    OFFSET,         /* 1000 (f32 1e5, f64 1e9) and a deviation of 1: variances that cancel */
    EXTREME,        /* nearly the largest numbers and less, of both signs: squares and differences that overflow */
    MOSTLY_ZERO,
    MOSTLY_NOT_ZERO,
    FEW_BITS_CLEAR, /* for bitwise and */
    FEW_BITS_SET,   /* for bitwise or */
    WIDE,           /* random exponents over the type's whole range that cannot overflow a sum */
    CANCELLING,     /* large values each with its negative somewhere near, and small rests */
    RANDOM_BITS,    /* any bit pattern, NaN and infinities included */
    SIGNED_ZEROS,   /* zeros alone, of both signs, one of them rare in places */
    ODD_NANS,       /* SIGNED_ZEROS with rare NaNs that have signs and payloads */
    FAR_0,          /* a deviation of 1 from 0, 10^3, 10^6, 10^9, 10^12, 10^15 */
    FAR_3,
    FAR_6,
    FAR_9,
    FAR_12,
    FAR_15,
    SMALL_AND_NANS, /* SMALL_INTEGERS and infinities; stretches of them without, with some, with many NaNs, and of NaNs
                     */
    UNIFORM_AND_NANS,
    POWERS_AND_NANS,
    PATTERN_COUNT
} pattern;

const char *pattern_name(pattern p);

/* The operators that give an element, or its absolute value: only in exact mode a zero's sign is promised. */
bool is_extremum(tally_op op);

/* The patterns for an operator, at most 6; returns how many. */
int patterns_for(tally_op op, tally_dtype in, tally_mode mode, pattern list[6]);

/* The same where NaNs are left out. */
int patterns_with_nans(tally_op op, pattern list[6]);

/* Whether every partial result of n such values is representable, so that no error is allowed. */
bool pattern_is_exact(pattern p, tally_op op, uint64_t n);

/* n elements of a pattern; the memory is the pool's. 'seed' chooses the slice. */
const void *data_slice(tally_dtype type, pattern p, uint64_t seed, size_t n);
void data_release(void);

#endif
