/* A descriptor that cannot be met is refused when the plan is made, with a reason, and makes no plan. */
#include "support.h"

static tally_plan *const untouched = (tally_plan *)(uintptr_t)0x5eed;

static void expect_status(tally_device *device, const tally_desc *desc, tally_status expected, const char *what) {
    tally_plan *plan = untouched;
    forget_last_error();
    tally_status status = tally_plan_create(device, desc, &plan);
    if (status != expected)
        fail_msg("%s gave %s", what, tally_status_name(status));
    assert_ptr_equal(plan, untouched);
    assert_says_something();
}

static void is_invalid(tally_device *device, const tally_desc *desc, const char *what) {
    expect_status(device, desc, TALLY_INVALID_ARGUMENT, what);
}

static void is_unsupported(tally_device *device, const tally_desc *desc, const char *what) {
    expect_status(device, desc, TALLY_UNSUPPORTED, what);
}

static void values_outside_of_their_enumerations(void **state) {
    static const int none[] = {-1, 100, 0x7fffffff, -0x7fffffff - 1};
    for (size_t k = 0; k < COUNT_OF(none); k++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.op = (tally_op)none[k];
        is_invalid(*state, &desc, "op");
        desc = describe(TALLY_SUM, (tally_form)none[k], TALLY_F32);
        is_invalid(*state, &desc, "form");
        desc = describe(TALLY_SUM, TALLY_REDUCE, (tally_dtype)none[k]);
        is_invalid(*state, &desc, "in");
        desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.grouping = (tally_grouping)none[k];
        is_invalid(*state, &desc, "grouping");
        desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.mode = (tally_mode)none[k];
        is_invalid(*state, &desc, "mode");
        desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.acc = (tally_dtype)none[k];
        is_invalid(*state, &desc, "acc");
        desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.out = (tally_dtype)none[k];
        is_invalid(*state, &desc, "out");
        desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.grouping = TALLY_SEGMENTS;
        desc.index = (tally_dtype)none[k];
        is_invalid(*state, &desc, "index");
    }
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_DEFAULT);
    is_invalid(*state, &desc, "no input type");
    desc = describe(TALLY_OP_COUNT, TALLY_REDUCE, TALLY_F32);
    is_invalid(*state, &desc, "the count of operators");
}

static void another_struct_size(void **state) {
    static const size_t sizes[] = {0, 1, sizeof(tally_desc) - 1, sizeof(tally_desc) + 8, SIZE_MAX};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.struct_size = sizes[k];
        is_invalid(*state, &desc, "struct_size");
    }
}

static void unknown_or_meaningless_flags(void **state) {
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    desc.flags = 1u << 30;
    is_invalid(*state, &desc, "an unknown flag");
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.flags = TALLY_REVERSE;
    is_invalid(*state, &desc, "a reduction in reverse");
}

static void degrees_of_freedom_that_are_none(void **state) {
    tally_desc desc = describe(TALLY_VAR, TALLY_REDUCE, TALLY_F32);
    desc.ddof = -1;
    is_invalid(*state, &desc, "a negative ddof");
    for (int op = 0; op < TALLY_USER; op++) {
        desc = describe((tally_op)op, TALLY_REDUCE, TALLY_I32);
        desc.ddof = 1;
        tally_traits traits = {.struct_size = sizeof traits};
        tally_op_traits((tally_op)op, &traits);
        if (!traits.takes_ddof)
            is_invalid(*state, &desc, tally_op_name((tally_op)op));
    }
}

static void accumulators_that_make_exact_results_round(void **state) {
    for (int op = 0; op < TALLY_USER; op++)
        for (int form = 0; form < 2; form++) {
            tally_desc desc = describe((tally_op)op, (tally_form)form, TALLY_I32);
            desc.mode = TALLY_EXACT;
            desc.acc = TALLY_F64;
            tally_plan *plan;
            forget_last_error();
            if (tally_plan_create(*state, &desc, &plan) == TALLY_OK)
                fail_msg("exact %s of i32 in f64", tally_op_name(desc.op));
            assert_says_something();
        }
}

