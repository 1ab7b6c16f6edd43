/* cuda.c: the back end of families that run on an NVIDIA GPU. A step's text is put behind the vocabulary
 * (cuda/vocabulary.cu), compiled for the device, and launched as its rule says:
 *
 *   grid          reduce(x, out, n), a thread for every 'items' elements; 'out' starts from the identity
 *   resident      the same with no more blocks than the device holds at once
 *   block-sums    the grid's, but each block has a word of 'out' for its sum, and the host adds them
 *   global-tree   reduce(x, sums, n) in a copy of the input that it destroys; a sum a block, added on the host
 *   three-phase   scan_parts(x, out, totals, n), scan_totals(totals, parts) in one block, add_totals(out, totals, n);
 *                 a part is what a block takes at a time, and at most 128 blocks stride over them
 *   recursive     scan_parts, the totals in the same way, add_totals
 *   reduce-first  sum_parts(x, totals, n), scan_sums(totals, parts), scan_from(x, totals, out, n)
 *   look-back     scan(x, out, state, n), its state zeroed
 *   library       the library's plan
 *
 * The time is that of the device's clock around all that a call needs: clearing the output too, but not the copy that
 * a global tree destroys. Before each run other memory is read, so that the second-level cache holds nothing of the
 * input.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/kernel.h"
#include "cuda/compiler.h"

enum {
    MOST_SCAN_BLOCKS = 128,
    KERNELS = 3,
    LEVELS = 8, /* of a recursive scan: 1024^8 elements */
    TIMED_RUNS = 1000,
    ROOF_BLOCK = 512,
    PEAK_ROUNDS = 2048, /* of PEAK_ADDITIONS a thread, as in cuda/peak.cu */
    PEAK_ADDITIONS = 16
};

typedef struct cuda_state {
    tally_cuda_facts facts;
    tally_cuda_timer *timer;
    tally_stream stream;
    uint64_t n; /* that there is room for */
    void *x[DATA_COUNT], *out, *copy, *totals, *other;
    size_t totals_bytes, other_bytes;
    tally_cuda_kernel read_all, add_all;
    /* of the prepared step */
    tally_cuda_kernel kernel[KERNELS];
    tally_plan *plan;
    tally_args args;
} cuda_state;

static int failed(fault *f) {
    return fault_data(f, "%s", tally_last_error());
}

/* ------------------------------------------------------------------------------------------------ kernels ----- */

static const struct {
    const char *rule;
    const char *kernels[KERNELS];
} rules[] = {
    {"grid", {"reduce"}},
    {"resident", {"reduce"}},
    {"block-sums", {"reduce"}},
    {"global-tree", {"reduce"}},
    {"three-phase", {"scan_parts", "scan_totals", "add_totals"}},
    {"recursive", {"scan_parts", "add_totals"}},
    {"reduce-first", {"sum_parts", "scan_sums", "scan_from"}},
    {"look-back", {"scan"}},
};

static const char *const rule_names[] = {LADDER_CUDA_RULES, NULL};

typedef struct options {
    char text[6][40];
    const char *list[8];
    size_t count;
} options;

static void options_for(const ladder_step *step, tally_dtype dtype, tally_op op, options *o) {
    *o = (options){.list = {"--std=c++17", "--device-as-default-execution-space"}, .count = 2};
    snprintf(o->text[0], sizeof o->text[0], "-DVALUE=%s", dtype == TALLY_F32 ? "float" : "int");
    snprintf(o->text[1], sizeof o->text[1], "-DOP=OP_%s", op == TALLY_SUM ? "SUM" : op == TALLY_MAX ? "MAX" : "MIN");
    snprintf(o->text[2], sizeof o->text[2], "-DBLOCK=%u", step ? step->block : (unsigned)ROOF_BLOCK);
    snprintf(o->text[3], sizeof o->text[3], "-DC=%u", step && step->factor ? step->factor : 1u);
    snprintf(o->text[4], sizeof o->text[4], "-DBLOCK_SUMS=%d", step && strcmp(step->rule, "block-sums") == 0);
    snprintf(o->text[5], sizeof o->text[5], "-DKNOWN_BLOCK=%d", step && step->known_block);
    for (int i = 0; i < 6; i++)
        o->list[o->count++] = o->text[i];
}

