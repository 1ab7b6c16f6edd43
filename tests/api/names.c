/* Names and sizes are the header's, in both directions, and an unknown name is refused with the nearest one. */
#include "support.h"

static void names_come_back_as_their_enumerators(void **state) {
    (void)state;
    for (int op = 0; op < TALLY_USER; op++) {
        tally_op back = TALLY_OP_COUNT;
        assert_non_null(tally_op_name((tally_op)op));
        assert_ok(tally_op_from_name(tally_op_name((tally_op)op), &back));
        assert_int_equal(back, op);
        assert_non_null(tally_op_summary((tally_op)op));
        assert_true(strlen(tally_op_summary((tally_op)op)) > 5);
    }
    for (int type = TALLY_I8; type < TALLY_DTYPE_COUNT; type++) {
        tally_dtype back = TALLY_DTYPE_COUNT;
        assert_ok(tally_dtype_from_name(tally_dtype_name((tally_dtype)type), &back));
        assert_int_equal(back, type);
    }
}

static void names_are_the_headers(void **state) {
    (void)state;
    assert_string_equal(tally_op_name(TALLY_COUNT_NONZERO), "count_nonzero");
    assert_string_equal(tally_op_name(TALLY_NORM_INF), "norm_inf");
    assert_string_equal(tally_dtype_name(TALLY_BF16), "bf16");
    assert_string_equal(tally_form_name(TALLY_INCLUSIVE_SCAN), "inclusive_scan");
    assert_string_equal(tally_grouping_name(TALLY_AXIS), "axis");
    assert_string_equal(tally_mode_name(TALLY_EXACT), "exact");
    assert_string_equal(tally_status_name(TALLY_OUT_OF_MEMORY), "TALLY_OUT_OF_MEMORY");
    for (int s = 0; s < TALLY_STATUS_COUNT; s++)
        assert_non_null(tally_status_name((tally_status)s));
}

static void numpys_type_names_work(void **state) {
    (void)state;
    static const struct {
        const char *name;
        tally_dtype type;
    } names[] = {{"float32", TALLY_F32}, {"float64", TALLY_F64}, {"float16", TALLY_F16}, {"int8", TALLY_I8},
                 {"int64", TALLY_I64},   {"uint8", TALLY_U8},    {"uint32", TALLY_U32}};
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        tally_dtype type = TALLY_DEFAULT;
        assert_ok(tally_dtype_from_name(names[k].name, &type));
        assert_int_equal(type, names[k].type);
    }
}

static void what_is_no_value_has_no_name(void **state) {
    (void)state;
    static const int none[] = {-1, 1000, 0x7fffffff};
    for (size_t k = 0; k < COUNT_OF(none); k++) {
        assert_null(tally_op_name((tally_op)none[k]));
        assert_null(tally_dtype_name((tally_dtype)none[k]));
        assert_null(tally_form_name((tally_form)none[k]));
        assert_null(tally_grouping_name((tally_grouping)none[k]));
        assert_null(tally_mode_name((tally_mode)none[k]));
        assert_null(tally_op_summary((tally_op)none[k]));
        assert_int_equal(tally_dtype_size((tally_dtype)none[k]), 0);
    }
    assert_null(tally_op_name(TALLY_OP_COUNT));
    assert_int_equal(tally_dtype_size(TALLY_DEFAULT), 0);
    assert_int_equal(tally_dtype_size(TALLY_DTYPE_COUNT), 0);
}

static void an_unknown_name_is_refused_with_the_nearest(void **state) {
    (void)state;
    tally_op op = TALLY_MAX;
    assert_fails(tally_op_from_name("summ", &op), TALLY_INVALID_ARGUMENT);
    assert_int_equal(op, TALLY_MAX);
    assert_non_null(strstr(tally_last_error(), "'sum'"));
    tally_dtype type = TALLY_I8;
    assert_fails(tally_dtype_from_name("flaot32", &type), TALLY_INVALID_ARGUMENT);
    assert_int_equal(type, TALLY_I8);
    assert_non_null(strstr(tally_last_error(), "'f32'"));
    assert_fails(tally_op_from_name("", &op), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_op_from_name(NULL, &op), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_op_from_name("sum", NULL), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_dtype_from_name(NULL, &type), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_dtype_from_name("f32", NULL), TALLY_INVALID_ARGUMENT);
    char long_name[5000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    assert_fails(tally_op_from_name(long_name, &op), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_dtype_from_name(long_name, &type), TALLY_INVALID_ARGUMENT);
}

/* The name that the message suggests; "" for none. */
static void suggests(const char *name, const char *expected) {
    tally_op op;
    tally_dtype type;
    char quoted[64];
    snprintf(quoted, sizeof quoted, "the nearest known one is '%s'", expected);
    const bool is_type = strchr("fiub", expected[0]) && tally_dtype_from_name(expected, &type) == TALLY_OK;
    if (is_type)
        assert_fails(tally_dtype_from_name(name, &type), TALLY_INVALID_ARGUMENT);
    else
        assert_fails(tally_op_from_name(name, &op), TALLY_INVALID_ARGUMENT);
    if (expected[0] ? !strstr(tally_last_error(), quoted) : strstr(tally_last_error(), "nearest") != NULL)
        fail_msg("%s instead of '%s': %s", name, expected, tally_last_error());
}

static void suggestions_are_near_or_mean_the_same(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"count", "count_nonzero"},
        {"avg", "mean"},
        {"average", "mean"},
        {"averge", "mean"},
        {"product", "prod"},
        {"stddev", "std"},
        {"maen", "mean"},
        {"mni", "min"},
        {"norm", "norm2"},
        {"logsumexpr", "logsumexp"},
        {"argmaxx", "argmax"},
        {"xor", "bxor"},
        {"median", ""},
        {"user", ""},
        {"qqq", ""},
        {"", ""},
        {"f23", "f32"},
        {"int23", "i32"},
        {"flaot64", "f64"},
        {"unit64", "u64"},
    };
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        suggests(cases[k][0], cases[k][1]);
}

static void sizes_are_bytes(void **state) {
    (void)state;
    static const size_t sizes[TALLY_DTYPE_COUNT] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    for (int type = 0; type < TALLY_DTYPE_COUNT; type++)
        assert_int_equal(tally_dtype_size((tally_dtype)type), sizes[type]);
}

static void the_version_is_the_headers(void **state) {
    (void)state;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", TALLY_VERSION_MAJOR, TALLY_VERSION_MINOR, TALLY_VERSION_PATCH);
    assert_string_equal(tally_version(), version);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_back_as_their_enumerators),
        cmocka_unit_test(names_are_the_headers),
        cmocka_unit_test(numpys_type_names_work),
        cmocka_unit_test(what_is_no_value_has_no_name),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest),
        cmocka_unit_test(suggestions_are_near_or_mean_the_same),
        cmocka_unit_test(sizes_are_bytes),
        cmocka_unit_test(the_version_is_the_headers),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
