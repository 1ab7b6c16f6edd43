/* The check of words that a caller gave. */
#ifndef TALLY_CORE_WORDS_CHECK_H
#define TALLY_CORE_WORDS_CHECK_H

#include "core/words.h"

/* TALLY_BAD_STATE, with the likely reason, for words that were damaged or belong to another operation. 'state' is
 * their number, for the message. EXTREMES without elements are the same for every operation, and pass. */
tally_status tally_words_check(const tally_words_form *form, const int64_t *words, uint64_t state);

#endif