/* The vocabulary, the family's common text, and the step. The compiler counts lines from the step's own first line. */
static int text_of(const ladder_family *family, const ladder_step *step, char **text, fault *f) {
    const char *vocabulary = ladder_text("cuda/vocabulary.cu");
    const char *folder = family->folder[0] ? family->folder : family->name;
    char *common = NULL, *source = NULL;
    int code = family->common[0] ? ladder_read(family, family->common, &common, f) : 0;
    if (code == 0)
        code = ladder_source(family, step, &source, f);
    if (code == 0) {
        const size_t bytes = strlen(vocabulary) + strlen(source) + (common ? strlen(common) : 0) + 2 * strlen(folder) +
                             strlen(family->common) + strlen(step->file) + 128;
        *text = malloc(bytes);
        if (*text)
            snprintf(*text, bytes, "#line 1 \"vocabulary.cu\"\n%s#line 1 \"%s/%s\"\n%s#line 1 \"%s/%s\"\n%s",
                     vocabulary, folder, family->common, common ? common : "", folder, step->file, source);
        else
            code = fault_data(f, "out of memory");
    }
    free(common);
    free(source);
    return code;
}

int ladder_cuda_code(const ladder_family *family, const ladder_step *step, tally_dtype dtype, tally_op op,
                     int architecture, void **code, size_t *bytes, char **log, fault *f) {
    tally_image image = {0};
    options o;
    char *text;
    const int failure = text_of(family, step, &text, f);
    if (failure != 0)
        return failure;
    options_for(step, dtype, op, &o);
    const tally_status status = tally_cuda_compile(text, step->file, o.list, o.count, architecture, &image, log);
    free(text);
    if (status != TALLY_OK)
        return fault_data(f, "step '%s': %s", step->name, tally_last_error());
    *code = image.bytes;
    *bytes = image.size;
    return 0;
}

int ladder_cuda_architecture(const ladder_work *w) {
    const cuda_state *s = w->state;
    return s->facts.architecture;
}

static int make_kernels(ladder_work *w, const ladder_step *step, const char *const *names, fault *f) {
    cuda_state *s = w->state;
    options o;
    char *text;
    int code = text_of(w->family, step, &text, f);
    if (code != 0)
        return code;
    options_for(step, w->dtype, w->op, &o);
    for (int k = 0; code == 0 && k < KERNELS && names[k]; k++)
        if (tally_cuda_kernel_make(w->device, text, o.list, o.count, names[k], step->block, &s->kernel[k]) != TALLY_OK)
            code = fault_data(f, "ladder family '%s', line %d, step '%s': %s", w->family->name, step->line, step->name,
                              tally_last_error());
    free(text);
    return code;
}

/* A kernel of a text that no step is in. */
static int make_kernel(ladder_work *w, const char *text, const char *name, tally_cuda_kernel *kernel, fault *f) {
    const char *vocabulary = ladder_text("cuda/vocabulary.cu"), *own = ladder_text(text);
    const size_t bytes = strlen(vocabulary) + strlen(own) + 1;
    char *source = malloc(bytes);
    options o;
    if (!source)
        return fault_data(f, "out of memory");
    snprintf(source, bytes, "%s%s", vocabulary, own);
    options_for(NULL, w->dtype, w->op, &o);
    const tally_status status = tally_cuda_kernel_make(w->device, source, o.list, o.count, name, ROOF_BLOCK, kernel);
    free(source);
    return status == TALLY_OK ? 0 : failed(f);
}

static int make_roof(ladder_work *w, fault *f) {
    cuda_state *s = w->state;
    const int code = make_kernel(w, "cuda/roof.cu", "read_all", &s->read_all, f);
    return code == 0 ? make_kernel(w, "cuda/peak.cu", "add_all", &s->add_all, f) : code;
}

/* ------------------------------------------------------------------------------------- device and memory ----- */

