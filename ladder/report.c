/* report.c: the figures for programs, as JSON and CSV. Both have every figure of the table and the figures behind it. A
 * figure that was not measured is null, or an empty field.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "print.h"

/* One figure of a result: its name and its value, NaN for none. */
typedef struct figure {
    const char *name;
    double value;
} figure;

enum { FIGURES = 18 };

static size_t figures_of(const ladder_report *report, const ladder_result *r, figure out[FIGURES]) {
    const ladder_work *w = report->work;
    const tally_form form = w->family->parts[r->step->part].form;
    const double bytes = ladder_bytes(w, form), roof = report->roof_seconds[r->step->part];
    const ladder_result *baseline = ladder_baseline(report, r->step->part);
    const bool timed = r->seconds > 0;
    const figure all[] = {
        {"seconds", timed ? r->seconds : NAN},
        {"total_seconds", timed ? r->total : NAN},
        {"runs", timed ? r->runs : NAN},
        {"bytes", bytes},
        {"gb_per_s", timed ? bytes / r->seconds * 1e-9 : NAN},
        {"gflop_per_s", timed ? ladder_flops(w) / r->seconds * 1e-9 : NAN},
        {"roof_ratio", timed ? roof / r->seconds : NAN},
        {"speed_up", timed && baseline ? baseline->seconds / r->seconds : NAN},
        {"relative_error", timed ? r->error : NAN},
        {"published", r->step->published > 0 ? r->step->published : NAN},
        {"factor", r->step->factor > 0 ? r->step->factor : NAN},
        {"launches", timed ? r->facts.launches : NAN},
        {"blocks", timed ? (double)r->facts.blocks : NAN},
        {"block_threads", timed ? r->facts.block : NAN},
        {"resident_blocks", timed && r->facts.resident ? (double)r->facts.resident : NAN},
        {"registers", timed && r->facts.registers ? r->facts.registers : NAN},
        {"atomics", timed ? (double)ladder_atomics(w, r) : NAN},
        {"moved_bytes", ladder_moved(w, r->step)},
    };
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof *all;
}

static const char *verdict_of(const ladder_result *r) {
    return r->why[0] ? "not run" : !r->checked ? "unchecked" : r->right ? "right" : "wrong";
}

/* -------------------------------------------------------------------------------------------------- JSON ----- */

static void put_number(FILE *file, double value) {
    if (isfinite(value))
        fprintf(file, "%.9g", value);
    else
        fputs("null", file);
}

static void put_text(FILE *file, const char *name, const char *text) {
    fprintf(file, "\"%s\": ", name);
    print_json_string_to(file, text);
}

static void put_counters(FILE *file, const double *counters) {
    fputc('{', file);
    for (int c = 0; c < LADDER_COUNTERS; c++) {
        fprintf(file, "%s\"%s\": ", c ? ", " : "", ladder_counters[c]);
        put_number(file, counters[c]);
    }
    fputc('}', file);
}

static void put_result(FILE *file, const ladder_report *report, const ladder_result *r) {
    figure figures[FIGURES];
    const size_t count = figures_of(report, r, figures);
    fputs("\n    {", file);
    put_text(file, "step", r->step->name);
    fputs(", ", file);
    put_text(file, "part", report->work->family->parts[r->step->part].title);
    fputs(", ", file);
    put_text(file, "verdict", verdict_of(r));
    fprintf(file, ", \"wrong_on_purpose\": %s,\n     ", r->step->wrong_on_purpose ? "true" : "false");
    put_text(file, "says", r->why[0] ? r->why : r->says);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, ",%s\"%s\": ", i % 5 == 0 ? "\n     " : " ", figures[i].name);
        put_number(file, figures[i].value);
    }
    if (report->profiled) {
        fputs(",\n     \"counters\": ", file);
        put_counters(file, r->counters);
        fputs(",\n     \"kernels\": [", file);
        for (int k = 0; k < LADDER_KERNELS && r->kernels[k].launches; k++) {
            fputs(k ? ",\n       {" : "\n       {", file);
            put_text(file, "kernel", r->kernels[k].name);
            fprintf(file, ", \"launches\": %u, \"counters\": ", r->kernels[k].launches);
            put_counters(file, r->kernels[k].counters);
            fputc('}', file);
        }
        fputc(']', file);
    }
    fputc('}', file);
}

