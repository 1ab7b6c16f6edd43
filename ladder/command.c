/* command.c: tally ladder: its options, and what each of them does.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "files.h"
#include "help.h"
#include "ladder.h"
#include "output.h"
#include "run.h"

/* The default size on a device that is no GPU, where the default of a GPU takes minutes. */
enum { SOFTWARE_N = 1 << 18 };

typedef struct settings {
    const char *family, *steps, *device, *json, *csv, *svg, *show, *sass, *dtype, *op, *bare;
    uint64_t n;
    unsigned repeat;
    int architecture;
    bool has_n, check, profile, help;
} settings;

enum {
    OPTION_STEP = 256,
    OPTION_N,
    OPTION_DTYPE,
    OPTION_OP,
    OPTION_REPEAT,
    OPTION_DEVICE,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_SVG,
    OPTION_SHOW,
    OPTION_SASS,
    OPTION_ARCHITECTURE,
    OPTION_PROFILE,
    OPTION_CHECK,
    OPTION_BARE
};

static const struct option long_options[] = {
    {"step", required_argument, NULL, OPTION_STEP},
    {"n", required_argument, NULL, OPTION_N},
    {"dtype", required_argument, NULL, OPTION_DTYPE},
    {"op", required_argument, NULL, OPTION_OP},
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"json", required_argument, NULL, OPTION_JSON},
    {"csv", required_argument, NULL, OPTION_CSV},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"show", required_argument, NULL, OPTION_SHOW},
    {"sass", required_argument, NULL, OPTION_SASS},
    {"arch", required_argument, NULL, OPTION_ARCHITECTURE},
    {"profile", no_argument, NULL, OPTION_PROFILE},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"bare", required_argument, NULL, OPTION_BARE}, /* what --profile runs under the profiler; not in the manual */
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* ----------------------------------------------------------------------------------------------- options ----- */

/* A number, or 2^K. */
static int read_n(settings *s, const char *text, fault *f) {
    char *end;
    errno = 0;
    s->n = strtoull(text, &end, 10);
    if (s->n == 2 && *end == '^' && end[1] >= '0' && end[1] <= '9') {
        const unsigned long exponent = strtoul(end + 1, &end, 10);
        s->n = exponent <= 36 ? UINT64_C(1) << exponent : UINT64_MAX;
    }
    if (text[0] < '0' || text[0] > '9' || *end || errno || s->n > UINT64_C(1) << 36)
        return fault_usage(f, "--n %.40s: a number up to 2^36 is expected, such as 1000 or 2^24", text);
    s->has_n = true;
    return 0;
}

static int read_number(const char *option, const char *text, unsigned most, unsigned *value, fault *f) {
    char *end;
    const unsigned long read = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || read < 1 || read > most)
        return fault_usage(f, "%s %.40s: a whole number from 1 to %u is expected", option, text, most);
    *value = (unsigned)read;
    return 0;
}

static int read_architecture(settings *s, const char *text, fault *f) {
    unsigned value = 0;
    const int code = read_number("--arch", strncmp(text, "sm_", 3) == 0 ? text + 3 : text, 999, &value, f);
    s->architecture = (int)value;
    return code;
}

static int read_option(settings *s, int option, fault *f) {
    const struct {
        int option;
        const char **text;
    } texts[] = {{OPTION_STEP, &s->steps}, {OPTION_DTYPE, &s->dtype}, {OPTION_OP, &s->op},
                 {OPTION_JSON, &s->json},  {OPTION_CSV, &s->csv},     {OPTION_SVG, &s->svg},
                 {OPTION_SHOW, &s->show},  {OPTION_SASS, &s->sass},   {OPTION_DEVICE, &s->device},
                 {OPTION_BARE, &s->bare}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option) {
            *texts[i].text = optarg;
            return 0;
        }
    switch (option) {
    case OPTION_N:
        return read_n(s, optarg, f);
    case OPTION_REPEAT:
        return read_number("--repeat", optarg, LADDER_RUNS_MOST, &s->repeat, f);
    case OPTION_ARCHITECTURE:
        return read_architecture(s, optarg, f);
    case OPTION_PROFILE:
        s->profile = true;
        return 0;
    case OPTION_CHECK:
        s->check = true;
        return 0;
    case 'h':
        s->help = true;
        return 0;
    default: /* getopt has said what is wrong */
        f->text[0] = 0;
        return FAULT_USAGE;
    }
}

