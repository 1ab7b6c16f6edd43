/* table.c: the tables for people.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* What the published column gives a step, its speed-up over the family's first published one too. */
static double published_ratio(const ladder_family *family, const ladder_step *step) {
    for (size_t i = 0; i < family->step_count; i++) {
        const double first = family->steps[i].published;
        if (first > 0)
            return strcmp(family->published_unit, "GB/s") == 0 ? step->published / first : first / step->published;
    }
    return 0;
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
                "one addition for %g bytes: at most %.1f GFLOP/s; memory is the limit below %.1f additions a byte "
                "(%.0f GFLOP/s)\n",
                bytes / ladder_flops(w), ladder_flops(w) / report->roof_seconds[part] * 1e-9, report->peak / roof,
                report->peak * 1e-9);
    fprintf(file, "\n  %-22s%12s %9s %9s %7s %9s %9s  ", "step", "time", "GB/s", "GFLOP/s", "roof", "speed-up",
            "error");
    if (family->published_unit[0])
        fprintf(file, "%-17s ", "published");
    fputs("result\n", file);
}

void ladder_table_name(FILE *file, const ladder_step *step) {
    fprintf(file, "  %-22s", step->name);
    fflush(file); /* the row is seen while it is being measured */
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
        fprintf(file, "  not run: %.*s\n", (int)strcspn(r->why, "\n"), r->why); /* all of it is in the files */
        return;
    }
    if (r->seconds <= 0) {
        fprintf(file, "  WRONG: %s\n", r->says);
        return;
    }
    const double bytes = ladder_bytes(w, w->form), roof = report->roof_seconds[r->step->part];
    const ladder_result *baseline = ladder_baseline(report, r->step->part);
    char speedup[24] = "";
    if (baseline) /* it is not measured yet for steps that come before it */
        snprintf(speedup, sizeof speedup, "%.2f", baseline->seconds / r->seconds);
    bench_print_time(file, r->seconds);
    fprintf(file, " %9.1f %9.2f %6.1f%% %9s ", bytes / r->seconds * 1e-9, ladder_flops(w) / r->seconds * 1e-9,
            100 * roof / r->seconds, speedup);
    if (r->error == 0)
        fprintf(file, "%9s  ", "0");
    else
        fprintf(file, "%9.1e  ", r->error);
    print_published(file, w->family, r->step);
    if (r->step->wrong_on_purpose)
        fprintf(file, "wrong on purpose: %s\n", r->right ? "right this time" : r->says);
    else
        fputs("right\n", file);
    fflush(file);
}

/* -------------------------------------------------------------------------------------------------- models ----- */

static bool has_sweep(const ladder_report *report, int part) {
    for (size_t i = 0; i < report->count; i++)
        if (report->results[i].step->part == part && report->results[i].step->factor > 0)
            return true;
    return false;
}

static void print_tree_steps(FILE *file, const ladder_work *w, const ladder_result *r) {
    const ladder_step *step = r->step;
    if (step->factor == 0)
        return;
    fprintf(file, " %9" PRIu64 " %9" PRIu64, r->facts.resident,
            ladder_tree_steps(w->n, r->facts.block, step->items * step->factor, r->facts.resident));
}

void ladder_table_models(FILE *file, const ladder_report *report, int part) {
    const ladder_work *w = report->work;
    const bool sweep = has_sweep(report, part);
    fprintf(file, "\n  %-22s%12s %9s %9s %12s %12s%s\n", "by design", "blocks", "launches", "registers", "atomics",
            "MB moved", sweep ? "  resident tree steps" : "");
    for (size_t i = 0; i < report->count; i++) {
        const ladder_result *r = &report->results[i];
        if (r->step->part != part || r->why[0] || strcmp(r->step->rule, "library") == 0)
            continue;
        fprintf(file, "  %-22s%12" PRIu64 " %9u ", r->step->name, r->facts.blocks, r->facts.launches);
        if (r->facts.registers)
            fprintf(file, "%9d ", r->facts.registers);
        else
            fprintf(file, "%9s ", "");
        fprintf(file, "%12" PRIu64 " %12.1f", ladder_atomics(w, r), ladder_moved(w, r->step) * 1e-6);
        print_tree_steps(file, w, r);
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
        fprintf(file, "\n  %s\n", r->step->name);
        for (int c = 0; c < LADDER_COUNTERS; c++)
            if (!isnan(r->counters[c]))
                fprintf(file, "    %-52s %14.6g\n", ladder_counters[c], r->counters[c]);
        if (ladder_source(report->work->family, r->step, &source, &f) == 0 &&
            ladder_remark(source, "Look at", remark, sizeof remark))
            fprintf(file, "    -> %s\n", remark);
        free(source);
    }
}
