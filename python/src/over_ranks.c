/* The library says which exchange of int64s comes next, and the package's module 'foreign' lets the group's own library
 * do it. */
#include "over_ranks.h"

#include <tally/ranks.h>

static const char *const kinds[] = {
    [TALLY_EXCHANGE_SUM] = "sum", [TALLY_EXCHANGE_MAX] = "max", [TALLY_EXCHANGE_GATHER] = "gather"};

static PyObject *memory_of(const int64_t *words, size_t count, int flags) {
    return PyMemoryView_FromMemory((char *)(uintptr_t)words, (Py_ssize_t)(count * sizeof *words), flags);
}

static int exchange(PyObject *group, const tally_exchange *e, uint64_t ranks) {
    const size_t received = e->words * (e->kind == TALLY_EXCHANGE_GATHER ? (size_t)ranks : 1);
    PyObject *send = memory_of(e->send, e->words, PyBUF_WRITE), *receive = memory_of(e->receive, received, PyBUF_WRITE);
    PyObject *done =
        send && receive ? PyObject_CallMethod(foreign, "exchange", "OsOO", group, kinds[e->kind], send, receive) : NULL;
    Py_XDECREF(send);
    Py_XDECREF(receive);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Drives a run that has begun to its end. -1 with an exception. */
static int finish(PyObject *group, tally_rank_plan *plan, uint64_t ranks) {
    tally_exchange e = {.kind = TALLY_EXCHANGE_DONE};
    for (;;) {
        tally_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = tally_rank_next(plan, &e);
        Py_END_ALLOW_THREADS;
        if (status)
            raise_status(status);
        if (status || e.kind == TALLY_EXCHANGE_DONE)
            return status ? -1 : 0;
        if (exchange(group, &e, ranks))
            return -1;
    }
}

/* This rank's plan; x: what must be there before others read it. NULL with an exception. */
static tally_rank_plan *open_plan(PyObject *group, PyObject *x, tally_device *device, const tally_desc *desc,
                                  uint64_t *ranks) {
    tally_rank_options options = {.struct_size = sizeof options};
    tally_rank_plan *plan = NULL;
    PyObject *place = PyObject_CallMethod(foreign, "place_in", "OO", group, x);
    int wrong = !place || !PyArg_ParseTuple(place, "KK", &options.rank, &options.ranks);
    Py_XDECREF(place);
    tally_status status = wrong ? TALLY_OK : tally_rank_plan_create(device, desc, &options, &plan);
    if (status)
        raise_status(status);
    *ranks = options.ranks;
    return plan;
}

int run_on_ranks(PyObject *group, const array *x, const kept_plan *kept, const tally_args *args) {
    uint64_t ranks;
    tally_rank_plan *plan = open_plan(group, x->object, kept->opened, &kept->desc, &ranks);
    if (!plan)
        return -1;
    tally_rank_begin(plan, args, 0, TALLY_SYNCHRONOUS);
    int wrong = finish(group, plan, ranks);
    tally_rank_plan_destroy(plan);
    return wrong;
}

/* The status for which raise_status would have raised such an exception. */
static tally_status status_of(PyObject *type) {
    return PyErr_GivenExceptionMatches(type, PyExc_MemoryError)           ? TALLY_OUT_OF_MEMORY
           : PyErr_GivenExceptionMatches(type, PyExc_NotImplementedError) ? TALLY_UNSUPPORTED
           : PyErr_GivenExceptionMatches(type, PyExc_RuntimeError)        ? TALLY_DEVICE_FAILED
                                                                          : TALLY_INVALID_ARGUMENT;
}

void refuse_on_ranks(PyObject *group) {
    PyObject *type, *value, *trace;
    uint64_t ranks;
    int number;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *said = value ? PyObject_Str(value) : NULL;
    const char *text = said ? PyUnicode_AsUTF8AndSize(said, NULL) : NULL;
    tally_desc any = TALLY_DESC_INIT; /* whoever refuses may have another description than the others */
    any.in = TALLY_F64;
    PyErr_Clear();
    tally_device *device = device_of_spec("cpu", &number);
    tally_rank_plan *plan = device ? open_plan(group, Py_None, device, &any, &ranks) : NULL;
    if (plan) {
        tally_rank_begin(plan, NULL, 0, TALLY_SYNCHRONOUS);
        tally_rank_refuse(plan, status_of(type), text ? text : "an exception without a text");
        finish(group, plan, ranks); /* with the others' exception, or one of the engine that this rank's own precedes */
        tally_rank_plan_destroy(plan);
    }
    PyErr_Clear();
    Py_XDECREF(said);
    PyErr_Restore(type, value, trace);
}
