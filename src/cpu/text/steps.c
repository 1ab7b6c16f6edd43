/* Steps of programs, and the constants among them. */
#include "cpu/text/steps.h"

#include <string.h>

_Noreturn void tally_text_refuse(compiler *c, const char *reason) {
    c->reason = reason;
    longjmp(c->refused, 1);
}

void *tally_text_allocate(compiler *c, size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > ROOM - c->used)
        tally_text_refuse(c, "the texts are too long");
    void *const made = c->room + c->used;
    c->used += bytes;
    return made;
}

operand *tally_text_array_of(compiler *c, unsigned count) {
    return tally_text_allocate(c, (count ? count : 1) * sizeof(operand));
}

/* ---- types ---- */

unsigned tally_text_size_of(type t) {
    unsigned count = 0;
    if (!t.length && t.kind != KIND_STRUCT)
        return 1;
    if (t.length)
        return t.length * tally_text_size_of((type){t.kind, t.structure, 0});
    for (int k = 0; k < t.structure->count; k++)
        count += tally_text_size_of(t.structure->members[k].type);
    return count;
}

/* ---- steps ---- */

operand tally_text_constant(compiler *c, uint64_t bits, unsigned bytes) {
    bits = bytes == 4 ? (uint32_t)bits : bits;
    size_t place = ((bits + bytes) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (2 * MOST_FOLDED);
    for (uint32_t k; (k = c->constant_place[place]); place = (place + 1) % (2 * MOST_FOLDED))
        if (c->constants[k - 1] == bits && c->constant_bytes[k - 1] == bytes)
            return (operand){TALLY_TEXT_CONSTANTS, (uint8_t)bytes, KIND_VOID, k - 1};
    const uint32_t added = c->constant_count;
    if (added == MOST_FOLDED)
        tally_text_refuse(c, "the texts have too many constants");
    c->constants[added] = bits;
    c->constant_bytes[added] = (uint8_t)bytes;
    c->constant_place[place] = ++c->constant_count;
    return (operand){TALLY_TEXT_CONSTANTS, (uint8_t)bytes, KIND_VOID, added};
}

/* A step reads it, so it needs lanes. */
static void use_constant(compiler *c, operand a) {
    if (!is_constant(a) || c->constant_lane[a.number])
        return;
    if (c->constants_read++ == MOST_CONSTANTS)
        tally_text_refuse(c, "the texts have too many constants");
    c->constant_lane[a.number] = c->constants_end + 1;
    c->constants_end += a.bytes;
}

static const struct {
    uint8_t operands, bytes[2]; /* of the result and of the last operand */
} shapes[TALLY_INSTRUCTIONS] = {
#define BYTES_i32                                4
#define BYTES_u32                                4
#define BYTES_f32                                4
#define BYTES_i64                                8
#define BYTES_u64                                8
#define BYTES_f64                                8
#define VECTOR(name, operands, tag, expression)  {operands, {BYTES_##tag, BYTES_##tag}},
#define SCALAR(name, operands, tag, expression)  {operands, {BYTES_##tag, BYTES_##tag}},
#define COMPARE(name, operands, tag, expression) {operands, {4, BYTES_##tag}},
#define SELECT(name, tag)                        {3, {BYTES_##tag, BYTES_##tag}},
#define CONVERT(to, from)                        {1, {BYTES_##to, BYTES_##from}},
#include "cpu/kernels/instructions.def"
};

void tally_text_fill(void *lanes, uint64_t bits, unsigned bytes, size_t n) {
    const uint32_t word = (uint32_t)bits;
    for (size_t i = 0; i < n; i++)
        if (bytes == 4)
            memcpy((uint32_t *)lanes + i, &word, sizeof word);
        else
            memcpy((uint64_t *)lanes + i, &bits, sizeof bits);
}

static operand fold(compiler *c, int name, operand a, operand b, operand d) {
    uint64_t lanes[4][TALLY_INSTRUCTION_LANES] = {{0}};
    const operand operands[] = {a, b, d};
    for (int k = 0; k < shapes[name].operands; k++)
        tally_text_fill(lanes[k + 1], bits_of(c, operands[k]), operands[k].bytes, TALLY_INSTRUCTION_LANES);
    c->instructions->all[name](lanes[0], lanes[1], lanes[2], lanes[3], TALLY_INSTRUCTION_LANES);
    uint32_t word;
    memcpy(&word, lanes[0], sizeof word);
    return tally_text_constant(c, shapes[name].bytes[0] == 4 ? word : lanes[0][0], shapes[name].bytes[0]);
}

void tally_text_append(compiler *c, step s) {
    if (c->count == MOST_STEPS)
        tally_text_refuse(c, "the texts need too many steps");
    c->steps[c->count++] = s;
    use_constant(c, s.to);
    use_constant(c, s.a);
    use_constant(c, s.b);
    use_constant(c, s.c);
}

static operand fresh(compiler *c, unsigned bytes) {
    return (operand){TALLY_TEXT_REGISTERS, (uint8_t)bytes, KIND_VOID, c->registers++};
}

operand tally_text_emit(compiler *c, int name, operand a, operand b, operand d) {
    const int operands = shapes[name].operands;
    b = operands > 1 ? b : a;
    d = operands > 2 ? d : a;
    if (is_constant(a) && is_constant(b) && is_constant(d))
        return fold(c, name, a, b, d);
    const bool copies = name == TALLY_DO_copy_32 || name == TALLY_DO_copy_64;
    for (size_t k = c->count; !copies && k > c->searched && k + 200 > c->count; k--) {
        const step *const s = &c->steps[k - 1];
        if (s->name == name && same(s->a, a) && same(s->b, b) && same(s->c, d))
            return s->to;
    }
    const operand to = fresh(c, shapes[name].bytes[0]);
    tally_text_append(c, (step){name, to, a, b, d, 0});
    return to;
}

operand tally_text_mask_and(compiler *c, operand a, operand b) {
    if (is_all(c, a) || is_none(c, b) || same(a, b))
        return b;
    return is_all(c, b) || is_none(c, a) ? a : emit2(c, TALLY_DO_and_32, a, b);
}

operand tally_text_mask_or(compiler *c, operand a, operand b) {
    if (is_none(c, a) || is_all(c, b) || same(a, b))
        return b;
    return is_none(c, b) || is_all(c, a) ? a : emit2(c, TALLY_DO_or_32, a, b);
}

operand tally_text_mask_not(compiler *c, operand a) {
    return emit2(c, TALLY_DO_xor_32, a, all_lanes(c));
}

const step *tally_text_step_of(const compiler *c, operand a) {
    for (size_t k = c->count; a.base == TALLY_TEXT_REGISTERS && k > c->searched && k + 200 > c->count; k--)
        if (same(c->steps[k - 1].to, a))
            return &c->steps[k - 1];
    return NULL;
}

/* The instruction for "p < q ? p : q" and "p < q ? q : p", which takes p and q; -1 for other choices. */
static int extreme_of(const step *test, operand yes, operand no) {
    static const struct {
        int less, smaller, larger;
    } known[] = {{TALLY_DO_less_f32, TALLY_DO_smaller_f32, TALLY_DO_larger_f32},
                 {TALLY_DO_less_f64, TALLY_DO_smaller_f64, TALLY_DO_larger_f64},
                 {TALLY_DO_less_i32, TALLY_DO_least_i32, TALLY_DO_most_i32},
                 {TALLY_DO_less_u32, TALLY_DO_least_u32, TALLY_DO_most_u32},
                 {TALLY_DO_less_i64, TALLY_DO_least_i64, TALLY_DO_most_i64},
                 {TALLY_DO_less_u64, TALLY_DO_least_u64, TALLY_DO_most_u64}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (test->name == known[k].less && same(test->a, yes) && same(test->b, no))
            return known[k].smaller;
        else if (test->name == known[k].less && same(test->a, no) && same(test->b, yes))
            return known[k].larger;
    return -1;
}

operand tally_text_choose(compiler *c, operand mask, operand yes, operand no) {
    if (same(yes, no) || is_all(c, mask))
        return yes;
    if (is_none(c, mask))
        return no;
    const step *const test = tally_text_step_of(c, mask);
    const int extreme = test ? extreme_of(test, yes, no) : -1;
    if (extreme >= 0)
        return tally_text_emit(c, extreme, test->a, test->b, test->a);
    operand v = tally_text_emit(c, yes.bytes == 4 ? TALLY_DO_select_32 : TALLY_DO_select_64, mask, yes, no);
    v.fits = yes.fits == no.fits ? yes.fits : KIND_VOID;
    return v;
}

/* ---- conversions ---- */

operand tally_text_widened(compiler *c, operand a, kind from, kind to) {
    if (to == KIND_F32)
        return emit1(c,
                     from == KIND_F64   ? TALLY_DO_f32_from_f64
                     : from == KIND_I64 ? TALLY_DO_f32_from_i64
                     : from == KIND_U64 ? TALLY_DO_f32_from_u64
                     : is_signed(from)  ? TALLY_DO_f32_from_i32
                                        : TALLY_DO_f32_from_u32,
                     a);
    if (to == KIND_F64)
        return emit1(c,
                     from == KIND_F32   ? TALLY_DO_f64_from_f32
                     : from == KIND_I64 ? TALLY_DO_f64_from_i64
                     : from == KIND_U64 ? TALLY_DO_f64_from_u64
                     : is_signed(from)  ? TALLY_DO_f64_from_i32
                                        : TALLY_DO_f64_from_u32,
                     a);
    return emit1(c, is_signed(from) ? TALLY_DO_i64_from_i32 : TALLY_DO_u64_from_u32, a);
}

static operand from_float(compiler *c, operand a, kind from, kind to) {
    static const int names[2][4] = {
        {TALLY_DO_i32_from_f32, TALLY_DO_u32_from_f32, TALLY_DO_i64_from_f32, TALLY_DO_u64_from_f32},
        {TALLY_DO_i32_from_f64, TALLY_DO_u32_from_f64, TALLY_DO_i64_from_f64, TALLY_DO_u64_from_f64}};
    return emit1(c, names[from == KIND_F64][to == KIND_I32 ? 0 : to == KIND_U32 ? 1 : to == KIND_I64 ? 2 : 3], a);
}

/* In the 32 bits that hold a narrow number. */
static operand narrowed(compiler *c, operand a, kind to) {
    if (a.fits == (uint8_t)to || a.fits == KIND_BOOL)
        return a;
    const operand shift = tally_text_constant(c, to == KIND_I8 ? 24 : 16, 4);
    operand v = is_signed(to)
                    ? emit2(c, TALLY_DO_right_i32, emit2(c, TALLY_DO_left_32, a, shift), shift)
                    : emit2(c, TALLY_DO_and_32, a, tally_text_constant(c, to == KIND_U8 ? UINT8_MAX : UINT16_MAX, 4));
    v.fits = (uint8_t)to;
    return v;
}

operand tally_text_convert(compiler *c, operand a, kind from, kind to) {
    if (from == to)
        return a;
    if (from >= KIND_F32 && to < KIND_F32) {
        a = from_float(c, a, from, to < KIND_I32 ? KIND_I32 : to);
    } else if (to >= KIND_F32 || (kind_bytes(to) == 8 && kind_bytes(from) == 4)) {
        return tally_text_widened(c, a, from, to);
    } else if (kind_bytes(to) == 4 && kind_bytes(from) == 8) {
        a = emit1(c, TALLY_DO_u32_from_u64, a);
    }
    return to < KIND_I32 ? narrowed(c, a, to) : a;
}

static bool is_bool(const compiler *c, operand mask) {
    const step *const s = tally_text_step_of(c, mask);
    return s && s->name == TALLY_DO_unequal_32 && s->a.fits == KIND_BOOL && is_constant(s->b) && !bits_of(c, s->b);
}

/* Whether one of two masks is a test of a bool, and the other a mask, too. */
static bool is_from_bits(const compiler *c, operand a, operand b) {
    return !is_constant(a) && !is_constant(b) && (is_bool(c, a) || is_bool(c, b));
}

/* 1 where a mask is set, else 0. A mask that comes from such numbers, as that of "a || b" of two bools, needs no test.
 */
static operand bit_of(compiler *c, operand mask) {
    const step *const s = tally_text_step_of(c, mask);
    operand bit;
    if (is_bool(c, mask))
        return s->a;
    if (s && (s->name == TALLY_DO_or_32 || s->name == TALLY_DO_and_32) && is_from_bits(c, s->a, s->b)) {
        const step copy = *s;
        const operand a = bit_of(c, copy.a);
        bit = emit2(c, copy.name, a, bit_of(c, copy.b));
    } else {
        bit = emit2(c, TALLY_DO_and_32, mask, tally_text_constant(c, 1, 4));
    }
    bit.fits = KIND_BOOL;
    return bit;
}

operand tally_text_number_of(compiler *c, operand mask, kind to) {
    const operand bit = bit_of(c, mask);
    return tally_text_convert(c, bit, KIND_U32, to < KIND_I32 ? KIND_I32 : to);
}

void tally_text_copy_to(compiler *c, operand home, operand from) {
    if (!same(home, from))
        tally_text_append(c, (step){home.bytes == 4 ? TALLY_DO_copy_32 : TALLY_DO_copy_64, home, from, from, from, 0});
}

operand tally_text_home_of(compiler *c, operand first) {
    operand home = fresh(c, first.bytes);
    tally_text_copy_to(c, home, first);
    return home;
}
