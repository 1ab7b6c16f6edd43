/* Input in pieces: the state after a failed push, a reset and a finish is as the header says. (The conformance suite
 * shows that pieces give the same results as the whole.) */
#include "support.h"

static const int32_t x[] = {5, 1, 4, 1, 5, 9, 2, 6};

static tally_plan *plan_for(tally_device *device, tally_desc desc) {
    tally_plan *plan;
    assert_ok(tally_plan_create(device, &desc, &plan));
    return plan;
}

static void a_failed_push_leaves_the_pieces_before_it(void **state) {
    tally_plan *plan = plan_for(*state, describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32));
    int64_t sum = 0;
    tally_args args = arguments(x, 3, NULL, 0);
    assert_ok(tally_push(plan, &args));
    tally_args bad = arguments(NULL, 3, NULL, 0);
    assert_fails(tally_push(plan, &bad), TALLY_INVALID_ARGUMENT);
    bad = arguments(x, UINT64_MAX, NULL, 0);
    assert_fails(tally_push(plan, &bad), TALLY_INVALID_ARGUMENT);
    args.x = x + 3;
    assert_ok(tally_push(plan, &args));
    assert_fails(tally_finish(plan, &sum, 7), TALLY_OUTPUT_TOO_SMALL);
    assert_fails(tally_finish(plan, NULL, 8), TALLY_INVALID_ARGUMENT);
    assert_int_equal(sum, 0);
    assert_ok(tally_finish(plan, &sum, sizeof sum));
    assert_int_equal(sum, 5 + 1 + 4 + 1 + 5 + 9);
    tally_plan_destroy(plan);
}

static void finish_and_reset_make_the_plan_new(void **state) {
    tally_plan *plan = plan_for(*state, describe(TALLY_ARGMAX, TALLY_REDUCE, TALLY_I32));
    int64_t at = -1;
    tally_args args = arguments(x, 8, NULL, 0);
    for (int round = 0; round < 3; round++) {
        assert_ok(tally_push(plan, &args));
        assert_ok(tally_push(plan, &args));
        assert_ok(tally_finish(plan, &at, sizeof at));
        assert_int_equal(at, 5);
    }
    assert_ok(tally_push(plan, &args));
    tally_reset(plan);
    args = arguments(x + 6, 2, NULL, 0);
    assert_ok(tally_push(plan, &args));
    assert_ok(tally_finish(plan, &at, sizeof at));
    assert_int_equal(at, 1); /* indices start again */
    args = arguments(x, 8, NULL, 0);
    assert_ok(tally_push(plan, &args));
    tally_plan_destroy(plan); /* with pieces inside: nothing leaks */
}

static void nothing_pushed_is_nothing(void **state) {
    int64_t sum = 5;
    int32_t least = 5;
    tally_plan *plan = plan_for(*state, describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32));
    assert_ok(tally_finish(plan, &sum, sizeof sum));
    assert_int_equal(sum, 0);
    tally_plan_destroy(plan);
    plan = plan_for(*state, describe(TALLY_MIN, TALLY_REDUCE, TALLY_I32));
    assert_fails(tally_finish(plan, &least, sizeof least), TALLY_EMPTY);
    assert_int_equal(least, 5);
    /* And the plan goes on. */
    tally_args args = arguments(x, 8, NULL, 0);
    assert_ok(tally_push(plan, &args));
    assert_ok(tally_finish(plan, &least, sizeof least));
    assert_int_equal(least, 1);
    tally_plan_destroy(plan);
}

static void groupings_that_need_everything_at_once(void **state) {
    int64_t offsets[] = {0, 8};
    for (int grouping = TALLY_SEGMENTS; grouping <= TALLY_KEYS; grouping++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
        desc.grouping = (tally_grouping)grouping;
        tally_plan *plan = plan_for(*state, desc);
        tally_args args = arguments(x, 8, NULL, 0);
        args.shape.groups = 1;
        if (grouping == TALLY_SEGMENTS)
            args.offsets = offsets;
        else
            args.keys = x;
        assert_fails(tally_push(plan, &args), TALLY_UNSUPPORTED);
        tally_plan_destroy(plan);
    }
}

/* Where an index counts from the first element, the last piece cannot come first. */
static void pieces_of_reverse_scans_come_from_the_end(void **state) {
    int64_t in[5] = {1, 2, 3, 4, 5}, out[5], initial = 100;
    const int64_t right[5] = {115, 114, 112, 109, 105};
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I64);
    desc.flags = TALLY_REVERSE;
    tally_plan *plan = plan_for(*state, desc);
    for (int first = 3, n = 2; first >= 0; first -= 3, n = 3) {
        tally_args args = arguments(in + first, (uint64_t)n, out + first, (size_t)n * sizeof *out);
        args.initial = &initial;
        assert_ok(tally_push(plan, &args));
    }
    assert_memory_equal(out, right, sizeof out);
    tally_plan_destroy(plan);
    desc.op = TALLY_ARGMAX;
    plan = plan_for(*state, desc);
    const tally_args args = arguments(in, 5, out, sizeof out);
    assert_fails(tally_push(plan, &args), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
}

static void rows_must_stay_as_long(void **state) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
    desc.grouping = TALLY_AXIS;
    tally_plan *plan = plan_for(*state, desc);
    tally_args args = arguments(x, 2, NULL, 0);
    args.shape = (tally_shape){1, 2, 2, 0};
    assert_ok(tally_push(plan, &args));
    args.shape.inner = 4;
    assert_fails(tally_push(plan, &args), TALLY_INVALID_ARGUMENT);
    args.shape = (tally_shape){2, 1, 2, 0};
    assert_fails(tally_push(plan, &args), TALLY_INVALID_ARGUMENT);
    int64_t out[2] = {0, 0};
    assert_fails(tally_finish(plan, out, 15), TALLY_OUTPUT_TOO_SMALL);
    assert_ok(tally_finish(plan, out, sizeof out));
    assert_int_equal(out[0], 9);
    assert_int_equal(out[1], 2);
    tally_plan_destroy(plan);
}

static void an_initial_value_counts_in_the_first_piece(void **state) {
    tally_plan *plan = plan_for(*state, describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I32));
    int64_t out[8], initial = 100;
    tally_args args = arguments(x, 3, out, 3 * 8);
    args.initial = &initial;
    assert_ok(tally_push(plan, &args));
    args = arguments(x + 3, 5, out + 3, 5 * 8);
    args.initial = &initial;
    assert_ok(tally_push(plan, &args));
    assert_ok(tally_finish(plan, NULL, 0));
    assert_int_equal(out[2], 110);
    assert_int_equal(out[7], 133);
    tally_plan_destroy(plan);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_push_leaves_the_pieces_before_it),
        cmocka_unit_test(finish_and_reset_make_the_plan_new),
        cmocka_unit_test(nothing_pushed_is_nothing),
        cmocka_unit_test(groupings_that_need_everything_at_once),
        cmocka_unit_test(pieces_of_reverse_scans_come_from_the_end),
        cmocka_unit_test(rows_must_stay_as_long),
        cmocka_unit_test(an_initial_value_counts_in_the_first_piece),
    };
    return cmocka_run_group_tests_name("pieces and resets", tests, open_test_device, close_test_device);
}
