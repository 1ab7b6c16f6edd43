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
        for (int k = 0; k < 3; k++) {
            args.x = device_x + half * MOST_N / 2 + k * MOST_N / 6;
            assert_ok(tally_push(to_words, &args));
        }
        assert_ok(tally_finish(to_words, words + half * 17, sizeof(int64_t[17])));
    }
    tally_args args = arguments(words, 1, NULL, 0);
    assert_ok(tally_push(to_values, &args));
    args.x = words + 17;
    assert_ok(tally_push(to_values, &args));
    assert_ok(tally_finish(to_values, words, sizeof value));
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

/* Pieces of columns' states give what the states give at once, in words and as values. */
static void pieces_of_words_are_combined(void **state) {
    (void)state;
    static const struct {
        tally_op op;
        tally_dtype in;
        tally_mode mode;
    } cases[] = {{TALLY_SUM, TALLY_F32, TALLY_EXACT},
                 {TALLY_ARGMIN, TALLY_F32, TALLY_FAST},
                 {TALLY_SUM, TALLY_I16, TALLY_FAST},
                 {TALLY_MINMAX, TALLY_BF16, TALLY_EXACT}};
    enum { PARTS = 5, COLUMNS = 3, EACH = 7 };
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        for (int gives = 0; gives < 2; gives++) {
            tally_desc desc = describe(cases[k].op, TALLY_REDUCE, cases[k].in), described = TALLY_DESC_INIT;
            tally_words_info info = {.struct_size = sizeof info};
            tally_plan *plan;
            size_t each;
            desc.mode = cases[k].mode;
            if (!is_chosen(&desc))
                continue;
            fill(desc.in, t.x, PARTS * EACH * COLUMNS, 30);
            assert_ok(tally_words_describe(&desc, &info));
            const size_t state_bytes = info.count * sizeof(int64_t), part = COLUMNS * info.count;
            for (size_t p = 0; p < PARTS * COLUMNS; p++) {
                tally_accumulator *a;
                assert_ok(tally_accumulator_create_for(&desc, &a));
                assert_ok(tally_accumulator_add(a, t.x + p * EACH * tally_dtype_size(desc.in), NULL, EACH));
                assert_ok(tally_accumulator_words(a, t.words + p * info.count, state_bytes));
                tally_accumulator_destroy(a);
            }
            desc.grouping = TALLY_AXIS;
            desc.flags = TALLY_WORDS_IN | (gives ? TALLY_WORDS_OUT : 0);
            assert_ok(tally_plan_create(t.device, &desc, &plan));
            assert_ok(tally_plan_describe(plan, &described, &each));
            const size_t bytes = COLUMNS * each * tally_dtype_size(described.out);
            int64_t *const words = on_device(t.words, PARTS * part * sizeof *words);
            void *const out = on_device(t.words, COLUMNS * state_bytes);
            char whole[COLUMNS * 4096], got[sizeof whole];
            tally_args args = arguments(words, PARTS, out, bytes);
            args.shape.inner = COLUMNS;
            assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
            assert_ok(tally_copy(t.device, whole, out, bytes));
            for (uint64_t p = 0; p < PARTS; p += 2) {
                args.x = words + p * part;
                args.shape.extent = p + 2 < PARTS ? 2 : PARTS - p;
                assert_ok(tally_push(plan, &args));
            }
            assert_ok(tally_finish(plan, out, bytes));
            assert_ok(tally_copy(t.device, got, out, bytes));
            assert_memory_equal(whole, got, bytes);
            tally_free(t.device, words);
            tally_free(t.device, out);
            tally_plan_destroy(plan);
        }
}

/* Words go on from words: those of the whole come out. */
static void words_go_on_from_words(void **state) {
    (void)state;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_words_info info = {.struct_size = sizeof info};
    tally_plan *plan;
    desc.mode = TALLY_EXACT;
    if (!is_chosen(&desc))
        return;
    assert_ok(tally_words_describe(&desc, &info));
    desc.flags = TALLY_WORDS_OUT;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    fill(desc.in, t.x, MOST_N, 30);
    const size_t bytes = info.count * sizeof(int64_t);
    int64_t whole[17], got[17];
    float *const x = on_device(t.x, MOST_N * sizeof *x);
    void *const words = on_device(t.words, bytes);
    tally_args args = arguments(x, MOST_N, words, bytes);
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(t.device, whole, words, bytes));
    args.shape.extent = MOST_N / 3;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_resume(plan, words, 1));
    args.x = x + MOST_N / 3;
    args.shape.extent = MOST_N - MOST_N / 3;
    assert_ok(tally_push(plan, &args));
    assert_ok(tally_finish(plan, words, bytes));
    assert_ok(tally_copy(t.device, got, words, bytes));
    assert_memory_equal(whole, got, bytes);
    tally_free(t.device, x);
    tally_free(t.device, words);
    tally_plan_destroy(plan);
}

