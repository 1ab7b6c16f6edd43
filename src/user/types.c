#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/reader.h"

static const char *const names[] = {
    [KIND_VOID] = "void",      [KIND_BOOL] = "bool",
    [KIND_I8] = "signed char", [KIND_U8] = "unsigned char",
    [KIND_I16] = "short",      [KIND_U16] = "unsigned short",
    [KIND_I32] = "int",        [KIND_U32] = "unsigned",
    [KIND_I64] = "long long",  [KIND_U64] = "unsigned long long",
    [KIND_F32] = "float",      [KIND_F64] = "double",
    [KIND_STRUCT] = "struct",  [KIND_AUTO] = "auto",
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

static bool is_qualifier(const reader *r) {
    return tally_user_is(r, "const") || tally_user_is(r, "static") || tally_user_is(r, "inline");
}

static bool is_part(const reader *r) {
    static const char *const parts[] = {"unsigned", "signed", "char", "short", "int", "long", "double"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (tally_user_is(r, parts[k]))
            return true;
    return false;
}

static const structure *find_structure(const reader *r) {
    for (int k = 0; k < r->tree->structure_count; k++)
        if (tally_user_is(r, r->tree->structures[k].name))
            return &r->tree->structures[k];
    return NULL;
}

static int find_alias(const reader *r) {
    for (int k = 0; k < ALIASES; k++)
        if (tally_user_is(r, aliases[k].name))
            return k;
    return -1;
}

bool tally_user_begins_type(const reader *r) {
    return r->next.kind == TOKEN_NAME &&
           (is_qualifier(r) || is_part(r) || tally_user_is(r, "struct") || find_structure(r) || find_alias(r) >= 0);
}

void tally_user_name(reader *r, char name[MOST_NAME]) {
    name[0] = 0;
    if (r->next.kind != TOKEN_NAME || tally_user_begins_type(r))
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "a name is missing");
    else if (r->next.length >= MOST_NAME)
        tally_user_fail(r, TALLY_UNSUPPORTED, "the name is longer than %d letters", MOST_NAME - 1);
    else
        snprintf(name, MOST_NAME, "%.*s", r->next.length, r->next.begin);
    tally_user_advance(r);
}

/* "unsigned long long" and the like, in any order. */
static kind read_parts(reader *r) {
    int longs = 0;
    bool is_unsigned = false, is_signed = false, is_char = false, is_short = false, is_double = false;
    for (; is_part(r); tally_user_advance(r)) {
        longs += tally_user_is(r, "long");
        is_unsigned |= tally_user_is(r, "unsigned");
        is_signed |= tally_user_is(r, "signed");
        is_char |= tally_user_is(r, "char");
        is_short |= tally_user_is(r, "short");
        is_double |= tally_user_is(r, "double");
    }
    if (is_double || longs > 2 || (is_unsigned && is_signed)) {
        if (longs || is_unsigned || is_signed || is_char || is_short)
            tally_user_fail(r, TALLY_UNSUPPORTED, "before this a type is expected that is known here");
        return KIND_F64;
    }
    const kind narrow = is_char ? KIND_I8 : is_short ? KIND_I16 : longs ? KIND_I64 : KIND_I32;
    return is_unsigned ? narrow + 1 : narrow; /* as they are enumerated */
}

type tally_user_type(reader *r) {
    type read = {KIND_I32, NULL, 0};
    while (is_qualifier(r))
        tally_user_advance(r);
    (void)tally_user_accept(r, "struct");
    const structure *const known = find_structure(r);
    const int alias = find_alias(r);
    if (known) {
        read = (type){KIND_STRUCT, known, 0};
        tally_user_advance(r);
    } else if (alias >= 0) {
        read.kind = aliases[alias].kind;
        tally_user_advance(r);
    } else if (is_part(r)) {
        read.kind = read_parts(r);
    } else {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "no type of that name is known");
    }
    while (is_qualifier(r))
        tally_user_advance(r);
    if (tally_user_is(r, "*"))
        tally_user_fail(r, TALLY_UNSUPPORTED, "there are no pointers here");
    r->tree->uses_double |= read.kind == KIND_F64;
    return read;
}

