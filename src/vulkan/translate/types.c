#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/translate/translator.h"

static const struct {
    const char *c, *glsl;
} kinds[] = {
    [KIND_VOID] = {"void", "void"},        [KIND_BOOL] = {"bool", "uint"},
    [KIND_I8] = {"signed char", "int"},    [KIND_U8] = {"unsigned char", "uint"},
    [KIND_I16] = {"short", "int"},         [KIND_U16] = {"unsigned short", "uint"},
    [KIND_I32] = {"int", "int"},           [KIND_U32] = {"unsigned", "uint"},
    [KIND_I64] = {"long long", "int64_t"}, [KIND_U64] = {"unsigned long long", "uint64_t"},
    [KIND_F32] = {"float", "float"},       [KIND_F64] = {"double", "double"},
    [KIND_STRUCT] = {"struct", NULL},      [KIND_AUTO] = {"auto", NULL},
};

static const struct {
    const char *name;
    kind kind;
} aliases[] = {
    {"int8_t", KIND_I8},   {"uint8_t", KIND_U8},   {"int16_t", KIND_I16}, {"uint16_t", KIND_U16},
    {"int32_t", KIND_I32}, {"uint32_t", KIND_U32}, {"int64_t", KIND_I64}, {"uint64_t", KIND_U64},
    {"float", KIND_F32},   {"bool", KIND_BOOL},    {"void", KIND_VOID},   {"auto", KIND_AUTO},
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

/* ---- reading types ---- */

static bool is_qualifier(const translator *t) {
    return tally_translate_is(t, "const") || tally_translate_is(t, "static") || tally_translate_is(t, "inline");
}

static bool is_part(const translator *t) {
    static const char *const parts[] = {"unsigned", "signed", "char", "short", "int", "long", "double"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (tally_translate_is(t, parts[k]))
            return true;
    return false;
}

static const structure *find_structure(const translator *t) {
    for (int k = 0; k < t->structure_count; k++)
        if (tally_translate_is(t, t->structures[k].name))
            return &t->structures[k];
    return NULL;
}

static int find_alias(const translator *t) {
    for (int k = 0; k < ALIASES; k++)
        if (tally_translate_is(t, aliases[k].name))
            return k;
    return -1;
}

bool tally_translate_begins_type(const translator *t) {
    return t->next.kind == TOKEN_NAME && (is_qualifier(t) || is_part(t) || tally_translate_is(t, "struct") ||
                                          find_structure(t) || find_alias(t) >= 0);
}

void tally_translate_name(translator *t, char name[MOST_NAME]) {
    name[0] = 0;
    if (t->next.kind != TOKEN_NAME || tally_translate_begins_type(t))
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "a name is missing");
    else if (t->next.length >= MOST_NAME)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "the name is longer than %d letters", MOST_NAME - 1);
    else
        snprintf(name, MOST_NAME, "%.*s", t->next.length, t->next.begin);
    tally_translate_advance(t);
}

/* "unsigned long long" and the like, in any order. */
static kind read_parts(translator *t) {
    int longs = 0;
    bool is_unsigned = false, is_signed = false, is_char = false, is_short = false, is_double = false;
    for (; is_part(t); tally_translate_advance(t)) {
        longs += tally_translate_is(t, "long");
        is_unsigned |= tally_translate_is(t, "unsigned");
        is_signed |= tally_translate_is(t, "signed");
        is_char |= tally_translate_is(t, "char");
        is_short |= tally_translate_is(t, "short");
        is_double |= tally_translate_is(t, "double");
    }
    if (is_double || longs > 2 || (is_unsigned && is_signed)) {
        if (longs || is_unsigned || is_signed || is_char || is_short)
            tally_translate_fail(t, TALLY_UNSUPPORTED, "before this a type is expected that is known here");
        return KIND_F64;
    }
    const kind narrow = is_char ? KIND_I8 : is_short ? KIND_I16 : longs ? KIND_I64 : KIND_I32;
    return is_unsigned ? narrow + 1 : narrow; /* as they are enumerated */
}

