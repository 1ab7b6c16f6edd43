/* The translator's parts: tokens, types, expressions, statements. One pass reads a text by recursive descent and writes
 * GLSL as it goes. After the first mistake the text appears to end, so that every function returns. */
#ifndef TALLY_VULKAN_TRANSLATOR_H
#define TALLY_VULKAN_TRANSLATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/text.h"
#include "tally/tally.h"

/* ---- tokens.c ---- */

typedef enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_SIGN } token_kind;
typedef struct token {
    token_kind kind;
    const char *begin;
    int length;
} token;

/* ---- types.c ---- */

/* Numbers in the order of C's usual arithmetic conversions. */
typedef enum kind {
    KIND_VOID,
    KIND_BOOL,
    KIND_I8,
    KIND_U8,
    KIND_I16,
    KIND_U16,
    KIND_I32,
    KIND_U32,
    KIND_I64,
    KIND_U64,
    KIND_F32,
    KIND_F64,
    KIND_STRUCT,
    KIND_AUTO
} kind;

typedef struct structure structure;
typedef struct type {
    kind kind;
    const structure *structure;
    unsigned length; /* of an array of these; 0: it is none */
} type;

enum {
    TRANSLATOR_ROOM = 1 << 18,
    MOST_DEPTH = 200,
    MOST_NAME = 64,
    MOST_MEMBERS = 32,
    MOST_STRUCTURES = 8,
    MOST_FUNCTIONS = 32,
    MOST_PARAMETERS = 8,
    MOST_NAMES = 64
};

typedef struct named {
    char name[MOST_NAME];
    type type;
    bool constant;
} named;

struct structure {
    char name[MOST_NAME];
    named members[MOST_MEMBERS];
    int count;
    unsigned bytes, alignment; /* as std430 lays it out */
};

typedef struct function {
    char name[MOST_NAME];
    type result;
    named parameters[MOST_PARAMETERS];
    bool by_reference[MOST_PARAMETERS];
    int count;
} function;

/* An expression: GLSL text and C type. Numbers narrower than 32 bits are held in 32, a bool as uint. */
typedef struct value {
    const char *text;
    type type;
    bool is_condition; /* GLSL's bool, C's int */
    bool is_place;     /* can be assigned to */
} value;

typedef struct translator {
    const char *source; /* the text's name */
    const char *text, *at;
    token next;
    int depth;

    char *room; /* expressions' texts, dropped with the translator */
    size_t used;
    tally_text *out;

    structure structures[MOST_STRUCTURES];
    function functions[MOST_FUNCTIONS];
    named names[MOST_NAMES]; /* in scope, the innermost last */
    int structure_count, function_count, name_count;
    bool uses_double;

    type result; /* of the function that is being read; KIND_AUTO: the type of whatever number it returns */
    const char *result_begin, *result_end; /* around what is returned */

    tally_status status;
    char message[512];
} translator;

/* Take up a text, which is read from its first token. */
void tally_translate_begin(translator *t, const char *source, const char *text);
void tally_translate_advance(translator *t);
bool tally_translate_is(const translator *t, const char *sign); /* whether the next token is this one */
bool tally_translate_accept(translator *t, const char *sign);   /* and takes it */
void tally_translate_expect(translator *t, const char *sign);   /* or it is a mistake */
/* Text in the translator's room. */
__attribute__((format(printf, 2, 3))) const char *tally_translate_format(translator *t, const char *format, ...);

/* At the next token; the first one counts. */
__attribute__((format(printf, 3, 4))) void tally_translate_fail(translator *t, tally_status status, const char *format,
                                                                ...);

bool tally_translate_begins_type(const translator *t);
void tally_translate_name(translator *t, char name[MOST_NAME]); /* takes a name, which is no type's */
type tally_translate_type(translator *t);
/* What may follow a declared name: "[N]". */
type tally_translate_array(translator *t, type element);
void tally_translate_structure(translator *t);

bool tally_translate_same(type a, type b);
bool tally_translate_is_number(type a);
const char *tally_translate_type_name(type a);           /* C's */
const char *tally_translate_glsl(translator *t, type a); /* as an expression's constructor: "uint", "s0" */
const char *tally_translate_declared(translator *t, type a, const char *name); /* "uint name[3]" */
const char *tally_translate_zero(translator *t, type a);
kind tally_translate_promoted(kind k);
value tally_translate_convert(translator *t, value v, type to);
value tally_translate_condition(translator *t, value v);

/* ---- names.c: what is declared where the text is read ---- */

named *tally_translate_declare(translator *t, const char *name, type of, bool constant);
/* The innermost of this name; NULL: there is none. */
const named *tally_translate_find(const translator *t, const char *name);

/* ---- expressions.c ---- */

value tally_translate_expression(translator *t); /* without assignment */
/* What is in braces, the first of which is next. */
value tally_translate_initializer(translator *t, type to);
/* An assignment, ++, -- or an expression; gives its text without a semicolon. */
const char *tally_translate_effect(translator *t);

/* ---- calls.c ---- */

/* A call of a function of the text's or of C's. The arguments may be changed. */
value tally_translate_call(translator *t, const char *name, value *arguments, int count);

/* ---- statements.c ---- */

void tally_translate_block(translator *t);
/* Structs and functions until the end. */
void tally_translate_declarations(translator *t);
/* A whole text: an expression, or "[&] { ... return ...; }()", as a function's body. */
void tally_translate_body(translator *t);

#endif