bool ladder_put_json(FILE *file, const ladder_report *report) {
    const ladder_work *w = report->work;
    fputs("{\n  ", file);
    put_text(file, "family", w->family->name);
    fputs(", ", file);
    put_text(file, "title", w->family->title);
    fputs(",\n  ", file);
    put_text(file, "tally_version", tally_version());
    fputs(", ", file);
    put_text(file, "device", w->info.spec);
    fputs(", ", file);
    put_text(file, "device_name", w->info.name);
    fputs(", ", file);
    put_text(file, "device_detail", w->info.detail);
    fprintf(file, ",\n  \"n\": %" PRIu64 ", \"dtype\": \"%s\", \"op\": \"%s\", \"time_is\": \"%s\",\n", w->n,
            tally_dtype_name(w->dtype), tally_op_name(w->op), w->backend->best ? "best" : "median");
    fputs("  \"additions_per_s\": ", file);
    put_number(file, report->peak);
    fputs(", \"roofs\": [", file);
    for (int part = 0; part < w->family->part_count; part++) {
        fprintf(file, "%s{\"part\": ", part ? ", " : "");
        print_json_string_to(file, w->family->parts[part].title);
        fputs(", \"seconds\": ", file);
        put_number(file, report->roof_seconds[part] > 0 ? report->roof_seconds[part] : NAN);
        fputc('}', file);
    }
    fputs("],\n  ", file);
    put_text(file, "published_unit", w->family->published_unit);
    fputs(", ", file);
    put_text(file, "published_on", w->family->published_on);
    fputs(",\n  \"results\": [", file);
    for (size_t i = 0; i < report->count; i++) {
        fputs(i ? "," : "", file);
        put_result(file, report, &report->results[i]);
    }
    fputs("\n  ]\n}\n", file);
    return true;
}

/* --------------------------------------------------------------------------------------------------- CSV ----- */

static void put_field(FILE *file, const char *text) {
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++)
        fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', file);
}

static void put_header(FILE *file, const ladder_report *report) {
    figure figures[FIGURES];
    const ladder_result empty = {.step = report->work->family->steps};
    const size_t count = figures_of(report, &empty, figures);
    fputs("family,part,step,device,dtype,op,n,verdict,says,wrong_on_purpose", file);
    for (size_t i = 0; i < count; i++)
        fprintf(file, ",%s", figures[i].name);
    for (int c = 0; report->profiled && c < LADDER_COUNTERS; c++) {
        fputc(',', file);
        put_field(file, ladder_counters[c]);
    }
    fputc('\n', file);
}

static void put_row(FILE *file, const ladder_report *report, const ladder_result *r) {
    const ladder_work *w = report->work;
    figure figures[FIGURES];
    const size_t count = figures_of(report, r, figures);
    fprintf(file, "%s,", w->family->name);
    put_field(file, w->family->parts[r->step->part].title);
    fprintf(file, ",%s,%s,%s,%s,%" PRIu64 ",%s,", r->step->name, w->info.spec, tally_dtype_name(w->dtype),
            tally_op_name(w->op), w->n, verdict_of(r));
    put_field(file, r->why[0] ? r->why : r->says);
    fprintf(file, ",%d", r->step->wrong_on_purpose);
    for (size_t i = 0; i < count; i++)
        fprintf(file, isfinite(figures[i].value) ? ",%.9g" : ",", figures[i].value);
    for (int c = 0; report->profiled && c < LADDER_COUNTERS; c++)
        fprintf(file, isfinite(r->counters[c]) ? ",%.9g" : ",", r->counters[c]);
    fputc('\n', file);
}

bool ladder_put_csv(FILE *file, const ladder_report *report) {
    put_header(file, report);
    for (size_t i = 0; i < report->count; i++)
        put_row(file, report, &report->results[i]);
    return true;
}