type tally_translate_type(translator *t) {
    type read = {KIND_I32, NULL, 0};
    while (is_qualifier(t))
        tally_translate_advance(t);
    (void)tally_translate_accept(t, "struct");
    const structure *const known = find_structure(t);
    const int alias = find_alias(t);
    if (known) {
        read = (type){KIND_STRUCT, known, 0};
        tally_translate_advance(t);
    } else if (alias >= 0) {
        read.kind = aliases[alias].kind;
        tally_translate_advance(t);
    } else if (is_part(t)) {
        read.kind = read_parts(t);
    } else {
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "no type of that name is known");
    }
    while (is_qualifier(t))
        tally_translate_advance(t);
    if (tally_translate_is(t, "*"))
        tally_translate_fail(t, TALLY_UNSUPPORTED, "there are no pointers on Vulkan");
    t->uses_double |= read.kind == KIND_F64;
    return read;
}

type tally_translate_array(translator *t, type element) {
    if (!tally_translate_accept(t, "["))
        return element;
    element.length = t->next.kind == TOKEN_NUMBER ? (unsigned)strtoul(t->next.begin, NULL, 0) : 0;
    if (element.length < 1 || element.length > 256)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "an array has a number of elements here, from 1 to 256");
    tally_translate_advance(t);
    tally_translate_expect(t, "]");
    if (tally_translate_is(t, "["))
        tally_translate_fail(t, TALLY_UNSUPPORTED, "arrays have one dimension here");
    return element;
}

enum { MOST_STRUCTURE = 1024 /* bytes */ };

static void lay_out(structure *s, const type *member) {
    const structure *const inner = member->structure;
    const bool is_long = member->kind == KIND_I64 || member->kind == KIND_U64 || member->kind == KIND_F64;
    const unsigned bytes = inner ? inner->bytes : is_long ? 8 : 4, alignment = inner ? inner->alignment : bytes;
    s->bytes = (s->bytes + alignment - 1) / alignment * alignment + bytes * (member->length ? member->length : 1);
    s->alignment = alignment > s->alignment ? alignment : s->alignment;
}

/* If there is no room for more, the first place is overwritten, and the text is refused at the end. */
static void read_member(translator *t, structure *s, type of) {
    named *const member = &s->members[s->count < MOST_MEMBERS ? s->count++ : 0];
    tally_translate_name(t, member->name);
    member->type = tally_translate_array(t, of);
    if (s->count == MOST_MEMBERS)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "a struct has less than %d members here", MOST_MEMBERS);
    lay_out(s, &member->type);
    if (s->bytes > MOST_STRUCTURE)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "before this: a struct has at most %d bytes here", MOST_STRUCTURE);
    tally_text_print(t->out, "    %s;\n", tally_translate_declared(t, member->type, member->name));
}

/* "struct NAME {" has not been read yet. */
void tally_translate_structure(translator *t) {
    structure *const s = &t->structures[t->structure_count < MOST_STRUCTURES ? t->structure_count : 0];
    *s = (structure){.alignment = 4};
    tally_translate_expect(t, "struct");
    tally_translate_name(t, s->name);
    tally_translate_expect(t, "{");
    tally_text_print(t->out, "struct %s {\n", tally_translate_glsl(t, (type){KIND_STRUCT, s, 0}));
    while (!tally_translate_is(t, "}") && t->next.kind != TOKEN_END) {
        const type of = tally_translate_type(t);
        if (of.kind == KIND_VOID || of.kind == KIND_AUTO)
            tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "no member is of that type");
        do
            read_member(t, s, of);
        while (tally_translate_accept(t, ","));
        tally_translate_expect(t, ";");
    }
    tally_text_add(t->out, "};\n");
    s->bytes = (s->bytes + s->alignment - 1) / s->alignment * s->alignment;
    if (s->count == 0 || t->structure_count == MOST_STRUCTURES)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "a struct without members, or more than %d structs",
                             MOST_STRUCTURES);
    else
        t->structure_count++;
    tally_translate_expect(t, "}");
    tally_translate_expect(t, ";");
}

/* ---- writing types ---- */

bool tally_translate_same(type a, type b) {
    return a.kind == b.kind && a.structure == b.structure && a.length == b.length;
}

