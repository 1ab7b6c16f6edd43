#include "array.h"

#include <pthread.h>
#include <string.h>

#include "dlpack.h"

PyObject *foreign;

/* ---- looking into one ---- */

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

/* ---- how to look into it ---- */

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

/* How objects of a class are looked into. */
typedef enum way { BY_BUFFER, BY_NUMPY, BY_EXCHANGE, BY_DLPACK, AS_NUMBERS, MASKED, NO_WAY } way;

static way way_of(PyObject *object, const dl_exchange **exchange) {
    PyObject *type = (PyObject *)Py_TYPE(object);
    *exchange = NULL;
    if (is_numpys(object, "numpy.ma", "MaskedArray"))
        return MASKED;
    if (is_of_module(type, "numpy") || is_numpys(object, "numpy", "ndarray"))
        return BY_NUMPY;
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

/* ---- arrays ---- */

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

/* ---- their dimensions ---- */

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
