/* The reader's parts: tokens, types, expressions, statements. One pass reads a text by recursive descent and makes
 * nodes. After the first mistake the text appears to end, so that every function returns. */
#ifndef TALLY_USER_READER_H
#define TALLY_USER_READER_H

#include "user/tree.h"

/* ---- tokens.c ---- */

typedef enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_SIGN } token_kind;
typedef struct token {
    token_kind kind;
    const char *begin;
    int length;
} token;

enum { MOST_DEPTH = 200, MOST_NODE_DEPTH = 1000, MOST_NAMES = 64, READER_ROOM = 4 << 20 };

/* An expression and whether it can be assigned to. */
typedef struct value {
    const node *node;
    bool is_place;
} value;

typedef struct reader {
    const tally_user_limits *limits;
    tally_user_tree *tree;
    const char *source; /* the text's name */
    const char *text, *at;
    token next;
    int depth, loops;                  /* how deep what is being read is nested */
    size_t used;                       /* of the tree's room */
    const variable *names[MOST_NAMES]; /* in scope, the innermost last */
    int name_count;
    type result; /* of the function that is being read */
    tally_status status;
    char message[512];
} reader;

/* Begins a text and reads its first token. */
void tally_user_begin(reader *r, const char *source, const char *text);
void tally_user_advance(reader *r);
bool tally_user_is(const reader *r, const char *sign); /* whether the next token is this one */
bool tally_user_accept(reader *r, const char *sign);   /* and takes it */
void tally_user_expect(reader *r, const char *sign);   /* or it is a mistake */

/* Notes a mistake at the next token. Only the first mistake counts. */
__attribute__((format(printf, 3, 4))) void tally_user_fail(reader *r, tally_status status, const char *format, ...);

/* ---- names.c: nodes, and what is declared where the text is read ---- */

/* Zeroed memory of the tree's. If there is no more, the text is refused, and the start of the room is used again. */
void *tally_user_allocate(reader *r, size_t bytes);
/* A copy of 'of', whose operands are complete. */
node *tally_user_node(reader *r, node of);
node *tally_user_integer(reader *r, uint64_t bits, kind k);

/* Nodes in the order in which they were read. */
typedef struct list {
    node *first, *last;
} list;
/* Appends a copy, since a listed node has a 'next'. Does nothing with NULL, which comes after a mistake. */
void tally_user_append(reader *r, list *all, const node *n);

const variable *tally_user_declare(reader *r, const char *name, type of, bool constant);
/* The innermost of this name; NULL: there is none. */
const variable *tally_user_find(const reader *r, const char *name);

/* ---- types.c ---- */

bool tally_user_begins_type(const reader *r);
void tally_user_name(reader *r, char name[MOST_NAME]); /* takes a name, which is no type's */
type tally_user_type(reader *r);
/* Reads "[N]" if it follows a declared name. */
type tally_user_array(reader *r, type element);
void tally_user_structure(reader *r);

bool tally_user_is_number(type a);
const char *tally_user_type_name(type a); /* C's */
kind tally_user_promoted(kind k);
const node *tally_user_convert(reader *r, const node *n, type to);
const node *tally_user_condition(reader *r, const node *n);

/* ---- expressions.c ---- */

value tally_user_expression(reader *r); /* without assignment */
/* A list in braces. Its '{' is the next token. */
const node *tally_user_initializer(reader *r, type to);
/* An assignment, ++, -- or an expression, as a statement. */
const node *tally_user_effect(reader *r);

/* ---- calls.c ---- */

/* A call of a function of the text's or of C's. */
const node *tally_user_call(reader *r, const char *name, const value *arguments, int count);

/* ---- statements.c ---- */

/* Structs and functions until the end. */
void tally_user_declarations(reader *r);
/* A whole text: an expression, or "[&] { ... return ...; }()", as a function's body. */
const node *tally_user_body(reader *r);

#endif
