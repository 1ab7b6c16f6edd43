/* `tally bench`: how fast the library is on this machine, held against the machine's own roofs, which are measured in
 * the same run. Prints a table that fills in as rows finish, and writes JSON on request.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

int tally_cmd_bench(int argc, char **argv);

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct settings {
    const char *device;
    const char *filter;
    const char *json;
    bool quick, list;
    bench_options measure;
    regex_t expression;
    FILE *table; /* standard error when the JSON goes to standard output */
} settings;

static const char usage[] =
    "usage: tally bench [--device SPEC] [--filter RE] [--quick] [--min-time S] [--json FILE] [--list]\n"
    "\n"
    "Measures this machine's roofs (the best plain read and copy of memory), then the library, and prints the ratio\n"
    "of the two: 1.00 is the speed of memory. The floor beside it is what the project asks of itself.\n"
    "\n"
    "  --device SPEC   the device, as 'tally devices' lists them (default: cpu)\n"
    "  --filter RE     only rows whose name matches this extended regular expression (see --list)\n"
    "  --quick         five short rounds a row: rougher, several times faster\n"
    "  --min-time S    measure each row for at least S seconds (default: 0.25)\n"
    "  --json FILE     also write the results, in the shape of Google Benchmark's JSON; '-' is standard output\n"
    "  --list          print the names of the rows and measure nothing\n";

/* ---------------------------------------------------------------------------------------------- arguments ----- */

static int usage_error(const char *what, const char *value) {
    fprintf(stderr, "tally bench: %s%s%s\nTry 'tally bench --help'.\n", what, value ? ": " : "", value ? value : "");
    return EXIT_USAGE;
}

