/* A superaccumulator as int64 words: signed digits of base 2^32, which add elementwise. */
#ifndef TALLY_EXACT_WORDS_H
#define TALLY_EXACT_WORDS_H

#include "core/words.h"
#include "exact/superaccumulator.h"

/* Writes all words but the check: carries are settled, and the counters say 0 or 1. */
void tally_words_of_superaccumulator(const tally_words_form *form, const tally_superaccumulator *accumulator,
                                     int64_t *words);

/* Reads words that have passed the check, the sum of any number of such. The accumulator has the form's layout. Returns
 * why no elements give these words, or NULL. */
const char *tally_superaccumulator_of_words(const tally_words_form *form, const int64_t *words,
                                            tally_superaccumulator *accumulator);

/* Adds the digits of an accumulator's value to 'count' digits of zero. */
void tally_words_of_digits(const tally_superaccumulator *accumulator, int64_t *digits, int count);

/* tally_superaccumulator_of_words for the sum of squares that follows the sum. */
const char *tally_squares_of_words(const tally_words_form *form, const int64_t *words,
                                   tally_superaccumulator *accumulator);

/* Moves the carries of 'count' digits up: all but the highest, which keeps the sign, come to lie in [0, 2^32). */
void tally_words_settle(int64_t *digits, int count);

#endif
