#include "vulkan/translate/translator.h"

static void read_statement(translator *t);

/* "TYPE NAME = VALUE, NAME[3]", without its semicolon. */
static void read_declaration(translator *t) {
    const bool constant = tally_translate_is(t, "const");
    const type element = tally_translate_type(t);
    bool first = true;
    do {
        char name[MOST_NAME];
        tally_translate_name(t, name);
        type of = tally_translate_array(t, element);
        value v = {.text = NULL};
        if (tally_translate_is(t, "{") || (tally_translate_accept(t, "=") && tally_translate_is(t, "{")))
            v = tally_translate_initializer(t, of);
        else if (tally_translate_is(t, ";") || tally_translate_is(t, ","))
            v.text = tally_translate_zero(t, of); /* C leaves it open */
        else
            v = tally_translate_expression(t);
        if (of.kind == KIND_AUTO)
            of = v.is_condition ? (type){KIND_BOOL, NULL, 0} : v.type;
        if (of.kind == KIND_VOID || of.kind == KIND_AUTO)
            tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: no variable is of that type");
        else if (v.type.kind != KIND_VOID)
            v = tally_translate_convert(t, v, of);
        const char *const head = first       ? tally_translate_declared(t, of, name)
                                 : of.length ? tally_translate_format(t, ", %s0[%u]", name, of.length)
                                             : tally_translate_format(t, ", %s0", name);
        tally_text_print(t->out, "%s = %s", head, v.text);
        tally_translate_declare(t, name, of, constant);
        first = false;
    } while (tally_translate_accept(t, ","));
}

/* "(condition) statement", behind its word */
static void read_conditional(translator *t, const char *word) {
    tally_translate_expect(t, "(");
    const value v = tally_translate_condition(t, tally_translate_expression(t));
    tally_translate_expect(t, ")");
    tally_text_print(t->out, "%s (%s) {\n", word, v.text);
    read_statement(t);
    tally_text_add(t->out, "}\n");
}

static void read_if(translator *t) {
    read_conditional(t, "if");
    if (tally_translate_accept(t, "else")) {
        tally_text_add(t->out, "else {\n");
        read_statement(t);
        tally_text_add(t->out, "}\n");
    }
}

static void read_for(translator *t) {
    const int outer = t->name_count;
    const char *condition = "true", *step = "";
    tally_translate_expect(t, "(");
    tally_text_add(t->out, "{\n");
    if (tally_translate_begins_type(t))
        read_declaration(t);
    else if (!tally_translate_is(t, ";"))
        tally_text_add(t->out, tally_translate_effect(t));
    tally_text_add(t->out, ";\n");
    tally_translate_expect(t, ";");
    if (!tally_translate_is(t, ";"))
        condition = tally_translate_condition(t, tally_translate_expression(t)).text;
    tally_translate_expect(t, ";");
    while (!tally_translate_is(t, ")") && t->next.kind != TOKEN_END) {
        if (*step)
            tally_translate_expect(t, ",");
        step = tally_translate_format(t, "%s%s%s", step, *step ? ", " : "", tally_translate_effect(t));
    }
    tally_translate_expect(t, ")");
    tally_text_print(t->out, "for (; %s; %s) {\n", condition, step);
    read_statement(t);
    tally_text_add(t->out, "}\n}\n");
    t->name_count = outer;
}

static void give_back(translator *t, value v) {
    if (t->result.kind == KIND_AUTO && !tally_translate_is_number(v.type)) {
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this stands %s, where a number is expected",
                             tally_translate_type_name(v.type));
        return;
    }
    const type to = t->result.kind == KIND_AUTO ? (type){tally_translate_promoted(v.type.kind), NULL, 0} : t->result;
    v = tally_translate_convert(t, v, to);
    tally_text_print(t->out, "return %s%s%s;\n", t->result_begin, v.text, t->result_end);
}

static void read_return(translator *t) {
    if (t->result.kind == KIND_VOID)
        tally_text_add(t->out, "return;\n");
    else
        give_back(t, tally_translate_expression(t));
}

static void read_simple(translator *t) {
    if (tally_translate_begins_type(t)) {
        read_declaration(t);
        tally_text_add(t->out, ";\n");
    } else if (tally_translate_accept(t, "return")) {
        read_return(t);
    } else if (tally_translate_accept(t, "break")) {
        tally_text_add(t->out, "break;\n");
    } else if (tally_translate_accept(t, "continue")) {
        tally_text_add(t->out, "continue;\n");
    } else if (!tally_translate_is(t, ";")) {
        tally_text_print(t->out, "%s;\n", tally_translate_effect(t));
    }
    tally_translate_expect(t, ";");
}

