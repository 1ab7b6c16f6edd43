/* Rounding a state once: to every format, of sums, means and roots, against MPFR at full precision, with the cases that
 * decide: ties, subnormals, the edge of overflow, signed zeros, specials and divisors of every size.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <mpfr.h>

#include "exact/round.h"
#include "oracle.h"

static void round_state(const tally_superaccumulator *state, oracle_rounding what, tally_dtype out, uint64_t *bits) {
    *bits = 0;
    if (what == ORACLE_SUM)
        tally_round_sum(state, out, bits);
    else if (what == ORACLE_MEAN)
        tally_round_mean(state, out, bits);
    else
        tally_round_root(state, out, bits);
}

static void check_all_roundings(const oracle_sum *sum, const tally_superaccumulator *state, const char *about) {
    for (int out = 0; out < FORMATS; out++)
        for (int what = ORACLE_SUM; what <= ORACLE_ROOT; what++) {
            uint64_t bits;
            round_state(state, (oracle_rounding)what, float_formats[out].type, &bits);
            bits = oracle_load(&float_formats[out], &bits, 0);
            const uint64_t expected = oracle_round(sum, (oracle_rounding)what, &float_formats[out]);
            if (bits != expected)
                fail_msg("%s: rounding %d to %s gives %llx, MPFR %llx", about, what, float_formats[out].name,
                         (unsigned long long)bits, (unsigned long long)expected);
        }
}

/* Deposits mantissa * 2^exponent on both sides; the layout is that of f64 products, the widest. */
typedef struct both {
    oracle_sum sum;
    tally_superaccumulator state;
} both;

static void both_init(both *b, uint64_t count) {
    oracle_init(&b->sum, &float_formats[3], true);
    tally_superaccumulator_init(&b->state, TALLY_LAYOUT_PRODUCT_F64);
    b->sum.count = b->state.count = count;
    b->sum.others = true;
    b->state.others = 1;
}

static void both_deposit(both *b, int64_t mantissa, int exponent) {
    mpz_t units;
    mpz_init_set_si(units, mantissa);
    mpz_mul_2exp(units, units, (mp_bitcnt_t)(exponent - b->sum.lowest));
    mpz_add(b->sum.units, b->sum.units, units);
    mpz_clear(units);
    tally_superaccumulator_deposit(&b->state, mantissa, exponent);
}

static uint64_t random_count(uint64_t *r) {
    const uint64_t a = oracle_random(r);
    const uint64_t count = oracle_random(r) >> a % 64;
    return count > 0 ? count : 1;
}

static void random_states(void **unused) {
    (void)unused;
    uint64_t r = 7;
    for (int i = 0; i < 20000; i++) {
        both b;
        both_init(&b, random_count(&r));
        const int deposits = 1 + (int)(oracle_random(&r) % 4);
        for (int d = 0; d < deposits; d++) {
            const uint64_t a = oracle_random(&r);
            both_deposit(&b, (int64_t)a >> (oracle_random(&r) % 62), -2148 + (int)(oracle_random(&r) % 4200));
        }
        check_all_roundings(&b.sum, &b.state, "random state");
        oracle_clear(&b.sum);
    }
}

