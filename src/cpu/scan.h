/* Scans over all values and along an axis, and of runs of neighbouring elements for segments and keys. */
#ifndef TALLY_CPU_SCAN_H
#define TALLY_CPU_SCAN_H

#include "cpu/cpu.h"

/* 'carry' is NULL or, for input in pieces (whose outer is 1), 'inner' accumulators of all pieces before this one; the
 * piece is combined into them. 'index' is the number of rows before it. */
tally_status tally_cpu_scan_axis(tally_cpu_plan *plan, const tally_args *args, uint64_t index, void *carry);

/* Bytes of worker scratch that tally_cpu_scan_run and tally_cpu_fold_run use from the start of it. */
size_t tally_cpu_run_bytes(const tally_cpu_plan *plan);

/* Scans n neighbouring elements, of which the first is number 'index' in a group of 'length'. *acc is the value before
 * them, and is overwritten. 'stream' asks for stores past the caches. */
void tally_cpu_scan_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        uint64_t length, bool stream, unsigned worker, void *acc, void *out);

/* *acc = *acc combined with those elements, in the direction of the scan. */
void tally_cpu_fold_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        unsigned worker, void *acc);

/* *acc = the value before the first element of a group: the identity or the initial value. */
void tally_cpu_start(const tally_cpu_plan *plan, const void *initial, void *acc);

#endif
