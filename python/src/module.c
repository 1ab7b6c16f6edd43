/* The functions of the module tally: each takes arrays and options apart, finds a plan, runs it on the arrays in place
 * and returns what the caller's library would. */
#include "accumulator.h"
#include "array.h"
#include "plans.h"

#include <stdlib.h>
#include <string.h>

/* Work of fewer bytes than this keeps the interpreter's lock: to give it up and take it again costs as much. */
enum { UNLOCKED_BYTES = 32768 };

/* -------------------------------------------------------------------------------------------- options ----- */

enum option {
    AXIS,
    DTYPE,
    KEEPDIMS,
    EXACT,
    OUT,
    COPY,
    CORRECTION,
    OFFSETS,
    KEYS,
    LABELS,
    GROUPS,
    SKIP_BAD_LABELS,
    REVERSE,
    EXCLUSIVE,
    INCLUDE_INITIAL,
    OPTIONS
};

/* In the order of the enumeration: name, default, and what the functions' documentation says. */
static const struct {
    const char *name, *value, *text;
} option_table[OPTIONS] = {
    {"axis", "None", "the dimension to go along, or several of a reduction; None: all values"},
    {"dtype", "None", "the type of the result"},
    {"keepdims", "False", "whether reduced dimensions stay, with length 1"},
    {"exact", "False", "rounds once, from the infinitely precise result: the same bits on every device"},
    {"out", "None", "an array for the result, of just its shape and type, in C order"},
    {"copy", "None", "False: ValueError where the layout would need a copy"},
    {"correction", "0", "var and std divide by n - correction; more than 0: unbiased skewness and kurtosis"},
    {"offsets", "None", "segment i is elements offsets[i] to offsets[i + 1] - 1 of x"},
    {"keys", "None", "a group is a run of equal neighbouring keys; reductions return the results and the runs' keys"},
    {"labels", "None", "group g is the elements whose label is g"},
    {"groups", "None", "how many groups labels have; None: one more than the greatest label, on the CPU"},
    {"skip_bad_labels", "False", "leaves out elements whose label is no group's, which are a ValueError otherwise"},
    {"reverse", "False", "goes from the last element to the first"},
    {"exclusive", "False", "leaves each element out of its own result"},
    {"include_initial", "False", "begins with the value of no elements: one result more than elements"},
};
static PyObject *option_words[OPTIONS]; /* interned: a caller's keyword is mostly the same object */

/* What a function is. */
typedef struct function {
    const char *name;
    tally_op op;
    tally_form form;
    unsigned options; /* a bit each */
} function;

typedef struct call {
    const function *function;
    PyObject *inputs[2];
    PyObject *options[OPTIONS]; /* NULL: not given, or None */
    tally_traits traits;
} call;

static int option_of(PyObject *name) {
    for (int k = 0; k < OPTIONS; k++)
        if (option_words[k] == name)
            return k;
    for (int k = 0; k < OPTIONS; k++)
        if (PyUnicode_CompareWithASCIIString(name, option_table[k].name) == 0)
            return k;
    return OPTIONS;
}

static int call_open(call *c, const function *f, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    memset(c, 0, sizeof *c);
    c->function = f;
    c->traits.struct_size = sizeof c->traits;
    tally_op_traits(f->op, &c->traits);
    if (count != c->traits.inputs) {
        PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s (%zd given)", f->name, c->traits.inputs,
                     c->traits.inputs == 1 ? "" : "s", count);
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++)
        c->inputs[k] = args[k];
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *name = PyTuple_GetItem(names, k);
        int option = option_of(name);
        if (option == OPTIONS || !(f->options >> option & 1)) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f->name, name);
            return -1;
        }
        c->options[option] = args[count + k] == Py_None ? NULL : args[count + k];
    }
    return 0;
}

/* -1 with an exception. */
static int is_set(const call *c, enum option option) {
    return c->options[option] ? PyObject_IsTrue(c->options[option]) : 0;
}