/* Around every tie, power of two and limit of each format: the value itself and the smallest steps to either side. */
static void decisive_places(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++) {
        const float_format *format = &float_formats[f];
        const int p = format->fraction_bits + 1, bias = (1 << (format->exponent_bits - 1)) - 1;
        const int places[] = {format->lowest - 2,
                              format->lowest - 1,
                              format->lowest,
                              format->lowest + 1,
                              1 - bias - 1,
                              1 - bias,
                              1 - bias + 1,
                              0,
                              31,
                              32,
                              33,
                              bias - 1,
                              bias,
                              bias + 1,
                              bias + 2};
        for (size_t place = 0; place < sizeof places / sizeof *places; place++)
            for (int pattern = 0; pattern < 8; pattern++)
                for (int step = -1; step <= 1; step++)
                    for (int far = 0; far < 3; far++)
                        for (int sign = -1; sign <= 1; sign += 2) {
                            both b;
                            both_init(&b, 3);
                            /* 2^place, or the number whose significand is all ones below it; a half unit; a step */
                            both_deposit(&b, sign, places[place]);
                            if (pattern & 1)
                                both_deposit(&b, -sign, places[place] - p);
                            if (pattern & 2)
                                both_deposit(&b, sign, places[place] - p);
                            if (pattern & 4)
                                both_deposit(&b, sign, places[place] - p + 1);
                            both_deposit(&b, sign * step,
                                         far == 0   ? places[place] - p - 1
                                         : far == 1 ? places[place] - p - 70
                                                    : -2148);
                            check_all_roundings(&b.sum, &b.state, "decisive place");
                            oracle_clear(&b.sum);
                        }
    }
}

static void squares_and_their_neighbours_have_the_right_root(void **unused) {
    (void)unused;
    uint64_t r = 11;
    for (int i = 0; i < 5000; i++) {
        const int64_t root = (int64_t)(oracle_random(&r) >> (33 + oracle_random(&r) % 20));
        for (int step = -1; step <= 1; step++) {
            both b;
            both_init(&b, 1);
            const int exponent = 2 * ((int)(oracle_random(&r) % 1000) - 500);
            both_deposit(&b, root * root, exponent);
            both_deposit(&b, step, oracle_random(&r) & 1 ? exponent : -2148);
            check_all_roundings(&b.sum, &b.state, "square");
            oracle_clear(&b.sum);
        }
    }
}

static void zeros_and_specials(void **unused) {
    (void)unused;
    for (unsigned pattern = 0; pattern < 64; pattern++) {
        both b;
        both_init(&b, pattern & 1 ? 0 : 5);
        b.sum.others = pattern & 2;
        b.state.others = pattern & 2;
        b.sum.nans = b.state.nans = pattern >> 2 & 1;
        b.sum.positive_infinities = b.state.positive_infinities = pattern >> 3 & 1;
        b.sum.negative_infinities = b.state.negative_infinities = pattern >> 4 & 1;
        if (pattern & 32)
            both_deposit(&b, -3, 0);
        check_all_roundings(&b.sum, &b.state, "zeros and specials");
        oracle_clear(&b.sum);
    }
}

/* A pair of doubles, rounded to narrower formats, against the same pair in a state. */
static void pairs(void **unused) {
    (void)unused;
    uint64_t r = 5;
    for (int i = 0; i < 100000; i++) {
        const uint64_t a = oracle_random(&r), c = oracle_random(&r);
        double high = ldexp((double)((int64_t)a >> (a & 63)), (int)(c % 400) - 230);
        if (c >> 20 & 1) { /* near a tie of f32 */
            float near = (float)high;
            high = (double)near + ldexp((double)near, -24);
        }
        double low = c >> 21 & 3 ? ldexp(high, -54 - (int)(c >> 30 & 31)) * (c >> 40 & 1 ? 1 : -1) : 0;
        const double sum = high + low;
        low = low - (sum - high);
        high = sum;
        if (!isfinite(high))
            continue;
        both b;
        both_init(&b, 1);
        tally_superaccumulator_deposit_value(&b.state, high);
        tally_superaccumulator_deposit_value(&b.state, low);
        for (int out = 0; out < FORMATS; out++) {
            uint64_t bits = 0, expected = 0;
            tally_round_pair((tally_exact_pair){high, low}, float_formats[out].type, &bits);
            tally_round_sum(&b.state, float_formats[out].type, &expected);
            if (high != 0)
                assert_int_equal(bits, expected);
        }
        oracle_clear(&b.sum);
    }
}

