/* What can be asked of operators and devices is what they then do. */
#include <float.h>

#include "support.h"

static tally_traits traits_of(tally_op op) {
    tally_traits traits = {.struct_size = sizeof traits};
    assert_ok(tally_op_traits(op, &traits));
    return traits;
}

static void some_are_known(void **state) {
    (void)state;
    const tally_traits sum = traits_of(TALLY_SUM), minmax = traits_of(TALLY_MINMAX), argmax = traits_of(TALLY_ARGMAX);
    assert_int_equal(sum.exact, TALLY_EXACT_ROUNDED);
    assert_int_equal(sum.result, TALLY_RESULT_WIDE);
    assert_int_equal(sum.components, 1);
    assert_int_equal(minmax.elements_per_result, 2);
    assert_int_equal(minmax.components, 2);
    assert_int_equal(argmax.has_index, 1);
    assert_int_equal(argmax.exact, TALLY_EXACT_ALWAYS);
    assert_int_equal(traits_of(TALLY_DOT).inputs, 2);
    assert_int_equal(traits_of(TALLY_VAR).takes_ddof, 1);
    assert_int_equal(traits_of(TALLY_VAR).exact, TALLY_EXACT_ROUNDED);
    assert_int_equal(traits_of(TALLY_LOGSUMEXP).exact, TALLY_EXACT_NEVER);
    assert_int_equal(traits_of(TALLY_PROD).exact, TALLY_EXACT_INTEGERS);
    assert_int_equal(traits_of(TALLY_BXOR).integers_only, 1);
}

static void types_are_like_their_layouts(void **state) {
    (void)state;
    static const struct {
        tally_dtype type;
        size_t bytes;
        int is_float, is_signed, precision;
        const char *numpy_name, *npy_code;
    } known[] = {{TALLY_I16, 2, 0, 1, 0, "int16", "i2"},
                 {TALLY_U64, 8, 0, 0, 0, "uint64", "u8"},
                 {TALLY_F16, 2, 1, 1, 11, "float16", "f2"},
                 {TALLY_BF16, 2, 1, 1, 8, "bfloat16", "V2"},
                 {TALLY_F32, 4, 1, 1, FLT_MANT_DIG, "float32", "f4"},
                 {TALLY_F64, 8, 1, 1, DBL_MANT_DIG, "float64", "f8"}};
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        tally_type_traits traits = {.struct_size = sizeof traits};
        assert_ok(tally_dtype_traits(known[k].type, &traits));
        assert_int_equal(traits.bytes, known[k].bytes);
        assert_int_equal(traits.is_float, known[k].is_float);
        assert_int_equal(traits.is_signed, known[k].is_signed);
        assert_int_equal(traits.precision, known[k].precision);
        assert_string_equal(traits.numpy_name, known[k].numpy_name);
        assert_string_equal(traits.npy_code, known[k].npy_code);
    }
    tally_type_traits traits = {.struct_size = sizeof traits};
    assert_int_equal(tally_dtype_traits(TALLY_DEFAULT, &traits), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_dtype_traits(TALLY_DTYPE_COUNT, &traits), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_dtype_traits(TALLY_F32, NULL), TALLY_INVALID_ARGUMENT);
    traits.struct_size--;
    assert_int_equal(tally_dtype_traits(TALLY_F32, &traits), TALLY_INVALID_ARGUMENT);
}

static tally_dtype type_by_rule(tally_result_rule rule, tally_dtype in) {
    const bool is_signed = in == TALLY_I16, is_float = in == TALLY_F32;
    switch (rule) {
    case TALLY_RESULT_SAME:
        return in;
    case TALLY_RESULT_WIDE:
        return is_float ? in : is_signed ? TALLY_I64 : TALLY_U64;
    case TALLY_RESULT_WIDE_UNSIGNED:
        return is_float ? in : TALLY_U64;
    case TALLY_RESULT_UNSIGNED:
        return is_signed ? TALLY_U16 : in;
    case TALLY_RESULT_FLOAT:
        return is_float ? in : TALLY_F64;
    case TALLY_RESULT_INDEX:
        return TALLY_I64;
    case TALLY_RESULT_FLAG:
        return TALLY_U8;
    }
    return TALLY_DEFAULT;
}

