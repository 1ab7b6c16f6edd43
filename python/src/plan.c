/* The class Plan. It holds a call that is taken apart once, and plans of the library for each thread that runs it. An
 * operator may be an object with a user's texts. */
#include "plan.h"
#include "call.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_OPTIONS = 1 << OUT | 1 << OFFSETS | 1 << KEYS | 1 << LABELS | 1 << GROUPS | 1 << GROUP };

typedef struct plan {
    PyObject_HEAD function_row function;
    call call; /* its options are owned */
    fixed_plan fixed;
    tally_user_op user;
    PyObject *arguments; /* of which another process makes the same */
    PyObject *texts;     /* of a user's operator: a list that keeps them */
} plan;

/* Its bytes live as long as the text, which an attribute may make anew whenever it is asked. */
static const char *text_of(PyObject *object, const char *name, PyObject *texts) {
    PyObject *text = PyObject_GetAttrString(object, name);
    const bool is_kept = text && texts && PyList_Append(texts, text) == 0;
    const char *bytes = is_kept ? whole_text(text) : NULL;
    Py_XDECREF(text);
    return bytes;
}

/* An operator of texts: the attributes of tally.Operator. */
static int open_user(plan *self, PyObject *object) {
    tally_user_op *user = &self->user;
    PyObject *bytes = PyObject_GetAttrString(object, "acc_bytes"), *commutes = NULL;
    const struct {
        const char *name, **text;
    } texts[] = {{"name", &user->name},        {"acc", &user->acc_source},         {"identity", &user->identity_source},
                 {"lift", &user->lift_source}, {"combine", &user->combine_source}, {"lower", &user->lower_source}};
    self->texts = PyList_New(0);
    user->struct_size = sizeof *user;
    user->acc_bytes = bytes ? PyLong_AsSize_t(bytes) : 0;
    Py_XDECREF(bytes);
    for (size_t k = 0; !PyErr_Occurred() && k < sizeof texts / sizeof *texts; k++)
        *texts[k].text = text_of(object, texts[k].name, self->texts);
    if (PyErr_Occurred() || !(commutes = PyObject_GetAttrString(object, "commutes")))
        return -1;
    user->commutes = PyObject_IsTrue(commutes);
    Py_DECREF(commutes);
    self->fixed.desc.op = TALLY_USER;
    self->fixed.desc.user = user;
    self->call.traits.inputs = self->call.traits.elements_per_result = 1;
    return user->commutes < 0 ? -1 : 0;
}

static int open_operator(plan *self, PyObject *op) {
    self->call.traits.struct_size = sizeof self->call.traits;
    if (!PyUnicode_Check(op)) {
        const int code = open_user(self, op);
        if (code && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "an operator's name or a tally.Operator, not %R", op);
        }
        return code;
    }
    const char *name = whole_text(op);
    tally_status status = name ? tally_op_from_name(name, &self->fixed.desc.op) : TALLY_OK;
    if (name && !status)
        status = tally_op_traits(self->fixed.desc.op, &self->call.traits);
    if (status)
        raise_status(status);
    if (name && !status && self->call.traits.elements_per_result != 1)
        PyErr_Format(PyExc_NotImplementedError, "plans give one result for a group; %s gives two", name);
    return PyErr_Occurred() ? -1 : 0;
}

static int open_form(tally_desc *desc, const char *form, int reverse) {
    static const char *const forms[] = {
        [TALLY_REDUCE] = "reduce", [TALLY_INCLUSIVE_SCAN] = "inclusive", [TALLY_EXCLUSIVE_SCAN] = "exclusive"};
    desc->flags |= reverse ? TALLY_REVERSE : 0u;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (!strcmp(form, forms[k])) {
            desc->form = (tally_form)k;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "form is 'reduce', 'inclusive' or 'exclusive', not '%s'", form);
    return -1;
}

static int open_grouping(plan *self, const char *by, PyObject *index) {
    bool is_bool;
    tally_desc *desc = &self->fixed.desc;
    desc->grouping = self->call.options[AXIS] ? TALLY_AXIS : TALLY_ALL_VALUES;
    if (!by && index)
        PyErr_SetString(PyExc_ValueError, "index_dtype is the type of offsets, keys or labels; this plan has no by");
    if (!by)
        return index ? -1 : 0;
    desc->grouping = !strcmp(by, "offsets")  ? TALLY_SEGMENTS
                     : !strcmp(by, "keys")   ? TALLY_KEYS
                     : !strcmp(by, "labels") ? TALLY_LABELS
                                             : desc->grouping;
    if (desc->grouping < TALLY_SEGMENTS) {
        PyErr_Format(PyExc_ValueError, "by is 'offsets', 'keys' or 'labels', not '%s'", by);
        return -1;
    }
    return index ? dtype_from_object(index, &desc->index, &is_bool) : 0;
}

