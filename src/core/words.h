/* The wire form of partial results: what the int64 words of a state are, for each operator. tally.h has the rules that
 * callers see; docs/words.md has every word. */
#ifndef TALLY_CORE_WORDS_H
#define TALLY_CORE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/layout.h"
#include "core/operator.h"
#include "tally/tally.h"

typedef enum tally_words_kind {
    TALLY_WORDS_EXACT,   /* check, elements, four counters, digits of a superaccumulator, or of two */
    TALLY_WORDS_DIGITS,  /* check, elements, digits of an integer, or of two */
    TALLY_WORDS_NUMBERS, /* check, elements, integers or the bits of doubles */
    TALLY_WORDS_EXTREMES /* tag, its complement, keys, the keys again */
} tally_words_kind;

/* Where words stand. Each kind's own words follow the head. */
enum {
    TALLY_WORDS_AT_CHECK = 0,
    TALLY_WORDS_AT_ELEMENTS = 1,
    TALLY_WORDS_HEAD = 2,
    TALLY_WORDS_AT_SPECIALS = 2, /* EXACT: +infinity, -infinity, NaN, other than -0 */
    TALLY_WORDS_AT_DIGITS = 6,
    TALLY_WORDS_MOST = 256 /* room for two exact sums of f64 */
};

typedef struct tally_words_form {
    tally_words_kind kind;
    tally_words_rule rule;
    tally_exact_layout layout; /* EXACT */
    int numbers;               /* digits, numbers or keys */
    int squares;               /* digits of the sum of squares, which follow those of the sum */
    size_t count;              /* words in all */
    uint64_t tag;              /* hash of the version, the operation and the types */
} tally_words_form;

enum { TALLY_WORDS_NAME_BYTES = 80 };

/* The form of the states of a decided descriptor whose accumulators are of 'monoid'. TALLY_UNSUPPORTED for a user's
 * operator. computation.h has tally_words_form_of. */
tally_status tally_words_form_for(const tally_desc *desc, tally_monoid monoid, bool exact, tally_words_form *form);

/* "exact sum of f32", "min of i64". States with the same name combine. */
void tally_words_name(const tally_desc *desc, tally_monoid monoid, const tally_words_form *form,
                      char name[TALLY_WORDS_NAME_BYTES]);

/* Sets the check word. */
void tally_words_seal(const tally_words_form *form, int64_t *words);

/* Whether words pass the check, as words_check.h tells with the reason. */
bool tally_words_are_whole(const tally_words_form *form, const int64_t *words);

/* Whether number k of EXTREMES is a minimum. */
static inline bool tally_words_is_least(tally_monoid monoid, int k) {
    return monoid == TALLY_MONOID_min || (monoid == TALLY_MONOID_minmax && k == 0);
}

/* TALLY_BAD_STATE for a state whose check failed. */
tally_status tally_words_refuse(uint64_t state);

/* Whether EXTREMES have no elements. */
static inline bool tally_words_are_empty(const int64_t *words) {
    return words[0] == INT64_MIN;
}

/* Words that stand for no elements. */
void tally_words_clear(const tally_words_form *form, int64_t *words);

#endif
