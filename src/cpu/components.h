/* Between accumulators and the numbers that are scanned for them (lifted.h): an accumulator is one number, or two. */
#ifndef TALLY_CPU_COMPONENTS_H
#define TALLY_CPU_COMPONENTS_H

#include "cpu/cpu.h"

/* The type of the numbers of the second scan. */
tally_dtype tally_cpu_second_type(const tally_cpu_plan *plan);

/* values[count], converted */
void tally_cpu_convert_numbers(const tally_cpu_plan *plan, tally_dtype from, tally_dtype to, const void *values,
                               size_t count, void *out);

/* Floats of 16 bits to integers in the order of the operator, which NaN comes first in. 'ordered' may be x. */
void tally_cpu_order_floats(const tally_cpu_plan *plan, const void *x, size_t count, void *ordered);

/* Accumulators, TALLY_CPU_LIFTED_COLUMNS at most, to the values that scans start from, of type 'to', and from those of
 * columns back. 'second' may be NULL where there is one scan. */
void tally_cpu_split(const tally_cpu_plan *plan, const void *acc, size_t count, uint64_t elements, tally_dtype to,
                     void *first, void *second);
void tally_cpu_join(const tally_cpu_plan *plan, const void *first, const void *second, size_t count, uint64_t elements,
                    void *acc);

/* Prefixes to results. */
void tally_cpu_lower_prefixes(const tally_cpu_plan *plan, const void *first, const void *second, size_t count,
                              tally_counts counts, void *out);

#endif