/* Results that are bools must be 0 or 1: flags are, and minima and the like of bools. -1 with an exception. */
static int check_bools(const plan *self, bool of_bools) {
    const tally_desc *desc = &self->fixed.desc;
    const bool is_user = desc->op == TALLY_USER;
    const char *const name = is_user ? self->user.name : tally_op_name(desc->op);
    if (is_user)
        PyErr_Format(PyExc_TypeError, "%s is an operator of your own, which gives no bool; uint8 has its size", name);
    else if (self->call.traits.result == TALLY_RESULT_FLAG)
        return 0;
    else if (self->call.traits.result != TALLY_RESULT_SAME || !of_bools)
        PyErr_Format(PyExc_TypeError, "%s of %s gives no bool", name, dtype_name(desc->in, of_bools));
    else if (desc->flags & TALLY_WORDS_IN)
        PyErr_Format(PyExc_TypeError, "%s of states gives no bool: they may be of other numbers than 0 and 1", name);
    else if (desc->op == TALLY_BAND || (desc->op == TALLY_MIN && desc->form == TALLY_EXCLUSIVE_SCAN))
        PyErr_Format(PyExc_TypeError, "%s of no elements is 255, which is no bool", name);
    else
        return 0;
    return -1;
}

static int open_types(plan *self, PyObject *dtype, PyObject *out, PyObject *acc) {
    bool ignored, of_bools = false;
    tally_desc *desc = &self->fixed.desc;
    desc->in = TALLY_F64;
    if ((dtype && dtype_from_object(dtype, &desc->in, &of_bools)) ||
        (acc && dtype_from_object(acc, &desc->acc, &ignored)) ||
        (out && dtype_from_object(out, &desc->out, &self->call.plan_gives_bool)))
        return -1;
    self->call.plan_gives_bool |= self->call.traits.result == TALLY_RESULT_FLAG && desc->op != TALLY_USER && !out;
    if (of_bools && !out && !acc && self->call.traits.result == TALLY_RESULT_WIDE && desc->op != TALLY_USER)
        desc->out = TALLY_I64; /* as the functions have it, and NumPy: bools have no unsigned sums */
    return self->call.plan_gives_bool ? check_bools(self, of_bools) : 0;
}

/* Opens the device and makes the first plan, which shows what is wrong. */
static int make(plan *self, const char *spec) {
    fixed_plan *fixed = &self->fixed;
    array nothing = {.device = -1};
    if (!(fixed->opened = device_of_spec(spec, &fixed->device)))
        return -1;
    nothing.device = fixed->device;
    kept_plan *kept = plan_take(&nothing, &fixed->desc, fixed);
    if (!kept)
        return -1;
    fixed->described = kept->described;
    plan_give(kept);
    return 0;
}

static int open_words(plan *self, const char *words) {
    tally_desc *desc = &self->fixed.desc;
    desc->flags |= !words                   ? 0u
                   : !strcmp(words, "out")  ? TALLY_WORDS_OUT
                   : !strcmp(words, "in")   ? TALLY_WORDS_IN
                   : !strcmp(words, "both") ? TALLY_WORDS_IN | TALLY_WORDS_OUT
                                            : 0u;
    if (desc->flags & TALLY_WORDS_IN) /* states come in one array, also of operators with two inputs */
        self->call.traits.inputs = 1;
    if (!words || desc->flags & (TALLY_WORDS_IN | TALLY_WORDS_OUT))
        return 0;
    PyErr_Format(PyExc_ValueError, "words is 'out', 'in' or 'both', not '%s'", words);
    return -1;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"op",          "dtype", "device",    "form",      "reverse",         "axis",
                            "keepdims",    "exact", "out_dtype", "acc_dtype", "correction",      "by",
                            "index_dtype", "words", "copy",      "skip_nan",  "skip_bad_labels", NULL};
    const char *form = "reduce", *device = "cpu", *by = NULL, *words = NULL;
    PyObject *op, *dtype = NULL, *axis = NULL, *keepdims = NULL, *out = NULL, *acc = NULL, *index = NULL, *copy = NULL;
    int reverse = 0, exact = 0, ddof = 0, skip_nan = 0, skip_labels = 0;
    if (!PyArg_ParseTupleAndKeywords(args, named, "O|O$sspOOpOOizOzOpp:Plan", names, &op, &dtype, &device, &form,
                                     &reverse, &axis, &keepdims, &exact, &out, &acc, &ddof, &by, &index, &words, &copy,
                                     &skip_nan, &skip_labels))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    plan *self = (plan *)alloc(type, 0);
    if (!self)
        return NULL;
    self->arguments = Py_BuildValue("(OO)", args, named ? named : Py_None);
    self->fixed.desc = (tally_desc)TALLY_DESC_INIT;
    self->fixed.desc.ddof = ddof;
    self->fixed.desc.flags = (skip_nan ? TALLY_SKIP_NAN : 0u) | (skip_labels ? TALLY_SKIP_BAD_LABELS : 0u);
    self->fixed.desc.mode = exact ? TALLY_EXACT : TALLY_FAST;
    self->call.options[AXIS] = axis && axis != Py_None ? Py_NewRef(axis) : NULL;
    self->call.options[KEEPDIMS] = Py_XNewRef(keepdims);
    self->call.options[COPY] = copy && copy != Py_None ? Py_NewRef(copy) : NULL;
    if (open_operator(self, op) || open_form(&self->fixed.desc, form, reverse) || open_words(self, words) ||
        open_types(self, dtype, out == Py_None ? NULL : out, acc == Py_None ? NULL : acc) ||
        open_grouping(self, by, index == Py_None ? NULL : index) || make(self, device)) {
        Py_DECREF(self);
        return NULL;
    }
    self->function = (function_row){"Plan", self->fixed.desc.op, self->fixed.desc.form, RUN_OPTIONS};
    self->call.function = &self->function;
    self->call.plan = &self->fixed;
    self->call.plan_gives_bool &= !(self->fixed.desc.flags & TALLY_WORDS_OUT);
    return (PyObject *)self;
}

