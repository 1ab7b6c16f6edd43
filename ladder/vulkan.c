/* vulkan.c: the back end of families that run on Vulkan. Steps are GLSL that the build compiles after the vocabulary
 * (vulkan/vocabulary.glsl). The launch rules are
 *
 *     grid        a thread for every 'items' elements; workgroups add to one word, which starts at 0
 *     recursive   workgroups write one sum each, and the shader is applied to the sums until one is left
 *     library     the library's plan, recorded into the same command buffer
 *
 * The device's clock times all that a call records.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <stdlib.h>
#include <string.h>

#include "vulkan/kernel.h"
#include "vulkan_modules.h"

enum { ROOF_GROUPS_MOST = 1 << 15, PEAK_GROUPS = 4096, PEAK_ADDITIONS = 16 };

typedef struct vulkan_state {
    tally_vulkan_recording *recording;
    tally_vulkan_facts facts;
    void *x[DATA_COUNT], *sums[2], *result; /* 'result': of the last run */
    tally_vulkan_program *program, *read_all, *add_all;
    tally_plan *plan;
    tally_args args;
} vulkan_state;

static int failed(fault *f) {
    return fault_data(f, "%s", tally_last_error());
}

static uint64_t address(const void *pointer) {
    return (uint64_t)(uintptr_t)pointer;
}

/* ------------------------------------------------------------------------------------- device and memory ----- */

const ladder_vulkan_module *ladder_vulkan_module_of(const char *file) {
    const size_t stem = strcspn(file, ".");
    for (size_t i = 0; i < ladder_vulkan_module_count; i++) {
        const ladder_vulkan_module *module = &ladder_vulkan_modules[i];
        if (strlen(module->name) == stem && strncmp(module->name, file, stem) == 0)
            return module;
    }
    return NULL;
}

static int make_program(ladder_work *w, const char *file, unsigned block, tally_vulkan_program **program, fault *f) {
    const ladder_vulkan_module *module = ladder_vulkan_module_of(file);
    if (!module)
        return fault_data(f, "steps on Vulkan are built into the program: '%s' is not", file);
    return tally_vulkan_program_make(w->device, module->words, module->bytes, block, program) == TALLY_OK ? 0
                                                                                                          : failed(f);
}

/* A module names the capabilities that it needs in its first instructions, after five words of header. */
static bool adds_floats(const ladder_vulkan_module *module) {
    enum { HEAD = 5, OP_CAPABILITY = 17, ATOMIC_FLOAT_32_ADD = 6033 };
    const uint32_t *at = module->words + HEAD, *end = module->words + module->bytes / sizeof *at;
    for (; at < end && (*at & 0xffff) == OP_CAPABILITY; at += *at >> 16)
        if (at[1] == ATOMIC_FLOAT_32_ADD)
            return true;
    return false;
}

static const char *vulkan_lacks(const ladder_work *w, const ladder_step *step) {
    const vulkan_state *s = w->state;
    const ladder_vulkan_module *module = ladder_vulkan_module_of(step->file);
    return module && adds_floats(module) && !s->facts.adds_floats
               ? "this device adds no floats atomically (VK_EXT_shader_atomic_float)"
               : NULL;
}

static int vulkan_open(ladder_work *w, const char *device, fault *f) {
    vulkan_state *s = calloc(1, sizeof *s);
    if (!s)
        return fault_data(f, "out of memory");
    w->state = s;
    w->info.struct_size = sizeof w->info;
    if (strncmp(device, "vulkan", 6) != 0)
        return fault_usage(f, "family '%s' runs on Vulkan: --device vulkan:0, not %.40s", w->family->name, device);
    if (tally_open(device, &w->device) != TALLY_OK || tally_device_describe(w->device, &w->info) != TALLY_OK ||
        tally_vulkan_facts_of(w->device, &s->facts) != TALLY_OK ||
        tally_vulkan_recording_create(w->device, &s->recording) != TALLY_OK)
        return failed(f);
    w->software = s->facts.is_software;
    return 0;
}

static void forget_step(ladder_work *w) {
    vulkan_state *s = w->state;
    tally_vulkan_program_destroy(s->program);
    tally_free(w->device, s->args.workspace);
    tally_plan_destroy(s->plan);
    s->args.workspace = NULL;
    s->plan = NULL;
    s->program = NULL;
}