/* The same answer as MPFR's own sum, which is correctly rounded and shares no code with anything here. */
static void sums_agree_with_mpfr_sum(void **unused) {
    (void)unused;
    enum { N = 300 };
    static double x[N];
    static mpfr_t values[N];
    mpfr_ptr pointers[N];
    for (int i = 0; i < N; i++) {
        mpfr_init2(values[i], 53);
        pointers[i] = values[i];
    }
    mpfr_t total;
    mpfr_init2(total, 53);
    for (int kind = 0; kind < DATA_KINDS; kind++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            const size_t n = 1 + seed * 14;
            oracle_generate(&float_formats[3], kind, seed, x, n);
            tally_superaccumulator state;
            tally_superaccumulator_init(&state, TALLY_LAYOUT_SUM_F64);
            for (size_t i = 0; i < n; i++) {
                mpfr_set_d(values[i], x[i], MPFR_RNDN);
                tally_superaccumulator_deposit_value(&state, x[i]);
            }
            state.count = n;
            state.others = 1;
            mpfr_set_emin(-1073);
            mpfr_set_emax(1024);
            int inexact = mpfr_sum(total, pointers, n, MPFR_RNDN);
            inexact = mpfr_check_range(total, inexact, MPFR_RNDN);
            mpfr_subnormalize(total, inexact, MPFR_RNDN);
            const double expected = mpfr_get_d(total, MPFR_RNDN);
            mpfr_set_emin(mpfr_get_emin_min());
            mpfr_set_emax(mpfr_get_emax_max());
            double sum;
            tally_round_sum(&state, TALLY_F64, &sum);
            if (isnan(expected))
                assert_true(isnan(sum));
            else
                assert_true(sum == expected);
        }
    for (int i = 0; i < N; i++)
        mpfr_clear(values[i]);
    mpfr_clear(total);
}

/* The quotient's leading bits, and one below them that stands for the rest: they round as the quotient and its root do.
 */
static void check_moments(const oracle_sum *sum, const oracle_sum *squares, const tally_superaccumulator *of_sum,
                          const tally_superaccumulator *of_squares, uint64_t ddof) {
    enum { MORE = 512 };
    oracle_sum variance;
    mpz_t divisor, rest;
    oracle_init(&variance, &float_formats[3], true);
    mpz_init_set_ui(divisor, sum->count);
    mpz_init(rest);
    variance.count = sum->count;
    variance.others = true;
    variance.nans = sum->count <= ddof || sum->nans || sum->positive_infinities || sum->negative_infinities;
    mpz_mul(rest, sum->units, sum->units);
    mpz_mul(variance.units, squares->units, divisor);
    mpz_sub(variance.units, variance.units, rest);
    if (!variance.nans) {
        mpz_mul_2exp(variance.units, variance.units, MORE);
        mpz_mul_ui(divisor, divisor, sum->count - ddof);
        mpz_fdiv_qr(variance.units, rest, variance.units, divisor);
        mpz_mul_2exp(variance.units, variance.units, 2);
        if (mpz_sgn(rest))
            mpz_setbit(variance.units, 0);
        variance.lowest = squares->lowest - MORE - 2;
    }
    for (int out = 0; out < FORMATS; out++)
        for (int root = 0; root < 2; root++) {
            uint64_t bits = 0;
            tally_round_moments(of_sum, of_squares, ddof, root ? TALLY_STD : TALLY_VAR, float_formats[out].type, &bits);
            bits = oracle_load(&float_formats[out], &bits, 0);
            const uint64_t expected = oracle_round(&variance, root ? ORACLE_ROOT : ORACLE_SUM, &float_formats[out]);
            if (bits != expected)
                fail_msg("%s of %llu elements, ddof %llu, to %s: %llx, not %llx", root ? "std" : "var",
                         (unsigned long long)sum->count, (unsigned long long)ddof, float_formats[out].name,
                         (unsigned long long)bits, (unsigned long long)expected);
        }
    mpz_clears(divisor, rest, NULL);
    oracle_clear(&variance);
}

