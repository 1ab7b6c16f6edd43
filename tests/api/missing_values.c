/* TALLY_SKIP_NAN leaves NaNs out: no result, count or index shows them, and what consists of nothing else has a value
 * and is no error. States in words and accumulators are those of the other elements, in every bit. */
#include "support.h"

#include <math.h>

#define MISSING (double)NAN

enum { N = 100003 };
static double gaps[N], whole[N]; /* with NaNs, and the same without them */
static size_t kept;

static int setup(void **state) {
    uint64_t random = 1;
    for (size_t i = 0; i < N; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const double value = ldexp((double)(random >> 33), -(int)(random % 40)) - 3;
        gaps[i] = random >> 40 & 7 ? value : MISSING;
        if (random >> 40 & 7)
            whole[kept++] = value;
    }
    return open_test_device(state);
}

static tally_status run(tally_device *device, tally_desc desc, const void *x, tally_shape shape, void *out,
                        size_t out_bytes) {
    tally_plan *plan;
    tally_status status = tally_plan_create(device, &desc, &plan);
    if (status != TALLY_OK)
        return status;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = shape;
    args.x = x;
    args.out = out;
    args.out_bytes = out_bytes;
    status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    tally_plan_destroy(plan);
    return status;
}

static tally_desc skipping(tally_op op, tally_form form, tally_mode mode) {
    tally_desc desc = describe(op, form, TALLY_F64);
    desc.mode = mode;
    desc.flags = TALLY_SKIP_NAN;
    return desc;
}

static void columns_of_nothing_have_values(void **state) {
    const double x[] = {MISSING, 4, MISSING, 2, MISSING, 4}; /* 3 rows of 2 */
    const struct {
        tally_op op;
        double nothing, others;
    } cases[] = {{TALLY_SUM, 0, 10},
                 {TALLY_PROD, 1, 32},
                 {TALLY_MIN, MISSING, 2},
                 {TALLY_MAX, MISSING, 4},
                 {TALLY_MEAN, MISSING, 10.0 / 3},
                 {TALLY_NORM_INF, 0, 4},
                 {TALLY_LOGSUMEXP, -INFINITY, 0},
                 {TALLY_VAR, MISSING, 8.0 / 9}};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        double out[2];
        tally_desc desc = skipping(cases[k].op, TALLY_REDUCE, TALLY_FAST);
        desc.grouping = TALLY_AXIS;
        assert_ok(run(*state, desc, x, (tally_shape){1, 3, 2, 0}, out, sizeof out));
        if (cases[k].op == TALLY_LOGSUMEXP)
            assert_true(out[0] == -(double)INFINITY && fabs(out[1] - log(2 * exp(4) + exp(2))) < 1e-12);
        else if (isnan(cases[k].nothing) ? !isnan(out[0]) : out[0] != cases[k].nothing)
            fail_msg("%s of nothing but NaNs is %g", tally_op_name(cases[k].op), out[0]);
        else
            assert_true(fabs(out[1] - cases[k].others) < 1e-12);
    }
    int64_t places[2];
    tally_desc argmin = skipping(TALLY_ARGMIN, TALLY_REDUCE, TALLY_FAST);
    argmin.grouping = TALLY_AXIS;
    assert_ok(run(*state, argmin, x, (tally_shape){1, 3, 2, 0}, places, sizeof places));
    assert_true(places[0] == -1 && places[1] == 1);
    double nothing;
    assert_ok(run(*state, skipping(TALLY_MIN, TALLY_REDUCE, TALLY_FAST), x, (tally_shape){1, 0, 1, 0}, &nothing,
                  sizeof nothing));
    assert_true(isnan(nothing));
}

static void an_infinite_minimum_is_found_behind_nans(void **state) {
    const double x[] = {MISSING, MISSING, INFINITY, MISSING, INFINITY};
    int64_t place[5];
    assert_ok(run(*state, skipping(TALLY_ARGMIN, TALLY_REDUCE, TALLY_FAST), x, (tally_shape){1, 5, 1, 0}, place,
                  sizeof *place));
    assert_int_equal(place[0], 2);
    assert_ok(run(*state, skipping(TALLY_ARGMIN, TALLY_INCLUSIVE_SCAN, TALLY_FAST), x, (tally_shape){1, 5, 1, 0}, place,
                  sizeof place));
    const int64_t expected[] = {-1, -1, 2, 2, 2};
    assert_memory_equal(place, expected, sizeof place);
}

