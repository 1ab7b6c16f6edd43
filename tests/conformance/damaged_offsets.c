/* The promise of TALLY_BAD_OFFSETS: offsets that decrease or pass the end of the values are refused and others are not,
 * checked beforehand or while running, for every type of offsets and any number of threads. Lists are random. Most are
 * small, so that every kind of damage occurs often; some are so long that several tasks or workgroups share them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../oracle/random.h"
#include "promises.h"

enum { MOST_SEGMENTS = 90000, MOST_VALUES = 90000 };

typedef struct list {
    size_t segments, values;
    int64_t offset[MOST_SEGMENTS + 1];
    unsigned char bytes[(MOST_SEGMENTS + 1) * sizeof(int64_t)]; /* the same of the type, as the library is given them */
} list;

/* Segments that may not be empty seldom are. */
static void make_list(list *l, bool may_be_empty, uint64_t *state) {
    const uint64_t size = random_below(state, 100);
    const uint64_t most = size < 80 ? 9 : size < 98 ? 700 : MOST_SEGMENTS;
    l->segments = (size_t)random_below(state, most + 1);
    l->values = (size_t)random_below(state, most + 1) + (may_be_empty ? 0 : 2 * l->segments);
    l->values = l->values < MOST_VALUES ? l->values : MOST_VALUES;
    const uint64_t width =
        1 + 2 * (uint64_t)l->values / (l->segments + 1); /* of a segment: the mean fills the values */
    int64_t at = (int64_t)random_below(state, 3);
    for (size_t g = 0; g <= l->segments; g++) {
        l->offset[g] = at < (int64_t)l->values ? at : (int64_t)l->values;
        at += may_be_empty ? (int64_t)random_below(state, width + 1) : 1 + (int64_t)random_below(state, width / 2 + 1);
    }
    /* of empty segments */
    const size_t runs =
        may_be_empty || random_below(state, 9) == 0 ? (size_t)random_below(state, 4) * (1 + l->segments / 2000) : 0;
    for (size_t r = 0; r < runs; r++) {
        const size_t from = (size_t)random_below(state, l->segments + 1), left = l->segments - from;
        const size_t length = (size_t)random_below(state, (left < 400 ? left : 400) + 1);
        for (size_t g = from + 1; g <= from + length; g++)
            l->offset[g] = l->offset[from];
    }
    if (random_below(state, 10) == 0) /* back and forth within a few values, which they cannot all fit in */
        for (size_t g = (size_t)random_below(state, l->segments + 1); g <= l->segments; g++)
            l->offset[g] = (int64_t)(g % 2 && l->values ? 1 : 0);
    const size_t count = (size_t)random_below(state, 4);
    for (size_t k = 0; k < count; k++) /* all ones, to which 1 must not be added, or from -3 to 3 past the end */
        l->offset[random_below(state, l->segments + 1)] =
            random_below(state, 3) ? (int64_t)random_below(state, l->values + 7) - 3 : -1;
}

/* As the caller's type has the offsets: a negative one of an unsigned type is far past the end. */
static bool is_good(const list *l) {
    for (size_t g = 0; g <= l->segments; g++)
        if (l->offset[g] < 0 || l->offset[g] > (int64_t)l->values || (g && l->offset[g] < l->offset[g - 1]))
            return false;
    return true;
}

static bool has_empty(const list *l) {
    for (size_t g = 0; g < l->segments; g++)
        if (l->offset[g] == l->offset[g + 1])
            return true;
    return false;
}

typedef struct run {
    checker *c;
    const char *spec;
    char name[COMBINATION_NAME_BYTES];
    list l;
    int32_t integers[MOST_VALUES];
    float floats[MOST_VALUES];
    tally_desc desc; /* out: i64 of integers, f32 of floats */
    tally_plan *plan;
    uint64_t seed;
} run;

