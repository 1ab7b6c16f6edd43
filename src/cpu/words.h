/* Accumulators to words and back, and plans whose elements or results are states in words. */
#ifndef TALLY_CPU_WORDS_H
#define TALLY_CPU_WORDS_H

#include "cpu/cpu.h"

/* The words of an accumulator of 'elements' elements. 'states' is a plan of the operator from elements to values. */
void tally_cpu_words_write(const tally_cpu_plan *states, const tally_words_form *form, const void *acc,
                           uint64_t elements, int64_t *words);

/* The accumulator of words, and its elements. TALLY_BAD_STATE, with the outputs untouched, for words that no elements
 * give; 'state' is their number, for the message. */
tally_status tally_cpu_words_read(const tally_cpu_plan *states, const tally_words_form *form, const int64_t *words,
                                  uint64_t state, void *acc, uint64_t *elements);

/* *acc, of *elements elements, combined with the accumulator of elements that come after. 'other' changes: its indices
 * count from the first element of *acc. */
void tally_cpu_words_append(const tally_cpu_plan *states, void *other, uint64_t other_elements, void *acc,
                            uint64_t *elements);

/* Sets kernels, accumulators and the way out of a plan that takes or gives words. plan->states is its plan from
 * elements to values. */
void tally_cpu_words_choose(tally_cpu_plan *plan);

/* The way out of accumulators with their number of elements. */
void tally_cpu_words_lower_states(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,
                                  void *out);

/* TALLY_BAD_STATE if one of n states is refused; TALLY_EMPTY if the results, accumulators of pieces, lack elements that
 * their operator needs. */
tally_status tally_cpu_words_check(const tally_cpu_plan *plan, const void *x, uint64_t n);
tally_status tally_cpu_words_check_totals(const tally_cpu_plan *plan, const void *acc, uint64_t count);

/* Runs a plan that takes words, for an operator that has no value of nothing: first without its outputs, since only the
 * states show which groups are empty. */
tally_status tally_cpu_words_run(tally_cpu_plan *plan, const tally_args *args, uint64_t results,
                                 tally_status run(tally_cpu_plan *plan, const tally_args *args));

#endif