static void infinities_are_no_nans(void **state) {
    const double x[] = {INFINITY, MISSING, -INFINITY, 0}, y[] = {0, 1, 1, MISSING};
    for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
        double out;
        assert_ok(run(*state, skipping(TALLY_SUM, TALLY_REDUCE, (tally_mode)mode), x, (tally_shape){1, 4, 1, 0}, &out,
                      sizeof out));
        assert_true(isnan(out)); /* an infinity less an infinity */
        tally_desc dot = skipping(TALLY_DOT, TALLY_REDUCE, (tally_mode)mode);
        tally_plan *plan;
        tally_args args = TALLY_ARGS_INIT;
        args.shape.extent = 4;
        args.x = x;
        args.y = y;
        args.out = &out;
        args.out_bytes = sizeof out;
        assert_ok(tally_plan_create(*state, &dot, &plan));
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        assert_true(isnan(out)); /* infinity times 0 */
        args.shape.extent = 3;
        args.x = x + 1;
        args.y = y + 1;
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        assert_true(out == -(double)INFINITY);
        tally_plan_destroy(plan);
    }
}

static void states_are_those_of_the_others(void **state) {
    const tally_op ops[] = {TALLY_SUM, TALLY_MEAN,   TALLY_VAR, TALLY_NORM2,
                            TALLY_MIN, TALLY_MINMAX, TALLY_ALL, TALLY_COUNT_NONZERO};
    for (size_t k = 0; k < COUNT_OF(ops); k++) {
        tally_desc desc = skipping(ops[k], TALLY_REDUCE, TALLY_EXACT);
        static int64_t of_gaps[1000], of_whole[1000], added[1000];
        tally_words_info info = {.struct_size = sizeof info};
        tally_accumulator *accumulator;
        assert_ok(tally_words_describe(&desc, &info));
        const size_t bytes = info.count * sizeof *of_gaps;
        assert_ok(tally_accumulator_create_for(&desc, &accumulator));
        assert_ok(tally_accumulator_add(accumulator, gaps, NULL, 777));
        assert_ok(tally_accumulator_add(accumulator, gaps + 777, NULL, N - 777));
        assert_true(tally_accumulator_count(accumulator) == kept);
        assert_ok(tally_accumulator_words(accumulator, added, sizeof added));
        tally_accumulator_destroy(accumulator);
        desc.flags = TALLY_SKIP_NAN | TALLY_WORDS_OUT;
        assert_ok(run(*state, desc, gaps, (tally_shape){1, N, 1, 0}, of_gaps, sizeof of_gaps));
        desc.flags = TALLY_WORDS_OUT;
        assert_ok(run(*state, desc, whole, (tally_shape){1, kept, 1, 0}, of_whole, sizeof of_whole));
        assert_memory_equal(of_gaps, of_whole, bytes);
        assert_memory_equal(added, of_whole, bytes);
    }
}

/* Columns of numbers far from 0, that move away, that are all the same, of one number and of none. */
static double element_of_column(size_t row, size_t column) {
    const uint64_t random = (row * 70 + column + 1) * 0x9e3779b97f4a7c15u;
    const double value = (double)(random >> 44) * 0x1p-20;
    if (column % 7 == 0)
        return row == 500 && column == 7 ? 3 : MISSING;
    if (random >> 16 & 3 || (column % 7 == 1 && row < 40))
        return column % 7 == 2 ? 1e9 + value : column % 7 == 3 ? (double)row + value : column % 7 == 4 ? 0.5 : value;
    return MISSING;
}

static double variance_of_column(size_t rows, size_t column) {
    long double n = 0, sum = 0, squares = 0;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(element_of_column(r, column)))
            sum += (long double)element_of_column(r, column), n++;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(element_of_column(r, column)))
            squares += powl((long double)element_of_column(r, column) - sum / n, 2);
    return n > 0 ? (double)(squares / n) : MISSING;
}

static void variances_of_columns_are_those_of_the_others(void **state) {
    enum { ROWS = 1000, COLUMNS = 70 };
    static double x[ROWS * COLUMNS];
    double out[COLUMNS];
    for (size_t i = 0; i < COUNT_OF(x); i++)
        x[i] = element_of_column(i / COLUMNS, i % COLUMNS);
    tally_desc desc = skipping(TALLY_VAR, TALLY_REDUCE, TALLY_FAST);
    desc.grouping = TALLY_AXIS;
    assert_ok(run(*state, desc, x, (tally_shape){1, ROWS, COLUMNS, 0}, out, sizeof out));
    for (size_t j = 0; j < COLUMNS; j++) {
        const double expected = variance_of_column(ROWS, j);
        if (isnan(expected) ? !isnan(out[j]) : !(fabs(out[j] - expected) <= 1e-9 * expected))
            fail_msg("column %zu has the variance %.17g, not %.17g", j, out[j], expected);
    }
}

