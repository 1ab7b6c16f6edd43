/* A user's operator as a tree. Its five texts are in the subset of C that CUDA compiles and that docs/man/tally_plan.3
 * describes: structs of numbers and arrays, expressions, functions beside acc_t with the usual statements. They mean
 * what C means: arithmetic happens in int and wider types, conversions are implicit, conditions are numbers. In the
 * tree every conversion is a node. Vulkan writes GLSL from it (vulkan/translate.c), the CPU a program
 * (cpu/text/compile.c).
 */
#ifndef TALLY_USER_TREE_H
#define TALLY_USER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/computation.h"

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
    MOST_NAME = 64,
    MOST_MEMBERS = 32,
    MOST_STRUCTURES = 8,
    MOST_FUNCTIONS = 32,
    MOST_PARAMETERS = 8,
    MOST_VARIABLES = 1024
};

typedef struct variable {
    char name[MOST_NAME];
    type type;
    bool constant;
    unsigned number; /* of all variables of the texts */
} variable;

struct structure {
    char name[MOST_NAME];
    variable members[MOST_MEMBERS];
    int count;
    /* As std430 lays it out: numbers narrower than 32 bits take 4 bytes. Vulkan and the CPU store accumulators so. */
    unsigned bytes, alignment;
};

/* Operators with two operands, of one type. The order is that of 'binaries' in expressions.c. */
typedef enum binary {
    BINARY_OR,
    BINARY_AND,
    BINARY_BIT_OR,
    BINARY_BIT_XOR,
    BINARY_BIT_AND,
    BINARY_EQUAL,
    BINARY_UNEQUAL,
    BINARY_LESS,
    BINARY_GREATER,
    BINARY_LESS_EQUAL,
    BINARY_GREATER_EQUAL,
    BINARY_LEFT,
    BINARY_RIGHT,
    BINARY_ADD,
    BINARY_SUBTRACT,
    BINARY_MULTIPLY,
    BINARY_DIVIDE,
    BINARY_REMAINDER,
    BINARY_COUNT
} binary;

/* The functions of C and CUDA that texts may call. */
typedef enum known_function {
#define TALLY_USER_FUNCTION(name, arguments, family, ...) KNOWN_##name,
#include "user/functions.def"
    KNOWN_COUNT
} known_function;

typedef enum node_kind {
    /* Expressions. Numbers narrower than 32 bits are held in 32; conversions to them are nodes. */
    NODE_NUMBER,   /* an integer's 'bits', or a float's 'digits' */
    NODE_VARIABLE, /* 'variable' */
    NODE_ZERO,     /* of any type */
    NODE_MAKE,     /* of parts: a and its 'next' ones, all members or elements */
    NODE_MEMBER,   /* number 'which' of struct a */
    NODE_ELEMENT,  /* of array a, at int b, which is not checked */
    NODE_CONVERT,  /* number a to the node's type */
    NODE_TRUTH,    /* a != 0, a condition */
    NODE_NOT,      /* of condition a */
    NODE_NEGATE,
    NODE_INVERT,
    NODE_BINARY, /* operator 'which'; AND and OR take conditions, and a shift's b is unsigned */
    NODE_SELECT, /* condition a ? b : c */
    NODE_CALL,   /* of 'function', arguments a and its 'next' ones */
    NODE_KNOWN,  /* of known function 'which', the same; all of one type */
    /* Statements; what follows is 'next'. */
    NODE_DECLARE, /* 'variable' = a */
    NODE_ASSIGN,  /* place a = b */
    NODE_EFFECT,  /* expression a */
    NODE_BLOCK,   /* statements a, or none */
    NODE_IF,      /* condition a, statements b and c, either may be NULL */
    NODE_LOOP,    /* while condition a (NULL: always) statements b, after each c */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_RETURN /* a, or NULL */
} node_kind;

typedef struct function function;
typedef struct node node;
struct node {
    node_kind what;
    type type;
    bool is_condition; /* of C's type int, and 0 or 1; GLSL's bool */
    bool calls;        /* it calls functions of the text's, which may assign to variables or have loops */
    int which, depth;
    const node *a, *b, *c, *next;
    const variable *variable;
    const function *function;
    uint64_t bits;
    const char *digits;
};

struct function {
    char name[MOST_NAME];
    type result; /* KIND_AUTO: whatever number is returned */
    const variable *parameters[MOST_PARAMETERS];
    bool by_reference[MOST_PARAMETERS];
    int count;
    const node *body; /* a block */
};

/* What a back end adds to the grammar or takes from it. */
typedef struct tally_user_limits {
    const char *where;         /* in messages: "Vulkan" */
    unsigned most_accumulator; /* bytes of acc_t, as laid out above */
    bool wide_functions;       /* functions such as exp are known for doubles, too */
} tally_user_limits;

typedef struct tally_user_tree {
    structure structures[MOST_STRUCTURES];
    int structure_count;
    const structure *accumulator; /* acc_t */
    function functions[MOST_FUNCTIONS];
    int function_count;
    function identity, lift, combine, lower; /* the texts, with parameters as in the header */
    unsigned variables;                      /* how many there are */
    bool uses_double;
    char *room;
} tally_user_tree;

/* Reads the texts of a user's operator. TALLY_INVALID_ARGUMENT for what C does not allow, TALLY_UNSUPPORTED for what
 * the subset does not have, each with the text's name, its line and column. On success the caller frees the tree. */
tally_status tally_user_read(const tally_computation *computation, const tally_user_limits *limits,
                             tally_user_tree **tree);
void tally_user_free(tally_user_tree *tree);

bool tally_user_same(type a, type b);
kind tally_user_kind(tally_dtype dtype); /* in which elements of a type are computed with */
/* The type of a part of a struct or an array, and how many there are; 1 and itself of a number. */
unsigned tally_user_parts(type of);
type tally_user_part(type of, unsigned which);

#endif
