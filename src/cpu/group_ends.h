/* Reductions of short groups by a scan. Integers that are summed are scanned together, and a group's value is the
 * difference of two prefixes. Variances and logsumexps are scanned to results, with marks where groups begin, and a
 * group's is that of its last element. So a group takes the same few operations whatever its length. */
#ifndef TALLY_CPU_GROUP_ENDS_H
#define TALLY_CPU_GROUP_ENDS_H

#include "cpu/short_choice.h"

/* Whether that is the faster way for so many groups of so many elements in all, unless they have one length. */
bool tally_cpu_scans_to_ends(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups,
                             tally_cpu_spread_of_lengths lengths);

/* out[i] = the result of elements offsets[i] .. offsets[i + 1] - 1, for i < count. lengths[i] is their number, where
 * plan->lower uses it. */
void tally_cpu_scan_to_ends(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                            size_t count, const uint64_t *lengths, void *out);

#endif
