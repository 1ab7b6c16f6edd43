/* Programs from steps: results are put where they belong, registers get places, and a block its width. */
#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "cpu/fpenv.h"
#include "cpu/text/functions.h"
#include "cpu/text/steps.h"

/* ---- programs ---- */

static uint8_t narrow(kind k) {
    return k < KIND_I32 ? (uint8_t)k : KIND_VOID;
}

/* The first statement that returns, or a number if there is none. */
static const node *first_return(const node *n) {
    static const node none = {.what = NODE_NUMBER, .type = {KIND_I32, NULL, 0}};
    for (; n; n = n->next) {
        const node *const operands[] = {n->a, n->b, n->c};
        if (n->what == NODE_RETURN)
            return n;
        for (int k = 0; k < 3 && n->what >= NODE_BLOCK; k++) {
            const node *const found = first_return(operands[k]);
            if (found->what == NODE_RETURN)
                return found;
        }
    }
    return &none;
}

/* A function of the texts, applied to what its parameters are bound to. */
static operand *apply(compiler *c, const function *f, operand *first, operand *second) {
    const type result = f->result.kind == KIND_AUTO ? first_return(f->body)->type : f->result;
    c->flow = (flow){.live = all_lanes(c), .broke = no_lane(c), .continued = no_lane(c), .result = result};
    if (f->count > 0)
        tally_text_declare(c, f->parameters[0], first);
    if (f->count > 1)
        tally_text_declare(c, f->parameters[1], second);
    tally_text_run(c, f->body);
    return c->flow.given ? c->flow.given : tally_text_zeros(c, c->flow.result);
}

static void begin_program(compiler *c) {
    c->count = c->searched = c->registers = 0;
    c->loop_count = c->unrolled = 0;
    c->uses_index = c->uses_count = false;
    memset(c->bound, 0, c->tree->variables * sizeof *c->bound);
}

static operand *fill_accumulator(type t, uint8_t base, uint32_t *count, operand *at) {
    if (!t.length && t.kind != KIND_STRUCT) {
        *at = (operand){base, (uint8_t)kind_bytes(t.kind), narrow(t.kind), (*count)++};
        return at + 1;
    }
    for (unsigned k = 0; k < tally_user_parts(t); k++)
        at = fill_accumulator(tally_user_part(t, k), base, count, at);
    return at;
}

static type accumulator_type(const compiler *c) {
    return (type){KIND_STRUCT, c->tree->accumulator, 0};
}

static operand *accumulator(compiler *c, uint8_t base) {
    operand *const all = tally_text_array_of(c, tally_text_size_of(accumulator_type(c)));
    uint32_t count = 0;
    (void)fill_accumulator(accumulator_type(c), base, &count, all);
    return all;
}

static operand *lifted(compiler *c) {
    const type x = c->tree->lift.parameters[0]->type;
    operand *const element = tally_text_one(c, (operand){TALLY_TEXT_X, (uint8_t)kind_bytes(x.kind), narrow(x.kind), 0});
    return apply(c, &c->tree->lift, element, tally_text_one(c, (operand){TALLY_TEXT_INDEX, 8, KIND_VOID, 0}));
}

/* ---- results ---- */

static bool reads(const step *s, operand a) {
    return same(s->a, a) || same(s->b, a) || same(s->c, a);
}

static void replace(operand *of, operand old, operand new) {
    if (same(*of, old))
        *of = new;
}

/* Lets the step that computes a register write to the result instead. Returns false if a later step still reads what
 * the result overwrites. */
static bool retarget(compiler *c, operand from, operand to) {
    size_t k = 0;
    if (from.base != TALLY_TEXT_REGISTERS || c->loop_count)
        return false;
    while (k < c->count && !same(c->steps[k].to, from))
        k++;
    for (size_t later = k + 1; later < c->count; later++)
        if (reads(&c->steps[later], to))
            return false;
    if (k == c->count)
        return false;
    c->steps[k].to = to;
    for (size_t later = k + 1; later < c->count; later++) {
        replace(&c->steps[later].a, from, to);
        replace(&c->steps[later].b, from, to);
        replace(&c->steps[later].c, from, to);
    }
    return true;
}