static int read_arguments(settings *s, int argc, char **argv, fault *f) {
    int code = 0;
    optind = 0;
    for (int option; code == 0 && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;)
        code = read_option(s, option, f);
    if (code == 0 && optind < argc)
        s->family = argv[optind++];
    if (code == 0 && optind < argc)
        return fault_usage(f, "'%.40s' is one argument too many", argv[optind]);
    return code;
}

/* ----------------------------------------------------------------------------------------------- families ----- */

/* A family runs if its device opens. Why others do not is said once for each back end. */
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
    return output_flush_standard(f);
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

/* Each name of a list is a step, and there is one. */
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
    return output_flush_standard(f);
}

static int write_files(const settings *s, const ladder_report *report, fault *f) {
    int code = 0;
    if (s->json)
        code = ladder_write_json(s->json, report, f);
    if (code == 0 && s->csv)
        code = ladder_write_csv(s->csv, report, f);
    if (code == 0 && s->svg)
        code = ladder_write_svg(s->svg, report, f);
    return code;
}

/* A step that is wrong, and not on purpose, is a failure of the command, and so is one that could not run although it
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

static bool is_output(const char *path) {
    return path && strcmp(path, "-") == 0;
}

/* Before minutes of measuring. */
static int try_outputs(const settings *s, const ladder_work *w, fault *f) {
    const char *const paths[] = {s->json, s->csv, s->svg};
    int code = s->profile ? ladder_profile_try(w, f) : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            if (paths[i] && paths[j] && strcmp(paths[i], paths[j]) == 0)
                return fault_usage(f, "--json, --csv and --svg: two of them name %s", paths[i]);
    for (int i = 0; code == 0 && i < 3; i++)
        code = paths[i] ? ladder_file_try(paths[i], f) : 0;
    return code;
}

/* What would be left undone without a word. */
static int check_combination(const settings *s, fault *f) {
    if (s->check && (s->json || s->csv || s->svg || s->profile))
        return fault_usage(f, "--check measures nothing for --json, --csv, --svg or --profile");
    if (s->architecture && !s->sass)
        return fault_usage(f, "--arch is for --sass");
    return 0;
}

static int measure(const settings *s, ladder_work *w, fault *f) {
    static ladder_report report;
    FILE *table = is_output(s->json) || is_output(s->csv) || is_output(s->svg) ? stderr : stdout;
    report = (ladder_report){.work = w, .repeat = s->repeat ? s->repeat : 20};
    int code = try_outputs(s, w, f);
    if (code != 0)
        return code;
    fprintf(table, "tally ladder %s: %s\n", w->family->name, w->family->title);
    if (w->family->published_unit[0])
        fprintf(table, "published: on %s\n", w->family->published_on);
    code = ladder_run(w, s->steps, &report, table, f);
    fflush(table); /* before any complaint */
    if (code == 0 && s->profile)
        code = ladder_profile(&report, f);
    if (code == 0 && s->profile)
        ladder_table_counters(table, &report);
    if (code == 0)
        code = write_files(s, &report, f);
    if (code == 0)
        code = table == stdout ? output_flush_standard(f) : 0;
    return code == 0 ? judge(s, &report, f) : code;
}

static int run_bare(const settings *s, ladder_work *w, fault *f) {
    ladder_file log;
    int code = ladder_file_begin(&log, s->bare, f);
    if (code != 0)
        return code;
    code = ladder_run_bare(w, s->steps, log.stream, f);
    const int ended = ladder_file_end(&log, f);
    return code ? code : ended;
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
    int architecture = s->architecture;
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
        return code ? code : help_print("ladder", f);
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
