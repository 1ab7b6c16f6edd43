/* Exact mode: superaccumulators as accumulators of plans. */
#ifndef TALLY_CPU_EXACT_H
#define TALLY_CPU_EXACT_H

#include "cpu/cpu.h"

/* Sets plan->kernels, acc_bytes and what these kernels need to know of the plan. */
void tally_cpu_exact_context(tally_cpu_plan *plan);

/* Lowers accumulators of exact mode. */
tally_cpu_lower tally_cpu_exact_lower;

/* Converts a state that was read to the plan's layout, which is wider for a scan to f64. */
void tally_cpu_exact_widen(const tally_cpu_plan *plan, void *acc);

/* *acc = an initial value, of the output's type. */
void tally_cpu_exact_raise(const tally_cpu_plan *plan, const void *element, void *acc);

/* tally_cpu_scan_run for exact mode. */
void tally_cpu_exact_scan(const tally_cpu_plan *plan, const void *x, uint64_t n, tally_cpu_scan_options how, void *acc,
                          void *out);

/* Scans columns of 'rows' rows that begin 'stride' elements apart. acc[width] is the value before them and becomes the
 * value after them. */
void tally_cpu_exact_scan_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                                  uint64_t stride, tally_cpu_scan_options how, void *acc, void *out);

#endif
