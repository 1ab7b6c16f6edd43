/* The public accumulators: values of every operator and type against the oracle, merging, refusals, and the saved form.
 * The saved form has the same bytes however the elements came in, loads completely, and is refused when any byte of it
 * is damaged.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "oracle.h"
#include "tally/tally.h"

static const tally_op ops[] = {TALLY_SUM, TALLY_MEAN, TALLY_SUMSQ, TALLY_NORM2, TALLY_DOT};
enum { OPS = 5, N = 3000 };
static uint64_t x[N], y[N];

static bool has_products(tally_op op) {
    return op != TALLY_SUM && op != TALLY_MEAN;
}

static tally_accumulator *make(tally_op op, const float_format *f) {
    tally_accumulator *a = NULL;
    assert_int_equal(tally_accumulator_create(op, f->type, &a), TALLY_OK);
    return a;
}

static void add(tally_accumulator *a, tally_op op, const float_format *f, size_t from, size_t to) {
    const char *xs = (const char *)x + from * f->size, *ys = (const char *)y + from * f->size;
    assert_int_equal(tally_accumulator_add(a, xs, op == TALLY_DOT ? ys : NULL, to - from), TALLY_OK);
}

static size_t save(const tally_accumulator *a, uint8_t *bytes) {
    size_t size = 0;
    assert_int_equal(tally_accumulator_save(a, bytes, TALLY_ACCUMULATOR_MAX_BYTES, &size), TALLY_OK);
    assert_int_equal(size, tally_accumulator_saved_bytes(a));
    return size;
}

static void check_value(const tally_accumulator *a, tally_op op, const oracle_sum *sum) {
    const oracle_rounding what = op == TALLY_MEAN ? ORACLE_MEAN : op == TALLY_NORM2 ? ORACLE_ROOT : ORACLE_SUM;
    for (int out = 0; out < FORMATS; out++) {
        uint64_t value = 0;
        assert_int_equal(tally_accumulator_value(a, float_formats[out].type, &value), TALLY_OK);
        assert_int_equal(oracle_load(&float_formats[out], &value, 0), oracle_round(sum, what, &float_formats[out]));
    }
}

static void values_saved_forms_and_merges(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (int o = 0; o < OPS; o++)
            for (int kind = 0; kind < DATA_KINDS; kind++)
                for (size_t n = 0; n <= N; n = n == 0 ? 1 : n == 1 ? 37 : n == 37 ? N : N + 1) {
                    const float_format *format = &float_formats[f];
                    const tally_op op = ops[o];
                    oracle_generate(format, kind, n, x, n);
                    oracle_generate(format, (kind + 1) % DATA_KINDS, n, y, n);
                    oracle_sum sum;
                    oracle_init(&sum, format, has_products(op));
                    if (!has_products(op))
                        oracle_add(&sum, format, x, n);
                    else
                        oracle_add_products(&sum, format, x, op == TALLY_DOT ? y : x, n);
                    tally_accumulator *whole = make(op, format), *left = make(op, format), *right = make(op, format);
                    tally_accumulator *loaded = NULL;
                    add(whole, op, format, 0, n);
                    add(left, op, format, 0, n / 3);
                    add(right, op, format, n / 3, n);
                    check_value(whole, op, &sum);
                    assert_int_equal(tally_accumulator_count(whole), n);
                    uint8_t bytes[TALLY_ACCUMULATOR_MAX_BYTES], others[TALLY_ACCUMULATOR_MAX_BYTES];
                    const size_t size = save(whole, bytes);
                    assert_int_equal(tally_accumulator_merge(right, left), TALLY_OK);
                    assert_int_equal(save(right, others), size);
                    assert_memory_equal(bytes, others, size);
                    assert_int_equal(tally_accumulator_load(bytes, size, &loaded), TALLY_OK);
                    check_value(loaded, op, &sum);
                    assert_int_equal(save(loaded, others), size);
                    assert_memory_equal(bytes, others, size);
                    tally_accumulator_destroy(whole);
                    tally_accumulator_destroy(left);
                    tally_accumulator_destroy(right);
                    tally_accumulator_destroy(loaded);
                    oracle_clear(&sum);
                }
}

static void damage_is_refused(void **unused) {
    (void)unused;
    const float_format *f = &float_formats[3];
    tally_accumulator *a = make(TALLY_DOT, f);
    oracle_generate(f, 4, 1, x, 500);
    oracle_generate(f, 4, 2, y, 500);
    add(a, TALLY_DOT, f, 0, 500);
    uint8_t bytes[TALLY_ACCUMULATOR_MAX_BYTES + 1];
    const size_t size = save(a, bytes);
    tally_accumulator *const untouched = (tally_accumulator *)(void *)x, *loaded = untouched;
    for (size_t i = 0; i < size; i++)
        for (int change = 1; change < 256; change++) {
            bytes[i] ^= (uint8_t)change;
            assert_int_equal(tally_accumulator_load(bytes, size, &loaded), TALLY_BAD_STATE);
            bytes[i] ^= (uint8_t)change;
        }
    for (size_t shorter = 0; shorter < size; shorter++)
        assert_int_equal(tally_accumulator_load(bytes, shorter, &loaded), TALLY_BAD_STATE);
    bytes[size] = 0;
    assert_int_equal(tally_accumulator_load(bytes, size + 1, &loaded), TALLY_BAD_STATE);
    assert_ptr_equal(loaded, untouched);
    tally_accumulator_destroy(a);
}

static uint32_t crc32c(const uint8_t *bytes, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82f63b78) : crc >> 1;
    }
    return ~crc;
}

static void mend_checksum(uint8_t *bytes, size_t size) {
    const uint32_t crc = crc32c(bytes, size - 4);
    for (int b = 0; b < 4; b++)
        bytes[size - 4 + (size_t)b] = (uint8_t)(crc >> (8 * b));
}

/* A state with a valid checksum that no elements give: each byte changed and the checksum mended. What loads all the
 * same must save as the very bytes that it was loaded from. */
