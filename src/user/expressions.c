#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/reader.h"

static const type int_type = {KIND_I32, NULL, 0};

static value of(const node *n) {
    return (value){n, false};
}
static value zero(reader *r) { /* after a mistake */
    return of(tally_user_integer(r, 0, KIND_I32));
}

/* ---- operators ---- */

static const struct {
    const char *sign;
    int rank;
} binaries[BINARY_COUNT] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
                            {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
                            {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};

static kind common(const node *a, const node *b) {
    const kind p = tally_user_promoted(a->type.kind), q = tally_user_promoted(b->type.kind);
    return p > q ? p : q;
}

static const node *binary_of(reader *r, binary which, const node *a, const node *b, kind k, bool is_condition) {
    return tally_user_node(r, (node){.what = NODE_BINARY,
                                     .type = {k, NULL, 0},
                                     .is_condition = is_condition,
                                     .which = (int)which,
                                     .a = a,
                                     .b = b});
}

static const node *shifted(reader *r, binary which, const node *a, const node *b) {
    const kind k = tally_user_promoted(a->type.kind);
    if (k >= KIND_F32 || b->type.kind >= KIND_F32) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this '%s' is applied to a float", binaries[which].sign);
        return zero(r).node;
    }
    a = tally_user_convert(r, a, (type){k, NULL, 0});
    b = tally_user_convert(r, b, (type){KIND_U32, NULL, 0});
    return binary_of(r, which, a, b, k, false);
}

static const node *operated(reader *r, binary which, const node *a, const node *b) {
    const char *const sign = binaries[which].sign;
    if (!tally_user_is_number(a->type) || !tally_user_is_number(b->type)) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this '%s' needs a number on each side", sign);
        return zero(r).node;
    }
    if (which <= BINARY_AND)
        return binary_of(r, which, tally_user_condition(r, a), tally_user_condition(r, b), KIND_I32, true);
    if (which == BINARY_LEFT || which == BINARY_RIGHT)
        return shifted(r, which, a, b);
    const kind k = common(a, b);
    const bool compares = which >= BINARY_EQUAL && which <= BINARY_GREATER_EQUAL;
    if (k >= KIND_F32 && strchr("%&|^", *sign))
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this '%s' is applied to a float", sign);
    a = tally_user_convert(r, a, (type){k, NULL, 0});
    b = tally_user_convert(r, b, (type){k, NULL, 0});
    return binary_of(r, which, a, b, compares ? KIND_I32 : k, compares);
}

/* ---- primaries ---- */

/* By C's rules for the type of a number. */
static const node *read_integer(reader *r, const char *text) {
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 0);
    const bool decimal = text[0] != '0', is_unsigned = strpbrk(end, "uU") != NULL, is_long = strpbrk(end, "lL") != NULL;
    if (errno || strspn(end, "uUlL") != strlen(end) || strlen(end) > 3)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "this is not a number");
    kind k = KIND_U64;
    if (!is_long && !is_unsigned && n <= INT32_MAX)
        k = KIND_I32;
    else if (!is_long && n <= UINT32_MAX && (is_unsigned || !decimal))
        k = KIND_U32;
    else if (!is_unsigned && n <= INT64_MAX)
        k = KIND_I64;
    return tally_user_integer(r, n, k);
}

/* Skips digits, point and exponent. strtod would expect the point of the program's locale. */
static const char *end_of_float(const char *text) {
    static const char digits[] = "0123456789";
    const size_t whole = strspn(text, digits);
    const bool has_point = text[whole] == '.';
    const size_t fraction = has_point ? strspn(text + whole + 1, digits) : 0;
    if (whole + fraction == 0)
        return text;
    const char *const end = text + whole + has_point + fraction;
    const size_t sign = *end == 'e' || *end == 'E' ? 1 + (end[1] == '+' || end[1] == '-') : 0;
    const size_t exponent = sign ? strspn(end + sign, digits) : 0;
    return exponent ? end + sign + exponent : end;
}

