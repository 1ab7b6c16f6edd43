/* The check of a run's arguments against its computation, before a back end gets to see them. */
#ifndef TALLY_CORE_ARGUMENTS_H
#define TALLY_CORE_ARGUMENTS_H

#include "core/computation.h"

/* Checks the pointers and sizes of a run or a push (is_push) against the computation and gives the number of results;
 * for TALLY_KEYS the most that there can be, and the output sizes are left to the back end. */
tally_status tally_args_check(const tally_computation *computation, const tally_args *args, bool is_push,
                              uint64_t *results);

#endif