static void put_results(compiler *c, operand *parts, unsigned count, uint8_t base) {
    for (unsigned k = 0; k < count; k++) /* read before they may be overwritten */
        if (parts[k].base == base && parts[k].number != k)
            parts[k] = tally_text_home_of(c, parts[k]);
    for (unsigned k = 0; k < count; k++) {
        const operand to = {base, parts[k].bytes, KIND_VOID, k}, from = parts[k];
        if (!retarget(c, from, to)) {
            tally_text_copy_to(c, to, from);
            continue;
        }
        for (unsigned later = k + 1; later < count; later++)
            replace(&parts[later], from, to);
    }
}

/* ---- registers ---- */

typedef struct interval {
    size_t first, last;
    uint32_t slot; /* bytes of a lane before it */
    bool used;
} interval;

static void see(interval *all, operand a, size_t at, bool reads_it) {
    if (a.base != TALLY_TEXT_REGISTERS)
        return;
    interval *const i = &all[a.number];
    if (i->first == SIZE_MAX)
        i->first = at;
    i->last = at;
    i->used |= reads_it;
}

/* Drops the steps whose results nothing reads. */
static void drop_unread(compiler *c) {
    bool *const read = calloc(c->registers + 1, sizeof *read);
    if (!read || c->loop_count) {
        free(read);
        return;
    }
    size_t kept = c->count;
    for (size_t k = c->count; k > 0; k--) {
        const step s = c->steps[k - 1];
        if (s.to.base == TALLY_TEXT_REGISTERS && !read[s.to.number])
            continue;
        const operand operands[] = {s.a, s.b, s.c};
        for (int j = 0; j < 3; j++)
            if (operands[j].base == TALLY_TEXT_REGISTERS)
                read[operands[j].number] = true;
        c->steps[--kept] = s;
    }
    memmove(c->steps, c->steps + kept, (c->count - kept) * sizeof *c->steps);
    c->count -= kept;
    free(read);
}

static void find_intervals(const compiler *c, interval *all) {
    for (uint32_t r = 0; r < c->registers; r++)
        all[r] = (interval){.first = SIZE_MAX};
    for (size_t k = 0; k < c->count; k++) {
        const step *const s = &c->steps[k];
        see(all, s->a, k, true);
        see(all, s->b, k, true);
        see(all, s->c, k, true);
        if (s->name >= 0)
            see(all, s->to, k, false);
    }
    for (bool changed = c->loop_count > 0; changed;) { /* what comes into a loop is there until its end */
        changed = false;
        for (uint32_t r = 0; r < c->registers; r++)
            for (size_t j = 0; j < c->loop_count; j++) {
                const loop l = c->loops[j];
                if (all[r].first < l.begin && all[r].last >= l.begin && all[r].last < l.end - 1) {
                    all[r].last = l.end - 1;
                    changed = true;
                }
            }
    }
}

/* Gives each register a slot; slots are used again. Returns the bytes of a lane. */
static size_t allocate_registers(compiler *c, interval *all) {
    uint32_t *const free_slots[2] = {tally_text_allocate(c, (c->registers + 1) * sizeof(uint32_t)),
                                     tally_text_allocate(c, (c->registers + 1) * sizeof(uint32_t))};
    size_t free_count[2] = {0, 0}, bytes = 0;
    for (size_t k = 0; k < c->count; k++) {
        const step *const s = &c->steps[k];
        const operand operands[] = {s->a, s->b, s->c, s->to};
        for (int j = 0; j < 3; j++)
            if (operands[j].base == TALLY_TEXT_REGISTERS && all[operands[j].number].last == k) {
                const int wide = operands[j].bytes == 8;
                free_slots[wide][free_count[wide]++] = all[operands[j].number].slot;
                all[operands[j].number].last = SIZE_MAX; /* once */
            }
        if (s->name < 0 || s->to.base != TALLY_TEXT_REGISTERS || all[s->to.number].first != k)
            continue;
        const int wide = s->to.bytes == 8;
        if (free_count[wide]) {
            all[s->to.number].slot = free_slots[wide][--free_count[wide]];
        } else {
            all[s->to.number].slot = (uint32_t)bytes;
            bytes += s->to.bytes;
        }
        if (all[s->to.number].last == k) /* never read */
            free_slots[wide][free_count[wide]++] = all[s->to.number].slot;
    }
    return bytes;
}

/* ---- what is left when all are compiled ---- */

/* Offsets are those of one lane until the width is known. */
static tally_text_place place_of(const compiler *c, const interval *all, operand a) {
    uint32_t offset = 0;
    if (a.base == TALLY_TEXT_REGISTERS)
        offset = all[a.number].slot;
    else if (a.base == TALLY_TEXT_CONSTANTS)
        offset = c->constant_lane[a.number] - 1;
    else if (a.base == TALLY_TEXT_LEFT || a.base == TALLY_TEXT_RIGHT)
        offset = c->text->components[a.number].lane;
    return (tally_text_place){offset, a.base};
}