/* The dimensions that are reduced, a bit each: all of them without an axis. */
static int axes_of(const call *c, int ndim, unsigned long long *over) {
    PyObject *axis = c->options[AXIS];
    *over = 0;
    if (!axis) {
        *over = ndim == 64 ? ~0ull : (1ull << ndim) - 1;
        return 0;
    }
    bool several = PyTuple_Check(axis);
    Py_ssize_t count = several ? PyTuple_Size(axis) : 1;
    if (several && (c->traits.has_index || c->function->form != TALLY_REDUCE)) {
        PyErr_Format(PyExc_TypeError, "%s() takes one axis", c->function->name);
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *index = PyNumber_Index(several ? PyTuple_GetItem(axis, k) : axis);
        Py_ssize_t d = index ? PyLong_AsSsize_t(index) : -1;
        Py_XDECREF(index);
        if (d == -1 && PyErr_Occurred())
            return -1;
        if (d < -ndim || d >= ndim) {
            PyErr_Format(PyExc_IndexError, "axis %zd is out of bounds for an array of %d dimension%s", d, ndim,
                         ndim == 1 ? "" : "s");
            return -1;
        }
        d += d < 0 ? ndim : 0;
        if (*over >> d & 1) {
            PyErr_Format(PyExc_ValueError, "axis %zd is named twice", d);
            return -1;
        }
        *over |= 1ull << d;
    }
    return 0;
}

/* Whole numbers from 0 are the library's ddof. For others *correction stays, and results are scaled after. */
static int correction_of(const call *c, int *ddof, double *correction) {
    *ddof = 0;
    *correction = c->options[CORRECTION] ? PyFloat_AsDouble(c->options[CORRECTION]) : 0;
    if (*correction == -1 && PyErr_Occurred())
        return -1;
    if (*correction >= 0 && *correction <= 1 << 30 && *correction == (double)(int)*correction) {
        *ddof = (int)*correction;
        *correction = 0;
    } else if (is_set(c, EXACT) || (c->function->op != TALLY_VAR && c->function->op != TALLY_STD)) {
        PyErr_Format(PyExc_ValueError, "%s(): correction must be a whole number, 0 or more", c->function->name);
        return -1;
    }
    return 0;
}

/* var and std of n elements, which were divided by n, as if it had been by n - correction; takes the reference. */
static PyObject *corrected(const call *c, PyObject *result, double n, double correction) {
    PyObject *foreign = PyImport_ImportModule("tally.foreign");
    PyObject *scaled =
        foreign ? PyObject_CallMethod(foreign, "corrected", "Oddi", result, n, correction, c->function->op == TALLY_STD)
                : NULL;
    Py_XDECREF(foreign);
    Py_DECREF(result);
    return scaled;
}

/* The types of the computation; *is_bool: of its results. */
static int types_of(const call *c, const array *x, tally_desc *desc, bool *is_bool) {
    desc->in = x->dtype;
    *is_bool = c->traits.result == TALLY_RESULT_FLAG || (x->is_bool && c->traits.result == TALLY_RESULT_SAME);
    if (x->is_bool && c->traits.result == TALLY_RESULT_WIDE)
        desc->out = TALLY_I64;
    if (!c->options[DTYPE])
        return 0;
    if (dtype_from_object(c->options[DTYPE], &desc->out, is_bool))
        return -1;
    tally_type_traits in = {.struct_size = sizeof in}, out = {.struct_size = sizeof out};
    tally_dtype_traits(desc->in, &in);
    tally_dtype_traits(desc->out, &out);
    if (*is_bool || (in.is_float && !out.is_float)) {
        PyErr_Format(PyExc_TypeError, "%s() of %s gives no %s", c->function->name, dtype_name(x->dtype, x->is_bool),
                     dtype_name(desc->out, *is_bool));
        return -1;
    }
    if (desc->out == TALLY_F64 && desc->mode == TALLY_FAST && c->traits.result == TALLY_RESULT_WIDE)
        desc->acc = TALLY_F64; /* as if each element were converted first */
    return 0;
}

/* ------------------------------------------------------------------------------------------- computing ----- */

