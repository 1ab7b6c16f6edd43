/* Zero elements have a sum but no minimum, and a variance needs more elements than ddof, as the header's table of
 * operators says. */
#include "support.h"

#include <math.h>

static double value_of_nothing(tally_device *device, tally_op op, tally_mode mode) {
    double out = 77;
    tally_desc desc = describe(op, TALLY_REDUCE, TALLY_F64);
    desc.mode = mode;
    desc.out = TALLY_F64;
    tally_args args = arguments(NULL, 0, &out, sizeof out);
    assert_ok(run_desc(device, &desc, &args));
    return out;
}

static void operators_with_a_value(void **state) {
    static const tally_op zero[] = {TALLY_SUM,   TALLY_ANY,   TALLY_COUNT_NONZERO, TALLY_SUMSQ,
                                    TALLY_NORM1, TALLY_NORM2, TALLY_NORM_INF,      TALLY_DOT};
    for (size_t k = 0; k < COUNT_OF(zero); k++)
        assert_true(value_of_nothing(*state, zero[k], TALLY_FAST) == 0);
    assert_true(value_of_nothing(*state, TALLY_PROD, TALLY_FAST) == 1);
    assert_true(value_of_nothing(*state, TALLY_ALL, TALLY_FAST) == 1);
    assert_true(isnan(value_of_nothing(*state, TALLY_MEAN, TALLY_FAST)));
    assert_true(isnan(value_of_nothing(*state, TALLY_VAR, TALLY_FAST)));
    assert_true(isnan(value_of_nothing(*state, TALLY_STD, TALLY_FAST)));
    assert_true(value_of_nothing(*state, TALLY_LOGSUMEXP, TALLY_FAST) == (double)-INFINITY);
    double sum = value_of_nothing(*state, TALLY_SUM, TALLY_EXACT);
    assert_true(sum == 0 && !signbit(sum));
    assert_true(isnan(value_of_nothing(*state, TALLY_MEAN, TALLY_EXACT)));
}

static void bits_of_nothing(void **state) {
    uint16_t out = 77;
    tally_desc desc = describe(TALLY_BAND, TALLY_REDUCE, TALLY_U16);
    tally_args args = arguments(NULL, 0, &out, sizeof out);
    assert_ok(run_desc(*state, &desc, &args));
    assert_int_equal(out, 0xffff);
    desc.op = TALLY_BOR;
    assert_ok(run_desc(*state, &desc, &args));
    assert_int_equal(out, 0);
}

/* Sums of 9 planes without rows, and what lies behind them. */
static void planes_without_rows(void **state) {
    enum { PLANES = 9, MOST_COLUMNS = 70 };
    for (uint64_t columns = 0; columns <= MOST_COLUMNS; columns++)
        for (int in = TALLY_I8; in <= TALLY_F64; in++) {
            double out[PLANES * MOST_COLUMNS + 1];
            for (size_t k = 0; k < COUNT_OF(out); k++)
                out[k] = 77;
            tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, (tally_dtype)in);
            desc.grouping = TALLY_AXIS;
            desc.out = TALLY_F64;
            tally_args args = arguments(NULL, 0, out, sizeof out);
            args.shape = (tally_shape){PLANES, 0, columns, 0};
            assert_ok(run_desc(*state, &desc, &args));
            for (size_t k = 0; k < COUNT_OF(out); k++)
                assert_true(out[k] == (k < PLANES * columns ? 0 : 77));
        }
}

