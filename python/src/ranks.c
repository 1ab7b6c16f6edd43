/* group=: the ranks of a group compute together. The library says which exchange of int64s comes next, and the
 * package's module 'foreign' lets the group's own library do it. */
#include "call.h"

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

int run_on_ranks(PyObject *group, const array *x, const kept_plan *kept, const tally_args *args) {
    tally_rank_options options = {.struct_size = sizeof options};
    tally_rank_plan *plan = NULL;
    PyObject *place = PyObject_CallMethod(foreign, "place_in", "OO", group, x->object);
    int wrong = !place || !PyArg_ParseTuple(place, "KK", &options.rank, &options.ranks);
    Py_XDECREF(place);
    if (wrong)
        return -1;
    tally_status status = tally_rank_plan_create(kept->opened, &kept->desc, &options, &plan);
    tally_exchange e = {.kind = TALLY_EXCHANGE_DONE};
    if (!status)
        tally_rank_begin(plan, args, 0, TALLY_SYNCHRONOUS);
    while (!status && !wrong) {
        Py_BEGIN_ALLOW_THREADS;
        status = tally_rank_next(plan, &e);
        Py_END_ALLOW_THREADS;
        if (status || e.kind == TALLY_EXCHANGE_DONE)
            break;
        wrong = exchange(group, &e, options.ranks);
    }
    if (status)
        raise_status(status);
    tally_rank_plan_destroy(plan);
    return status || wrong ? -1 : 0;
}
