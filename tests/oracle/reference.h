/* What each operator must give, by plain loops in wider arithmetic: integers in 64 bits that wrap, floats in
 * compensated long double, each with the error that an honest algorithm may make. Nothing here is shared with the
 * library.
 *
 * The error bounds. With u = 2^-24 or 2^-53 (half a unit in the last place of the accumulator's type), n terms t_i and
 * T = sum |t_i|, adding in blocks of a fixed length b and the blocks' sums pairwise errs by at most about
 * (b + log2 n) u T (Higham, Accuracy and Stability, 4.2), and one carry a tile or row adds a random walk of sqrt(m)
 * roundings for m of them. What is allowed is
 *
 *     reductions        (24 + 2 log2 n) u T
 *     scans             (24 + 2 log2 n + sqrt n) u T      the carry passes through every tile
 *
 * plus half a unit in the last place of the output. A naive running sum of positive values errs by sqrt(n) / 2 units
 * and more once it stagnates, so it fails as a reduction from some thousands of elements. Sums of small integers have
 * no error at all in any order, and are compared bit for bit; that is what catches a wrong algorithm at small n.
 *
 *     product           (8 + 8 sqrt n) u |p|: n roundings whatever the order, nearly a random walk; n / 16 u |p| more
 *                       for bf16, whose few numbers near 1 drift by 0.026 u an element in blocks of 16
 *     mean              that of the sum, divided; and the division
 *     norm2             that of the sum of squares S, over 2 sqrt S; and the root
 *     variance          k u sigma^2 with k as for sums, however large the mean is: the bound of a two-pass algorithm
 *                       with the mean in twice the precision (Chan, Golub and LeVeque 1983, who have a further
 *                       u sigma mean for one pass); infinite where the sum of squared deviations overflows f64.
 *                       Integers become f64 first, with an error of 2^-53 of their size
 *     skewness, kurtosis   k 2^-53 times the sum of |d|^3 (d^4), over the power of the spread that it is divided by
 *     logsumexp         k u (1 + max |x|): the subtraction of the maximum, the sum of at least 1, the logarithm; in
 *                       scans k + n for k, since equal terms round the same way each time */
#ifndef TALLY_ORACLE_REFERENCE_H
#define TALLY_ORACLE_REFERENCE_H

#include "exact.h"
#include "expected.h"

typedef struct reference {
    tally_op op;
    tally_dtype in, acc;
    tally_mode mode;
    tally_dtype out;
    bool is_scan;
    bool skips_nan;   /* NaNs that are pushed have no effect; set it after reference_start */
    bool exact_terms; /* every partial result is representable: no error is allowed */
    number_kind in_kind;
    long double half_ulp; /* of one, in the accumulator's type */
    uint64_t count;
    uint64_t wrapped;
    long double sum, compensation, magnitude, largest;
    bool nan, positive_infinity, negative_infinity, only_negative_zeros;
    cell minimum, maximum;
    uint64_t at_minimum, at_maximum;
    bool started, nan_seen, minimum_mixed, maximum_mixed; /* mixed: zeros of both signs are the extreme */
    uint64_t nonzero;
    long double mean, mean_low; /* second pass of the variance; the second is what the first could not hold */
    long double squares;
    long double cubes, sizes, fourths; /* likewise; sizes: the sum of the cubes' absolute values */
    long double first;                 /* scans: the first element, from which the mean */
    long double power[4];              /* and the sums of powers of distances are taken */
    bool differ;                       /* not all elements are equal */
    exact_sum *exact;                  /* of the elements, and of their squares */
} reference;

/* 'acc' is the accumulator's type as the plan describes it, 'out' the output's; 'exact' is room for two sums. */
void reference_start(reference *r, tally_op op, tally_dtype in, tally_dtype acc, tally_dtype out, tally_mode mode,
                     bool is_scan, exact_sum *exact);

/* The initial value of a scan, of the output's type. */
void reference_initial(reference *r, cell initial);

/* The next element of the group, with its index in it. y is read by dot only. */
void reference_push(reference *r, cell x, cell y, uint64_t index);

/* Whether the operator needs the group's elements again when their mean is known: then call reference_second for each.
 */
bool reference_has_second_pass(const reference *r);
void reference_begin_second(reference *r);
void reference_second(reference *r, cell x);

/* One result: one element, or two for minmax. */
int reference_value(const reference *r, int ddof, expected result[2]);

/* Whether the operator has a value for zero elements. */
bool reference_has_value_of_nothing(tally_op op);

/* Whether exact mode rounds results of floats, or of integers, so that they differ from those of fast mode. */
bool reference_rounds_once(tally_op op, bool real);

#endif