static void finish(compiler *c, operand *parts, unsigned count, uint8_t base, tally_text_program *made) {
    put_results(c, parts, count, base);
    drop_unread(c);
    interval *const all = tally_text_allocate(c, (c->registers + 1) * sizeof *all);
    find_intervals(c, all);
    made->register_bytes = allocate_registers(c, all);
    made->steps = calloc(c->count + 1, sizeof *made->steps);
    if (!made->steps)
        tally_text_refuse(c, "there is too little memory");
    for (size_t k = 0; k < c->count; k++) {
        const step *const s = &c->steps[k];
        made->steps[k] = (tally_text_step){.function = s->name < 0 ? NULL : c->instructions->all[s->name],
                                           .to = place_of(c, all, s->to),
                                           .a = place_of(c, all, s->a),
                                           .b = place_of(c, all, s->b),
                                           .c = place_of(c, all, s->c),
                                           .target = s->target};
    }
    made->count = c->count;
    made->uses_index = c->uses_index;
    made->uses_count = c->uses_count;
    made->loops = c->loop_count > 0;
}

static void compile_all(compiler *c) {
    const unsigned count = tally_text_size_of(accumulator_type(c));
    tally_cpu_text *const text = c->text;
    const tally_user_tree *const tree = c->tree;
    begin_program(c);
    finish(c, apply(c, &tree->identity, NULL, NULL), count, TALLY_TEXT_LEFT, &text->identity);
    if (text->identity.loops) /* it would be run now */
        tally_text_refuse(c, "the identity's loops have more than 4096 turns or need too many constants");
    begin_program(c);
    finish(c, lifted(c), count, TALLY_TEXT_LEFT, &text->begin);
    begin_program(c);
    operand *const right = lifted(c);
    finish(c, apply(c, &tree->combine, accumulator(c, TALLY_TEXT_LEFT), right), count, TALLY_TEXT_LEFT, &text->take);
    begin_program(c);
    finish(c, apply(c, &tree->combine, accumulator(c, TALLY_TEXT_LEFT), accumulator(c, TALLY_TEXT_RIGHT)), count,
           TALLY_TEXT_LEFT, &text->combine);
    begin_program(c);
    operand *const result = apply(c, &tree->lower, accumulator(c, TALLY_TEXT_LEFT),
                                  tally_text_one(c, (operand){TALLY_TEXT_COUNT, 8, KIND_VOID, 0}));
    static const tally_dtype types[] = {
        [KIND_I64] = TALLY_I64, [KIND_U64] = TALLY_U64, [KIND_F32] = TALLY_F32, [KIND_F64] = TALLY_F64};
    const kind k = c->flow.result.kind;
    text->result = k >= KIND_I64 ? types[k] : is_signed(k) ? TALLY_I32 : TALLY_U32;
    finish(c, result, 1, TALLY_TEXT_OUT, &text->lower);
}

/* Where the numbers of an accumulator lie, as std430 has them. */
static unsigned lay_out(tally_cpu_text *text, type t, unsigned at) {
    if (!t.length && t.kind != KIND_STRUCT) {
        const unsigned bytes = kind_bytes(t.kind), place = (unsigned)round_up(at, bytes);
        tally_text_component *const component = &text->components[text->component_count];
        const uint32_t lane = text->component_count ? component[-1].lane + component[-1].bytes : 0;
        *component = (tally_text_component){.bytes = (uint8_t)bytes, .stored = (uint16_t)place, .lane = lane};
        text->component_count++;
        return place + bytes;
    }
    const unsigned alignment = t.kind == KIND_STRUCT && !t.length ? t.structure->alignment : 1;
    at = (unsigned)round_up(at, alignment);
    for (unsigned k = 0; k < tally_user_parts(t); k++)
        at = lay_out(text, tally_user_part(t, k), at);
    return (unsigned)round_up(at, alignment);
}

