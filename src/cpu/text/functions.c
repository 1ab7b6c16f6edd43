/* From the tree of a user's texts to steps.
 *
 * Values are virtual registers that are written once, so an assignment only binds a variable to other registers. After
 * an 'if' a variable that differs is chosen by the condition. Where lanes have left a loop or a function, assignments
 * keep what those lanes had. Loops whose conditions are constants are unrolled; in others the variables that they
 * assign to have registers of their own ("homes"), and the loop goes on until no lane is left. Functions are inlined.
 * What consists of constants is computed at once, by the instructions themselves; nothing is computed twice. */
#define _GNU_SOURCE /* strtod_l */
#include "cpu/text/functions.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/text/operations.h"

/* ---- expressions ---- */

static unsigned place_of_member(const structure *s, int which) {
    unsigned at = 0;
    for (int k = 0; k < which; k++)
        at += tally_text_size_of(s->members[k].type);
    return at;
}

static operand *evaluate(compiler *c, const node *n);

static operand scalar(compiler *c, const node *n) {
    return *evaluate(c, n);
}

static operand number(compiler *c, const node *n) {
    if (!n->digits)
        return tally_text_constant(c, n->bits, kind_bytes(n->type.kind));
    uint64_t bits = 0;
    if (n->type.kind == KIND_F32) {
        const float value = strtof_l(n->digits, NULL, c->locale);
        uint32_t word;
        memcpy(&word, &value, sizeof word);
        bits = word;
    } else {
        const double value = strtod_l(n->digits, NULL, c->locale);
        memcpy(&bits, &value, sizeof value);
    }
    return tally_text_constant(c, bits, kind_bytes(n->type.kind));
}

static operand *fill_zeros(compiler *c, type t, operand *at) {
    if (!t.length && t.kind != KIND_STRUCT) {
        *at = tally_text_constant(c, 0, kind_bytes(t.kind));
        return at + 1;
    }
    for (unsigned k = 0; k < tally_user_parts(t); k++)
        at = fill_zeros(c, tally_user_part(t, k), at);
    return at;
}

operand *tally_text_zeros(compiler *c, type t) {
    operand *const all = tally_text_array_of(c, tally_text_size_of(t));
    (void)fill_zeros(c, t, all);
    return all;
}

static operand **snapshot(compiler *c) {
    const size_t bytes = (c->tree->variables + 1) * sizeof(operand *);
    operand **const copy = tally_text_allocate(c, bytes);
    memcpy(copy, c->bound, bytes);
    return copy;
}

static operand *chosen(compiler *c, operand mask, const operand *yes, const operand *no, unsigned count) {
    operand *const all = tally_text_array_of(c, count);
    for (unsigned k = 0; k < count; k++)
        all[k] = tally_text_choose(c, mask, yes[k], no[k]);
    return all;
}

/* Where the condition holds, variables are as they are now; else as they were. */
static void merge(compiler *c, operand condition, operand **others) {
    for (unsigned v = 0; v < c->tree->variables; v++)
        if (c->bound[v] && others[v] && c->bound[v] != others[v])
            c->bound[v] = chosen(c, condition, c->bound[v], others[v], c->sizes[v]);
}

/* An operand that is evaluated only where a condition holds, since it calls functions. */
static operand *evaluate_where(compiler *c, operand condition, const node *n) {
    if (!n->calls)
        return evaluate(c, n);
    const operand live = c->flow.live;
    operand **const before = snapshot(c);
    c->flow.live = tally_text_mask_and(c, live, condition);
    operand *const found = evaluate(c, n);
    merge(c, condition, before);
    c->flow.live = live;
    return found;
}

static operand binary_of(compiler *c, const node *n) {
    const binary which = (binary)n->which;
    const operand a = scalar(c, n->a);
    if (which <= BINARY_AND) {
        if (which == BINARY_AND ? is_none(c, a) : is_all(c, a))
            return a;
        const operand b = *evaluate_where(c, which == BINARY_AND ? a : tally_text_mask_not(c, a), n->b);
        return which == BINARY_AND ? tally_text_mask_and(c, a, b) : tally_text_mask_or(c, a, b);
    }
    return tally_text_binary(c, which, n->a->type.kind, a, scalar(c, n->b));
}

