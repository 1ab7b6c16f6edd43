/* Running logsumexps, from elements to results (kernels/logsumexp_scan.c): f32 where neither elements nor results have
 * more digits, else doubles. */
#ifndef TALLY_CPU_LOGSUMEXP_RUNNING_H
#define TALLY_CPU_LOGSUMEXP_RUNNING_H

#include "cpu/cpu.h"

/* Whether the plan is such a scan. */
bool tally_cpu_scans_logsumexp(const tally_cpu_plan *plan);

/* As tally_cpu_scan_run and tally_cpu_lifted_columns. acc may be NULL for whole columns, of TALLY_CPU_EXPS_ROWS rows at
 * most. */
void tally_cpu_logsumexp_scan(const tally_cpu_plan *plan, const void *x, uint64_t n, void *acc, void *out);
void tally_cpu_logsumexp_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                                 uint64_t stride, void *acc, void *out);

/* As tally_cpu_spread_groups. */
void tally_cpu_logsumexp_groups(const tally_cpu_plan *plan, const void *x, int8_t *heads, uint64_t n, void *out);

#endif
