/* See oracle.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <mpfr.h>
#include <string.h>

const float_format float_formats[FORMATS] = {
    {"f16", TALLY_F16, 2, 10, 5, -24},
    {"bf16", TALLY_BF16, 2, 7, 8, -133},
    {"f32", TALLY_F32, 4, 23, 8, -149},
    {"f64", TALLY_F64, 8, 52, 11, -1074},
};

uint64_t oracle_load(const float_format *f, const void *x, size_t i) {
    const void *element = (const char *)x + i * f->size;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (f->size) {
    case 2:
        memcpy(&two, element, 2);
        return two;
    case 4:
        memcpy(&four, element, 4);
        return four;
    default:
        memcpy(&eight, element, 8);
        return eight;
    }
}

void oracle_store(const float_format *f, void *x, size_t i, uint64_t bits) {
    const uint16_t two = (uint16_t)bits;
    const uint32_t four = (uint32_t)bits;
    memcpy((char *)x + i * f->size,
           f->size == 2   ? (const void *)&two
           : f->size == 4 ? (const void *)&four
                          : &bits,
           f->size);
}

static uint64_t infinity_of(const float_format *f) {
    return ((UINT64_C(1) << f->exponent_bits) - 1) << f->fraction_bits;
}

static bool sign_of(const float_format *f, uint64_t bits) {
    return bits >> (f->fraction_bits + f->exponent_bits) & 1;
}

static uint64_t magnitude_of(const float_format *f, uint64_t bits) {
    return bits & ((UINT64_C(1) << (f->fraction_bits + f->exponent_bits)) - 1);
}

/* A finite value in units of the smallest subnormal: a significand with its sign, times 2^ the returned. */
static mp_bitcnt_t significand_of(mpz_t significand, const float_format *f, uint64_t bits) {
    const uint64_t magnitude = magnitude_of(f, bits);
    const uint64_t field = magnitude >> f->fraction_bits;
    uint64_t digits = magnitude & ((UINT64_C(1) << f->fraction_bits) - 1);
    if (field > 0)
        digits |= UINT64_C(1) << f->fraction_bits;
    mpz_set_ui(significand, digits);
    if (sign_of(f, bits))
        mpz_neg(significand, significand);
    return field > 0 ? field - 1 : 0;
}

void oracle_init(oracle_sum *sum, const float_format *f, bool products) {
    memset(sum, 0, sizeof *sum);
    mpz_init(sum->units);
    sum->lowest = f->size == 8 ? -1074 : -149;
    if (products)
        sum->lowest *= 2;
}

void oracle_clear(oracle_sum *sum) {
    mpz_clear(sum->units);
}

static void add_special(oracle_sum *sum, bool nan, bool negative) {
    if (nan)
        sum->nans++;
    else if (negative)
        sum->negative_infinities++;
    else
        sum->positive_infinities++;
    sum->others = true;
}

void oracle_add(oracle_sum *sum, const float_format *f, const void *x, size_t n) {
    mpz_t units;
    mpz_init(units);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = oracle_load(f, x, i), magnitude = magnitude_of(f, bits);
        sum->count++;
        if (magnitude >= infinity_of(f)) {
            add_special(sum, magnitude > infinity_of(f), sign_of(f, bits));
            continue;
        }
        sum->others |= magnitude != 0 || !sign_of(f, bits);
        const mp_bitcnt_t shift = significand_of(units, f, bits);
        mpz_mul_2exp(units, units, shift + (mp_bitcnt_t)(f->lowest - sum->lowest));
        mpz_add(sum->units, sum->units, units);
    }
    mpz_clear(units);
}

