/* Blocks of an exact scan by integers: which kernel, in what unit, and whether its results are certain. Any level can
 * be asked; without AVX-512 the answer is no.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_INTEGERS_H
#define TALLY_CPU_KERNELS_EXACT_INTEGERS_H

#include <stdlib.h>

#include "cpu/kernels/exact_two_units.h"

enum {
    MOST_ERROR = 1 << 20, /* of a prefix of one integer, in units */
    UNITS_APART = 41      /* 2^this is the quotient of two units: a block's rests stay below 2^(10 + 40) small units */
};

/* Prefixes as one integer or two. */
typedef struct units {
    bool chosen;
    bool are_two;
    bool has_rests;  /* the last block had */
    int exponent;    /* a unit is 2^exponent; if there are two, the larger */
    int wait, until; /* blocks that are done otherwise after a failure */
    int64_t prefix[LEVELS];
    /* If it is one: what is left of the prefix that it began with, and that one's error; and what is left of elements
     * since, at most, in units. */
    double left, left_error;
    uint64_t rests;
} units;

#if defined(__AVX512DQ__)
enum { HAVE_UNITS = 1 };
#else
enum { HAVE_UNITS = 0 };

static bool run_quads(unit_block *b, tally_dtype in, bool guarded) {
    return b->groups == 0 && in == TALLY_F64 && guarded;
}

static bool run_pairs(unit_block *b, tally_dtype in) {
    return b->groups == 0 && in == TALLY_F64;
}
#endif

/* How a block is run. */
typedef enum by { BY_UNITS, BY_UNITS_GUARDED, BY_TWO_UNITS } by;

static bool run_groups(unit_block *b, tally_dtype in, by way) {
    return way == BY_TWO_UNITS ? run_pairs(b, in) : run_quads(b, in, way == BY_UNITS_GUARDED);
}

/* n elements at 'x': groups, and what is left over with zeros behind it, in the order of the scan. */
static bool run_units(unit_block *b, const char *x, size_t n, tally_dtype in, by way, char *results) {
    const size_t in_bytes = tally_dtype_size(in), out_bytes = tally_dtype_size(b->out);
    const size_t of_group = way == BY_TWO_UNITS ? OF_PAIR : OF_QUAD, left = n % of_group;
    const size_t groups_at = b->reverse ? left : 0, left_at = b->reverse ? 0 : n - left;
    const size_t padded_at = b->reverse ? of_group - left : 0;
    bool certain = true;
    b->groups = n / of_group;
    b->x = x + groups_at * in_bytes;
    b->results = results + groups_at * out_bytes;
    if (b->groups > 0)
        certain = run_groups(b, in, way);
    if (left > 0) {
        double elements[OF_PAIR] = {0}, sums[OF_PAIR]; /* or twice as many floats */
        memcpy((char *)elements + padded_at * in_bytes, x + left_at * in_bytes, left * in_bytes);
        b->groups = 1;
        b->x = elements;
        b->results = sums;
        b->streamed = false;
        certain &= run_groups(b, in, way);
        memcpy(results + left_at * out_bytes, (char *)sums + padded_at * out_bytes, left * out_bytes);
    }
    return certain;
}

/* By how many units a prefix may be wrong. */
static uint64_t error_of_units(const units *u) {
    const double error = (__builtin_fabs(u->left) + u->left_error) * power_of_two(-u->exponent);
    return (error > 0 ? 2 + (uint64_t)error : 0) + u->rests;
}

/* Chooses the unit for prefixes from 'before' on. They are likely to grow by less than 'likely'; if that leaves room
 * for the unit of the elements, also for 'most'. False if there is none. */
static bool choose_unit(units *u, prefix before, bounds b, double likely, double most) {
    enum { LEAST = -126, MOST = 100 }; /* exponents whose powers of two are floats, as their reciprocals are */
    const double high_bound = __builtin_fabs(before.high);
    const int roomy = exponent_of(high_bound + most) + 2 - MOST_BITS;
    const int tight = exponent_of(high_bound + likely) + 2 - MOST_BITS;
    const int exponent = roomy < tight || roomy <= b.lowest ? roomy : tight;
    if (before.scaled || exponent > MOST)
        return false;
    u->exponent = exponent > LEAST ? exponent : LEAST;
    u->has_rests = b.lowest < u->exponent;
    const double unit = power_of_two(u->exponent), scale = power_of_two(-u->exponent);
    const int64_t high = (int64_t)(before.high * scale), low = (int64_t)(before.low * scale);
    double lost;
    u->are_two = false;
    u->prefix[0] = high + low;
    u->left = two_sum(before.high - (double)high * unit, before.low - (double)low * unit, &lost);
    u->left_error = before.error + __builtin_fabs(lost);
    u->rests = 0;
    return before.error < MOST_ERROR * unit;
}

/* Whether doubles would have rests. */
static bool need_two_units(prefix before, bounds b, double most) {
    return b.lowest < exponent_of(__builtin_fabs(before.high) + most) - 50;
}

