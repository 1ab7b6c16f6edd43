/* command.c: the options of tally ladder, and what each does.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "bench.h"
#include "ladder.h"
#include "out_file.h"
#include "run.h"

/* The default size on a software device, where a GPU's default takes minutes. */
enum { SOFTWARE_N = 1 << 18 };

typedef struct settings {
    const char *family, *steps, *device, *json, *csv, *svg, *show, *sass, *dtype, *op, *bare;
    uint64_t n;
    unsigned repeat, architecture;
    bool has_n, check, profile, help;
} settings;

/* ----------------------------------------------------------------------------------------------- options ----- */

/* A number, or 2^K. */
static int take_n(void *to, const argument *row, const char *text, fault *f) {
    settings *const s = to;
    char *end;
    errno = 0;
    s->n = strtoull(text, &end, 10);
    if (s->n == 2 && *end == '^' && end[1] >= '0' && end[1] <= '9') {
        const unsigned long exponent = strtoul(end + 1, &end, 10);
        s->n = exponent <= 36 ? UINT64_C(1) << exponent : UINT64_MAX;
    }
    if (text[0] < '0' || text[0] > '9' || *end || errno || s->n > UINT64_C(1) << 36)
        return fault_usage(f, "--%s %.40s: a number up to 2^36 is expected, such as 1000 or 2^24", row->name, text);
    s->has_n = true;
    return 0;
}

/* From 1 to the row's constant. */
static int take_number(void *to, const argument *row, const char *text, fault *f) {
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value < 1 || value > (unsigned long)row->constant)
        return fault_usage(f, "--%s %.40s: a whole number from 1 to %d is expected", row->name, text, row->constant);
    *(unsigned *)((char *)to + row->place) = (unsigned)value;
    return 0;
}

static int take_architecture(void *to, const argument *row, const char *text, fault *f) {
    return take_number(to, row, strncmp(text, "sm_", 3) == 0 ? text + 3 : text, f);
}

#define AT(field) .place = offsetof(settings, field)

static const argument rows[] = {
    {"step", "NAME,...", "only these steps", argument_text, AT(steps)},
    {"n", "N", "number of values; 2^K is understood", take_n, AT(n)},
    {"dtype", "T", NULL, argument_text, AT(dtype)},
    {"op", "OP", "f32 or i32; sum, max or min: as the family has them", argument_text, AT(op)},
    {"repeat", "R", "timed runs of a step (default: 20)", take_number, AT(repeat), .constant = LADDER_RUNS_MOST},
    {"device", "SPEC", "'tally devices' lists them", argument_text, AT(device)},
    {"check", NULL, "checks the steps over awkward sizes up to --n and times nothing", argument_flag, AT(check)},
    {"show", "STEP", "prints the source of a step", argument_text, AT(show)},
    {"sass", "STEP", "prints its machine code (cuobjdump)", argument_text, AT(sass)},
    {"arch", "sm_80", "with --sass, for another GPU than the one here", take_architecture, AT(architecture),
     .constant = 999},
    {"profile", NULL, "adds the profiler's counters (ncu), and what to look at in them", argument_flag, AT(profile)},
    {"json", "FILE", NULL, argument_text, AT(json)},
    {"csv", "FILE", NULL, argument_text, AT(csv)},
    {"svg", "FILE", "the figures, and charts of them; - is standard output", argument_text, AT(svg)},
    {"bare", "FILE", "", argument_text, AT(bare)}, /* what --profile runs under the profiler */
    {"help", NULL, "", argument_flag, AT(help), .letter = 'h'},
};

static const argument_table table = {rows, sizeof rows / sizeof *rows};

static int print_help(fault *f) {
    puts(
        "usage: tally ladder [FAMILY] [OPTION]...\n"
        "\n"
        "Runs each step of a family, from the naive kernel to the library's own, checks it against the exact result,\n"
        "times it, and prints it beside the roof of this machine. Without a family: lists those that this machine can\n"
        "run. A FAMILY with a slash is the path of a family file of your own, with its steps' sources beside it.");
    arguments_help(&table, 0, 0, NULL);
    return out_file_flush_standard(f);
}

static int read_arguments(settings *s, int argc, char **argv, fault *f) {
    int operands;
    const int code = arguments_read(&table, 0, s, argc, argv, &operands, f);
    if (code != 0 || s->help)
        return code;
    if (operands < argc)
        s->family = argv[operands++];
    return operands < argc ? fault_usage(f, "'%.40s' is one argument too many", argv[operands]) : 0;
}

/* ----------------------------------------------------------------------------------------------- families ----- */

