/* Devices, opened when they are first needed, and plans, made once for each computation and kept. */
#ifndef TALLY_PYTHON_PLANS_H
#define TALLY_PYTHON_PLANS_H

#include "array.h"

typedef struct kept_plan {
    tally_desc desc; /* as it was asked for; its defaults are filled in 'described' */
    int device;
    tally_stream stream; /* work of several streams would share the plan's workspace */
    bool busy;
    tally_device *opened;
    tally_plan *plan;
    tally_desc described;
    size_t elements; /* per result */
    struct kept_plan *next;
} kept_plan;

/* A computation that somebody keeps the plans of, one for each thread and stream that runs it at a time. */
typedef struct fixed_plan {
    tally_desc desc, described;
    tally_device *opened;
    int device;
    kept_plan *plans;
} fixed_plan;

/* A plan that no other thread uses, for the device and the stream of an array, which plan_give ends the use of. It is
 * one of 'fixed', or with NULL of those that are kept for all. NULL with an exception. */
kept_plan *plan_take(const array *x, const tally_desc *desc, fixed_plan *fixed);
void plan_give(kept_plan *plan);

void plans_free(kept_plan *plans);

/* The device of a spec, which is opened once, and its number as in kept_plan. NULL with an exception. */
tally_device *device_of_spec(const char *spec, int *number);

/* An exception of a status that is not TALLY_OK; returns NULL. */
PyObject *raise_status(tally_status status);

#endif
