/* run.c: see run.h. Each step is prepared, run once over data whose result no rounding changes, compared with the exact
 * result, and only then timed.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UPS = 2, ROOF_RUNS = 7 }; /* an odd number: it has a middle */

bool ladder_wanted(const char *steps, const ladder_step *step) {
    if (!steps)
        return true;
    for (const char *at = steps; *at; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        if ((length == strlen(step->name) && strncmp(at, step->name, length) == 0) ||
            (length == strlen(step->base) && strncmp(at, step->base, length) == 0))
            return true;
        at += length;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------- times ----- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* With a fixed clock, the roof takes the time of 100 GB/s, and the steps take less and less from first to last. */
static double fixed_seconds(const ladder_work *w) {
    const double roof = ladder_bytes(w, w->form) / 100e9;
    return roof * (1 + 8.0 / (double)(w->step - w->family->steps + 1));
}

static int time_run(ladder_work *w, double *seconds, fault *f) {
    const int code = w->backend->run(w, seconds, f);
    if (ladder_clock_is_fixed())
        *seconds = fixed_seconds(w);
    return code;
}

/* The median of many runs of one step after the other. */
static int time_step(ladder_work *w, unsigned repeat, ladder_result *r, fault *f) {
    double seconds[LADDER_RUNS_MOST];
    int code = 0;
    for (unsigned run = 0; code == 0 && run < WARM_UPS; run++)
        code = w->backend->run(w, &seconds[0], f);
    for (unsigned run = 0; code == 0 && run < repeat; run++) {
        code = time_run(w, &seconds[run], f);
        r->total += seconds[run];
    }
    if (code != 0)
        return code;
    qsort(seconds, repeat, sizeof *seconds, by_size);
    r->runs = repeat;
    r->seconds = seconds[repeat / 2];
    return 0;
}

/* ------------------------------------------------------------------------------------------------- a step ----- */

/* Puts the steps' data where they read it. */
static int load_data(ladder_work *w, fault *f) {
    const int code = ladder_data_make(w, f);
    w->form = w->family->parts[w->family->part_count - 1].form; /* room for scans, if there are any */
    return code ? code : w->backend->load(w, f);
}

static const char *what_is_lacking(const ladder_work *w, const ladder_step *step) {
    return w->backend->lacks ? w->backend->lacks(w, step) : NULL;
}

static int prepare(ladder_work *w, const ladder_step *step, fault *f) {
    const char *lack = what_is_lacking(w, step);
    return lack ? fault_data(f, "%s", lack) : w->backend->prepare(w, step, f);
}

/* Runs once over the given data and compares the result with the exact one. */
static int run_and_check(ladder_work *w, ladder_data data, void *out, ladder_verdict *verdict, fault *f) {
    double seconds;
    w->data = data;
    int code = w->backend->run(w, &seconds, f);
    if (code == 0)
        code = w->backend->fetch(w, out, f);
    return code == 0 ? ladder_check(w, out, verdict, f) : code;
}

/* Prepares a step and checks it. 'r' says whether it is then to be timed. */
static int check_first(ladder_work *w, void *out, ladder_result *r, fault *f) {
    ladder_verdict verdict;
    int code = prepare(w, r->step, f);
    if (code == 0)
        code = run_and_check(w, DATA_EXACT, out, &verdict, f);
    r->facts = w->facts;
    if (code != 0)
        return code;
    r->checked = true;
    r->right = verdict.right;
    memcpy(r->says, verdict.says, sizeof r->says);
    return 0;
}

static bool is_to_be_timed(const ladder_result *r) {
    return r->checked && (r->right || r->step->wrong_on_purpose);
}

/* The error of the last run over the general data. */
static int find_error(ladder_work *w, void *out, ladder_result *r, fault *f) {
    ladder_verdict verdict;
    int code = w->backend->fetch(w, out, f);
    if (code == 0)
        code = ladder_check(w, out, &verdict, f);
    r->error = verdict.error;
    return code;
}

static void keep_reason(ladder_result *r, const fault *why) {
    snprintf(r->why, sizeof r->why, "%.*s", (int)sizeof r->why - 1, why->text);
}

/* ------------------------------------------------------------------------------------------------- a part ----- */

typedef struct part_run {
    ladder_work *w;
    ladder_report *report;
    ladder_result *results; /* of this part */
    size_t count;
    int part;
    void *out;
    FILE *table;
} part_run;

static int find_roof(part_run *p, unsigned runs, fault *f) {
    ladder_work *w = p->w;
    double *least = &p->report->roof_seconds[p->part], now = ladder_bytes(w, w->form) / 100e9;
    const int code = ladder_clock_is_fixed() ? 0 : w->backend->roof(w, runs, &now, f);
    if (code == 0 && (*least == 0 || now < *least))
        *least = now;
    return code;
}

/* For a device that nobody else uses: times one step after the other and prints each row when its step is done. */
static int measure_in_order(part_run *p, fault *f) {
    const int code = find_roof(p, ROOF_RUNS, f);
    if (code != 0)
        return code;
    ladder_table_head(p->table, p->report, p->part);
    for (size_t i = 0; i < p->count; i++) {
        ladder_result *r = &p->results[i];
        fault why;
        ladder_table_name(p->table, r->step);
        int failed = check_first(p->w, p->out, r, &why);
        p->w->data = DATA_GENERAL;
        if (failed == 0 && is_to_be_timed(r))
            failed = time_step(p->w, p->report->repeat, r, &why);
        if (failed == 0 && is_to_be_timed(r))
            failed = find_error(p->w, p->out, r, &why);
        if (failed != 0)
            keep_reason(r, &why);
        ladder_table_row(p->table, p->report, r);
    }
    return 0;
}

/* One step in one round: a run that warms threads and caches, then one whose time counts if it is the shortest so far.
 */
static void run_in_round(part_run *p, ladder_result *r) {
    double seconds;
    fault why;
    p->w->data = DATA_GENERAL;
    int failed = p->w->backend->prepare(p->w, r->step, &why);
    if (failed == 0)
        failed = p->w->backend->run(p->w, &seconds, &why);
    if (failed == 0)
        failed = time_run(p->w, &seconds, &why);
    if (failed == 0 && r->runs == 0)
        failed = find_error(p->w, p->out, r, &why);
    if (failed != 0) {
        keep_reason(r, &why);
        return;
    }
    r->runs++;
    r->total += seconds;
    if (r->seconds == 0 || seconds < r->seconds)
        r->seconds = seconds;
}

static int find_peak(ladder_work *w, ladder_report *report, fault *f) {
    double now = 1e12;
    const int code = ladder_clock_is_fixed() ? 0 : w->backend->peak(w, &now, f);
    if (code == 0 && now > report->peak)
        report->peak = now;
    return code;
}

/* For a processor that other programs use, too: rounds of the roofs and of all steps, so that a disturbance affects all
 * of them. The best round of each counts. */
static int measure_in_rounds(part_run *p, fault *f) {
    int code = 0;
    for (size_t i = 0; i < p->count; i++) {
        fault why;
        if (check_first(p->w, p->out, &p->results[i], &why) != 0)
            keep_reason(&p->results[i], &why);
    }
    for (unsigned round = 0; code == 0 && round < p->report->repeat; round++) {
        ladder_table_round(p->table, round, p->report->repeat);
        code = find_roof(p, 1, f);
        if (code == 0)
            code = find_peak(p->w, p->report, f);
        for (size_t i = 0; code == 0 && i < p->count; i++)
            if (!p->results[i].why[0] && is_to_be_timed(&p->results[i]))
                run_in_round(p, &p->results[i]);
    }
    ladder_table_round(p->table, p->report->repeat, p->report->repeat);
    if (code != 0)
        return code;
    ladder_table_head(p->table, p->report, p->part);
    for (size_t i = 0; i < p->count; i++) {
        ladder_table_name(p->table, p->results[i].step);
        ladder_table_row(p->table, p->report, &p->results[i]);
    }
    return 0;
}

static int measure_part(ladder_work *w, const char *steps, int part, void *out, ladder_report *report, FILE *table,
                        fault *f) {
    part_run p = {w, report, report->results + report->count, 0, part, out, table};
    for (size_t i = 0; i < w->family->step_count; i++) {
        const ladder_step *step = &w->family->steps[i];
        if (step->part != part || !ladder_wanted(steps, step))
            continue;
        ladder_result *r = &p.results[p.count++];
        *r = (ladder_result){.step = step};
        for (int c = 0; c < LADDER_COUNTERS; c++)
            r->counters[c] = NAN;
    }
    report->count += p.count;
    w->form = w->family->parts[part].form;
    if (p.count == 0)
        return 0;
    const int code = w->backend->best ? measure_in_rounds(&p, f) : measure_in_order(&p, f);
    if (code == 0)
        ladder_table_models(table, report, part);
    return code;
}

/* The largest result of any part. */
static void *make_room(const ladder_work *w, uint64_t n, fault *f) {
    bool scans = false;
    for (int part = 0; part < w->family->part_count; part++)
        scans = scans || w->family->parts[part].form != TALLY_REDUCE;
    if (ladder_data_fits(w, n, scans, f) != 0)
        return NULL;
    void *out = malloc((scans && n > 0 ? (size_t)n : 1) * sizeof(int32_t));
    if (!out)
        fault_data(f, "not enough memory for the results");
    return out;
}

int ladder_run(ladder_work *w, const char *steps, ladder_report *report, FILE *table, fault *f) {
    void *out = make_room(w, w->n, f);
    int code = out ? load_data(w, f) : FAULT_DATA;
    if (code == 0)
        code = find_peak(w, report, f);
    for (int part = 0; code == 0 && part < w->family->part_count; part++)
        code = measure_part(w, steps, part, out, report, table, f);
    free(out);
    return code;
}

/* ----------------------------------------------------------------------------------------------- checking ----- */

/* Sizes near those of warps, blocks, parts of scans and the share of a coarsened block. */
static const uint64_t sizes[] = {0,    1,    2,    3,    5,    31,    32,    33,    63,     64,     65,      127,
                                 255,  256,  257,  511,  513,  767,   1000,  1023,  1024,   1025,   2047,    2048,
                                 2049, 3000, 4095, 4097, 8191, 65535, 65537, 99999, 131071, 131073, 1000003, 4194301};

typedef struct tally_of_step {
    unsigned right, wrong;
    char says[600]; /* of the first wrong result */
} tally_of_step;

static void check_step(ladder_work *w, const ladder_step *step, void *out, tally_of_step *t) {
    ladder_verdict verdict = {.right = false};
    fault f = {{0}};
    w->form = w->family->parts[step->part].form;
    const bool ran = w->backend->prepare(w, step, &f) == 0 && run_and_check(w, DATA_EXACT, out, &verdict, &f) == 0;
    /* The library refuses the extremum of zero elements, as its manual says. */
    if (!ran && w->n == 0 && w->op != TALLY_SUM && strcmp(step->rule, "library") == 0)
        verdict.right = true;
    if (verdict.right) {
        t->right++;
        return;
    }
    if (t->wrong++ == 0)
        snprintf(t->says, sizeof t->says, "n = %" PRIu64 ": %.500s", w->n, ran ? verdict.says : f.text);
}

static void print_checked(FILE *table, const ladder_step *step, const char *lack, const tally_of_step *t) {
    ladder_table_name(table, step);
    if (lack)
        fprintf(table, "not run: %s\n", lack);
    else if (t->wrong == 0)
        fprintf(table, "right for %u size%s\n", t->right, t->right == 1 ? "" : "s");
    else
        fprintf(table, "%sright for %u size%s, not for %u: %s\n", step->wrong_on_purpose ? "(wrong on purpose) " : "",
                t->right, t->right == 1 ? "" : "s", t->wrong, t->says);
}

int ladder_check_sizes(ladder_work *w, const char *steps, FILE *table, fault *f) {
    static tally_of_step tallies[LADDER_STEPS];
    const uint64_t most = w->n;
    size_t wrong = 0;
    void *out = make_room(w, sizes[sizeof sizes / sizeof *sizes - 1], f);
    int code = out ? 0 : FAULT_DATA;
    memset(tallies, 0, sizeof tallies);
    for (size_t s = 0; code == 0 && s < sizeof sizes / sizeof *sizes && sizes[s] <= most; s++) {
        w->n = sizes[s];
        code = load_data(w, f);
        for (size_t i = 0; code == 0 && i < w->family->step_count; i++)
            if (ladder_wanted(steps, &w->family->steps[i]) && !what_is_lacking(w, &w->family->steps[i]))
                check_step(w, &w->family->steps[i], out, &tallies[i]);
    }
    for (size_t i = 0; code == 0 && i < w->family->step_count; i++) {
        const ladder_step *step = &w->family->steps[i];
        if (!ladder_wanted(steps, step))
            continue;
        print_checked(table, step, what_is_lacking(w, step), &tallies[i]);
        wrong += tallies[i].wrong > 0 && !step->wrong_on_purpose;
    }
    free(out);
    return code == 0 && wrong > 0 ? fault_data(f, "%zu step%s wrong", wrong, wrong == 1 ? " is" : "s are") : code;
}

/* --------------------------------------------------------------------------------------------------- bare ----- */

int ladder_run_bare(ladder_work *w, const char *steps, FILE *log, fault *f) {
    double seconds;
    w->bare = true;
    int code = load_data(w, f);
    for (size_t i = 0; code == 0 && i < w->family->step_count; i++) {
        const ladder_step *step = &w->family->steps[i];
        if (!ladder_wanted(steps, step) || strcmp(step->rule, "library") == 0)
            continue;
        w->form = w->family->parts[step->part].form;
        w->data = DATA_GENERAL;
        code = prepare(w, step, f);
        if (code == 0)
            code = w->backend->run(w, &seconds, f);
        for (unsigned launch = 0; code == 0 && launch < w->facts.launches; launch++)
            fprintf(log, "%zu\n", i);
    }
    return code;
}