/* A family can run if its device opens. For the others the list gives the reason, once for each back end. */
static int list_families(fault *f) {
    static ladder_family family;
    char reasons[4000] = "";
    for (size_t i = 0; i < ladder_family_count(); i++) {
        ladder_work w = {.family = &family};
        fault why = {{0}};
        int code = ladder_family_find(ladder_family_name(i), &family, f);
        if (code != 0)
            return code;
        w.backend = ladder_backend_find(family.backend);
        w.dtype = family.dtypes[0];
        code = w.backend->open(&w, w.backend->device, &why);
        printf("%-16s %-56s %s%s\n", family.name, family.title, code ? "not here: needs " : "on ",
               code ? family.backend : w.info.spec);
        if (code != 0 && !strstr(reasons, why.text))
            snprintf(reasons + strlen(reasons), sizeof reasons - strlen(reasons), "%s: %s\n", family.backend, why.text);
        w.backend->close(&w);
    }
    printf("\n%s%s'tally ladder FAMILY' runs one; 'tally ladder FAMILY --show STEP' prints a step.\n", reasons,
           reasons[0] ? "\n" : "");
    return out_file_flush_standard(f);
}

static const ladder_step *find_step(const ladder_family *family, const char *name, fault *f) {
    char known[900] = "";
    for (size_t i = 0; i < family->step_count; i++)
        if (ladder_wanted(name, &family->steps[i]))
            return &family->steps[i];
    for (size_t i = 0; i < family->step_count; i++)
        if (i == 0 || strcmp(family->steps[i].base, family->steps[i - 1].base) != 0)
            snprintf(known + strlen(known), sizeof known - strlen(known), " %s", family->steps[i].base);
    fault_usage(f, "family '%s' has no step '%.60s'; its steps are:%s", family->name, name, known);
    return NULL;
}

/* Checks that each name of a list is a step. */
static int check_steps(const ladder_family *family, const char *steps, fault *f) {
    char name[LADDER_NAME];
    if (steps && !*steps && !find_step(family, steps, f))
        return FAULT_USAGE;
    for (const char *at = steps; at && *at; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!find_step(family, name, f))
            return FAULT_USAGE;
        at += length;
    }
    return 0;
}

static int choose_types(const settings *s, ladder_work *w, fault *f) {
    const ladder_family *family = w->family;
    bool has_dtype = false, has_op = false;
    w->dtype = family->dtypes[0];
    w->op = family->ops[0];
    if (s->dtype && tally_dtype_from_name(s->dtype, &w->dtype) != TALLY_OK)
        return fault_usage(f, "--dtype %s", tally_last_error());
    if (s->op && tally_op_from_name(s->op, &w->op) != TALLY_OK)
        return fault_usage(f, "--op %s", tally_last_error());
    for (size_t i = 0; i < family->dtype_count; i++)
        has_dtype = has_dtype || family->dtypes[i] == w->dtype;
    for (size_t i = 0; i < family->op_count; i++)
        has_op = has_op || family->ops[i] == w->op;
    if (!has_dtype)
        return fault_usage(f, "family '%s' is not written for --dtype %s", family->name, tally_dtype_name(w->dtype));
    if (!has_op)
        return fault_usage(f, "family '%s' is not written for --op %s", family->name, tally_op_name(w->op));
    w->n = s->has_n ? s->n : family->n;
    return 0;
}

/* --------------------------------------------------------------------------------------------------- runs ----- */

static int show_source(const ladder_family *family, const char *name, fault *f) {
    const ladder_step *step = find_step(family, name, f);
    char *text;
    if (!step)
        return FAULT_USAGE;
    const int code = ladder_source(family, step, &text, f);
    if (code != 0)
        return code;
    fputs(text, stdout);
    free(text);
    return out_file_flush_standard(f);
}

/* A step that is wrong, and not on purpose, is a failure of the command. So is a step that could not run although it
 * was asked for by name. */