static value read_number(reader *r) {
    char *const text = tally_user_allocate(r, (size_t)r->next.length + 1);
    memcpy(text, r->next.begin, (size_t)r->next.length);
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (hexadecimal || !strpbrk(text, ".eEfF")) {
        const value v = of(read_integer(r, text));
        tally_user_advance(r);
        return v;
    }
    char *const end = text + (end_of_float(text) - text);
    const bool is_float = (*end == 'f' || *end == 'F') && !end[1];
    if (*end && !is_float)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "this is not a number");
    *end = 0;
    tally_user_advance(r);
    r->tree->uses_double |= !is_float;
    return of(tally_user_node(
        r, (node){.what = NODE_NUMBER, .type = {is_float ? KIND_F32 : KIND_F64, NULL, 0}, .digits = text}));
}

/* Reads "(a, b)". */
static int read_arguments(reader *r, value arguments[MOST_PARAMETERS]) {
    int count = 0;
    tally_user_expect(r, "(");
    while (!tally_user_is(r, ")") && r->next.kind != TOKEN_END) {
        if (count)
            tally_user_expect(r, ",");
        const value v = tally_user_expression(r);
        if (count == MOST_PARAMETERS)
            tally_user_fail(r, TALLY_UNSUPPORTED, "before this: more than %d arguments", MOST_PARAMETERS);
        else
            arguments[count++] = v;
    }
    tally_user_expect(r, ")");
    return count;
}

static value read_name(reader *r) {
    char name[MOST_NAME];
    if (tally_user_is(r, "true") || tally_user_is(r, "false")) {
        const bool is_true = tally_user_is(r, "true");
        tally_user_advance(r);
        return of(tally_user_integer(r, is_true, KIND_BOOL));
    }
    const token at = r->next;
    tally_user_name(r, name);
    if (tally_user_is(r, "(")) {
        value arguments[MOST_PARAMETERS];
        const int count = read_arguments(r, arguments);
        return of(tally_user_call(r, name, arguments, count));
    }
    const variable *const found = tally_user_find(r, name);
    if (!found) {
        r->next = r->status == TALLY_OK ? at : r->next;
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "nothing of that name is declared");
        return zero(r);
    }
    return (value){tally_user_node(r, (node){.what = NODE_VARIABLE, .type = found->type, .variable = found}),
                   !found->constant};
}

static const node *zero_of(reader *r, type to) {
    return tally_user_node(r, (node){.what = NODE_ZERO, .type = to});
}

static const node *read_initial(reader *r, type to) {
    return tally_user_is(r, "{") ? tally_user_initializer(r, to)
                                 : tally_user_convert(r, tally_user_expression(r).node, to);
}

static const node *make(reader *r, type to, const list *all) {
    return tally_user_node(r, (node){.what = NODE_MAKE, .type = to, .a = all->first});
}

const node *tally_user_initializer(reader *r, type to) {
    const unsigned count = tally_user_parts(to);
    list all = {NULL, NULL};
    const node *last = NULL;
    if (++r->depth > MOST_DEPTH)
        tally_user_fail(r, TALLY_UNSUPPORTED, "braces are nested too deeply");
    tally_user_expect(r, "{");
    for (unsigned k = 0; k < count; k++) {
        const type part = tally_user_part(to, k);
        const bool given = !tally_user_is(r, "}");
        tally_user_append(r, &all, last = given ? read_initial(r, part) : zero_of(r, part));
        if (given && !tally_user_is(r, "}"))
            tally_user_expect(r, ",");
    }
    if (!tally_user_is(r, "}"))
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "there are more values than members; an array's stand in braces");
    tally_user_expect(r, "}");
    r->depth--;
    return to.length || to.kind == KIND_STRUCT ? make(r, to, &all) : last;
}

/* "unsigned(x)", "acc_t{1, 0}", "acc_t(1, 0)" */
static value read_construction(reader *r) {
    const type to = tally_user_type(r);
    if (tally_user_is(r, "{"))
        return of(tally_user_initializer(r, to));
    tally_user_expect(r, "(");
    if (to.kind != KIND_STRUCT) {
        const node *const n = tally_user_convert(r, tally_user_expression(r).node, to);
        tally_user_expect(r, ")");
        return of(n);
    }
    list all = {NULL, NULL};
    for (int k = 0; k < to.structure->count; k++) {
        if (k)
            tally_user_expect(r, ",");
        tally_user_append(r, &all, tally_user_convert(r, tally_user_expression(r).node, to.structure->members[k].type));
    }
    tally_user_expect(r, ")");
    return of(make(r, to, &all));
}

