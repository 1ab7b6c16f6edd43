/* The compiler of users' texts, as its files see it: steps.c makes steps, functions.c goes through the tree, compile.c
 * makes programs. */
#ifndef TALLY_CPU_TEXT_COMPILER_H
#define TALLY_CPU_TEXT_COMPILER_H

#include <locale.h>
#include <setjmp.h>

#include "cpu/text/program.h"
#include "user/tree.h"

enum {
    MOST_STEPS = 1 << 14,
    MOST_CONSTANTS = 1 << 10, /* that steps read */
    MOST_FOLDED = 1 << 15,    /* with those that loops of constants go through as they are unrolled */
    MOST_UNROLLED = 4096,     /* steps up to which loops are unrolled, and turns */
    ROOM = 32 << 20,          /* bytes of values; most of it is never touched */
    BLOCK_BYTES = 24 * 1024   /* of registers and accumulators of a block, half of a first-level cache */
};

/* A virtual register, a constant, or a number that the program is given. */
typedef struct operand {
    uint8_t base, bytes;
    uint8_t fits;    /* a kind that holds it, narrower than its lane; else KIND_VOID */
    uint32_t number; /* of the register, the constant or the component */
} operand;

typedef struct step {
    int name; /* -1: a jump */
    operand to, a, b, c;
    size_t target;
} step;

typedef struct loop {
    size_t begin, end; /* steps */
} loop;

enum { MOST_LOOPS = 256 };

/* Where lanes are in the function or loop that is being compiled. */
typedef struct flow {
    operand live;             /* masks: the lanes that run what is compiled next, */
    operand broke, continued; /* and those that wait at the loop's or the turn's end */
    bool exited;              /* some of the lanes that entered have left */
    operand *given;           /* what is returned; NULL: nothing yet */
    type result;
} flow;

typedef struct compiler {
    const tally_cpu_instructions *instructions;
    const tally_user_tree *tree;
    tally_cpu_text *text;
    locale_t locale;
    char *room;
    size_t used;
    uint64_t constants[MOST_FOLDED];
    uint8_t constant_bytes[MOST_FOLDED];
    uint32_t constant_lane[MOST_FOLDED];                    /* bytes of a lane before it, plus 1; 0: no step reads it */
    uint32_t constant_place[2 * MOST_FOLDED];               /* by hash: its number, plus 1 */
    uint32_t constant_count, constants_read, constants_end; /* all; those with lanes, and where these end */
    jmp_buf refused;
    const char *reason;
    /* The program that is being compiled: */
    step *steps;
    size_t count, searched; /* steps before this one may have been overwritten or left out */
    uint32_t registers;
    loop loops[MOST_LOOPS];
    size_t loop_count;
    size_t unrolled; /* turns of loops */
    operand **bound; /* by variable; NULL: not declared */
    unsigned *sizes; /* how many numbers each has */
    flow flow;
    bool uses_index, uses_count;
} compiler;

static const operand nowhere = {TALLY_TEXT_CONSTANTS, 4, KIND_VOID, 0}; /* constant 0 is 0 */

/* ---- operands ---- */

static inline bool same(operand a, operand b) {
    return a.base == b.base && a.number == b.number;
}
static inline bool is_constant(operand a) {
    return a.base == TALLY_TEXT_CONSTANTS;
}
static inline uint64_t bits_of(const compiler *c, operand a) {
    return c->constants[a.number];
}
static inline bool is_none(const compiler *c, operand mask) {
    return is_constant(mask) && !bits_of(c, mask);
}
static inline bool is_all(const compiler *c, operand mask) {
    return is_constant(mask) && bits_of(c, mask);
}
static inline unsigned kind_bytes(kind k) {
    return k == KIND_I64 || k == KIND_U64 || k == KIND_F64 ? 8 : 4;
}
static inline bool is_signed(kind k) {
    return k == KIND_I8 || k == KIND_I16 || k == KIND_I32 || k == KIND_I64;
}

#endif
