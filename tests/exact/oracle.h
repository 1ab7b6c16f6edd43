/* The exact tests' oracle and data. Sums are kept as GMP integers in units of the smallest subnormal (or of its
 * square), by code that shares nothing with the library; rounding is MPFR's. Data comes as bit patterns of any of the
 * four types from a generator that a seed determines.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_TESTS_EXACT_ORACLE_H
#define TALLY_TESTS_EXACT_ORACLE_H

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exact/superaccumulator.h"
#include "tally/tally.h"

/* A format's fields. */
typedef struct float_format {
    const char *name;
    tally_dtype type;
    size_t size;
    int fraction_bits;
    int exponent_bits;
    int lowest; /* the smallest subnormal is 2^lowest */
} float_format;

enum { FORMATS = 4 };
extern const float_format float_formats[FORMATS];

/* Elements as bit patterns in the low bits of a uint64_t, and as they lie in memory. */
uint64_t oracle_load(const float_format *f, const void *x, size_t i);
void oracle_store(const float_format *f, void *x, size_t i, uint64_t bits);

typedef struct oracle_sum {
    mpz_t units; /* of 2^lowest */
    int lowest;
    uint64_t count, positive_infinities, negative_infinities, nans;
    bool others;
} oracle_sum;

void oracle_init(oracle_sum *sum, const float_format *f, bool products);
void oracle_clear(oracle_sum *sum);
void oracle_add(oracle_sum *sum, const float_format *f, const void *x, size_t n);
void oracle_add_products(oracle_sum *sum, const float_format *f, const void *x, const void *y, size_t n);

/* Bits of the correctly rounded value, by MPFR: of the sum, the mean, the square root. */
typedef enum oracle_rounding { ORACLE_SUM, ORACLE_MEAN, ORACLE_ROOT } oracle_rounding;
uint64_t oracle_round(const oracle_sum *sum, oracle_rounding what, const float_format *out);

/* Whether a state holds exactly this, limb by limb in canonical form and count by count. The state is normalised. */
bool oracle_agrees(const oracle_sum *sum, tally_superaccumulator *state);

/* A small generator of random numbers (splitmix64). */
uint64_t oracle_random(uint64_t *state);

/* Kinds of data; each for every type and size. */
enum { DATA_KINDS = 24 };
const char *oracle_kind_name(int kind);
void oracle_generate(const float_format *f, int kind, uint64_t seed, void *x, size_t n);

#endif