static void free_arrays(ladder_work *w) {
    vulkan_state *s = w->state;
    if (s->x[DATA_GENERAL] != s->x[DATA_EXACT])
        tally_free(w->device, s->x[DATA_GENERAL]);
    tally_free(w->device, s->x[DATA_EXACT]);
    tally_free(w->device, s->sums[0]);
    tally_free(w->device, s->sums[1]);
    s->x[DATA_EXACT] = s->x[DATA_GENERAL] = s->sums[0] = s->sums[1] = NULL;
}

static void vulkan_close(ladder_work *w) {
    vulkan_state *s = w->state;
    if (s && w->device) {
        forget_step(w);
        free_arrays(w);
        tally_vulkan_program_destroy(s->read_all);
        tally_vulkan_program_destroy(s->add_all);
        tally_vulkan_recording_destroy(s->recording);
    }
    tally_close(w->device);
    free(s);
    w->state = NULL;
    w->device = NULL;
}

static int vulkan_load(ladder_work *w, fault *f) {
    vulkan_state *s = w->state;
    const size_t bytes = (size_t)w->n * 4;
    const bool two = w->host[DATA_GENERAL] != w->host[DATA_EXACT];
    if (w->n > UINT32_MAX - (1u << 20))
        return fault_data(f, "the steps on Vulkan count in 32 bits: --n up to 2^31");
    free_arrays(w);
    tally_status status = tally_alloc(w->device, bytes + 16, &s->x[DATA_EXACT]);
    if (status == TALLY_OK && two)
        status = tally_alloc(w->device, bytes + 16, &s->x[DATA_GENERAL]);
    if (!two)
        s->x[DATA_GENERAL] = s->x[DATA_EXACT];
    for (int k = 0; status == TALLY_OK && k < 2; k++)
        status = tally_alloc(w->device, bytes / 32 + 4096, &s->sums[k]);
    for (int data = 0; status == TALLY_OK && bytes && data < DATA_COUNT; data++)
        status = tally_copy(w->device, s->x[data], w->host[data], bytes);
    int code = status == TALLY_OK ? 0 : failed(f);
    if (code == 0 && !s->read_all)
        code = make_program(w, "read_all", LADDER_ROOF_BLOCK, &s->read_all, f);
    if (code == 0 && !s->add_all)
        code = make_program(w, "add_all", LADDER_ROOF_BLOCK, &s->add_all, f);
    return code;
}

/* ------------------------------------------------------------------------------------------------- a step ----- */

static uint64_t groups_for(const ladder_step *step, uint64_t n) {
    const uint64_t part = (uint64_t)step->block * step->items;
    return n <= part ? 1 : n / part + (n % part != 0);
}

static int vulkan_prepare(ladder_work *w, const ladder_step *step, fault *f) {
    vulkan_state *s = w->state;
    forget_step(w);
    w->step = step;
    w->facts = (ladder_facts){.blocks = groups_for(step, w->n), .block = step->block};
    if (strcmp(step->rule, "library") == 0) {
        const int code = ladder_plan(w, &s->plan, &s->args, f);
        if (code != 0 || !s->args.workspace_bytes)
            return code;
        return tally_alloc(w->device, s->args.workspace_bytes, &s->args.workspace) == TALLY_OK ? 0 : failed(f);
    }
    return make_program(w, step->file, step->block, &s->program, f);
}

static tally_status dispatch(ladder_work *w, const void *x, void *sums, uint64_t n) {
    vulkan_state *s = w->state;
    const uint64_t groups = groups_for(w->step, n);
    const ladder_vulkan_arguments a = {address(x), address(sums), (uint32_t)n, (uint32_t)groups};
    w->facts.launches++;
    s->result = sums;
    return tally_vulkan_recording_dispatch(s->recording, s->program, &a, sizeof a, groups);
}

/* Makes passes until one sum is left; the sums that a pass leaves determine the number of passes. */
static tally_status record_passes(ladder_work *w, const void *x) {
    vulkan_state *s = w->state;
    uint64_t n = w->n;
    for (int pass = 0;; pass++) {
        const tally_status status = dispatch(w, x, s->sums[pass % 2], n);
        x = s->sums[pass % 2];
        n = groups_for(w->step, n);
        if (status != TALLY_OK || n == 1)
            return status;
    }
}

