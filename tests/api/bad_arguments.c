/* A run with wrong arguments fails with a reason and leaves every output unchanged. */
#include "support.h"

static float x[100], y[100];
static unsigned char out[800], keys_out[800];

static int setup(void **state) {
    for (int k = 0; k < 100; k++)
        x[k] = y[k] = (float)k;
    return open_test_device(state);
}

static void expect(tally_device *device, const tally_desc *desc, const tally_args *args, tally_status expected) {
    memset(out, POISON, sizeof out);
    memset(keys_out, POISON, sizeof keys_out);
    assert_fails(run_desc(device, desc, args), expected);
    assert_true(is_poison(out, sizeof out));
    assert_true(is_poison(keys_out, sizeof keys_out));
}

static void null_where_data_is_due(void **state) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_args args = arguments(NULL, 100, out, sizeof out);
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    args = arguments(x, 100, NULL, sizeof out);
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    desc = describe(TALLY_DOT, TALLY_REDUCE, TALLY_F32);
    args = arguments(x, 100, out, sizeof out);
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_SEGMENTS;
    args.shape.groups = 3;
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    desc.grouping = TALLY_KEYS;
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    tally_plan *plan;
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    assert_ok(tally_plan_create(*state, &desc, &plan));
    assert_fails(tally_run(plan, NULL, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_run(NULL, &args, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_push(plan, NULL), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_push(NULL, &args), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_finish(plan, NULL, 0), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_finish(NULL, out, sizeof out), TALLY_INVALID_ARGUMENT);
    tally_plan_destroy(plan);
}

static void another_struct_size(void **state) {
    static const size_t sizes[] = {0, sizeof(tally_args) - 1, sizeof(tally_args) + 1, SIZE_MAX};
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        tally_args args = arguments(x, 100, out, sizeof out);
        args.struct_size = sizes[k];
        expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    }
}

static void sizes_whose_bytes_overflow(void **state) {
    static const tally_shape shapes[] = {{1, UINT64_MAX, 1, 0},
                                         {1, UINT64_MAX / 4 + 1, 1, 0},
                                         {1, (uint64_t)1 << 62, 1, 0},
                                         {1, (uint64_t)1 << 61, 1, 0},
                                         {(uint64_t)1 << 32, (uint64_t)1 << 32, 1, 0},
                                         {(uint64_t)1 << 32, 1, (uint64_t)1 << 32, 0},
                                         {(uint64_t)1 << 22, (uint64_t)1 << 21, (uint64_t)1 << 21, 0},
                                         {3, UINT64_MAX / 3 + 1, 1, 0}};
    for (size_t k = 0; k < COUNT_OF(shapes); k++)
        for (int form = 0; form < TALLY_FORM_COUNT; form++)
            for (int grouping = 0; grouping < TALLY_GROUPING_COUNT; grouping++) {
                tally_desc desc = describe(TALLY_SUM, (tally_form)form, TALLY_F32);
                desc.grouping = (tally_grouping)grouping;
                tally_args args = arguments(x, 0, out, sizeof out);
                int64_t offsets[2] = {0, 0};
                args.shape = shapes[k];
                if (grouping == TALLY_SEGMENTS)
                    args.offsets = offsets;
                if (grouping == TALLY_SEGMENTS && shapes[k].extent < UINT64_MAX / 8)
                    continue; /* the caller vouches for an extent that is only huge */
                if (grouping != TALLY_AXIS && shapes[k].extent < (uint64_t)1 << 60)
                    continue; /* only the product overflows */
                if (grouping == TALLY_LABELS && form != TALLY_REDUCE)
                    continue;
                if (grouping == TALLY_KEYS)
                    args.keys = x;
                if (grouping == TALLY_LABELS)
                    args.labels = x;
                expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
            }
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_SEGMENTS;
    tally_args args = arguments(x, 100, out, sizeof out);
    args.offsets = x;
    static const uint64_t segments[] = {UINT64_MAX, UINT64_MAX / 8, (uint64_t)1 << 61};
    for (size_t k = 0; k < COUNT_OF(segments); k++) {
        args.shape.groups = segments[k];
        expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    }
}

/* Back ends count with the shape, so it must be one of an array that can exist. */
static void shapes_without_a_workspace(void **state) {
    static const tally_shape shapes[TALLY_GROUPING_COUNT] = {
        [TALLY_ALL_VALUES] = {1, UINT64_MAX, 1, 0},
        [TALLY_AXIS] = {(uint64_t)1 << 32, 1, (uint64_t)1 << 32, 0},
        [TALLY_SEGMENTS] = {1, 100, 1, UINT64_MAX},
        [TALLY_KEYS] = {1, (uint64_t)1 << 62, 1, 0},
        [TALLY_LABELS] = {1, 100, 1, (uint64_t)1 << 58}};
    for (int grouping = 0; grouping < TALLY_GROUPING_COUNT; grouping++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        tally_plan *plan;
        size_t bytes = 77;
        desc.grouping = (tally_grouping)grouping;
        assert_ok(tally_plan_create(*state, &desc, &plan));
        assert_fails(tally_plan_workspace(plan, &shapes[grouping], &bytes), TALLY_INVALID_ARGUMENT);
        assert_int_equal(bytes, 77);
        tally_plan_destroy(plan);
    }
}

