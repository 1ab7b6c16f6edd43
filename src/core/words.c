/* The forms of words. The check word is a linear function of all other words: it is a sum, modulo 2^64, of products
 * with odd constants. So words that were added elementwise have the sum of the check words, which is their own check
 * word. A single wrong word is always noticed, since an odd constant times a difference is not 0. The constants follow
 * from the tag, which makes words of another operation, type or version wrong, too. */
#include "core/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/dtype.h"
#include "core/status.h"

/* Part of every tag: words of another version are refused. */
enum { VERSION = 1 };

void tally_words_name(const tally_desc *desc, tally_monoid monoid, const tally_words_form *form,
                      char name[TALLY_WORDS_NAME_BYTES]) {
    static const char *const monoids[] = {
#define TALLY_COMPONENT(identity, lift, combine)
#define TALLY_MONOID(monoid, class, components) #monoid,
#include "core/monoids.def"
    };
    const char *in = tally_dtypes[desc->in].name, *acc = tally_dtypes[desc->acc].name;
    if (form->kind == TALLY_WORDS_EXACT)
        snprintf(name, TALLY_WORDS_NAME_BYTES, "exact %s of %s",
                 monoid == TALLY_MONOID_moments         ? "sums of elements and squares"
                 : tally_exact_has_products(desc->op)   ? "sum of products"
                 : tally_exact_has_magnitudes(desc->op) ? "sum of absolute values"
                                                        : "sum",
                 in);
    else if (form->kind == TALLY_WORDS_EXTREMES)
        snprintf(name, TALLY_WORDS_NAME_BYTES, "%s of %s", monoids[monoid], in);
    else
        snprintf(name, TALLY_WORDS_NAME_BYTES, "%s of %s in %s", monoids[monoid], in, acc);
}

/* FNV-1a. */
static uint64_t hash(const char *name) {
    uint64_t h = UINT64_C(0xcbf29ce484222325) + VERSION;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

/* Room for 2^64 summands. The highest digit has the sign. */
static int digits_of(tally_exact_layout layout) {
    return (tally_layout_highest(layout) - tally_layout_lowest(layout) + 64 + 31) / 32;
}

static void choose_kind(const tally_desc *desc, tally_monoid monoid, bool exact, tally_words_form *form) {
    const tally_monoid_class kind = tally_class_of(monoid);
    const bool is_float = tally_dtype_is_float(desc->acc);
    form->kind = TALLY_WORDS_NUMBERS;
    form->rule = TALLY_WORDS_ORDERED;
    form->numbers = tally_components_of(monoid);
    if (exact) {
        form->kind = TALLY_WORDS_EXACT;
        form->rule = TALLY_WORDS_ADD;
        form->layout = tally_exact_layout_of(desc->in, tally_exact_has_products(desc->op));
        form->numbers = digits_of(form->layout);
        if (monoid == TALLY_MONOID_moments)
            form->squares = digits_of(tally_exact_layout_with(form->layout, true));
    } else if (monoid == TALLY_MONOID_wide_moments) {
        form->kind = TALLY_WORDS_DIGITS;
        form->rule = TALLY_WORDS_ADD;
        form->numbers = 4;
        form->squares = 6;
    } else if (kind == TALLY_CLASS_INTEGERS) {
        form->kind = TALLY_WORDS_DIGITS;
        form->rule = TALLY_WORDS_ADD;
        form->numbers *= 2;
    } else if (kind == TALLY_CLASS_VALUE || kind == TALLY_CLASS_VALUES || kind == TALLY_CLASS_MAGNITUDE) {
        form->kind = TALLY_WORDS_EXTREMES;
        form->rule = TALLY_WORDS_MAX;
    } else if (kind == TALLY_CLASS_COUNT || ((kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE) && !is_float)) {
        form->rule = TALLY_WORDS_ADD;
    }
}

tally_status tally_words_form_for(const tally_desc *desc, tally_monoid monoid, bool exact, tally_words_form *form) {
    if (desc->op == TALLY_USER)
        return tally_fail(TALLY_UNSUPPORTED, "words of a user's operator: only tally's own have them");
    memset(form, 0, sizeof *form);
    choose_kind(desc, monoid, exact, form);
    char name[TALLY_WORDS_NAME_BYTES];
    tally_words_name(desc, monoid, form, name);
    form->tag = hash(name);
    form->count = form->kind == TALLY_WORDS_EXACT      ? TALLY_WORDS_AT_DIGITS + (size_t)(form->numbers + form->squares)
                  : form->kind == TALLY_WORDS_EXTREMES ? TALLY_WORDS_HEAD + 2 * (size_t)form->numbers
                                                       : TALLY_WORDS_HEAD + (size_t)(form->numbers + form->squares);
    return TALLY_OK;
}

/* ---- the check ---- */

/* SplitMix64 (Steele, Lea and Flood, 2014), made odd. */
static uint64_t weight(uint64_t tag, size_t i) {
    uint64_t z = tag + i * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) | 1;
}

static uint64_t checksum(const tally_words_form *form, const int64_t *words) {
    uint64_t sum = 0;
    for (size_t i = 1; i < form->count; i++)
        sum += weight(form->tag, i) * (uint64_t)words[i];
    return sum;
}

bool tally_words_are_whole(const tally_words_form *form, const int64_t *words) {
    if (form->kind != TALLY_WORDS_EXTREMES)
        return (uint64_t)words[TALLY_WORDS_AT_CHECK] == checksum(form, words);
    const int64_t *keys = words + TALLY_WORDS_HEAD;
    bool all_least = true;
    for (size_t i = 0; i < form->count; i++)
        all_least &= words[i] == INT64_MIN;
    return all_least || ((uint64_t)words[0] == form->tag && (uint64_t)words[1] == ~form->tag &&
                         memcmp(keys, keys + form->numbers, (size_t)form->numbers * sizeof *keys) == 0);
}

void tally_words_clear(const tally_words_form *form, int64_t *words) {
    for (size_t i = 0; i < form->count; i++)
        words[i] = form->kind == TALLY_WORDS_EXTREMES ? INT64_MIN : 0;
}

void tally_words_seal(const tally_words_form *form, int64_t *words) {
    if (form->kind != TALLY_WORDS_EXTREMES) {
        words[TALLY_WORDS_AT_CHECK] = (int64_t)checksum(form, words);
        return;
    }
    words[0] = (int64_t)form->tag;
    words[1] = (int64_t)~form->tag;
    memcpy(words + TALLY_WORDS_HEAD + form->numbers, words + TALLY_WORDS_HEAD, (size_t)form->numbers * sizeof *words);
}

tally_status tally_words_refuse(uint64_t state) {
    return tally_fail(TALLY_BAD_STATE,
                      "words of state %" PRIu64 ": the check failed; they were damaged, combined by another rule than "
                      "theirs, or come from another version of tally",
                      state);
}
