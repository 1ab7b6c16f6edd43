/* Reductions and scans of runs of equal neighbouring keys. */
#ifndef TALLY_CPU_KEYS_H
#define TALLY_CPU_KEYS_H

#include "cpu/cpu.h"

tally_status tally_cpu_keys(tally_cpu_plan *plan, const tally_args *args);

#endif
