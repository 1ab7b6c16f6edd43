#include "array.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------- NumPy's arrays ----- */

/* What is needed of NumPy, found when its first array comes: tally itself does not import it. Several threads may look
 * at once: an entry is set when it is whole, and the first one stays. */
static struct {
    PyObject *array_type;                    /* numpy.ndarray */
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

PyObject *foreign;

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

/* Whether a class is of the module 'name' or of one in it. */
static bool is_of_module(PyObject *type, const char *name) {
    PyObject *module = PyObject_GetAttrString(type, "__module__");
    const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
    size_t length = strlen(name);
    bool is = text && !strncmp(text, name, length) && (text[length] == 0 || text[length] == '.');
    PyErr_Clear();
    Py_XDECREF(module);
    return is;
}

/* Whether an object's class is one of NumPy's, in a module of it, or is derived from that one. */
static bool is_numpys(PyObject *object, const char *module, const char *class) {
    PyObject *classes = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__mro__");
    bool is = false;
    for (Py_ssize_t k = classes ? PyTuple_Size(classes) : 0; !is && k-- > 0;) {
        PyObject *type = PyTuple_GetItem(classes, k);
        PyObject *name = is_of_module(type, module) ? PyObject_GetAttrString(type, "__name__") : NULL;
        is = name && PyUnicode_CompareWithASCIIString(name, class) == 0;
        Py_XDECREF(name);
    }
    PyErr_Clear();
    Py_XDECREF(classes);
    return is;
}

static int find_numpy(void) {
    PyObject *module = PyImport_ImportModule("numpy");
    if (!module)
        return -1;
    int wrong = keep(&numpy.empty, PyObject_GetAttrString(module, "empty")) ||
                keep(&numpy.array_type, PyObject_GetAttrString(module, "ndarray"));
    Py_DECREF(module);
    return wrong ? -1 : 0;
}

/* ------------------------------------------------------------------------------------- DLPack's arrays ----- */

/* DLPack's interface between programs, as its specification fixes it. */
typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL: C order */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed { /* capsules named "dltensor" */
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
} dl_managed;

typedef struct dl_versioned { /* capsules named "dltensor_versioned" */
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* What a class offers to C, in a capsule "dlpack_exchange_api" that is its attribute __dlpack_c_exchange_api__. */
typedef struct dl_exchange {
    uint32_t major, minor;
    struct dl_exchange *previous;
    int (*allocate)(dl_tensor *like, dl_versioned **made, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*managed_of_object)(void *object, dl_versioned **tensor);
    int (*object_of_managed)(dl_versioned *tensor, void **object); /* takes the tensor */
    int (*tensor_of_object)(void *object, dl_tensor *tensor);      /* lent while the object lives; may be NULL */
    int (*current_stream)(int device_type, int32_t device, void **stream);
} dl_exchange;

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_READ_ONLY = 1 };

static int open_tensor(array *a, const dl_tensor *t) {
    if (t->ndim > MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "tally takes at most %d dimensions", MAX_DIMS);
        return -1;
    }
    if (t->device_type != DL_CPU && t->device_type != DL_CUDA_HOST && t->device_type != DL_CUDA &&
        t->device_type != DL_CUDA_MANAGED) {
        PyErr_SetString(PyExc_TypeError, "tally computes on the CPU and on CUDA; this array is elsewhere");
        return -1;
    }
    a->device = t->device_type == DL_CUDA || t->device_type == DL_CUDA_MANAGED ? t->device_id : -1;
    a->is_bool = t->code == DL_BOOL;
    a->dtype = t->lanes != 1          ? TALLY_DEFAULT
               : t->code == DL_BFLOAT ? (t->bits == 16 ? TALLY_BF16 : TALLY_DEFAULT)
               : t->code == DL_FLOAT || t->code == DL_INT || t->code == DL_UINT || t->code == DL_BOOL
                   ? dtype_of_parts(t->code == DL_FLOAT, t->code == DL_INT, t->bits / 8)
                   : TALLY_DEFAULT;
    if (a->dtype == TALLY_DEFAULT) {
        PyErr_Format(PyExc_TypeError, "tally has no elements of DLPack's code %d with %d bits", t->code, t->bits);
        return -1;
    }
    Py_ssize_t bytes = (Py_ssize_t)tally_dtype_size(a->dtype), stride = bytes;
    a->data = (char *)t->data + t->byte_offset;
    a->ndim = t->ndim;
    for (int d = t->ndim; d-- > 0; stride *= a->shape[d] ? a->shape[d] : 1) {
        a->shape[d] = (Py_ssize_t)t->shape[d];
        a->strides[d] = t->strides ? (Py_ssize_t)t->strides[d] * bytes : stride;
    }
    return 0;
}

