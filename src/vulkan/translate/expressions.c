#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/translate/translator.h"

static const type int_type = {KIND_I32, NULL, 0};

static value number(const char *text, kind k) {
    return (value){.text = text, .type = {k, NULL, 0}};
}

/* ---- operators ---- */

static kind common(value a, value b) {
    const kind p = tally_translate_promoted(a.type.kind), q = tally_translate_promoted(b.type.kind);
    return p > q ? p : q;
}

static value shifted(translator *t, const char *sign, value a, value b) {
    a = tally_translate_convert(t, a, (type){tally_translate_promoted(a.type.kind), NULL, 0});
    b = tally_translate_convert(t, b, (type){KIND_U32, NULL, 0});
    return number(tally_translate_format(t, "(%s %s %s)", a.text, sign, b.text), a.type.kind);
}

/* GLSL's % is undefined for negative numbers. */
static const char *divided(translator *t, const char *sign, kind k, const char *a, const char *b) {
    if (*sign == '%' && (k == KIND_I32 || k == KIND_I64))
        return tally_translate_format(t, "remainder_of(%s, %s)", a, b);
    return tally_translate_format(t, "(%s %s %s)", a, sign, b);
}

static value operated(translator *t, const char *sign, value a, value b) {
    if (!tally_translate_is_number(a.type) || !tally_translate_is_number(b.type)) {
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this '%s' needs a number on each side", sign);
        return number("0", KIND_I32);
    }
    const bool logical = strcmp(sign, "&&") == 0 || strcmp(sign, "||") == 0;
    if (logical) {
        a = tally_translate_condition(t, a);
        b = tally_translate_condition(t, b);
        a.text = tally_translate_format(t, "(%s %s %s)", a.text, sign, b.text);
        return a;
    }
    if (strcmp(sign, "<<") == 0 || strcmp(sign, ">>") == 0)
        return a.type.kind < KIND_F32 ? shifted(t, sign, a, b) : a;
    const kind k = common(a, b);
    const bool compares = strchr("<>=!", *sign) != NULL;
    if (k >= KIND_F32 && strchr("%&|^", *sign))
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this '%s' is applied to a float", sign);
    a = tally_translate_convert(t, a, (type){k, NULL, 0});
    b = tally_translate_convert(t, b, (type){k, NULL, 0});
    value v = number(divided(t, sign, k, a.text, b.text), compares ? KIND_I32 : k);
    v.is_condition = compares;
    return v;
}

/* ---- primaries ---- */

/* By C's rules for the type of a number. */
static value read_integer(translator *t, const char *text) {
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 0);
    const bool decimal = text[0] != '0', is_unsigned = strpbrk(end, "uU") != NULL, is_long = strpbrk(end, "lL") != NULL;
    if (errno || strspn(end, "uUlL") != strlen(end) || strlen(end) > 3)
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "this is not a number");
    kind k = KIND_U64;
    if (!is_long && !is_unsigned && n <= INT32_MAX)
        k = KIND_I32;
    else if (!is_long && n <= UINT32_MAX && (is_unsigned || !decimal))
        k = KIND_U32;
    else if (!is_unsigned && n <= INT64_MAX)
        k = KIND_I64;
    return number(tally_translate_format(t, "%llu%s", n,
                                         k == KIND_I32   ? ""
                                         : k == KIND_U32 ? "u"
                                         : k == KIND_I64 ? "l"
                                                         : "ul"),
                  k);
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

static value read_number(translator *t) {
    const char *const text = tally_translate_format(t, "%.*s", t->next.length, t->next.begin);
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (hexadecimal || !strpbrk(text, ".eEfF")) {
        const value v = read_integer(t, text);
        tally_translate_advance(t);
        return v;
    }
    const char *const end = end_of_float(text);
    const bool is_float = (*end == 'f' || *end == 'F') && !end[1];
    if (*end && !is_float)
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "this is not a number");
    const int digits = (int)(end - text);
    const char *const whole = strpbrk(text, ".eE") ? "" : ".0"; /* "1f" */
    tally_translate_advance(t);
    t->uses_double |= !is_float;
    return number(tally_translate_format(t, "%.*s%s%s", digits, text, whole, is_float ? "" : "lf"),
                  is_float ? KIND_F32 : KIND_F64);
}

/* Reads "(a, b)". */
static int read_arguments(translator *t, value arguments[MOST_PARAMETERS]) {
    int count = 0;
    tally_translate_expect(t, "(");
    while (!tally_translate_is(t, ")") && t->next.kind != TOKEN_END) {
        if (count)
            tally_translate_expect(t, ",");
        const value v = tally_translate_expression(t);
        if (count == MOST_PARAMETERS)
            tally_translate_fail(t, TALLY_UNSUPPORTED, "before this: more than %d arguments", MOST_PARAMETERS);
        else
            arguments[count++] = v;
    }
    tally_translate_expect(t, ")");
    return count;
}

