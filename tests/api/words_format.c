/* The words of a state never change. What is damaged, mixed up or has no words is refused, with the outputs
 * untouched. */
#include "states.h"

/* The words of every kind of state for elements that every processor has alike, once and for all. They change only with
 * the version in their tags. TALLY_GOLDEN_WRITE=1 writes the file. */
static void golden_words_stay(void **state) {
    (void)state;
    const bool writes = getenv("TALLY_GOLDEN_WRITE") != NULL;
    FILE *file = fopen(TALLY_WORDS_GOLDEN, writes ? "w" : "r");
    assert_non_null(file);
    unsigned lines = 0;
    for (int op = 0; op < TALLY_USER; op++)
        for (int type = TALLY_I8; type < TALLY_DTYPE_COUNT; type++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                tally_desc desc = describe((tally_op)op, TALLY_REDUCE, (tally_dtype)type);
                tally_words_info info = {.struct_size = sizeof info};
                tally_accumulator *a;
                int64_t words[MOST_WORDS];
                desc.mode = (tally_mode)mode;
                if (tally_words_describe(&desc, &info) != TALLY_OK)
                    continue;
                /* What rounds has two equal elements, of which nothing rounds. */
                const bool rounds = mode == TALLY_FAST && info.rule == TALLY_WORDS_ORDERED;
                const size_t n = rounds ? 2 : 50;
                t.random = rounds ? 5 : 99;
                fill(desc.in, t.x, n, 0);
                if (rounds)
                    memcpy(t.x + tally_dtype_size(desc.in), t.x, tally_dtype_size(desc.in));
                assert_ok(tally_accumulator_create_for(&desc, &a));
                assert_ok(tally_accumulator_add(a, t.x, op == TALLY_DOT ? t.x : NULL, n));
                assert_ok(tally_accumulator_words(a, words, sizeof words));
                tally_accumulator_destroy(a);
                char name[80], read[80];
                snprintf(name, sizeof name, "%s/%s/%s/%zu", tally_op_name(desc.op), tally_dtype_name(desc.in),
                         tally_mode_name(desc.mode), info.count);
                if (writes)
                    fprintf(file, "%s", name);
                else if (fscanf(file, "%79s", read) != 1 || strcmp(read, name) != 0)
                    fail_msg("line %u of the golden words should be %s", lines + 1, name);
                for (size_t i = 0; i < info.count; i++) {
                    unsigned long long word = 0;
                    if (writes)
                        fprintf(file, " %llx", (unsigned long long)words[i]);
                    else if (fscanf(file, "%llx", &word) != 1 || (int64_t)word != words[i])
                        fail_msg("%s: word %zu is %llx, not %llx", name, i, (unsigned long long)words[i], word);
                }
                if (writes)
                    fputc('\n', file);
                lines++;
            }
    fclose(file);
    assert_in_range(lines, 300, 1000);
}

static void damaged_words_are_refused(void **state) {
    (void)state;
    static const struct {
        tally_op op;
        tally_dtype in;
        tally_mode mode;
    } kinds[] = {{TALLY_SUM, TALLY_F32, TALLY_EXACT},  {TALLY_DOT, TALLY_F64, TALLY_EXACT},
                 {TALLY_MEAN, TALLY_I64, TALLY_EXACT}, {TALLY_SUM, TALLY_I32, TALLY_FAST},
                 {TALLY_MIN, TALLY_F64, TALLY_EXACT},  {TALLY_MINMAX, TALLY_U8, TALLY_FAST},
                 {TALLY_VAR, TALLY_F32, TALLY_FAST},   {TALLY_ARGMAX, TALLY_I16, TALLY_FAST}};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        tally_desc desc = describe(kinds[k].op, TALLY_REDUCE, kinds[k].in);
        tally_words_info info = {.struct_size = sizeof info};
        tally_accumulator *a;
        int64_t words[MOST_WORDS];
        desc.mode = kinds[k].mode;
        assert_ok(tally_words_describe(&desc, &info));
        assert_ok(tally_accumulator_create_for(&desc, &a));
        fill(desc.in, t.x, 100, 0);
        assert_ok(tally_accumulator_add(a, t.x, desc.op == TALLY_DOT ? t.x : NULL, 100));
        assert_ok(tally_accumulator_words(a, words, sizeof words));
        for (size_t i = 0; i < info.count; i++)
            for (int bit = 0; bit < 64; bit++) {
                words[i] ^= (int64_t)(UINT64_C(1) << bit);
                assert_fails(tally_accumulator_add_words(a, words, 8 * info.count), TALLY_BAD_STATE);
                words[i] ^= (int64_t)(UINT64_C(1) << bit);
            }
        assert_fails(tally_accumulator_add_words(a, words, 8 * info.count - 8), TALLY_BAD_STATE);
        assert_int_equal(tally_accumulator_count(a), 100);
        if (has_words(desc.op, desc.in, desc.mode, TALLY_ALL_VALUES, TALLY_WORDS_IN)) {
            unsigned char out[16];
            memset(out, POISON, sizeof out);
            words[1] ^= 4;
            desc.flags = TALLY_WORDS_IN;
            const tally_args args = arguments(words, 1, out, sizeof out);
            assert_fails(run_copied(&desc, &args, 8 * info.count), TALLY_BAD_STATE);
            assert_true(is_poison(out, sizeof out));
        }
        tally_accumulator_destroy(a);
    }
}

