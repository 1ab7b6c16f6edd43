/* The class Plan: a computation of fixed types on a device of its own, ready to run time and again. */
#ifndef TALLY_PYTHON_PLAN_H
#define TALLY_PYTHON_PLAN_H

#include "array.h"

int plan_add_type(PyObject *module);

#endif
