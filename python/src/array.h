/* Arrays of other libraries, in place: what they are, and where their elements lie. */
#ifndef TALLY_PYTHON_ARRAY_H
#define TALLY_PYTHON_ARRAY_H

#include "dtype.h"

enum { MAX_DIMS = 64 }; /* as NumPy's */

/* Whose array it is. All but NumPy's are reached through the package's module 'foreign'. */
typedef enum library { LIBRARY_NUMPY, LIBRARY_BUFFER, LIBRARY_FOREIGN } library;

typedef struct array {
    PyObject *object; /* owned */
    library library;
    char *data;
    tally_dtype dtype;
    bool is_bool; /* its elements are u8 for the library */
    bool has_buffer;
    bool is_empty_list; /* of doubles, which is taken for an empty array of any type */
    int device;         /* a CUDA device's number; -1: host memory */
    int ndim;
    Py_ssize_t shape[MAX_DIMS];
    Py_ssize_t strides[MAX_DIMS]; /* in bytes */
    Py_buffer buffer;
    PyObject *capsule;                  /* DLPack's, owned, or NULL */
    const struct dl_exchange *exchange; /* its library's functions, or NULL */
    tally_stream stream;                /* the library's current one; TALLY_SYNCHRONOUS on the host */
} array;

/* Looks into an array without a copy. Returns 0, or -1 with an exception. array_close undoes it; it accepts an array
 * of zeros. */
int array_open(array *a, PyObject *object, bool writable);
void array_close(array *a);

size_t array_elements(const array *a);

/* Whether the elements lie in C order, without gaps. */
bool array_in_c_order(const array *a);

/* Opens an array of the same kind and elements in C order, and closes the old one. -1 with an exception. */
int array_copy(array *a);

/* Whether the elements lie, without gaps, as the library's outer x extent x inner for a reduction over some dimensions;
 * with in_order, also in C order. 'over' has a bit for each of these dimensions. 'shape' receives the three extents.
 * 'order' receives the dimensions from the widest stride to the narrowest; those of length 1 come last. */
bool array_fits(const array *a, unsigned long long over, bool in_order, tally_shape *shape, int *order);

/* The module tally.foreign: what other libraries are asked for by their own functions. */
extern PyObject *foreign;

int array_module_init(void);

#endif
