/* Reductions and scans of segments given by offsets. */
#ifndef TALLY_CPU_SEGMENTS_H
#define TALLY_CPU_SEGMENTS_H

#include "cpu/cpu.h"

tally_status tally_cpu_segments(tally_cpu_plan *plan, const tally_args *args);

#endif