static void failed(const run *r, const char *what) {
    char text[400] = "";
    for (size_t g = 0, at = 0; g <= r->l.segments && at + 32 < sizeof text; g++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %lld", (long long)r->l.offset[g]);
    checker_fail(r->c, "%s%s on %s seed %llx: %zu values, %zu segments%s: %s", r->name,
                 r->desc.flags & TALLY_CHECK_WHILE_RUNNING ? " checked while running" : "", r->spec,
                 (unsigned long long)r->seed, r->l.values, r->l.segments, text, what);
}

static bool is_result(const run *r, const unsigned char *out, int64_t at, int64_t count) {
    cell found;
    decode(r->desc.out, out + (size_t)at * size_of(r->desc.out), 1, &found);
    return is_float(r->desc.out) ? found.d == (double)count : found.i == count;
}

/* Checks the results of a good list. Every value is 1, so that sums are numbers of elements. */
static bool sums_are_right(const run *r, const unsigned char *out) {
    for (size_t g = 0; g < r->l.segments; g++) {
        const int64_t begin = r->l.offset[g], count = r->l.offset[g + 1] - begin;
        if (r->desc.form == TALLY_REDUCE && !is_result(r, out, (int64_t)g, r->desc.op == TALLY_MAX ? 1 : count))
            return false;
        for (int64_t k = 0; r->desc.form != TALLY_REDUCE && k < count; k++)
            if (!is_result(r, out, begin + k, r->desc.flags & TALLY_REVERSE ? count - k : k + 1))
                return false;
    }
    return true;
}

static void run_list(run *r) {
    checker *c = r->c;
    list *l = &r->l;
    uint64_t state = r->seed;
    make_list(l, r->desc.op != TALLY_MAX, &state);
    const size_t size = size_of(r->desc.index);
    for (size_t g = 0; g <= l->segments; g++)
        encode(r->desc.index, (cell){.i = l->offset[g]}, l->bytes + g * size);
    const size_t results = r->desc.form == TALLY_REDUCE ? l->segments : l->values;
    const void *values = is_float(r->desc.in) ? (const void *)r->floats : r->integers;
    guarded_place(&c->x, c->device, values, l->values * size_of(r->desc.in), random_below(&state, 64));
    guarded_place(&c->index, c->device, l->bytes, (l->segments + 1) * size, random_below(&state, 64));
    guarded_place(&c->out, c->device, NULL, results * size_of(r->desc.out), 0);
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = l->values;
    args.shape.groups = l->segments;
    args.x = guarded_address(&c->x);
    args.offsets = guarded_address(&c->index);
    args.out = guarded_address(&c->out);
    args.out_bytes = results * size_of(r->desc.out);
    const tally_status status = tally_run(r->plan, &args, TALLY_SYNCHRONOUS);
    guarded_fetch(&c->out);
    c->cases++;
    c->elements += l->values;
    const bool right = is_good(l), good = right && (r->desc.op != TALLY_MAX || !has_empty(l));
    if (status != (good ? TALLY_OK : right ? TALLY_EMPTY : TALLY_BAD_OFFSETS))
        failed(r, tally_status_name(status));
    else if (!guarded_intact(&c->out))
        failed(r, "memory around the output was written");
    else if (!good && !(r->desc.flags & TALLY_CHECK_WHILE_RUNNING) && !guarded_unchanged(&c->out))
        failed(r, "the output was touched");
    else if (good && !sums_are_right(r, guarded_found(&c->out)))
        failed(r, "wrong results");
}

static void on_device(run *r, const options *o, const char *spec) {
    static const tally_dtype types[] = {TALLY_I32, TALLY_I64, TALLY_U32, TALLY_U64};
    static const struct {
        tally_form form;
        bool reverse, while_running;
        tally_dtype in;
        tally_op op; /* the maximum refuses empty segments, which is another check on GPUs */
    } forms[] = {{TALLY_REDUCE, false, true, TALLY_I32, TALLY_SUM},
                 {TALLY_REDUCE, false, true, TALLY_F32, TALLY_SUM},
                 {TALLY_INCLUSIVE_SCAN, false, true, TALLY_F32, TALLY_SUM},
                 {TALLY_INCLUSIVE_SCAN, true, true, TALLY_I32, TALLY_SUM},
                 {TALLY_REDUCE, false, false, TALLY_I32, TALLY_SUM},
                 {TALLY_REDUCE, false, false, TALLY_I32, TALLY_MAX},
                 {TALLY_INCLUSIVE_SCAN, true, false, TALLY_F32, TALLY_SUM}};
    const uint64_t lists = o->quick ? 60 : 600;
    r->spec = spec;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            const combination what = {.op = forms[f].op,
                                      .form = forms[f].form,
                                      .reverse = forms[f].reverse,
                                      .grouping = TALLY_SEGMENTS,
                                      .in = forms[f].in,
                                      .index = types[t]};
            combination_name(&what, r->name);
            if (!is_chosen(o, r->name))
                continue;
            r->desc = combination_desc(&what);
            r->desc.flags |= forms[f].while_running ? TALLY_CHECK_WHILE_RUNNING : 0;
            r->desc.out = is_float(what.in) ? TALLY_F32 : what.op == TALLY_MAX ? TALLY_I32 : TALLY_I64;
            if (tally_plan_create(r->c->device, &r->desc, &r->plan) != TALLY_OK) {
                checker_fail(r->c, "%s on %s: tally_plan_create: %s", r->name, spec, tally_last_error());
                continue;
            }
            for (uint64_t k = 0; k < lists; k++) {
                r->seed = case_seed(o, r->name, k);
                run_list(r);
            }
            tally_plan_destroy(r->plan);
        }
}

/* On the CPU with 1, 2, 3 and 5 threads, whatever number the spec has. */
void damaged_offsets(checker *c, const options *o) {
    run *r = calloc(1, sizeof *r);
    if (!r)
        exit(2);
    for (size_t k = 0; k < MOST_VALUES; k++)
        r->floats[k] = (float)(r->integers[k] = 1);
    const bool cpu = strncmp(o->device, "cpu", 3) == 0;
    const char *threads = strstr(o->device, ":threads=");
    const int length = (int)(threads ? (size_t)(threads - o->device) : strlen(o->device));
    static const int counts[] = {1, 2, 3, 5};
    for (int k = 0; k < (cpu ? 4 : 1); k++) {
        char spec[80];
        if (cpu)
            snprintf(spec, sizeof spec, "%.*s:threads=%d", length, o->device, counts[k]);
        else
            snprintf(spec, sizeof spec, "%s", o->device);
        tally_device *device;
        if (tally_open(spec, &device) != TALLY_OK) {
            checker_fail(c, "tally_open %s: %s", spec, tally_last_error());
            continue;
        }
        checker part;
        checker_open(&part, device);
        part.most_shown = c->most_shown;
        r->c = &part;
        on_device(r, o, spec);
        c->cases += part.cases;
        c->elements += part.elements;
        c->failures += part.failures;
        checker_release(&part);
        tally_close(device);
    }
    free(r);
}
