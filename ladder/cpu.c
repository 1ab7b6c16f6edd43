/* cpu.c: the back end of families that run on the CPU. Steps are C files that the build compiles for every type and
 * instruction set (cpu/level.c). This file uses the instruction set of the library's device, so that --device cpu:avx2
 * forces both.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cpu/step.h"

/* Made by ladder/CMakeLists.txt: the tables of all types and instruction sets that were built, the widest last. */
extern const ladder_cpu_level *const ladder_cpu_levels[];
extern const size_t ladder_cpu_level_count;

typedef struct cpu_state {
    const ladder_cpu_level *level;
    ladder_cpu_function *function; /* of the prepared step; NULL: the plan */
    tally_plan *plan;
    tally_args args;
    void *out;
    size_t out_bytes;
} cpu_state;

/* --------------------------------------------------------------------------------------------- the device ----- */

static const ladder_cpu_level *find_level(const ladder_work *w) {
    const ladder_cpu_level *found = NULL;
    for (size_t i = 0; i < ladder_cpu_level_count; i++) {
        const ladder_cpu_level *level = ladder_cpu_levels[i];
        const bool named = strncmp(w->info.detail, level->level, strlen(level->level)) == 0;
        if (level->dtype == w->dtype && (named || !found))
            found = level;
    }
    return found;
}

static int cpu_open(ladder_work *w, const char *device, fault *f) {
    cpu_state *s = calloc(1, sizeof *s);
    if (!s)
        return fault_data(f, "out of memory");
    w->state = s;
    w->info.struct_size = sizeof w->info;
    if (strncmp(device, "cpu", 3) != 0)
        return fault_usage(f, "family '%s' runs on the CPU: --device cpu, not %.40s", w->family->name, device);
    if (tally_open(device, &w->device) != TALLY_OK || tally_device_describe(w->device, &w->info) != TALLY_OK)
        return fault_data(f, "%s", tally_last_error());
    s->level = find_level(w);
    if (!s->level)
        return fault_data(f, "the steps of %s were not built for this machine", tally_dtype_name(w->dtype));
    return 0;
}

static void forget_step(cpu_state *s) {
    tally_plan_destroy(s->plan);
    s->plan = NULL;
    s->function = NULL;
}

static void cpu_close(ladder_work *w) {
    cpu_state *s = w->state;
    if (s) {
        forget_step(s);
        free(s->out);
        free(s);
    }
    tally_close(w->device);
    w->state = NULL;
    w->device = NULL;
}

static int cpu_load(ladder_work *w, fault *f) {
    cpu_state *s = w->state;
    const size_t bytes = ((size_t)w->n * 4 + 64) / 64 * 64 + 64;
    if (bytes <= s->out_bytes)
        return 0;
    free(s->out);
    s->out = aligned_alloc(64, bytes);
    s->out_bytes = s->out ? bytes : 0;
    if (!s->out)
        return fault_data(f, "not enough memory for the results");
    memset(s->out, 0, bytes); /* so that pages exist when the clock starts */
    return 0;
}

/* ------------------------------------------------------------------------------------------------ a step ----- */

static int cpu_prepare(ladder_work *w, const ladder_step *step, fault *f) {
    cpu_state *s = w->state;
    const size_t stem = strcspn(step->file, ".");
    forget_step(s);
    w->step = step;
    w->facts = (ladder_facts){.launches = 1, .blocks = bench_team_threads(), .block = 1};
    if (strcmp(step->rule, "library") == 0)
        return ladder_plan(w, &s->plan, &s->args, f);
    for (size_t i = 0; i < s->level->count; i++) {
        const ladder_cpu_entry *entry = &s->level->entries[i];
        if (strlen(entry->name) != stem || strncmp(entry->name, step->file, stem) != 0)
            continue;
        s->function = entry->function;
        if (strcmp(step->rule, "one") == 0)
            w->facts.blocks = 1;
        return 0;
    }
    return fault_data(f, "steps of the CPU are built into the program: '%s' is not", step->file);
}

static int cpu_run(ladder_work *w, double *seconds, fault *f) {
    cpu_state *s = w->state;
    if (s->function) {
        const double start = bench_now();
        s->function(w->host[w->data], (size_t)w->n, s->out);
        *seconds = bench_now() - start;
        return 0;
    }
    s->args.x = w->host[w->data];
    s->args.out = s->out;
    const double start = bench_now();
    if (tally_run(s->plan, &s->args, TALLY_SYNCHRONOUS) != TALLY_OK)
        return fault_data(f, "%s", tally_last_error());
    *seconds = bench_now() - start;
    return 0;
}

static int cpu_fetch(ladder_work *w, void *out, fault *f) {
    const cpu_state *s = w->state;
    (void)f;
    memcpy(out, s->out, ladder_out_count(w) * 4);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- roofs ----- */

static int cpu_roof(ladder_work *w, unsigned runs, double *seconds, fault *f) {
    const cpu_state *s = w->state;
    const bench_span in = {w->host[DATA_GENERAL], (size_t)w->n * 4}, out = {s->out, (size_t)w->n * 4};
    bench_roof roof;
    (void)f;
    bench_roof_of(&in, 1, &out, w->form == TALLY_REDUCE ? 0 : 1, &roof);
    *seconds = 0;
    for (unsigned run = 0; run < runs; run++)
        for (size_t way = 0; way < bench_roof_ways(&roof); way++) {
            bench_roof_seconds(&roof, way, 1); /* warms the caches, as a step's first run does */
            const double now = bench_roof_seconds(&roof, way, 1);
            if (*seconds == 0 || now < *seconds)
                *seconds = now;
        }
    return 0;
}

static int cpu_peak(ladder_work *w, double *additions, fault *f) {
    const cpu_state *s = w->state;
    (void)f;
    *additions = s->level->peak();
    return 0;
}

static const char *const rules[] = {"one", "threads", NULL};

const ladder_backend ladder_cpu = {
    .name = "cpu",
    .device = "cpu",
    .rules = rules,
    .suffix = ".c",
    .best = true,
    .workers = "threads",
    .roof_note = "the best plain loop over the same bytes in this run",
    .open = cpu_open,
    .close = cpu_close,
    .load = cpu_load,
    .prepare = cpu_prepare,
    .run = cpu_run,
    .fetch = cpu_fetch,
    .roof = cpu_roof,
    .peak = cpu_peak,
};