static void plan_free(PyObject *object) {
    plan *self = (plan *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    plans_free(self->fixed.plans);
    Py_XDECREF(self->arguments);
    for (int k = 0; k < OPTIONS; k++)
        Py_XDECREF(self->call.options[k]);
    Py_XDECREF(self->texts);
    release(object);
    Py_DECREF(type);
}

/* The arguments of one call go into a copy of the call that the plan holds. */
static PyObject *run(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    const plan *self = (const plan *)object;
    call c;
    if (call_open_with(&c, &self->function, &self->call.traits, args, count, names))
        return NULL;
    c.plan = self->call.plan;
    c.plan_gives_bool = self->call.plan_gives_bool;
    c.options[AXIS] = self->call.options[AXIS];
    c.options[KEEPDIMS] = self->call.options[KEEPDIMS];
    c.options[COPY] = self->call.options[COPY];
    return call_compute(&c);
}

static PyObject *call_object(PyObject *object, PyObject *args, PyObject *named) {
    enum { MOST = 16 };
    PyObject *values[MOST], *names = NULL, *result = NULL, *key, *value;
    Py_ssize_t count = PyTuple_Size(args), options = named ? PyDict_Size(named) : 0, at = 0, k = 0;
    if (count + options > MOST) {
        PyErr_SetString(PyExc_TypeError, "Plan() takes fewer arguments");
        return NULL;
    }
    for (; k < count; k++)
        values[k] = PyTuple_GetItem(args, k);
    if (options && !(names = PyTuple_New(options)))
        return NULL;
    for (; options && PyDict_Next(named, &at, &key, &value); k++) {
        values[k] = value;
        PyTuple_SetItem(names, k - count, Py_NewRef(key));
    }
    result = run(object, values, count, names);
    Py_XDECREF(names);
    return result;
}

/* Pickles as the arguments that it was made of. */
static PyObject *reduce(PyObject *object, PyObject *unused) {
    (void)unused;
    PyObject *module = PyImport_ImportModule("tally.foreign"); /* that of this interpreter, for pickle compares */
    PyObject *maker = module ? PyObject_GetAttrString(module, "plan_of") : NULL;
    Py_XDECREF(module);
    return maker ? Py_BuildValue("(N(OO))", maker, Py_TYPE(object), ((plan *)object)->arguments) : NULL;
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL | METH_KEYWORDS,
     "run($self, x, y=None, /, *, out=None, offsets=None, keys=None, labels=None, groups=None, group=None)\n--\n\n"
     "Computes; the options are those of tally.sum. Calling the plan does the same, a little slower."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Plan(op, dtype='float64', *, device='cpu', form='reduce', reverse=False, axis=None, keepdims=False, exact=False, "
     "out_dtype=None, acc_dtype=None, correction=0, by=None, index_dtype=None, words=None, copy=None, skip_nan=False, "
     "skip_bad_labels=False)\n--\n\n"
     "A computation of fixed types on a device of its own, to be run time and again: nothing is looked up, and no\n"
     "array of another type or device is taken.\n\n"
     "op: an operator's name, or an Operator of your own, which needs out_dtype\n"
     "out_dtype: 'bool' is for any and all, and for min, max, bor and bxor of bool\n"
     "device: as tally_open has it, such as 'cpu:threads=2', 'cpu:avx2' or 'cuda:1'\n"
     "form: 'reduce', or 'inclusive' or 'exclusive' for scans\n"
     "by: 'offsets', 'keys' or 'labels', which each run then brings, of type index_dtype\n\n"
     "words: 'out': results are states, int64s in a last dimension; 'in': the elements are states of op and dtype,\n"
     "in one array also for dot; 'both'.\n"
     "States of exact sums, means and variances add up as int64s (docs/words.md)\n\n"
     "Any thread may run it, and it pickles."},
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_free},
    {Py_tp_call, call_object},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"tally.Plan", sizeof(plan), 0, Py_TPFLAGS_DEFAULT, slots};

int plan_add_type(PyObject *module) {
    static PyObject *type; /* made once, as Accumulator's */
    if (!type)
        type = PyType_FromSpec(&spec);
    return type ? PyModule_AddObjectRef(module, "Plan", type) : -1;
}
