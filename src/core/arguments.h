/* The check of a run's arguments against its computation, before a back end receives them. */
#ifndef TALLY_CORE_ARGUMENTS_H
#define TALLY_CORE_ARGUMENTS_H

#include "core/computation.h"

/* Most groups of labels: their numbers, and that of those left out, fit 32 bits. */
enum { TALLY_MOST_LABELS = INT32_MAX };

/* TALLY_INVALID_ARGUMENT for a shape that no input can have; else the numbers of elements and of results, as below. */
tally_status tally_shape_check(const tally_computation *computation, const tally_shape *shape, uint64_t *elements,
                               uint64_t *results);

/* Checks the pointers and sizes of a run or a push (is_push) against the computation and gives the number of results.
 * The number of runs of equal keys is known only when the keys have been read. So a reduction by TALLY_KEYS gets the
 * largest possible number, and the back end checks whether the outputs have room for the actual number. */
tally_status tally_args_check(const tally_computation *computation, const tally_args *args, bool is_push,
                              uint64_t *results);

#endif