static value read_primary(reader *r) {
    if (r->next.kind == TOKEN_NUMBER)
        return read_number(r);
    if (tally_user_begins_type(r))
        return read_construction(r);
    if (r->next.kind == TOKEN_NAME)
        return read_name(r);
    if (tally_user_accept(r, "(")) {
        value v = tally_user_expression(r);
        tally_user_expect(r, ")");
        return v;
    }
    tally_user_fail(r, TALLY_INVALID_ARGUMENT, "an expression is missing");
    return zero(r);
}

static value read_member_of(reader *r, value v) {
    char name[MOST_NAME];
    const type from = v.node->type;
    tally_user_name(r, name);
    if (from.kind == KIND_STRUCT && !from.length)
        for (int k = 0; k < from.structure->count; k++)
            if (strcmp(from.structure->members[k].name, name) == 0) {
                v.node = tally_user_node(
                    r, (node){.what = NODE_MEMBER, .type = from.structure->members[k].type, .which = k, .a = v.node});
                return v;
            }
    tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: %s has no member '%s'", tally_user_type_name(from), name);
    return v;
}

static value read_element_of(reader *r, value v) {
    const node *index = tally_user_expression(r).node;
    const type from = v.node->type;
    const bool valid = from.length && tally_user_is_number(index->type) && index->type.kind < KIND_F32;
    if (!valid)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: an index takes an array and an integer");
    tally_user_expect(r, "]");
    if (!valid)
        return v;
    index = tally_user_convert(r, index, int_type);
    v.node = tally_user_node(
        r, (node){.what = NODE_ELEMENT, .type = {from.kind, from.structure, 0}, .a = v.node, .b = index});
    return v;
}

static value read_postfix(reader *r) {
    value v = read_primary(r);
    for (;;) {
        if (tally_user_accept(r, "."))
            v = read_member_of(r, v);
        else if (tally_user_accept(r, "["))
            v = read_element_of(r, v);
        else
            return v;
    }
}

/* ---- unary, binary, ?: ---- */

static bool is_cast(reader *r) {
    const char *const at = r->at;
    const token next = r->next;
    bool found = false;
    if (tally_user_accept(r, "(") && tally_user_begins_type(r)) {
        (void)tally_user_type(r);
        found = tally_user_is(r, ")");
    }
    if (r->status == TALLY_OK) {
        r->at = at;
        r->next = next;
    }
    return found;
}

static value read_unary(reader *r);

static value read_signed(reader *r, char sign) {
    const node *n = read_unary(r).node;
    if (sign == '!') {
        n = tally_user_condition(r, n);
        return of(tally_user_node(r, (node){.what = NODE_NOT, .type = int_type, .is_condition = true, .a = n}));
    }
    if (!tally_user_is_number(n->type) || (sign == '~' && n->type.kind >= KIND_F32)) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this '%c' is not applied to a number", sign);
        return zero(r);
    }
    n = tally_user_convert(r, n, (type){tally_user_promoted(n->type.kind), NULL, 0});
    if (sign == '+')
        return of(n);
    return of(tally_user_node(r, (node){.what = sign == '-' ? NODE_NEGATE : NODE_INVERT, .type = n->type, .a = n}));
}

static value read_unary(reader *r) {
    value v = zero(r);
    if (++r->depth > MOST_DEPTH) {
        tally_user_fail(r, TALLY_UNSUPPORTED, "expressions are nested too deeply");
    } else if (tally_user_is(r, "++") || tally_user_is(r, "--")) {
        tally_user_fail(r, TALLY_UNSUPPORTED, "assignments within an expression are not known here");
    } else if (is_cast(r)) {
        tally_user_advance(r);
        const type to = tally_user_type(r);
        tally_user_advance(r);
        v = of(tally_user_convert(r, read_unary(r).node, to));
    } else if (r->next.kind == TOKEN_SIGN && r->next.length == 1 && strchr("+-!~", *r->next.begin)) {
        const char sign = *r->next.begin;
        tally_user_advance(r);
        v = read_signed(r, sign);
    } else {
        v = read_postfix(r);
    }
    r->depth--;
    return v;
}

