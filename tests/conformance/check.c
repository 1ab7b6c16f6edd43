#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../oracle/random.h"

enum { FAILURES_SHOWN = 60 };

void checker_open(checker *c, tally_device *device) {
    memset(c, 0, sizeof *c);
    c->device = device;
    c->most_shown = FAILURES_SHOWN;
    c->exact = malloc(2 * sizeof *c->exact);
}

void checker_release(checker *c) {
    guarded *all[] = {&c->x, &c->y, &c->index, &c->initial, &c->out, &c->keys_out};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        guarded_release(all[k]);
    free(c->exact);
    c->exact = NULL;
}

void checker_fail(checker *c, const char *format, ...) {
    c->failures++;
    if (c->failures_shown++ >= c->most_shown)
        return;
    va_list list;
    va_start(list, format);
    printf("FAIL ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

/* ---------------------------------------------------------------------------------------- one case ----- */

typedef struct test_case {
    checker *c;
    const combination *what;
    const layout *l;
    pattern p;
    delivery how;
    uint64_t seed;
    tally_desc desc; /* as the plan describes it */
    size_t per_result, in_bytes, out_bytes, results;
    bool is_scan, in_place, with_initial, reduces_keys;
    uint64_t count; /* KEYS: what the run reported */
    const void *x, *y;
    void *index, *run_keys;
    cell initial;
    tally_args args;
} test_case;

__attribute__((format(printf, 2, 3))) static bool fail(const test_case *t, const char *format, ...) {
    char name[COMBINATION_NAME_BYTES], text[400];
    combination_name(t->what, name);
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    checker_fail(t->c, "%s %s %s seed %" PRIx64 "%s%s%s: %s", name, t->l->name, pattern_name(t->p), t->seed,
                 t->how == IN_PIECES ? " in pieces" : "", t->in_place ? " in-place" : "",
                 t->with_initial ? " initial" : "", text);
    return false;
}

/* A multiple of 64 half of the time, else of the element's size, or any byte. */
static size_t misalignment(uint64_t *state, size_t element) {
    switch (random_below(state, 4)) {
    case 0:
        return random_below(state, 64);
    case 1:
        return random_below(state, 64) / element * element;
    default:
        return 0;
    }
}

/* Scans of floats in exact mode, which begin with any float. */
static bool is_exact_scan(const test_case *t) {
    return t->is_scan && t->what->mode == TALLY_EXACT && t->what->op == TALLY_SUM && is_float(t->what->in);
}

/* If nothing rounds, sometimes an end of the output's type; else a small number. Beside zeros, a zero or a NaN. */
static cell some_initial(const test_case *t, uint64_t *state) {
    if (t->p == SIGNED_ZEROS)
        return (cell){.d = random_below(state, 2) ? 0.0 : -0.0};
    if (t->p == ODD_NANS)
        return (cell){.d = -(double)NAN};
    const tally_op op = t->what->op;
    if (is_exact_scan(t)) {
        const double any[] = {0.0,
                              -0.0,
                              (double)largest_of(t->desc.out),
                              -ldexp(1, smallest_exponent_of(t->desc.out)),
                              (double)INFINITY,
                              1 + ldexp(1, 1 - precision_of(t->desc.out)),
                              -3,
                              0.375};
        return (cell){.d = any[random_below(state, sizeof any / sizeof *any)]};
    }
    const bool rounds = is_float(t->desc.acc) && (op == TALLY_SUM || op == TALLY_PROD);
    const int64_t value = 1 + (int64_t)random_below(state, 3);
    if (!rounds && random_below(state, 2))
        return random_below(state, 2) ? lowest_cell(t->desc.out) : highest_cell(t->desc.out);
    return is_float(t->desc.out) ? (cell){.d = (double)value} : (cell){.i = value};
}

static long double as_number(tally_dtype type, cell x) {
    return is_float(type) ? (long double)x.d : kind_of(type) == KIND_SIGNED ? (long double)x.i : (long double)x.u;
}

/* Whether the accumulator's type has every value of the output's, so that a scan may begin with one. A type that wraps
 * needs only as many bits. */
static bool holds_initial(const test_case *t) {
    const tally_dtype acc = t->desc.acc, out = t->desc.out;
    if (is_exact_scan(t))
        return true;
    if (is_float(acc) != is_float(out))
        return false;
    if (is_float(acc))
        return precision_of(out) <= precision_of(acc) && smallest_exponent_of(out) >= smallest_exponent_of(acc) &&
               largest_of(out) <= largest_of(acc);
    if (t->what->op != TALLY_MIN && t->what->op != TALLY_MAX)
        return size_of(out) <= size_of(acc);
    return as_number(out, lowest_cell(out)) >= as_number(acc, lowest_cell(acc)) &&
           as_number(out, highest_cell(out)) <= as_number(acc, highest_cell(acc));
}

static void place_inputs(test_case *t, uint64_t *state) {
    checker *c = t->c;
    const layout *l = t->l;
    size_t in_bytes = t->in_bytes;
    t->x = data_slice(t->what->in, t->p, random_bits(state), l->elements);
    guarded_place(&c->x, c->device, t->x, l->elements * in_bytes, misalignment(state, in_bytes));
    t->args.x = guarded_address(&c->x);
    if (t->what->op == TALLY_DOT) {
        t->y = data_slice(t->what->in, t->p, random_bits(state), l->elements);
        guarded_place(&c->y, c->device, t->y, l->elements * in_bytes, misalignment(state, in_bytes));
        t->args.y = guarded_address(&c->y);
    }
    size_t size = t->desc.index == TALLY_DEFAULT ? 0 : size_of(t->desc.index);
    if (l->grouping == TALLY_SEGMENTS) {
        size_t bytes = 0;
        if (!layout_offsets(l, t->desc.index, &t->index, &bytes))
            return;
        guarded_place(&c->index, c->device, t->index, bytes, misalignment(state, size));
        t->args.offsets = guarded_address(&c->index);
    } else if (l->grouping == TALLY_KEYS) {
        layout_key_values(l, t->desc.index, random_bits(state), &t->index, &t->run_keys);
        guarded_place(&c->index, c->device, t->index, l->elements * size, misalignment(state, size));
        t->args.keys = guarded_address(&c->index);
    } else if (l->grouping == TALLY_LABELS) {
        if (!layout_label_values(l, t->desc.index, random_bits(state), &t->index))
            return;
        guarded_place(&c->index, c->device, t->index, l->elements * size, misalignment(state, size));
        t->args.labels = guarded_address(&c->index);
    }
    if (t->with_initial) {
        unsigned char bytes[8];
        t->initial = some_initial(t, state);
        encode(t->desc.out, t->initial, bytes);
        guarded_place(&c->initial, c->device, bytes, t->out_bytes, misalignment(state, t->out_bytes));
        t->args.initial = guarded_address(&c->initial);
    }
}

/* Outputs for runs of keys have room for all runs, or for as many as there are elements, which no input exceeds. */
static void place_outputs(test_case *t, uint64_t *state) {
    checker *c = t->c;
    size_t room = t->reduces_keys && *state >> 20 & 1 ? t->l->elements : t->results;
    size_t bytes = room * t->per_result * t->out_bytes;
    if (t->in_place) {
        t->args.out = guarded_address(&c->x);
    } else {
        guarded_place(&c->out, c->device, NULL, bytes, misalignment(state, t->out_bytes));
        t->args.out = guarded_address(&c->out);
    }
    t->args.out_bytes = bytes;
    if (t->reduces_keys) {
        size_t size = size_of(t->desc.index);
        t->args.count = random_below(state, 8) ? &t->count : NULL;
        guarded_place(&c->keys_out, c->device, NULL, room * size, misalignment(state, size));
        if (random_below(state, 4)) {
            t->args.keys_out = guarded_address(&c->keys_out);
            t->args.keys_out_bytes = room * size;
        }
    } else if (t->is_scan && *state >> 21 & 1) { /* what only reductions by keys look at */
        guarded_place(&c->keys_out, c->device, NULL, 64, 0);
        t->args.keys_out = guarded_address(&c->keys_out);
        t->args.keys_out_bytes = 64;
    }
}

/* Inputs are unchanged, and nothing around the outputs has changed. */
static bool check_surroundings(test_case *t) {
    checker *c = t->c;
    guarded_fetch(&c->x);
    if (t->in_place ? !guarded_intact(&c->x) : !guarded_unchanged(&c->x))
        return fail(t, "x%s was written", t->in_place ? "'s surroundings" : "");
    if (t->args.y) {
        guarded_fetch(&c->y);
        if (!guarded_unchanged(&c->y))
            return fail(t, "y was written");
    }
    if (t->index) {
        guarded_fetch(&c->index);
        if (!guarded_unchanged(&c->index))
            return fail(t, "offsets, keys or labels were written");
    }
    if (t->with_initial) {
        guarded_fetch(&c->initial);
        if (!guarded_unchanged(&c->initial))
            return fail(t, "initial was written");
    }
    if (!t->in_place) {
        guarded_fetch(&c->out);
        if (!guarded_intact(&c->out))
            return fail(t, "memory around the output was written");
    }
    if (t->reduces_keys) {
        guarded_fetch(&c->keys_out);
        if (!guarded_intact(&c->keys_out) || (!t->args.keys_out && !guarded_unchanged(&c->keys_out)))
            return fail(t, "memory around keys_out was written");
    } else if (t->args.keys_out) {
        guarded_fetch(&c->keys_out);
        if (!guarded_unchanged(&c->keys_out))
            return fail(t, "a scan wrote keys_out");
    }
    return true;
}

static bool check_untouched(test_case *t, const char *when) {
    guarded *target = t->in_place ? &t->c->x : &t->c->out;
    guarded_fetch(target);
    if (!guarded_unchanged(target))
        return fail(t, "%s touched the output", when);
    if (t->reduces_keys) {
        guarded_fetch(&t->c->keys_out);
        if (!guarded_unchanged(&t->c->keys_out))
            return fail(t, "%s touched keys_out", when);
    }
    return true;
}

static bool compare(test_case *t, const reference *r, size_t result, size_t g) {
    expected e[2];
    const unsigned char *found = guarded_found(t->in_place ? &t->c->x : &t->c->out);
    int count = reference_value(r, t->desc.ddof, e);
    for (int k = 0; k < count; k++) {
        char text[200];
        if (!expected_agrees(&e[k], t->desc.out, found + (result * (size_t)count + (size_t)k) * t->out_bytes, text,
                             sizeof text))
            return fail(t, "result %zu%s of group %zu: %s", result, k ? " (second)" : "", g, text);
    }
    return true;
}

static bool check_group(test_case *t, size_t number, cell *x, cell *y) {
    group g = layout_group(t->l, number);
    bool inclusive = t->what->form == TALLY_INCLUSIVE_SCAN, reads_y = t->y != NULL;
    reference r;
    reference_start(&r, t->what->op, t->what->in, t->desc.acc, t->desc.out, t->what->mode, t->is_scan, t->c->exact);
    r.skips_nan = t->what->skips_nan;
    r.exact_terms = pattern_is_exact(t->p, t->what->op, t->l->elements);
    if (t->with_initial)
        reference_initial(&r, t->initial);
    for (size_t k = 0; k < g.count; k++) {
        size_t within = t->what->reverse ? g.count - 1 - k : k, at = group_element(g, within);
        if (t->is_scan && !inclusive && !compare(t, &r, at, number))
            return false;
        reference_push(&r, x[at], reads_y ? y[at] : x[at], group_index(g, within));
        if (inclusive && !compare(t, &r, at, number))
            return false;
    }
    if (t->is_scan)
        return true;
    if (reference_has_second_pass(&r)) {
        reference_begin_second(&r);
        for (size_t k = 0; k < g.count; k++)
            reference_second(&r, x[group_element(g, k)]);
    }
    return compare(t, &r, number, number);
}

/* Elements that belong to no segment have no result; a scan leaves their outputs unchanged. */
static bool check_gaps(test_case *t) {
    if (t->l->grouping != TALLY_SEGMENTS || !t->is_scan)
        return true;
    const guarded *target = t->in_place ? &t->c->x : &t->c->out;
    size_t first = t->l->bounds[0], last = t->l->bounds[t->l->groups], size = t->out_bytes * t->per_result;
    const unsigned char *sent = target->sent + target->offset, *found = guarded_found(target);
    if (memcmp(sent, found, first * size) ||
        memcmp(sent + last * size, found + last * size, (t->results - last) * size))
        return fail(t, "elements outside of all segments were written");
    return true;
}

static bool check_results(test_case *t) {
    size_t n = t->l->elements;
    cell *x = malloc((n + 1) * sizeof *x), *y = t->y ? malloc((n + 1) * sizeof *y) : NULL;
    if (!x || (t->y && !y))
        abort();
    decode(t->what->in, t->x, n, x);
    if (t->y)
        decode(t->what->in, t->y, n, y);
    bool passed = check_gaps(t);
    for (size_t g = 0; g < t->l->groups && passed; g++)
        passed = check_group(t, g, x, y);
    if (passed && t->reduces_keys && t->args.keys_out &&
        memcmp(t->run_keys, guarded_found(&t->c->keys_out), t->results * size_of(t->desc.index)) != 0)
        passed = fail(t, "keys_out are not the keys of the runs");
    if (passed && t->reduces_keys && t->args.count && t->count != t->l->groups)
        passed = fail(t, "%" PRIu64 " runs reported, there are %zu", t->count, t->l->groups);
    free(x);
    free(y);
    return passed;
}

/* A buffer one byte short is refused before anything is written. */
static bool check_short_output(test_case *t, tally_plan *plan) {
    tally_args args = t->args;
    uint64_t count = 12345;
    args.out_bytes = t->results * t->per_result * t->out_bytes - 1;
    if (t->reduces_keys)
        args.count = &count;
    tally_status status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    if (status != TALLY_OUTPUT_TOO_SMALL)
        return fail(t, "an output one byte short gave %s", tally_status_name(status));
    if (t->reduces_keys && count != t->l->groups)
        return fail(t, "an output one byte short reported %" PRIu64 " runs of %zu", count, t->l->groups);
    return check_untouched(t, "an output one byte short");
}

/* Pushes 'extent' elements (or rows) in pieces of random sizes, some of them empty, and finishes. */
static tally_status run_in_pieces(test_case *t, tally_plan *plan, uint64_t *state) {
    uint64_t extent = t->l->shape.extent, inner = t->l->grouping == TALLY_AXIS ? t->l->shape.inner : 1, at = 0;
    size_t row = inner * t->in_bytes, row_out = inner * t->out_bytes * t->per_result;
    if (random_below(state, 4) == 0 && extent) { /* what was pushed before a reset must not count */
        tally_args args = t->args;
        args.shape.extent = 1;
        args.initial = NULL;
        if (!t->is_scan)
            args.out = NULL;
        if (!t->in_place && (tally_push(plan, &args) != TALLY_OK))
            return TALLY_STATUS_COUNT;
        tally_reset(plan);
    }
    do {
        uint64_t most = random_below(state, 3) ? extent / 2 + 1 : 5;
        uint64_t length =
            extent - at < most || random_below(state, 40) == 0 ? extent - at : random_below(state, most + 1);
        tally_args args = t->args;
        args.shape.extent = length;
        args.x = (const char *)t->args.x + at * row;
        if (t->y)
            args.y = (const char *)t->args.y + at * row;
        args.out = t->is_scan ? (char *)t->args.out + at * row_out : NULL;
        args.out_bytes = t->is_scan ? length * row_out : 0;
        tally_status status = tally_push(plan, &args);
        if (status != TALLY_OK)
            return status;
        at += length;
    } while (at < extent);
    return tally_finish(plan, t->is_scan ? NULL : t->args.out, t->is_scan ? 0 : t->args.out_bytes);
}

static bool check_refused_initial(test_case *t, tally_plan *plan) {
    tally_status status = t->how == AT_ONCE ? tally_run(plan, &t->args, TALLY_SYNCHRONOUS) : tally_push(plan, &t->args);
    if (status != TALLY_UNSUPPORTED)
        return fail(t, "an initial value that the accumulator may not hold gave %s", tally_status_name(status));
    return check_untouched(t, "a refused initial value");
}

static bool run(test_case *t, tally_plan *plan, uint64_t *state) {
    if (t->with_initial && !holds_initial(t))
        return check_refused_initial(t, plan);
    const bool must_be_bad = t->l->leaves_out && !(t->desc.flags & TALLY_SKIP_BAD_LABELS);
    bool must_be_empty = !must_be_bad && t->l->has_empty && !t->is_scan && !t->what->skips_nan &&
                         !reference_has_value_of_nothing(t->what->op);
    const tally_status due = must_be_bad ? TALLY_BAD_LABELS : must_be_empty ? TALLY_EMPTY : TALLY_OK;
    if (t->how == AT_ONCE && t->args.out_bytes && due == TALLY_OK && random_below(state, 6) == 0 &&
        !check_short_output(t, plan))
        return false;
    tally_status status =
        t->how == AT_ONCE ? tally_run(plan, &t->args, TALLY_SYNCHRONOUS) : run_in_pieces(t, plan, state);
    if (status != due)
        return fail(t, "%s: %s", tally_status_name(status), status == TALLY_OK ? "" : tally_last_error());
    if (t->how == IN_PIECES && status != TALLY_OK)
        tally_reset(plan); /* a finish that failed leaves the pieces where they are */
    if (due != TALLY_OK)
        return check_untouched(t, tally_status_name(due));
    return check_surroundings(t) && check_results(t);
}

bool check_case(checker *c, const combination *what, tally_plan *plan, const layout *l, pattern p, delivery how,
                uint64_t seed) {
    test_case t = {.c = c, .what = what, .l = l, .p = p, .how = how, .seed = seed, .args = TALLY_ARGS_INIT};
    uint64_t state = seed;
    t.desc.struct_size = sizeof t.desc;
    if (tally_plan_describe(plan, &t.desc, &t.per_result) != TALLY_OK)
        return fail(&t, "tally_plan_describe: %s", tally_last_error());
    t.in_bytes = size_of(what->in);
    t.out_bytes = size_of(t.desc.out);
    t.is_scan = what->form != TALLY_REDUCE;
    t.reduces_keys = l->grouping == TALLY_KEYS && !t.is_scan;
    t.results = t.is_scan ? l->elements : l->groups;
    t.in_place = t.is_scan && t.in_bytes == t.out_bytes * t.per_result && random_below(&state, 3) == 0;
    t.with_initial = t.is_scan && op_takes_initial(what->op) && random_below(&state, 3) == 0;
    t.args.shape = l->shape;
    c->cases++;
    c->elements += l->elements;
    place_inputs(&t, &state);
    bool passed = true;
    if ((l->grouping != TALLY_SEGMENTS && l->grouping != TALLY_LABELS) || t.index) {
        place_outputs(&t, &state);
        passed = run(&t, plan, &state);
    }
    free(t.index);
    free(t.run_keys);
    return passed;
}
