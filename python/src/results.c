#include "results.h"

#include <math.h>
#include <string.h>

#include "dlpack.h"

/* ---- of NumPy ---- */

/* What is needed of NumPy, found when a first result is made: tally itself does not import it. Several threads may look
 * at once: an entry is set when it is whole, and the first one stays. */
static struct {
    PyObject *empty;                         /* numpy.empty */
    PyObject *scalars[2][TALLY_DTYPE_COUNT]; /* numpy.generic classes; [1]: bool */
    PyObject *dtypes[2][TALLY_DTYPE_COUNT];  /* numpy.dtype objects, set after the scalars */
} numpy;

/* Takes 'object', which may be NULL, for an entry. -1 if neither is there. */
static int keep(PyObject **entry, PyObject *object) {
    PyObject *none = NULL;
    if (object && !__atomic_compare_exchange_n(entry, &none, object, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        Py_DECREF(object);
    return object ? 0 : -1;
}

static PyObject *kept(PyObject **entry) {
    return __atomic_load_n(entry, __ATOMIC_ACQUIRE);
}

static PyObject *numpy_empty(void) {
    PyObject *module = kept(&numpy.empty) ? NULL : PyImport_ImportModule("numpy");
    if (module)
        keep(&numpy.empty, PyObject_GetAttrString(module, "empty"));
    Py_XDECREF(module);
    return kept(&numpy.empty);
}

static PyObject *numpy_dtype(tally_dtype dtype, bool is_bool, PyObject **scalar) {
    PyObject **entry = &numpy.dtypes[is_bool][dtype];
    if (!kept(entry)) {
        PyObject *module = PyImport_ImportModule("numpy");
        PyObject *found = module ? PyObject_CallMethod(module, "dtype", "s", dtype_name(dtype, is_bool)) : NULL;
        PyObject *type = found ? PyObject_GetAttrString(found, "type") : NULL;
        Py_XDECREF(module);
        if (keep(&numpy.scalars[is_bool][dtype], type)) {
            Py_XDECREF(found);
            return NULL;
        }
        keep(entry, found);
    }
    if (scalar)
        *scalar = numpy.scalars[is_bool][dtype];
    return kept(entry);
}

/* ---- of others ---- */

static void set_error(void *context, const char *kind, const char *message) {
    (void)context;
    (void)kind;
    PyErr_SetString(PyExc_RuntimeError, message);
}

/* A new array by the library's own allocator. */
static PyObject *allocated(const array *like, int ndim, const Py_ssize_t *shape, tally_dtype dtype, bool is_bool) {
    int64_t lengths[MAX_DIMS];
    tally_type_traits traits = {.struct_size = sizeof traits};
    tally_dtype_traits(dtype, &traits);
    for (int d = 0; d < ndim; d++)
        lengths[d] = shape[d];
    dl_tensor wanted = {.device_type = like->device < 0 ? DL_CPU : DL_CUDA,
                        .device_id = like->device < 0 ? 0 : like->device,
                        .ndim = ndim,
                        .bits = (uint8_t)(8 * traits.bytes),
                        .lanes = 1,
                        .shape = lengths};
    wanted.code = is_bool               ? DL_BOOL
                  : dtype == TALLY_BF16 ? DL_BFLOAT
                  : traits.is_float     ? DL_FLOAT
                  : traits.is_signed    ? DL_INT
                                        : DL_UINT;
    dl_versioned *made;
    void *object = NULL;
    if (like->exchange->allocate(&wanted, &made, NULL, set_error) || like->exchange->object_of_managed(made, &object))
        return NULL;
    return object;
}

/* ---- arrays and numbers ---- */

static PyObject *tuple_of(int ndim, const Py_ssize_t *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int d = 0; tuple && d < ndim; d++) {
        PyObject *length = PyLong_FromSsize_t(shape[d]);
        if (!length || PyTuple_SetItem(tuple, d, length))
            Py_CLEAR(tuple);
    }
    return tuple;
}

int array_new(array *made, const array *like, int ndim, const Py_ssize_t *shape, tally_dtype dtype, bool is_bool) {
    PyObject *lengths = like->exchange ? NULL : tuple_of(ndim, shape), *object = NULL, *empty, *type;
    if (like->exchange)
        object = allocated(like, ndim, shape, dtype, is_bool);
    else if (!lengths)
        return -1;
    else if (like->library == LIBRARY_NUMPY && dtype != TALLY_BF16)
        object = (empty = numpy_empty()) && (type = numpy_dtype(dtype, is_bool, NULL))
                     ? PyObject_CallFunctionObjArgs(empty, lengths, type, NULL)
                     : NULL;
    else
        object = PyObject_CallMethod(foreign, "empty", "OOs", like->object, lengths, dtype_name(dtype, is_bool));
    Py_XDECREF(lengths);
    if (!object)
        return -1;
    int wrong = array_open(made, object, true);
    Py_DECREF(object);
    return wrong;
}

bool array_has_numbers(const array *like, tally_dtype dtype) {
    return like->library == LIBRARY_BUFFER ||
           (like->library == LIBRARY_NUMPY && dtype != TALLY_F16 && dtype != TALLY_BF16);
}

static double double_of_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                             : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                            : ldexp(fraction, -24);
    return bits >> 15 ? -magnitude : magnitude;
}