static void groups_are_not_looked_at_by_keys(void **state) {
    static const int32_t keys[] = {1, 1, 2};
    const double values[] = {1, 2, 4};
    double sums[3];
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    desc.grouping = TALLY_KEYS;
    desc.index = TALLY_I32;
    tally_args args = arguments(values, 3, sums, sizeof sums);
    args.keys = keys;
    args.shape.groups = UINT64_MAX;
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(sums[0] == 3 && sums[1] == 4);
}

static void a_dimension_of_zero_is_no_overflow(void **state) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_AXIS;
    tally_args args = arguments(NULL, 0, out, sizeof out);
    args.shape = (tally_shape){0, (uint64_t)1 << 40, (uint64_t)1 << 40, 0};
    memset(out, POISON, sizeof out);
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(is_poison(out, sizeof out));
}

static void outputs_that_are_too_small(void **state) {
    static const struct {
        tally_form form;
        tally_grouping grouping;
        tally_shape shape;
        size_t needed;
    } cases[] = {{TALLY_REDUCE, TALLY_ALL_VALUES, {1, 100, 1, 0}, 4},
                 {TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, {1, 100, 1, 0}, 400},
                 {TALLY_REDUCE, TALLY_AXIS, {5, 4, 5, 0}, 100},
                 {TALLY_EXCLUSIVE_SCAN, TALLY_AXIS, {5, 4, 5, 0}, 400},
                 {TALLY_REDUCE, TALLY_SEGMENTS, {1, 100, 1, 2}, 8},
                 {TALLY_INCLUSIVE_SCAN, TALLY_SEGMENTS, {1, 100, 1, 2}, 400},
                 {TALLY_INCLUSIVE_SCAN, TALLY_KEYS, {1, 100, 1, 0}, 400}};
    static const int64_t offsets[] = {0, 50, 100};
    static const int64_t keys[100] = {1, 1, 1};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        tally_desc desc = describe(TALLY_SUM, cases[k].form, TALLY_F32);
        desc.grouping = cases[k].grouping;
        tally_args args = arguments(x, 100, out, cases[k].needed - 1);
        args.shape = cases[k].shape;
        if (desc.grouping == TALLY_SEGMENTS)
            args.offsets = offsets;
        if (desc.grouping == TALLY_KEYS)
            args.keys = keys;
        expect(*state, &desc, &args, TALLY_OUTPUT_TOO_SMALL);
        char needed[32];
        snprintf(needed, sizeof needed, "%zu", cases[k].needed);
        assert_non_null(strstr(tally_last_error(), needed));
        args.out_bytes = 0;
        expect(*state, &desc, &args, TALLY_OUTPUT_TOO_SMALL);
        args.out_bytes = cases[k].needed;
        assert_ok(run_desc(*state, &desc, &args));
        assert_true(is_poison(out + cases[k].needed, sizeof out - cases[k].needed));
    }
}

static void more_runs_than_room_are_counted(void **state) {
    static const int64_t keys[10] = {7, 7, 3, 3, 3, 7, 9, 9, 1, 1};
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_KEYS;
    uint64_t count;
    for (int which = 0; which < 2; which++) {
        tally_args args = arguments(x, 10, out, which ? 20 : 16);
        args.keys = keys;
        args.keys_out = keys_out;
        args.keys_out_bytes = which ? 39 : 40;
        args.count = &count;
        count = 0;
        expect(*state, &desc, &args, TALLY_OUTPUT_TOO_SMALL);
        assert_int_equal(count, 5);
        args.out_bytes = 20;
        args.keys_out_bytes = 40;
        assert_ok(run_desc(*state, &desc, &args));
        assert_int_equal(count, 5);
        assert_true(is_poison(out + 20, sizeof out - 20) && is_poison(keys_out + 40, sizeof keys_out - 40));
        const int64_t runs[] = {7, 3, 7, 9, 1};
        const float sums[] = {1, 9, 5, 13, 17};
        assert_memory_equal(runs, keys_out, sizeof runs);
        assert_memory_equal(sums, out, sizeof sums);
    }
}