void oracle_add_products(oracle_sum *sum, const float_format *f, const void *x, const void *y, size_t n) {
    mpz_t a, b;
    mpz_inits(a, b, NULL);
    const uint64_t infinity = infinity_of(f);
    for (size_t i = 0; i < n; i++) {
        const uint64_t p = oracle_load(f, x, i), q = oracle_load(f, y, i);
        const uint64_t pm = magnitude_of(f, p), qm = magnitude_of(f, q);
        const bool negative = sign_of(f, p) != sign_of(f, q);
        sum->count++;
        if (pm >= infinity || qm >= infinity) {
            add_special(sum, pm > infinity || qm > infinity || pm == 0 || qm == 0, negative);
            continue;
        }
        sum->others |= !negative || (pm != 0 && qm != 0);
        const mp_bitcnt_t shift_a = significand_of(a, f, p), shift_b = significand_of(b, f, q);
        mpz_mul(a, a, b);
        mpz_mul_2exp(a, a, shift_a + shift_b + (mp_bitcnt_t)(2 * f->lowest - sum->lowest));
        mpz_add(sum->units, sum->units, a);
    }
    mpz_clears(a, b, NULL);
}

/* MPFR in the format's own precision and exponent range; then its value as bits. 'inexact' is MPFR's ternary value,
 * without which its result cannot be made subnormal with a single rounding. */
