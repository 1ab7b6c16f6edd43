/* Tests of the oracles themselves: conversions against the compiler's, the wide accumulator against mpfr_sum, and the
 * bounds against data for which a naive sum must exceed them. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "random.h"
#include "reference.h"

static void every_half_survives_a_round_trip(void **state) {
    (void)state;
    for (int type = TALLY_F16; type <= TALLY_BF16; type++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            uint16_t in = (uint16_t)bits, out;
            cell value;
            decode((tally_dtype)type, &in, 1, &value);
            encode((tally_dtype)type, value, &out);
            if (isnan(value.d))
                continue;
            assert_int_equal(in, out);
            assert_true((double)round_to((tally_dtype)type, value.d) == value.d);
        }
}

static void bf16_is_the_upper_half_of_f32(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t in = (uint16_t)bits;
        uint32_t wide = bits << 16;
        float f;
        cell value;
        memcpy(&f, &wide, 4);
        decode(TALLY_BF16, &in, 1, &value);
        assert_true(isnan(f) ? isnan(value.d) : (double)f == value.d);
    }
}

#ifdef __FLT16_MAX__
static void rounding_to_f16_is_the_compilers(void **state) {
    (void)state;
    uint64_t random = 2;
    for (int k = 0; k < 200000; k++) {
        const int exponent = (int)random_below(&random, 44) - 26;
        double d = ldexp(random_normal(&random), exponent);
        assert_true((double)round_to(TALLY_F16, d) == (double)(_Float16)d);
    }
}
#endif

static double any_double(uint64_t *random, int spread) {
    return ldexp((double)(int64_t)random_bits(random),
                 -63 + (int)random_below(random, (uint64_t)(2 * spread)) - spread);
}

static double round_mpfr(const mpfr_t value, tally_dtype type) {
    /* mpfr rounds once to the type's precision; the caller makes sure that the result is normal. */
    mpfr_t rounded;
    mpfr_init2(rounded, precision_of(type));
    mpfr_set(rounded, value, MPFR_RNDN);
    double result = mpfr_get_d(rounded, MPFR_RNDN);
    mpfr_clear(rounded);
    return result;
}

static void wide_accumulator_agrees_with_mpfr_sum(void **state) {
    (void)state;
    uint64_t random = 3;
    enum { MOST = 300 };
    mpfr_t x[MOST];
    mpfr_ptr pointers[MOST];
    for (int k = 0; k < MOST; k++) {
        mpfr_init2(x[k], 53);
        pointers[k] = x[k];
    }
    exact_sum *sum = malloc(sizeof *sum);
    assert_non_null(sum);
    for (int round = 0; round < 3000; round++) {
        int n = 1 + (int)random_below(&random, MOST), spread = 1 + (int)random_below(&random, 900);
        exact_clear(sum);
        for (int k = 0; k < n; k++) {
            double value = any_double(&random, spread);
            if (k && random_below(&random, 3) == 0)
                value = -mpfr_get_d(x[random_below(&random, (uint64_t)k)], MPFR_RNDN);
            mpfr_set_d(x[k], value, MPFR_RNDN);
            exact_add(sum, value);
        }
        for (int type = TALLY_F32; type <= TALLY_F64; type++) {
            mpfr_t total;
            mpfr_init2(total, precision_of((tally_dtype)type));
            mpfr_sum(total, pointers, (unsigned long)n, MPFR_RNDN);
            double want = mpfr_get_d(total, MPFR_RNDN);
            mpfr_clear(total);
            bool normal = fabs(want) > (type == TALLY_F32 ? (double)FLT_MIN : DBL_MIN);
            if (!normal && want != 0)
                continue;
            if (fabs(want) > (double)largest_of((tally_dtype)type))
                want = copysign((double)INFINITY, want);
            assert_true(exact_value(sum, (tally_dtype)type) == want);
        }
    }
    for (int k = 0; k < MOST; k++)
        mpfr_clear(x[k]);
    free(sum);
}

static void mean_and_root_agree_with_mpfr(void **state) {
    (void)state;
    uint64_t random = 4;
    exact_sum *sum = malloc(sizeof *sum), *squares = malloc(sizeof *squares);
    assert_true(sum && squares);
    mpfr_t total, total_squares, x, result;
    mpfr_inits2(6000, total, total_squares, x, result, (mpfr_ptr)0);
    for (int round = 0; round < 400; round++) {
        int n = 1 + (int)random_below(&random, 100);
        exact_clear(sum);
        exact_clear(squares);
        mpfr_set_ui(total, 0, MPFR_RNDN);
        mpfr_set_ui(total_squares, 0, MPFR_RNDN);
        for (int k = 0; k < n; k++) {
            double value = any_double(&random, 40);
            mpfr_set_d(x, value, MPFR_RNDN);
            mpfr_add(total, total, x, MPFR_RNDN);
            mpfr_sqr(x, x, MPFR_RNDN);
            mpfr_add(total_squares, total_squares, x, MPFR_RNDN);
            exact_add(sum, value);
            exact_add_product(squares, value, value);
        }
        for (int type = TALLY_F32; type <= TALLY_F64; type++) {
            mpfr_div_ui(result, total, (unsigned long)n, MPFR_RNDZ);
            assert_true(exact_mean(sum, (tally_dtype)type) == round_mpfr(result, (tally_dtype)type));
            mpfr_sqrt(result, total_squares, MPFR_RNDZ);
            assert_true(exact_root(squares, (tally_dtype)type) == round_mpfr(result, (tally_dtype)type));
            assert_true(exact_value(squares, (tally_dtype)type) == round_mpfr(total_squares, (tally_dtype)type));
        }
    }
    mpfr_clears(total, total_squares, x, result, (mpfr_ptr)0);
    free(sum);
    free(squares);
}