static int cuda_open(ladder_work *w, const char *device, fault *f) {
    cuda_state *s = calloc(1, sizeof *s);
    if (!s)
        return fault_data(f, "out of memory");
    w->state = s;
    w->info.struct_size = sizeof w->info;
    if (strncmp(device, "cuda", 4) != 0)
        return fault_usage(f, "family '%s' runs on CUDA: --device cuda:0, not %.40s", w->family->name, device);
    if (tally_open(device, &w->device) != TALLY_OK || tally_device_describe(w->device, &w->info) != TALLY_OK ||
        tally_cuda_facts_of(w->device, &s->facts) != TALLY_OK ||
        tally_cuda_stream_of(w->device, &s->stream) != TALLY_OK ||
        tally_cuda_timer_create(w->device, &s->timer) != TALLY_OK)
        return failed(f);
    return 0;
}

static void forget_step(ladder_work *w) {
    cuda_state *s = w->state;
    tally_free(w->device, s->args.workspace);
    tally_plan_destroy(s->plan);
    s->args.workspace = NULL;
    s->plan = NULL;
}

static void free_arrays(ladder_work *w) {
    cuda_state *s = w->state;
    if (s->x[DATA_GENERAL] != s->x[DATA_EXACT])
        tally_free(w->device, s->x[DATA_GENERAL]);
    tally_free(w->device, s->x[DATA_EXACT]);
    tally_free(w->device, s->out);
    tally_free(w->device, s->copy);
    tally_free(w->device, s->totals);
    s->x[DATA_EXACT] = s->x[DATA_GENERAL] = s->out = s->copy = s->totals = NULL;
    s->n = 0;
}

static void cuda_close(ladder_work *w) {
    cuda_state *s = w->state;
    if (s && w->device) {
        forget_step(w);
        free_arrays(w);
        tally_free(w->device, s->other);
        tally_cuda_timer_destroy(s->timer);
    }
    tally_close(w->device);
    free(s);
    w->state = NULL;
    w->device = NULL;
}

static bool family_uses(const ladder_work *w, const char *rule) {
    for (size_t i = 0; i < w->family->step_count; i++)
        if (strcmp(w->family->steps[i].rule, rule) == 0)
            return true;
    return false;
}

/* Room for a total of 8 bytes for every part of any step, and for every level above them. */
static size_t totals_bytes(const ladder_work *w) {
    uint64_t least = UINT64_C(1) << 40;
    for (size_t i = 0; i < w->family->step_count; i++) {
        const ladder_step *step = &w->family->steps[i];
        const uint64_t part = (uint64_t)step->block * step->items;
        least = part < least ? part : least;
    }
    return (size_t)(w->n / least + 1) * 8 * 2 + 4096;
}

/* The kernel reads vectors of 16 bytes to the end of the array and past it. */
static size_t array_bytes(const ladder_work *w) {
    return (size_t)w->n * 4 + 64;
}

static int allocate(ladder_work *w, fault *f) {
    cuda_state *s = w->state;
    const bool scans = w->form != TALLY_REDUCE, two = w->host[DATA_GENERAL] != w->host[DATA_EXACT];
    free_arrays(w);
    s->totals_bytes = totals_bytes(w);
    tally_status status = tally_alloc(w->device, array_bytes(w), &s->x[DATA_EXACT]);
    if (status == TALLY_OK && two)
        status = tally_alloc(w->device, array_bytes(w), &s->x[DATA_GENERAL]);
    if (status == TALLY_OK)
        status = tally_alloc(w->device, scans ? array_bytes(w) : s->totals_bytes, &s->out);
    if (status == TALLY_OK && family_uses(w, "global-tree"))
        status = tally_alloc(w->device, array_bytes(w), &s->copy);
    if (status == TALLY_OK)
        status = tally_alloc(w->device, s->totals_bytes, &s->totals);
    if (!two)
        s->x[DATA_GENERAL] = s->x[DATA_EXACT];
    s->n = w->n;
    return status == TALLY_OK ? 0 : failed(f);
}

static int cuda_load(ladder_work *w, fault *f) {
    cuda_state *s = w->state;
    int code = 0;
    if (!s->other && !w->bare) {
        s->other_bytes = s->facts.l2_bytes * 2 / 16 * 16;
        if (tally_alloc(w->device, s->other_bytes, &s->other) != TALLY_OK)
            return failed(f);
        code = make_roof(w, f);
    }
    if (code == 0)
        code = allocate(w, f);
    for (int data = 0; code == 0 && data < DATA_COUNT; data++)
        if (w->n && tally_copy(w->device, s->x[data], w->host[data], (size_t)w->n * 4) != TALLY_OK)
            code = failed(f);
    return code;
}

