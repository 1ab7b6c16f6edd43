/* Devices, opened when they are first needed, and plans, made once for each computation and kept. */
#ifndef TALLY_PYTHON_PLANS_H
#define TALLY_PYTHON_PLANS_H

#include "array.h"

typedef struct kept_plan {
    tally_desc desc; /* as it was asked for; its defaults are filled in 'described' */
    int device;
    tally_stream stream; /* work of several streams would share the plan's workspace */
    bool busy;
    tally_plan *plan;
    tally_desc described;
    size_t elements; /* per result */
    struct kept_plan *next;
} kept_plan;

/* A plan that no other thread uses, for the device and the stream of an array. NULL with an exception. */
kept_plan *plan_take(const array *x, const tally_desc *desc);
void plan_give(kept_plan *plan);

/* An exception of a status that is not TALLY_OK; returns NULL. */
PyObject *raise_status(tally_status status);

#endif
