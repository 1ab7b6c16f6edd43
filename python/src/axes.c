/* Reductions and scans over all values or along axes, of arrays of any layout. */
#include "call.h"
#include "results.h"

#include <string.h>

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

/* var and std of n elements, which were divided by n, as if it had been by n - correction; takes the reference. */
static PyObject *corrected(const call *c, PyObject *result, double n, double correction) {
    PyObject *scaled =
        PyObject_CallMethod(foreign, "corrected", "Oddi", result, n, correction, c->function->op == TALLY_STD);
    Py_DECREF(result);
    return scaled;
}

/* An array whose reduced dimensions lie together, as a copy in C order with them last. */
static int copied_with_last(array *x, unsigned long long over) {
    PyObject *axes = PyTuple_New(x->ndim);
    int at = 0;
    for (int part = 0; axes && part < 2; part++)
        for (int d = 0; d < x->ndim; d++)
            if ((int)(over >> d & 1) == part)
                PyTuple_SetItem(axes, at++, PyLong_FromLong(d));
    PyObject *moved = axes ? PyObject_CallMethod(foreign, "permuted", "OO", x->object, axes) : NULL;
    PyObject *copy = moved ? PyObject_CallMethod(foreign, "in_c_order", "O", moved) : NULL;
    Py_XDECREF(axes);
    Py_XDECREF(moved);
    if (!copy)
        return -1;
    array_close(x);
    int wrong = array_open(x, copy, false);
    Py_DECREF(copy);
    return wrong;
}

/* The dimensions of the results as they lie in memory. */
typedef struct result_dims {
    int count;
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

int call_open_states(const call *c, array *x) {
    if (!c->plan || !(c->plan->desc.flags & TALLY_WORDS_IN) || x->dtype != TALLY_I64)
        return 0;
    tally_words_info info = {.struct_size = sizeof info};
    tally_desc desc = c->plan->desc;
    desc.flags &= ~(unsigned)(TALLY_WORDS_IN | TALLY_WORDS_OUT);
    tally_status status = tally_words_describe(&desc, &info);
    if (status) {
        raise_status(status);
        return -1;
    }
    if (x->ndim == 0 || x->shape[x->ndim - 1] != (Py_ssize_t)info.count) {
        PyErr_Format(PyExc_ValueError, "the last dimension of states has %zu words", info.count);
        return -1;
    }
    if (!array_in_c_order(x) && array_copy(x))
        return -1;
    x->ndim--;
    return 0;
}

/* A scan's result with the value of nothing before it; takes the reference. */
static PyObject *with_initial(const call *c, PyObject *result, unsigned long long over) {
    int axis = 0;
    while (!(over >> axis & 1))
        axis++;
    PyObject *longer = PyObject_CallMethod(foreign, "with_initial", "Oii", result, axis, c->function->op == TALLY_PROD);
    Py_DECREF(result);
    return longer;
}

/* The extents for the ranks of a group, which must agree: those of C order, also where lengths of 1 leave a choice. */
static int lay_out_in_order(const call *c, array *x, array *y, unsigned long long over, tally_shape *shape,
                            int *order) {
    int first = x->ndim, last = -1;
    for (int d = 0; d < x->ndim; d++) {
        order[d] = d;
        if (over >> d & 1) {
            first = d < first ? d : first;
            last = d;
        }
    }
    bool together = true;
    *shape = (tally_shape){1, 1, 1, 0};
    for (int d = first; d < last; d++)
        together &= over >> d & 1;
    for (int d = 0; d < x->ndim; d++)
        *(over >> d & 1            ? &shape->extent
          : !together || d < first ? &shape->outer
                                   : &shape->inner) *= (uint64_t)x->shape[d];
    if (c->plan && c->plan->desc.flags & TALLY_WORDS_IN) {
        if (!together)
            PyErr_SetString(PyExc_ValueError, "states are reduced along axes that lie side by side");
        return together ? 0 : -1;
    }
    if (!together)
        return copied_with_last(x, over) || (y && copied_with_last(y, over)) ? -1 : 0;
    return (array_in_c_order(x) || array_copy(x) == 0) && (!y || array_in_c_order(y) || array_copy(y) == 0) ? 0 : -1;
}

/* Makes the arrays' elements lie as outer x extent x inner, by a copy where they don't. 'order' as of array_fits. */
static int lay_out(const call *c, array *x, array *y, unsigned long long over, tally_shape *shape, int *order) {
    if (c->options[GROUP] || (c->plan && c->plan->desc.flags & TALLY_WORDS_IN))
        return lay_out_in_order(c, x, y, over, shape, order);
    bool in_order = x->library == LIBRARY_BUFFER || c->options[OUT] || y || (c->traits.has_index && !c->options[AXIS]);
    if (array_fits(x, over, in_order, shape, order) && (!y || array_in_c_order(y)))
        return 0;
    Py_ssize_t lengths[MAX_DIMS];
    memcpy(lengths, x->shape, sizeof lengths);
    if (call_may_copy(c) || (y && !array_in_c_order(y) && array_copy(y)) || (!array_in_c_order(x) && array_copy(x)))
        return -1;
    if (array_fits(x, over, true, shape, order))
        return 0;
    /* dimensions that lie apart: with them last, the others keep their order */
    *shape = (tally_shape){1, 1, 1, 0};
    for (int d = 0; d < x->ndim; d++) {
        order[d] = d;
        *(over >> d & 1 ? &shape->extent : &shape->outer) *= (uint64_t)lengths[d];
    }
    return copied_with_last(x, over) || (y && copied_with_last(y, over)) ? -1 : 0;
}

/* Whether the result begins with the value of no elements; -1 with an error. */
static int includes_initial(call *c, const tally_desc *desc) {
    const int include = call_is_set(c, INCLUDE_INITIAL);
    if (include <= 0 ||
        !(desc->flags & TALLY_REVERSE || desc->form == TALLY_EXCLUSIVE_SCAN || c->options[OUT] || c->options[GROUP]))
        return include;
    PyErr_Format(PyExc_ValueError, "%s(): include_initial goes with no reverse, exclusive, out or group",
                 c->function->name);
    return -1;
}

static int check_options(const call *c, int ndim, const tally_desc *desc, double correction) {
    const char *const name = c->function->name;
    if (c->function->form != TALLY_REDUCE && (ndim == 0 || (ndim > 1 && !c->options[AXIS]))) {
        PyErr_Format(PyExc_ValueError, "%s() of an array of %d dimensions needs an axis", name, ndim);
        return -1;
    }
    if (correction != 0 && (c->options[OUT] || c->options[GROUP] || desc->flags & TALLY_SKIP_NAN)) {
        PyErr_Format(PyExc_ValueError,
                     "%s(): out, group and skip_nan go with corrections that are whole numbers, 0 or more", name);
        return -1;
    }
    return 0;
}

/* As NumPy, an operator without a value for nothing refuses it also where no result is wanted. */
static int check_extent(const call *c, const tally_desc *desc, uint64_t extent) {
    tally_type_traits in = {.struct_size = sizeof in};
    tally_dtype_traits(desc->in, &in);
    const bool nothing_is_a_result = (desc->flags & TALLY_SKIP_NAN && in.is_float) || desc->flags & TALLY_WORDS_OUT;
    if (!c->traits.empty_is_error || c->function->form != TALLY_REDUCE || extent > 0 || nothing_is_a_result ||
        c->options[GROUP])
        return 0;
    PyErr_Format(PyExc_ValueError, "%s() of nothing has no value", c->function->name);
    return -1;
}

/* Chooses the grouping of a call, or checks that of a plan. */
static int decide_grouping(const call *c, const tally_shape *shape, tally_desc *desc) {
    const bool whole = shape->outer == 1 && shape->inner == 1;
    if (!c->plan)
        desc->grouping = whole ? TALLY_ALL_VALUES : TALLY_AXIS;
    else if (desc->grouping != TALLY_AXIS && !(whole && desc->grouping == TALLY_ALL_VALUES)) {
        PyErr_SetString(PyExc_TypeError, "this plan has no axis");
        return -1;
    }
    return 0;
}

/* States in words have one dimension more. */
static int add_words(result_dims *r, size_t words) {
    if (words == 1)
        return 0;
    if (r->count == MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "tally gives at most %d dimensions", MAX_DIMS);
        return -1;
    }
    r->shape[r->count] = (Py_ssize_t)words;
    r->order[r->count] = r->count;
    r->count++;
    return 0;
}