/* ------------------------------------------------------------------------------------------------- a step ----- */

static uint64_t parts_of(const ladder_step *step, uint64_t n) {
    const uint64_t part = (uint64_t)step->block * step->items * (step->factor ? step->factor : 1);
    return n / part + (n % part != 0);
}

static uint64_t at_least_one(uint64_t blocks) {
    return blocks ? blocks : 1;
}

static uint64_t at_most(uint64_t blocks, uint64_t most) {
    return at_least_one(blocks < most ? blocks : most);
}

static bool has_rule(const ladder_step *step, const char *rule) {
    return strcmp(step->rule, rule) == 0;
}

static uint64_t grid_of(const ladder_work *w, uint64_t n) {
    const cuda_state *s = w->state;
    const uint64_t parts = parts_of(w->step, n);
    if (has_rule(w->step, "three-phase") || has_rule(w->step, "recursive"))
        return at_most(parts, MOST_SCAN_BLOCKS);
    if (has_rule(w->step, "resident") || has_rule(w->step, "reduce-first"))
        return at_most(parts, s->kernel[0].resident);
    return at_least_one(parts);
}

static int cuda_prepare(ladder_work *w, const ladder_step *step, fault *f) {
    cuda_state *s = w->state;
    int code = 0;
    forget_step(w);
    w->step = step;
    w->facts = (ladder_facts){.launches = 0};
    if (has_rule(step, "library")) {
        code = ladder_plan(w, &s->plan, &s->args, f);
        if (code == 0 && tally_alloc(w->device, s->args.workspace_bytes, &s->args.workspace) != TALLY_OK)
            code = failed(f);
        return code;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (has_rule(step, rules[i].rule))
            code = make_kernels(w, step, rules[i].kernels, f);
    w->facts = (ladder_facts){.blocks = code == 0 ? grid_of(w, w->n) : 0,
                              .block = step->block,
                              .resident = s->kernel[0].resident,
                              .registers = s->kernel[0].registers,
                              .shared_bytes = s->kernel[0].shared_bytes};
    return code;
}

static tally_status launch(ladder_work *w, int kernel, uint64_t grid, void *a, void *b, void *c, uint64_t n) {
    cuda_state *s = w->state;
    void *parameters[] = {&a, &b, &c, &n}, *three[] = {&a, &b, &n}, *two[] = {&a, &n};
    w->facts.launches++;
    return tally_cuda_kernel_launch(w->device, &s->kernel[kernel], grid, c ? parameters : b ? three : two);
}

static tally_status run_three_phase(ladder_work *w, const void *x) {
    cuda_state *s = w->state;
    const uint64_t grid = grid_of(w, w->n);
    tally_status status = launch(w, 0, grid, (void *)x, s->out, s->totals, w->n);
    if (status == TALLY_OK)
        status = launch(w, 1, 1, s->totals, NULL, NULL, parts_of(w->step, w->n));
    return status == TALLY_OK ? launch(w, 2, grid, s->out, s->totals, NULL, w->n) : status;
}

static tally_status run_reduce_first(ladder_work *w, const void *x) {
    cuda_state *s = w->state;
    const uint64_t grid = grid_of(w, w->n);
    tally_status status = launch(w, 0, grid, (void *)x, s->totals, NULL, w->n);
    if (status == TALLY_OK)
        status = launch(w, 1, 1, s->totals, NULL, NULL, parts_of(w->step, w->n));
    return status == TALLY_OK ? launch(w, 2, grid, (void *)x, s->totals, s->out, w->n) : status;
}

/* On the way down scans the parts of each level; on the way up adds the level above. */
static tally_status run_recursive(ladder_work *w, const void *x) {
    cuda_state *s = w->state;
    const void *from[LEVELS] = {x};
    void *to[LEVELS] = {s->out}, *totals[LEVELS] = {s->totals};
    uint64_t size[LEVELS] = {w->n};
    tally_status status = TALLY_OK;
    int level = 0;
    for (;; level++) {
        status = launch(w, 0, grid_of(w, size[level]), (void *)from[level], to[level], totals[level], size[level]);
        size[level + 1] = parts_of(w->step, size[level]);
        if (status != TALLY_OK || size[level + 1] <= 1)
            break;
        from[level + 1] = to[level + 1] = totals[level];
        totals[level + 1] = (char *)totals[level] + size[level + 1] * 4;
    }
    while (status == TALLY_OK && level-- > 0)
        status = launch(w, 1, grid_of(w, size[level]), to[level], totals[level], NULL, size[level]);
    return status;
}

static uint32_t identity_of(const ladder_work *w) {
    const bool is_float = w->dtype == TALLY_F32;
    return w->op == TALLY_SUM   ? 0
           : w->op == TALLY_MAX ? (is_float ? 0xff800000u : 0x80000000u)
                                : (is_float ? 0x7f800000u : 0x7fffffffu);
}

/* Enqueues all that a call needs. */
static tally_status enqueue(ladder_work *w) {
    cuda_state *s = w->state;
    const void *x = s->x[w->data];
    tally_status status = TALLY_OK;
    w->facts.launches = 0;
    if (s->plan) {
        s->args.x = x;
        s->args.out = s->out;
        return tally_run(s->plan, &s->args, s->stream);
    }
    if (has_rule(w->step, "three-phase"))
        return run_three_phase(w, x);
    if (has_rule(w->step, "recursive"))
        return run_recursive(w, x);
    if (has_rule(w->step, "reduce-first"))
        return run_reduce_first(w, x);
    if (has_rule(w->step, "look-back")) {
        status = tally_cuda_set_words(w->device, s->totals, 0, 2 * (parts_of(w->step, w->n) + 1));
        return status == TALLY_OK ? launch(w, 0, w->facts.blocks, (void *)x, s->out, s->totals, w->n) : status;
    }
    if (has_rule(w->step, "global-tree"))
        return launch(w, 0, w->facts.blocks, s->copy, s->totals, NULL, w->n);
    if (has_rule(w->step, "block-sums"))
        return launch(w, 0, w->facts.blocks, (void *)x, s->totals, NULL, w->n);
    status = tally_cuda_set_words(w->device, s->out, identity_of(w), 1);
    return status == TALLY_OK ? launch(w, 0, w->facts.blocks, (void *)x, s->out, NULL, w->n) : status;
}

/* Reads other memory through the second-level cache. */
static tally_status forget_cache(ladder_work *w) {
    cuda_state *s = w->state;
    uint64_t vectors = s->other_bytes / 16;
    void *parameters[] = {&s->other, &s->totals, &vectors};
    return tally_cuda_kernel_launch(w->device, &s->read_all, s->read_all.resident, parameters);
}

static int cuda_run(ladder_work *w, double *seconds, fault *f) {
    cuda_state *s = w->state;
    tally_status status = TALLY_OK;
    *seconds = 0;
    if (has_rule(w->step, "global-tree"))
        status = tally_cuda_copy_later(w->device, s->copy, s->x[w->data], (size_t)w->n * 4);
    if (status == TALLY_OK && !w->bare)
        status = forget_cache(w);
    if (status == TALLY_OK)
        status = tally_cuda_timer_begin(s->timer);
    if (status == TALLY_OK)
        status = enqueue(w);
    if (status == TALLY_OK)
        status = tally_cuda_timer_end(s->timer);
    if (status == TALLY_OK)
        status = tally_cuda_timer_read(s->timer, seconds);
    return status == TALLY_OK ? 0 : failed(f);
}

static int finish_on_host(ladder_work *w, void *out, fault *f) {
    cuda_state *s = w->state;
    const size_t count = (size_t)w->facts.blocks;
    uint32_t *sums = malloc(count * sizeof *sums), integer = 0; /* which wraps, as the device's would */
    double total = 0;
    if (!sums)
        return fault_data(f, "out of memory");
    const tally_status status = tally_copy(w->device, sums, s->totals, count * sizeof *sums);
    for (size_t i = 0; status == TALLY_OK && i < count; i++) {
        float value;
        memcpy(&value, &sums[i], sizeof value);
        total += w->dtype == TALLY_F32 ? (double)value : 0;
        integer += sums[i];
    }
    const float rounded = (float)total;
    memcpy(out, w->dtype == TALLY_F32 ? (const void *)&rounded : &integer, 4);
    free(sums);
    return status == TALLY_OK ? 0 : failed(f);
}

static int cuda_fetch(ladder_work *w, void *out, fault *f) {
    cuda_state *s = w->state;
    if (has_rule(w->step, "global-tree") || has_rule(w->step, "block-sums"))
        return finish_on_host(w, out, f);
    const size_t bytes = ladder_out_count(w) * 4;
    return bytes == 0 || tally_copy(w->device, out, s->out, bytes) == TALLY_OK ? 0 : failed(f);
}

/* -------------------------------------------------------------------------------------------------- roofs ----- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* What is timed: a launch, or without a kernel the driver's copy of the input. */
typedef struct timed {
    const tally_cuda_kernel *kernel;
    uint64_t grid;
    void **parameters;
} timed;

static tally_status start_timed(ladder_work *w, const timed *t) {
    cuda_state *s = w->state;
    return t->kernel ? tally_cuda_kernel_launch(w->device, t->kernel, t->grid, t->parameters)
                     : tally_cuda_copy_later(w->device, s->out, s->x[DATA_GENERAL], (size_t)w->n * 4);
}

/* The median of runs over a cold cache. */
static tally_status time_runs(ladder_work *w, const timed *t, unsigned runs, double *seconds) {
    cuda_state *s = w->state;
    double all[TIMED_RUNS];
    tally_status status = TALLY_OK;
    for (unsigned run = 0; status == TALLY_OK && run < runs; run++) {
        status = forget_cache(w);
        if (status == TALLY_OK)
            status = tally_cuda_timer_begin(s->timer);
        if (status == TALLY_OK)
            status = start_timed(w, t);
        if (status == TALLY_OK)
            status = tally_cuda_timer_end(s->timer);
        if (status == TALLY_OK)
            status = tally_cuda_timer_read(s->timer, &all[run]);
    }
    qsort(all, runs, sizeof *all, by_size);
    *seconds = all[runs / 2];
    return status;
}

/* The roof of a reduction is reading with the best of several grids: as many blocks as fit, and several times as many.
 * That of a scan is the driver's copy. */
static int cuda_roof(ladder_work *w, unsigned runs, double *seconds, fault *f) {
    cuda_state *s = w->state;
    if (w->form != TALLY_REDUCE)
        return time_runs(w, &(timed){.kernel = NULL}, runs, seconds) == TALLY_OK ? 0 : failed(f);
    uint64_t vectors = (w->n * 4 + 15) / 16;
    void *parameters[] = {&s->x[DATA_GENERAL], &s->totals, &vectors};
    tally_status status = TALLY_OK;
    *seconds = 0;
    for (unsigned times = 1; status == TALLY_OK && times <= 16; times *= 2) {
        double now = 0;
        status = time_runs(w, &(timed){&s->read_all, s->read_all.resident * times, parameters}, runs, &now);
        if (*seconds == 0 || now < *seconds)
            *seconds = now;
    }
    return status == TALLY_OK ? 0 : failed(f);
}

static int cuda_peak(ladder_work *w, double *additions, fault *f) {
    cuda_state *s = w->state;
    const uint64_t grid = s->add_all.resident * 4;
    uint64_t rounds = PEAK_ROUNDS;
    void *parameters[] = {&s->totals, &rounds};
    double seconds = 0;
    const tally_status status = time_runs(w, &(timed){&s->add_all, grid, parameters}, 5, &seconds);
    *additions = (double)grid * ROOF_BLOCK * PEAK_ROUNDS * PEAK_ADDITIONS / seconds;
    return status == TALLY_OK ? 0 : failed(f);
}

const ladder_backend ladder_cuda = {
    .name = "cuda",
    .device = "cuda:0",
    .rules = rule_names,
    .suffix = ".cu",
    .best = false,
    .workers = "blocks",
    .roof_note = "the best plain kernel or copy of the same bytes in this run, second-level cache cold",
    .open = cuda_open,
    .close = cuda_close,
    .load = cuda_load,
    .prepare = cuda_prepare,
    .run = cuda_run,
    .fetch = cuda_fetch,
    .roof = cuda_roof,
    .peak = cuda_peak,
};