static void contradictions_are_refused(void **unused) {
    (void)unused;
    assert_int_equal(crc32c((const uint8_t *)"123456789", 9), 0xe3069283); /* the published check value */
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        const float_format *f = &float_formats[2];
        tally_accumulator *a = make(TALLY_SUM, f);
        oracle_generate(f, kind, 3, x, 40);
        add(a, TALLY_SUM, f, 0, 40);
        uint8_t bytes[TALLY_ACCUMULATOR_MAX_BYTES], again[TALLY_ACCUMULATOR_MAX_BYTES];
        const size_t size = save(a, bytes);
        for (size_t i = 0; i < size - 4; i++)
            for (int change = 1; change < 256; change++) {
                bytes[i] ^= (uint8_t)change;
                mend_checksum(bytes, size);
                tally_accumulator *loaded = NULL;
                const tally_status status = tally_accumulator_load(bytes, size, &loaded);
                if (status == TALLY_OK) {
                    assert_int_equal(save(loaded, again), size);
                    assert_memory_equal(bytes, again, size);
                    tally_accumulator_destroy(loaded);
                } else {
                    assert_int_equal(status, TALLY_BAD_STATE);
                    assert_null(loaded);
                }
                bytes[i] ^= (uint8_t)change;
            }
        tally_accumulator_destroy(a);
    }
}

/* These states are refused, because integers give none like them: a fraction, a NaN, only -0, a sum that is too large
 * for its elements, and an operator that has no such state. */
static void what_no_integers_give_is_refused(void **unused) {
    (void)unused;
    static const struct {
        size_t at;
        uint8_t change;
    } changes[] = {{48, 1}, {40, 1}, {12, 2}, {63, 0x80}, {10, 3}};
    static const int32_t elements[] = {INT32_MAX, INT32_MAX, 3};
    tally_accumulator *a, *loaded = NULL;
    uint8_t bytes[TALLY_ACCUMULATOR_MAX_BYTES];
    assert_int_equal(tally_accumulator_create(TALLY_MEAN, TALLY_I32, &a), TALLY_OK);
    assert_int_equal(tally_accumulator_add(a, elements, NULL, 3), TALLY_OK);
    const size_t size = save(a, bytes);
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        bytes[changes[k].at] ^= changes[k].change;
        mend_checksum(bytes, size);
        if (tally_accumulator_load(bytes, size, &loaded) != TALLY_BAD_STATE)
            fail_msg("a changed byte %zu was accepted", changes[k].at);
        bytes[changes[k].at] ^= changes[k].change;
    }
    mend_checksum(bytes, size);
    assert_int_equal(tally_accumulator_load(bytes, size, &loaded), TALLY_OK);
    double mean;
    assert_int_equal(tally_accumulator_value(loaded, TALLY_DEFAULT, &mean), TALLY_OK);
    assert_true(mean == 4294967297.0 / 3);
    tally_accumulator_destroy(loaded);
    tally_accumulator_destroy(a);
}

/* The bytes of version 1, once and for all: sum of 1.5f and -0.25f. */
static void the_saved_form_stays(void **unused) {
    (void)unused;
    static const uint8_t expected[] = {'T', 'A', 'L', 'L', 'Y', 'A', 'C', 'C', 1, 0, 1, 3, 2, 0, 0, 0, 2, 0, 0,    0,
                                       0,   0,   0,   0,   0,   0,   0,   0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,
                                       0,   0,   0,   0,   0,   0,   0,   0,   4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x28, 0};
    const float values[] = {1.5f, -0.25f};
    tally_accumulator *a = make(TALLY_SUM, &float_formats[2]);
    assert_int_equal(tally_accumulator_add(a, values, NULL, 2), TALLY_OK);
    uint8_t bytes[TALLY_ACCUMULATOR_MAX_BYTES];
    assert_int_equal(save(a, bytes), sizeof expected + 4);
    assert_memory_equal(bytes, expected, sizeof expected);
    tally_accumulator_destroy(a);
}

