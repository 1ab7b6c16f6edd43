/* test_number.c: every element type survives being printed and read again; reading rounds once, to nearest even.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

static number_status parse(const char *text, tally_dtype dtype, void *element) {
    return number_parse(text, strlen(text), dtype, element);
}

static uint16_t bits16(const char *text, tally_dtype dtype) {
    uint16_t bits = 0xdead;
    assert_int_equal(parse(text, dtype, &bits), NUMBER_OK);
    return bits;
}

/* All 65,536 patterns of each 16-bit float. */
static void short_floats_round_trip(void **state) {
    (void)state;
    for (tally_dtype dtype = TALLY_F16; dtype <= TALLY_BF16; dtype++) {
        for (uint32_t pattern = 0; pattern < 65536; pattern++) {
            const uint16_t bits = (uint16_t)pattern;
            char text[NUMBER_FORMAT_MAX];
            number_format(text, dtype, &bits);
            if (isnan(number_to_f64(dtype, &bits)))
                assert_string_equal(text, "nan");
            else
                assert_int_equal(bits16(text, dtype), bits);
        }
    }
}

/* The decimals of a 16-bit float's neighbours' midpoints, exactly, and a hair to either side. */
static void short_floats_round_once(void **state) {
    (void)state;
    for (tally_dtype dtype = TALLY_F16; dtype <= TALLY_BF16; dtype++) {
        const uint32_t infinity = dtype == TALLY_F16 ? 0x7c00 : 0x7f80;
        for (uint32_t pattern = 0; pattern + 1 < infinity; pattern += 7) {
            const uint16_t low = (uint16_t)pattern, high = (uint16_t)(pattern + 1);
            const double middle = (number_to_f64(dtype, &low) + number_to_f64(dtype, &high)) / 2;
            char text[400];
            const int n = snprintf(text, sizeof text, "%.170f", middle);
            assert_int_equal(bits16(text, dtype), pattern % 2 == 0 ? low : high);
            text[n] = '1';
            text[n + 1] = 0;
            assert_int_equal(bits16(text, dtype), high);
        }
    }
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void wide_floats_round_trip(void **state) {
    uint64_t random = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint64_t bits = next_random(&random);
        double f64, again64;
        float f32, again32;
        char text[NUMBER_FORMAT_MAX];
        memcpy(&f64, &bits, 8);
        memcpy(&f32, &bits, 4);
        number_format(text, TALLY_F64, &f64);
        assert_int_equal(parse(text, TALLY_F64, &again64), NUMBER_OK);
        assert_true(isnan(f64) || memcmp(&f64, &again64, 8) == 0);
        number_format(text, TALLY_F32, &f32);
        assert_int_equal(parse(text, TALLY_F32, &again32), NUMBER_OK);
        assert_true(isnan(f32) || memcmp(&f32, &again32, 4) == 0);
    }
}

/* What strtod and strtof make of short decimals, which take another path here. */
static void short_decimals_round_as_the_library_does(void **state) {
    uint64_t random = 1234567;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double f64;
        float f32;
        const uint64_t r = next_random(&random);
        snprintf(text, sizeof text, "%s%llu.%llue%d", (r & 1) != 0 ? "-" : "",
                 (unsigned long long)(r >> 8) % (UINT64_C(1) << (r % 40)), (unsigned long long)(r >> 40) % 1000,
                 (int)(r >> 20 & 31) - 16);
        assert_int_equal(parse(text, TALLY_F64, &f64), NUMBER_OK);
        assert_int_equal(parse(text, TALLY_F32, &f32), NUMBER_OK);
        assert_true(f64 == strtod(text, NULL) && f32 == strtof(text, NULL));
    }
}

/* The same of digits next to those that a mantissa just holds. */
static void decimals_at_the_limit_round_as_the_library_does(void **state) {
    static const uint64_t limits[] = {UINT64_C(1) << 53, UINT64_C(1) << 24};
    (void)state;
    for (int power = -24; power <= 22; power++) {
        for (int i = 0; i < 128; i++) {
            char text[64];
            double f64;
            float f32;
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)(limits[i % 2] + (uint64_t)i / 2 - 16), power);
            assert_int_equal(parse(text, TALLY_F64, &f64), NUMBER_OK);
            assert_int_equal(parse(text, TALLY_F32, &f32), NUMBER_OK);
            assert_true(f64 == strtod(text, NULL) && f32 == strtof(text, NULL));
        }
    }
}

static void expect_format(tally_dtype dtype, const void *element, const char *expected) {
    char text[NUMBER_FORMAT_MAX];
    assert_int_equal(number_format(text, dtype, element), strlen(expected));
    assert_string_equal(text, expected);
}

