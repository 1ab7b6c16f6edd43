/* A decided descriptor, as back ends receive it. Defaults and refusals are decided once, here, so that every back end
 * agrees on the defaults, on what has no meaning, and on the messages. */
#ifndef TALLY_CORE_COMPUTATION_H
#define TALLY_CORE_COMPUTATION_H

#include "core/operator.h"
#include "core/words.h"
#include "tally/tally.h"

typedef struct tally_computation {
    tally_desc desc; /* defaults filled in; desc.user points to 'user' below or is NULL */
    tally_user_op user;
    const tally_operator *entry; /* NULL for a user's operator */
    tally_monoid monoid;
    size_t in_bytes;    /* of an input element */
    size_t out_bytes;   /* of an output element */
    size_t per_result;  /* output elements for each result: 2 for minmax, else 1 */
    size_t index_bytes; /* of an offset or a key; 0 where there are none */
    bool exact; /* goes by superaccumulators: exact mode, of floats, for an operator that would otherwise round */
    /* Exact mode of integers whose mean or root is rounded: the accumulator of 'monoid' is the sum, in words of 64
     * bits. The result is not the operator table's expression of it but that number, rounded once. */
    bool rounds_integer;
    bool reverse;
    bool skips_nan;    /* NaNs are left out. Never of integers, which have none */
    bool gives_places; /* CUDA's reverse scan of argmin or argmax by groups, to indices among all elements */
    bool takes_turns;  /* CUDA's reduction of elements sorted by label, where tables nearly always gave the results */
    bool in_window;    /* CUDA's exact scan of elements that lie between exponents which a sample shows */
    /* The elements, or the results, are states of this form. in_bytes is then the size of a state; per_result its
     * words. */
    bool takes_words, gives_words;
    bool is_sized; /* TALLY_SIZE_ON_DEVICE */
    tally_words_form words;
} tally_computation;

/* Fills in *computation or fails with the reason. Keeps no pointer to desc or its user operator. */
tally_status tally_computation_decide(const tally_desc *desc, tally_computation *computation);

/* Copies a computation. An assignment would leave the copy's desc.user pointing into the original. */
void tally_computation_copy(const tally_computation *from, tally_computation *to);

/* The computation without its words: the same operator and states, but from elements, NaNs among them, to values, over
 * all values. */
void tally_computation_of_states(const tally_computation *computation, tally_computation *states);

/* The form of a computation's states, whose words it may take or give. TALLY_UNSUPPORTED for a user's operator. */
static inline tally_status tally_words_form_of(const tally_computation *c, tally_words_form *form) {
    return tally_words_form_for(&c->desc, c->monoid, c->exact, form);
}

static inline bool tally_has_trait(const tally_computation *c, unsigned trait) {
    return c->entry && (c->entry->traits & trait) != 0;
}

static inline bool tally_is_scan(const tally_computation *c) {
    return c->desc.form != TALLY_REDUCE;
}

/* Whether each prefix is a sum of floats, rounded once. */
static inline bool tally_is_exact_scan(const tally_computation *c) {
    return c->exact && tally_is_scan(c);
}

/* Whether the number of results is known only when the input has been read: one for each run of equal keys. */
static inline bool tally_counts_runs(const tally_computation *c) {
    return c->desc.grouping == TALLY_KEYS && !tally_is_scan(c);
}

/* Whether a group without elements is an error, because the operator has no value for it (such as a minimum). Where
 * NaNs are left out, only the data tell which groups are empty, and there are values for these. */
static inline bool tally_empty_is_error(const tally_computation *c) {
    return !tally_is_scan(c) && !c->gives_words && !c->skips_nan && tally_has_trait(c, TALLY_OPERATOR_EMPTY_IS_ERROR);
}

/* Whether an input of no elements, or of columns without any, is TALLY_EMPTY. Of no segments and no keys there are no
 * results. */
static inline bool tally_nothing_is_error(const tally_computation *c) {
    return (c->desc.grouping == TALLY_ALL_VALUES || c->desc.grouping == TALLY_AXIS) && tally_empty_is_error(c);
}

/* Whether a fold looks at elements' places in their group. */
static inline bool tally_looks_at_index(const tally_computation *c) {
    const tally_monoid_class kind = tally_class_of(c->monoid);
    return kind == TALLY_CLASS_INDEXED || kind == TALLY_CLASS_USER;
}

#endif