static int judge(const settings *s, const ladder_report *report, fault *f) {
    for (size_t i = 0; i < report->count; i++) {
        const ladder_result *r = &report->results[i];
        if (r->checked && !r->right && !r->step->wrong_on_purpose)
            return fault_data(f, "step '%s' is wrong: %s", r->step->name, r->says);
        if (s->steps && r->why[0])
            return fault_data(f, "step '%s' did not run: %s", r->step->name, r->why);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------ outputs ----- */

enum { OUTPUTS = 3 };

typedef struct outputs {
    struct {
        const char *path;
        bool (*put)(FILE *file, const ladder_report *report);
        out_file file;
    } of[OUTPUTS];
    FILE *table; /* standard error, where one of them goes to standard output */
} outputs;

/* Before minutes of measuring. */
static int open_outputs(const settings *s, outputs *o, fault *f) {
    *o = (outputs){{{.path = s->json, .put = ladder_put_json},
                    {.path = s->csv, .put = ladder_put_csv},
                    {.path = s->svg, .put = ladder_put_svg}},
                   stdout};
    for (int i = 0; i < OUTPUTS; i++) {
        for (int j = 0; j < i; j++)
            if (o->of[i].path && o->of[j].path && out_file_same(o->of[i].path, o->of[j].path))
                return fault_usage(f, "--json, --csv and --svg: two of them name %s", o->of[i].path);
        const int code = o->of[i].path ? out_file_open(&o->of[i].file, o->of[i].path, f) : 0;
        if (code != 0)
            return code;
        if (o->of[i].path && strcmp(o->of[i].path, "-") == 0)
            o->table = stderr;
    }
    return 0;
}

static int write_outputs(outputs *o, const ladder_report *report, fault *f) {
    int code = 0;
    for (int i = 0; code == 0 && i < OUTPUTS; i++) {
        FILE *stream;
        if (!o->of[i].path || (code = out_file_stream(&o->of[i].file, &stream, f)) != 0)
            continue;
        code = o->of[i].put(stream, report) ? out_file_finish(&o->of[i].file, f)
                                            : fault_data(f, "%s: no memory to draw it", o->of[i].path);
    }
    return code;
}

static void close_outputs(outputs *o) {
    for (int i = 0; i < OUTPUTS; i++)
        out_file_close(&o->of[i].file);
}

/* --------------------------------------------------------------------------------------------------- runs ----- */

/* What would be left undone without a word. */
static int check_combination(const settings *s, fault *f) {
    if (s->check && (s->json || s->csv || s->svg || s->profile))
        return fault_usage(f, "--check measures nothing for --json, --csv, --svg or --profile");
    if (s->architecture && !s->sass)
        return fault_usage(f, "--arch is for --sass");
    return 0;
}

static int measure_into(const settings *s, ladder_work *w, outputs *o, fault *f) {
    static ladder_report report;
    FILE *const shown = o->table;
    report = (ladder_report){.work = w, .repeat = s->repeat ? s->repeat : 20};
    fprintf(shown, "tally ladder %s: %s\n", w->family->name, w->family->title);
    if (w->family->published_unit[0])
        fprintf(shown, "published: on %s\n", w->family->published_on);
    int code = ladder_run(w, s->steps, &report, shown, f);
    fflush(shown); /* before any complaint */
    if (code == 0 && s->profile)
        code = ladder_profile(&report, f);
    if (code == 0 && s->profile)
        ladder_table_counters(shown, &report);
    if (code == 0)
        code = write_outputs(o, &report, f);
    if (code == 0)
        code = shown == stdout ? out_file_flush_standard(f) : 0;
    return code == 0 ? judge(s, &report, f) : code;
}

static int measure(const settings *s, ladder_work *w, fault *f) {
    static outputs o;
    int code = s->profile ? ladder_profile_try(w, f) : 0;
    if (code == 0)
        code = open_outputs(s, &o, f);
    if (code == 0)
        code = measure_into(s, w, &o, f);
    close_outputs(&o);
    return code;
}

static int run_bare(const settings *s, ladder_work *w, fault *f) {
    out_file log;
    FILE *stream;
    int code = out_file_open(&log, s->bare, f);
    if (code == 0)
        code = out_file_stream(&log, &stream, f);
    if (code == 0)
        code = ladder_run_bare(w, s->steps, stream, f);
    if (code == 0)
        code = out_file_finish(&log, f);
    out_file_close(&log);
    return code;
}

static int run_family(const settings *s, ladder_work *w, fault *f) {
    int code = w->backend->open(w, s->device ? s->device : w->backend->device, f);
    if (w->software && !s->has_n && w->n > SOFTWARE_N)
        w->n = SOFTWARE_N;
    if (code == 0 && !bench_team_start(bench_threads_of(w->info.spec)))
        code = fault_data(f, "no memory or threads for the data");
    if (code == 0)
        code = s->bare ? run_bare(s, w, f) : s->check ? ladder_check_sizes(w, s->steps, stdout, f) : measure(s, w, f);
    w->backend->close(w);
    ladder_data_free(w);
    bench_team_stop();
    return code;
}

static int sass(const settings *s, ladder_work *w, fault *f) {
    const ladder_step *step = find_step(w->family, s->sass, f);
    if (!step)
        return FAULT_USAGE;
    int architecture = (int)s->architecture;
    if (architecture == 0) { /* the device's, where there is one */
        fault why;
        if (w->backend->open(w, s->device ? s->device : w->backend->device, &why) == 0)
            architecture = ladder_cuda_architecture(w);
        w->backend->close(w);
    }
    return ladder_sass(w->family, step, w->dtype, w->op, architecture ? architecture : 90, f);
}

int command_ladder(int argc, char **argv, fault *f) {
    static ladder_family family;
    settings s = {0};
    ladder_work w = {.family = &family};
    int code = read_arguments(&s, argc, argv, f);
    if (code != 0 || s.help)
        return code ? code : print_help(f);
    if (!s.family && argc > 1)
        return fault_usage(f, "options are for one family, and none is named");
    if (!s.family)
        return list_families(f);
    if ((code = check_combination(&s, f)) != 0)
        return code;
    code = ladder_family_find(s.family, &family, f);
    if (code == 0)
        code = check_steps(&family, s.steps, f);
    if (code == 0)
        code = choose_types(&s, &w, f);
    if (code != 0)
        return code;
    w.backend = ladder_backend_find(family.backend);
    if (s.show)
        return show_source(&family, s.show, f);
    if (s.sass)
        return sass(&s, &w, f);
    return run_family(&s, &w, f);
}