static void choose_width(compiler *c) {
    tally_cpu_text *const text = c->text;
    tally_text_program *const programs[] = {&text->identity, &text->begin, &text->take, &text->combine, &text->lower};
    size_t lane = 0;
    for (int k = 0; k < 5; k++)
        lane = (size_t)most(lane, programs[k]->register_bytes);
    const tally_text_component *const last = &text->components[text->component_count - 1];
    const size_t acc = last->lane + last->bytes, whole = lane + 3 * acc + 36;
    text->width = (size_t)most(least(BLOCK_BYTES / whole, TALLY_TEXT_MOST_WIDTH) / TALLY_INSTRUCTION_LANES, 1) *
                  TALLY_INSTRUCTION_LANES;
    if (text->width * whole > TALLY_TEXT_ROOM)
        tally_text_refuse(c, "the texts need too many registers");
    text->register_bytes = lane * text->width;
    text->block_bytes = acc * text->width;
    for (size_t k = 0; k < text->component_count; k++)
        text->components[k].offset = (uint32_t)(text->components[k].lane * text->width);
    for (int k = 0; k < 5; k++)
        for (size_t s = 0; s < programs[k]->count; s++) {
            tally_text_step *const at = &programs[k]->steps[s];
            at->to.offset *= (uint32_t)text->width;
            at->a.offset *= (uint32_t)text->width;
            at->b.offset *= (uint32_t)text->width;
            at->c.offset *= (uint32_t)text->width;
        }
}

static void fill_constants(compiler *c) {
    const size_t width = c->text->width;
    char *const all = c->text->constants = aligned_alloc(64, (size_t)round_up(c->constants_end * width + 64, 64));
    if (!all)
        tally_text_refuse(c, "there is too little memory");
    for (uint32_t k = 0; k < c->constant_count; k++)
        if (c->constant_lane[k])
            tally_text_fill(all + (c->constant_lane[k] - 1) * width, c->constants[k], c->constant_bytes[k], width);
}

static void compile(compiler *c, const tally_computation *computation) {
    tally_cpu_text *const text = c->text;
    const tally_dtype value = tally_dtype_value(computation->desc.in);
    text->instructions = c->instructions;
    text->commutes = computation->user.commutes != 0;
    text->element = tally_dtype_is_float(value) || tally_dtype_size(value) == 8 ? value
                    : tally_dtype_is_signed(value)                              ? TALLY_I32
                                                                                : TALLY_U32;
    text->acc_bytes = (size_t)round_up(c->tree->accumulator->bytes, 16);
    (void)lay_out(text, accumulator_type(c), 0);
    (void)tally_text_constant(c, 0, 4); /* nowhere */
    compile_all(c);
    choose_width(c);
    fill_constants(c);
}

static bool attempt(compiler *c, const tally_computation *computation) {
    if (setjmp(c->refused))
        return false;
    compile(c, computation);
    return true;
}

static tally_status refusal(const compiler *c, const tally_computation *computation) {
    const char *const name = computation->user.name;
    return tally_fail(TALLY_UNSUPPORTED, "user operator%s%.60s%s on the CPU: %s", name ? " '" : "", name ? name : "",
                      name ? "'" : "", c->reason);
}

tally_status tally_cpu_text_compile(const tally_computation *computation, const tally_cpu_instructions *instructions,
                                    tally_cpu_text **text) {
    static const tally_user_limits limits = {"the CPU", TALLY_TEXT_MOST_ACCUMULATOR, true};
    tally_user_tree *tree;
    tally_status status = tally_user_read(computation, &limits, &tree);
    if (status != TALLY_OK)
        return status;
    compiler *const c = calloc(1, sizeof *c);
    if (c) {
        c->instructions = instructions; /* what is 0 stays untouched: it is large */
        c->tree = tree;
        c->text = calloc(1, sizeof *c->text);
        c->room = malloc(ROOM);
        c->steps = malloc(MOST_STEPS * sizeof *c->steps);
        c->bound = calloc(tree->variables + 1, sizeof *c->bound);
        c->sizes = calloc(tree->variables + 1, sizeof *c->sizes);
        c->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    }
    if (!c || !c->text || !c->room || !c->steps || !c->bound || !c->sizes || !c->locale) {
        status = tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a user operator's program");
    } else {
        const tally_fpenv saved = tally_fpenv_enter();
        status = attempt(c, computation) ? TALLY_OK : refusal(c, computation);
        tally_fpenv_leave(&saved);
    }
    if (c && status == TALLY_OK)
        *text = c->text;
    else if (c)
        tally_cpu_text_free(c->text);
    if (c) {
        if (c->locale)
            freelocale(c->locale);
        free(c->room);
        free(c->steps);
        free(c->bound);
        free(c->sizes);
    }
    free(c);
    tally_user_free(tree);
    return status;
}