static void formats_are_the_shortest(void **state) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {1.0 / 3, "0.3333333333333333"},
                 {1e22, "1e+22"},
                 {1e15, "1000000000000000"},
                 {1e16, "1e+16"},
                 {123456.75, "123456.75"},
                 {1e-4, "0.0001"},
                 {1e-5, "1e-05"},
                 {5e-324, "5e-324"},
                 {1.5e300, "1.5e+300"},
                 {-0.0, "-0"},
                 {100, "100"},
                 {(double)INFINITY, "inf"},
                 {-(double)INFINITY, "-inf"},
                 {(double)NAN, "nan"}};
    const int64_t lowest = INT64_MIN;
    const uint64_t highest = UINT64_MAX;
    const int8_t small = -128;
    const float tenth = 0.1f;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_format(TALLY_F64, &cases[i].value, cases[i].text);
    expect_format(TALLY_I64, &lowest, "-9223372036854775808");
    expect_format(TALLY_U64, &highest, "18446744073709551615");
    expect_format(TALLY_I8, &small, "-128");
    expect_format(TALLY_F32, &tenth, "0.1");
}

static void what_is_no_number_is_refused(void **state) {
    static const char *const texts[] = {"",    "+",      "-",   ".",    "e5",    "1e",  "1e+",  "1_000",
                                        "1,5", "0x",     "0x.", "0xg",  "1.2.3", "--1", "+-1",  "1 ",
                                        " 1",  "nan(1)", "1f",  "infi", "nanx",  "1d5", "0x1p", "1e5.0"};
    double element = 42;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(parse(texts[i], TALLY_F64, &element), NUMBER_NONE);
        assert_int_equal(parse(texts[i], TALLY_I32, &element), NUMBER_NONE);
        assert_true(element == 42);
    }
}

static void ranges_are_kept(void **state) {
    static const struct {
        const char *text;
        tally_dtype dtype;
        number_status status;
    } cases[] = {{"127", TALLY_I8, NUMBER_OK},
                 {"128", TALLY_I8, NUMBER_OUT_OF_RANGE},
                 {"-128", TALLY_I8, NUMBER_OK},
                 {"-129", TALLY_I8, NUMBER_OUT_OF_RANGE},
                 {"255", TALLY_U8, NUMBER_OK},
                 {"-1", TALLY_U8, NUMBER_OUT_OF_RANGE},
                 {"-0", TALLY_U8, NUMBER_OK},
                 {"9223372036854775807", TALLY_I64, NUMBER_OK},
                 {"9223372036854775808", TALLY_I64, NUMBER_OUT_OF_RANGE},
                 {"-9223372036854775808", TALLY_I64, NUMBER_OK},
                 {"18446744073709551615", TALLY_U64, NUMBER_OK},
                 {"18446744073709551616", TALLY_U64, NUMBER_OUT_OF_RANGE},
                 {"1.0", TALLY_I32, NUMBER_NOT_INTEGER},
                 {"nan", TALLY_I32, NUMBER_NOT_INTEGER},
                 {"65519.99", TALLY_F16, NUMBER_OK},
                 {"65520", TALLY_F16, NUMBER_OUT_OF_RANGE},
                 {"3.4e38", TALLY_BF16, NUMBER_OUT_OF_RANGE},
                 {"3.5e38", TALLY_F32, NUMBER_OUT_OF_RANGE},
                 {"1e309", TALLY_F64, NUMBER_OUT_OF_RANGE},
                 {"1e-400", TALLY_F64, NUMBER_OK},
                 {"inf", TALLY_F16, NUMBER_OK},
                 {"-Infinity", TALLY_BF16, NUMBER_OK}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char element[8];
        assert_int_equal(parse(cases[i].text, cases[i].dtype, element), cases[i].status);
    }
}

static void kinds_are_told_apart(void **state) {
    (void)state;
    assert_int_equal(number_classify("-9223372036854775808", 20), NUMBER_I64);
    assert_int_equal(number_classify("9223372036854775808", 19), NUMBER_U64);
    assert_int_equal(number_classify("-9223372036854775809", 20), NUMBER_BIG_INTEGER);
    assert_int_equal(number_classify("18446744073709551616", 20), NUMBER_BIG_INTEGER);
    assert_int_equal(number_classify("0x10", 4), NUMBER_FLOAT);
    assert_int_equal(number_classify("1e3", 3), NUMBER_FLOAT);
    assert_int_equal(number_classify("x", 1), NUMBER_NO_NUMBER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_floats_round_trip),
        cmocka_unit_test(short_floats_round_once),
        cmocka_unit_test(wide_floats_round_trip),
        cmocka_unit_test(short_decimals_round_as_the_library_does),
        cmocka_unit_test(decimals_at_the_limit_round_as_the_library_does),
        cmocka_unit_test(formats_are_the_shortest),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(kinds_are_told_apart),
    };
    return cmocka_run_group_tests_name("cli numbers", tests, NULL, NULL);
}