/* foreign.export(object) gives a capsule and the stream that the object's library computes in. */
static int open_capsule(array *a, PyObject *object, bool writable) {
    PyObject *pair = PyObject_CallMethod(foreign, "export", "O", object);
    if (!pair)
        return -1;
    a->library = LIBRARY_FOREIGN;
    a->capsule = Py_XNewRef(PyTuple_GetItem(pair, 0));
    PyObject *stream = PyTuple_GetItem(pair, 1);
    a->stream = stream ? PyLong_AsVoidPtr(stream) : NULL;
    Py_DECREF(pair);
    if (!a->capsule || PyErr_Occurred())
        return -1;
    dl_versioned *versioned = NULL;
    if (PyCapsule_IsValid(a->capsule, "dltensor_versioned")) {
        versioned = PyCapsule_GetPointer(a->capsule, "dltensor_versioned");
        if (versioned->major != 1) {
            PyErr_Format(PyExc_BufferError, "DLPack %u is not known to tally", versioned->major);
            return -1;
        }
        if (writable && (versioned->flags & DL_READ_ONLY)) {
            PyErr_SetString(PyExc_ValueError, "the output is read-only");
            return -1;
        }
        return open_tensor(a, &versioned->tensor);
    }
    dl_managed *managed = PyCapsule_GetPointer(a->capsule, "dltensor");
    return managed ? open_tensor(a, &managed->tensor) : -1;
}

/* PyTorch computes gradients of what it computes itself; tally's results would have none. */
static int refuse_gradients(PyObject *object) {
    PyObject *requires_grad = PyObject_GetAttrString(object, "requires_grad"), *done = Py_None;
    if (requires_grad == Py_True)
        done = PyObject_CallMethod(foreign, "refuse_gradients", NULL);
    PyErr_Clear();
    Py_XDECREF(requires_grad);
    if (done)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "tally computes no gradients: detach() the tensor, or use torch.no_grad()");
    return -1;
}

static int open_exchanged(array *a, PyObject *object) {
    dl_tensor tensor;
    a->library = LIBRARY_FOREIGN;
    if (refuse_gradients(object) || a->exchange->tensor_of_object(object, &tensor) || open_tensor(a, &tensor))
        return -1;
    if (a->device < 0)
        return 0;
    void *stream = NULL;
    if (a->exchange->current_stream(tensor.device_type, tensor.device_id, &stream))
        return -1;
    a->stream = stream ? stream : (void *)1; /* CUDA's legacy stream, by the name that is not "wait" */
    return 0;
}

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

/* ---------------------------------------------------------------------------------------------- arrays ----- */

static int open_buffer(array *a, PyObject *object, bool writable) {
    if (PyObject_GetBuffer(object, &a->buffer, PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)))
        return -1;
    a->has_buffer = true;
    if (a->buffer.ndim > MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "tally takes at most %d dimensions", MAX_DIMS);
        return -1;
    }
    a->data = a->buffer.buf;
    a->ndim = a->buffer.ndim;
    Py_ssize_t stride = a->buffer.itemsize;
    for (int d = a->ndim; d-- > 0; stride *= a->shape[d]) { /* ctypes gives no strides, also to who asks for them */
        a->shape[d] = a->buffer.shape[d];
        a->strides[d] = a->buffer.strides ? a->buffer.strides[d] : stride;
    }
    return dtype_of_format(a->buffer.format, a->buffer.itemsize, &a->dtype, &a->is_bool);
}

/* How objects of a class are looked into. */
typedef enum way { BY_BUFFER, BY_NUMPY, BY_EXCHANGE, BY_DLPACK, AS_NUMBERS, MASKED, NO_WAY } way;

static way way_of(PyObject *object, const dl_exchange **exchange) {
    PyObject *type = (PyObject *)Py_TYPE(object);
    *exchange = NULL;
    if (is_numpys(object, "numpy.ma", "MaskedArray"))
        return MASKED;
    if (is_of_module(type, "numpy") || is_numpys(object, "numpy", "ndarray"))
        return kept(&numpy.array_type) || find_numpy() == 0 ? BY_NUMPY : NO_WAY;
    if (PyList_Check(object) || PyTuple_Check(object))
        return AS_NUMBERS;
    if (is_of_module(type, "builtins") || is_of_module(type, "array"))
        return PyObject_CheckBuffer(object) ? BY_BUFFER : NO_WAY;
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    const dl_exchange *api = capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api")
                                 ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
                                 : NULL;
    PyErr_Clear();
    Py_XDECREF(capsule);
    while (api && api->major != 1)
        api = api->previous;
    if (api && api->tensor_of_object) {
        *exchange = api;
        return BY_EXCHANGE;
    }
    if (PyObject_HasAttrString(object, "__dlpack__"))
        return BY_DLPACK;
    return PyObject_CheckBuffer(object) ? BY_BUFFER : NO_WAY;
}