static void operators_without_a_value(void **state) {
    static const tally_op ops[] = {TALLY_MIN, TALLY_MAX, TALLY_ARGMIN, TALLY_ARGMAX, TALLY_MINMAX};
    static const int64_t offsets[] = {0, 2, 2, 4};
    static const float x[] = {1, 2, 3, 4};
    for (size_t k = 0; k < COUNT_OF(ops); k++) {
        unsigned char out[64];
        memset(out, POISON, sizeof out);
        tally_desc desc = describe(ops[k], TALLY_REDUCE, TALLY_F32);
        tally_args args = arguments(NULL, 0, out, sizeof out);
        assert_fails(run_desc(*state, &desc, &args), TALLY_EMPTY);
        /* A single empty group among others is enough, wherever it stands. */
        desc.grouping = TALLY_AXIS;
        args.shape = (tally_shape){2, 0, 2, 0};
        assert_fails(run_desc(*state, &desc, &args), TALLY_EMPTY);
        desc.grouping = TALLY_SEGMENTS;
        args = arguments(x, 4, out, sizeof out);
        args.shape.groups = 3;
        args.offsets = offsets;
        assert_fails(run_desc(*state, &desc, &args), TALLY_EMPTY);
        assert_true(is_poison(out, sizeof out));
        /* But no group at all needs no value. */
        args.shape.groups = 0;
        assert_ok(run_desc(*state, &desc, &args));
        desc.grouping = TALLY_KEYS;
        args = arguments(NULL, 0, out, sizeof out);
        uint64_t count = 5;
        args.count = &count;
        assert_ok(run_desc(*state, &desc, &args));
        assert_int_equal(count, 0);
        /* Nor does a scan of nothing. */
        desc.grouping = TALLY_ALL_VALUES;
        desc.form = TALLY_INCLUSIVE_SCAN;
        args.count = NULL;
        assert_ok(run_desc(*state, &desc, &args));
        assert_true(is_poison(out, sizeof out));
    }
}

/* An axis of one row, or of one column, has paths of its own. */
static void scans_of_no_elements(void **state) {
    static const tally_shape shapes[] = {{0, 1, 1, 0}, {0, 1, 3, 0}, {3, 1, 0, 0}, {0, 3, 1, 0},
                                         {0, 3, 3, 0}, {3, 3, 0, 0}, {1, 0, 1, 0}, {3, 0, 3, 0}};
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_MEAN, TALLY_VAR, TALLY_LOGSUMEXP, TALLY_ARGMIN};
    for (size_t k = 0; k < COUNT_OF(ops); k++)
        for (size_t s = 0; s < COUNT_OF(shapes); s++)
            for (int in = TALLY_I8; in <= TALLY_F64; in++) {
                double out = 77;
                tally_desc desc = describe(ops[k], TALLY_INCLUSIVE_SCAN, (tally_dtype)in);
                desc.grouping = TALLY_AXIS;
                tally_args args = arguments(NULL, 0, &out, 0);
                args.shape = shapes[s];
                assert_ok(run_desc(*state, &desc, &args));
                assert_true(out == 77);
            }
}

static void variance_with_too_few_elements(void **state) {
    static const double x[] = {1, 2, 4};
    for (int ddof = 0; ddof < 6; ddof++)
        for (int n = 0; n <= 3; n++)
            for (int op = TALLY_VAR; op <= TALLY_STD; op++) {
                double out = 77;
                tally_desc desc = describe((tally_op)op, TALLY_REDUCE, TALLY_F64);
                desc.ddof = ddof;
                tally_args args = arguments(x, (uint64_t)n, &out, sizeof out);
                assert_ok(run_desc(*state, &desc, &args));
                if (isnan(out) != (n <= ddof))
                    fail_msg("%s of %d with ddof %d is %g", tally_op_name(desc.op), n, ddof, out);
            }
    double out;
    tally_desc desc = describe(TALLY_VAR, TALLY_REDUCE, TALLY_F64);
    desc.ddof = 1;
    tally_args args = arguments(x, 3, &out, sizeof out);
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(fabs(out - 7.0 / 3) < 1e-15);
    desc.ddof = 2147483647;
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(isnan(out));
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_with_a_value), cmocka_unit_test(bits_of_nothing),
        cmocka_unit_test(planes_without_rows),    cmocka_unit_test(operators_without_a_value),
        cmocka_unit_test(scans_of_no_elements),   cmocka_unit_test(variance_with_too_few_elements),
    };
    return cmocka_run_group_tests_name("empty", tests, open_test_device, close_test_device);
}
