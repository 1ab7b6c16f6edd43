/* Scans and folds of a run: neighbouring elements of one group, whatever the grouping. */
#ifndef TALLY_CPU_SCAN_RUN_H
#define TALLY_CPU_SCAN_RUN_H

#include "cpu/cpu.h"

/* Least elements of a call that may store past the caches: a fence for every short run, or small tile, would cost more
 * than it saves (planes of 16 x 16: 9.8 ms with, 6.0 without). */
enum { TALLY_CPU_LEAST_STREAMED = 4096 };

/* Bytes of worker scratch that tally_cpu_scan_run and tally_cpu_fold_run use from the start of it. */
size_t tally_cpu_run_bytes(const tally_cpu_plan *plan);

/* Scans n neighbouring elements, of which the first is number 'index' in a group of 'length'. *acc is the value before
 * them, and is overwritten: with several components, by the value after them. 'stream' asks for stores past the caches.
 */
void tally_cpu_scan_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        uint64_t length, bool stream, unsigned worker, void *acc, void *out);

/* Whether the operator's value is one that most elements do not change: the smallest one, say, or whether any is not
 * zero. */
bool tally_cpu_may_settle(const tally_cpu_plan *plan);

/* Whether none of n elements changes the results of such an operator. 'before' is the value of the 'elements' elements
 * before them, 'after' that of all. */
bool tally_cpu_is_settled(const tally_cpu_plan *plan, const void *before, uint64_t elements, const void *after,
                          uint64_t n);

/* *acc = *acc combined with those elements, in the direction of the scan. */
void tally_cpu_fold_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        unsigned worker, void *acc);

/* The elements of a task of a scan of 'elements' in all, at most 'most_elements'. */
uint64_t tally_cpu_scan_task(const tally_cpu_plan *plan, uint64_t elements, uint64_t most_elements);

/* *acc = the value before the first element of a group: the identity or the initial value. */
void tally_cpu_start(const tally_cpu_plan *plan, const void *initial, void *acc);

#endif
