#include "call.h"

#include <string.h>

#include "over_ranks.h"

/* Work of fewer bytes than this keeps the interpreter's lock: to give it up and take it again costs as much. */
enum { UNLOCKED_BYTES = 32768 };

const option_row option_table[OPTIONS] = {
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
    {"skip_nan", "False", "leaves out NaNs; where nothing else is left, min and max give NaN and argmin -1"},
    {"reverse", "False", "goes from the last element to the first"},
    {"exclusive", "False", "leaves each element out of its own result"},
    {"include_initial", "False", "begins with the value of no elements: one result more than elements"},
    {"group", "None",
     "a group of torch.distributed or a communicator of mpi4py, whose ranks have the parts of x, one after another"},
};

static PyObject *option_words[OPTIONS]; /* interned: a caller's keyword is mostly the same object */

static int option_of(PyObject *name) {
    for (int k = 0; k < OPTIONS; k++)
        if (option_words[k] == name)
            return k;
    for (int k = 0; k < OPTIONS; k++)
        if (PyUnicode_CompareWithASCIIString(name, option_table[k].name) == 0)
            return k;
    return OPTIONS;
}

int call_open(call *c, const function_row *f, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    tally_traits traits = {.struct_size = sizeof traits};
    tally_op_traits(f->op, &traits);
    return call_open_with(c, f, &traits, args, count, names);
}

int call_open_with(call *c, const function_row *f, const tally_traits *traits, PyObject *const *args, Py_ssize_t count,
                   PyObject *names) {
    memset(c, 0, sizeof *c);
    c->function = f;
    c->traits = *traits;
    PyObject *unknown = NULL;
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t k = 0; k < named; k++) { /* all of them: group= may come last */
        PyObject *name = PyTuple_GetItem(names, k);
        int option = option_of(name);
        if (option == OPTIONS || !(f->options >> option & 1))
            unknown = name;
        else
            c->options[option] = args[count + k] == Py_None ? NULL : args[count + k];
    }
    if (unknown)
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f->name, unknown);
    else if (count != c->traits.inputs)
        PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s (%zd given)", f->name, c->traits.inputs,
                     c->traits.inputs == 1 ? "" : "s", count);
    else {
        for (Py_ssize_t k = 0; k < count; k++)
            c->inputs[k] = args[k];
        return 0;
    }
    if (c->options[GROUP])
        refuse_on_ranks(c->options[GROUP]);
    return -1;
}

int call_is_set(const call *c, enum option option) {
    return c->options[option] ? PyObject_IsTrue(c->options[option]) : 0;
}

/* 'ddof' receives corrections that are whole numbers from 0. For others *correction stays, else it is 0. */
static int read_correction(const call *c, int *ddof, double *correction) {
    *ddof = 0;
    *correction = c->options[CORRECTION] ? PyFloat_AsDouble(c->options[CORRECTION]) : 0;
    if (*correction == -1 && PyErr_Occurred())
        return -1;
    if (*correction >= 0 && *correction <= 1 << 30 && *correction == (double)(int)*correction) {
        *ddof = (int)*correction;
        *correction = 0;
    } else if (call_is_set(c, EXACT) || (c->function->op != TALLY_VAR && c->function->op != TALLY_STD)) {
        PyErr_Format(PyExc_ValueError, "%s(): correction must be a whole number, 0 or more", c->function->name);
        return -1;
    }
    return 0;
}

