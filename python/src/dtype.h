/* The library's types by the names and codes that Python has for them. */
#ifndef TALLY_PYTHON_DTYPE_H
#define TALLY_PYTHON_DTYPE_H

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* free-threaded builds have no stable ABI */
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
#include <stdbool.h>
#include <tally/tally.h>

/* The names of types: NumPy's, "bfloat16" besides. */
const char *dtype_name(tally_dtype dtype, bool is_bool);

/* A str's bytes, which live as long as it does. NULL with an exception, also for a str with a null character: C would
 * see only the part before it. */
const char *whole_text(PyObject *str);

/* From a name, or an object with a name: NumPy's dtype objects and classes, PyTorch's dtypes. -1 with an exception. */
int dtype_from_object(PyObject *object, tally_dtype *dtype, bool *is_bool);

/* From a class of numbers and their size. TALLY_DEFAULT: the library has no such type. */
tally_dtype dtype_of_parts(bool is_float, bool is_signed, size_t bytes);

/* From a buffer's format, in the codes of the module struct. -1 with an exception. */
int dtype_of_format(const char *format, Py_ssize_t bytes, tally_dtype *dtype, bool *is_bool);

#endif