static operand known_of(compiler *c, const node *n) {
    operand a[3] = {nowhere, nowhere, nowhere};
    const kind k = n->a->type.kind; /* they all have an argument */
    int count = 0;
    for (const node *argument = n->a; argument && count < 3; argument = argument->next)
        a[count++] = scalar(c, argument);
    return tally_text_known(c, (known_function)n->which, k, a);
}

/* The element of an array at an index that may differ from lane to lane. An index out of bounds gives element 0. */
static operand *element_of(compiler *c, const node *n) {
    operand *const array = evaluate(c, n->a);
    const operand index = scalar(c, n->b);
    const unsigned count = n->a->type.length, size = tally_text_size_of(n->type);
    if (is_constant(index))
        return array + (bits_of(c, index) < count ? bits_of(c, index) : 0) * size;
    operand *found = tally_text_array_of(c, size);
    memcpy(found, array, size * sizeof *found);
    for (unsigned k = 1; k < count; k++)
        found =
            chosen(c, emit2(c, TALLY_DO_equal_32, index, tally_text_constant(c, k, 4)), array + k * size, found, size);
    return found;
}

static operand *made_of(compiler *c, const node *n) {
    operand *const all = tally_text_array_of(c, tally_text_size_of(n->type));
    unsigned at = 0;
    for (const node *part = n->a; part; part = part->next) {
        const unsigned size = tally_text_size_of(part->type);
        memcpy(all + at, evaluate(c, part), size * sizeof *all);
        at += size;
    }
    return all;
}

/* ---- places ---- */

void tally_text_declare(compiler *c, const variable *v, operand *parts) {
    c->bound[v->number] = parts;
    c->sizes[v->number] = tally_text_size_of(v->type);
}

/* Lanes that are not there keep what they have. */
static void bind(compiler *c, const variable *v, operand *parts) {
    if (c->flow.exited && c->bound[v->number])
        parts = chosen(c, c->flow.live, parts, c->bound[v->number], tally_text_size_of(v->type));
    c->bound[v->number] = parts;
}

static void assign(compiler *c, const node *place, operand *parts) {
    if (place->what == NODE_VARIABLE) {
        bind(c, place->variable, parts);
        return;
    }
    const unsigned whole = tally_text_size_of(place->a->type), size = tally_text_size_of(place->type);
    operand *const all = tally_text_array_of(c, whole);
    memcpy(all, evaluate(c, place->a), whole * sizeof *all);
    if (place->what == NODE_MEMBER) {
        memcpy(all + place_of_member(place->a->type.structure, place->which), parts, size * sizeof *all);
    } else {
        const operand index = scalar(c, place->b);
        if (is_constant(index) && bits_of(c, index) < place->a->type.length)
            memcpy(all + bits_of(c, index) * size, parts, size * sizeof *all);
        for (unsigned k = 0; !is_constant(index) && k < place->a->type.length; k++) {
            const operand here = emit2(c, TALLY_DO_equal_32, index, tally_text_constant(c, k, 4));
            for (unsigned j = 0; j < size; j++)
                all[k * size + j] = tally_text_choose(c, here, parts[j], all[k * size + j]);
        }
    }
    assign(c, place->a, all);
}

/* ---- calls ---- */

static operand *compile_call(compiler *c, const function *f, const node *arguments) {
    const node *argument = arguments;
    /* From the room of values, so that calls are limited even where they make no steps. */
    operand **const values = tally_text_allocate(c, MOST_PARAMETERS * sizeof *values);
    for (int k = 0; k < f->count; k++, argument = argument->next)
        values[k] = evaluate(c, argument);
    const flow outer = c->flow;
    c->flow = (flow){.live = outer.live, .broke = no_lane(c), .continued = no_lane(c), .result = f->result};
    for (int k = 0; k < f->count; k++)
        tally_text_declare(c, f->parameters[k], values[k]);
    tally_text_run(c, f->body);
    operand *const given = c->flow.given                 ? c->flow.given
                           : f->result.kind == KIND_VOID ? NULL
                                                         : tally_text_zeros(c, f->result);
    c->flow = outer;
    argument = arguments;
    for (int k = 0; k < f->count; k++, argument = argument->next)
        if (f->by_reference[k])
            assign(c, argument, c->bound[f->parameters[k]->number]);
    return given;
}

