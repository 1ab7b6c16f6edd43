/* A call of one of the module's functions: its options, and what they say of the computation. */
#ifndef TALLY_PYTHON_CALL_H
#define TALLY_PYTHON_CALL_H

#include "array.h"
#include "plans.h"

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
typedef struct option_row {
    const char *name, *value, *text;
} option_row;
extern const option_row option_table[OPTIONS];

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

/* Takes a call's arguments apart. -1 with an exception, as below. */
int call_open(call *c, const function *f, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* 1, 0, or -1. */
int call_is_set(const call *c, enum option option);

/* 'ddof' receives corrections that are whole numbers from 0. For others *correction stays, else it is 0. */
int call_correction(const call *c, int *ddof, double *correction);

/* The types of the computation; *is_bool: of its results. */
int call_types(const call *c, const array *x, tally_desc *desc, bool *is_bool);

/* -1 where the caller wants no copy. */
int call_may_copy(const call *c);

/* Runs a plan over 'bytes' of input, in the stream of x, without the interpreter's lock if it takes longer than that.
 */
tally_status call_run(const array *x, kept_plan *kept, const tally_args *args, size_t bytes);

/* Over all values or along axes; y: the second input, or NULL. */
PyObject *along_axes(call *c, array *x, array *y);

/* By segments, keys or labels, as the option 'by' says. */
PyObject *by_groups(call *c, array *x, array *y, enum option by);

int call_module_init(void);

#endif