/* Words of as many int64s that are of another type, or were combined with such. */
static void words_of_another_kind_are_refused(void **state) {
    (void)state;
    tally_accumulator *sum, *of_halves, *min, *max;
    int64_t words[17], other[17], least[4];
    const float x[] = {1, 2};
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F32, &sum));
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F16, &of_halves));
    assert_ok(tally_accumulator_create(TALLY_MIN, TALLY_F32, &min));
    assert_ok(tally_accumulator_create(TALLY_MAX, TALLY_F32, &max));
    assert_ok(tally_accumulator_add(sum, x, NULL, 2));
    assert_ok(tally_accumulator_add(of_halves, x, NULL, 2));
    assert_ok(tally_accumulator_add(min, x, NULL, 2));
    assert_ok(tally_accumulator_words(of_halves, other, sizeof other));
    assert_fails(tally_accumulator_add_words(sum, other, sizeof other), TALLY_BAD_STATE);
    assert_non_null(strstr(tally_last_error(), "exact sum of f16"));
    assert_ok(tally_accumulator_words(sum, words, sizeof words));
    for (int i = 0; i < 17; i++)
        words[i] = (int64_t)((uint64_t)words[i] + (uint64_t)other[i]);
    assert_fails(tally_accumulator_add_words(sum, words, sizeof words), TALLY_BAD_STATE);
    assert_ok(tally_accumulator_words(min, least, sizeof least));
    assert_fails(tally_accumulator_add_words(max, least, sizeof least), TALLY_BAD_STATE);
    assert_non_null(strstr(tally_last_error(), "min of f32"));
    assert_fails(tally_accumulator_words(sum, words, sizeof words - 1), TALLY_OUTPUT_TOO_SMALL);
    assert_fails(tally_accumulator_words(NULL, words, sizeof words), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_words(sum, NULL, sizeof words), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_add_words(sum, NULL, sizeof words), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_merge(sum, min), TALLY_INVALID_ARGUMENT);
    tally_accumulator_destroy(sum);
    tally_accumulator_destroy(of_halves);
    tally_accumulator_destroy(min);
    tally_accumulator_destroy(max);
}

static void what_has_no_words(void **state) {
    (void)state;
    tally_words_info info = {.struct_size = sizeof info};
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    desc.flags = TALLY_WORDS_OUT;
    assert_fails(tally_supports(t.device, &desc), TALLY_UNSUPPORTED);
    desc = describe(TALLY_ARGMIN, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_LABELS;
    desc.flags = TALLY_WORDS_OUT;
    assert_fails(tally_supports(t.device, &desc), TALLY_UNSUPPORTED);
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.flags = TALLY_WORDS_OUT;
    desc.out = TALLY_F64;
    assert_fails(tally_supports(NULL, &desc), TALLY_INVALID_ARGUMENT);
    desc = describe(TALLY_PROD, TALLY_REDUCE, TALLY_F32);
    assert_fails(tally_words_describe(NULL, &info), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_words_describe(&desc, NULL), TALLY_INVALID_ARGUMENT);
    info.struct_size = 1;
    assert_fails(tally_words_describe(&desc, &info), TALLY_INVALID_ARGUMENT);
    tally_accumulator *const untouched = (tally_accumulator *)(uintptr_t)0x5eed, *a = untouched;
    assert_fails(tally_accumulator_create_for(NULL, &a), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_create_for(&desc, NULL), TALLY_INVALID_ARGUMENT);
    desc.grouping = TALLY_KEYS;
    assert_fails(tally_accumulator_create_for(&desc, &a), TALLY_INVALID_ARGUMENT);
    assert_ptr_equal(a, untouched);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_words_stay),
        cmocka_unit_test(damaged_words_are_refused),
        cmocka_unit_test(words_of_another_kind_are_refused),
        cmocka_unit_test(what_has_no_words),
    };
    return cmocka_run_group_tests_name("words format", tests, setup, close_test_device);
}
