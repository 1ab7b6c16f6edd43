/* `tally bench`: how fast the library is on this machine, beside the machine's own roofs, which are measured in the
 * same run. It prints a table that fills in as rows finish, and writes JSON on request.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "out_file.h"

typedef struct settings {
    const char *device;
    const char *filter;
    const char *json;
    bool quick, list, help;
    double min_time;
    bench_options measure;
    regex_t expression;
    FILE *table; /* standard error when the JSON goes to standard output */
} settings;

/* ---------------------------------------------------------------------------------------------- arguments ----- */

static int take_seconds(void *to, const argument *row, const char *text, fault *f) {
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0 && seconds <= 3600))
        return fault_usage(f, "--%s %s: seconds from 0 to 3600 are expected", row->name, text);
    *(double *)((char *)to + row->place) = seconds;
    return 0;
}

#define AT(field) .place = offsetof(settings, field)

static const argument arguments[] = {
    {"device", "SPEC", "the device, as 'tally devices' lists them (default: cpu)", argument_text, AT(device)},
    {"filter", "RE", "only rows whose name matches this extended regular expression (see --list)", argument_text,
     AT(filter)},
    {"quick", NULL, "five short rounds a row: rougher, several times faster", argument_flag, AT(quick)},
    {"min-time", "S", "measure each row for at least S seconds (default: 0.25)", take_seconds, AT(min_time)},
    {"json", "FILE", "also write the results as JSON in Google Benchmark's format; - is standard output", argument_text,
     AT(json)},
    {"list", NULL, "print the names of the rows and measure nothing", argument_flag, AT(list)},
    {"help", NULL, "", argument_flag, AT(help), .letter = 'h'},
};

static const argument_table table = {arguments, sizeof arguments / sizeof *arguments};

static int print_help(fault *f) {
    puts("usage: tally bench [OPTION]...\n"
         "\n"
         "Measures this machine's roofs (the best plain read and copy of memory), then the library, and prints the\n"
         "ratio of the two: 1.00 is the speed of memory.");
    arguments_help(&table, 0, 0, NULL);
    return out_file_flush_standard(f);
}

static int read_arguments(int argc, char **argv, settings *s, fault *f) {
    int operands;
    const int code = arguments_read(&table, 0, s, argc, argv, &operands, f);
    if (code != 0 || s->help)
        return code;
    if (operands < argc)
        return fault_usage(f, "'%s' is one argument too many", argv[operands]);
    s->measure = s->quick ? (bench_options){0.02, 0.0003} : (bench_options){0.25, 0.001};
    if (s->min_time >= 0)
        s->measure.min_time = s->min_time;
    const int wrong = regcomp(&s->expression, s->filter ? s->filter : "", REG_EXTENDED | REG_NOSUB);
    if (wrong) {
        char why[128];
        regerror(wrong, &s->expression, why, sizeof why);
        return fault_usage(f, "--filter %s: %s", s->filter, why);
    }
    return 0;
}

/* ---------------------------------------------------------------------------------------------- the table ----- */

void bench_print_time(FILE *file, double seconds) {
    if (seconds < 1e-6)
        fprintf(file, "%9.1f ns", seconds * 1e9);
    else if (seconds < 1e-3)
        fprintf(file, "%9.2f us", seconds * 1e6);
    else
        fprintf(file, "%9.2f ms", seconds * 1e3);
}

static void print_name(FILE *file, const char *name) {
    fprintf(file, "  %-44s", name);
    fflush(file); /* shows the row while it is being measured */
}

static void print_result(FILE *file, const bench_result *r) {
    if (r->error[0]) {
        fprintf(file, "  %s\n", r->error);
        return;
    }
    bench_print_time(file, r->seconds);
    if (r->measure == BENCH_NANOSECONDS) {
        fputc('\n', file);
        return;
    }
    double beside = r->measure == BENCH_PLAIN_RATIO ? r->plain_seconds : r->roof_seconds;
    fprintf(file, " %9.1f %9.1f %8.2f\n", r->bytes / r->seconds * 1e-9, r->bytes / beside * 1e-9, r->ratio);
    fflush(file);
}

static void print_group(FILE *file, const bench_row *row) {
    const char *beside = row->measure == BENCH_PLAIN_RATIO ? "plain" : "roof";
    fprintf(file, "\n%s\n  %-44s%12s %9s %9s %8s\n", row->group, "", "time", "GB/s", beside, "ratio");
}

/* ------------------------------------------------------------------------------------------------- the run ----- */

typedef struct outcome {
    bench_result *results;
    size_t count, failed;
} outcome;

static bool wanted(const settings *s, const char *name) {
    return regexec(&s->expression, name, 0, NULL, 0) == 0;
}