/* Also behind more NaNs than a GPU's tile has elements. */
static void running_variances_are_those_of_the_others(void **state) {
    enum { COUNT = 60000, FIRST = 20000, LAST = 40000 };
    static double x[COUNT], out[COUNT];
    double n = 0, mean = 0, powers = 0;
    for (size_t i = 0; i < COUNT; i++)
        x[i] = i < FIRST || i >= LAST ? gaps[i] : MISSING;
    assert_ok(run(*state, skipping(TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST), x, (tally_shape){1, COUNT, 1, 0}, out,
                  sizeof out));
    for (size_t i = 0; i < COUNT; i++) {
        if (!isnan(x[i])) { /* Welford's */
            const double away = x[i] - mean;
            n++;
            mean += away / n;
            powers += away * (x[i] - mean);
        }
        const double expected = n > 0 ? powers / n : MISSING;
        if (isnan(expected) ? !isnan(out[i]) : !(fabs(out[i] - expected) <= 1e-9 * expected))
            fail_msg("the variance of the elements up to %zu is %.17g, not %.17g", i, out[i], expected);
    }
}

/* Stretches of long segments are copied without their NaNs, into room for so many elements. */
static void running_minima_of_long_segments_are_those_of_the_others(void **state) {
    static double found[N];
    static const int64_t most[] = {N, 95000, 400, 100};
    for (size_t k = 0; k < COUNT_OF(most); k++) {
        int64_t offsets[N / 50], groups = 0;
        uint64_t random = k;
        for (offsets[0] = 0; offsets[groups] < N; groups++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const int64_t length = k < 2 ? most[k] : 70 + (int64_t)(random >> 33) % most[k];
            offsets[groups + 1] = offsets[groups] + length < N ? offsets[groups] + length : N;
        }
        tally_desc desc = skipping(TALLY_MIN, TALLY_INCLUSIVE_SCAN, TALLY_FAST);
        tally_plan *plan;
        desc.grouping = TALLY_SEGMENTS;
        tally_args args = arguments(gaps, N, found, sizeof found);
        args.offsets = offsets;
        args.shape.groups = (uint64_t)groups;
        assert_ok(tally_plan_create(*state, &desc, &plan));
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        for (int64_t g = 0; g < groups; g++) {
            double least = INFINITY; /* of nothing so far */
            for (int64_t i = offsets[g]; i < offsets[g + 1]; i++) {
                least = gaps[i] < least ? gaps[i] : least;
                if (found[i] != least)
                    fail_msg("%lld segments: element %lld is %g, not %g", (long long)groups, (long long)i, found[i],
                             least);
            }
        }
        tally_plan_destroy(plan);
    }
}

static void what_has_no_meaning_is_refused(void **state) {
    tally_plan *plan;
    tally_desc desc = skipping(TALLY_MEAN, TALLY_REDUCE, TALLY_FAST);
    const int64_t words[64] = {0};
    assert_ok(tally_plan_create(*state, &desc, &plan));
    assert_fails(tally_resume(plan, words, 1), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    desc.op = TALLY_SUM;
    desc.flags |= TALLY_WORDS_IN;
    assert_fails(tally_plan_create(*state, &desc, &plan), TALLY_INVALID_ARGUMENT);
    desc = skipping(TALLY_ARGMAX, TALLY_REDUCE, TALLY_FAST);
    desc.flags |= TALLY_WORDS_OUT;
    assert_fails(tally_plan_create(*state, &desc, &plan), TALLY_UNSUPPORTED);
    desc.flags = TALLY_SKIP_NAN;
    tally_accumulator *accumulator;
    assert_fails(tally_accumulator_create_for(&desc, &accumulator), TALLY_UNSUPPORTED);
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
    desc.flags = TALLY_SKIP_NAN; /* integers have no NaNs */
    assert_ok(tally_plan_create(*state, &desc, &plan));
    tally_plan_destroy(plan);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_nothing_have_values),
        cmocka_unit_test(an_infinite_minimum_is_found_behind_nans),
        cmocka_unit_test(infinities_are_no_nans),
        cmocka_unit_test(states_are_those_of_the_others),
        cmocka_unit_test(running_minima_of_long_segments_are_those_of_the_others),
        cmocka_unit_test(what_has_no_meaning_is_refused),
        cmocka_unit_test(variances_of_columns_are_those_of_the_others),
        cmocka_unit_test(running_variances_are_those_of_the_others),
    };
    return cmocka_run_group_tests(tests, setup, close_test_device);
}
