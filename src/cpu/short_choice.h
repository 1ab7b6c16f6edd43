/* Which way is the fastest for short groups of a reduction: a scan (group_ends.h), columns (short_groups.h) or a call
 * for each. */
#ifndef TALLY_CPU_SHORT_CHOICE_H
#define TALLY_CPU_SHORT_CHOICE_H

#include "cpu/cpu.h"

/* How much the lengths of some groups differ: not at all, as uniform ones do (the longest is at most 2.5 times the
 * mean), or more. */
typedef enum tally_cpu_spread_of_lengths {
    TALLY_CPU_EQUAL,
    TALLY_CPU_EVEN,
    TALLY_CPU_UNEVEN
} tally_cpu_spread_of_lengths;
tally_cpu_spread_of_lengths tally_cpu_spread_of(const uint64_t *offsets, size_t count);

/* Groups that have fewer elements on average are scanned, if they can be; of others, those below 'upright' are columns,
 * on levels whose marks become masks of lanes. 0: none. */
typedef struct tally_cpu_short_limits {
    uint8_t scanned, upright;
} tally_cpu_short_limits;
enum { TALLY_CPU_LONGEST_SHORT = 48 }; /* no limit is higher */
tally_cpu_short_limits tally_cpu_short_limits_of(const tally_cpu_plan *plan, tally_cpu_spread_of_lengths lengths);

#endif