/* A plan is made exactly where tally_supports says so, and is what the traits tell. */
static void plans_do_what_was_told(void **state) {
    tally_device *device = *state;
    static const tally_dtype types[] = {TALLY_I16, TALLY_U32, TALLY_F32};
    for (int op = 0; op < TALLY_USER; op++) {
        const tally_traits traits = traits_of((tally_op)op);
        for (size_t t = 0; t < COUNT_OF(types); t++)
            for (int form = 0; form < TALLY_FORM_COUNT; form++)
                for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                    tally_desc desc = describe((tally_op)op, (tally_form)form, types[t]), told = TALLY_DESC_INIT;
                    size_t per_result = 0;
                    tally_plan *plan = NULL;
                    desc.mode = (tally_mode)mode;
                    const bool is_float = types[t] == TALLY_F32;
                    const tally_status supported = tally_supports(device, &desc);
                    const tally_status made = tally_plan_create(device, &desc, &plan);
                    assert_int_equal(supported, made);
                    if (traits.integers_only && is_float)
                        assert_int_equal(made, TALLY_UNSUPPORTED);
                    if (form == TALLY_EXCLUSIVE_SCAN && !traits.has_exclusive_scan)
                        assert_int_equal(made, TALLY_UNSUPPORTED);
                    if (mode == TALLY_EXACT && traits.exact == TALLY_EXACT_NEVER)
                        assert_int_equal(made, TALLY_UNSUPPORTED);
                    if (mode == TALLY_EXACT && traits.exact == TALLY_EXACT_INTEGERS && is_float)
                        assert_int_equal(made, TALLY_UNSUPPORTED);
                    if (made != TALLY_OK)
                        continue;
                    assert_ok(tally_plan_describe(plan, &told, &per_result));
                    assert_int_equal(told.out, type_by_rule(traits.result, types[t]));
                    assert_int_equal(per_result, traits.elements_per_result);
                    tally_plan_destroy(plan);
                }
    }
}

static void nothing_is_an_error_where_it_was_told(void **state) {
    (void)state;
    for (int op = 0; op < TALLY_USER; op++) {
        const tally_traits traits = traits_of((tally_op)op);
        uint64_t out[2] = {0};
        if (traits.inputs == 1)
            assert_int_equal(tally_reduce((tally_op)op, TALLY_U8, NULL, 0, out),
                             traits.empty_is_error ? TALLY_EMPTY : TALLY_OK);
    }
}

static void an_initial_value_is_taken_where_it_was_told(void **state) {
    tally_device *device = *state;
    for (int op = 0; op < TALLY_USER; op++) {
        const tally_traits traits = traits_of((tally_op)op);
        tally_desc desc = describe((tally_op)op, TALLY_INCLUSIVE_SCAN, TALLY_I64);
        tally_plan *plan = NULL;
        if (traits.inputs == 2 || tally_plan_create(device, &desc, &plan) != TALLY_OK)
            continue;
        int64_t out[2] = {0};
        const int64_t initial = 7;
        tally_args args = TALLY_ARGS_INIT; /* of no elements: memory of any device will do */
        args.shape.extent = 0;
        args.initial = &initial;
        args.out = out;
        args.out_bytes = sizeof out;
        assert_int_equal(tally_run(plan, &args, TALLY_SYNCHRONOUS),
                         traits.takes_initial ? TALLY_OK : TALLY_INVALID_ARGUMENT);
        tally_plan_destroy(plan);
    }
}

static void without_a_device_the_description_counts(void **state) {
    (void)state;
    tally_desc desc = describe(TALLY_BAND, TALLY_REDUCE, TALLY_I32);
    assert_ok(tally_supports(NULL, &desc));
    desc.in = TALLY_F32;
    assert_int_equal(tally_supports(NULL, &desc), TALLY_UNSUPPORTED);
    assert_non_null(strstr(tally_last_error(), "band"));
    assert_int_equal(tally_supports(NULL, NULL), TALLY_INVALID_ARGUMENT);
}

static void what_is_none_is_refused(void **state) {
    (void)state;
    tally_traits traits = {.struct_size = sizeof traits};
    assert_int_equal(tally_op_traits(TALLY_USER, &traits), TALLY_UNSUPPORTED);
    assert_int_equal(tally_op_traits((tally_op)-1, &traits), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_op_traits(TALLY_OP_COUNT, &traits), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_op_traits(TALLY_SUM, NULL), TALLY_INVALID_ARGUMENT);
    traits.struct_size = 4;
    assert_int_equal(tally_op_traits(TALLY_SUM, &traits), TALLY_INVALID_ARGUMENT);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_are_known),
        cmocka_unit_test(types_are_like_their_layouts),
        cmocka_unit_test(plans_do_what_was_told),
        cmocka_unit_test(nothing_is_an_error_where_it_was_told),
        cmocka_unit_test(an_initial_value_is_taken_where_it_was_told),
        cmocka_unit_test(without_a_device_the_description_counts),
        cmocka_unit_test(what_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, open_test_device, close_test_device);
}