static value call(translator *t, const char *name) {
    value arguments[MOST_PARAMETERS];
    const int count = read_arguments(t, arguments);
    return tally_translate_call(t, name, arguments, count);
}

static value read_name(translator *t) {
    char name[MOST_NAME];
    if (tally_translate_is(t, "true") || tally_translate_is(t, "false")) {
        const bool is_true = tally_translate_is(t, "true");
        tally_translate_advance(t);
        return number(is_true ? "1u" : "0u", KIND_BOOL);
    }
    const token at = t->next;
    tally_translate_name(t, name);
    if (tally_translate_is(t, "("))
        return call(t, name);
    const named *const found = tally_translate_find(t, name);
    if (!found) {
        t->next = t->status == TALLY_OK ? at : t->next;
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "nothing of that name is declared");
        return number("0", KIND_I32);
    }
    return (value){tally_translate_format(t, "%s0", name), found->type, false, !found->constant};
}

static value read_initial(translator *t, type to) {
    return tally_translate_is(t, "{") ? tally_translate_initializer(t, to)
                                      : tally_translate_convert(t, tally_translate_expression(t), to);
}

value tally_translate_initializer(translator *t, type to) {
    const unsigned count = to.length ? to.length : to.kind == KIND_STRUCT ? (unsigned)to.structure->count : 1;
    const char *all = "";
    tally_translate_expect(t, "{");
    for (unsigned k = 0; k < count; k++) {
        const type part = to.length                ? (type){to.kind, to.structure, 0}
                          : to.kind == KIND_STRUCT ? to.structure->members[k].type
                                                   : to;
        const bool given = !tally_translate_is(t, "}");
        const char *const text = given ? read_initial(t, part).text : tally_translate_zero(t, part);
        all = tally_translate_format(t, "%s%s%s", all, k ? ", " : "", text);
        if (given && !tally_translate_is(t, "}"))
            tally_translate_expect(t, ",");
    }
    if (!tally_translate_is(t, "}"))
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT,
                             "there are more values than members; an array's stand in braces");
    tally_translate_expect(t, "}");
    return (value){.text = tally_translate_format(t, "%s(%s)", tally_translate_glsl(t, to), all), .type = to};
}

/* "unsigned(x)", "acc_t{1, 0}", "acc_t(1, 0)" */
static value read_construction(translator *t) {
    const type to = tally_translate_type(t);
    if (tally_translate_is(t, "{"))
        return tally_translate_initializer(t, to);
    tally_translate_expect(t, "(");
    if (to.kind != KIND_STRUCT) {
        const value v = tally_translate_convert(t, tally_translate_expression(t), to);
        tally_translate_expect(t, ")");
        return v;
    }
    const char *all = "";
    for (int k = 0; k < to.structure->count; k++) {
        if (k)
            tally_translate_expect(t, ",");
        const value member = tally_translate_convert(t, tally_translate_expression(t), to.structure->members[k].type);
        all = tally_translate_format(t, "%s%s%s", all, k ? ", " : "", member.text);
    }
    tally_translate_expect(t, ")");
    return (value){.text = tally_translate_format(t, "%s(%s)", tally_translate_glsl(t, to), all), .type = to};
}

static value read_primary(translator *t) {
    if (t->next.kind == TOKEN_NUMBER)
        return read_number(t);
    if (tally_translate_begins_type(t))
        return read_construction(t);
    if (t->next.kind == TOKEN_NAME)
        return read_name(t);
    if (tally_translate_accept(t, "(")) {
        value v = tally_translate_expression(t);
        tally_translate_expect(t, ")");
        return v;
    }
    tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "an expression is missing");
    return number("0", KIND_I32);
}

static value read_member_of(translator *t, value v) {
    char name[MOST_NAME];
    const type of = v.type;
    tally_translate_name(t, name);
    if (of.kind == KIND_STRUCT && !of.length)
        for (int k = 0; k < of.structure->count; k++)
            if (strcmp(of.structure->members[k].name, name) == 0) {
                v.text = tally_translate_format(t, "%s.%s0", v.text, name);
                v.type = of.structure->members[k].type;
                return v;
            }
    tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: %s has no member '%s'", tally_translate_type_name(of),
                         name);
    return v;
}

static value read_element_of(translator *t, value v) {
    const value index = tally_translate_expression(t);
    if (!v.type.length || !tally_translate_is_number(index.type) || index.type.kind >= KIND_F32)
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: an index takes an array and an integer");
    tally_translate_expect(t, "]");
    const value place = tally_translate_convert(t, index, int_type);
    v.text = tally_translate_format(t, "%s[%s]", v.text, place.text);
    v.type.length = 0;
    return v;
}

static value read_postfix(translator *t) {
    value v = read_primary(t);
    for (;;) {
        if (tally_translate_accept(t, "."))
            v = read_member_of(t, v);
        else if (tally_translate_accept(t, "["))
            v = read_element_of(t, v);
        else
            return v;
    }
}

/* ---- unary, binary, ?: ---- */