/* The bits are the upper half of an f32's. */
static double double_of_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static PyObject *number_of(const void *bytes, tally_dtype dtype, bool is_bool) {
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f32;
        double f64;
    } v;
    memcpy(&v, bytes, tally_dtype_size(dtype));
    switch (dtype) {
    case TALLY_I8:
        return PyLong_FromLong(v.i8);
    case TALLY_I16:
        return PyLong_FromLong(v.i16);
    case TALLY_I32:
        return PyLong_FromLong(v.i32);
    case TALLY_I64:
        return PyLong_FromLongLong(v.i64);
    case TALLY_U8:
        return is_bool ? PyBool_FromLong(v.u8) : PyLong_FromLong(v.u8);
    case TALLY_U16:
        return PyLong_FromLong(v.u16);
    case TALLY_U32:
        return PyLong_FromUnsignedLong(v.u32);
    case TALLY_U64:
        return PyLong_FromUnsignedLongLong(v.u64);
    case TALLY_F16:
        return PyFloat_FromDouble(double_of_f16(v.u16));
    case TALLY_BF16:
        return PyFloat_FromDouble(double_of_bf16(v.u16));
    case TALLY_F32:
        return PyFloat_FromDouble((double)v.f32);
    case TALLY_F64:
        return PyFloat_FromDouble(v.f64);
    default:
        PyErr_SetString(PyExc_TypeError, "Python has no number of this type");
        return NULL;
    }
}

PyObject *array_number(const array *like, const void *bytes, tally_dtype dtype, bool is_bool) {
    PyObject *number = number_of(bytes, dtype, is_bool), *type, *result = NULL;
    if (!number || like->library != LIBRARY_NUMPY)
        return number;
    if (numpy_dtype(dtype, is_bool, &type))
        result = PyObject_CallFunctionObjArgs(type, number, NULL);
    Py_DECREF(number);
    return result;
}

static PyObject *item_of_nothing(PyObject *object) {
    PyObject *nothing = PyTuple_New(0), *item = nothing ? PyObject_GetItem(object, nothing) : NULL;
    Py_XDECREF(nothing);
    return item;
}

static PyObject *permuted(PyObject *object, int ndim, const int *order) {
    PyObject *axes = PyTuple_New(ndim);
    for (int d = 0; axes && d < ndim; d++)
        PyTuple_SetItem(axes, d, PyLong_FromLong(order[d]));
    PyObject *result = axes ? PyObject_CallMethod(foreign, "permuted", "OO", object, axes) : NULL;
    Py_XDECREF(axes);
    return result;
}

PyObject *array_result(array *made, const array *like, const int *order) {
    PyObject *object = Py_NewRef(made->object), *result;
    library kind = made->library;
    int ndim = made->ndim;
    array_close(made);
    if (ndim == 0 && kind != LIBRARY_FOREIGN)
        result = item_of_nothing(object);
    else
        result = order ? permuted(object, ndim, order) : Py_NewRef(object);
    Py_DECREF(object);
    if (result && kind == LIBRARY_NUMPY && like->library == LIBRARY_FOREIGN) {
        object = result;
        result = PyObject_CallMethod(foreign, "adopted", "OO", like->object, object);
        Py_DECREF(object);
    }
    return result;
}
