/* single/tally_exact.c beside the library, in one program: the same bits and the same saved form for random inputs, and
 * each loads what the other saved.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tally/tally.h"
#include "tally_exact.h"

enum { N = 3000, ROUNDS = 400 };
static double x[N], y[N];
static float narrow_x[N], narrow_y[N];

static uint64_t random_bits(void) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (state >> 32) ^ state << 31;
}

/* Any bits, or numbers around 1, or those with their opposites. */
static size_t draw(int round) {
    const size_t n = round % 10 == 0 ? N : random_bits() % 50;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = random_bits(), other = random_bits();
        memcpy(x + i, &bits, 8);
        memcpy(y + i, &other, 8);
        memcpy(narrow_x + i, &bits, 4);
        memcpy(narrow_y + i, &other, 4);
        if (round % 4 != 0 || !isfinite(x[i]))
            x[i] = ldexp((double)(int64_t)bits, (int)(other % 90) - 100);
        if (round % 4 != 0 || !isfinite(y[i]))
            y[i] = ldexp((double)(int64_t)other, (int)(bits % 90) - 100);
        if (round % 4 != 0 || !isfinite(narrow_x[i]))
            narrow_x[i] = (float)ldexp((double)(int32_t)bits, -30);
        if (round % 4 != 0 || !isfinite(narrow_y[i]))
            narrow_y[i] = (float)ldexp((double)(int32_t)other, -30);
        if (round % 4 == 2 && i % 2 == 1) {
            x[i] = -x[i - 1];
            narrow_x[i] = -narrow_x[i - 1];
        }
    }
    return n;
}

static void expect_f64(tally_op op, size_t n, double single) {
    double library = 0;
    tally_accumulator *a = NULL;
    assert_int_equal(tally_accumulator_create(op, TALLY_F64, &a), TALLY_OK);
    assert_int_equal(tally_accumulator_add(a, x, op == TALLY_DOT ? y : NULL, n), TALLY_OK);
    assert_int_equal(tally_accumulator_value(a, TALLY_F64, &library), TALLY_OK);
    assert_memory_equal(&single, &library, sizeof library);
    tally_accumulator_destroy(a);
}

static void expect_f32(tally_op op, size_t n, float single) {
    float library = 0;
    tally_accumulator *a = NULL;
    assert_int_equal(tally_accumulator_create(op, TALLY_F32, &a), TALLY_OK);
    assert_int_equal(tally_accumulator_add(a, narrow_x, op == TALLY_DOT ? narrow_y : NULL, n), TALLY_OK);
    assert_int_equal(tally_accumulator_value(a, TALLY_F32, &library), TALLY_OK);
    assert_memory_equal(&single, &library, sizeof library);
    tally_accumulator_destroy(a);
}

static void test_the_librarys_bits(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const size_t n = draw(round);
        expect_f64(TALLY_SUM, n, tally_exact_sum(x, n));
        expect_f64(TALLY_MEAN, n, tally_exact_mean(x, n));
        expect_f64(TALLY_DOT, n, tally_exact_dot(x, y, n));
        expect_f32(TALLY_SUM, n, tally_exact_sum_f32(narrow_x, n));
        expect_f32(TALLY_MEAN, n, tally_exact_mean_f32(narrow_x, n));
        expect_f32(TALLY_DOT, n, tally_exact_dot_f32(narrow_x, narrow_y, n));
    }
}

static void test_the_librarys_saved_form(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const size_t n = draw(round);
        const bool products = round % 2 != 0;
        uint8_t bytes[TALLY_EXACT_SAVED_MAX], library[TALLY_ACCUMULATOR_MAX_BYTES];
        size_t size = 0;
        tally_exact sum, loaded;
        tally_accumulator *a = NULL, *from_single = NULL;
        assert_int_equal(tally_accumulator_create(products ? TALLY_DOT : TALLY_SUM, TALLY_F64, &a), TALLY_OK);
        assert_int_equal(tally_accumulator_add(a, x, products ? y : NULL, n), TALLY_OK);
        assert_int_equal(tally_accumulator_save(a, library, sizeof library, &size), TALLY_OK);
        products ? tally_exact_begin_dot(&sum) : tally_exact_begin(&sum);
        products ? tally_exact_add_dot(&sum, x, y, n) : tally_exact_add(&sum, x, n);
        assert_int_equal(tally_exact_save(&sum, bytes), size);
        assert_memory_equal(bytes, library, size);
        assert_true(tally_exact_load(&loaded, library, size));
        assert_true(tally_exact_count(&loaded) == n);
        assert_int_equal(tally_accumulator_load(bytes, size, &from_single), TALLY_OK);
        tally_accumulator_destroy(from_single);
        tally_accumulator_destroy(a);
    }
}

/* States of floats have another layout, and integers none. */
static void test_other_types_are_refused(void **state) {
    (void)state;
    const struct {
        tally_op op;
        tally_dtype in;
    } others[] = {{TALLY_SUM, TALLY_F32}, {TALLY_DOT, TALLY_F16}, {TALLY_MEAN, TALLY_I32}, {TALLY_NORM2, TALLY_F64}};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        uint8_t bytes[TALLY_ACCUMULATOR_MAX_BYTES];
        size_t size = 0;
        tally_exact sum;
        tally_accumulator *a = NULL;
        assert_int_equal(tally_accumulator_create(others[k].op, others[k].in, &a), TALLY_OK);
        assert_int_equal(tally_accumulator_save(a, bytes, sizeof bytes, &size), TALLY_OK);
        assert_false(tally_exact_load(&sum, bytes, size));
        tally_accumulator_destroy(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_librarys_bits),
                                       cmocka_unit_test(test_the_librarys_saved_form),
                                       cmocka_unit_test(test_other_types_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