const char *tally_translate_type_name(type a) {
    return a.length ? "an array" : a.kind == KIND_STRUCT ? a.structure->name : kinds[a.kind].c;
}

/* A user's names get a "0" appended, so that they are neither words of GLSL nor names in the kernels. */
const char *tally_translate_glsl(translator *t, type a) {
    const char *name = kinds[a.kind].glsl;
    if (a.kind == KIND_STRUCT)
        name = strcmp(a.structure->name, "acc_t") == 0 ? "acc_t" : tally_translate_format(t, "%s0", a.structure->name);
    return !name ? "void" : a.length ? tally_translate_format(t, "%s[%u]", name, a.length) : name;
}

const char *tally_translate_declared(translator *t, type a, const char *name) {
    const unsigned length = a.length;
    a.length = 0;
    const char *const element = tally_translate_glsl(t, a);
    return length ? tally_translate_format(t, "%s %s0[%u]", element, name, length)
                  : tally_translate_format(t, "%s %s0", element, name);
}

const char *tally_translate_zero(translator *t, type a) {
    const char *const name = tally_translate_glsl(t, a);
    const char *all = "";
    if (!a.length && a.kind != KIND_STRUCT)
        return tally_translate_format(t, "%s(0)", name);
    const unsigned count = a.length ? a.length : (unsigned)a.structure->count;
    for (unsigned k = 0; k < count; k++) {
        const type part = a.length ? (type){a.kind, a.structure, 0} : a.structure->members[k].type;
        all = tally_translate_format(t, "%s%s%s", all, k ? ", " : "", tally_translate_zero(t, part));
    }
    return tally_translate_format(t, "%s(%s)", name, all);
}

/* ---- conversions ---- */

kind tally_translate_promoted(kind k) {
    return k < KIND_I32 ? KIND_I32 : k;
}

bool tally_translate_is_number(type a) {
    return !a.length && a.kind >= KIND_BOOL && a.kind <= KIND_F64;
}

value tally_translate_condition(translator *t, value v) {
    if (!tally_translate_is_number(v.type))
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this stands %s, where a number is expected",
                             tally_translate_type_name(v.type));
    if (!v.is_condition)
        v.text = tally_translate_format(t, "(%s != %s)", v.text, tally_translate_zero(t, v.type));
    v.is_condition = true;
    v.is_place = false;
    v.type = (type){KIND_I32, NULL, 0};
    return v;
}

/* In the 32 bits that hold a narrow number. */
static const char *narrowed(translator *t, const char *text, kind to) {
    switch (to) {
    case KIND_I8:
        return tally_translate_format(t, "(int(%s) << 24 >> 24)", text);
    case KIND_U8:
        return tally_translate_format(t, "(uint(%s) & 255u)", text);
    case KIND_I16:
        return tally_translate_format(t, "(int(%s) << 16 >> 16)", text);
    default:
        return tally_translate_format(t, "(uint(%s) & 65535u)", text);
    }
}

value tally_translate_convert(translator *t, value v, type to) {
    const kind from = v.type.kind;
    v.is_place = false;
    if (tally_translate_same(v.type, to) && !v.is_condition)
        return v;
    if (!tally_translate_is_number(v.type) || !tally_translate_is_number(to)) {
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "before this stands %s, where %s is expected",
                             tally_translate_type_name(v.type), tally_translate_type_name(to));
        v.type = to;
        return v;
    }
    t->uses_double |= to.kind == KIND_F64;
    if (to.kind == KIND_BOOL)
        v.text = tally_translate_format(t, "uint(%s)", tally_translate_condition(t, v).text);
    else if (v.is_condition || to.kind >= KIND_I32)
        v.text = tally_translate_format(t, "%s(%s)", kinds[to.kind].glsl, v.text);
    else if (from >= KIND_F32) /* as a CPU does it: through int */
        v.text = narrowed(t, tally_translate_format(t, "int(%s)", v.text), to.kind);
    else
        v.text = narrowed(t, v.text, to.kind);
    v.type = to;
    v.is_condition = false;
    return v;
}
