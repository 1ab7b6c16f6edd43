#include "exact/words.h"

#include <string.h>

void tally_words_settle(int64_t *digits, int count) {
    int64_t carry = 0;
    for (int i = 0; i < count - 1; i++) {
        /* in halves, since the sum may have more than 64 bits if the words are no digits at all */
        const int64_t low = (int64_t)(uint32_t)digits[i] + (int64_t)(uint32_t)carry;
        carry = (digits[i] >> 32) + (carry >> 32) + (low >> 32);
        digits[i] = (int64_t)(uint32_t)low;
    }
    digits[count - 1] = (int64_t)((uint64_t)digits[count - 1] + (uint64_t)carry);
}

void tally_words_of_digits(const tally_superaccumulator *a, int64_t *digits, int count) {
    tally_magnitude m;
    tally_superaccumulator_magnitude(a, &m);
    const int32_t first = m.count > 0 ? (m.exponent - a->lowest) / 32 : 0;
    for (int32_t i = 0; i < m.count; i++)
        digits[first + i] = m.negative ? -(int64_t)m.digits[i] : (int64_t)m.digits[i];
    tally_words_settle(digits, count);
}

void tally_words_of_superaccumulator(const tally_words_form *form, const tally_superaccumulator *a, int64_t *words) {
    memset(words, 0, form->count * sizeof *words);
    words[TALLY_WORDS_AT_ELEMENTS] = (int64_t)a->count;
    const bool specials[] = {a->positive_infinities != 0, a->negative_infinities != 0, a->nans != 0, a->others != 0};
    for (int k = 0; k < 4; k++)
        words[TALLY_WORDS_AT_SPECIALS + k] = specials[k];
    tally_words_of_digits(a, words + TALLY_WORDS_AT_DIGITS, form->numbers);
}

static const char *find_contradiction(const tally_superaccumulator *a, const int64_t *counters) {
    tally_magnitude m;
    for (int k = 0; k < 4; k++)
        if ((uint64_t)counters[k] > a->count)
            return "more infinities or NaNs than elements";
    tally_superaccumulator_magnitude(a, &m);
    if (m.count == 0)
        return NULL;
    if (a->others == 0 || a->count == 0)
        return "a sum of other than zeros from no or only zero elements";
    const int length = m.exponent + 32 * m.count - __builtin_clz(m.digits[m.count - 1]);
    if (length > tally_layout_highest(a->layout) + 64 - __builtin_clzll(a->count))
        return "a sum larger than their elements can have";
    return NULL;
}

/* The value of digits, the sum of any number of states'. */
static void set_digits(tally_superaccumulator *a, const int64_t *from, int count) {
    int64_t digits[TALLY_WORDS_MOST];
    memcpy(digits, from, (size_t)count * sizeof *digits);
    tally_words_settle(digits, count);
    for (int i = 0; i < count; i++)
        if ((a->limbs[i] = digits[i]) != 0) {
            a->first = i < a->first ? i : a->first;
            a->end = i + 1;
        }
    a->pending = a->end > 0;
}

static void set_counters(tally_superaccumulator *a, const int64_t *words) {
    a->count = (uint64_t)words[TALLY_WORDS_AT_ELEMENTS];
    a->positive_infinities = (uint64_t)words[TALLY_WORDS_AT_SPECIALS];
    a->negative_infinities = (uint64_t)words[TALLY_WORDS_AT_SPECIALS + 1];
    a->nans = (uint64_t)words[TALLY_WORDS_AT_SPECIALS + 2];
    a->others = (uint64_t)words[TALLY_WORDS_AT_SPECIALS + 3];
}

const char *tally_superaccumulator_of_words(const tally_words_form *form, const int64_t *words,
                                            tally_superaccumulator *a) {
    tally_superaccumulator_init(a, form->layout);
    set_counters(a, words);
    set_digits(a, words + TALLY_WORDS_AT_DIGITS, form->numbers);
    return find_contradiction(a, words + TALLY_WORDS_AT_SPECIALS);
}

const char *tally_squares_of_words(const tally_words_form *form, const int64_t *words, tally_superaccumulator *a) {
    tally_superaccumulator_init(a, tally_exact_layout_with(form->layout, true));
    set_counters(a, words);
    set_digits(a, words + TALLY_WORDS_AT_DIGITS + form->numbers, form->squares);
    tally_magnitude m;
    tally_superaccumulator_magnitude(a, &m);
    return m.negative ? "squares that sum to less than zero" : find_contradiction(a, words + TALLY_WORDS_AT_SPECIALS);
}