static bool is_cast(translator *t) {
    const char *const at = t->at;
    const token next = t->next;
    bool found = false;
    if (tally_translate_accept(t, "(") && tally_translate_begins_type(t)) {
        (void)tally_translate_type(t);
        found = tally_translate_is(t, ")");
    }
    if (t->status == TALLY_OK) {
        t->at = at;
        t->next = next;
    }
    return found;
}

static value read_unary(translator *t);

static value read_signed(translator *t, char sign) {
    value v = read_unary(t);
    if (sign == '!') {
        v = tally_translate_condition(t, v);
        v.text = tally_translate_format(t, "(!%s)", v.text);
        return v;
    }
    if (!tally_translate_is_number(v.type) || (sign == '~' && v.type.kind >= KIND_F32)) {
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this '%c' is not applied to a number", sign);
        return v;
    }
    v = tally_translate_convert(t, v, (type){tally_translate_promoted(v.type.kind), NULL, 0});
    v.text = tally_translate_format(t, "(%c%s)", sign, v.text);
    return v;
}

static value read_unary(translator *t) {
    value v = number("0", KIND_I32);
    if (++t->depth > MOST_DEPTH) {
        tally_translate_fail(t, TALLY_UNSUPPORTED, "expressions are nested too deeply");
    } else if (tally_translate_is(t, "++") || tally_translate_is(t, "--")) {
        tally_translate_fail(t, TALLY_UNSUPPORTED, "assignments within an expression are not known here");
    } else if (is_cast(t)) {
        tally_translate_advance(t);
        const type to = tally_translate_type(t);
        tally_translate_advance(t);
        v = tally_translate_convert(t, read_unary(t), to);
    } else if (t->next.kind == TOKEN_SIGN && t->next.length == 1 && strchr("+-!~", *t->next.begin)) {
        const char sign = *t->next.begin;
        tally_translate_advance(t);
        v = read_signed(t, sign);
    } else {
        v = read_postfix(t);
    }
    t->depth--;
    return v;
}

static const struct {
    const char *sign;
    int rank;
} binaries[] = {{"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7},  {">", 7},
                {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
enum { BINARIES = sizeof binaries / sizeof *binaries };

static int find_binary(const translator *t, int least_rank) {
    for (int k = 0; k < BINARIES; k++)
        if (binaries[k].rank >= least_rank && tally_translate_is(t, binaries[k].sign))
            return k;
    return -1;
}

static value read_binary(translator *t, int least_rank) {
    value left = read_unary(t);
    int found;
    while ((found = find_binary(t, least_rank)) >= 0) {
        tally_translate_advance(t);
        const value right = read_binary(t, binaries[found].rank + 1);
        left = operated(t, binaries[found].sign, left, right);
    }
    return left;
}

value tally_translate_expression(translator *t) {
    value v = number("0", KIND_I32);
    if (++t->depth > MOST_DEPTH)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "expressions are nested too deeply");
    else
        v = read_binary(t, 1);
    if (tally_translate_accept(t, "?")) {
        v = tally_translate_condition(t, v);
        value yes = tally_translate_expression(t);
        tally_translate_expect(t, ":");
        value no = tally_translate_expression(t);
        const bool numbers = tally_translate_is_number(yes.type) && tally_translate_is_number(no.type);
        const type to = numbers ? (type){common(yes, no), NULL, 0} : yes.type;
        yes = tally_translate_convert(t, yes, to);
        no = tally_translate_convert(t, no, to);
        v = (value){.text = tally_translate_format(t, "(%s ? %s : %s)", v.text, yes.text, no.text), .type = to};
    }
    t->depth--;
    return v;
}

/* ---- assignments ---- */

static const char *assigned(translator *t, value place, value v) {
    if (!place.is_place)
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this: only a variable can be assigned to");
    return tally_translate_format(t, "%s = %s", place.text, tally_translate_convert(t, v, place.type).text);
}

const char *tally_translate_effect(translator *t) {
    static const char *const compound[] = {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    const value one = number("1", KIND_I32);
    for (int k = 0; k < 2; k++)
        if (tally_translate_accept(t, k ? "--" : "++")) {
            const value v = read_postfix(t);
            return assigned(t, v, operated(t, k ? "-" : "+", v, one));
        }
    const value v = tally_translate_expression(t);
    for (int k = 0; k < 2; k++)
        if (tally_translate_accept(t, k ? "--" : "++"))
            return assigned(t, v, operated(t, k ? "-" : "+", v, one));
    if (tally_translate_accept(t, "="))
        return assigned(t, v, tally_translate_expression(t));
    for (size_t k = 0; k < sizeof compound / sizeof *compound; k++)
        if (tally_translate_accept(t, compound[k])) {
            const char *const sign = tally_translate_format(t, "%.*s", (int)strlen(compound[k]) - 1, compound[k]);
            return assigned(t, v, operated(t, sign, v, tally_translate_expression(t)));
        }
    return v.text;
}
