#include "cpu/text/operations.h"

operand tally_text_unequal_zero(compiler *c, operand a, kind k) {
    const step *const s = a.fits == KIND_BOOL ? tally_text_step_of(c, a) : NULL;
    if (s && s->name == TALLY_DO_and_32 && is_constant(s->b) && bits_of(c, s->b) == 1) /* it was a mask before */
        return s->a;
    return emit2(c, BY_WIDTH(k, unequal), a, tally_text_constant(c, 0, kind_bytes(k)));
}

/* A shift's count has the width of what is shifted. */
static operand shift_of(compiler *c, operand count, kind k) {
    return kind_bytes(k) == 8 ? tally_text_widened(c, count, KIND_U32, KIND_U64) : count;
}

operand tally_text_binary(compiler *c, binary which, kind k, operand a, operand b) {
    switch (which) {
    case BINARY_BIT_OR:
        return emit2(c, BY_BITS(k, or), a, b);
    case BINARY_BIT_XOR:
        return emit2(c, BY_BITS(k, xor), a, b);
    case BINARY_BIT_AND:
        return emit2(c, BY_BITS(k, and), a, b);
    case BINARY_EQUAL:
        return emit2(c, BY_WIDTH(k, equal), a, b);
    case BINARY_UNEQUAL:
        return emit2(c, BY_WIDTH(k, unequal), a, b);
    case BINARY_LESS:
        return emit2(c, BY_TYPE(k, less), a, b);
    case BINARY_GREATER:
        return emit2(c, BY_TYPE(k, less), b, a);
    case BINARY_LESS_EQUAL:
        return emit2(c, BY_TYPE(k, less_equal), a, b);
    case BINARY_GREATER_EQUAL:
        return emit2(c, BY_TYPE(k, less_equal), b, a);
    case BINARY_LEFT:
        return emit2(c, BY_BITS(k, left), a, shift_of(c, b, k));
    case BINARY_RIGHT:
        return emit2(c, BY_INTEGER(k, right), a, shift_of(c, b, k));
    case BINARY_ADD:
        return emit2(c, BY_WIDTH(k, add), a, b);
    case BINARY_SUBTRACT:
        return emit2(c, BY_WIDTH(k, subtract), a, b);
    case BINARY_MULTIPLY:
        return emit2(c, BY_WIDTH(k, multiply), a, b);
    case BINARY_DIVIDE:
        return emit2(c, BY_TYPE(k, divide), a, b);
    default:
        return emit2(c, BY_INTEGER(k, remainder), a, b);
    }
}

operand tally_text_negated(compiler *c, operand a, kind k) {
    if (k == KIND_F32)
        return emit2(c, TALLY_DO_xor_32, a, tally_text_constant(c, UINT32_C(1) << 31, 4));
    if (k == KIND_F64)
        return emit2(c, TALLY_DO_xor_64, a, tally_text_constant(c, UINT64_C(1) << 63, 8));
    return emit2(c, BY_WIDTH(k, subtract), tally_text_constant(c, 0, kind_bytes(k)), a);
}

static operand magnitude(compiler *c, operand a, kind k) {
    if (k == KIND_F32)
        return emit2(c, TALLY_DO_and_32, a, tally_text_constant(c, INT32_MAX, 4));
    if (k == KIND_F64)
        return emit2(c, TALLY_DO_and_64, a, tally_text_constant(c, INT64_MAX, 8));
    return is_signed(k) ? emit2(c, BY_INTEGER(k, most), tally_text_negated(c, a, k), a) : a;
}

/* An instruction that gives one of its two operands. */
static operand one_of(compiler *c, int name, const operand a[2]) {
    operand v = emit2(c, name, a[0], a[1]);
    v.fits = a[0].fits == a[1].fits ? a[0].fits : KIND_VOID;
    return v;
}

#define OF_FLOATS(k, name) ((k) == KIND_F64 ? TALLY_DO_##name##_f64 : TALLY_DO_##name##_f32)

operand tally_text_known(compiler *c, known_function which, kind k, operand a[3]) {
    switch (which) {
    case KNOWN_fabs:
    case KNOWN_abs:
        return magnitude(c, a[0], k);
    case KNOWN_fmin:
    case KNOWN_min:
        return one_of(c, BY_TYPE(k, least), a);
    case KNOWN_fmax:
    case KNOWN_max:
        return one_of(c, BY_TYPE(k, most), a);
    case KNOWN_isnan:
        return emit2(c, BY_WIDTH(k, unequal), a[0], a[0]);
    case KNOWN_isinf:
        return emit2(c, BY_WIDTH(k, equal), magnitude(c, a[0], k),
                     k == KIND_F64 ? tally_text_constant(c, UINT64_C(0x7ff) << 52, 8)
                                   : tally_text_constant(c, UINT32_C(0xff) << 23, 4));
    case KNOWN___popc:
        return emit1(c, TALLY_DO_count_bits_32, a[0]);
    case KNOWN___float_as_uint:
    case KNOWN___float_as_int:
    case KNOWN___uint_as_float:
    case KNOWN___int_as_float:
        a[0].fits = KIND_VOID;
        return a[0];
#define FLOATS(name, instruction)                                                                                      \
    case KNOWN_##name:                                                                                                 \
        return tally_text_emit(c, OF_FLOATS(k, instruction), a[0], a[1], a[2]);
        FLOATS(sqrt, square_root)
        FLOATS(floor, floor)
        FLOATS(ceil, ceil)
        FLOATS(trunc, trunc)
        FLOATS(rint, rint)
        FLOATS(fma, fma)
        FLOATS(exp, exp)
        FLOATS(exp2, exp2)
        FLOATS(log, log)
        FLOATS(log2, log2)
        FLOATS(pow, pow)
        FLOATS(sin, sin)
        FLOATS(cos, cos)
        FLOATS(tan, tan)
        FLOATS(tanh, tanh)
        FLOATS(atan2, atan2)
    default:
        return a[0];
    }
}