static tally_status run(const array *x, kept_plan *kept, const tally_args *args, size_t bytes) {
    tally_status status;
    if (x->device < 0 && bytes < UNLOCKED_BYTES)
        return tally_run(kept->plan, args, TALLY_SYNCHRONOUS);
    Py_BEGIN_ALLOW_THREADS;
    status = tally_run(kept->plan, args, x->stream);
    Py_END_ALLOW_THREADS;
    return status;
}

/* An array whose reduced dimensions lie together, as a copy in C order with them last. */
static int copied_with_last(array *x, unsigned long long over) {
    PyObject *axes = PyTuple_New(x->ndim);
    int at = 0;
    for (int part = 0; axes && part < 2; part++)
        for (int d = 0; d < x->ndim; d++)
            if ((int)(over >> d & 1) == part)
                PyTuple_SetItem(axes, at++, PyLong_FromLong(d));
    PyObject *foreign = axes ? PyImport_ImportModule("tally.foreign") : NULL;
    PyObject *moved = foreign ? PyObject_CallMethod(foreign, "permuted", "OO", x->object, axes) : NULL;
    PyObject *copy = moved ? PyObject_CallMethod(foreign, "in_c_order", "O", moved) : NULL;
    Py_XDECREF(axes);
    Py_XDECREF(foreign);
    Py_XDECREF(moved);
    if (!copy)
        return -1;
    array_close(x);
    int wrong = array_open(x, copy, false);
    Py_DECREF(copy);
    return wrong;
}

static int may_copy(const call *c) {
    if (!c->options[COPY] || PyObject_IsTrue(c->options[COPY]) == 1)
        return 0;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s() cannot take this layout without a copy", c->function->name);
    return -1;
}

/* Where the results lie: made dimension k is x's dimension kept[k]. */
typedef struct result_dims {
    int count, kept[MAX_DIMS];
    Py_ssize_t shape[MAX_DIMS];
    int order[MAX_DIMS]; /* of array_result */
} result_dims;

/* 'lengths' are x's; 'order' is array_fits'. */
static void dims_of_results(result_dims *r, int ndim, const Py_ssize_t *lengths, const int *order,
                            unsigned long long over, bool keep_all, bool keep_ones) {
    int place[MAX_DIMS];
    r->count = 0;
    for (int pass = 0; pass < 2; pass++) /* reduced dimensions have length 1 and may lie anywhere: last */
        for (int k = 0; k < ndim; k++) {
            int d = order[k];
            bool reduced = !keep_all && (over >> d & 1);
            if (reduced != (pass == 1) || (reduced && !keep_ones))
                continue;
            place[d] = r->count;
            r->kept[r->count] = d;
            r->shape[r->count++] = reduced ? 1 : lengths[d];
        }
    for (int d = 0, k = 0; d < ndim; d++)
        if (keep_all || keep_ones || !(over >> d & 1))
            r->order[k++] = place[d];
    /* Dimensions of length 1 move for nothing: where only they do, the shape alone changes. */
    int wide = -1;
    bool moved = false;
    for (int k = 0; k < r->count; k++)
        if (r->shape[r->order[k]] != 1) {
            moved |= r->order[k] < wide;
            wide = r->order[k];
        }
    if (!moved) {
        Py_ssize_t shape[MAX_DIMS];
        for (int k = 0; k < r->count; k++)
            shape[k] = r->shape[r->order[k]];
        for (int k = 0; k < r->count; k++) {
            r->shape[k] = shape[k];
            r->order[k] = k;
        }
    }
}

static bool moves(const result_dims *r) {
    for (int k = 0; k < r->count; k++)
        if (r->order[k] != k)
            return true;
    return false;
}

/* The array of out=, which must be just right. */
static int open_given(const call *c, const array *x, const result_dims *r, tally_dtype dtype, bool is_bool,
                      array *made) {
    if (array_open(made, c->options[OUT], true))
        return -1;
    bool fits = made->dtype == dtype && made->is_bool == is_bool && made->device == x->device &&
                made->ndim == r->count && array_in_c_order(made);
    for (int k = 0; fits && k < r->count; k++)
        fits = made->shape[k] == r->shape[k];
    if (fits)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s(): out must be an array of %s in C order, on the input's device, of the result's shape",
                 c->function->name, dtype_name(dtype, is_bool));
    array_close(made);
    return -1;
}

