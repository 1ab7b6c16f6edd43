/* Calls of the text's own functions, and of the functions of C and CUDA that are known here. Their types follow C++'s
 * overloads: sqrt of a float is a float, and sqrtf converts its argument to one. */
#include <string.h>

#include "vulkan/translate/translator.h"

typedef enum family {
    OF_FLOATS,  /* of floats and doubles, the wider of them; integers become doubles */
    OF_FLOAT,   /* as these, but GLSL has none for doubles */
    OF_NUMBERS, /* of integers, too */
    TELLING,    /* a condition of floats */
    BITS        /* from one type to another */
} family;

static const struct {
    const char *c, *glsl;
    family family;
    int arguments;
    kind from, to; /* BITS */
} functions[] = {
    {"fabs", "abs", OF_FLOATS, 1, 0, 0},
    {"sqrt", "sqrt", OF_FLOATS, 1, 0, 0},
    {"floor", "floor", OF_FLOATS, 1, 0, 0},
    {"ceil", "ceil", OF_FLOATS, 1, 0, 0},
    {"trunc", "trunc", OF_FLOATS, 1, 0, 0},
    {"rint", "roundEven", OF_FLOATS, 1, 0, 0},
    {"fma", "fma", OF_FLOATS, 3, 0, 0},
    {"fmin", "least_of", OF_FLOATS, 2, 0, 0},
    {"fmax", "most_of", OF_FLOATS, 2, 0, 0},
    {"exp", "exp", OF_FLOAT, 1, 0, 0},
    {"exp2", "exp2", OF_FLOAT, 1, 0, 0},
    {"log", "log", OF_FLOAT, 1, 0, 0},
    {"log2", "log2", OF_FLOAT, 1, 0, 0},
    {"pow", "pow", OF_FLOAT, 2, 0, 0},
    {"sin", "sin", OF_FLOAT, 1, 0, 0},
    {"cos", "cos", OF_FLOAT, 1, 0, 0},
    {"tan", "tan", OF_FLOAT, 1, 0, 0},
    {"tanh", "tanh", OF_FLOAT, 1, 0, 0},
    {"atan2", "atan", OF_FLOAT, 2, 0, 0},
    {"abs", "abs", OF_NUMBERS, 1, 0, 0},
    {"min", "least_of", OF_NUMBERS, 2, 0, 0},
    {"max", "most_of", OF_NUMBERS, 2, 0, 0},
    {"isnan", "is_nan", TELLING, 1, 0, 0},
    {"isinf", "is_infinite", TELLING, 1, 0, 0},
    {"__float_as_uint", "floatBitsToUint", BITS, 1, KIND_F32, KIND_U32},
    {"__float_as_int", "floatBitsToInt", BITS, 1, KIND_F32, KIND_I32},
    {"__uint_as_float", "uintBitsToFloat", BITS, 1, KIND_U32, KIND_F32},
    {"__int_as_float", "intBitsToFloat", BITS, 1, KIND_I32, KIND_F32},
    {"__popc", "bitCount", BITS, 1, KIND_U32, KIND_I32},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const char *joined(translator *t, const value *arguments, int count) {
    const char *all = "";
    for (int k = 0; k < count; k++)
        all = tally_translate_format(t, "%s%s%s", all, k ? ", " : "", arguments[k].text);
    return all;
}

static value call_own(translator *t, const function *f, value *arguments, int count) {
    if (count != f->count)
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: '%s' takes %d arguments", f->name, f->count);
    for (int k = 0; k < count && k < f->count; k++) {
        if (f->by_reference[k] &&
            !(arguments[k].is_place && tally_translate_same(arguments[k].type, f->parameters[k].type)))
            tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: '%s' takes a variable as argument %d",
                                 f->name, k + 1);
        if (!f->by_reference[k])
            arguments[k] = tally_translate_convert(t, arguments[k], f->parameters[k].type);
    }
    return (value){.text = tally_translate_format(t, "%s0(%s)", f->name, joined(t, arguments, count)),
                   .type = f->result};
}

static kind widest(const value *arguments, int count) {
    kind k = KIND_I32;
    for (int j = 0; j < count; j++)
        if (arguments[j].type.kind > k)
            k = arguments[j].type.kind;
    return k;
}

static value call_known(translator *t, int which, bool of_float, value *arguments, int count) {
    const family of = functions[which].family;
    for (int j = 0; j < count; j++)
        if (!tally_translate_is_number(arguments[j].type))
            tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: '%s' is applied to %s", functions[which].c,
                                 tally_translate_type_name(arguments[j].type));
    kind k = of == BITS ? functions[which].from : widest(arguments, count);
    if (count != functions[which].arguments)
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: '%s' takes %d arguments", functions[which].c,
                             functions[which].arguments);
    if (of_float)
        k = KIND_F32;
    else if (of != OF_NUMBERS && of != BITS && k < KIND_F32)
        k = KIND_F64;
    if (of == OF_FLOAT && k == KIND_F64)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "before this: '%s' of a double is not known on Vulkan; %sf is",
                             functions[which].c, functions[which].c);
    if (t->status != TALLY_OK)
        return (value){.text = "0", .type = {KIND_I32, NULL, 0}};
    for (int j = 0; j < count; j++)
        arguments[j] = tally_translate_convert(t, arguments[j], (type){k, NULL, 0});
    return (value){.text = tally_translate_format(t, "%s(%s)", functions[which].glsl, joined(t, arguments, count)),
                   .type = {of == BITS      ? functions[which].to
                            : of == TELLING ? KIND_I32
                                            : k,
                            NULL, 0},
                   .is_condition = of == TELLING};
}

value tally_translate_call(translator *t, const char *name, value *arguments, int count) {
    const size_t length = strlen(name);
    for (int k = 0; k < t->function_count; k++)
        if (strcmp(t->functions[k].name, name) == 0)
            return call_own(t, &t->functions[k], arguments, count);
    for (int k = 0; k < FUNCTIONS; k++) {
        const size_t known = strlen(functions[k].c);
        const bool whole = strcmp(functions[k].c, name) == 0;
        const bool of_float = functions[k].family <= OF_FLOAT && length == known + 1 && name[known] == 'f' &&
                              strncmp(functions[k].c, name, known) == 0;
        if (whole || of_float)
            return call_known(t, k, of_float, arguments, count);
    }
    tally_translate_fail(t, TALLY_UNSUPPORTED, "before this: no function '%s' is known here", name);
    return (value){.text = "0", .type = {KIND_I32, NULL, 0}};
}