/* Pieces of a reverse scan come from the end, and go on from the state of what comes after them. */
static void reverse_scans_begin_at_the_end(void **state) {
    (void)state;
    tally_desc desc = describe(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_F32), reduction = desc;
    tally_plan *plan;
    desc.mode = reduction.mode = TALLY_EXACT;
    reduction.form = TALLY_REDUCE;
    desc.flags = TALLY_REVERSE;
    if (!is_chosen(&desc))
        return;
    enum { FIRST = MOST_N / 3, SECOND = MOST_N / 2 };
    static float whole[MOST_N], got[MOST_N];
    fill(desc.in, t.x, MOST_N, 30);
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    float *const x = on_device(t.x, sizeof whole), *const out = on_device(t.x, sizeof whole);
    tally_args args = arguments(x, MOST_N, out, sizeof whole);
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(t.device, whole, out, sizeof whole));
    const int ends[] = {MOST_N, SECOND, FIRST, 0};
    for (int resumes = 0; resumes < 2; resumes++) {
        memset(got, 0, sizeof got);
        assert_ok(tally_copy(t.device, out, got, sizeof got));
        if (resumes) {
            tally_accumulator *a;
            int64_t words[17];
            assert_ok(tally_accumulator_create_for(&reduction, &a));
            assert_ok(tally_accumulator_add(a, t.x + SECOND * sizeof *x, NULL, MOST_N - SECOND));
            assert_ok(tally_accumulator_words(a, words, sizeof words));
            void *const there = on_device(words, sizeof words);
            assert_ok(tally_resume(plan, there, 1));
            tally_free(t.device, there);
            tally_accumulator_destroy(a);
        }
        for (int k = resumes; k < 3; k++) {
            args = arguments(x + ends[k + 1], (uint64_t)(ends[k] - ends[k + 1]), out + ends[k + 1],
                             (size_t)(ends[k] - ends[k + 1]) * sizeof *out);
            assert_ok(tally_push(plan, &args));
        }
        assert_ok(tally_finish(plan, NULL, 0));
        assert_ok(tally_copy(t.device, got, out, sizeof got));
        assert_memory_equal(whole, got, (resumes ? SECOND : MOST_N) * sizeof *got);
    }
    tally_free(t.device, x);
    tally_free(t.device, out);
    tally_plan_destroy(plan);
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
                 {TALLY_SUM, TALLY_F64, TALLY_DEFAULT, TALLY_EXACT, TALLY_REDUCE},
                 {TALLY_NORM1, TALLY_BF16, TALLY_DEFAULT, TALLY_EXACT, TALLY_REDUCE},
                 {TALLY_MEAN, TALLY_F32, TALLY_DEFAULT, TALLY_EXACT, TALLY_REDUCE},
                 {TALLY_VAR, TALLY_F32, TALLY_F64, TALLY_EXACT, TALLY_REDUCE},
                 {TALLY_SUM, TALLY_F16, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_F16, TALLY_F64, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_ARGMAX, TALLY_I32, TALLY_DEFAULT, TALLY_FAST, TALLY_REDUCE}};
    static unsigned char whole[MOST_N * MOST_COLUMNS * 16], got[sizeof whole];
    const bool is_cpu = strncmp(test_device_spec(), "cpu", 3) == 0;
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        for (int trial = 0; trial < 12; trial++) {
            const uint64_t columns = 1 + next(MOST_COLUMNS), rows = 1 + next(trial < 6 ? 40 : MOST_N - 1);
            const uint64_t first = trial % 3 == 0 && cases[k].form != TALLY_REDUCE ? 0 : next(rows + 1);
            tally_desc desc = describe(cases[k].op, cases[k].form, cases[k].in), reduction = desc,
                       described = TALLY_DESC_INIT;
            tally_words_info info = {.struct_size = sizeof info};
            const size_t bytes = tally_dtype_size(desc.in);
            tally_plan *plan;
            size_t each;
            desc.mode = reduction.mode = cases[k].mode;
            desc.grouping = TALLY_AXIS;
            desc.out = cases[k].out;
            reduction.form = TALLY_REDUCE;
            if (!is_cpu && !is_chosen(&desc))
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
    void *const there = on_device(words, sizeof words);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.mode = TALLY_EXACT;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_fails(tally_resume(NULL, there, 1), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_resume(plan, NULL, 1), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_resume(plan, there, 2), TALLY_INVALID_ARGUMENT);
    tally_plan_destroy(plan);
    desc.grouping = TALLY_SEGMENTS;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_fails(tally_resume(plan, there, 1), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    /* columns of which one has fewer elements */
    const float x[] = {1, 2};
    tally_accumulator *a;
    desc.grouping = TALLY_AXIS;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F32, &a));
    assert_ok(tally_accumulator_add(a, x, NULL, 2));
    assert_ok(tally_accumulator_words(a, words, 17 * sizeof *words));
    assert_ok(tally_copy(t.device, there, words, sizeof words));
    assert_fails(tally_resume(plan, there, 2), TALLY_BAD_STATE);
    assert_fails(tally_resume(plan, there, UINT64_C(1) << 61), TALLY_INVALID_ARGUMENT); /* 17 x 2^64 bytes */
    assert_ok(tally_resume(plan, there, 1));
    void *const out = on_device(x, sizeof *x);
    float sum = 0;
    assert_ok(tally_finish(plan, out, sizeof sum));
    assert_ok(tally_copy(t.device, &sum, out, sizeof sum));
    assert_true(sum == 3);
    tally_free(t.device, out);
    tally_free(t.device, there);
    tally_accumulator_destroy(a);
    tally_plan_destroy(plan);
}

