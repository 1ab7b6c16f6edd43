/* Reductions by unsorted labels. */
#ifndef TALLY_CPU_LABELS_H
#define TALLY_CPU_LABELS_H

#include "cpu/cpu.h"

tally_status tally_cpu_labels(tally_cpu_plan *plan, const tally_args *args);

#endif