static uint64_t bits_of_mpfr(mpfr_t value, int inexact, const float_format *f) {
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_set_emin(f->lowest + 1);
    mpfr_set_emax(bias + 1);
    inexact = mpfr_check_range(value, inexact, MPFR_RNDN);
    mpfr_subnormalize(value, inexact, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    const uint64_t sign = (uint64_t)(mpfr_signbit(value) != 0) << (f->fraction_bits + f->exponent_bits);
    if (mpfr_inf_p(value))
        return sign | infinity_of(f);
    if (mpfr_zero_p(value))
        return sign;
    mpz_t units;
    mpz_init(units);
    const mpfr_exp_t exponent = mpfr_get_z_2exp(units, value);
    mpz_abs(units, units);
    /* units * 2^exponent, to a significand with its leading bit in place or to one in smallest subnormals. */
    int64_t unit = (int64_t)exponent + (int64_t)mpz_sizeinbase(units, 2) - 1 - f->fraction_bits;
    if (unit < f->lowest)
        unit = f->lowest;
    if (exponent > unit)
        mpz_mul_2exp(units, units, (mp_bitcnt_t)(exponent - unit));
    else
        mpz_tdiv_q_2exp(units, units, (mp_bitcnt_t)(unit - exponent));
    const uint64_t significand = mpz_get_ui(units);
    mpz_clear(units);
    return sign | (((uint64_t)(unit - f->lowest) << f->fraction_bits) + significand);
}

uint64_t oracle_round(const oracle_sum *sum, oracle_rounding what, const float_format *out) {
    const uint64_t infinity = infinity_of(out), nan = infinity | UINT64_C(1) << (out->fraction_bits - 1);
    const uint64_t sign = UINT64_C(1) << (out->fraction_bits + out->exponent_bits);
    if (what == ORACLE_MEAN && sum->count == 0)
        return nan;
    if (sum->nans || (sum->positive_infinities && sum->negative_infinities))
        return nan;
    if (sum->positive_infinities)
        return infinity;
    if (sum->negative_infinities)
        return what == ORACLE_ROOT ? nan : infinity | sign;
    if (mpz_sgn(sum->units) == 0)
        return sum->count != 0 && !sum->others ? sign : 0;
    if (what == ORACLE_ROOT && mpz_sgn(sum->units) < 0)
        return nan;
    mpfr_t exact, value;
    mpfr_init2(exact, (mpfr_prec_t)mpz_sizeinbase(sum->units, 2) + 2);
    mpfr_init2(value, out->fraction_bits + 1);
    mpfr_set_z_2exp(exact, sum->units, sum->lowest, MPFR_RNDN);
    int inexact;
    if (what == ORACLE_MEAN)
        inexact = mpfr_div_ui(value, exact, sum->count, MPFR_RNDN);
    else if (what == ORACLE_ROOT)
        inexact = mpfr_sqrt(value, exact, MPFR_RNDN);
    else
        inexact = mpfr_set(value, exact, MPFR_RNDN);
    const uint64_t bits = bits_of_mpfr(value, inexact, out);
    mpfr_clears(exact, value, (mpfr_ptr)0);
    return bits;
}

bool oracle_agrees(const oracle_sum *sum, tally_superaccumulator *state) {
    tally_superaccumulator_normalise(state);
    if (state->count != sum->count || state->nans != sum->nans ||
        state->positive_infinities != sum->positive_infinities ||
        state->negative_infinities != sum->negative_infinities || (state->others != 0) != sum->others)
        return false;
    mpz_t rest;
    mpz_init_set(rest, sum->units);
    bool agrees = true;
    for (int32_t i = 0; i < state->limb_count && agrees; i++) {
        if (i < state->limb_count - 1) {
            mpz_t limb;
            mpz_init(limb);
            mpz_fdiv_r_2exp(limb, rest, 32);
            agrees = mpz_cmp_si(limb, state->limbs[i]) == 0;
            mpz_fdiv_q_2exp(rest, rest, 32);
            mpz_clear(limb);
        } else {
            agrees = mpz_cmp_si(rest, state->limbs[i]) == 0;
        }
    }
    mpz_clear(rest);
    return agrees;
}

uint64_t oracle_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ------------------------------------------------------------------------------------ data --------------- */

static uint64_t make(const float_format *f, bool negative, int64_t field, uint64_t fraction) {
    const int64_t highest = (INT64_C(1) << f->exponent_bits) - 2;
    if (field < 0)
        field = 0;
    if (field > highest)
        field = highest;
    return (uint64_t)negative << (f->fraction_bits + f->exponent_bits) | (uint64_t)field << f->fraction_bits |
           (fraction & ((UINT64_C(1) << f->fraction_bits) - 1));
}

static int64_t middle_of(const float_format *f) {
    return (INT64_C(1) << (f->exponent_bits - 1)) - 1;
}

/* Exponents spread evenly around a middle one, random significands and signs. */
static uint64_t spread(const float_format *f, uint64_t *r, int64_t middle, int64_t halfwidth) {
    const uint64_t a = oracle_random(r), b = oracle_random(r);
    return make(f, a >> 63, middle + (int64_t)(a % (uint64_t)(2 * halfwidth + 1)) - halfwidth, b);
}

static uint64_t negated(const float_format *f, uint64_t bits) {
    return bits ^ UINT64_C(1) << (f->fraction_bits + f->exponent_bits);
}

static const char *const kind_names[DATA_KINDS] = {
    "one binade",
    "a few binades",
    "20 exponents either way",
    "100 exponents either way",
    "random finite bits",
    "random bits",
    "subnormals",
    "near overflow",
    "cancelling pairs",
    "equal maxima",
    "equal negative maxima",
    "zeros of both signs",
    "all -0",
    "long carry chain",
    "a lone low bit",
    "window edges",
    "specials sprinkled",
    "small integers",
    "mixed blocks",
    "bell-shaped",
    "one far value",
    "alternating signs",
    "ties",
    "tiny and huge",
};

const char *oracle_kind_name(int kind) {
    return kind_names[kind];
}

static uint64_t generate_one(const float_format *f, int kind, uint64_t *r, uint64_t seed, size_t i, size_t n) {
    const int64_t middle = middle_of(f), top = 2 * middle;
    const uint64_t ones = ~UINT64_C(0);
    const uint64_t a = oracle_random(r);
    switch (kind) {
    case 0:
        return make(f, a >> 63, middle, a);
    case 1:
        return spread(f, r, middle, 3);
    case 2:
        return spread(f, r, middle, 20);
    case 3:
        return spread(f, r, middle, 100);
    case 4:
        return make(f, a >> 63, (int64_t)(oracle_random(r) % (uint64_t)(top + 1)), a);
    case 5:
        return a & ((ones >> (64 - 8 * f->size)));
    case 6:
        return make(f, a >> 63, (int64_t)(a % 3 == 0), oracle_random(r) >> (a % 50));
    case 7:
        return make(f, a & 1, top - (int64_t)(a % 2), a >> 5);
    case 8: /* its partner lies across the middle of the array */
        if (i >= n / 2 && n % 2 == 0) {
            uint64_t mirror = seed ^ (n - 1 - i) * UINT64_C(0x2545f4914f6cdd1d);
            return negated(f, spread(f, &mirror, middle, 30));
        } else {
            uint64_t own = seed ^ i * UINT64_C(0x2545f4914f6cdd1d);
            return spread(f, &own, middle, 30);
        }
    case 9:
    case 10: /* lanes at their fullest, beside nothing else, values at one distance, or values anywhere */
        if (i % 61 == 7 && seed % 3 == 1)
            return make(f, a & 1, middle + 5 - 20 - (int64_t)(seed / 3 % 600), a);
        if (i % 61 == 7 && seed % 3 == 2)
            return make(f, a & 1, (int64_t)(oracle_random(r) % (uint64_t)(top + 1)), a);
        return make(f, kind == 10, middle + 5, ones);
    case 11:
        return make(f, a & 1, 0, 0);
    case 12:
        return make(f, true, 0, 0);
    case 13: /* 2^k once, then minus its smallest neighbours: borrows that run through the limbs */
        return i == 0 ? make(f, false, top, 0) : make(f, true, (int64_t)(a % 2), 1);
    case 14:
        return i == n / 3 ? make(f, a & 1, 0, 1) : make(f, a >> 63, middle + 9, 0);
    case 15: { /* the largest value, and one that ends exactly at, just inside or just outside of a window */
        const int64_t span = 20 + (int64_t)(seed % 140);
        return i % 7 == 3 ? make(f, a & 1, middle - span, a & 2 ? 1 : ones) : make(f, a & 4, middle, a & 8 ? ones : a);
    }
    case 16:
        if (a % 97 == 0)
            return (a >> 20 & 3) == 0   ? infinity_of(f)
                   : (a >> 20 & 3) == 1 ? negated(f, infinity_of(f))
                                        : infinity_of(f) | 1;
        return spread(f, r, middle, 4);
    case 17:
        return make(f, a >> 63, middle + (int64_t)(a % 3), ones << (f->fraction_bits - 2));
    case 18:
        return spread(f, r, middle, i / 3000 % 2 ? 60 : 2);
    case 19: {
        int64_t field = middle + 1; /* each exponent half as likely as the one above */
        for (uint64_t bits = a; bits & 1; bits >>= 1)
            field--;
        return make(f, a >> 63, field, a >> 8);
    }
    case 20:
        return i == seed % n ? make(f, a >> 63, top - 20, a) : spread(f, r, middle, 2);
    case 21:
        return make(f, i % 2, middle + (i % 2 ? 0 : 1), i % 2 ? ones : 0);
    case 22: /* 1, half a unit in its last place, and now and then a bit far below */
        if (i == 0)
            return make(f, seed & 1, middle, seed >> 8);
        if (i == 1)
            return make(f, seed >> 1 & 1, middle - f->fraction_bits - 1, 0);
        return i == 2 && (seed & 4) ? make(f, seed >> 3 & 1, 1, 0) : make(f, false, 0, 0);
    default:
        return make(f, a & 1, a & 2 ? top - 60 : 1 + (int64_t)(a % 5), a >> 4);
    }
}

void oracle_generate(const float_format *f, int kind, uint64_t seed, void *x, size_t n) {
    uint64_t r = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)kind;
    for (size_t i = 0; i < n; i++)
        oracle_store(f, x, i, generate_one(f, kind, &r, seed, i, n));
}