/* 0, or the exit code that ends the command; -1 after --help. */
static int read_arguments(int argc, char **argv, settings *s) {
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'}, {"filter", required_argument, NULL, 'f'},
        {"quick", no_argument, NULL, 'q'},        {"min-time", required_argument, NULL, 'm'},
        {"json", required_argument, NULL, 'j'},   {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    double min_time = -1;
    char *end;
    optind = 0; /* the command may have used getopt already */
    opterr = 0; /* its messages would not name the command */
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        switch (c) {
        case 'd':
            s->device = optarg;
            break;
        case 'f':
            s->filter = optarg;
            break;
        case 'q':
            s->quick = true;
            break;
        case 'm':
            min_time = strtod(optarg, &end);
            if (end == optarg || *end || !(min_time >= 0 && min_time <= 3600))
                return usage_error("--min-time wants seconds between 0 and 3600, not", optarg);
            break;
        case 'j':
            s->json = optarg;
            break;
        case 'l':
            s->list = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        default:
            return usage_error("unknown option, or one that lacks its value", argv[optind - 1]);
        }
    }
    if (optind < argc)
        return usage_error("unexpected argument", argv[optind]);
    s->measure = s->quick ? (bench_options){0.02, 0.0003} : (bench_options){0.25, 0.001};
    if (min_time >= 0)
        s->measure.min_time = min_time;
    int wrong = regcomp(&s->expression, s->filter ? s->filter : "", REG_EXTENDED | REG_NOSUB);
    if (wrong) {
        char why[128];
        regerror(wrong, &s->expression, why, sizeof why);
        fprintf(stderr, "tally bench: --filter '%s': %s\n", s->filter, why);
        return EXIT_USAGE;
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
    fflush(file); /* the row is seen while it is being measured */
}

static void print_result(FILE *file, const bench_result *r) {
    if (r->error[0]) {
        fprintf(file, "  %s\n", r->error);
        return;
    }
    bench_print_time(file, r->seconds);
    if (r->measure == BENCH_NANOSECONDS) {
        fprintf(file, "%37s %5.0f ns %s\n", "", r->floor, r->ratio < r->floor ? "" : "  over");
        return;
    }
    double beside = r->measure == BENCH_PLAIN_RATIO ? r->plain_seconds : r->roof_seconds;
    fprintf(file, " %9.1f %9.1f %8.2f", r->bytes / r->seconds * 1e-9, r->bytes / beside * 1e-9, r->ratio);
    if (r->floor > 0)
        fprintf(file, " %7.2f%s", r->floor, r->ratio < r->floor ? "  below" : "");
    fputc('\n', file);
    fflush(file);
}

static void print_group(FILE *file, const bench_row *row) {
    const char *beside = row->measure == BENCH_PLAIN_RATIO ? "plain" : "roof";
    fprintf(file, "\n%s\n  %-44s%12s %9s %9s %8s %7s\n", row->group, "", "time", "GB/s", beside, "ratio", "floor");
}

/* ------------------------------------------------------------------------------------------------- the run ----- */

typedef struct outcome {
    bench_result *results;
    size_t count, below;
} outcome;

static bool wanted(const settings *s, const char *name) {
    return regexec(&s->expression, name, 0, NULL, 0) == 0;
}

/* The roofs at every size from 2^10 to 2^26 values of four bytes. */
static void measure_roofs(const settings *s, outcome *all) {
    bool headed = false;
    for (int copy = 0; copy < 2; copy++)
        for (int log2n = 10; log2n <= 26; log2n += 2) {
            bench_result r = {.floor = 0};
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
        if (!wanted(s, row->name))
            continue;
        if (strcmp(group, row->group) != 0)
            print_group(s->table, row);
        group = row->group;
        print_name(s->table, row->name);
        bench_result *r = &all->results[all->count++];
        bench_measure_row(device, row, &s->measure, r);
        print_result(s->table, r);
        if (r->error[0] || (r->measure == BENCH_NANOSECONDS ? r->ratio >= r->floor : r->ratio < r->floor))
            all->below++;
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

/* Before minutes of measuring. */
static bool can_write(const char *path) {
    const bool exists = access(path, F_OK) == 0;
    FILE *const file = fopen(path, "a");
    if (!file)
        return false;
    fclose(file);
    if (!exists)
        remove(path);
    return true;
}

static int bench_device(const settings *s, tally_device *device, const bench_rows *rows) {
    tally_device_info info = {.struct_size = sizeof info};
    if (tally_device_describe(device, &info) != TALLY_OK) {
        fprintf(stderr, "tally bench: %s\n", tally_last_error());
        return EXIT_FAILED;
    }
    outcome all = {calloc(rows->count + 64, sizeof(bench_result)), 0, 0};
    if (!all.results || !bench_team_start(bench_threads_of(s->device))) {
        fprintf(stderr, "tally bench: no memory or threads for the roofs\n");
        free(all.results);
        return EXIT_FAILED;
    }
    fprintf(s->table, "tally %s on %s (%s)\nroofs: %u thread%s, %s; GB/s counts each byte read or written once\n",
            tally_version(), info.name, info.detail, bench_team_threads(), bench_team_threads() == 1 ? "" : "s",
            bench_roof_instructions());
    measure_roofs(s, &all);
    measure_rows(s, device, rows, &all);
    if (all.count == 0)
        fprintf(s->table, "\nno row's name matches '%s'; --list prints the names\n", s->filter);
    else
        fprintf(s->table, "\n%zu row%s, %zu below the floor\n", all.count, all.count == 1 ? "" : "s", all.below);

    bench_context context = {info.spec, info.name, info.detail, bench_team_threads(), s->measure.min_time};
    int code = 0;
    if (s->json && !bench_json_write(s->json, &context, all.results, all.count)) {
        fprintf(stderr, "tally bench: cannot write %s: %s\n", s->json, strerror(errno));
        code = EXIT_FAILED;
    }
    bench_team_stop();
    bench_pools_free();
    free(all.results);
    return code;
}

int tally_cmd_bench(int argc, char **argv) {
    settings s = {.device = "cpu"};
    bench_rows rows;
    tally_device *device = NULL;
    int code = read_arguments(argc, argv, &s);
    if (code != 0)
        return code < 0 ? 0 : code;
    s.table = s.json && strcmp(s.json, "-") == 0 ? stderr : stdout;
    if (!bench_rows_make(&rows)) {
        fprintf(stderr, "tally bench: out of memory\n");
        code = EXIT_FAILED;
    } else if (s.list) {
        print_list(&s, &rows);
    } else if (s.table == stdout && s.json && !can_write(s.json)) {
        fprintf(stderr, "tally bench: cannot write %s: %s\n", s.json, strerror(errno));
        code = EXIT_FAILED;
    } else if (tally_open(s.device, &device) != TALLY_OK) {
        fprintf(stderr, "tally bench: %s\n", tally_last_error());
        code = EXIT_FAILED;
    } else {
        code = bench_device(&s, device, &rows);
    }
    tally_close(device);
    bench_rows_free(&rows);
    regfree(&s.expression);
    fault f;
    if (code == 0 && (code = output_flush_standard(&f)) != 0)
        fprintf(stderr, "tally bench: %s\n", f.text);
    return code;
}
