/* Rounds an exact state to a floating-point number of any of the four types, once: to nearest, ties to even, with
 * gradual underflow, to infinity only if the true value is too large. All of it is integer arithmetic, so the caller's
 * floating-point environment has no effect.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_EXACT_ROUND_H
#define TALLY_EXACT_ROUND_H

#include "exact/superaccumulator.h"
#include "tally/tally.h"

/* Each writes one element of type 'out' (f16, bf16, f32 or f64) to 'value', which may be misaligned.
 *
 * tally_round_sum:   the sum. NaN if there was a NaN or both infinities; -0 if there were summands and all were -0;
 *                    +0 for every other exact zero and for no summands.
 * tally_round_mean:  the sum divided by accumulator->count, NaN for no summands. Zeros as above.
 * tally_round_root:  the square root of the sum, which is NaN below zero. */
void tally_round_sum(const tally_superaccumulator *accumulator, tally_dtype out, void *value);
void tally_round_mean(const tally_superaccumulator *accumulator, tally_dtype out, void *value);
void tally_round_root(const tally_superaccumulator *accumulator, tally_dtype out, void *value);

/* The variance of both sums' elements, divided by their number less ddof, or its square root: op is TALLY_VAR or
 * TALLY_STD. NaN for at most ddof elements, and if one is not finite. */
void tally_round_moments(const tally_superaccumulator *sum, const tally_superaccumulator *squares, uint64_t ddof,
                         tally_op op, tally_dtype out, void *value);

/* Calls the one of the first three that gives the result of 'op', by its exact column. */
void tally_round_result(const tally_superaccumulator *accumulator, tally_op op, tally_dtype out, void *value);

/* The result of 'op', TALLY_MEAN or TALLY_NORM2, for 'count' elements whose sum (or sum of squares) is an integer:
 * words of 64 bits in two's complement, or without a sign, the lowest first. At most 4. The mean of no elements is NaN.
 */
void tally_round_integer(const uint64_t *words, int word_count, bool is_signed, uint64_t count, tally_op op,
                         tally_dtype out, void *value);

/* The same for TALLY_VAR and TALLY_STD: the number of elements, their sum in two words, the sum of squares in three. */
void tally_round_integer_moments(const uint64_t words[6], bool is_signed, uint64_t ddof, tally_op op, tally_dtype out,
                                 void *value);

/* An exact sum as two doubles: high is high + low rounded to nearest, so a double needs no further rounding; narrower
 * types round high + low once. Both are finite; high carries the sign of a zero. */
typedef struct tally_exact_pair {
    double high, low;
} tally_exact_pair;

void tally_round_pair(tally_exact_pair sum, tally_dtype out, void *value);

#endif
