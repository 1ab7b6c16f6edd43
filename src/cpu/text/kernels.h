/* A user's operator whose texts the CPU runs: its programs (program.h) as kernels, over blocks of lanes. */
#ifndef TALLY_CPU_TEXT_H
#define TALLY_CPU_TEXT_H

#include "cpu/cpu.h"
#include "cpu/text/program.h"

/* Compiles the texts and fills in the plan's kernels. The plan frees plan->context.text. */
tally_status tally_cpu_text_choose(tally_cpu_plan *plan);

/* *acc = itself combined with n elements, from the last one down. */
void tally_cpu_text_fold_reverse(const tally_cpu_plan *plan, const void *x, size_t n, uint64_t index, void *acc);

/* out[i] = lower(acc[i]) for i < count */
void tally_cpu_text_lower(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out);

#endif
