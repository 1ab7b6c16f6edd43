/* The accumulator's calls refuse wrong arguments and go on working. (tests/exact shows that its values are exact and
 * its saved form is the same everywhere.) */
#include "support.h"

static void what_has_no_accumulator(void **state) {
    (void)state;
    tally_accumulator *const untouched = (tally_accumulator *)(uintptr_t)0x5eed;
    tally_accumulator *a = untouched;
    for (int op = -1; op <= TALLY_OP_COUNT; op++)
        for (int type = -1; type <= TALLY_DTYPE_COUNT; type++) {
            tally_desc desc = TALLY_DESC_INIT;
            desc.op = (tally_op)op;
            desc.in = (tally_dtype)type;
            desc.mode = TALLY_EXACT;
            const bool known = tally_supports(NULL, &desc) == TALLY_OK;
            tally_status status = tally_accumulator_create((tally_op)op, (tally_dtype)type, &a);
            if (known) {
                assert_int_equal(status, TALLY_OK);
                tally_accumulator_destroy(a);
                a = untouched;
            } else {
                assert_true(status == TALLY_INVALID_ARGUMENT || status == TALLY_UNSUPPORTED);
                assert_ptr_equal(a, untouched);
            }
        }
    assert_fails(tally_accumulator_create(TALLY_SUM, TALLY_F32, NULL), TALLY_INVALID_ARGUMENT);
    tally_accumulator_destroy(NULL);
}

static void null_where_something_is_due(void **state) {
    (void)state;
    tally_accumulator *a, *d;
    float x[4] = {1, 2, 3, 4}, value = 77;
    unsigned char saved[TALLY_ACCUMULATOR_MAX_BYTES];
    size_t bytes;
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F32, &a));
    assert_ok(tally_accumulator_create(TALLY_DOT, TALLY_F32, &d));
    assert_fails(tally_accumulator_add(NULL, x, NULL, 4), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_add(a, NULL, NULL, 4), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_add(d, x, NULL, 4), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_add(a, x, NULL, SIZE_MAX), TALLY_INVALID_ARGUMENT);
    assert_ok(tally_accumulator_add(a, NULL, NULL, 0));
    assert_fails(tally_accumulator_merge(a, NULL), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_merge(NULL, a), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_value(NULL, TALLY_F32, &value), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_value(a, TALLY_F32, NULL), TALLY_INVALID_ARGUMENT);
    assert_int_not_equal(tally_accumulator_value(a, TALLY_I32, &value), TALLY_OK);
    assert_int_not_equal(tally_accumulator_value(a, (tally_dtype)99, &value), TALLY_OK);
    assert_fails(tally_accumulator_save(a, NULL, sizeof saved, &bytes), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_save(NULL, saved, sizeof saved, &bytes), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_accumulator_count(a), 0);
    assert_true(value == 77);
    tally_accumulator_destroy(a);
    tally_accumulator_destroy(d);
}

static void states_that_do_not_merge(void **state) {
    (void)state;
    static const struct {
        tally_op left, right;
        tally_dtype left_type, right_type;
        bool merges;
    } pairs[] = {
        {TALLY_SUM, TALLY_MEAN, TALLY_F32, TALLY_F32, true},   {TALLY_SUMSQ, TALLY_NORM2, TALLY_F64, TALLY_F64, true},
        {TALLY_DOT, TALLY_NORM2, TALLY_F16, TALLY_F16, true},  {TALLY_SUM, TALLY_SUMSQ, TALLY_F32, TALLY_F32, false},
        {TALLY_SUM, TALLY_SUM, TALLY_F32, TALLY_F64, false},   {TALLY_MEAN, TALLY_MEAN, TALLY_I32, TALLY_I32, true},
        {TALLY_MEAN, TALLY_MEAN, TALLY_I32, TALLY_U32, false}, {TALLY_MEAN, TALLY_NORM2, TALLY_I32, TALLY_I32, false},
        {TALLY_MEAN, TALLY_MEAN, TALLY_I32, TALLY_F32, false}};
    float x[4] = {1, 2, 3, 4};
    for (size_t k = 0; k < COUNT_OF(pairs); k++) {
        tally_accumulator *left, *right;
        assert_ok(tally_accumulator_create(pairs[k].left, pairs[k].left_type, &left));
        assert_ok(tally_accumulator_create(pairs[k].right, pairs[k].right_type, &right));
        assert_ok(tally_accumulator_add(left, x, pairs[k].left == TALLY_DOT ? x : NULL, 1));
        tally_status status = tally_accumulator_merge(left, right);
        if ((status == TALLY_OK) != pairs[k].merges)
            fail_msg("pair %zu gave %s", k, tally_status_name(status));
        assert_int_equal(tally_accumulator_count(left), 1);
        tally_accumulator_destroy(left);
        tally_accumulator_destroy(right);
    }
}

static void merging_with_itself_doubles(void **state) {
    (void)state;
    tally_accumulator *a;
    double x[3] = {1e100, 1, -1e100}, value = 0;
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F64, &a));
    assert_ok(tally_accumulator_add(a, x, NULL, 3));
    assert_ok(tally_accumulator_merge(a, a));
    assert_ok(tally_accumulator_value(a, TALLY_DEFAULT, &value));
    assert_true(value == 2);
    assert_int_equal(tally_accumulator_count(a), 6);
    tally_accumulator_destroy(a);
}