/* The same for two, of which this is the larger one's exponent. They take no rests. */
static bool choose_two_units(prefix before, bounds b, double likely, double most, int *exponent) {
    enum { LEAST = -1074 + UNITS_APART, MOST = 960 }; /* so that nothing underflows or overflows */
    const double high_bound = __builtin_fabs(before.high);
    const int roomy = exponent_of(high_bound + most) - 50, tight = exponent_of(high_bound + likely) - 50;
    *exponent = roomy < tight || roomy <= b.lowest + UNITS_APART ? roomy : tight;
    *exponent = *exponent > LEAST ? *exponent : LEAST;
    return !before.scaled && *exponent <= MOST && b.lowest >= *exponent - UNITS_APART;
}

/* The prefix before must be a multiple of the small unit. Else this returns false. */
static bool begin_two_units(units *u, prefix before, int exponent) {
    /* Powers of two in steps, since a small unit's reciprocal may be none. */
    const double unit = power_of_two(exponent), upper = before.high / unit;
    const int64_t high = (int64_t)upper;
    const double scale = 0x1p41, rest = (upper - (double)high) * scale, low = before.low / unit * scale;
    u->are_two = true;
    u->exponent = exponent;
    u->prefix[0] = high;
    u->prefix[1] = (int64_t)rest + (int64_t)low;
    return before.error == 0 && (double)(int64_t)rest == rest && (double)(int64_t)low == low &&
           low / scale * unit == before.low;
}

static prefix prefix_of_units(const units *u) {
    const double unit = power_of_two(u->exponent), high = (double)u->prefix[0];
    prefix p = {0};
    double lost;
    if (u->are_two) {
        p.high = two_sum(high * unit, (double)u->prefix[1] * 0x1p-41 * unit, &p.low);
        return p;
    }
    p.low = two_sum((double)(u->prefix[0] - (int64_t)high) * unit, u->left, &lost);
    p.high = two_sum(high * unit, p.low, &p.low);
    p.error = (u->left_error + (double)u->rests * unit + __builtin_fabs(lost)) * (1 + 0x1p-50);
    return p;
}

static bool scan_in_two_units(units *u, const void *x, size_t n, tally_dtype in, unit_block b, void *results) {
    memcpy(b.prefix, u->prefix, sizeof b.prefix);
    b.sigma[0] = sigma_f64(u->exponent + 52);
    b.sigma[1] = sigma_f64(u->exponent + 52 - UNITS_APART);
    tally_fpenv_clear();
    const bool certain = run_units(&b, x, n, in, BY_TWO_UNITS, results);
    if (tally_fpenv_inexact(results) || !certain)
        return false;
    /* Whole large units go from the rests' sum to the other. */
    const int64_t half = INT64_C(1) << (UNITS_APART - 1), whole = (b.prefix[1] + half) >> UNITS_APART;
    u->prefix[0] = b.prefix[0] + whole;
    u->prefix[1] = b.prefix[1] - whole * (INT64_C(1) << UNITS_APART);
    return true;
}

static bool scan_in_one_unit(units *u, const void *x, size_t n, tally_dtype in, unit_block b, void *results) {
    const uint64_t error = error_of_units(u), most = error + n / 2 + 1;
    b.scale = (float)power_of_two(-u->exponent);
    b.unit = (float)power_of_two(u->exponent);
    b.prefix[0] = u->prefix[0];
    if (error == 0 && !u->has_rests) {
        unit_block exactly = b;
        tally_fpenv_clear();
        const bool certain = run_units(&exactly, x, n, in, BY_UNITS, results);
        if (!tally_fpenv_inexact(results)) {
            u->prefix[0] = certain ? exactly.prefix[0] : u->prefix[0];
            return certain;
        }
    }
    /* Results may be an eighth of the prefix before. */
    const int bits = 63 - __builtin_clzll((uint64_t)llabs(u->prefix[0]) | 1), cell = bits - 27;
    if (bits > MOST_BITS - 2 || cell < 8 || most >> (cell - 4) != 0)
        return false;
    b.cell = (UINT64_C(1) << cell) - 1;
    b.margin = 2 * most;
    b.least = (float)power_of_two(cell + 25);
    b.prefix[0] += (int64_t)most;
    tally_fpenv_clear();
    const bool certain = run_units(&b, x, n, in, BY_UNITS_GUARDED, results);
    u->has_rests = tally_fpenv_inexact(results);
    if (certain) {
        u->prefix[0] = b.prefix[0] - (int64_t)most;
        u->rests += u->has_rests ? n / 2 + 1 : 0;
    }
    return certain;
}

/* The results of n elements. False if not all are certain: then the prefix has not changed. */
static bool scan_in_units(units *u, const void *x, size_t n, tally_dtype in, unit_block b, void *results) {
    return u->are_two ? scan_in_two_units(u, x, n, in, b, results) : scan_in_one_unit(u, x, n, in, b, results);
}

#endif