static void null_where_something_is_due(void **state) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_plan *plan = untouched;
    assert_fails(tally_plan_create(NULL, &desc, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_plan_create(*state, NULL, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_plan_create(*state, &desc, NULL), TALLY_INVALID_ARGUMENT);
    assert_ptr_equal(plan, untouched);
    size_t bytes, per_result;
    tally_shape shape = {1, 1, 1, 0};
    assert_fails(tally_plan_describe(NULL, &desc, &per_result), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_plan_workspace(NULL, &shape, &bytes), TALLY_INVALID_ARGUMENT);
    tally_plan_destroy(NULL);
    tally_reset(NULL);
}

static void meaningless_combinations(void **state) {
    tally_desc desc = describe(TALLY_BAND, TALLY_REDUCE, TALLY_F32);
    is_unsupported(*state, &desc, "bits of floats");
    desc = describe(TALLY_MEAN, TALLY_EXCLUSIVE_SCAN, TALLY_F32);
    is_unsupported(*state, &desc, "a mean of what is before the first");
    desc = describe(TALLY_SKEWNESS, TALLY_REDUCE, TALLY_F32);
    desc.mode = TALLY_EXACT;
    is_unsupported(*state, &desc, "an exact skewness");
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.out = TALLY_I32;
    is_unsupported(*state, &desc, "a float as an integer");
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    desc.acc = TALLY_I8;
    is_unsupported(*state, &desc, "floats summed in i8");
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    desc.grouping = TALLY_SEGMENTS;
    desc.index = TALLY_F32;
    is_unsupported(*state, &desc, "float offsets");
}

static void user_identity(void *context, void *acc) {
    (void)context;
    *(char *)acc = 0;
}
static void user_lift(void *context, const void *x, uint64_t index, void *acc) {
    (void)context;
    (void)index;
    *(char *)acc = *(const char *)x;
}
static void user_combine(void *context, const void *left, const void *right, void *acc) {
    (void)context;
    *(char *)acc = *(const char *)left ^ *(const char *)right;
}
static void user_lower(void *context, const void *acc, uint64_t count, void *out) {
    (void)context;
    (void)count;
    *(char *)out = *(const char *)acc;
}

static const tally_user_op good_user = {.struct_size = sizeof(tally_user_op),
                                        .acc_bytes = 1,
                                        .identity = user_identity,
                                        .lift = user_lift,
                                        .combine = user_combine,
                                        .lower = user_lower};

static void user_operators_with_something_missing(void **state) {
    tally_user_op user = good_user;
    tally_desc desc = describe(TALLY_USER, TALLY_REDUCE, TALLY_I8);
    desc.out = TALLY_I8;
    is_invalid(*state, &desc, "no user operator");
    desc.user = &user;
    tally_plan *plan;
    assert_ok(tally_plan_create(*state, &desc, &plan));
    tally_plan_destroy(plan);
    user.struct_size = 8;
    is_invalid(*state, &desc, "the user operator's struct_size");
    user = good_user;
    user.acc_bytes = 0;
    is_invalid(*state, &desc, "an accumulator of no bytes");
    user.acc_bytes = 257;
    is_invalid(*state, &desc, "an accumulator of 257 bytes");
    user = good_user;
    user.identity = NULL;
    is_invalid(*state, &desc, "no identity");
    user = good_user;
    user.lift = NULL;
    is_invalid(*state, &desc, "no lift");
    user = good_user;
    user.combine = NULL;
    is_invalid(*state, &desc, "no combine");
    user = good_user;
    user.lower = NULL;
    is_invalid(*state, &desc, "no lower");
    user = good_user;
    desc.mode = TALLY_EXACT;
    is_unsupported(*state, &desc, "an exact user operator");
    desc.mode = TALLY_FAST;
    desc.out = TALLY_DEFAULT;
    is_invalid(*state, &desc, "no output type");
}

static void a_description_is_filled_in(void **state) {
    tally_desc desc = describe(TALLY_MINMAX, TALLY_REDUCE, TALLY_I16), full = TALLY_DESC_INIT;
    size_t per_result = 0;
    tally_plan *plan;
    assert_ok(tally_plan_create(*state, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &full, &per_result));
    assert_int_equal(per_result, 2);
    assert_int_equal(full.out, TALLY_I16);
    assert_int_equal(full.struct_size, sizeof full);
    const size_t sizes[] = {0, 5, sizeof full - 1, sizeof full + 8};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) { /* nothing is written to a struct of another size */
        tally_desc other, before;
        memset(&other, 0x5a, sizeof other);
        other.struct_size = sizes[k];
        before = other;
        per_result = 77;
        assert_fails(tally_plan_describe(plan, &other, &per_result), TALLY_INVALID_ARGUMENT);
        assert_memory_equal(&other, &before, sizeof other);
        assert_int_equal(per_result, 77);
    }
    assert_ok(tally_plan_describe(plan, NULL, &per_result));
    assert_int_equal(per_result, 2);
    tally_plan_destroy(plan);
    static const struct {
        tally_op op;
        tally_dtype in, out;
    } defaults[] = {{TALLY_SUM, TALLY_I8, TALLY_I64},     {TALLY_SUM, TALLY_U8, TALLY_U64},
                    {TALLY_SUM, TALLY_F16, TALLY_F16},    {TALLY_PROD, TALLY_I32, TALLY_I64},
                    {TALLY_MIN, TALLY_U16, TALLY_U16},    {TALLY_ARGMAX, TALLY_F64, TALLY_I64},
                    {TALLY_ANY, TALLY_F32, TALLY_U8},     {TALLY_ALL, TALLY_I64, TALLY_U8},
                    {TALLY_BXOR, TALLY_I8, TALLY_I8},     {TALLY_NORM1, TALLY_I8, TALLY_U64},
                    {TALLY_NORM2, TALLY_I8, TALLY_F64},   {TALLY_NORM2, TALLY_BF16, TALLY_BF16},
                    {TALLY_NORM_INF, TALLY_I8, TALLY_U8}, {TALLY_MEAN, TALLY_I64, TALLY_F64},
                    {TALLY_VAR, TALLY_F32, TALLY_F32},    {TALLY_STD, TALLY_U8, TALLY_F64},
                    {TALLY_DOT, TALLY_U32, TALLY_U64},    {TALLY_LOGSUMEXP, TALLY_I32, TALLY_F64},
                    {TALLY_SUMSQ, TALLY_I16, TALLY_I64},  {TALLY_COUNT_NONZERO, TALLY_U8, TALLY_I64}};
    for (size_t k = 0; k < COUNT_OF(defaults); k++) {
        desc = describe(defaults[k].op, TALLY_REDUCE, defaults[k].in);
        assert_ok(tally_plan_create(*state, &desc, &plan));
        assert_ok(tally_plan_describe(plan, &full, &per_result));
        assert_int_equal(full.out, defaults[k].out);
        assert_int_equal(per_result, 1);
        tally_plan_destroy(plan);
    }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_outside_of_their_enumerations),
        cmocka_unit_test(another_struct_size),
        cmocka_unit_test(unknown_or_meaningless_flags),
        cmocka_unit_test(degrees_of_freedom_that_are_none),
        cmocka_unit_test(accumulators_that_make_exact_results_round),
        cmocka_unit_test(null_where_something_is_due),
        cmocka_unit_test(meaningless_combinations),
        cmocka_unit_test(user_operators_with_something_missing),
        cmocka_unit_test(a_description_is_filled_in),
    };
    return cmocka_run_group_tests_name("bad descriptions", tests, open_test_device, close_test_device);
}