operand *tally_text_one(compiler *c, operand a) {
    operand *const all = tally_text_array_of(c, 1);
    *all = a;
    return all;
}

static operand converted(compiler *c, const node *n) {
    const operand a = scalar(c, n->a);
    return n->a->is_condition ? tally_text_number_of(c, a, n->type.kind)
                              : tally_text_convert(c, a, n->a->type.kind, n->type.kind);
}

static operand *evaluate(compiler *c, const node *n) {
    switch (n->what) {
    case NODE_NUMBER:
        return tally_text_one(c, number(c, n));
    case NODE_VARIABLE: {
        const operand *const bound = c->bound[n->variable->number];
        c->uses_index |= bound && bound->base == TALLY_TEXT_INDEX;
        c->uses_count |= bound && bound->base == TALLY_TEXT_COUNT;
        return c->bound[n->variable->number];
    }
    case NODE_ZERO:
        return tally_text_zeros(c, n->type);
    case NODE_MAKE:
        return made_of(c, n);
    case NODE_MEMBER:
        return evaluate(c, n->a) + place_of_member(n->a->type.structure, n->which);
    case NODE_ELEMENT:
        return element_of(c, n);
    case NODE_CONVERT:
        return tally_text_one(c, converted(c, n));
    case NODE_TRUTH:
        return tally_text_one(c, tally_text_unequal_zero(c, scalar(c, n->a), n->a->type.kind));
    case NODE_NOT:
        return tally_text_one(c, tally_text_mask_not(c, scalar(c, n->a)));
    case NODE_NEGATE:
        return tally_text_one(c, tally_text_negated(c, scalar(c, n->a), n->type.kind));
    case NODE_INVERT:
        return tally_text_one(c, emit2(c, BY_BITS(n->type.kind, xor), scalar(c, n->a),
                                       tally_text_constant(c, UINT64_MAX, kind_bytes(n->type.kind))));
    case NODE_BINARY:
        return tally_text_one(c, binary_of(c, n));
    case NODE_SELECT: {
        const operand mask = scalar(c, n->a);
        if (is_constant(mask))
            return evaluate(c, is_all(c, mask) ? n->b : n->c);
        const operand *const yes = evaluate_where(c, mask, n->b);
        return chosen(c, mask, yes, evaluate_where(c, tally_text_mask_not(c, mask), n->c), tally_text_size_of(n->type));
    }
    case NODE_CALL:
        return compile_call(c, n->function, n->a);
    default:
        return tally_text_one(c, known_of(c, n));
    }
}

/* ---- statements ---- */

static void run_if(compiler *c, const node *n) {
    const operand mask = scalar(c, n->a);
    if (is_constant(mask)) {
        if (is_all(c, mask) ? n->b : n->c)
            tally_text_run(c, is_all(c, mask) ? n->b : n->c);
        return;
    }
    const operand live = c->flow.live, yes = tally_text_mask_and(c, live, mask),
                  no = tally_text_mask_and(c, live, tally_text_mask_not(c, mask));
    operand **const before = snapshot(c);
    c->flow.live = yes;
    tally_text_run(c, n->b);
    const operand left_yes = c->flow.live;
    operand **const after = snapshot(c);
    memcpy(c->bound, before, c->tree->variables * sizeof *before);
    c->flow.live = no;
    if (n->c)
        tally_text_run(c, n->c);
    const operand left_no = c->flow.live;
    operand **const other = snapshot(c);
    memcpy(c->bound, after, c->tree->variables * sizeof *after);
    merge(c, mask, other);
    c->flow.live = same(left_yes, yes) && same(left_no, no) ? live : tally_text_mask_or(c, left_yes, left_no);
}

static bool returns(const node *n) {
    for (; n; n = n->next)
        if (n->what == NODE_RETURN || (n->what >= NODE_BLOCK && (returns(n->a) || returns(n->b) || returns(n->c))))
            return true;
    return false;
}

