/* Pieces of elements end in words, pieces of words end in values, and pieces go on from the states of earlier ones. */
#include "states.h"

/* Pieces of elements end in words, and pieces of words in values. */
static void pieces_end_in_words(void **state) {
    (void)state;
    static float x[MOST_N];
    if (!has_words(TALLY_SUM, TALLY_F32, TALLY_EXACT, TALLY_ALL_VALUES, TALLY_WORDS_OUT))
        return;
    fill(TALLY_F32, x, MOST_N, 50);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.mode = TALLY_EXACT;
    tally_plan *whole, *to_words, *to_values;
    assert_ok(tally_plan_create(t.device, &desc, &whole));
    desc.flags = TALLY_WORDS_OUT;
    assert_ok(tally_plan_create(t.device, &desc, &to_words));
    desc.flags = TALLY_WORDS_IN;
    assert_ok(tally_plan_create(t.device, &desc, &to_values));
    float *const device_x = on_device(x, sizeof x), value, expected;
    int64_t *const words = on_device(x, sizeof(int64_t[2][17]));
    for (int half = 0; half < 2; half++) {
        tally_args args = arguments(device_x + half * MOST_N / 2, MOST_N / 6, NULL, 0);
        const tally_status status = tally_push(to_words, &args);
        if (strncmp(test_device_spec(), "vulkan", 6) == 0) { /* has no pieces that end in words */
            assert_int_equal(status, TALLY_UNSUPPORTED);
            args = arguments(args.x, MOST_N / 2, words + half * 17, sizeof(int64_t[17]));
            assert_ok(tally_run(to_words, &args, TALLY_SYNCHRONOUS));
            continue;
        }
        assert_ok(status);
        for (int k = 1; k < 3; k++) {
            args.x = device_x + half * MOST_N / 2 + k * MOST_N / 6;
            assert_ok(tally_push(to_words, &args));
        }
        assert_ok(tally_finish(to_words, words + half * 17, sizeof(int64_t[17])));
    }
    tally_args args = arguments(words, 1, NULL, 0);
    if (tally_push(to_values, &args) != TALLY_UNSUPPORTED) { /* only the CPU has pieces of words */
        args.x = words + 17;
        assert_ok(tally_push(to_values, &args));
        assert_ok(tally_finish(to_values, words, sizeof value));
    } else {
        tally_args both = arguments(words, 2, words, sizeof value);
        void *const out = on_device(x, sizeof value);
        both.out = out;
        assert_ok(tally_run(to_values, &both, TALLY_SYNCHRONOUS));
        assert_ok(tally_copy(t.device, words, out, sizeof value));
        tally_free(t.device, out);
    }
    assert_ok(tally_copy(t.device, &value, words, sizeof value));
    args = arguments(device_x, MOST_N, words, sizeof expected);
    assert_ok(tally_run(whole, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(t.device, &expected, words, sizeof expected));
    assert_memory_equal(&value, &expected, sizeof value);
    tally_free(t.device, device_x);
    tally_free(t.device, words);
    tally_plan_destroy(whole);
    tally_plan_destroy(to_words);
    tally_plan_destroy(to_values);
}

/* The state is a superaccumulator, since elements are floats. */
static bool is_exact_sum(const tally_desc *desc) {
    return desc->mode == TALLY_EXACT && (desc->op == TALLY_SUM || desc->op == TALLY_NORM2);
}

/* A scan that resumes with the states of the rows before gives the rest of the whole scan; a reduction the whole. */
static void pieces_resume_from_states(void **state) {
    (void)state;
    static const struct {
        tally_op op;
        tally_dtype in, out;
        tally_mode mode;
        tally_form form;
    } cases[] = {{TALLY_SUM, TALLY_F32, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_F32, TALLY_F64, TALLY_EXACT, TALLY_EXCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_F64, TALLY_DEFAULT, TALLY_EXACT, TALLY_EXCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_I16, TALLY_DEFAULT, TALLY_FAST, TALLY_INCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_I8, TALLY_I8, TALLY_FAST, TALLY_INCLUSIVE_SCAN},
                 {TALLY_MAX, TALLY_U8, TALLY_DEFAULT, TALLY_EXACT, TALLY_EXCLUSIVE_SCAN},
                 {TALLY_MIN, TALLY_F64, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_ARGMIN, TALLY_F32, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_MEAN, TALLY_I32, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_ALL, TALLY_I64, TALLY_DEFAULT, TALLY_FAST, TALLY_INCLUSIVE_SCAN},
                 {TALLY_MINMAX, TALLY_BF16, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_VAR, TALLY_F64, TALLY_DEFAULT, TALLY_FAST, TALLY_REDUCE},
                 {TALLY_NORM2, TALLY_F16, TALLY_F64, TALLY_EXACT, TALLY_REDUCE},
                 {TALLY_ARGMAX, TALLY_I32, TALLY_DEFAULT, TALLY_FAST, TALLY_REDUCE}};
    static unsigned char whole[MOST_N * MOST_COLUMNS * 16], got[sizeof whole];
    const bool is_cpu = strncmp(test_device_spec(), "cpu", 3) == 0,
               is_cuda = strncmp(test_device_spec(), "cuda", 4) == 0;
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        for (int trial = 0; trial < 12; trial++) {
            const uint64_t columns = 1 + next(MOST_COLUMNS), rows = 1 + next(trial < 6 ? 40 : MOST_N - 1);
            const uint64_t first = trial % 3 == 0 && cases[k].form != TALLY_REDUCE ? 0 : next(rows + 1);
            tally_desc desc = describe(cases[k].op, cases[k].form, cases[k].in), reduction = desc, described;
            tally_words_info info = {.struct_size = sizeof info};
            const size_t bytes = tally_dtype_size(desc.in);
            tally_plan *plan;
            size_t each;
            desc.mode = reduction.mode = cases[k].mode;
            desc.grouping = TALLY_AXIS;
            desc.out = cases[k].out;
            reduction.form = TALLY_REDUCE;
            /* what_cannot_resume has the others */
            if (!is_cpu && (!is_cuda || !is_chosen(&desc) || is_exact_sum(&desc)))
                continue;
            assert_ok(tally_words_describe(&reduction, &info));
            fill(desc.in, t.x, rows * columns, cases[k].mode == TALLY_EXACT ? 20 : 0);
            for (uint64_t j = 0; j < columns; j++)
                words_of_column(&reduction, first, columns, j, t.words + j * info.count);
            assert_ok(tally_plan_create(t.device, &desc, &plan));
            assert_ok(tally_plan_describe(plan, &described, &each));
            const bool scans = desc.form != TALLY_REDUCE;
            const size_t result = tally_dtype_size(described.out) * each, row = columns * result;
            assert_ok(run_axis(&desc, rows, columns, t.x, NULL, bytes, whole, (scans ? rows : 1) * row));
            void *const words = on_device(t.words, columns * info.count * 8);
            assert_ok(tally_resume(plan, words, columns));
            void *const rest_of_x = on_device(t.x + first * columns * bytes, (rows - first) * columns * bytes);
            void *const out = on_device(got, (rows + 1) * row);
            tally_args args = arguments(rest_of_x, rows - first, out, scans ? (rows - first) * row : 0);
            args.shape.inner = columns;
            assert_ok(tally_push(plan, &args));
            assert_ok(tally_finish(plan, out, scans ? 0 : row));
            assert_ok(tally_copy(t.device, got, out, (scans ? rows : 1) * row));
            tally_free(t.device, rest_of_x);
            tally_free(t.device, out);
            const unsigned char *const rest = whole + (scans ? first * row : 0);
            const size_t compared = scans ? (rows - first) * row : row;
            if (!agree(rest, got, compared, described.out, desc.op == TALLY_VAR))
                fail_msg("%s of %s, %s: resumed after %d of %d rows it goes another way", tally_op_name(desc.op),
                         tally_form_name(desc.form), tally_dtype_name(desc.in), (int)first, (int)rows);
            t.words[1] ^= 1;
            assert_ok(tally_copy(t.device, words, t.words, columns * info.count * 8));
            assert_fails(tally_resume(plan, words, columns), TALLY_BAD_STATE);
            tally_free(t.device, words);
            tally_plan_destroy(plan);
        }
}

static void what_cannot_resume(void **state) {
    (void)state;
    tally_plan *plan;
    int64_t words[2 * 17] = {0};
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.mode = TALLY_EXACT;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_fails(tally_resume(NULL, words, 1), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_resume(plan, NULL, 1), TALLY_INVALID_ARGUMENT);
    const bool has = strncmp(test_device_spec(), "cpu", 3) == 0;
    const bool has_some = has || strncmp(test_device_spec(), "cuda", 4) == 0; /* but not of exact sums */
    assert_fails(tally_resume(plan, words, 2), has_some ? TALLY_INVALID_ARGUMENT : TALLY_UNSUPPORTED);
    if (!has)
        assert_fails(tally_resume(plan, words, 1), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    desc.grouping = TALLY_SEGMENTS;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_fails(tally_resume(plan, words, 1), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    if (!has)
        return;
    /* columns of which one has fewer elements */
    const float x[] = {1, 2};
    tally_accumulator *a;
    desc.grouping = TALLY_AXIS;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F32, &a));
    assert_ok(tally_accumulator_add(a, x, NULL, 2));
    assert_ok(tally_accumulator_words(a, words, 17 * sizeof *words));
    assert_fails(tally_resume(plan, words, 2), TALLY_BAD_STATE);
    assert_ok(tally_resume(plan, words, 1));
    float sum = 0;
    assert_ok(tally_finish(plan, &sum, sizeof sum));
    assert_true(sum == 3);
    tally_accumulator_destroy(a);
    tally_plan_destroy(plan);
}

int main(int argc, char **argv) {
    (void)argc;
    filters = argv + 1;
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_end_in_words),
        cmocka_unit_test(pieces_resume_from_states),
        cmocka_unit_test(what_cannot_resume),
    };
    return cmocka_run_group_tests_name("words in pieces", tests, setup, close_test_device);
}
