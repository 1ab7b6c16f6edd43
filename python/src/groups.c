/* Reductions and scans by segments, keys and labels. */
#include "call.h"
#include "results.h"

#include <string.h>

/* Opens an array of one dimension without gaps. */
static int open_list(array *a, PyObject *object, const array *like, const char *name) {
    if (array_open(a, object, false))
        return -1;
    if (a->is_empty_list)
        a->dtype = TALLY_I64;
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
        int overflow;
        PyObject *const index = PyNumber_Index(c->options[GROUPS]);
        const long long number = index ? PyLong_AsLongLongAndOverflow(index, &overflow) : -1;
        Py_XDECREF(index);
        if (index && (number < 0 || number > INT32_MAX))
            PyErr_Format(PyExc_ValueError, "%s(): groups is a number from 0 to 2**31 - 1", c->function->name);
        *groups = (uint64_t)number;
        return PyErr_Occurred() ? -1 : 0;
    }
    if (labels->device >= 0 || c->options[GROUP]) {
        PyErr_SetString(PyExc_ValueError, "labels on a GPU, and of ranks, need groups=");
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
    kept_plan *kept = plan_take(labels, &desc, NULL);
    if (!kept)
        return -1;
    call alone = {.function = c->function};
    int wrong = call_run(&alone, labels, kept, &args, SIZE_MAX);
    plan_give(kept);
    if (wrong)
        return -1;
    *groups = greatest < 0 ? 0 : (uint64_t)greatest + 1;
    if (greatest < INT32_MAX)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s(): the greatest label is %lld; there are at most 2**31 - 1 groups, from label 0",
                 c->function->name, (long long)greatest);
    return -1;
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
        PyObject *copy = PyObject_CallMethod(foreign, "in_c_order", "O", first);
        Py_DECREF(first);
        first = copy;
    }
    return first;
}

static int check_options(const call *c, const array *x, enum option by, double correction) {
    const char *const name = c->function->name;
    if (correction != 0) {
        PyErr_Format(PyExc_ValueError, "%s(): groups take corrections that are whole numbers, 0 or more", name);
        return -1;
    }
    const int keepdims = call_is_set(c, KEEPDIMS), initial = call_is_set(c, INCLUDE_INITIAL);
    if (keepdims < 0 || initial < 0)
        return -1;
    if (c->options[AXIS] || keepdims || c->options[OUT] || initial || x->ndim != 1) {
        PyErr_Format(PyExc_ValueError,
                     "%s() with %s= takes values of one dimension, and no axis, keepdims, out or "
                     "include_initial",
                     name, option_table[by].name);
        return -1;
    }
    return 0;
}

/* Sets the list that tells the groups. */
static int take_list(const call *c, const array *list, enum option by, tally_args *args) {
    const size_t n = (size_t)args->shape.extent, m = (size_t)list->shape[0];
    if (by == OFFSETS ? m == 0 : m != n) {
        PyErr_Format(PyExc_ValueError,
                     by == OFFSETS ? "%s(): offsets are one more than the segments; there is none"
                                   : "%s(): %zu %s for %zu values",
                     c->function->name, m, option_table[by].name, n);
        return -1;
    }
    *(by == OFFSETS ? &args->offsets : by == KEYS ? &args->keys : &args->labels) = list->data;
    if (by == OFFSETS)
        args->shape.groups = m - 1;
    return 0;
}

/* Runs a plan whose input stands in 'args'. */
static PyObject *run_by(call *c, array *x, const array *list, enum option by, kept_plan *kept, tally_args *args,
                        bool is_bool) {
    const bool is_scan = c->function->form != TALLY_REDUCE, by_runs = by == KEYS && !is_scan;
    const Py_ssize_t length = (Py_ssize_t)(is_scan || by == KEYS ? args->shape.extent : args->shape.groups);
    const Py_ssize_t lengths[] = {length, (Py_ssize_t)kept->elements}; /* of words, the second */
    const tally_dtype out = kept->described.out;
    array made = {0}, keys = {0};
    PyObject *result = NULL;
    uint64_t found = 0;
    if (by_runs && array_new(&keys, list, 1, &length, list->dtype, list->is_bool)) /* for as many as there can be */
        return NULL;
    if (array_new(&made, x, kept->elements > 1 ? 2 : 1, lengths, out, is_bool))
        goto end;
    args->keys_out = keys.data;
    args->keys_out_bytes = by_runs ? (size_t)length * tally_dtype_size(list->dtype) : 0;
    args->count = by == KEYS ? &found : NULL;
    args->out = made.data;
    args->out_bytes = (size_t)length * kept->elements * tally_dtype_size(out);
    if (is_scan && by == OFFSETS) /* elements in no segment keep what is there */
        memset(made.data, 0, x->device < 0 ? args->out_bytes : 0);
    if (call_run(c, x, kept, args, SIZE_MAX))
        goto end;
    if (by_runs) {
        PyObject *values = first_of(&made, x, (Py_ssize_t)found), *names = first_of(&keys, list, (Py_ssize_t)found);
        result = values && names ? PyTuple_Pack(2, values, names) : NULL;
        Py_XDECREF(values);
        Py_XDECREF(names);
    } else
        result = array_result(&made, x, NULL);
end:
    array_close(&made);
    array_close(&keys);
    return result;
}

PyObject *by_groups(call *c, array *x, array *y, enum option by) {
    const tally_grouping grouping = by == OFFSETS ? TALLY_SEGMENTS : by == KEYS ? TALLY_KEYS : TALLY_LABELS;
    tally_desc desc;
    tally_args args = TALLY_ARGS_INIT;
    array list = {0};
    bool is_bool;
    double correction;
    PyObject *result = NULL;
    kept_plan *kept;
    if (call_describe(c, x, &desc, &is_bool, &correction) ||
        (!array_in_c_order(x) && (call_may_copy(c) || array_copy(x))) || call_open_states(c, x) ||
        check_options(c, x, by, correction) || (y && !array_in_c_order(y) && (call_may_copy(c) || array_copy(y))) ||
        open_list(&list, c->options[by], x, option_table[by].name))
        return NULL;
    if (c->plan && (grouping != desc.grouping || c->plan->described.index != list.dtype)) {
        PyErr_Format(PyExc_TypeError, "this plan has another grouping, or type of %s", option_table[by].name);
        goto end;
    }
    desc.grouping = grouping;
    desc.index = list.dtype;
    args.shape = (tally_shape){1, (uint64_t)x->shape[0], 1, 0};
    args.x = x->data;
    args.y = y ? y->data : NULL;
    if (take_list(c, &list, by, &args) || !(kept = plan_take(x, &desc, c->plan)))
        goto end;
    if (by != LABELS || groups_of(c, &list, &args.shape.groups) == 0)
        result = run_by(c, x, &list, by, kept, &args, is_bool);
    plan_give(kept);
end:
    array_close(&list);
    return result;
}
