/* Steps of a program that is being compiled, and the constants among them. */
#ifndef TALLY_CPU_TEXT_STEPS_H
#define TALLY_CPU_TEXT_STEPS_H

#include "cpu/text/compiler.h"

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
#define BY_BITS(k, name) (kind_bytes(k) == 8 ? TALLY_DO_##name##_64 : TALLY_DO_##name##_32)
#define BY_WIDTH(k, name)                                                                                              \
    ((k) == KIND_F64 ? TALLY_DO_##name##_f64 : (k) == KIND_F32 ? TALLY_DO_##name##_f32 : BY_BITS(k, name))
#define BY_INTEGER(k, name)                                                                                            \
    (kind_bytes(k) == 8 ? ((k) == KIND_I64 ? TALLY_DO_##name##_i64 : TALLY_DO_##name##_u64)                            \
     : is_signed(k)     ? TALLY_DO_##name##_i32                                                                        \
                        : TALLY_DO_##name##_u32)
#define BY_TYPE(k, name)                                                                                               \
    ((k) == KIND_F64 ? TALLY_DO_##name##_f64 : (k) == KIND_F32 ? TALLY_DO_##name##_f32 : BY_INTEGER(k, name))

#endif
