/* group=: the ranks of a group compute together. */
#ifndef TALLY_PYTHON_OVER_RANKS_H
#define TALLY_PYTHON_OVER_RANKS_H

#include "array.h"
#include "plans.h"

/* The part of a group's run that is this rank's. */
int run_on_ranks(PyObject *group, const array *x, const kept_plan *kept, const tally_args *args);

/* With an exception set, before this rank has met the others: takes part in their run, so that they get an error, too,
 * instead of waiting. The exception stays. */
void refuse_on_ranks(PyObject *group);

#endif