static int find_binary(const reader *r, int least_rank) {
    for (int k = 0; k < BINARY_COUNT; k++)
        if (binaries[k].rank >= least_rank && tally_user_is(r, binaries[k].sign))
            return k;
    return -1;
}

static value read_binary(reader *r, int least_rank) {
    value left = read_unary(r);
    int found;
    while ((found = find_binary(r, least_rank)) >= 0) {
        tally_user_advance(r);
        const value right = read_binary(r, binaries[found].rank + 1);
        left = of(operated(r, (binary)found, left.node, right.node));
    }
    return left;
}

static const node *chosen(reader *r, const node *condition, const node *yes, const node *no) {
    const bool numbers = tally_user_is_number(yes->type) && tally_user_is_number(no->type);
    const type to = numbers ? (type){common(yes, no), NULL, 0} : yes->type;
    if (to.kind == KIND_VOID)
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this stands void, where a value is expected");
    yes = tally_user_convert(r, yes, to);
    no = tally_user_convert(r, no, to);
    return tally_user_node(r, (node){.what = NODE_SELECT, .type = to, .a = condition, .b = yes, .c = no});
}

value tally_user_expression(reader *r) {
    value v = zero(r);
    if (++r->depth > MOST_DEPTH)
        tally_user_fail(r, TALLY_UNSUPPORTED, "expressions are nested too deeply");
    else
        v = read_binary(r, 1);
    if (tally_user_accept(r, "?")) {
        const node *const condition = tally_user_condition(r, v.node);
        const node *const yes = tally_user_expression(r).node;
        tally_user_expect(r, ":");
        v = of(chosen(r, condition, yes, tally_user_expression(r).node));
    }
    r->depth--;
    return v;
}

/* ---- assignments ---- */

static const node *assigned(reader *r, value place, const node *n) {
    if (!place.is_place) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this: only a variable can be assigned to");
        return n;
    }
    n = tally_user_convert(r, n, place.node->type);
    return tally_user_node(r, (node){.what = NODE_ASSIGN, .a = place.node, .b = n});
}

const node *tally_user_effect(reader *r) {
    static const struct {
        const char *sign;
        binary operation;
    } compound[] = {{"+=", BINARY_ADD},       {"-=", BINARY_SUBTRACT}, {"*=", BINARY_MULTIPLY}, {"/=", BINARY_DIVIDE},
                    {"%=", BINARY_REMAINDER}, {"&=", BINARY_BIT_AND},  {"|=", BINARY_BIT_OR},   {"^=", BINARY_BIT_XOR},
                    {"<<=", BINARY_LEFT},     {">>=", BINARY_RIGHT}};
    const node *const one = tally_user_integer(r, 1, KIND_I32);
    for (int k = 0; k < 2; k++)
        if (tally_user_accept(r, k ? "--" : "++")) {
            const value v = read_postfix(r);
            return assigned(r, v, operated(r, k ? BINARY_SUBTRACT : BINARY_ADD, v.node, one));
        }
    const value v = tally_user_expression(r);
    for (int k = 0; k < 2; k++)
        if (tally_user_accept(r, k ? "--" : "++"))
            return assigned(r, v, operated(r, k ? BINARY_SUBTRACT : BINARY_ADD, v.node, one));
    if (tally_user_accept(r, "="))
        return assigned(r, v, tally_user_expression(r).node);
    for (size_t k = 0; k < sizeof compound / sizeof *compound; k++)
        if (tally_user_accept(r, compound[k].sign))
            return assigned(r, v, operated(r, compound[k].operation, v.node, tally_user_expression(r).node));
    return tally_user_node(r, (node){.what = NODE_EFFECT, .type = v.node->type, .a = v.node});
}
