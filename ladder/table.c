/* table.c: the tables for people.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"

static const char *size_text(uint64_t n, char text[32]) {
    int exponent = 0;
    while (n > 1 && n >> exponent > 1)
        exponent++;
    if (n >= 1024 && n == UINT64_C(1) << exponent)
        snprintf(text, 32, "2^%d", exponent);
    else
        snprintf(text, 32, "%" PRIu64, n);
    return text;
}

/* The published figure of a step and its speed-up over the family's first published figure. */
static double published_ratio(const ladder_family *family, const ladder_step *step) {
    for (size_t i = 0; i < family->step_count; i++) {
        const double first = family->steps[i].published;
        if (first > 0)
            return strcmp(family->published_unit, "GB/s") == 0 ? step->published / first : first / step->published;
    }
    return 0;
}

/* A terminal that is too narrow for all columns shows no GFLOP/s and no published figures; 80 characters then suffice.
 */
static bool is_narrow(FILE *file, const ladder_family *family) {
    struct winsize size;
    const int wanted = family->published_unit[0] ? 108 : 90;
    return isatty(fileno(file)) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
           size.ws_col < wanted;
}

void ladder_table_head(FILE *file, const ladder_report *report, int part) {
    const ladder_work *w = report->work;
    const ladder_family *family = w->family;
    char size[32];
    const double bytes = ladder_bytes(w, w->form), roof = bytes / report->roof_seconds[part];
    fprintf(file, "\n%s: %s of %s %s\n", family->parts[part].title, tally_op_name(w->op), size_text(w->n, size),
            tally_dtype_name(w->dtype));
    if (part == 0)
        fprintf(file, "%s (%s); %s of %u run%s\n", w->info.name, w->info.detail, w->backend->best ? "best" : "median",
                report->repeat, report->repeat == 1 ? "" : "s");
    if (part == 0 && w->software)
        fputs("a software device: whether results are right can be seen here, how fast a GPU is cannot\n", file);
    fprintf(file, "roof %.1f GB/s: %s\n", w->n ? roof * 1e-9 : 0, w->backend->roof_note);
    if (w->n)
        fprintf(file,
                "one addition for %g bytes: at most %.1f GFLOP/s; memory is the limit below %.1f additions per byte "
                "(%.0f GFLOP/s)\n",
                bytes / ladder_flops(w), ladder_flops(w) / report->roof_seconds[part] * 1e-9, report->peak / roof,
                report->peak * 1e-9);
    const bool narrow = is_narrow(file, family);
    fprintf(file, "\n  %-20s%12s %9s ", "step", "time", "GB/s");
    if (!narrow)
        fprintf(file, "%9s ", "GFLOP/s");
    fprintf(file, "%7s %9s %9s  ", "roof", "speed-up", "error");
    if (!narrow && family->published_unit[0])
        fprintf(file, "%-17s ", "published");
    fputs("result\n", file);
}

void ladder_table_name(FILE *file, const ladder_step *step) {
    fprintf(file, "  %-20s", step->name);
    fflush(file); /* shows the row while it is being measured */
}

void ladder_table_round(FILE *file, unsigned done, unsigned rounds) {
    static double shown;
    const double now = bench_now();
    if (!isatty(fileno(file)) || (done > 0 && done < rounds && now - shown < 0.2))
        return;
    shown = now;
    fputs("\r\033[K", file);
    if (done < rounds)
        fprintf(file, "  %u of %u rounds", done, rounds);
    fflush(file);
}

static void print_published(FILE *file, const ladder_family *family, const ladder_step *step) {
    char text[40] = "";
    if (!family->published_unit[0])
        return;
    if (step->published > 0)
        snprintf(text, sizeof text, "%g %s %.2fx", step->published, family->published_unit,
                 published_ratio(family, step));
    fprintf(file, "%-17s ", text);
}

void ladder_table_row(FILE *file, const ladder_report *report, const ladder_result *r) {
    const ladder_work *w = report->work;
    if (r->why[0]) {
        fprintf(file, "  not run: %.*s\n", (int)strcspn(r->why, "\n"), r->why); /* the files have the whole message */
        return;
    }
    if (r->seconds <= 0) {
        fprintf(file, "  WRONG: %s\n", r->says);
        return;
    }
    const double bytes = ladder_bytes(w, w->form), roof = report->roof_seconds[r->step->part];
    const ladder_result *baseline = ladder_baseline(report, r->step->part);
    const bool narrow = is_narrow(file, w->family);
    char speedup[24] = "", share[24] = "";
    if (baseline) /* for steps before the baseline it is not measured yet */
        snprintf(speedup, sizeof speedup, "%.2f", baseline->seconds / r->seconds);
    if (w->n)
        snprintf(share, sizeof share, "%.1f%%", 100 * roof / r->seconds);
    bench_print_time(file, r->seconds);
    fprintf(file, " %9.1f ", bytes / r->seconds * 1e-9);
    if (!narrow)
        fprintf(file, "%9.2f ", ladder_flops(w) / r->seconds * 1e-9);
    fprintf(file, "%7s %9s ", share, speedup);
    if (r->error == 0)
        fprintf(file, "%9s  ", "0");
    else
        fprintf(file, "%9.1e  ", r->error);
    if (!narrow)
        print_published(file, w->family, r->step);
    if (r->step->wrong_on_purpose)
        fprintf(file, "wrong on purpose: %s\n", r->right ? "right this time" : r->says);
    else
        fputs("right\n", file);
    fflush(file);
}

/* -------------------------------------------------------------------------------------------------- models ----- */

static double blocks_of(const ladder_work *w, const ladder_result *r) {
    (void)w;
    return (double)r->facts.blocks;
}