static const variable *root_of(const node *place) {
    while (place->what != NODE_VARIABLE)
        place = place->a;
    return place->variable;
}

/* Marks the variables that are assigned to. */
static void find_assigned(const node *n, bool *assigned) {
    for (; n; n = n->next) {
        if (n->what == NODE_ASSIGN)
            assigned[root_of(n->a)->number] = true;
        if (n->what == NODE_CALL) {
            const node *argument = n->a;
            for (int k = 0; k < n->function->count; k++, argument = argument->next)
                if (n->function->by_reference[k])
                    assigned[root_of(argument)->number] = true;
        }
        find_assigned(n->a, assigned);
        find_assigned(n->b, assigned);
        find_assigned(n->c, assigned);
    }
}

static operand *homes_of(compiler *c, const operand *first, unsigned count) {
    operand *const homes = tally_text_array_of(c, count);
    for (unsigned k = 0; k < count; k++)
        homes[k] = tally_text_home_of(c, first[k]);
    return homes;
}

typedef struct homes {
    unsigned variable;
    operand *at, *next;
} homes;

static void run_general_loop(compiler *c, const node *n, bool exited_before) {
    const bool gives = returns(n->b);
    const unsigned *const sizes = c->sizes;
    bool *const assigned = tally_text_allocate(c, c->tree->variables + 1);
    homes *const all = tally_text_allocate(c, (c->tree->variables + 1) * sizeof *all);
    unsigned count = 0;
    memset(assigned, 0, c->tree->variables + 1);
    find_assigned(n->a, assigned);
    find_assigned(n->b, assigned);
    find_assigned(n->c, assigned);
    for (unsigned v = 0; v < c->tree->variables; v++)
        if (assigned[v] && c->bound[v]) {
            operand *const at = homes_of(c, c->bound[v], sizes[v]);
            all[count++] = (homes){.variable = v, .at = at};
        }
    const unsigned given_size = gives && c->flow.result.kind != KIND_VOID ? tally_text_size_of(c->flow.result) : 0;
    operand *given = NULL;
    if (given_size)
        given = homes_of(c, c->flow.given ? c->flow.given : tally_text_zeros(c, c->flow.result), given_size);
    const operand live = c->flow.live;
    const operand lanes = {TALLY_TEXT_LANES, 4, KIND_VOID, 0};
    const operand running = tally_text_home_of(c, tally_text_mask_and(c, live, lanes));
    const operand gone = gives ? tally_text_home_of(c, no_lane(c)) : nowhere;
    if (c->loop_count == MOST_LOOPS)
        tally_text_refuse(c, "the texts have too many loops");
    const size_t this = c->loop_count++;
    const size_t begin = c->searched = c->count;
    for (unsigned k = 0; k < count; k++)
        c->bound[all[k].variable] = all[k].at;
    if (given_size)
        c->flow.given = given;
    c->flow.exited = false;
    c->flow.broke = c->flow.continued = no_lane(c);
    c->flow.live = running;
    const operand entered =
        n->a ? tally_text_mask_and(c, running, scalar(c, n->a)) : emit1(c, TALLY_DO_copy_32, running);
    const size_t jump = c->count;
    tally_text_append(c, (step){-1, nowhere, entered, nowhere, nowhere, 0});
    c->flow.live = entered;
    tally_text_run(c, n->b);
    const operand stays = tally_text_mask_or(c, c->flow.live, c->flow.continued);
    c->flow.live = stays;
    if (n->c)
        tally_text_run(c, n->c);
    for (unsigned k = 0; k < count; k++)
        all[k].next = chosen(c, entered, c->bound[all[k].variable], all[k].at, sizes[all[k].variable]);
    if (gives) {
        const operand left =
            tally_text_mask_and(c, entered, tally_text_mask_not(c, tally_text_mask_or(c, stays, c->flow.broke)));
        tally_text_copy_to(c, gone, tally_text_mask_or(c, gone, left));
    }
    operand *const given_next = given_size ? chosen(c, entered, c->flow.given, given, given_size) : NULL;
    for (unsigned k = 0; k < count; k++)
        for (unsigned j = 0; j < sizes[all[k].variable]; j++)
            tally_text_copy_to(c, all[k].at[j], all[k].next[j]);
    for (unsigned k = 0; k < given_size; k++)
        tally_text_copy_to(c, given[k], given_next[k]);
    tally_text_copy_to(c, running, stays);
    tally_text_append(c, (step){-1, nowhere, no_lane(c), nowhere, nowhere, begin}); /* always */
    c->steps[jump].target = c->count;
    c->loops[this] = (loop){begin, c->count};
    c->searched = c->count;
    for (unsigned k = 0; k < count; k++)
        c->bound[all[k].variable] = all[k].at;
    if (given_size)
        c->flow.given = given;
    c->flow.live = gives ? tally_text_mask_and(c, live, tally_text_mask_not(c, gone)) : live;
    c->flow.exited = exited_before || gives;
}