/* Runs a plan whose input stands in 'args'. The results are a number, or in the caller's array or a new one, which has
 * the dimensions r. */
static PyObject *run_along(call *c, array *x, kept_plan *kept, tally_args *args, const result_dims *r, bool is_bool) {
    const tally_dtype out = kept->described.out;
    const tally_shape *const shape = &args->shape;
    const uint64_t results = shape->outer * shape->inner * (c->function->form == TALLY_REDUCE ? 1 : shape->extent);
    const bool is_number = r->count == 0 && !c->options[OUT] && array_has_numbers(x, out);
    uint64_t single[2];
    array made = {0};
    if (!is_number && (c->options[OUT] ? open_given(c, x, r, out, is_bool, &made)
                                       : array_new(&made, x, r->count, r->shape, out, is_bool)))
        return NULL;
    args->out = is_number ? (void *)single : made.data;
    args->out_bytes = is_number ? sizeof single : kept->elements * (size_t)results * tally_dtype_size(out);
    if (call_run(c, x, kept, args, array_elements(x) * tally_dtype_size(x->dtype))) {
        array_close(&made);
        return NULL;
    }
    if (is_number)
        return array_number(x, single, out, is_bool);
    if (!c->options[OUT])
        return array_result(&made, x, moves(r) ? r->order : NULL);
    array_close(&made);
    return Py_NewRef(c->options[OUT]);
}

PyObject *along_axes(call *c, array *x, array *y) {
    tally_desc desc;
    tally_args args = TALLY_ARGS_INIT;
    unsigned long long over;
    Py_ssize_t lengths[MAX_DIMS];
    if (call_open_states(c, x))
        return NULL;
    int order[MAX_DIMS], include, ndim = x->ndim;
    bool is_bool;
    double correction;
    const int keepdims = call_is_set(c, KEEPDIMS);
    if (keepdims < 0 || axes_of(c, ndim, &over) || call_describe(c, x, &desc, &is_bool, &correction) ||
        (include = includes_initial(c, &desc)) < 0 || check_options(c, ndim, &desc, correction))
        return NULL;

    memcpy(lengths, x->shape, sizeof lengths);
    if (lay_out(c, x, y, over, &args.shape, order) || check_extent(c, &desc, args.shape.extent) ||
        decide_grouping(c, &args.shape, &desc))
        return NULL;
    kept_plan *const kept = plan_take(x, &desc, c->plan);
    if (!kept)
        return NULL;
    result_dims r;
    dims_of_results(&r, ndim, lengths, order, over, c->function->form != TALLY_REDUCE, keepdims);
    args.x = x->data;
    args.y = y ? y->data : NULL;
    PyObject *result = add_words(&r, kept->elements) ? NULL : run_along(c, x, kept, &args, &r, is_bool);
    plan_give(kept);
    if (include && result)
        result = with_initial(c, result, over);
    if (correction != 0 && result)
        result = corrected(c, result, (double)args.shape.extent, correction);
    return result;
}
