/* Results as the caller's kind of array or number: new arrays by the library of another one, and what becomes of them.
 */
#ifndef TALLY_PYTHON_RESULTS_H
#define TALLY_PYTHON_RESULTS_H

#include "array.h"

/* A new array in C order, of the same library and device as 'like', opened in *made. */
int array_new(array *made, const array *like, int ndim, const Py_ssize_t *shape, tally_dtype dtype, bool is_bool);

/* Whether a single result of this type becomes a number of Python or NumPy: array_number makes it of the bytes. */
bool array_has_numbers(const array *like, tally_dtype dtype);
PyObject *array_number(const array *like, const void *bytes, tally_dtype dtype, bool is_bool);

/* The Python object, of the library of 'like', of results in 'made', which is closed. Dimension d of the object is
 * dimension order[d] of 'made' (NULL: as they are). No dimensions: NumPy's and Python's scalar. */
PyObject *array_result(array *made, const array *like, const int *order);

#endif
