/* Devices, opened when they are first needed, and plans, made once for each computation and kept. */
#ifndef TALLY_PYTHON_PLANS_H
#define TALLY_PYTHON_PLANS_H

#include "array.h"

typedef struct kept_plan {
    tally_desc desc; /* as it was asked for; its defaults are filled in 'described' */
    int device;
    tally_stream stream; /* work of several streams would share the plan's workspace */
    bool busy;
    tally_device *own_device; /* of a Plan object; NULL: the one of the number */
    tally_plan *plan;
    tally_desc described;
    size_t elements; /* per result */
    struct kept_plan *next;
} kept_plan;

/* A plan that no other thread uses, for the device and the stream of an array. NULL with an exception. */
kept_plan *plan_take(const array *x, const tally_desc *desc);
void plan_give(kept_plan *plan);

/* A plan that is not kept here but somebody's own, for one use at a time: an exception, and NULL, while another thread
 * runs it. plan_give ends the use. */
kept_plan *plan_hold(kept_plan *plan);

/* The device of a spec, which is opened once, and its number as in kept_plan. NULL with an exception. */
tally_device *device_of_spec(const char *spec, int *number);

/* The device that a kept plan runs on. */
tally_device *device_of(const kept_plan *plan);

/* An exception of a status that is not TALLY_OK; returns NULL. */
PyObject *raise_status(tally_status status);

#endif
