/* Neighbouring segments or runs of keys that have one length: they are the rows of a matrix, whose kernels need neither
 * marks nor lengths. */
#ifndef TALLY_CPU_EQUAL_GROUPS_H
#define TALLY_CPU_EQUAL_GROUPS_H

#include "cpu/cpu.h"

/* The length of 'count' groups, which end where the next one begins; 0 if they differ. offsets has count + 1. */
uint64_t tally_cpu_equal_length(const tally_cpu_plan *plan, const uint64_t *offsets, size_t count);

/* Whether groups of that length are folded faster by the next one than as groups of any length. */
bool tally_cpu_may_fold_equal(const tally_cpu_plan *plan); /* some length */
bool tally_cpu_folds_equal(const tally_cpu_plan *plan, uint64_t length);

/* acc[i] = group i of 'count', TALLY_CPU_BATCH at most. x and y are where the first one begins. */
void tally_cpu_fold_equal(const tally_cpu_plan *plan, const void *x, const void *y, size_t count, uint64_t length,
                          void *acc);

/* Whether rows of so many elements are folded faster packed as columns (packing.h). */
bool tally_cpu_packs_rows(const tally_cpu_plan *plan, uint64_t extent);

/* Likewise for scans, whose groups start from the accumulator *start. */
bool tally_cpu_scans_equal(const tally_cpu_plan *plan, uint64_t length);
void tally_cpu_scan_equal(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t count, uint64_t length,
                          bool stream, unsigned worker, const void *start, void *out);

#endif