static void a_buffer_that_is_too_small(void **state) {
    (void)state;
    tally_accumulator *a;
    unsigned char saved[TALLY_ACCUMULATOR_MAX_BYTES + 1];
    size_t bytes = 0;
    double x[2] = {1, 1e-300};
    memset(saved, POISON, sizeof saved);
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F64, &a));
    assert_ok(tally_accumulator_add(a, x, NULL, 2));
    size_t needed = tally_accumulator_saved_bytes(a);
    assert_in_range(needed, 1, TALLY_ACCUMULATOR_MAX_BYTES);
    assert_fails(tally_accumulator_save(a, saved, needed - 1, &bytes), TALLY_OUTPUT_TOO_SMALL);
    assert_true(is_poison(saved, sizeof saved));
    assert_ok(tally_accumulator_save(a, saved, needed, &bytes));
    assert_int_equal(bytes, needed);
    assert_true(is_poison(saved + needed, sizeof saved - needed));
    tally_accumulator_destroy(a);
}

static void every_damaged_byte_is_noticed(void **state) {
    (void)state;
    tally_accumulator *a, *b, *const untouched = (tally_accumulator *)(uintptr_t)0x5eed;
    unsigned char saved[TALLY_ACCUMULATOR_MAX_BYTES + 8] = {0};
    size_t bytes = 0;
    float x[4] = {1, 2, 3e30f, 1e-30f};
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F32, &a));
    assert_ok(tally_accumulator_add(a, x, NULL, 4));
    assert_ok(tally_accumulator_save(a, saved, sizeof saved, &bytes));
    for (size_t at = 0; at < bytes; at++)
        for (int bit = 0; bit < 8; bit++) {
            saved[at] ^= (unsigned char)(1 << bit);
            b = untouched;
            assert_fails(tally_accumulator_load(saved, bytes, &b), TALLY_BAD_STATE);
            assert_ptr_equal(b, untouched);
            saved[at] ^= (unsigned char)(1 << bit);
        }
    for (size_t length = 0; length <= bytes + 8; length++) {
        if (length == bytes)
            continue;
        /* A copy of exactly that length, so that a sanitizer finds a read past it. */
        unsigned char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, saved, length);
        b = untouched;
        assert_fails(tally_accumulator_load(copy, length, &b), TALLY_BAD_STATE);
        free(copy);
    }
    assert_fails(tally_accumulator_load(NULL, bytes, &b), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_load(saved, bytes, NULL), TALLY_INVALID_ARGUMENT);
    float value = 0, again = 0;
    assert_ok(tally_accumulator_load(saved, bytes, &b));
    assert_ok(tally_accumulator_value(a, TALLY_DEFAULT, &value));
    assert_ok(tally_accumulator_value(b, TALLY_DEFAULT, &again));
    assert_true(value == again);
    tally_accumulator_destroy(a);
    tally_accumulator_destroy(b);
}

/* An index counts from the first element of the first accumulator; the saved form is for exact sums only. */
static void accumulators_of_other_operators(void **state) {
    (void)state;
    tally_accumulator *first, *second;
    const float x[] = {3, 1, 2}, y[] = {5, 0.5f, 0.5f};
    int64_t index = -1;
    float pair[2];
    size_t bytes = 7;
    unsigned char saved[64];
    assert_ok(tally_accumulator_create(TALLY_ARGMIN, TALLY_F32, &first));
    assert_fails(tally_accumulator_value(first, TALLY_DEFAULT, &index), TALLY_EMPTY);
    assert_ok(tally_accumulator_create(TALLY_ARGMIN, TALLY_F32, &second));
    assert_ok(tally_accumulator_add(first, x, NULL, 3));
    assert_ok(tally_accumulator_value(first, TALLY_DEFAULT, &index));
    assert_int_equal(index, 1);
    assert_ok(tally_accumulator_add(second, y, NULL, 3));
    assert_ok(tally_accumulator_merge(first, second));
    assert_ok(tally_accumulator_value(first, TALLY_DEFAULT, &index));
    assert_int_equal(index, 4);
    assert_int_equal(tally_accumulator_count(first), 6);
    assert_int_equal(tally_accumulator_saved_bytes(first), 0);
    assert_fails(tally_accumulator_save(first, saved, sizeof saved, &bytes), TALLY_UNSUPPORTED);
    assert_int_equal(bytes, 7);
    tally_accumulator_destroy(first);
    tally_accumulator_destroy(second);
    assert_ok(tally_accumulator_create(TALLY_MINMAX, TALLY_F32, &first));
    assert_ok(tally_accumulator_add(first, x, NULL, 3));
    assert_ok(tally_accumulator_value(first, TALLY_DEFAULT, pair));
    assert_true(pair[0] == 1 && pair[1] == 3);
    tally_accumulator_destroy(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_accumulator),         cmocka_unit_test(null_where_something_is_due),
        cmocka_unit_test(states_that_do_not_merge),        cmocka_unit_test(merging_with_itself_doubles),
        cmocka_unit_test(a_buffer_that_is_too_small),      cmocka_unit_test(every_damaged_byte_is_noticed),
        cmocka_unit_test(accumulators_of_other_operators),
    };
    return cmocka_run_group_tests_name("accumulators", tests, NULL, NULL);
}
