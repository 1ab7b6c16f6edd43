#include "plans.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/replaced.h"

enum { BUCKETS = 512, MAX_DEVICES = 64 };

/* The GIL protects nothing in free-threaded builds, and compiling a plan gives it up. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept_plan *buckets[BUCKETS];
static tally_device *devices[MAX_DEVICES + 1]; /* [0]: the CPU */

/* Copies a message of the library, with this package's options and types for C's names: "u8" is another type here. */
static void say_options(char *to, size_t room, const char *from) {
    static const char *const options[][2] = {{"TALLY_SKIP_NAN", "skip_nan"},
                                             {"TALLY_SKIP_BAD_LABELS", "skip_bad_labels"},
                                             {"TALLY_REVERSE", "reverse"},
                                             {"TALLY_WORDS_IN", "words='in'"},
                                             {"TALLY_WORDS_OUT", "words='out'"},
                                             {"TALLY_DEFAULT", "None"},
                                             {"desc.acc", "acc_dtype"},
                                             {"desc.out", "out_dtype"},
                                             {"desc.ddof", "correction"},
                                             {"desc.index", "index_dtype"},
                                             {"args.shape.groups", "groups"},
                                             {"args.out", "out"},
                                             {"args.x", "x"},
                                             {"args.y", "y"},
                                             {"tally_accumulator_", ""}};
    enum { ROWS = sizeof options / sizeof *options, TYPES = TALLY_DTYPE_COUNT - 1 };
    const char *names[ROWS + TYPES][2];
    char types[TYPES][2][16];
    memcpy(names, options, sizeof options);
    for (int k = 0; k < TYPES; k++) {
        PyOS_snprintf(types[k][0], sizeof types[k][0], " %s", tally_dtype_name((tally_dtype)(k + 1)));
        PyOS_snprintf(types[k][1], sizeof types[k][1], " %s", dtype_name((tally_dtype)(k + 1), false));
        names[ROWS + k][0] = types[k][0];
        names[ROWS + k][1] = types[k][1];
    }
    copy_replaced(to, room, from, (const char *const(*)[2])names, sizeof names / sizeof *names);
}

PyObject *raise_status(tally_status status) {
    PyObject *type = status == TALLY_OUT_OF_MEMORY                                ? PyExc_MemoryError
                     : status == TALLY_UNSUPPORTED                                ? PyExc_NotImplementedError
                     : status == TALLY_NO_DEVICE || status == TALLY_DEVICE_FAILED ? PyExc_RuntimeError
                                                                                  : PyExc_ValueError;
    char text[1400] = "";
    say_options(text, sizeof text, tally_last_error());
    PyErr_SetString(type, text);
    return NULL;
}

static bool same(const tally_desc *a, const tally_desc *b) {
    return a->op == b->op && a->in == b->in && a->form == b->form && a->grouping == b->grouping && a->mode == b->mode &&
           a->acc == b->acc && a->out == b->out && a->index == b->index && a->flags == b->flags && a->ddof == b->ddof;
}

static size_t bucket_of(int device, const tally_desc *d) {
    size_t h = (size_t)d->op;
    h = h * 16 + (size_t)d->in;
    h = h * 16 + (size_t)d->out;
    h = h * 4 + (size_t)d->form;
    h = h * 8 + (size_t)d->grouping;
    h = h * 2 + (size_t)d->mode;
    return (h * 31 + (size_t)(device + 1) + (size_t)d->flags * 7 + (size_t)d->ddof * 5) % BUCKETS;
}

/* With the lock held. */
static tally_status open_device(int number) {
    char spec[32] = "cpu";
    if (devices[number + 1])
        return TALLY_OK;
    if (number >= 0)
        PyOS_snprintf(spec, sizeof spec, "cuda:%d", number);
    return tally_open(spec, &devices[number + 1]);
}

static tally_status make(kept_plan *kept) {
    tally_status status = TALLY_OK;
    if (!kept->opened) {
        pthread_mutex_lock(&lock);
        status = open_device(kept->device);
        pthread_mutex_unlock(&lock);
        kept->opened = devices[kept->device + 1];
    }
    if (!status)
        status = tally_plan_create(kept->opened, &kept->desc, &kept->plan);
    kept->described.struct_size = sizeof kept->described;
    return status ? status : tally_plan_describe(kept->plan, &kept->described, &kept->elements);
}

kept_plan *plan_take(const array *x, const tally_desc *desc, fixed_plan *fixed) {
    const int device = x->device;
    if (device >= MAX_DEVICES) {
        PyErr_Format(PyExc_ValueError, "tally knows CUDA devices up to number %d", MAX_DEVICES - 1);
        return NULL;
    }
    kept_plan **list = fixed ? &fixed->plans : &buckets[bucket_of(device, desc)], *kept;
    pthread_mutex_lock(&lock);
    for (kept = *list; kept; kept = kept->next)
        if (!kept->busy && kept->device == device && kept->stream == x->stream && same(&kept->desc, desc))
            break;
    if (kept)
        kept->busy = true;
    pthread_mutex_unlock(&lock);
    if (kept)
        return kept;
    if (!(kept = calloc(1, sizeof *kept)))
        return (kept_plan *)PyErr_NoMemory();
    kept->desc = *desc;
    kept->device = device;
    kept->opened = fixed ? fixed->opened : NULL;
    kept->stream = x->stream;
    kept->busy = true;
    tally_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = make(kept);
    Py_END_ALLOW_THREADS;
    if (status) {
        raise_status(status);
        plans_free(kept);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    kept->next = *list;
    *list = kept;
    pthread_mutex_unlock(&lock);
    return kept;
}

void plans_free(kept_plan *plans) {
    while (plans) {
        kept_plan *next = plans->next;
        tally_plan_destroy(plans->plan);
        free(plans);
        plans = next;
    }
}

void plan_give(kept_plan *plan) {
    pthread_mutex_lock(&lock);
    plan->busy = false;
    pthread_mutex_unlock(&lock);
}

/* With the lock held. */
static tally_status open_spec(const char *spec, tally_device **device) {
    static struct opened {
        struct opened *next;
        tally_device *device;
        char spec[];
    } * all;
    for (struct opened *one = all; one; one = one->next)
        if (!strcmp(one->spec, spec)) {
            *device = one->device;
            return TALLY_OK;
        }
    tally_status status = tally_open(spec, device);
    struct opened *one = status ? NULL : malloc(sizeof *one + strlen(spec) + 1);
    if (one) {
        one->device = *device;
        one->next = all;
        memcpy(one->spec, spec, strlen(spec) + 1);
        all = one;
    }
    return status;
}

tally_device *device_of_spec(const char *spec, int *number) {
    tally_device *device = NULL;
    tally_device_info info = {.struct_size = sizeof info};
    tally_status status;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&lock);
    status = open_spec(spec, &device);
    pthread_mutex_unlock(&lock);
    Py_END_ALLOW_THREADS;
    if (status || (status = tally_device_describe(device, &info)))
        return (tally_device *)raise_status(status);
    int end = 0;
    *number = -1;
    if (!strncmp(info.spec, "cpu", 3) || (sscanf(info.spec, "cuda:%d%n", number, &end) == 1 && !info.spec[end]))
        return device;
    PyErr_Format(PyExc_ValueError, "arrays lie in host memory or on CUDA; no plan takes them on %s", info.spec);
    return NULL;
}
