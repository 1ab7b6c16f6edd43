/* Running variances and deviations: elements are converted to doubles, a block at a time, and scanned to results
 * (kernels/moments_scan.c). Blocks whose squares overflow, or that have elements that are not finite, go the way of
 * other operators: from accumulator to accumulator. */
#ifndef TALLY_CPU_SPREAD_H
#define TALLY_CPU_SPREAD_H

#include "cpu/cpu.h"

/* Whether the plan has variances or deviations; and whether it is such a scan. */
bool tally_cpu_has_spread(const tally_cpu_plan *plan);
bool tally_cpu_scans_spread(const tally_cpu_plan *plan);

/* As tally_cpu_scan_run and tally_cpu_lifted_columns; acc is what it becomes only if 'acc_counts'. */
void tally_cpu_spread_scan(const tally_cpu_plan *plan, const void *x, uint64_t n, uint64_t index, uint64_t length,
                           unsigned worker, void *acc, void *out);
void tally_cpu_spread_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                              uint64_t index, uint64_t length, void *acc, bool acc_counts, void *out);

/* Whether groups of the plan's means are scanned as those of variances: sums of narrow integers are exact in f64. */
bool tally_cpu_spreads_means(const tally_cpu_plan *plan);

/* Bytes of worker scratch for the next one, or 0. */
size_t tally_cpu_spread_bytes(const tally_cpu_plan *plan);

/* Whole groups that follow each other, n elements, TALLY_CPU_GROUPS_BLOCK at most. heads[k] is -1 where a group begins,
 * else 0, in the order of the scan. */
void tally_cpu_spread_groups(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n,
                             unsigned worker, void *out);

/* The results of 'count' such groups, a batch of TALLY_CPU_SPREAD_BLOCK elements at most; group i ends at
 * offsets[i + 1] less offsets[0]. False, and nothing is written, if this is not the way for them. */
bool tally_cpu_spread_reduce(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n,
                             const uint64_t *offsets, size_t count, void *out);

/* Packed rows of 'extent' elements, if that is the way for them: at best as many as a vector has lanes at most, or a
 * multiple of it. */
enum { TALLY_CPU_ROWS_BESIDE = 8 };
bool tally_cpu_spreads_rows(const tally_cpu_plan *plan, uint64_t extent);
void tally_cpu_spread_rows(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t extent, unsigned worker,
                           void *out);

#endif
