/* The compiler of users' texts: steps.c makes steps, functions.c goes through the tree, compile.c makes programs. */
#ifndef TALLY_CPU_TEXT_COMPILER_H
#define TALLY_CPU_TEXT_COMPILER_H

#include <locale.h>
#include <setjmp.h>

#include "cpu/text/program.h"
#include "user/tree.h"

enum {
    MOST_STEPS = 1 << 14,
    MOST_CONSTANTS = 1 << 10,
    MOST_UNROLLED = 4096,   /* steps up to which loops are unrolled, and turns */
    ROOM = 32 << 20,        /* bytes of values; most of it is never touched */
    BLOCK_BYTES = 24 * 1024 /* of registers and accumulators of a block, half of a first-level cache */
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
    uint64_t constants[MOST_CONSTANTS];
    uint8_t constant_bytes[MOST_CONSTANTS];
    uint32_t constant_count;
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
static inline unsigned bytes_of(kind k) {
    return k == KIND_I64 || k == KIND_U64 || k == KIND_F64 ? 8 : 4;
}
static inline bool is_signed(kind k) {
    return k == KIND_I8 || k == KIND_I16 || k == KIND_I32 || k == KIND_I64;
}

/* ---- steps.c ---- */

/* Everything that was allocated hangs on the compiler. */
_Noreturn void tally_text_refuse(compiler *c, const char *reason);
void *tally_text_allocate(compiler *c, size_t bytes);
operand *tally_text_array_of(compiler *c, unsigned count);

/* How many numbers a type has. */
unsigned tally_text_size_of(type t);

operand tally_text_constant(compiler *c, uint64_t bits, unsigned bytes);
/* n lanes of a number */
void tally_text_fill(void *lanes, uint64_t bits, unsigned bytes, size_t n);

void tally_text_append(compiler *c, step s);
/* The register that a step gives, or that of an earlier one that does the same, or a constant. Operands that the
 * instruction does not have do not matter. */
operand tally_text_emit(compiler *c, int name, operand a, operand b, operand d);
/* The step that a register's value comes from; NULL if there is none, or none near. */
const step *tally_text_step_of(const compiler *c, operand a);
operand tally_text_mask_and(compiler *c, operand a, operand b);
operand tally_text_mask_or(compiler *c, operand a, operand b);
operand tally_text_mask_not(compiler *c, operand a);
/* mask ? yes : no */
operand tally_text_choose(compiler *c, operand mask, operand yes, operand no);

/* 32 bits to 64, or to a float */
operand tally_text_widened(compiler *c, operand a, kind from, kind to);
operand tally_text_convert(compiler *c, operand a, kind from, kind to);
/* A condition as a number. */
operand tally_text_number_of(compiler *c, operand mask, kind to);

/* A register that is written to more than once, with its first value. */
operand tally_text_home_of(compiler *c, operand first);
void tally_text_copy_to(compiler *c, operand home, operand from);

static inline operand no_lane(compiler *c) {
    return tally_text_constant(c, 0, 4);
}
static inline operand all_lanes(compiler *c) {
    return tally_text_constant(c, UINT32_MAX, 4);
}
static inline operand emit1(compiler *c, int name, operand a) {
    return tally_text_emit(c, name, a, a, a);
}
static inline operand emit2(compiler *c, int name, operand a, operand b) {
    return tally_text_emit(c, name, a, b, a);
}

/* Instructions by type: 32 or 64 bits of integers, and floats; i32 to f64 where the sign counts. */
#define BY_BITS(k, name) (bytes_of(k) == 8 ? TALLY_DO_##name##_64 : TALLY_DO_##name##_32)
#define BY_WIDTH(k, name)                                                                                              \
    ((k) == KIND_F64 ? TALLY_DO_##name##_f64 : (k) == KIND_F32 ? TALLY_DO_##name##_f32 : BY_BITS(k, name))
#define BY_INTEGER(k, name)                                                                                            \
    (bytes_of(k) == 8 ? ((k) == KIND_I64 ? TALLY_DO_##name##_i64 : TALLY_DO_##name##_u64)                              \
     : is_signed(k)   ? TALLY_DO_##name##_i32                                                                          \
                      : TALLY_DO_##name##_u32)
#define BY_TYPE(k, name)                                                                                               \
    ((k) == KIND_F64 ? TALLY_DO_##name##_f64 : (k) == KIND_F32 ? TALLY_DO_##name##_f32 : BY_INTEGER(k, name))

/* ---- functions.c ---- */

/* The values of a statement's variables, for the lanes that are there. */
void tally_text_run(compiler *c, const node *n);
void tally_text_declare(compiler *c, const variable *v, operand *parts);
operand *tally_text_zeros(compiler *c, type t);
operand *tally_text_one(compiler *c, operand a);

#endif