static void wide_accumulator_knows_specials_and_subnormals(void **state) {
    (void)state;
    exact_sum *sum = malloc(sizeof *sum);
    assert_non_null(sum);
    exact_clear(sum);
    assert_true(exact_value(sum, TALLY_F64) == 0 && !signbit(exact_value(sum, TALLY_F64)));
    assert_true(isnan(exact_mean(sum, TALLY_F64)));
    exact_add(sum, -0.0);
    assert_true(signbit(exact_value(sum, TALLY_F64)));
    exact_add(sum, 0.0);
    assert_false(signbit(exact_value(sum, TALLY_F64)));
    exact_add(sum, 5e-324);
    exact_add(sum, 5e-324);
    assert_true(exact_value(sum, TALLY_F64) == 1e-323);
    exact_add(sum, (double)INFINITY);
    assert_true(isinf(exact_value(sum, TALLY_F64)));
    exact_add(sum, (double)-INFINITY);
    assert_true(isnan(exact_value(sum, TALLY_F64)));
    exact_clear(sum);
    exact_add(sum, 1e308);
    exact_add(sum, 1e308);
    assert_true(isinf(exact_value(sum, TALLY_F64)));
    exact_add(sum, -1e308);
    assert_true(exact_value(sum, TALLY_F64) == 1e308);
    /* Half of f16's smallest subnormal is a tie with zero, which is even; a little more is not. */
    exact_clear(sum);
    exact_add(sum, 0x1p-25);
    assert_true(exact_value(sum, TALLY_F16) == 0);
    exact_add(sum, 0x1p-1074);
    assert_true(exact_value(sum, TALLY_F16) == 0x1p-24);
    free(sum);
}

/* A bound that a wrong algorithm can meet proves nothing. */
static void a_naive_sum_fails_the_bound(void **state) {
    (void)state;
    uint64_t random = 5;
    reference r;
    reference_start(&r, TALLY_SUM, TALLY_F32, TALLY_F32, TALLY_F32, TALLY_FAST, false, NULL);
    float naive = 0, blocks = 0, block = 0;
    for (int k = 0; k < 1 << 20; k++) {
        float value = 0.5f + (float)random_unit(&random);
        reference_push(&r, (cell){.d = (double)value}, (cell){.d = 0}, (uint64_t)k);
        naive += value;
        block += value;
        if (k % 1024 == 1023) {
            blocks += block;
            block = 0;
        }
    }
    expected e[2];
    char text[200];
    reference_value(&r, 0, e);
    assert_false(expected_agrees(e, TALLY_F32, &naive, text, sizeof text));
    assert_true(expected_agrees(e, TALLY_F32, &blocks, text, sizeof text));
}

static void the_textbook_variance_fails_the_bound(void **state) {
    (void)state;
    uint64_t random = 6;
    enum { N = 5000 };
    reference r;
    reference_start(&r, TALLY_VAR, TALLY_F32, TALLY_F32, TALLY_F32, TALLY_FAST, false, NULL);
    static float x[N];
    float sum = 0, squares = 0;
    for (int k = 0; k < N; k++) {
        x[k] = 1000 + (float)random_normal(&random);
        sum += x[k];
        squares += x[k] * x[k];
        reference_push(&r, (cell){.d = (double)x[k]}, (cell){.d = 0}, (uint64_t)k);
    }
    reference_begin_second(&r);
    for (int k = 0; k < N; k++)
        reference_second(&r, (cell){.d = (double)x[k]});
    float mean = sum / N, textbook = squares / N - mean * mean;
    expected e[2];
    char text[200];
    reference_value(&r, 0, e);
    assert_false(expected_agrees(e, TALLY_F32, &textbook, text, sizeof text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_survives_a_round_trip),
        cmocka_unit_test(bf16_is_the_upper_half_of_f32),
#ifdef __FLT16_MAX__
        cmocka_unit_test(rounding_to_f16_is_the_compilers),
#endif
        cmocka_unit_test(wide_accumulator_agrees_with_mpfr_sum),
        cmocka_unit_test(mean_and_root_agree_with_mpfr),
        cmocka_unit_test(wide_accumulator_knows_specials_and_subnormals),
        cmocka_unit_test(a_naive_sum_fails_the_bound),
        cmocka_unit_test(the_textbook_variance_fails_the_bound),
    };
    return cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
}
