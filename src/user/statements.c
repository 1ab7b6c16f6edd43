#include "user/reader.h"

static const node *read_statement(reader *r);
static const node *read_block(reader *r);

static const node *block_of(reader *r, const list *all) {
    return tally_user_node(r, (node){.what = NODE_BLOCK, .a = all->first});
}

/* "NAME = VALUE" or "NAME[3]", behind its type. */
static const node *read_declared(reader *r, type element, bool constant) {
    char name[MOST_NAME];
    tally_user_name(r, name);
    type of = tally_user_array(r, element);
    const node *initial;
    if (tally_user_is(r, "{") || (tally_user_accept(r, "=") && tally_user_is(r, "{")))
        initial = tally_user_initializer(r, of);
    else if (tally_user_is(r, ";") || tally_user_is(r, ","))
        initial = tally_user_node(r, (node){.what = NODE_ZERO, .type = of}); /* C leaves it open */
    else
        initial = tally_user_expression(r).node;
    if (of.kind == KIND_AUTO)
        of = initial->is_condition ? (type){KIND_BOOL, NULL, 0} : initial->type;
    if (of.kind == KIND_VOID || of.kind == KIND_AUTO)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: no variable is of that type");
    else
        initial = tally_user_convert(r, initial, of);
    const variable *const declared = tally_user_declare(r, name, of, constant);
    return tally_user_node(r, (node){.what = NODE_DECLARE, .variable = declared, .a = initial});
}

/* "TYPE NAME = VALUE, NAME[3]", without its semicolon. */
static void read_declaration(reader *r, list *all) {
    const bool constant = tally_user_is(r, "const");
    const type element = tally_user_type(r);
    do
        tally_user_append(r, all, read_declared(r, element, constant));
    while (tally_user_accept(r, ","));
}

/* "(condition)" */
static const node *read_condition(reader *r) {
    tally_user_expect(r, "(");
    const node *const condition = tally_user_condition(r, tally_user_expression(r).node);
    tally_user_expect(r, ")");
    return condition;
}

/* A statement's names are gone after it, also if it has no braces. */
static const node *read_inner(reader *r) {
    const int outer = r->name_count;
    const node *const statement = read_statement(r);
    r->name_count = outer;
    list all = {NULL, NULL};
    tally_user_append(r, &all, statement);
    return block_of(r, &all);
}

static const node *read_if(reader *r) {
    const node *const condition = read_condition(r);
    const node *const yes = read_inner(r);
    const node *const no = tally_user_accept(r, "else") ? read_inner(r) : NULL;
    return tally_user_node(r, (node){.what = NODE_IF, .a = condition, .b = yes, .c = no});
}

static const node *read_repeated(reader *r) {
    r->loops++;
    const node *const body = read_inner(r);
    r->loops--;
    return body;
}

static const node *read_while(reader *r) {
    const node *const condition = read_condition(r);
    return tally_user_node(r, (node){.what = NODE_LOOP, .a = condition, .b = read_repeated(r)});
}

static const node *read_for(reader *r) {
    const int outer = r->name_count;
    const node *condition = NULL;
    list all = {NULL, NULL}, steps = {NULL, NULL};
    tally_user_expect(r, "(");
    if (tally_user_begins_type(r))
        read_declaration(r, &all);
    else if (!tally_user_is(r, ";"))
        tally_user_append(r, &all, tally_user_effect(r));
    tally_user_expect(r, ";");
    if (!tally_user_is(r, ";"))
        condition = tally_user_condition(r, tally_user_expression(r).node);
    tally_user_expect(r, ";");
    while (!tally_user_is(r, ")") && r->next.kind != TOKEN_END) {
        if (steps.first)
            tally_user_expect(r, ",");
        tally_user_append(r, &steps, tally_user_effect(r));
    }
    tally_user_expect(r, ")");
    const node *const body = read_repeated(r);
    tally_user_append(
        r, &all, tally_user_node(r, (node){.what = NODE_LOOP, .a = condition, .b = body, .c = block_of(r, &steps)}));
    r->name_count = outer;
    return block_of(r, &all);
}

static const node *returned(reader *r, const node *n) {
    if (r->result.kind == KIND_AUTO && !tally_user_is_number(n->type)) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this stands %s, where a number is expected",
                        tally_user_type_name(n->type));
        n = tally_user_integer(r, 0, KIND_I32);
    }
    const type to = r->result.kind == KIND_AUTO ? (type){tally_user_promoted(n->type.kind), NULL, 0} : r->result;
    return tally_user_node(r, (node){.what = NODE_RETURN, .type = to, .a = tally_user_convert(r, n, to)});
}

static const node *read_exit(reader *r, node_kind what) {
    if (!r->loops)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: no loop is left");
    return tally_user_node(r, (node){.what = what});
}