/* Whether so much has been unrolled that the rest of a loop should be a loop. Counts a turn. */
static bool is_too_long(compiler *c) {
    return c->count > MOST_UNROLLED || ++c->unrolled > MOST_UNROLLED || c->constants_read > MOST_CONSTANTS / 2 ||
           c->constant_count > MOST_FOLDED / 2;
}

/* As long as the condition is a constant and no lane leaves by itself, the loop is unrolled. */
static void run_loop(compiler *c, const node *n) {
    const flow outer = c->flow;
    const bool gives = returns(n->b);
    operand broke = no_lane(c);
    c->flow.broke = no_lane(c);
    for (;;) {
        const operand entered = c->flow.live;
        const operand condition = n->a ? scalar(c, n->a) : all_lanes(c);
        if (is_none(c, condition) || is_none(c, entered))
            break;
        if (!is_constant(condition) || is_too_long(c)) {
            broke = c->flow.broke;
            run_general_loop(c, n, c->flow.exited);
            break;
        }
        c->flow.continued = no_lane(c);
        tally_text_run(c, n->b);
        const bool leaves = !same(c->flow.live, entered) && !is_none(c, c->flow.live);
        c->flow.live = tally_text_mask_or(c, c->flow.live, c->flow.continued);
        broke = c->flow.broke;
        if (n->c)
            tally_text_run(c, n->c);
        if (leaves && !is_none(c, c->flow.live)) {
            run_general_loop(c, n, c->flow.exited);
            break;
        }
    }
    c->flow.live = gives ? tally_text_mask_or(c, c->flow.live, broke) : outer.live;
    c->flow.exited = gives || outer.exited;
    c->flow.broke = outer.broke;
    c->flow.continued = outer.continued;
}

static void give(compiler *c, const node *n) {
    if (n->a) {
        operand *parts = evaluate(c, n->a);
        const type to = c->flow.result;
        if (to.kind != n->type.kind) /* numbers of several types, which only the back end's own type ends */
            parts = tally_text_one(c, tally_text_convert(c, *parts, n->type.kind, to.kind));
        c->flow.given = c->flow.given ? chosen(c, c->flow.live, parts, c->flow.given, tally_text_size_of(to)) : parts;
    }
    c->flow.live = no_lane(c);
    c->flow.exited = true;
}

void tally_text_run(compiler *c, const node *n) {
    if (is_none(c, c->flow.live))
        return;
    switch (n->what) {
    case NODE_DECLARE:
        tally_text_declare(c, n->variable, evaluate(c, n->a));
        break;
    case NODE_ASSIGN:
        assign(c, n->a, evaluate(c, n->b));
        break;
    case NODE_EFFECT:
        (void)evaluate(c, n->a);
        break;
    case NODE_BLOCK:
        for (const node *s = n->a; s; s = s->next)
            tally_text_run(c, s);
        break;
    case NODE_IF:
        run_if(c, n);
        break;
    case NODE_LOOP:
        run_loop(c, n);
        break;
    case NODE_BREAK:
        c->flow.broke = tally_text_mask_or(c, c->flow.broke, c->flow.live);
        c->flow.live = no_lane(c);
        c->flow.exited = true;
        break;
    case NODE_CONTINUE:
        c->flow.continued = tally_text_mask_or(c, c->flow.continued, c->flow.live);
        c->flow.live = no_lane(c);
        c->flow.exited = true;
        break;
    default:
        give(c, n);
        break;
    }
}
