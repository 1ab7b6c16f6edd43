/* Variances and logsumexps of groups of a few elements, and the places of their extremes, straight from elements to
 * results: accumulators of two to four doubles would take longer to write and to read than the elements themselves. */
#ifndef TALLY_CPU_FEW_ROWS_H
#define TALLY_CPU_FEW_ROWS_H

#include "cpu/cpu.h"

/* Whether the next one is the way for groups of so many elements, in so many columns. */
bool tally_cpu_has_few_rows(const tally_cpu_plan *plan, uint64_t extent, uint64_t columns);

/* Results of 'width' columns of 'rows' rows that begin 'stride' elements apart. */
void tally_cpu_reduce_few_rows(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                               uint64_t stride, void *out);

#endif
