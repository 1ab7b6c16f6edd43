/* From accumulators to output elements, and from initial values to accumulators. */
#ifndef TALLY_CPU_LOWER_H
#define TALLY_CPU_LOWER_H

#include "cpu/cpu.h"

/* Whether plan->lower uses the number of elements. */
static inline bool tally_cpu_lowers_by_count(const tally_cpu_plan *plan) {
    const tally_operator *entry = plan->base.computation.entry;
    return !entry || plan->base.computation.gives_words || plan->lower_elements ||
           (tally_lowers_by_count(entry) && !plan->lifted.truths);
}

/* Chooses plan->lower. */
void tally_cpu_lower_choose(tally_cpu_plan *plan);

/* Whether the result of one element is itself, converted; and so many results. */
bool tally_cpu_result_is_element(const tally_cpu_plan *plan);
void tally_cpu_convert_elements(const tally_cpu_plan *plan, const void *x, size_t count, void *out);

/* Whether accumulators of a number are results but for their type. */
bool tally_cpu_result_is_number(const tally_cpu_plan *plan);

/* acc = lift of an output element, for initial values. */
void tally_cpu_raise(const tally_cpu_plan *plan, const void *element, void *acc);

#endif
