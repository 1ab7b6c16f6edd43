/* Programs of users' texts. A program is a list of instructions without branches, each of which takes a block of lanes;
 * only loops jump. What an 'if' leaves out is computed and then not chosen, so lanes need not agree. */
#ifndef TALLY_CPU_TEXT_PROGRAM_H
#define TALLY_CPU_TEXT_PROGRAM_H

#include "core/computation.h"
#include "cpu/kernels/instructions.h"

/* Where an operand lies. */
typedef enum tally_text_base {
    TALLY_TEXT_REGISTERS,
    TALLY_TEXT_CONSTANTS,
    TALLY_TEXT_X,     /* elements, as they are computed with */
    TALLY_TEXT_INDEX, /* of each, u64 */
    TALLY_TEXT_LEFT,  /* accumulators, component by component. Only 'lower' writes elsewhere */
    TALLY_TEXT_RIGHT,
    TALLY_TEXT_COUNT, /* u64 */
    TALLY_TEXT_OUT,
    TALLY_TEXT_LANES, /* -1 for each lane that counts, else 0 */
    TALLY_TEXT_BASES
} tally_text_base;

typedef struct tally_text_place {
    uint32_t offset; /* bytes */
    uint8_t base;
} tally_text_place;

typedef struct tally_text_step {
    tally_instruction *function; /* NULL: a jump to 'target' if no mask of a is set */
    tally_text_place to, a, b, c;
    size_t target;
} tally_text_step;

typedef struct tally_text_program {
    tally_text_step *steps;
    size_t count;
    size_t register_bytes;
    bool uses_index, uses_count, loops;
} tally_text_program;

/* A number of the accumulator. */
typedef struct tally_text_component {
    uint8_t bytes;         /* 4 or 8 */
    uint16_t stored;       /* where it is in a stored accumulator */
    uint32_t offset, lane; /* of its block in a block of accumulators; bytes of the components before, for one lane */
} tally_text_component;

enum {
    TALLY_TEXT_MOST_COMPONENTS = 256,
    TALLY_TEXT_MOST_WIDTH = 512,        /* lanes */
    TALLY_TEXT_MOST_ACCUMULATOR = 1024, /* bytes */
    /* Bytes of a thread's stack: registers, three blocks of accumulators, and 36 bytes a lane for what programs are
     * given and give. */
    TALLY_TEXT_ROOM = 64 * 1024
};

typedef struct tally_cpu_text tally_cpu_text;
struct tally_cpu_text {
    const tally_cpu_instructions *instructions;
    tally_text_component components[TALLY_TEXT_MOST_COMPONENTS];
    size_t component_count;
    size_t acc_bytes;      /* as stored */
    size_t block_bytes;    /* of a block of accumulators */
    size_t width;          /* lanes of a block, a multiple of TALLY_INSTRUCTION_LANES */
    size_t register_bytes; /* the most of all programs */
    char *constants;
    tally_dtype element, result; /* what elements are computed with, and what 'lower' gives: of 32 or 64 bits */
    bool commutes;
    _Alignas(16) char neutral[TALLY_TEXT_MOST_ACCUMULATOR]; /* the identity, as stored */
    /* take: left = combine(left, lift(x)), and begin: left = lift(x). */
    tally_text_program identity, begin, take, combine, lower;
};

/* Reads and compiles the texts of a user's operator. Fails as tally_user_read, or with TALLY_UNSUPPORTED if the
 * programs would be too long or need too many registers. On success the caller frees it. */
tally_status tally_cpu_text_compile(const tally_computation *computation, const tally_cpu_instructions *instructions,
                                    tally_cpu_text **text);
void tally_cpu_text_free(tally_cpu_text *text);

/* Runs a program for n lanes, at most text->width, rounded up to TALLY_INSTRUCTION_LANES. */
void tally_cpu_text_run(const tally_cpu_text *text, const tally_text_program *program, char *const bases[], size_t n);

#endif
