/* The choice among the instruction-set levels that were built. */
#ifndef TALLY_CPU_LEVEL_H
#define TALLY_CPU_LEVEL_H

#include "cpu/kernels/exact.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/scans.h"

/* The level of this name or, if name is NULL, the processor's best. TALLY_NO_DEVICE if the processor or the build lacks
 * it. */
tally_status tally_cpu_level_choose(const char *name, const tally_cpu_level **level, const tally_exact_kernels **exact,
                                    const tally_cpu_scans **scans);

#endif