type tally_user_array(reader *r, type element) {
    if (!tally_user_accept(r, "["))
        return element;
    element.length = r->next.kind == TOKEN_NUMBER ? (unsigned)strtoul(r->next.begin, NULL, 0) : 0;
    if (element.length < 1 || element.length > 256)
        tally_user_fail(r, TALLY_UNSUPPORTED, "an array has a number of elements here, from 1 to 256");
    tally_user_advance(r);
    tally_user_expect(r, "]");
    if (tally_user_is(r, "["))
        tally_user_fail(r, TALLY_UNSUPPORTED, "arrays have one dimension here");
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
static void read_member(reader *r, structure *s, type of) {
    variable *const member = &s->members[s->count < MOST_MEMBERS ? s->count++ : 0];
    tally_user_name(r, member->name);
    member->type = tally_user_array(r, of);
    if (s->count == MOST_MEMBERS)
        tally_user_fail(r, TALLY_UNSUPPORTED, "a struct has less than %d members here", MOST_MEMBERS);
    lay_out(s, &member->type);
    if (s->bytes > MOST_STRUCTURE)
        tally_user_fail(r, TALLY_UNSUPPORTED, "before this: a struct has at most %d bytes here", MOST_STRUCTURE);
}

/* "struct NAME {" has not been read yet. */
void tally_user_structure(reader *r) {
    structure *const s =
        &r->tree->structures[r->tree->structure_count < MOST_STRUCTURES ? r->tree->structure_count : 0];
    *s = (structure){.alignment = 4};
    tally_user_expect(r, "struct");
    tally_user_name(r, s->name);
    tally_user_expect(r, "{");
    while (!tally_user_is(r, "}") && r->next.kind != TOKEN_END) {
        const type of = tally_user_type(r);
        if (of.kind == KIND_VOID || of.kind == KIND_AUTO)
            tally_user_fail(r, TALLY_INVALID_ARGUMENT, "no member is of that type");
        do
            read_member(r, s, of);
        while (tally_user_accept(r, ","));
        tally_user_expect(r, ";");
    }
    s->bytes = (s->bytes + s->alignment - 1) / s->alignment * s->alignment;
    if (s->count == 0 || r->tree->structure_count == MOST_STRUCTURES)
        tally_user_fail(r, TALLY_UNSUPPORTED, "a struct without members, or more than %d structs", MOST_STRUCTURES);
    else
        r->tree->structure_count++;
    tally_user_expect(r, "}");
    tally_user_expect(r, ";");
}

/* ---- types ---- */

bool tally_user_same(type a, type b) {
    return a.kind == b.kind && a.structure == b.structure && a.length == b.length;
}

kind tally_user_kind(tally_dtype dtype) {
    static const kind kinds[] = {
#define TALLY_DTYPE(ENUMERATOR, tag, kind, bytes, precision, value, ...) [TALLY_##ENUMERATOR] = KIND_##value,
#include "core/dtypes.def"
    };
    return kinds[dtype];
}

unsigned tally_user_parts(type of) {
    return of.length ? of.length : of.kind == KIND_STRUCT ? (unsigned)of.structure->count : 1;
}

type tally_user_part(type of, unsigned which) {
    if (of.length)
        return (type){of.kind, of.structure, 0};
    return of.kind == KIND_STRUCT ? of.structure->members[which].type : of;
}

const char *tally_user_type_name(type a) {
    return a.length ? "an array" : a.kind == KIND_STRUCT ? a.structure->name : names[a.kind];
}

/* ---- conversions ---- */

kind tally_user_promoted(kind k) {
    return k < KIND_I32 ? KIND_I32 : k;
}

bool tally_user_is_number(type a) {
    return !a.length && a.kind >= KIND_BOOL && a.kind <= KIND_F64;
}

const node *tally_user_condition(reader *r, const node *n) {
    if (!tally_user_is_number(n->type)) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this stands %s, where a number is expected",
                        tally_user_type_name(n->type));
        return tally_user_integer(r, 0, KIND_I32);
    }
    if (n->is_condition)
        return n;
    return tally_user_node(r, (node){.what = NODE_TRUTH, .type = {KIND_I32, NULL, 0}, .is_condition = true, .a = n});
}

const node *tally_user_convert(reader *r, const node *n, type to) {
    if (tally_user_same(n->type, to) && !n->is_condition)
        return n;
    if (!tally_user_is_number(n->type) || !tally_user_is_number(to)) {
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "before this stands %s, where %s is expected",
                        tally_user_type_name(n->type), tally_user_type_name(to));
        return tally_user_node(r, (node){.what = NODE_ZERO, .type = to});
    }
    r->tree->uses_double |= to.kind == KIND_F64;
    if (to.kind == KIND_BOOL)
        n = tally_user_condition(r, n);
    return tally_user_node(r, (node){.what = NODE_CONVERT, .type = to, .a = n});
}