static void kinds_of_state(void **unused) {
    (void)unused;
    const float_format *f = &float_formats[2];
    tally_accumulator *sum = make(TALLY_SUM, f), *mean = make(TALLY_MEAN, f), *norm = make(TALLY_NORM2, f);
    tally_accumulator *dot = make(TALLY_DOT, f), *wide = make(TALLY_SUM, &float_formats[3]);
    const float values[] = {3, 4};
    float value = 0;
    assert_int_equal(tally_accumulator_add(mean, values, NULL, 2), TALLY_OK);
    assert_int_equal(tally_accumulator_merge(sum, mean), TALLY_OK);
    assert_int_equal(tally_accumulator_value(sum, TALLY_DEFAULT, &value), TALLY_OK);
    assert_true(value == 7);
    assert_int_equal(tally_accumulator_add(norm, values, NULL, 2), TALLY_OK);
    assert_int_equal(tally_accumulator_merge(dot, norm), TALLY_OK);
    assert_int_equal(tally_accumulator_value(dot, TALLY_F32, &value), TALLY_OK);
    assert_true(value == 25);
    assert_int_equal(tally_accumulator_value(norm, TALLY_F32, &value), TALLY_OK);
    assert_true(value == 5);
    assert_int_equal(tally_accumulator_merge(sum, sum), TALLY_OK); /* with itself */
    assert_int_equal(tally_accumulator_value(sum, TALLY_F32, &value), TALLY_OK);
    assert_true(value == 14);
    assert_int_equal(tally_accumulator_merge(sum, dot), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_merge(sum, wide), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_count(sum), 4);
    tally_accumulator_destroy(sum);
    tally_accumulator_destroy(mean);
    tally_accumulator_destroy(norm);
    tally_accumulator_destroy(dot);
    tally_accumulator_destroy(wide);
}

static void bad_arguments_are_refused(void **unused) {
    (void)unused;
    tally_accumulator *const untouched = (tally_accumulator *)(void *)x, *a = untouched;
    assert_int_equal(tally_accumulator_create(TALLY_SUM, TALLY_F32, NULL), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_create((tally_op)999, TALLY_F32, &a), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_create(TALLY_SUM, (tally_dtype)999, &a), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_create(TALLY_SUM, TALLY_DEFAULT, &a), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_create(TALLY_PROD, TALLY_F32, &a), TALLY_UNSUPPORTED);
    assert_int_equal(tally_accumulator_create(TALLY_BXOR, TALLY_F32, &a), TALLY_UNSUPPORTED);
    assert_ptr_equal(a, untouched);
    a = make(TALLY_SUM, &float_formats[2]);
    tally_accumulator *dot = make(TALLY_DOT, &float_formats[2]);
    float value = 1;
    uint8_t buffer[TALLY_ACCUMULATOR_MAX_BYTES];
    size_t bytes = 77;
    assert_int_equal(tally_accumulator_add(a, NULL, NULL, 0), TALLY_OK);
    assert_int_equal(tally_accumulator_add(a, NULL, NULL, 1), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_add(a, &value, &value, 1), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_add(a, &value, NULL, SIZE_MAX / 2), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_add(dot, &value, NULL, 1), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_add(NULL, &value, NULL, 1), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_value(a, TALLY_I64, &value), TALLY_UNSUPPORTED);
    assert_int_equal(tally_accumulator_value(a, (tally_dtype)999, &value), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_value(a, TALLY_F32, NULL), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_save(a, buffer, 59, &bytes), TALLY_OUTPUT_TOO_SMALL);
    assert_int_equal(tally_accumulator_save(a, NULL, 0, &bytes), TALLY_INVALID_ARGUMENT);
    assert_int_equal(bytes, 77);
    assert_int_equal(tally_accumulator_save(a, buffer, 60, &bytes), TALLY_OK);
    assert_int_equal(tally_accumulator_load(NULL, 60, &a), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_count(a), 0);
    assert_int_equal(tally_accumulator_count(NULL), 0);
    assert_true(value == 1);
    tally_accumulator_destroy(a);
    tally_accumulator_destroy(dot);
    tally_accumulator_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_saved_forms_and_merges),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(what_no_integers_give_is_refused),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(the_saved_form_stays),
        cmocka_unit_test(kinds_of_state),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
