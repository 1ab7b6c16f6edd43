/* The functions of the module tally: each takes arrays and options apart, finds a plan, runs it on the arrays in place
 * and returns what the caller's library would. */
#include "accumulator.h"
#include "array.h"
#include "call.h"
#include "plan.h"

#include <stdlib.h>

static PyObject *compute(const function_row *f, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    call c;
    return call_open(&c, f, args, count, names) ? NULL : call_compute(&c);
}

#define BIT(option) (1u << (option))
#define ALWAYS      (BIT(AXIS) | BIT(OUT) | BIT(COPY) | BIT(OFFSETS) | BIT(KEYS) | BIT(GROUP) | BIT(SKIP_NAN))
#define REDUCES     (ALWAYS | BIT(KEEPDIMS) | BIT(LABELS) | BIT(GROUPS) | BIT(SKIP_BAD_LABELS))
#define SCANS       (ALWAYS | BIT(REVERSE) | BIT(EXCLUSIVE))
#define ROUNDS      (BIT(DTYPE) | BIT(EXACT))

/* FUNCTION(name, operator, form, options) */
#define FUNCTIONS                                                                                                      \
    FUNCTION(sum, SUM, REDUCE, REDUCES | ROUNDS)                                                                       \
    FUNCTION(prod, PROD, REDUCE, REDUCES | ROUNDS)                                                                     \
    FUNCTION(min, MIN, REDUCE, REDUCES)                                                                                \
    FUNCTION(max, MAX, REDUCE, REDUCES)                                                                                \
    FUNCTION(argmin, ARGMIN, REDUCE, REDUCES)                                                                          \
    FUNCTION(argmax, ARGMAX, REDUCE, REDUCES)                                                                          \
    FUNCTION(any, ANY, REDUCE, REDUCES)                                                                                \
    FUNCTION(all, ALL, REDUCE, REDUCES)                                                                                \
    FUNCTION(count_nonzero, COUNT_NONZERO, REDUCE, REDUCES)                                                            \
    FUNCTION(bitwise_and, BAND, REDUCE, REDUCES)                                                                       \
    FUNCTION(bitwise_or, BOR, REDUCE, REDUCES)                                                                         \
    FUNCTION(bitwise_xor, BXOR, REDUCE, REDUCES)                                                                       \
    FUNCTION(sumsq, SUMSQ, REDUCE, REDUCES | ROUNDS)                                                                   \
    FUNCTION(norm1, NORM1, REDUCE, REDUCES | ROUNDS)                                                                   \
    FUNCTION(norm2, NORM2, REDUCE, REDUCES | ROUNDS)                                                                   \
    FUNCTION(norm_inf, NORM_INF, REDUCE, REDUCES)                                                                      \
    FUNCTION(mean, MEAN, REDUCE, REDUCES | ROUNDS)                                                                     \
    FUNCTION(var, VAR, REDUCE, REDUCES | ROUNDS | BIT(CORRECTION))                                                     \
    FUNCTION(std, STD, REDUCE, REDUCES | ROUNDS | BIT(CORRECTION))                                                     \
    FUNCTION(skewness, SKEWNESS, REDUCE, REDUCES | BIT(DTYPE) | BIT(CORRECTION))                                       \
    FUNCTION(kurtosis, KURTOSIS, REDUCE, REDUCES | BIT(DTYPE) | BIT(CORRECTION))                                       \
    FUNCTION(logsumexp, LOGSUMEXP, REDUCE, REDUCES | BIT(DTYPE))                                                       \
    FUNCTION(dot, DOT, REDUCE, REDUCES | ROUNDS)                                                                       \
    FUNCTION(cumulative_sum, SUM, INCLUSIVE_SCAN, SCANS | ROUNDS | BIT(INCLUDE_INITIAL))                               \
    FUNCTION(cumulative_prod, PROD, INCLUSIVE_SCAN, SCANS | ROUNDS | BIT(INCLUDE_INITIAL))                             \
    FUNCTION(cumulative_min, MIN, INCLUSIVE_SCAN, SCANS & ~BIT(EXCLUSIVE))                                             \
    FUNCTION(cumulative_max, MAX, INCLUSIVE_SCAN, SCANS & ~BIT(EXCLUSIVE))                                             \
    FUNCTION(cumulative_logsumexp, LOGSUMEXP, INCLUSIVE_SCAN, SCANS | BIT(DTYPE))

#define FUNCTION(name, op, form, options)                                                                              \
    static const function_row name##_function = {#name, TALLY_##op, TALLY_##form, options};                            \
    static PyObject *py_##name(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {           \
        (void)module;                                                                                                  \
        return compute(&name##_function, args, count, names);                                                          \
    }
FUNCTIONS
#undef FUNCTION

static const function_row *const functions[] = {
#define FUNCTION(name, op, form, options) &name##_function,
    FUNCTIONS
#undef FUNCTION
};

static PyMethodDef methods[] = {
#define FUNCTION(name, op, form, options)                                                                              \
    {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL | METH_KEYWORDS, NULL},
    FUNCTIONS
#undef FUNCTION
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tally._tally", NULL, -1, methods, NULL, NULL, NULL, NULL};

/* The signature, as the module inspect reads it, what the operator does, and the options. Lives as long as the process;
 * NULL without memory. */
static char *documentation_of(const function_row *f) {
    enum { ROOM = 3000 };
    char *text = malloc(ROOM);
    tally_traits traits = {.struct_size = sizeof traits};
    tally_op_traits(f->op, &traits);
    int at = text ? PyOS_snprintf(text, ROOM, "%s(x%s, /, *", f->name, traits.inputs == 2 ? ", y" : "") : 0;
    for (int k = 0; text && k < OPTIONS; k++)
        if (f->options >> k & 1)
            at += PyOS_snprintf(text + at, (size_t)(ROOM - at), ", %s=%s", option_table[k].name, option_table[k].value);
    const char *summary = tally_op_summary(f->op); /* "sum of the elements", "1 if any element is not zero" */
    if (text)
        at += PyOS_snprintf(text + at, (size_t)(ROOM - at), ")\n--\n\n%s%s.\n\n",
                            f->form != TALLY_REDUCE ? "For each element that and those before it: the "
                            : *summary == '1'       ? ""
                                                    : "The ",
                            summary);
    for (int k = 0; text && k < OPTIONS; k++)
        if (f->options >> k & 1)
            at += PyOS_snprintf(text + at, (size_t)(ROOM - at), "%s: %s\n", option_table[k].name, option_table[k].text);
    return text;
}

PyMODINIT_FUNC PyInit__tally(void); /* Python finds it by its name */
PyMODINIT_FUNC PyInit__tally(void) {
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (!methods[k].ml_doc && !(methods[k].ml_doc = documentation_of(functions[k])))
            return PyErr_NoMemory();
    PyObject *module = array_module_init() || call_module_init() ? NULL : PyModule_Create(&definition);
    if (module && (accumulator_add_type(module) || plan_add_type(module) ||
                   PyModule_AddStringConstant(module, "__version__", tally_version())))
        Py_CLEAR(module);
#ifdef Py_GIL_DISABLED
    if (module && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED))
        Py_CLEAR(module);
#endif
    return module;
}
