/* The class Accumulator: a partial result that can be added to, merged, pickled and asked for its value. It pickles as
 * words (docs/words.md), so that any process, machine or other program can read it. */
#include "accumulator.h"
#include "plans.h"
#include "results.h"

#include <stdlib.h>
#include <string.h>

/* Free-threaded builds lock an accumulator while it is used; elsewhere the interpreter's lock is held. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION()         }
#define Py_BEGIN_CRITICAL_SECTION2(a, b)  {
#define Py_END_CRITICAL_SECTION2()        }
#endif

typedef struct accumulator {
    PyObject_HEAD tally_accumulator *state;
    tally_desc desc;
} accumulator;

static PyObject *type; /* of all accumulators */

static PyObject *new_of(const tally_desc *desc) {
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    accumulator *self = (accumulator *)alloc((PyTypeObject *)type, 0);
    if (!self)
        return NULL;
    self->desc = *desc;
    tally_status status = tally_accumulator_create_for(desc, &self->state);
    if (status) {
        raise_status(status);
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *accumulator_new(PyTypeObject *unused, PyObject *args, PyObject *named) {
    static char *names[] = {"op", "dtype", "exact", "correction", NULL};
    const char *op = "sum";
    PyObject *dtype = NULL;
    int exact = 1;
    bool is_bool;
    tally_desc desc = TALLY_DESC_INIT;
    (void)unused;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|sOpi:Accumulator", names, &op, &dtype, &exact, &desc.ddof))
        return NULL;
    desc.in = TALLY_F64;
    if (dtype && dtype_from_object(dtype, &desc.in, &is_bool))
        return NULL;
    tally_status status = tally_op_from_name(op, &desc.op);
    if (status)
        return raise_status(status);
    desc.mode = exact ? TALLY_EXACT : TALLY_FAST;
    return new_of(&desc);
}

static void accumulator_free(PyObject *object) {
    freefunc release = (freefunc)PyType_GetSlot(Py_TYPE(object), Py_tp_free);
    PyObject *of = (PyObject *)Py_TYPE(object);
    tally_accumulator_destroy(((accumulator *)object)->state);
    release(object);
    Py_DECREF(of);
}

/* An array on the host in C order. */
static int open_host(array *a, PyObject *object, const accumulator *self) {
    if (array_open(a, object, false))
        return -1;
    if (a->device < 0 && (a->dtype == self->desc.in || a->is_empty_list) && (array_in_c_order(a) || array_copy(a) == 0))
        return 0;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "this accumulator takes arrays of %s in host memory",
                     dtype_name(self->desc.in, false));
    array_close(a);
    return -1;
}

static PyObject *add(PyObject *object, PyObject *args) {
    accumulator *self = (accumulator *)object;
    PyObject *x_object, *y_object = NULL;
    array x = {0}, y = {0};
    if (!PyArg_ParseTuple(args, "O|O:add", &x_object, &y_object) || open_host(&x, x_object, self))
        return NULL;
    if (y_object && open_host(&y, y_object, self)) {
        array_close(&x);
        return NULL;
    }
    size_t n = array_elements(&x);
    tally_status status = TALLY_OK;
    bool fits = (y_object != NULL) == (self->desc.op == TALLY_DOT) && (!y_object || array_elements(&y) == n);
    if (fits) {
        Py_BEGIN_CRITICAL_SECTION(object);
        status = tally_accumulator_add(self->state, x.data, y_object ? y.data : NULL, n);
        Py_END_CRITICAL_SECTION();
    } else {
        PyErr_SetString(PyExc_TypeError, "dot takes two arrays of the same number of elements, the others one");
    }
    array_close(&x);
    array_close(&y);
    if (status)
        return raise_status(status);
    return fits ? Py_NewRef(Py_None) : NULL;
}

static PyObject *merge(PyObject *object, PyObject *other) {
    if (!PyObject_TypeCheck(other, (PyTypeObject *)type)) {
        PyErr_SetString(PyExc_TypeError, "an accumulator merges with an accumulator");
        return NULL;
    }
    tally_status status;
    Py_BEGIN_CRITICAL_SECTION2(object, other);
    status = tally_accumulator_merge(((accumulator *)object)->state, ((accumulator *)other)->state);
    Py_END_CRITICAL_SECTION2();
    return status ? raise_status(status) : Py_NewRef(Py_None);
}

/* The state as words; *words is to be freed. -1 with an exception. */
static int words_of(accumulator *self, int64_t **words, size_t *bytes) {
    tally_words_info info = {.struct_size = sizeof info};
    tally_status status = tally_words_describe(&self->desc, &info);
    *bytes = info.count * sizeof **words;
    *words = status ? NULL : malloc(*bytes);
    if (!status && !*words) {
        PyErr_NoMemory();
        return -1;
    }
    if (!status) {
        Py_BEGIN_CRITICAL_SECTION(self);
        status = tally_accumulator_words(self->state, *words, *bytes);
        Py_END_CRITICAL_SECTION();
    }
    if (!status)
        return 0;
    free(*words);
    raise_status(status);
    return -1;
}

static PyObject *words(PyObject *object, PyObject *unused) {
    int64_t *values;
    size_t bytes;
    (void)unused;
    if (words_of((accumulator *)object, &values, &bytes))
        return NULL;
    PyObject *copy = PyBytes_FromStringAndSize((const char *)values, (Py_ssize_t)bytes);
    free(values);
    return copy;
}

static PyObject *add_words(PyObject *object, PyObject *source) {
    accumulator *self = (accumulator *)object;
    array a;
    if (array_open(&a, source, false))
        return NULL;
    tally_status status = TALLY_OK;
    if (a.device >= 0 || !array_in_c_order(&a)) {
        PyErr_SetString(PyExc_TypeError, "words are an array of int64, or its bytes, in host memory");
    } else {
        Py_BEGIN_CRITICAL_SECTION(object);
        status = tally_accumulator_add_words(self->state, (const int64_t *)(const void *)a.data,
                                             array_elements(&a) * tally_dtype_size(a.dtype));
        Py_END_CRITICAL_SECTION();
    }
    array_close(&a);
    if (status)
        return raise_status(status);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *copy(PyObject *object, PyObject *unused) {
    accumulator *self = (accumulator *)object;
    PyObject *made = new_of(&self->desc), *done = made ? merge(made, object) : NULL;
    (void)unused;
    Py_XDECREF(done);
    if (made && !done)
        Py_CLEAR(made);
    return made;
}

static PyObject *plus(PyObject *left, PyObject *right) {
    /* Python's sum() starts from 0. */
    if (PyLong_CheckExact(left) && !PyObject_IsTrue(left))
        return copy(right, NULL);
    if (!PyObject_TypeCheck(left, (PyTypeObject *)type) || !PyObject_TypeCheck(right, (PyTypeObject *)type))
        return Py_NewRef(Py_NotImplemented);
    PyObject *sum = copy(left, NULL), *done = sum ? merge(sum, right) : NULL;
    Py_XDECREF(done);
    if (sum && !done)
        Py_CLEAR(sum);
    return sum;
}

static PyObject *plus_in_place(PyObject *left, PyObject *right) {
    if (!PyObject_TypeCheck(right, (PyTypeObject *)type))
        return Py_NewRef(Py_NotImplemented);
    PyObject *done = merge(left, right);
    Py_XDECREF(done);
    return done ? Py_NewRef(left) : NULL;
}

/* The default output type of the operator for inputs of a type. */
static tally_dtype default_of(const tally_desc *desc) {
    static const tally_dtype without_sign[] = {
        [TALLY_I8] = TALLY_U8, [TALLY_I16] = TALLY_U16, [TALLY_I32] = TALLY_U32, [TALLY_I64] = TALLY_U64};
    tally_traits traits = {.struct_size = sizeof traits};
    tally_type_traits in = {.struct_size = sizeof in};
    tally_op_traits(desc->op, &traits);
    tally_dtype_traits(desc->in, &in);
    switch (traits.result) {
    case TALLY_RESULT_WIDE:
        return in.is_float ? desc->in : in.is_signed ? TALLY_I64 : TALLY_U64;
    case TALLY_RESULT_WIDE_UNSIGNED:
        return in.is_float ? desc->in : TALLY_U64;
    case TALLY_RESULT_UNSIGNED:
        return in.is_float || !in.is_signed ? desc->in : without_sign[desc->in];
    case TALLY_RESULT_FLOAT:
        return in.is_float ? desc->in : TALLY_F64;
    case TALLY_RESULT_INDEX:
        return TALLY_I64;
    case TALLY_RESULT_FLAG:
        return TALLY_U8;
    default:
        return desc->in;
    }
}

static PyObject *value(PyObject *object, PyObject *args) {
    accumulator *self = (accumulator *)object;
    PyObject *dtype = NULL;
    tally_dtype out = default_of(&self->desc);
    tally_traits traits = {.struct_size = sizeof traits};
    bool is_bool = false;
    uint64_t results[2];
    array plain = {.library = LIBRARY_BUFFER};
    tally_op_traits(self->desc.op, &traits);
    if (!PyArg_ParseTuple(args, "|O:value", &dtype) ||
        (dtype && dtype != Py_None && dtype_from_object(dtype, &out, &is_bool)))
        return NULL;
    if (is_bool && traits.result != TALLY_RESULT_FLAG)
        return PyErr_Format(PyExc_TypeError, "%s gives no bool", tally_op_name(self->desc.op));
    tally_status status;
    Py_BEGIN_CRITICAL_SECTION(object);
    status = tally_accumulator_value(self->state, out, results);
    Py_END_CRITICAL_SECTION();
    if (status)
        return raise_status(status);
    PyObject *first = array_number(&plain, results, out, traits.result == TALLY_RESULT_FLAG);
    if (traits.elements_per_result == 1 || !first)
        return first;
    PyObject *second = array_number(&plain, (char *)results + tally_dtype_size(out), out, false);
    PyObject *pair = second ? PyTuple_Pack(2, first, second) : NULL;
    Py_DECREF(first);
    Py_XDECREF(second);
    return pair;
}

static PyObject *reduce(PyObject *object, PyObject *unused) {
    accumulator *self = (accumulator *)object;
    PyObject *state = words(object, NULL);
    (void)unused;
    return state ? Py_BuildValue("(O(ssii)N)", type, tally_op_name(self->desc.op), dtype_name(self->desc.in, false),
                                 self->desc.mode == TALLY_EXACT, self->desc.ddof, state)
                 : NULL;
}

static PyObject *count(PyObject *object, void *unused) {
    (void)unused;
    uint64_t elements;
    Py_BEGIN_CRITICAL_SECTION(object);
    elements = tally_accumulator_count(((accumulator *)object)->state);
    Py_END_CRITICAL_SECTION();
    return PyLong_FromUnsignedLongLong(elements);
}

static PyMethodDef methods[] = {
    {"add", add, METH_VARARGS, "add($self, x, y=None, /)\n--\n\nAdds the elements of an array, of two for dot."},
    {"merge", merge, METH_O,
     "merge($self, other, /)\n--\n\nAdds the elements of another, as if they came next. += does the same."},
    {"value", value, METH_VARARGS,
     "value($self, dtype=None, /)\n--\n\nThe value of what was added so far, as a Python number."},
    {"words", words, METH_NOARGS,
     "words($self, /)\n--\n\nThe state as bytes of int64s, which other engines combine: docs/words.md."},
    {"add_words", add_words, METH_O, "add_words($self, words, /)\n--\n\nAdds the elements that words stand for."},
    {"copy", copy, METH_NOARGS, "copy($self, /)\n--\n\nAnother accumulator of the same elements."},
    {"__setstate__", add_words, METH_O, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"count", count, NULL, "how many elements were added", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Accumulator(op='sum', dtype='float64', exact=True, correction=0)\n--\n\n"
     "A partial result. add() takes arrays in pieces, + and merge() join the results of threads, processes and\n"
     "machines, value() rounds once: with exact=True the same bits however the input was split. It pickles."},
    {Py_tp_new, accumulator_new},
    {Py_tp_dealloc, accumulator_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_nb_add, plus},
    {Py_nb_inplace_add, plus_in_place},
    {0, NULL},
};

static PyType_Spec spec = {"tally.Accumulator", sizeof(accumulator), 0, Py_TPFLAGS_DEFAULT, slots};

int accumulator_add_type(PyObject *module) {
    if (!type) /* once: a subinterpreter may come here, too, and what others pickle must stay the class of that name */
        type = PyType_FromSpec(&spec);
    return type ? PyModule_AddObjectRef(module, "Accumulator", type) : -1;
}
