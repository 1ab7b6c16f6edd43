/* From a call to what computes it: along axes, or by groups. */
#include "call.h"
#include "over_ranks.h"

static PyObject *compute(call *c) {
    array x = {0}, y = {0};
    PyObject *result = NULL;
    if (array_open(&x, c->inputs[0], false))
        return NULL;
    if (c->inputs[1]) {
        if (array_open(&y, c->inputs[1], false))
            goto end;
        bool same = y.ndim == x.ndim && y.dtype == x.dtype && y.device == x.device && y.is_bool == x.is_bool;
        for (int d = 0; same && d < x.ndim; d++)
            same = x.shape[d] == y.shape[d];
        if (!same) {
            PyErr_Format(PyExc_ValueError, "%s() takes two arrays of one shape, type and device", c->function->name);
            goto end;
        }
    }
    int by = 0, given = 0;
    for (int option = OFFSETS; option <= LABELS; option++)
        if (c->options[option]) {
            by = option;
            given++;
        }
    if (given > 1)
        PyErr_Format(PyExc_TypeError, "%s() takes one of offsets, keys and labels", c->function->name);
    else if (c->options[GROUPS] && by != LABELS)
        PyErr_Format(PyExc_TypeError,
                     "%s(): groups= says how many groups labels have, but there is no labels=", c->function->name);
    else
        result =
            given ? by_groups(c, &x, y.object ? &y : NULL, (enum option)by) : along_axes(c, &x, y.object ? &y : NULL);
end:
    array_close(&x);
    array_close(&y);
    return result;
}

PyObject *call_compute(call *c) {
    PyObject *result = compute(c);
    if (!result && c->options[GROUP] && !c->met_ranks)
        refuse_on_ranks(c->options[GROUP]);
    return result;
}
