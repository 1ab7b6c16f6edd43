/* The promise of the modes: TALLY_FAST gives the same bits every run and for any number of threads. TALLY_EXACT, and
 * every result that is exact by nature, also has the same bits on every instruction-set level. Bits are compared, not
 * values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../oracle/random.h"
#include "promises.h"

enum { DEVICES = 8, REPEATS = 3 };

typedef struct ensemble {
    checker *c;
    const options *o;
    checker part[DEVICES]; /* one a device, with its memory */
    char spec[DEVICES][64];
    int count, same_level; /* the first same_level devices must agree in fast mode */
} ensemble;

static void add_device(ensemble *e, const char *spec) {
    tally_device *device;
    tally_status status = tally_open(spec, &device);
    if (status == TALLY_OK) {
        snprintf(e->spec[e->count], sizeof e->spec[0], "%s", spec);
        checker_open(&e->part[e->count++], device);
    } else if (status != TALLY_NO_DEVICE) {
        checker_fail(e->c, "tally_open %s: %s", spec, tally_last_error());
    }
}

/* On the CPU: the device's own level with 1, 2, 3 and 5 threads, then the other levels. Elsewhere: the device. */
static void open_all(ensemble *e) {
    const char *spec = e->o->device;
    bool cpu = strncmp(spec, "cpu", 3) == 0 || strcmp(spec, "auto") == 0;
    if (!cpu) {
        add_device(e, spec);
        e->same_level = e->count;
        return;
    }
    char base[48];
    snprintf(base, sizeof base, "%s", strcmp(spec, "auto") == 0 ? "cpu" : spec);
    char *threads = strstr(base, ":threads=");
    if (threads)
        *threads = 0;
    static const int counts[] = {1, 2, 3, 5};
    for (int k = 0; k < 4; k++) {
        char one[64];
        snprintf(one, sizeof one, "%s:threads=%d", base, counts[k]);
        add_device(e, one);
    }
    e->same_level = e->count;
    static const char *const levels[] = {"cpu:baseline:threads=2", "cpu:avx2:threads=2", "cpu:avx512:threads=2"};
    for (int k = 0; k < 3; k++)
        add_device(e, levels[k]);
}

typedef struct inputs {
    const layout *l;
    const void *x, *y;
    void *index;
    size_t index_bytes, bytes, out_bytes;
} inputs;

/* Runs on one device, with its own alignment; the result is in its 'out', fetched. */
static bool run_on(ensemble *e, int d, const char *name, const tally_desc *desc, const inputs *in, uint64_t salt) {
    checker *c = &e->part[d];
    uint64_t state = salt;
    tally_plan *plan;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = in->l->shape;
    guarded_place(&c->x, c->device, in->x, in->bytes, random_below(&state, 64));
    args.x = guarded_address(&c->x);
    if (in->y) {
        guarded_place(&c->y, c->device, in->y, in->bytes, random_below(&state, 64));
        args.y = guarded_address(&c->y);
    }
    if (in->index) {
        guarded_place(&c->index, c->device, in->index, in->index_bytes, 0);
        *(desc->grouping == TALLY_KEYS     ? &args.keys
          : desc->grouping == TALLY_LABELS ? &args.labels
                                           : &args.offsets) = guarded_address(&c->index);
    }
    guarded_place(&c->out, c->device, NULL, in->out_bytes, random_below(&state, 64));
    args.out = guarded_address(&c->out);
    args.out_bytes = in->out_bytes;
    tally_status status = tally_plan_create(c->device, desc, &plan);
    if (status == TALLY_OK) {
        status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
        tally_plan_destroy(plan);
    }
    guarded_fetch(&c->out);
    e->c->cases++;
    e->c->elements += in->l->elements;
    if (status != TALLY_OK)
        checker_fail(e->c, "%s %s on %s: %s", name, in->l->name, e->spec[d], tally_last_error());
    return status == TALLY_OK;
}