/* A scan's result with the value of nothing before it; takes the reference. */
static PyObject *with_initial(const call *c, PyObject *result, unsigned long long over) {
    int axis = 0;
    while (!(over >> axis & 1))
        axis++;
    PyObject *foreign = PyImport_ImportModule("tally.foreign");
    PyObject *longer =
        foreign ? PyObject_CallMethod(foreign, "with_initial", "Oii", result, axis, c->function->op == TALLY_PROD)
                : NULL;
    Py_XDECREF(foreign);
    Py_DECREF(result);
    return longer;
}

/* Over all values or axes: reductions and scans of x (and y). */
static PyObject *along_axes(call *c, array *x, array *y) {
    const function *f = c->function;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    unsigned long long over;
    Py_ssize_t lengths[MAX_DIMS];
    int order[MAX_DIMS], ndim = x->ndim;
    bool is_scan = f->form != TALLY_REDUCE, is_bool;
    double correction;
    int exact = is_set(c, EXACT), keepdims = is_set(c, KEEPDIMS), reverse = is_set(c, REVERSE),
        exclusive = is_set(c, EXCLUSIVE);
    if (exact < 0 || keepdims < 0 || reverse < 0 || exclusive < 0 || axes_of(c, ndim, &over) ||
        correction_of(c, &desc.ddof, &correction))
        return NULL;
    int include = is_set(c, INCLUDE_INITIAL);
    if (include && (include < 0 || reverse || exclusive || c->options[OUT])) {
        if (include > 0)
            PyErr_Format(PyExc_ValueError, "%s(): include_initial goes with no reverse, exclusive or out", f->name);
        return NULL;
    }
    if (is_scan && (ndim == 0 || (ndim > 1 && !c->options[AXIS]))) {
        PyErr_Format(PyExc_ValueError, "%s() of an array of %d dimensions needs an axis", f->name, ndim);
        return NULL;
    }
    desc.op = f->op;
    desc.form = exclusive ? TALLY_EXCLUSIVE_SCAN : f->form;
    desc.mode = exact ? TALLY_EXACT : TALLY_FAST;
    desc.flags = reverse ? TALLY_REVERSE : 0;
    if (types_of(c, x, &desc, &is_bool))
        return NULL;

    if (correction != 0 && c->options[OUT]) {
        PyErr_Format(PyExc_ValueError, "%s(): out goes with corrections that are whole numbers, 0 or more", f->name);
        return NULL;
    }

    bool in_order = x->library == LIBRARY_BUFFER || c->options[OUT] || y || (c->traits.has_index && !c->options[AXIS]);
    memcpy(lengths, x->shape, sizeof lengths);
    bool fits = array_fits(x, over, in_order, &args.shape, order) && (!y || array_in_c_order(y));
    if (!fits) {
        if (may_copy(c) || (y && !array_in_c_order(y) && array_copy(y)))
            return NULL;
        if (!array_in_c_order(x) && array_copy(x))
            return NULL;
        if (!array_fits(x, over, true, &args.shape, order)) {
            /* dimensions that lie apart: with them last, the others keep their order */
            args.shape = (tally_shape){1, 1, 1, 0};
            for (int d = 0; d < ndim; d++) {
                order[d] = d;
                *(over >> d & 1 ? &args.shape.extent : &args.shape.outer) *= (uint64_t)lengths[d];
            }
            if (copied_with_last(x, over) || (y && copied_with_last(y, over)))
                return NULL;
        }
    }
    if (c->traits.empty_is_error && !is_scan && args.shape.extent == 0) { /* as NumPy, also where no result is wanted */
        PyErr_Format(PyExc_ValueError, "%s() of nothing has no value", f->name);
        return NULL;
    }
    bool whole = args.shape.outer == 1 && args.shape.inner == 1;
    desc.grouping = whole ? TALLY_ALL_VALUES : TALLY_AXIS;

    kept_plan *kept = plan_take(x->device, &desc);
    if (!kept)
        return NULL;
    tally_dtype out = kept->described.out;
    size_t results = (size_t)(args.shape.outer * args.shape.inner * (is_scan ? args.shape.extent : 1));
    size_t bytes = array_elements(x) * tally_dtype_size(x->dtype);
    uint64_t single[2];
    array made = {0};
    result_dims r;
    dims_of_results(&r, ndim, lengths, order, over, is_scan, keepdims);
    bool is_number = r.count == 0 && !c->options[OUT] && array_has_numbers(x, out);
    PyObject *result = NULL;
    if (!is_number && (c->options[OUT] ? open_given(c, x, &r, out, is_bool, &made)
                                       : array_new(&made, x, r.count, r.shape, out, is_bool))) {
        plan_give(kept);
        return NULL;
    }
    args.x = x->data;
    args.y = y ? y->data : NULL;
    args.out = is_number ? (void *)single : made.data;
    args.out_bytes = is_number ? sizeof single : results * tally_dtype_size(out);
    tally_status status = run(x, kept, &args, bytes);
    plan_give(kept);
    if (status) {
        raise_status(status);
        array_close(&made);
        return NULL;
    }
    if (is_number)
        result = array_number(x, single, out, is_bool);
    else if (c->options[OUT]) {
        result = Py_NewRef(c->options[OUT]);
        array_close(&made);
    } else
        result = array_result(&made, x, moves(&r) ? r.order : NULL);
    if (include && result)
        result = with_initial(c, result, over);
    if (correction != 0 && result)
        result = corrected(c, result, (double)args.shape.extent, correction);
    return result;
}

