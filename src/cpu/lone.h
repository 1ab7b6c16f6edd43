/* Groups of one element each, along an axis: reductions and inclusive scans alike. Their results take no accumulators
 * where they are the elements, numbers that these are lifted to, whether these are zero, or the same for all. */
#ifndef TALLY_CPU_LONE_H
#define TALLY_CPU_LONE_H

#include "cpu/cpu.h"

/* Whether the next one can be used. */
bool tally_cpu_has_lone(const tally_cpu_plan *plan);

/* out[i] = the result of x[i], and y[i], alone, for i < n; 'stream' asks for stores past the caches. */
void tally_cpu_reduce_lone(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, bool stream,
                           void *out);

/* out[i] = the result of acc, which stands for 'elements' elements, for i < n. */
void tally_cpu_fill_results(const tally_cpu_plan *plan, const void *acc, uint64_t n, uint64_t elements, bool stream,
                            void *out);

#endif