static void compare_devices(ensemble *e, const char *name, const tally_desc *desc, const inputs *in, pattern p) {
    bool rounds_once = desc->mode == TALLY_EXACT || !is_float(desc->in);
    bool levels_may_differ = !rounds_once || desc->op == TALLY_VAR || desc->op == TALLY_STD ||
                             desc->op == TALLY_SKEWNESS || desc->op == TALLY_KURTOSIS || desc->op == TALLY_LOGSUMEXP ||
                             desc->op == TALLY_MEAN || desc->op == TALLY_NORM2;
    if (desc->mode == TALLY_EXACT)
        levels_may_differ = false;
    int count = levels_may_differ ? e->same_level : e->count;
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int d = 0; d < count; d++) {
            if ((repeat && d > 1) || !run_on(e, d, name, desc, in, (uint64_t)(repeat * DEVICES + d)))
                continue;
            if (d == 0 && repeat == 0)
                continue;
            /* Device 0 is run first; its first result is kept in the common checker. */
            const unsigned char *first = e->c->keys_out.sent, *now = guarded_found(&e->part[d].out);
            if (memcmp(first, now, in->out_bytes) != 0) {
                size_t at = 0;
                while (first[at] == now[at])
                    at++;
                checker_fail(e->c, "%s %s %s: bits differ at byte %zu of the output between %s and %s, run %d", name,
                             in->l->name, pattern_name(p), at, e->spec[0], e->spec[d], repeat);
                return;
            }
        }
}

static bool visit(void *context, const combination *what) {
    ensemble *e = context;
    /* Half-width floats share f32's path after widening; one integer type stands for all. */
    if (what->in != TALLY_F32 && what->in != TALLY_F64 && what->in != TALLY_F16 && what->in != TALLY_I32)
        return true;
    if (what->in == TALLY_I32 && what->mode == TALLY_EXACT && what->op != TALLY_MEAN && what->op != TALLY_NORM2)
        return true;
    char name[COMBINATION_NAME_BYTES];
    combination_name(what, name);
    if (!is_chosen(e->o, name))
        return true;
    if (e->o->quick && case_seed(e->o, name, 2000) % 16)
        return true;
    tally_desc desc = combination_desc(what), described = TALLY_DESC_INIT;
    if (what->grouping == TALLY_LABELS)
        desc.flags |= TALLY_SKIP_BAD_LABELS;
    size_t per_result;
    tally_plan *plan;
    if (tally_plan_create(e->part[0].device, &desc, &plan) != TALLY_OK)
        return true;
    tally_plan_describe(plan, &described, &per_result);
    tally_plan_destroy(plan);
    size_t last = layout_count(what->grouping, AMOUNT_CORE) - 1;
    int turns = e->o->quick ? 1 : 2;
    for (int turn = 0; turn < turns; turn++) {
        uint64_t seed = case_seed(e->o, name, 5000 + (uint64_t)turn);
        pattern p = what->mode != TALLY_EXACT ? what->op == TALLY_PROD ? NEAR_ONE : UNIFORM
                    : !is_extremum(what->op)  ? WIDE
                    : seed % 2                ? SIGNED_ZEROS
                                              : ODD_NANS;
        layout l;
        /* The large ones, where several threads take part. */
        layout_make(&l, what->grouping, AMOUNT_CORE, last - (size_t)turn, seed);
        size_t size = size_of(what->in), results = what->form == TALLY_REDUCE ? l.groups : l.elements;
        inputs in = {.l = &l, .bytes = l.elements * size, .out_bytes = results * per_result * size_of(described.out)};
        void *run_keys = NULL;
        in.x = data_slice(what->in, p, seed, l.elements);
        if (what->op == TALLY_DOT)
            in.y = data_slice(what->in, p, seed + 1, l.elements);
        if (what->grouping == TALLY_SEGMENTS) {
            layout_offsets(&l, TALLY_I64, &in.index, &in.index_bytes);
        } else if (what->grouping == TALLY_KEYS) {
            layout_key_values(&l, TALLY_I64, seed, &in.index, &run_keys);
            in.index_bytes = l.elements * 8;
        } else if (what->grouping == TALLY_LABELS) {
            layout_label_values(&l, TALLY_I64, seed, &in.index);
            in.index_bytes = l.elements * 8;
        }
        bool has_value = !l.has_empty || what->form != TALLY_REDUCE || reference_has_value_of_nothing(what->op);
        if (has_value && run_on(e, 0, name, &desc, &in, 99)) {
            guarded_place(&e->c->keys_out, e->c->device, NULL, in.out_bytes, 0);
            memcpy(e->c->keys_out.sent, guarded_found(&e->part[0].out), in.out_bytes);
            compare_devices(e, name, &desc, &in, p);
        }
        free(in.index);
        free(run_keys);
        layout_release(&l);
    }
    return true;
}

void same_bits(checker *c, const options *o) {
    ensemble e = {.c = c, .o = o};
    open_all(&e);
    if (e.count)
        each_main_combination(visit, &e);
    for (int d = 0; d < e.count; d++) {
        tally_device *device = e.part[d].device;
        checker_release(&e.part[d]);
        tally_close(device);
    }
}
