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
    SKIP_NAN,
    REVERSE,
    EXCLUSIVE,
    INCLUDE_INITIAL,
    GROUP,
    OPTIONS
};

/* In the order of the enumeration: name, default, and what the functions' documentation says. */
typedef struct option_row {
    const char *name, *value, *text;
} option_row;
extern const option_row option_table[OPTIONS];

/* What a function is. */
typedef struct function_row {
    const char *name;
    tally_op op;
    tally_form form;
    unsigned options; /* a bit each */
} function_row;

typedef struct call {
    const function_row *function;
    PyObject *inputs[2];
    PyObject *options[OPTIONS]; /* NULL: not given, or None */
    tally_traits traits;
    fixed_plan *plan;     /* that of a Plan object, which decides the description */
    bool plan_gives_bool; /* what its results are */
    bool met_ranks;       /* those of group=, which then know how the call fares */
} call;

/* Takes a call's arguments apart. -1 with an exception, as below. With group=, the other ranks have heard of it. */
int call_open(call *c, const function_row *f, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* Likewise, for an operator whose traits the caller knows. */
int call_open_with(call *c, const function_row *f, const tally_traits *traits, PyObject *const *args, Py_ssize_t count,
                   PyObject *names);

/* Computes what a call says, with the inputs in it. With group=, the other ranks hear of every exception. */
PyObject *call_compute(call *c);

/* 1, 0, or -1. */
int call_is_set(const call *c, enum option option);

/* All of the description but the grouping and the type of its indices; *is_bool: the results'. *correction: of var and
 * std, if it is no whole number from 0, which desc->ddof has; else 0. */
int call_describe(const call *c, const array *x, tally_desc *desc, bool *is_bool, double *correction);

/* Takes the last dimension off an array of states in words, which then counts as one of states in C order. Other arrays
 * stay as they are. -1 with an exception. */
int call_open_states(const call *c, array *x);

/* -1 where the caller wants no copy. */
int call_may_copy(const call *c);

/* Runs a plan over 'bytes' of input, in the stream of x, without the interpreter's lock if it takes longer than that.
 * With group=, together with the other ranks. -1 with an exception. */
int call_run(call *c, const array *x, kept_plan *kept, const tally_args *args, size_t bytes);

/* Over all values or along axes; y: the second input, or NULL. */
PyObject *along_axes(call *c, array *x, array *y);

/* By segments, keys or labels, as the option 'by' says. */
PyObject *by_groups(call *c, array *x, array *y, enum option by);

int call_module_init(void);

#endif
