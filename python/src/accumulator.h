#ifndef TALLY_PYTHON_ACCUMULATOR_H
#define TALLY_PYTHON_ACCUMULATOR_H

#include "array.h"

/* Adds the class Accumulator to the module. -1 with an exception. */
int accumulator_add_type(PyObject *module);

#endif
