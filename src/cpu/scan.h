/* Scans over all values and along an axis. */
#ifndef TALLY_CPU_SCAN_H
#define TALLY_CPU_SCAN_H

#include "cpu/cpu.h"

/* 'carry' is NULL or, for input in pieces (whose outer is 1), 'inner' accumulators of all pieces before this one; the
 * piece is combined into them. 'rows' is the number of rows before it, for a reverse scan of those after it. */
tally_status tally_cpu_scan_axis(tally_cpu_plan *plan, const tally_args *args, uint64_t rows, void *carry);

#endif