/* way_of, for classes that came before from memory. */
static way known_way_of(PyObject *object, const dl_exchange **exchange) {
    enum { KNOWN = 16 };
    static struct {
        PyObject *type;
        way way;
        const dl_exchange *exchange;
    } known[KNOWN];
    static int count;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    PyObject *type = (PyObject *)Py_TYPE(object);
    const int seen = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    for (int k = 0; k < seen; k++)
        if (known[k].type == type) {
            *exchange = known[k].exchange;
            return known[k].way;
        }
    way found = way_of(object, exchange);
    pthread_mutex_lock(&lock);
    if (found != NO_WAY && count < KNOWN) {
        known[count].type = Py_NewRef(type);
        known[count].way = found;
        known[count].exchange = *exchange;
        __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE); /* last: who does not see it yet looks again */
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int array_open(array *a, PyObject *object, bool writable) {
    int wrong = -1;
    a->object = Py_NewRef(object);
    a->library = LIBRARY_BUFFER;
    a->device = -1;
    a->capsule = NULL;
    a->has_buffer = a->is_bool = a->is_empty_list = false;
    a->stream = TALLY_SYNCHRONOUS;
    switch (known_way_of(object, &a->exchange)) {
    case BY_NUMPY:
        a->library = LIBRARY_NUMPY;
        wrong = open_buffer(a, object, writable);
        break;
    case BY_BUFFER:
        wrong = open_buffer(a, object, writable);
        break;
    case BY_EXCHANGE:
        wrong = open_exchanged(a, object);
        break;
    case BY_DLPACK:
        wrong = open_capsule(a, object, writable);
        break;
    case AS_NUMBERS:
        Py_DECREF(a->object);
        a->object = PyObject_CallMethod(foreign, "numbers", "(O)", object);
        wrong = a->object ? open_buffer(a, a->object, writable) : -1;
        a->is_empty_list = !wrong && array_elements(a) == 0;
        break;
    case MASKED:
        PyErr_SetString(PyExc_TypeError, "tally does not look at the masks of masked arrays");
        break;
    case NO_WAY:
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "tally takes arrays (the buffer protocol or DLPack), not %R",
                         Py_TYPE(object));
    }
    if (wrong)
        array_close(a);
    return wrong;
}

void array_close(array *a) {
    if (a->has_buffer)
        PyBuffer_Release(&a->buffer);
    a->has_buffer = false;
    Py_CLEAR(a->capsule);
    Py_CLEAR(a->object);
}

size_t array_elements(const array *a) {
    size_t n = 1;
    for (int d = 0; d < a->ndim; d++)
        n *= (size_t)a->shape[d];
    return n;
}

bool array_in_c_order(const array *a) {
    Py_ssize_t stride = (Py_ssize_t)tally_dtype_size(a->dtype);
    for (int d = a->ndim; d-- > 0; stride *= a->shape[d])
        if (a->shape[d] != 1 && a->strides[d] != stride)
            return array_elements(a) == 0;
    return true;
}

int array_copy(array *a) {
    PyObject *copy = PyObject_CallMethod(foreign, "in_c_order", "O", a->object);
    if (!copy)
        return -1;
    array_close(a);
    int wrong = array_open(a, copy, false);
    Py_DECREF(copy);
    return wrong;
}

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
    PyObject *lengths = like->exchange ? NULL : tuple_of(ndim, shape), *object = NULL, *type;
    if (like->exchange)
        object = allocated(like, ndim, shape, dtype, is_bool);
    else if (!lengths)
        return -1;
    else if (like->library == LIBRARY_NUMPY && dtype != TALLY_BF16)
        object = (type = numpy_dtype(dtype, is_bool, NULL))
                     ? PyObject_CallFunctionObjArgs(numpy.empty, lengths, type, NULL)
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
    return like->library != LIBRARY_FOREIGN && dtype != TALLY_F16 && dtype != TALLY_BF16;
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

/* ------------------------------------------------------------------------------------ their dimensions ----- */

bool array_fits(const array *a, unsigned long long over, bool in_order, tally_shape *shape, int *order) {
    *shape = (tally_shape){1, 1, 1, 0};
    bool empty = array_elements(a) == 0;
    int count = 0, ones = a->ndim;
    for (int d = a->ndim; d-- > 0;)
        if (a->shape[d] == 1)
            order[--ones] = d;
    for (int d = 0; d < a->ndim; d++) { /* from the widest to the narrowest; equals stay */
        if (a->shape[d] == 1)
            continue;
        int at = count++;
        for (; !empty && !in_order && at > 0 && a->strides[order[at - 1]] < a->strides[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    Py_ssize_t stride = (Py_ssize_t)tally_dtype_size(a->dtype);
    int part = 0; /* 0: inner, 1: the reduced ones, 2: outer */
    for (int k = count; k-- > 0; stride *= a->shape[order[k]]) {
        int d = order[k];
        bool reduced = over >> d & 1;
        if (!empty && a->strides[d] != stride)
            return false;
        if (reduced && part == 2)
            return false;
        part = reduced ? 1 : part == 1 ? 2 : part;
        *(part == 0 ? &shape->inner : part == 1 ? &shape->extent : &shape->outer) *= (uint64_t)a->shape[d];
    }
    return true;
}

int array_module_init(void) {
    foreign = PyImport_ImportModule("tally.foreign");
    return foreign ? 0 : -1;
}
