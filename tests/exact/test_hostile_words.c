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
#include "core/words_check.h"
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

/* States that no elements give: what a kind has, with one word that contradicts the others. */
static void contradictions_are_refused(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        tally_dtype in;
        tally_mode mode;
        int at; /* the word that is set, of a state of three equal elements */
        int64_t word;
    } cases[] = {
        {TALLY_SUM, TALLY_F32, TALLY_EXACT, 1, 0},                 /* a sum of no elements */
        {TALLY_SUM, TALLY_F32, TALLY_EXACT, 2, 4},                 /* more infinities than elements */
        {TALLY_SUM, TALLY_F32, TALLY_EXACT, 5, 0},                 /* a sum of nothing but -0 */
        {TALLY_SUM, TALLY_F32, TALLY_EXACT, 16, 1},                /* more than 3 * 2^128 */
        {TALLY_MEAN, TALLY_I64, TALLY_EXACT, 5, INT64_C(1) << 33}, /* more than 128 bits */
        {TALLY_MEAN, TALLY_I64, TALLY_EXACT, 1, 0},
        {TALLY_ARGMIN, TALLY_I16, TALLY_EXACT, 3, 3}, /* an index past the end */
        {TALLY_ARGMIN, TALLY_I16, TALLY_EXACT, 3, -1},
        {TALLY_ARGMIN, TALLY_I16, TALLY_EXACT, 2, 40000}, /* not an i16 */
        {TALLY_MAX, TALLY_U8, TALLY_EXACT, 2, 256},       /* not a u8 */
        {TALLY_MIN, TALLY_F32, TALLY_EXACT, 2, 1},        /* a double that is no f32 */
        {TALLY_BOR, TALLY_U32, TALLY_FAST, 2, -1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const uint64_t x[3] = {0, 0, 0};
        uint64_t ones[3] = {0x3f8000003f800000u, 0x3f8000003f800000u, 0x3f8000003f800000u};
        tally_desc desc = TALLY_DESC_INIT;
        tally_computation c;
        tally_words_form form;
        tally_accumulator *a;
        int64_t words[TALLY_WORDS_MOST];
        desc.op = cases[k].op;
        desc.in = cases[k].in;
        desc.mode = cases[k].mode;
        assert_int_equal(tally_computation_decide(&desc, &c), TALLY_OK);
        assert_int_equal(tally_words_form_of(&c, &form), TALLY_OK);
        assert_int_equal(tally_accumulator_create_for(&desc, &a), TALLY_OK);
        assert_int_equal(tally_accumulator_add(a, desc.in == TALLY_F32 || desc.in == TALLY_I64 ? ones : x, NULL, 3),
                         TALLY_OK);
        assert_int_equal(tally_accumulator_words(a, words, sizeof words), TALLY_OK);
        words[cases[k].at] = cases[k].word;
        tally_words_seal(&form, words);
        if (tally_accumulator_add_words(a, words, form.count * sizeof *words) != TALLY_BAD_STATE)
            fail_msg("case %zu was accepted", k);
        assert_int_equal(tally_accumulator_count(a), 3);
        tally_accumulator_destroy(a);
    }
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
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(the_check_adds_up),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