/* CUDA's scans of f16 have room for 2^54 elements. */
static void scans_refuse_states_that_are_too_large(void **state) {
    (void)state;
    const uint16_t most = 0x7bff;
    int64_t words[17];
    tally_accumulator *a;
    tally_plan *plan;
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F16);
    desc.mode = TALLY_EXACT;
    if (!is_chosen(&desc))
        return;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F16, &a));
    assert_ok(tally_accumulator_add(a, &most, NULL, 1));
    assert_ok(tally_accumulator_words(a, words, sizeof words));
    for (size_t i = 0; i < COUNT_OF(words); i++) /* the state of 2^57 elements */
        words[i] = (int64_t)((uint64_t)words[i] << 57);
    void *const there = on_device(words, sizeof words);
    if (strncmp(test_device_spec(), "cuda", 4) == 0)
        assert_fails(tally_resume(plan, there, 1), TALLY_BAD_STATE);
    else
        assert_ok(tally_resume(plan, there, 1));
    tally_free(t.device, there);
    tally_accumulator_destroy(a);
    tally_plan_destroy(plan);
}

/* An exact scan that resumes and has an initial value, too: it comes before all, as in the whole scan. */
static void an_initial_value_comes_before_what_is_resumed(void **state) {
    (void)state;
    static const tally_dtype types[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
    for (size_t k = 0; k < COUNT_OF(types); k++)
        for (int trial = 0; trial < 6; trial++) {
            enum { N = 500 };
            const uint64_t first = next(N + 1);
            const size_t bytes = tally_dtype_size(types[k]);
            tally_desc desc = describe(TALLY_SUM, trial % 2 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, types[k]);
            desc.mode = TALLY_EXACT;
            if (!is_chosen(&desc))
                continue;
            tally_desc reduction = desc;
            reduction.form = TALLY_REDUCE;
            tally_plan *plan;
            tally_words_info info = {.struct_size = sizeof info};
            static unsigned char whole[N * ELEMENT], got[N * ELEMENT];
            fill(types[k], t.x, N + 1, 0);
            if (trial == 0) /* sums of only -0 */
                for (size_t i = 0; i <= N; i++) {
                    const uint64_t minus = UINT64_C(1) << (8 * bytes - 1);
                    const uint32_t four = (uint32_t)minus;
                    const uint16_t two = (uint16_t)minus;
                    memcpy(t.x + i * bytes,
                           bytes == 8   ? (const void *)&minus
                           : bytes == 4 ? (const void *)&four
                                        : &two,
                           bytes);
                }
            assert_ok(tally_words_describe(&reduction, &info));
            words_of_column(&reduction, first, 1, 0, t.words);
            assert_ok(tally_plan_create(t.device, &desc, &plan));
            void *const x = on_device(t.x, (N + 1) * bytes), *const out = on_device(got, sizeof got);
            void *const words = on_device(t.words, info.count * 8);
            tally_args args = arguments(x, N, out, N * bytes);
            args.initial = (char *)x + N * bytes;
            assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
            assert_ok(tally_copy(t.device, whole, out, N * bytes));
            assert_ok(tally_resume(plan, words, 1));
            if (trial >= 3) { /* a first piece of nothing, in which the value counts */
                args.shape.extent = args.out_bytes = 0;
                assert_ok(tally_push(plan, &args));
            }
            args.x = (char *)x + first * bytes;
            args.shape.extent = N - first;
            args.out_bytes = (N - first) * bytes;
            assert_ok(tally_push(plan, &args));
            assert_ok(tally_finish(plan, out, 0));
            assert_ok(tally_copy(t.device, got, out, N * bytes));
            assert_memory_equal(got, whole + first * bytes, (N - first) * bytes);
            tally_free(t.device, x);
            tally_free(t.device, out);
            tally_free(t.device, words);
            tally_plan_destroy(plan);
        }
}

int main(int argc, char **argv) {
    (void)argc;
    filters = argv + 1;
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_end_in_words),
        cmocka_unit_test(pieces_of_words_are_combined),
        cmocka_unit_test(words_go_on_from_words),
        cmocka_unit_test(reverse_scans_begin_at_the_end),
        cmocka_unit_test(pieces_resume_from_states),
        cmocka_unit_test(what_cannot_resume),
        cmocka_unit_test(scans_refuse_states_that_are_too_large),
        cmocka_unit_test(an_initial_value_comes_before_what_is_resumed),
    };
    return cmocka_run_group_tests_name("words in pieces", tests, setup, close_test_device);
}