/* The roofs at every size from 2^10 to 2^26 values of four bytes. */
static void measure_roofs(const settings *s, outcome *all) {
    bool headed = false;
    for (int copy = 0; copy < 2; copy++)
        for (int log2n = 10; log2n <= 26; log2n += 2) {
            bench_result r = {.error = ""};
            size_t bytes = (size_t)4 << log2n;
            snprintf(r.name, sizeof r.name, "roof/%s/2^%d", copy ? "copy" : "read", log2n);
            if (!wanted(s, r.name))
                continue;
            if (!headed)
                fprintf(s->table, "\nRoofs: arrays of 2^k values of 4 bytes\n  %-44s%12s %9s   best way\n", "", "time",
                        "GB/s");
            headed = true;
            print_name(s->table, r.name);
            bench_span in = {bench_pool(BENCH_X, (size_t)4 << 26), bytes};
            bench_span out = {bench_pool(BENCH_OUT, (size_t)4 << 26), bytes};
            if (!in.start || !out.start) {
                snprintf(r.error, sizeof r.error, "not enough memory for this row");
                print_result(s->table, &r);
            } else {
                bench_roof roof;
                bench_roof_of(&in, 1, &out, copy ? 1 : 0, &roof);
                bench_measure_roof(&roof, &s->measure, &r);
                bench_print_time(s->table, r.seconds);
                fprintf(s->table, " %9.1f   %s\n", r.bytes / r.seconds * 1e-9, r.roof_way);
            }
            all->results[all->count++] = r;
        }
}

static void measure_rows(const settings *s, tally_device *device, const bench_rows *rows, outcome *all) {
    const char *group = "";
    for (size_t i = 0; i < rows->count; i++) {
        const bench_row *row = &rows->row[i];
        if (!wanted(s, row->name) || tally_supports(device, &row->desc) == TALLY_UNSUPPORTED)
            continue;
        if (strcmp(group, row->group) != 0)
            print_group(s->table, row);
        group = row->group;
        print_name(s->table, row->name);
        bench_result *r = &all->results[all->count++];
        bench_measure_row(device, row, &s->measure, r);
        print_result(s->table, r);
        all->failed += r->error[0] != 0;
    }
}

static void print_list(const settings *s, const bench_rows *rows) {
    for (int copy = 0; copy < 2; copy++)
        for (int log2n = 10; log2n <= 26; log2n += 2) {
            char name[32];
            snprintf(name, sizeof name, "roof/%s/2^%d", copy ? "copy" : "read", log2n);
            if (wanted(s, name))
                puts(name);
        }
    for (size_t i = 0; i < rows->count; i++)
        if (wanted(s, rows->row[i].name))
            puts(rows->row[i].name);
}

static void print_head(const settings *s, const tally_device_info *info) {
    fprintf(s->table, "tally %s on %s (%s)\nroofs: %u thread%s, %s; GB/s counts each byte read or written once\n",
            tally_version(), info->name, info->detail, bench_team_threads(), bench_team_threads() == 1 ? "" : "s",
            bench_roof_instructions());
}

static void print_count(const settings *s, const outcome *all) {
    if (all->count == 0)
        fprintf(s->table, "\nno row's name matches '%s'; --list prints the names\n", s->filter);
    else
        fprintf(s->table, "\n%zu row%s%s\n", all->count, all->count == 1 ? "" : "s",
                all->failed > 0 ? ", of which some could not be measured" : "");
}

static int write_json(const settings *s, const tally_device_info *info, const outcome *all, out_file *json, fault *f) {
    const bench_context context = {info->spec, info->name, info->detail, bench_team_threads(), s->measure.min_time};
    FILE *stream;
    const int code = out_file_stream(json, &stream, f);
    if (code != 0)
        return code;
    bench_json_write(stream, &context, all->results, all->count);
    return out_file_finish(json, f);
}

static int bench_device(const settings *s, tally_device *device, const bench_rows *rows, out_file *json, fault *f) {
    tally_device_info info = {.struct_size = sizeof info};
    if (tally_device_describe(device, &info) != TALLY_OK)
        return fault_data(f, "%s", tally_last_error());
    outcome all = {calloc(rows->count + 64, sizeof(bench_result)), 0, 0};
    if (!all.results || !bench_team_start(bench_threads_of(s->device))) {
        free(all.results);
        return fault_data(f, "no memory or threads for the roofs");
    }
    print_head(s, &info);
    measure_roofs(s, &all);
    measure_rows(s, device, rows, &all);
    print_count(s, &all);
    const int code = s->json ? write_json(s, &info, &all, json, f) : 0;
    bench_team_stop();
    bench_pools_free();
    free(all.results);
    return code;
}

/* Opens the file of the results before minutes of measuring. */
static int run(settings *s, const bench_rows *rows, fault *f) {
    tally_device *device = NULL;
    out_file json = {0};
    s->table = s->json && strcmp(s->json, "-") == 0 ? stderr : stdout;
    if (s->list) {
        print_list(s, rows);
        return out_file_flush_standard(f);
    }
    int code = s->json ? out_file_open(&json, s->json, f) : 0;
    if (code == 0 && tally_open(s->device, &device) != TALLY_OK)
        code = fault_data(f, "%s", tally_last_error());
    if (code == 0)
        code = bench_device(s, device, rows, &json, f);
    out_file_close(&json);
    tally_close(device);
    return code == 0 && s->table == stdout ? out_file_flush_standard(f) : code;
}

int command_bench(int argc, char **argv, fault *f) {
    settings s = {.device = "cpu", .min_time = -1};
    bench_rows rows;
    int code = read_arguments(argc, argv, &s, f);
    if (code != 0 || s.help)
        return code != 0 ? code : print_help(f);
    code = bench_rows_make(&rows) ? run(&s, &rows, f) : fault_data(f, "no memory for the rows");
    bench_rows_free(&rows);
    regfree(&s.expression);
    return code;
}