/* --------------------------------------------------------------------------- segments, keys and labels ----- */

/* Opens an array of one dimension without gaps. */
static int open_list(array *a, PyObject *object, const array *like, const char *name) {
    if (array_open(a, object, false))
        return -1;
    if (a->ndim == 1 && a->device == like->device && (array_in_c_order(a) || array_copy(a) == 0))
        return 0;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s must be an array of one dimension on the device of the values", name);
    array_close(a);
    return -1;
}

/* All groups' number for labels: what groups= says, else one more than the greatest label. */
static int groups_of(const call *c, const array *labels, uint64_t *groups) {
    if (c->options[GROUPS]) {
        PyObject *index = PyNumber_Index(c->options[GROUPS]);
        *groups = index ? PyLong_AsUnsignedLongLong(index) : 0;
        Py_XDECREF(index);
        return PyErr_Occurred() ? -1 : 0;
    }
    if (labels->device >= 0) {
        PyErr_SetString(PyExc_ValueError, "labels on a GPU need groups=");
        return -1;
    }
    *groups = 0;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    int64_t greatest;
    desc.op = TALLY_MAX;
    desc.in = labels->dtype;
    desc.out = TALLY_I64;
    args.shape.extent = array_elements(labels);
    args.x = labels->data;
    args.out = &greatest;
    args.out_bytes = sizeof greatest;
    if (args.shape.extent == 0)
        return 0;
    kept_plan *kept = plan_take(-1, &desc);
    if (!kept)
        return -1;
    tally_status status = run(labels, kept, &args, SIZE_MAX);
    plan_give(kept);
    if (status) {
        raise_status(status);
        return -1;
    }
    *groups = greatest < 0 ? 0 : (uint64_t)greatest + 1;
    return 0;
}

/* The first 'count' elements of an array, which is closed: as a copy if most of its memory would lie idle. */
static PyObject *first_of(array *a, const array *like, Py_ssize_t count) {
    Py_ssize_t n = a->shape[0];
    PyObject *all = array_result(a, like, NULL);
    if (!all || count == n)
        return all;
    PyObject *first = PySequence_GetSlice(all, 0, count);
    Py_DECREF(all);
    if (first && count < n / 2) {
        PyObject *foreign = PyImport_ImportModule("tally.foreign");
        PyObject *copy = foreign ? PyObject_CallMethod(foreign, "in_c_order", "O", first) : NULL;
        Py_XDECREF(foreign);
        Py_DECREF(first);
        first = copy;
    }
    return first;
}