static double launches_of(const ladder_work *w, const ladder_result *r) {
    (void)w;
    return r->facts.launches;
}

static double registers_of(const ladder_work *w, const ladder_result *r) {
    (void)w;
    return r->facts.registers ? r->facts.registers : NAN;
}

static double atomics_of(const ladder_work *w, const ladder_result *r) {
    return (double)ladder_atomics(w, r);
}

static double megabytes_of(const ladder_work *w, const ladder_result *r) {
    return ladder_moved(w, r->step) * 1e-6;
}

static double resident_of(const ladder_work *w, const ladder_result *r) {
    (void)w;
    return r->step->factor ? (double)r->facts.resident : NAN;
}

static double tree_steps_of(const ladder_work *w, const ladder_result *r) {
    const ladder_step *step = r->step;
    return step->factor ? (double)ladder_tree_steps(w->n, r->facts.block, step->items * step->factor, r->facts.resident)
                        : NAN;
}

/* Figures that follow from the design. A column is shown if any step has a value other than 'trivial'. */
static const struct {
    const char *head; /* NULL: what the back end calls them */
    int width, decimals;
    double trivial;
    double (*value)(const ladder_work *w, const ladder_result *r);
} models[] = {
    {NULL, 11, 0, -1, blocks_of},
    {"launches", 9, 0, 1, launches_of},
    {"registers", 10, 0, 0, registers_of},
    {"atomics", 10, 0, 0, atomics_of},
    {"MB moved", 9, 1, -1, megabytes_of},
    {"resident", 9, 0, 0, resident_of},
    {"tree steps", 11, 0, 0, tree_steps_of},
};
enum { MODELS = sizeof models / sizeof *models };

static bool has_model(const ladder_result *r, int part) {
    return r->step->part == part && r->seconds > 0 && strcmp(r->step->rule, "library") != 0;
}

void ladder_table_models(FILE *file, const ladder_report *report, int part) {
    const ladder_work *w = report->work;
    bool shown[MODELS] = {false}, any = false, sweep = false;
    for (size_t i = 0; i < report->count; i++) {
        const ladder_result *r = &report->results[i];
        for (int m = 0; has_model(r, part) && m < MODELS; m++)
            shown[m] = shown[m] || models[m].value(w, r) > models[m].trivial;
        any = any || has_model(r, part);
        sweep = sweep || (has_model(r, part) && r->step->factor > 0);
    }
    if (!any)
        return;
    fprintf(file, "\n  %-20s", "by design");
    for (int m = 0; m < MODELS; m++)
        if (shown[m])
            fprintf(file, "%*s", models[m].width, models[m].head ? models[m].head : w->backend->workers);
    fputc('\n', file);
    for (size_t i = 0; i < report->count; i++) {
        const ladder_result *r = &report->results[i];
        if (!has_model(r, part))
            continue;
        fprintf(file, "  %-20s", r->step->name);
        for (int m = 0; m < MODELS; m++) {
            const double value = models[m].value(w, r);
            if (shown[m] && isnan(value))
                fprintf(file, "%*s", models[m].width, "");
            else if (shown[m])
                fprintf(file, "%*.*f", models[m].width, models[m].decimals, value);
        }
        fputc('\n', file);
    }
    if (sweep)
        fprintf(file,
                "\n  Tree steps: waves of resident blocks x (elements of a thread - 1 + log2 of the block). With 8\n"
                "  threads and 32 elements, two blocks one after the other take %" PRIu64
                ", one coarsened block takes %" PRIu64 ".\n",
                ladder_tree_steps(32, 8, 2, 1), ladder_tree_steps(32, 8, 4, 1));
}

/* ------------------------------------------------------------------------------------------------ counters ----- */

static void print_counter(FILE *file, double value) {
    if (isnan(value))
        fprintf(file, " %11s", "");
    else
        fprintf(file, " %11.6g", value);
}

/* All launches together and, if there are several kernels, each of them. */
static void print_counters(FILE *file, const ladder_result *r) {
    const bool several = r->kernels[1].launches > 0;
    fprintf(file, "\n  %-46s", r->step->name);
    if (several)
        fprintf(file, " %11s", "together");
    for (int k = 0; k < LADDER_KERNELS && several && r->kernels[k].launches; k++)
        fprintf(file, " %11s", r->kernels[k].name);
    fputc('\n', file);
    if (several) {
        fprintf(file, "    %-44s %11u", "launches", r->facts.launches);
        for (int k = 0; k < LADDER_KERNELS && r->kernels[k].launches; k++)
            fprintf(file, " %11u", r->kernels[k].launches);
        fputc('\n', file);
    }
    for (int c = 0; c < LADDER_COUNTERS; c++) {
        if (isnan(r->counters[c]))
            continue;
        fprintf(file, "    %-44s", ladder_counters[c]);
        print_counter(file, r->counters[c]);
        for (int k = 0; k < LADDER_KERNELS && several && r->kernels[k].launches; k++)
            print_counter(file, r->kernels[k].counters[c]);
        fputc('\n', file);
    }
}

void ladder_table_counters(FILE *file, const ladder_report *report) {
    char remark[400];
    fault f;
    for (size_t i = 0; i < report->count; i++) {
        const ladder_result *r = &report->results[i];
        char *source = NULL;
        bool any = false;
        for (int c = 0; c < LADDER_COUNTERS; c++)
            any = any || !isnan(r->counters[c]);
        if (!any)
            continue;
        print_counters(file, r);
        if (ladder_source(report->work->family, r->step, &source, &f) == 0 &&
            ladder_remark(source, "Look at", remark, sizeof remark))
            fprintf(file, "    -> %s\n", remark);
        free(source);
    }
}
