/* The instructions of users' texts: functions over blocks of lanes that stay in the first-level cache, one table for
 * each instruction-set level. */
#ifndef TALLY_CPU_INSTRUCTIONS_H
#define TALLY_CPU_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tally_instruction_name {
#define VECTOR(name, operands, tag, expression)  TALLY_DO_##name,
#define SCALAR(name, operands, tag, expression)  TALLY_DO_##name,
#define COMPARE(name, operands, tag, expression) TALLY_DO_##name,
#define SELECT(name, tag)                        TALLY_DO_##name,
#define CONVERT(to, from)                        TALLY_DO_##to##_from_##from,
#include "cpu/kernels/instructions.def"
    TALLY_INSTRUCTIONS
} tally_instruction_name;

enum { TALLY_INSTRUCTION_LANES = 16 /* n is a multiple of this */ };

/* to[i] = of a[i], b[i] and c[i] for i < n; to may be one of the operands. Any address will do. */
typedef void tally_instruction(void *to, const void *a, const void *b, const void *c, size_t n);

/* A level's instructions, and what else running programs needs. */
typedef struct tally_cpu_instructions {
    tally_instruction *const *all; /* by name */
    /* Whether none of n masks is set. */
    bool (*none)(const int32_t *masks, size_t n);
    /* to[i] = first + i * step */
    void (*number)(uint64_t first, uint64_t step, size_t n, uint64_t *to);
    /* Components of 4 or 8 bytes between structs that stand 'stride' bytes apart and neighbours. */
    void (*gather)(const void *structs, size_t stride, size_t bytes, size_t n, void *to);
    void (*scatter)(const void *from, size_t bytes, size_t n, void *structs, size_t stride);
    /* to[b][a] = from[a][b] of 'rows' x 'columns' elements of any number of bytes. Returns false, and does nothing,
     * where whole vectors do not help. */
    bool (*transpose)(const void *from, size_t bytes, size_t rows, size_t columns, void *to);
    size_t vector_bytes; /* of the level's vectors */
} tally_cpu_instructions;

#endif