static PyObject *by_groups(call *c, array *x, array *y, enum option by) {
    const function *f = c->function;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    array list = {0}, made = {0}, keys = {0};
    bool is_scan = f->form != TALLY_REDUCE, is_bool;
    int exact = is_set(c, EXACT), reverse = is_set(c, REVERSE), exclusive = is_set(c, EXCLUSIVE),
        skip = is_set(c, SKIP_BAD_LABELS);
    double correction;
    if (exact < 0 || reverse < 0 || exclusive < 0 || skip < 0 || correction_of(c, &desc.ddof, &correction))
        return NULL;
    if (correction != 0) {
        PyErr_Format(PyExc_ValueError, "%s(): groups take corrections that are whole numbers, 0 or more", f->name);
        return NULL;
    }
    if (c->options[AXIS] || c->options[KEEPDIMS] || c->options[OUT] || c->options[INCLUDE_INITIAL] || x->ndim != 1) {
        PyErr_Format(PyExc_ValueError,
                     "%s() with %s= takes values of one dimension, and no axis, keepdims, out or "
                     "include_initial",
                     f->name, option_table[by].name);
        return NULL;
    }
    if ((!array_in_c_order(x) && (may_copy(c) || array_copy(x))) ||
        (y && !array_in_c_order(y) && (may_copy(c) || array_copy(y))) ||
        open_list(&list, c->options[by], x, option_table[by].name))
        return NULL;
    desc.op = f->op;
    desc.form = exclusive ? TALLY_EXCLUSIVE_SCAN : f->form;
    desc.mode = exact ? TALLY_EXACT : TALLY_FAST;
    desc.grouping = by == OFFSETS ? TALLY_SEGMENTS : by == KEYS ? TALLY_KEYS : TALLY_LABELS;
    desc.index = list.dtype;
    desc.flags = (reverse ? TALLY_REVERSE : 0u) | (skip ? TALLY_SKIP_BAD_LABELS : 0u);

    size_t n = (size_t)x->shape[0], m = (size_t)list.shape[0];
    uint64_t found = 0;
    PyObject *result = NULL;
    kept_plan *kept = NULL;
    args.shape = (tally_shape){1, n, 1, 0};
    if (by == OFFSETS ? m == 0 : m != n) {
        PyErr_Format(PyExc_ValueError,
                     by == OFFSETS ? "%s(): offsets are one more than the segments; there is none"
                                   : "%s(): %zu %s for %zu values",
                     f->name, m, option_table[by].name, n);
        goto end;
    }
    if (types_of(c, x, &desc, &is_bool) || !(kept = plan_take(x->device, &desc)))
        goto end;
    if (by == OFFSETS) {
        args.shape.groups = m - 1;
        args.offsets = list.data;
    } else if (by == KEYS)
        args.keys = list.data;
    else {
        args.labels = list.data;
        if (groups_of(c, &list, &args.shape.groups))
            goto end;
    }
    tally_dtype out = kept->described.out;
    Py_ssize_t length = is_scan || by == KEYS ? (Py_ssize_t)n : (Py_ssize_t)args.shape.groups;
    args.x = x->data;
    args.y = y ? y->data : NULL;
    args.count = by == KEYS ? &found : NULL;
    if (by == KEYS && !is_scan) { /* room for as many runs as there can be */
        if (array_new(&keys, &list, 1, &length, list.dtype, list.is_bool))
            goto end;
        args.keys_out = keys.data;
        args.keys_out_bytes = n * tally_dtype_size(list.dtype);
    }
    if (array_new(&made, x, 1, &length, out, is_bool))
        goto end;
    args.out = made.data;
    args.out_bytes = (size_t)length * tally_dtype_size(out);
    if (is_scan && by == OFFSETS) /* elements in no segment keep what is there */
        memset(made.data, 0, x->device < 0 ? args.out_bytes : 0);
    tally_status status = run(x, kept, &args, SIZE_MAX);
    if (status)
        raise_status(status);
    else if (by == KEYS && !is_scan) {
        PyObject *values = first_of(&made, x, (Py_ssize_t)found), *names = first_of(&keys, &list, (Py_ssize_t)found);
        result = values && names ? PyTuple_Pack(2, values, names) : NULL;
        Py_XDECREF(values);
        Py_XDECREF(names);
    } else
        result = array_result(&made, x, NULL);
end:
    if (kept)
        plan_give(kept);
    array_close(&list);
    array_close(&made);
    array_close(&keys);
    return result;
}

