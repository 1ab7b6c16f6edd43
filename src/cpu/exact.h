/* Exact mode: superaccumulators as accumulators of plans. */
#ifndef TALLY_CPU_EXACT_H
#define TALLY_CPU_EXACT_H

#include "cpu/cpu.h"

/* Sets plan->kernels, acc_bytes and what these kernels need to know of the plan. */
void tally_cpu_exact_context(tally_cpu_plan *plan);

/* Lowers accumulators of exact mode. */
tally_cpu_lower tally_cpu_exact_lower;

#endif
