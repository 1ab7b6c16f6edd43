/* The exact oracle: sums of floats, of products of two and of integers without any rounding, as one wide fixed-point
 * integer that is rounded once at the end in integer arithmetic (GMP). It is slow and simple; oracle_test.c checks it
 * against mpfr_sum.
 */
#ifndef TALLY_ORACLE_EXACT_H
#define TALLY_ORACLE_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#include "number.h"

/* Bit 0 of limb 0 weighs 2^-2148, the smallest product of two subnormal doubles. */
enum { EXACT_LIMBS = 140 };

typedef struct exact_sum {
    int64_t limb[EXACT_LIMBS]; /* 32 bits each and room for 2^30 carries */
    int lowest, highest;       /* limbs that may differ from 0: all from lowest to before highest */
    uint64_t count;
    bool nan, positive_infinity, negative_infinity;
    bool only_negative_zeros;
} exact_sum;

void exact_clear(exact_sum *sum);
void exact_add(exact_sum *sum, double x);
void exact_add_product(exact_sum *sum, double x, double y);
void exact_add_integer(exact_sum *sum, unsigned __int128 magnitude, bool negative);

/* Correctly rounded to a float type, to nearest, ties to even. exact_mean divides by the count. */
double exact_value(const exact_sum *sum, tally_dtype type);
double exact_mean(const exact_sum *sum, tally_dtype type);
double exact_root(const exact_sum *sum, tally_dtype type);

/* The variance of elements whose sum and sum of squares these are, divided by their number less ddof, or its root. NaN
 * for at most ddof elements, and if one is not finite. */
double exact_variance(const exact_sum *sum, const exact_sum *squares, uint64_t ddof, bool root, tally_dtype type);

#endif