static PyObject *compute(const function *f, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    call c;
    array x = {0}, y = {0};
    PyObject *result = NULL;
    if (call_open(&c, f, args, count, names) || array_open(&x, c.inputs[0], false))
        return NULL;
    if (c.traits.inputs == 2) {
        if (array_open(&y, c.inputs[1], false))
            goto end;
        bool same = y.ndim == x.ndim && y.dtype == x.dtype && y.device == x.device && y.is_bool == x.is_bool;
        for (int d = 0; same && d < x.ndim; d++)
            same = x.shape[d] == y.shape[d];
        if (!same) {
            PyErr_Format(PyExc_ValueError, "%s() takes two arrays of one shape, type and device", f->name);
            goto end;
        }
    }
    int by = 0, given = 0;
    for (int option = OFFSETS; option <= LABELS; option++)
        if (c.options[option]) {
            by = option;
            given++;
        }
    if (given > 1)
        PyErr_Format(PyExc_TypeError, "%s() takes one of offsets, keys and labels", f->name);
    else
        result =
            given ? by_groups(&c, &x, y.object ? &y : NULL, (enum option)by) : along_axes(&c, &x, y.object ? &y : NULL);
end:
    array_close(&x);
    array_close(&y);
    return result;
}

/* ------------------------------------------------------------------------------------------ functions ----- */

#define BIT(option) (1u << (option))
#define ALWAYS      (BIT(AXIS) | BIT(OUT) | BIT(COPY) | BIT(OFFSETS) | BIT(KEYS))
#define REDUCES     (ALWAYS | BIT(KEEPDIMS) | BIT(LABELS) | BIT(GROUPS) | BIT(SKIP_BAD_LABELS))
#define SCANS       (ALWAYS | BIT(REVERSE) | BIT(EXCLUSIVE))
#define ROUNDS      (BIT(DTYPE) | BIT(EXACT))

/* FUNCTION(name, operator, form, options) */
#define FUNCTIONS                                                                                                      \
    FUNCTION(sum, SUM, REDUCE, REDUCES | ROUNDS)                                                                       \
    FUNCTION(prod, PROD, REDUCE, REDUCES | ROUNDS)                                                                     \
    FUNCTION(min, MIN, REDUCE, REDUCES)                                                                                \
    FUNCTION(max, MAX, REDUCE, REDUCES)                                                                                \
    FUNCTION(argmin, ARGMIN, REDUCE, REDUCES)                                                                          \
    FUNCTION(argmax, ARGMAX, REDUCE, REDUCES)                                                                          \
    FUNCTION(any, ANY, REDUCE, REDUCES)                                                                                \
    FUNCTION(all, ALL, REDUCE, REDUCES)                                                                                \
    FUNCTION(count_nonzero, COUNT_NONZERO, REDUCE, REDUCES)                                                            \
    FUNCTION(bitwise_and, BAND, REDUCE, REDUCES)                                                                       \
    FUNCTION(bitwise_or, BOR, REDUCE, REDUCES)                                                                         \
    FUNCTION(bitwise_xor, BXOR, REDUCE, REDUCES)                                                                       \
    FUNCTION(sumsq, SUMSQ, REDUCE, REDUCES | ROUNDS)                                                                   \
    FUNCTION(norm1, NORM1, REDUCE, REDUCES | ROUNDS)                                                                   \
    FUNCTION(norm2, NORM2, REDUCE, REDUCES | ROUNDS)                                                                   \
    FUNCTION(norm_inf, NORM_INF, REDUCE, REDUCES)                                                                      \
    FUNCTION(mean, MEAN, REDUCE, REDUCES | ROUNDS)                                                                     \
    FUNCTION(var, VAR, REDUCE, REDUCES | ROUNDS | BIT(CORRECTION))                                                     \
    FUNCTION(std, STD, REDUCE, REDUCES | ROUNDS | BIT(CORRECTION))                                                     \
    FUNCTION(skewness, SKEWNESS, REDUCE, REDUCES | BIT(DTYPE) | BIT(CORRECTION))                                       \
    FUNCTION(kurtosis, KURTOSIS, REDUCE, REDUCES | BIT(DTYPE) | BIT(CORRECTION))                                       \
    FUNCTION(logsumexp, LOGSUMEXP, REDUCE, REDUCES | BIT(DTYPE))                                                       \
    FUNCTION(dot, DOT, REDUCE, REDUCES | ROUNDS)                                                                       \
    FUNCTION(cumulative_sum, SUM, INCLUSIVE_SCAN, SCANS | ROUNDS | BIT(INCLUDE_INITIAL))                               \
    FUNCTION(cumulative_prod, PROD, INCLUSIVE_SCAN, SCANS | ROUNDS | BIT(INCLUDE_INITIAL))                             \
    FUNCTION(cumulative_min, MIN, INCLUSIVE_SCAN, SCANS & ~BIT(EXCLUSIVE))                                             \
    FUNCTION(cumulative_max, MAX, INCLUSIVE_SCAN, SCANS & ~BIT(EXCLUSIVE))                                             \
    FUNCTION(cumulative_logsumexp, LOGSUMEXP, INCLUSIVE_SCAN, SCANS | BIT(DTYPE))