static void read_statement(translator *t) {
    static const char *const others[] = {"switch", "do", "goto", "case", "else"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (tally_translate_is(t, others[k]))
            tally_translate_fail(t, TALLY_UNSUPPORTED, "this statement is not known here");
    if (tally_translate_is(t, "{")) {
        tally_text_add(t->out, "{\n");
        tally_translate_block(t);
        tally_text_add(t->out, "}\n");
    } else if (tally_translate_accept(t, "if")) {
        read_if(t);
    } else if (tally_translate_accept(t, "for")) {
        read_for(t);
    } else if (tally_translate_accept(t, "while")) {
        read_conditional(t, "while");
    } else {
        read_simple(t);
    }
}

void tally_translate_block(translator *t) {
    const int outer = t->name_count;
    if (++t->depth > MOST_DEPTH)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "blocks are nested too deeply");
    tally_translate_expect(t, "{");
    while (!tally_translate_is(t, "}") && t->next.kind != TOKEN_END)
        read_statement(t);
    tally_translate_expect(t, "}");
    t->depth--;
    t->name_count = outer;
}

/* ---- functions and whole texts ---- */

static void read_parameter(translator *t, function *f) {
    const bool constant = tally_translate_is(t, "const");
    named *const parameter = &f->parameters[f->count];
    const type of = tally_translate_type(t);
    const bool reference = tally_translate_accept(t, "&");
    f->by_reference[f->count] = reference && !constant;
    tally_translate_name(t, parameter->name);
    parameter->type = of;
    parameter->constant = constant;
    tally_text_print(t->out, "%s%s%s", f->count ? ", " : "", reference && !constant ? "inout " : "",
                     tally_translate_declared(t, of, parameter->name));
    tally_translate_declare(t, parameter->name, of, constant);
    if (++f->count == MOST_PARAMETERS) {
        tally_translate_fail(t, TALLY_UNSUPPORTED, "a function has less than %d parameters here", MOST_PARAMETERS);
        f->count = 0;
    }
}

/* "TYPE NAME(PARAMETERS) { ... }" */
static void read_function(translator *t) {
    function *const f = &t->functions[t->function_count < MOST_FUNCTIONS - 1 ? t->function_count : 0];
    *f = (function){.result = tally_translate_type(t)};
    tally_translate_name(t, f->name);
    if (f->result.kind == KIND_AUTO || t->function_count >= MOST_FUNCTIONS - 1)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "a function of type auto, or too many functions");
    tally_text_print(t->out, "%s %s0(", tally_translate_glsl(t, f->result), f->name);
    tally_translate_expect(t, "(");
    while (!tally_translate_is(t, ")") && t->next.kind != TOKEN_END) {
        if (f->count)
            tally_translate_expect(t, ",");
        if (f->count == 0 && tally_translate_accept(t, "void"))
            break;
        read_parameter(t, f);
    }
    tally_translate_expect(t, ")");
    tally_text_add(t->out, ") {\n");
    t->result = f->result;
    t->result_begin = t->result_end = "";
    tally_translate_block(t);
    tally_text_add(t->out, "}\n");
    t->function_count++; /* GLSL has no recursion */
    t->name_count = 0;
}

static bool is_structure(translator *t) {
    const char *const at = t->at;
    const token next = t->next;
    bool found = false;
    if (tally_translate_accept(t, "struct")) {
        tally_translate_advance(t);
        found = tally_translate_is(t, "{");
    }
    t->at = at;
    t->next = next;
    return found;
}

void tally_translate_declarations(translator *t) {
    while (t->next.kind != TOKEN_END)
        if (is_structure(t))
            tally_translate_structure(t);
        else
            read_function(t);
}

void tally_translate_body(translator *t) {
    if (!tally_translate_is(t, "[")) {
        give_back(t, tally_translate_expression(t));
    } else {
        tally_translate_advance(t);
        (void)(tally_translate_accept(t, "&") || tally_translate_accept(t, "="));
        tally_translate_expect(t, "]");
        if (tally_translate_accept(t, "("))
            tally_translate_expect(t, ")");
        tally_text_add(t->out, "{\n"); /* whose names may hide the parameters */
        tally_translate_block(t);
        tally_text_add(t->out, "}\n");
        tally_translate_expect(t, "(");
        tally_translate_expect(t, ")");
    }
    if (t->next.kind != TOKEN_END)
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "there is more text after the text's end");
}
