/* Words of any content that carry a valid check: they are refused, or they are a state that can be merged, rounded and
 * written again. Nothing of them overflows (run under the sanitizers, too). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "core/computation.h"
#include "tally/tally.h"

enum { TRIALS = 400 };

static uint64_t state = 1;

static uint64_t draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33 ^ state << 20;
}

/* Values at edges, and any. */
static int64_t draw_word(void) {
    static const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, UINT32_MAX};
    const uint64_t what = draw() % 4;
    return what == 0 ? edges[draw() % 8] : what == 1 ? (int64_t)(uint32_t)draw() : what == 2 ? 0 : (int64_t)draw();
}

static unsigned accepted, refused;

static void try_words(tally_accumulator *a, const tally_words_form *form) {
    int64_t words[TALLY_WORDS_MOST] = {0}, once[TALLY_WORDS_MOST];
    const size_t bytes = form->count * sizeof *words;
    const size_t first = draw() % form->count, last = first + draw() % (form->count - first) + 1;
    for (size_t i = first; i < last; i++)
        words[i] = draw_word();
    if (draw() % 2) /* elements, so that more is accepted */
        words[TALLY_WORDS_AT_ELEMENTS] = (int64_t)(draw() >> draw() % 64);
    tally_words_seal(form, words);
    const uint64_t count = tally_accumulator_count(a);
    const tally_status status = tally_accumulator_add_words(a, words, bytes);
    if (status != TALLY_OK) {
        /* a count of more than 2^64 - 1 is none of the words' faults */
        assert_true(status == TALLY_BAD_STATE || status == TALLY_INVALID_ARGUMENT);
        assert_int_equal(tally_accumulator_count(a), count);
        refused++;
        return;
    }
    accepted++;
    double value[2];
    const tally_status rounded = tally_accumulator_value(a, TALLY_DEFAULT, value);
    assert_true(rounded == TALLY_OK || (rounded == TALLY_EMPTY && tally_accumulator_count(a) == 0));
    assert_int_equal(tally_accumulator_words(a, once, sizeof once), TALLY_OK);
    assert_int_equal(tally_words_check(form, once, 0), TALLY_OK);
}

static void of_each_kind(void **unused) {
    (void)unused;
    for (int op = 0; op < TALLY_USER; op++)
        for (int in = TALLY_I8; in < TALLY_DTYPE_COUNT; in++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                tally_desc desc = TALLY_DESC_INIT;
                tally_computation c;
                tally_words_form form;
                desc.op = (tally_op)op;
                desc.in = (tally_dtype)in;
                desc.mode = (tally_mode)mode;
                if (tally_computation_decide(&desc, &c) != TALLY_OK)
                    continue;
                assert_int_equal(tally_words_form_of(&c, &form), TALLY_OK);
                for (int k = 0; k < TRIALS; k++) {
                    tally_accumulator *a;
                    assert_int_equal(tally_accumulator_create_for(&desc, &a), TALLY_OK);
                    try_words(a, &form);
                    try_words(a, &form);
                    tally_accumulator_destroy(a);
                }
            }
    assert_in_range(accepted, 10000, UINT32_MAX);
    assert_in_range(refused, 10000, UINT32_MAX);
}

/* A form's tag is no other's, and its check is linear. */
static void the_check_adds_up(void **unused) {
    (void)unused;
    tally_desc desc = TALLY_DESC_INIT;
    tally_computation c;
    tally_words_form form;
    desc.mode = TALLY_EXACT;
    desc.in = TALLY_F64;
    assert_int_equal(tally_computation_decide(&desc, &c), TALLY_OK);
    assert_int_equal(tally_words_form_of(&c, &form), TALLY_OK);
    int64_t sum[TALLY_WORDS_MOST] = {0}, words[TALLY_WORDS_MOST];
    for (int k = 0; k < 1000; k++) {
        for (size_t i = 0; i < form.count; i++)
            words[i] = (int64_t)draw();
        tally_words_seal(&form, words);
        for (size_t i = 0; i < form.count; i++)
            sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)words[i]);
        assert_int_equal(tally_words_check(&form, sum, 0), TALLY_OK);
        sum[1 + draw() % (form.count - 1)] ^= (int64_t)(UINT64_C(1) << draw() % 64);
        assert_int_equal(tally_words_check(&form, sum, 0), TALLY_BAD_STATE);
        memset(sum, 0, sizeof sum);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_each_kind),
        cmocka_unit_test(the_check_adds_up),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