static void read_simple(reader *r, list *all) {
    if (tally_user_begins_type(r))
        read_declaration(r, all);
    else if (tally_user_accept(r, "return"))
        tally_user_append(r, all,
                          r->result.kind == KIND_VOID ? tally_user_node(r, (node){.what = NODE_RETURN})
                                                      : returned(r, tally_user_expression(r).node));
    else if (tally_user_accept(r, "break"))
        tally_user_append(r, all, read_exit(r, NODE_BREAK));
    else if (tally_user_accept(r, "continue"))
        tally_user_append(r, all, read_exit(r, NODE_CONTINUE));
    else if (!tally_user_is(r, ";"))
        tally_user_append(r, all, tally_user_effect(r));
    tally_user_expect(r, ";");
}

/* Declarations give several. */
static void read_statements(reader *r, list *all) {
    static const char *const others[] = {"switch", "do", "goto", "case", "else"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (tally_user_is(r, others[k]))
            tally_user_fail(r, TALLY_UNSUPPORTED, "this statement is not known here");
    if (++r->depth > MOST_DEPTH)
        tally_user_fail(r, TALLY_UNSUPPORTED, "statements are nested too deeply");
    if (tally_user_is(r, "{"))
        tally_user_append(r, all, read_block(r));
    else if (tally_user_accept(r, "if"))
        tally_user_append(r, all, read_if(r));
    else if (tally_user_accept(r, "for"))
        tally_user_append(r, all, read_for(r));
    else if (tally_user_accept(r, "while"))
        tally_user_append(r, all, read_while(r));
    else
        read_simple(r, all);
    r->depth--;
}

static const node *read_statement(reader *r) {
    list all = {NULL, NULL};
    read_statements(r, &all);
    return all.first && all.first == all.last ? all.first : block_of(r, &all);
}

static const node *read_block(reader *r) {
    const int outer = r->name_count;
    list all = {NULL, NULL};
    tally_user_expect(r, "{");
    while (!tally_user_is(r, "}") && r->next.kind != TOKEN_END)
        read_statements(r, &all);
    tally_user_expect(r, "}");
    r->name_count = outer;
    return block_of(r, &all);
}

/* ---- functions and whole texts ---- */

static void read_parameter(reader *r, function *f) {
    const bool constant = tally_user_is(r, "const");
    char name[MOST_NAME];
    const type of = tally_user_type(r);
    f->by_reference[f->count] = tally_user_accept(r, "&") && !constant;
    tally_user_name(r, name);
    if (of.kind == KIND_VOID || of.kind == KIND_AUTO)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: no parameter is of that type");
    f->parameters[f->count] = tally_user_declare(r, name, of, constant);
    if (++f->count == MOST_PARAMETERS) {
        tally_user_fail(r, TALLY_UNSUPPORTED, "a function has less than %d parameters here", MOST_PARAMETERS);
        f->count = 0;
    }
}

/* "TYPE NAME(PARAMETERS) { ... }". It is known after its end, so there is no recursion. */
static void read_function(reader *r) {
    tally_user_tree *const tree = r->tree;
    function *const f = &tree->functions[tree->function_count < MOST_FUNCTIONS - 1 ? tree->function_count : 0];
    *f = (function){.result = tally_user_type(r)};
    tally_user_name(r, f->name);
    if (f->result.kind == KIND_AUTO || tree->function_count >= MOST_FUNCTIONS - 1)
        tally_user_fail(r, TALLY_UNSUPPORTED, "a function of type auto, or too many functions");
    tally_user_expect(r, "(");
    while (!tally_user_is(r, ")") && r->next.kind != TOKEN_END) {
        if (f->count)
            tally_user_expect(r, ",");
        if (f->count == 0 && tally_user_accept(r, "void"))
            break;
        read_parameter(r, f);
    }
    tally_user_expect(r, ")");
    r->result = f->result;
    f->body = read_block(r);
    tree->function_count++;
    r->name_count = 0;
}

static bool is_structure(reader *r) {
    const char *const at = r->at;
    const token next = r->next;
    bool found = false;
    if (tally_user_accept(r, "struct")) {
        tally_user_advance(r);
        found = tally_user_is(r, "{");
    }
    r->at = at;
    r->next = next;
    return found;
}

void tally_user_declarations(reader *r) {
    while (r->next.kind != TOKEN_END)
        if (is_structure(r))
            tally_user_structure(r);
        else
            read_function(r);
}

const node *tally_user_body(reader *r) {
    list all = {NULL, NULL};
    if (!tally_user_is(r, "[")) {
        tally_user_append(r, &all, returned(r, tally_user_expression(r).node));
    } else {
        tally_user_advance(r);
        (void)(tally_user_accept(r, "&") || tally_user_accept(r, "="));
        tally_user_expect(r, "]");
        if (tally_user_accept(r, "("))
            tally_user_expect(r, ")");
        tally_user_append(r, &all, read_block(r)); /* whose names may hide the parameters */
        tally_user_expect(r, "(");
        tally_user_expect(r, ")");
    }
    if (r->next.kind != TOKEN_END)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "there is more text after the text's end");
    return block_of(r, &all);
}
