/* Kernels of logsumexp that sum the exponentials of integers by look-ups (kernels/integer_exps.c), straight from
 * elements of any width, and leave short runs and columns to the kernels that there are. */
#ifndef TALLY_CPU_INTEGER_EXPS_H
#define TALLY_CPU_INTEGER_EXPS_H

#include "cpu/cpu.h"

/* Sets plan->kernels to them, if the plan is such a logsumexp and the level has them. */
void tally_cpu_look_up_exps(tally_cpu_plan *plan);

#endif