static int read_types(const call *c, const array *x, tally_desc *desc, bool *is_bool) {
    tally_type_traits in = {.struct_size = sizeof in}, out = {.struct_size = sizeof out};
    desc->in = x->dtype;
    tally_dtype_traits(desc->in, &in);
    if (c->traits.integers_only && in.is_float) {
        PyErr_Format(PyExc_TypeError, "%s() takes integers, not %s", c->function->name, dtype_name(x->dtype, false));
        return -1;
    }
    *is_bool = c->traits.result == TALLY_RESULT_FLAG || (x->is_bool && c->traits.result == TALLY_RESULT_SAME);
    if (x->is_bool && c->traits.result == TALLY_RESULT_WIDE)
        desc->out = TALLY_I64;
    if (!c->options[DTYPE])
        return 0;
    if (dtype_from_object(c->options[DTYPE], &desc->out, is_bool))
        return -1;
    tally_dtype_traits(desc->out, &out);
    const bool is_wide = c->traits.result == TALLY_RESULT_WIDE || c->traits.result == TALLY_RESULT_WIDE_UNSIGNED;
    if (*is_bool || (!out.is_float && (in.is_float || c->traits.result == TALLY_RESULT_FLOAT))) {
        PyErr_Format(PyExc_TypeError, "%s() of %s gives no %s", c->function->name, dtype_name(x->dtype, x->is_bool),
                     dtype_name(desc->out, *is_bool));
        return -1;
    }
    /* As if each element were converted first: integers would wrap, and narrow floats round. */
    if (desc->mode == TALLY_FAST && (in.is_float ? desc->out == TALLY_F64 : out.is_float && is_wide))
        desc->acc = TALLY_F64;
    return 0;
}

int call_may_copy(const call *c) {
    if (!c->options[COPY] || PyObject_IsTrue(c->options[COPY]) == 1)
        return 0;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s() cannot take this layout without a copy", c->function->name);
    return -1;
}

int call_describe(const call *c, const array *x, tally_desc *desc, bool *is_bool, double *correction) {
    *correction = 0;
    if (c->plan) {
        *desc = c->plan->desc;
        *is_bool = c->plan_gives_bool;
        const tally_dtype in = desc->flags & TALLY_WORDS_IN ? TALLY_I64 : desc->in;
        /* other bytes than bools' would come out as invalid bools */
        const bool of_bools = c->plan_gives_bool && c->traits.result == TALLY_RESULT_SAME;
        if (((x->dtype == in && (x->is_bool || !of_bools)) || x->is_empty_list) && x->device == c->plan->device)
            return 0;
        PyErr_Format(PyExc_TypeError, "this plan takes arrays of %s %s", dtype_name(in, of_bools),
                     c->plan->device < 0 ? "in host memory" : "on its own CUDA device");
        return -1;
    }
    const int exact = call_is_set(c, EXACT), reverse = call_is_set(c, REVERSE), exclusive = call_is_set(c, EXCLUSIVE),
              skip = call_is_set(c, SKIP_BAD_LABELS), skip_nan = call_is_set(c, SKIP_NAN);
    *desc = (tally_desc)TALLY_DESC_INIT;
    if (exact < 0 || reverse < 0 || exclusive < 0 || skip < 0 || skip_nan < 0 ||
        read_correction(c, &desc->ddof, correction))
        return -1;
    /* BAND of no bools would be a byte of 255, which is no bool */
    desc->op = x->is_bool && c->function->op == TALLY_BAND ? TALLY_ALL : c->function->op;
    desc->form = exclusive ? TALLY_EXCLUSIVE_SCAN : c->function->form;
    desc->mode = exact ? TALLY_EXACT : TALLY_FAST;
    desc->flags = (reverse ? TALLY_REVERSE : 0u) | (skip && c->options[LABELS] ? TALLY_SKIP_BAD_LABELS : 0u) |
                  (skip_nan ? TALLY_SKIP_NAN : 0u);
    return read_types(c, x, desc, is_bool);
}

int call_run(call *c, const array *x, kept_plan *kept, const tally_args *args, size_t bytes) {
    tally_status status;
    if (c->options[GROUP]) {
        c->met_ranks = true;
        return run_on_ranks(c->options[GROUP], x, kept, args);
    }
    if (x->device < 0 && bytes < UNLOCKED_BYTES) {
        status = tally_run(kept->plan, args, TALLY_SYNCHRONOUS);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        status = tally_run(kept->plan, args, x->stream);
        Py_END_ALLOW_THREADS;
    }
    if (!status)
        return 0;
    raise_status(status);
    return -1;
}

int call_module_init(void) {
    for (int k = 0; k < OPTIONS; k++)
        if (!(option_words[k] = PyUnicode_InternFromString(option_table[k].name)))
            return -1;
    return 0;
}
