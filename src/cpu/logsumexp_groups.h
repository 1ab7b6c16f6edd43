/* Running logsumexps of short groups, a block at a time (kernels/logsumexp_scan.c). */
#ifndef TALLY_CPU_LOGSUMEXP_GROUPS_H
#define TALLY_CPU_LOGSUMEXP_GROUPS_H

#include "cpu/cpu.h"

bool tally_cpu_scans_logsumexp_groups(const tally_cpu_plan *plan);

/* As tally_cpu_spread_groups. */
void tally_cpu_logsumexp_groups(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n, void *out);

#endif