static double value_of(const float_format *f, uint64_t bits) {
    const uint64_t fraction = bits & ((UINT64_C(1) << f->fraction_bits) - 1);
    const int most = (1 << f->exponent_bits) - 1, field = (int)(bits >> f->fraction_bits) & most;
    const double size = field == most ? (fraction ? (double)NAN : (double)INFINITY)
                        : field == 0
                            ? ldexp((double)fraction, f->lowest)
                            : ldexp((double)(fraction | UINT64_C(1) << f->fraction_bits), f->lowest + field - 1);
    return bits >> (f->fraction_bits + f->exponent_bits) ? -size : size;
}

/* All kinds of data, with more zeros that make the number of elements, and so the divisor, as large as it can be. */
static void variances_and_deviations(void **unused) {
    (void)unused;
    enum { N = 40 };
    static double x[N];
    uint64_t r = 17;
    for (int f = 0; f < FORMATS; f++)
        for (int kind = 0; kind < DATA_KINDS; kind++)
            for (uint64_t seed = 0; seed < 60; seed++) {
                const size_t n = 1 + seed % N;
                const float_format *format = &float_formats[f];
                oracle_sum sum, squares;
                tally_superaccumulator of_sum, of_squares;
                oracle_generate(format, kind, seed, x, n);
                oracle_init(&sum, format, false);
                oracle_init(&squares, format, true);
                oracle_add(&sum, format, x, n);
                oracle_add_products(&squares, format, x, x, n);
                tally_superaccumulator_init(&of_sum, tally_exact_layout_of(format->type, false));
                tally_superaccumulator_init(&of_squares, tally_exact_layout_of(format->type, true));
                for (size_t i = 0; i < n; i++) {
                    const double value = value_of(format, oracle_load(format, x, i));
                    tally_superaccumulator_deposit_value(&of_sum, value);
                    tally_superaccumulator_deposit_product(&of_squares, value, value);
                }
                const uint64_t zeros = seed % 3 == 0 ? 0 : random_count(&r), count = n + zeros > n ? n + zeros : n;
                sum.count = of_sum.count = of_squares.count = count;
                check_moments(&sum, &squares, &of_sum, &of_squares, oracle_random(&r) % 4);
                check_moments(&sum, &squares, &of_sum, &of_squares, oracle_random(&r) % (count + 1));
                oracle_clear(&sum);
                oracle_clear(&squares);
            }
}

/* Four elements whose sum is zero and whose squares sum to 3 q have, with ddof 1, the variance q. If q, or its root, is
 * a tie and a little more, far below the leading bits, it is rounded up. */
static void what_follows_far_below_decides_a_tie(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (int root = 0; root < 2; root++)
            for (int more = 0; more < 2; more++) {
                const float_format *format = &float_formats[f];
                const int p = format->fraction_bits / 4; /* so that f16 holds 2^p */
                const int half = p - format->fraction_bits - 1;
                both b;
                tally_superaccumulator zero;
                tally_superaccumulator_init(&zero, TALLY_LAYOUT_SUM_F64);
                zero.count = 4;
                both_init(&b, 4);
                both_deposit(&b, 3, root ? 2 * p : p); /* 2^p + 2^half, or its square */
                both_deposit(&b, 3, root ? p + half + 1 : half);
                if (root)
                    both_deposit(&b, 3, 2 * half);
                if (more)
                    both_deposit(&b, 1, -1000);
                uint64_t bits = 0;
                tally_round_moments(&zero, &b.state, 1, root ? TALLY_STD : TALLY_VAR, format->type, &bits);
                bits = oracle_load(format, &bits, 0);
                assert_true(value_of(format, bits) == ldexp(1, p) + (more ? ldexp(1, half + 1) : 0));
                oracle_clear(&b.sum);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_states),
        cmocka_unit_test(decisive_places),
        cmocka_unit_test(squares_and_their_neighbours_have_the_right_root),
        cmocka_unit_test(zeros_and_specials),
        cmocka_unit_test(pairs),
        cmocka_unit_test(sums_agree_with_mpfr_sum),
        cmocka_unit_test(variances_and_deviations),
        cmocka_unit_test(what_follows_far_below_decides_a_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