static tally_status record(ladder_work *w) {
    vulkan_state *s = w->state;
    w->facts.launches = 0;
    if (s->plan) {
        s->args.x = s->x[w->data];
        s->args.out = s->result = s->sums[0];
        return tally_run(s->plan, &s->args, tally_vulkan_recording_stream(s->recording));
    }
    if (strcmp(w->step->rule, "recursive") == 0)
        return record_passes(w, s->x[w->data]);
    const tally_status status = tally_vulkan_recording_fill(s->recording, s->sums[0], 0, 1);
    return status == TALLY_OK ? dispatch(w, s->x[w->data], s->sums[0], w->n) : status;
}

static int vulkan_run(ladder_work *w, double *seconds, fault *f) {
    vulkan_state *s = w->state;
    tally_status status = tally_vulkan_recording_begin(s->recording);
    if (status == TALLY_OK)
        status = record(w);
    if (status == TALLY_OK)
        status = tally_vulkan_recording_run(s->recording, seconds);
    return status == TALLY_OK ? 0 : failed(f);
}

static int vulkan_fetch(ladder_work *w, void *out, fault *f) {
    vulkan_state *s = w->state;
    return tally_copy(w->device, out, s->result, 4) == TALLY_OK ? 0 : failed(f);
}

/* -------------------------------------------------------------------------------------------------- roofs ----- */

static tally_status time_program(ladder_work *w, const tally_vulkan_program *program, const ladder_vulkan_arguments *a,
                                 unsigned runs, double *seconds) {
    vulkan_state *s = w->state;
    tally_status status = TALLY_OK;
    *seconds = 0;
    for (unsigned run = 0; status == TALLY_OK && run < runs; run++) {
        double now = 0;
        status = tally_vulkan_recording_begin(s->recording);
        if (status == TALLY_OK)
            status = tally_vulkan_recording_dispatch(s->recording, program, a, sizeof *a, a->groups);
        if (status == TALLY_OK)
            status = tally_vulkan_recording_run(s->recording, &now);
        if (*seconds == 0 || now < *seconds)
            *seconds = now;
    }
    return status;
}

/* The best of several grids, from a few workgroups with long strides to one for each step. */
static int vulkan_roof(ladder_work *w, unsigned runs, double *seconds, fault *f) {
    vulkan_state *s = w->state;
    const uint64_t count = (w->n + 3) / 4, whole = count / LADDER_ROOF_STEP + 1;
    tally_status status = TALLY_OK;
    *seconds = 0;
    for (uint64_t groups = 64; status == TALLY_OK && groups <= ROOF_GROUPS_MOST; groups *= 2) {
        const ladder_vulkan_arguments a = {.x = address(s->x[DATA_GENERAL]),
                                           .sums = address(s->sums[0]),
                                           .n = (uint32_t)count,
                                           .groups = (uint32_t)(groups < whole ? groups : whole)};
        double now;
        status = time_program(w, s->read_all, &a, runs, &now);
        if (*seconds == 0 || now < *seconds)
            *seconds = now;
        if (groups >= whole)
            break;
    }
    return status == TALLY_OK ? 0 : failed(f);
}

static int vulkan_peak(ladder_work *w, double *additions, fault *f) {
    vulkan_state *s = w->state;
    const ladder_vulkan_arguments a = {
        .sums = address(s->sums[0]), .n = w->software ? 16 : 2048, .groups = PEAK_GROUPS};
    double seconds = 0;
    const tally_status status = time_program(w, s->add_all, &a, 5, &seconds);
    *additions = (double)a.n * PEAK_ADDITIONS * PEAK_GROUPS * LADDER_ROOF_BLOCK / seconds;
    return status == TALLY_OK ? 0 : failed(f);
}

static const char *const rule_names[] = {"grid", "recursive", NULL};

const ladder_backend ladder_vulkan = {
    .name = "vulkan",
    .device = "vulkan:0",
    .rules = rule_names,
    .suffix = ".comp",
    .best = false,
    .workers = "workgroups",
    .roof_note = "the best plain shader over the same bytes in this run",
    .open = vulkan_open,
    .close = vulkan_close,
    .load = vulkan_load,
    .lacks = vulkan_lacks,
    .prepare = vulkan_prepare,
    .run = vulkan_run,
    .fetch = vulkan_fetch,
    .roof = vulkan_roof,
    .peak = vulkan_peak,
};
