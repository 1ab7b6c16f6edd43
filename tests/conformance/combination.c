#include "combination.h"

#include <stdio.h>

static const struct {
    const char *name;
    tally_form form;
    bool reverse;
} forms[FORM_COUNT] = {{"reduce", TALLY_REDUCE, false},
                       {"inclusive", TALLY_INCLUSIVE_SCAN, false},
                       {"exclusive", TALLY_EXCLUSIVE_SCAN, false},
                       {"reverse_inclusive", TALLY_INCLUSIVE_SCAN, true},
                       {"reverse_exclusive", TALLY_EXCLUSIVE_SCAN, true}};

tally_form form_of(int form, bool *reverse) {
    *reverse = forms[form].reverse;
    return forms[form].form;
}

const char *form_name(int form) {
    return forms[form].name;
}

int form_number(const combination *c) {
    for (int f = 0; f < FORM_COUNT; f++)
        if (forms[f].form == c->form && forms[f].reverse == c->reverse)
            return f;
    return 0;
}

void combination_name(const combination *c, char name[COMBINATION_NAME_BYTES]) {
    char types[64];
    int at = snprintf(types, sizeof types, "%s", tally_dtype_name(c->in));
    if (c->acc != TALLY_DEFAULT)
        at += snprintf(types + at, sizeof types - (size_t)at, "+%s", tally_dtype_name(c->acc));
    if (c->out != TALLY_DEFAULT)
        at += snprintf(types + at, sizeof types - (size_t)at, ">%s", tally_dtype_name(c->out));
    if (c->index != TALLY_DEFAULT)
        snprintf(types + at, sizeof types - (size_t)at, "@%s", tally_dtype_name(c->index));
    snprintf(name, COMBINATION_NAME_BYTES, "%s/%s/%s/%s/%s%s", tally_op_name(c->op), tally_grouping_name(c->grouping),
             form_name(form_number(c)), types, tally_mode_name(c->mode), c->skips_nan ? "/skip_nan" : "");
}

tally_desc combination_desc(const combination *c) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = c->op;
    desc.form = c->form;
    desc.grouping = c->grouping;
    desc.mode = c->mode;
    desc.in = c->in;
    desc.acc = c->acc;
    desc.out = c->out;
    desc.index = c->index;
    if (c->reverse)
        desc.flags |= TALLY_REVERSE;
    if (c->skips_nan)
        desc.flags |= TALLY_SKIP_NAN;
    return desc;
}

static combination number_of(int op, int mode, int form, int grouping) {
    combination c = {.op = (tally_op)op, .grouping = (tally_grouping)grouping, .mode = (tally_mode)mode};
    c.form = form_of(form, &c.reverse);
    return c;
}

/* Labels have no scans. */
static bool has_form(int grouping, int form) {
    return grouping != TALLY_LABELS || forms[form].form == TALLY_REDUCE;
}

#define EACH_OPERATOR_MODE_FORM_GROUPING                                                                               \
    for (int op = 0; op < TALLY_USER; op++)                                                                            \
        for (int mode = 0; mode < TALLY_MODE_COUNT; mode++)                                                            \
            for (int form = 0; form < FORM_COUNT; form++)                                                              \
                for (int grouping = 0; grouping < TALLY_GROUPING_COUNT; grouping++)                                    \
                    if (has_form(grouping, form))

void each_main_combination(combination_visitor *visit, void *context) {
    EACH_OPERATOR_MODE_FORM_GROUPING
    for (int in = TALLY_I8; in < TALLY_DTYPE_COUNT; in++) {
        combination c = number_of(op, mode, form, grouping);
        c.in = (tally_dtype)in;
        if (!visit(context, &c))
            return;
    }
}

void each_skipping_combination(combination_visitor *visit, void *context) {
    EACH_OPERATOR_MODE_FORM_GROUPING
    for (int in = TALLY_F16; in <= TALLY_F64; in++) {
        combination c = number_of(op, mode, form, grouping);
        c.in = (tally_dtype)in;
        c.skips_nan = true;
        if (!visit(context, &c))
            return;
    }
}

void each_converting_combination(combination_visitor *visit, void *context) {
    EACH_OPERATOR_MODE_FORM_GROUPING
    for (int in = TALLY_I8; in < TALLY_DTYPE_COUNT; in++)
        for (int wide = 0; wide < 2; wide++)
            for (int out = TALLY_DEFAULT; out < TALLY_DTYPE_COUNT; out++) {
                if (!wide && out == TALLY_DEFAULT)
                    continue;
                combination c = number_of(op, mode, form, grouping);
                c.in = (tally_dtype)in;
                c.acc = wide ? TALLY_F64 : TALLY_DEFAULT;
                c.out = (tally_dtype)out;
                if (!visit(context, &c))
                    return;
            }
}

void each_index_combination(combination_visitor *visit, void *context) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_VAR};
    static const tally_dtype types[] = {TALLY_U8, TALLY_I32, TALLY_F32, TALLY_F64};
    for (int o = 0; o < 3; o++)
        for (int t = 0; t < 4; t++)
            for (int form = 0; form < FORM_COUNT; form++)
                for (int grouping = TALLY_SEGMENTS; grouping <= TALLY_LABELS; grouping++)
                    for (int index = TALLY_I8; index < TALLY_DTYPE_COUNT && has_form(grouping, form); index++) {
                        combination c = number_of(ops[o], TALLY_FAST, form, grouping);
                        c.in = types[t];
                        c.index = (tally_dtype)index;
                        if (!visit(context, &c))
                            return;
                    }
}

bool op_takes_initial(tally_op op) {
    switch (op) {
    case TALLY_SUM:
    case TALLY_PROD:
    case TALLY_MIN:
    case TALLY_MAX:
    case TALLY_BAND:
    case TALLY_BOR:
    case TALLY_BXOR:
        return true;
    default:
        return false;
    }
}
