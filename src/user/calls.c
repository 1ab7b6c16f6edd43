/* Calls of the text's own functions, and of the functions of C and CUDA that are known here. Their types follow C++'s
 * overloads: sqrt of a float is a float, and sqrtf converts its argument to one. */
#include <string.h>

#include "user/reader.h"

typedef enum family { FLOATS, FLOAT, NUMBERS, TELLING, BITS } family; /* functions.def */

static const struct {
    const char *name;
    int arguments;
    family family;
    kind from, to; /* BITS */
} functions[] = {
#define TALLY_USER_FUNCTION(name, arguments, family, glsl, from, to) {#name, arguments, family, KIND_##from, KIND_##to},
#include "user/functions.def"
};

/* The arguments as a list, each converted to its type, or as it is where that is void. */
static const node *listed(reader *r, const value *arguments, const type *types, int count) {
    list all = {NULL, NULL};
    for (int k = 0; k < count; k++) {
        const node *const from = arguments[k].node;
        tally_user_append(r, &all, types[k].kind == KIND_VOID ? from : tally_user_convert(r, from, types[k]));
    }
    return all.first;
}

static const node *call_own(reader *r, const function *f, const value *arguments, int count) {
    type types[MOST_PARAMETERS] = {{KIND_VOID, NULL, 0}};
    if (count != f->count) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: '%s' takes %d arguments", f->name, f->count);
        return tally_user_integer(r, 0, KIND_I32);
    }
    for (int k = 0; k < count; k++) {
        const type of = f->parameters[k]->type;
        if (f->by_reference[k] && !(arguments[k].is_place && tally_user_same(arguments[k].node->type, of)))
            tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: '%s' takes a variable as argument %d", f->name,
                            k + 1);
        types[k] = f->by_reference[k] ? (type){KIND_VOID, NULL, 0} : of;
    }
    return tally_user_node(r, (node){.what = NODE_CALL,
                                     .type = f->result,
                                     .calls = true,
                                     .depth = f->body->depth + 1, /* back ends may walk the body from here */
                                     .a = listed(r, arguments, types, count),
                                     .function = f});
}

static kind widest(const value *arguments, int count) {
    kind k = KIND_I32;
    for (int j = 0; j < count; j++)
        if (arguments[j].node->type.kind > k)
            k = arguments[j].node->type.kind;
    return k;
}

static const node *call_known(reader *r, known_function which, bool of_float, const value *arguments, int count) {
    const family of = functions[which].family;
    const char *const name = functions[which].name;
    for (int j = 0; j < count; j++)
        if (!tally_user_is_number(arguments[j].node->type))
            tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: '%s' is applied to %s", name,
                            tally_user_type_name(arguments[j].node->type));
    kind k = of == BITS ? functions[which].from : widest(arguments, count);
    if (count != functions[which].arguments)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: '%s' takes %d arguments", name,
                        functions[which].arguments);
    if (of_float)
        k = KIND_F32;
    else if (of != NUMBERS && of != BITS && k < KIND_F32)
        k = KIND_F64;
    if (of == FLOAT && k == KIND_F64 && !r->limits->wide_functions)
        tally_user_fail(r, TALLY_UNSUPPORTED, "before this: '%s' of a double is not known on %s; %sf is", name,
                        r->limits->where, name);
    if (r->status != TALLY_OK)
        return tally_user_integer(r, 0, KIND_I32);
    type types[MOST_PARAMETERS];
    for (int j = 0; j < count; j++)
        types[j] = (type){k, NULL, 0};
    const kind to = of == BITS ? functions[which].to : of == TELLING ? KIND_I32 : k;
    return tally_user_node(r, (node){.what = NODE_KNOWN,
                                     .type = {to, NULL, 0},
                                     .is_condition = of == TELLING,
                                     .which = (int)which,
                                     .a = listed(r, arguments, types, count)});
}

const node *tally_user_call(reader *r, const char *name, const value *arguments, int count) {
    const size_t length = strlen(name);
    for (int k = 0; k < r->tree->function_count; k++)
        if (strcmp(r->tree->functions[k].name, name) == 0)
            return call_own(r, &r->tree->functions[k], arguments, count);
    for (int k = 0; k < KNOWN_COUNT; k++) {
        const size_t known_length = strlen(functions[k].name);
        const bool whole = strcmp(functions[k].name, name) == 0;
        const bool of_float = functions[k].family <= FLOAT && length == known_length + 1 && name[known_length] == 'f' &&
                              strncmp(functions[k].name, name, known_length) == 0;
        if (whole || of_float)
            return call_known(r, (known_function)k, of_float, arguments, count);
    }
    tally_user_fail(r, TALLY_UNSUPPORTED, "before this: no function '%s' is known here", name);
    return tally_user_integer(r, 0, KIND_I32);
}