static void outputs_that_overlap_inputs(void **state) {
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    float copy[100], before[100];
    memcpy(copy, x, sizeof copy);
    memcpy(before, x, sizeof copy);
    tally_args args = arguments(copy, 99, copy + 1, 99 * sizeof(float));
    assert_fails(run_desc(*state, &desc, &args), TALLY_INVALID_ARGUMENT);
    assert_memory_equal(copy, before, sizeof copy);
    args = arguments(copy, 100, copy, sizeof copy);
    desc.out = TALLY_F64; /* elements of another size */
    args.shape.extent = 50;
    assert_fails(run_desc(*state, &desc, &args), TALLY_INVALID_ARGUMENT);
    assert_memory_equal(copy, before, sizeof copy);
    /* However large an output is said to be, runs of keys write no more than a result for each key. */
    static const int64_t keys[10] = {7, 7, 3, 3, 3, 7, 9, 9, 1, 1};
    uint64_t count;
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_KEYS;
    for (int which = 0; which < 2; which++) {
        args = arguments(copy + 9, 10, copy, which ? SIZE_MAX : sizeof copy);
        args.keys = keys;
        args.keys_out = keys_out;
        args.keys_out_bytes = sizeof keys_out;
        args.count = &count;
        assert_fails(run_desc(*state, &desc, &args), TALLY_INVALID_ARGUMENT);
        assert_memory_equal(copy, before, sizeof copy);
        args.x = copy + 10;
        assert_ok(run_desc(*state, &desc, &args));
        assert_int_equal(count, 5);
        memcpy(copy, before, sizeof copy);
    }
}

static void an_initial_value_where_there_is_none(void **state) {
    float initial = 1;
    tally_args args = arguments(x, 100, out, sizeof out);
    args.initial = &initial;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    desc = describe(TALLY_ARGMAX, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    desc = describe(TALLY_ANY, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    expect(*state, &desc, &args, TALLY_INVALID_ARGUMENT);
    /* a scan in integers cannot start from a float */
    desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I32);
    desc.out = TALLY_F32;
    expect(*state, &desc, &args, TALLY_UNSUPPORTED);
}

static void initial_values_as_the_header_lists_them(void **state) {
    static const bool takes[TALLY_USER] = {
        [TALLY_SUM] = true,  [TALLY_PROD] = true, [TALLY_MIN] = true, [TALLY_MAX] = true,
        [TALLY_BAND] = true, [TALLY_BOR] = true,  [TALLY_BXOR] = true};
    static const int32_t values[4] = {0, 0, 0, 0};
    for (int op = 0; op < TALLY_USER; op++) {
        double initial = 0;
        tally_args args = arguments(values, 4, out, sizeof out);
        args.initial = &initial;
        if (op == TALLY_DOT)
            args.y = values;
        tally_desc desc = describe((tally_op)op, TALLY_INCLUSIVE_SCAN, TALLY_I32);
        memset(out, POISON, sizeof out);
        tally_status status = run_desc(*state, &desc, &args);
        if ((status == TALLY_OK) != takes[op])
            fail_msg("an initial value for %s gave %s", tally_op_name((tally_op)op), tally_status_name(status));
        if (status != TALLY_OK)
            assert_true(is_poison(out, sizeof out));
    }
}

/* Each initial value exists in the output's type but not in the accumulator's. */
static void initial_values_are_not_narrowed(void **state) {
    static const struct {
        tally_op op;
        tally_dtype in, out;
    } cases[] = {
        {TALLY_MAX, TALLY_U8, TALLY_I64},   /* 300 */
        {TALLY_MIN, TALLY_U8, TALLY_I8},    /* -5 */
        {TALLY_BOR, TALLY_U8, TALLY_U16},   /* 256 */
        {TALLY_SUM, TALLY_F32, TALLY_F64},  /* 1e300 */
        {TALLY_MAX, TALLY_F16, TALLY_BF16}, /* 1e30 */
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        static const unsigned char initial[8], values[4 * 8];
        tally_args args = arguments(values, 4, out, sizeof out);
        args.initial = initial;
        tally_desc desc = describe(cases[k].op, TALLY_INCLUSIVE_SCAN, cases[k].in);
        desc.out = cases[k].out;
        expect(*state, &desc, &args, TALLY_UNSUPPORTED);
    }
}

/* The device must still work after all of that. */
static void the_device_stays_usable(void **state) {
    float sum = 0;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_args args = arguments(x, 100, &sum, sizeof sum);
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(sum == 4950);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_where_data_is_due),
        cmocka_unit_test(another_struct_size),
        cmocka_unit_test(sizes_whose_bytes_overflow),
        cmocka_unit_test(shapes_without_a_workspace),
        cmocka_unit_test(groups_are_not_looked_at_by_keys),
        cmocka_unit_test(a_dimension_of_zero_is_no_overflow),
        cmocka_unit_test(outputs_that_are_too_small),
        cmocka_unit_test(more_runs_than_room_are_counted),
        cmocka_unit_test(outputs_that_overlap_inputs),
        cmocka_unit_test(an_initial_value_where_there_is_none),
        cmocka_unit_test(initial_values_as_the_header_lists_them),
        cmocka_unit_test(initial_values_are_not_narrowed),
        cmocka_unit_test(the_device_stays_usable),
    };
    return cmocka_run_group_tests_name("bad arguments", tests, setup, close_test_device);
}