#define FUNCTION(name, op, form, options)                                                                              \
    static const function name##_function = {#name, TALLY_##op, TALLY_##form, options};                                \
    static PyObject *py_##name(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {           \
        (void)module;                                                                                                  \
        return compute(&name##_function, args, count, names);                                                          \
    }
FUNCTIONS
#undef FUNCTION

static const function *const functions[] = {
#define FUNCTION(name, op, form, options) &name##_function,
    FUNCTIONS
#undef FUNCTION
};

static PyMethodDef methods[] = {
#define FUNCTION(name, op, form, options)                                                                              \
    {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL | METH_KEYWORDS, NULL},
    FUNCTIONS
#undef FUNCTION
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tally._tally", NULL, -1, methods, NULL, NULL, NULL, NULL};

/* The signature, as the module inspect reads it, what the operator does, and the options. Lives as long as the process;
 * NULL without memory. */
static char *documentation_of(const function *f) {
    enum { ROOM = 3000 };
    char *text = malloc(ROOM);
    tally_traits traits = {.struct_size = sizeof traits};
    tally_op_traits(f->op, &traits);
    int at = text ? PyOS_snprintf(text, ROOM, "%s(x%s, /, *", f->name, traits.inputs == 2 ? ", y" : "") : 0;
    for (int k = 0; text && k < OPTIONS; k++)
        if (f->options >> k & 1)
            at += PyOS_snprintf(text + at, (size_t)(ROOM - at), ", %s=%s", option_table[k].name, option_table[k].value);
    if (text)
        at += PyOS_snprintf(text + at, (size_t)(ROOM - at), ")\n--\n\n%s%s.\n\n",
                            f->form == TALLY_REDUCE ? "The " : "For each element that and those before it: the ",
                            tally_op_summary(f->op));
    for (int k = 0; text && k < OPTIONS; k++)
        if (f->options >> k & 1)
            at += PyOS_snprintf(text + at, (size_t)(ROOM - at), "%s: %s\n", option_table[k].name, option_table[k].text);
    return text;
}

PyMODINIT_FUNC PyInit__tally(void); /* Python finds it by its name */
PyMODINIT_FUNC PyInit__tally(void) {
    for (int k = 0; k < OPTIONS; k++)
        if (!(option_words[k] = PyUnicode_InternFromString(option_table[k].name)))
            return NULL;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (!methods[k].ml_doc && !(methods[k].ml_doc = documentation_of(functions[k])))
            return PyErr_NoMemory();
    PyObject *module = array_module_init() ? NULL : PyModule_Create(&definition);
    if (module && (accumulator_add_type(module) || PyModule_AddStringConstant(module, "__version__", tally_version())))
        Py_CLEAR(module);
    return module;
}
