/* svg.c: the charts of a report, one below the other: bars with the roof; the roofline, on two logarithmic axes; and
 * for a sweep the time against the factor, with a mark where the blocks just fill the device. It is plain SVG for light
 * and dark pages, and the same figures give the same bytes.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 920,
    LEFT = 190, /* of the bars' names */
    RIGHT = 40,
    BAR = 17,
    BAR_STEP = 25,
    PLOT_LEFT = 80,
    PLOT_HEIGHT = 330,
    LABEL_WIDTH = 100, /* of a bar's figure */
    LABEL_STEP = 14    /* between labels that would overlap */
};

/* Text and colours that keep their contrast on white and on near black; the marks differ in shape, too. */
static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,'DejaVu Sans',Arial,sans-serif;font-size:13px;fill:#1f2328}\n"
    ".page{fill:#ffffff}.title{font-size:17px;font-weight:600}.small{font-size:12px;fill:#59636e}\n"
    ".step{fill:#3b7dd8}.own{fill:#d9641e}.wrong{fill:#9aa4af}\n"
    ".grid{stroke:#d8dee4;stroke-width:1;fill:none}.axis{stroke:#59636e;stroke-width:1;fill:none}\n"
    ".roof{stroke:#1f2328;stroke-width:2;fill:none}.dash{stroke-dasharray:6 4}.line{stroke:#3b7dd8;fill:none;"
    "stroke-width:2}\n"
    ".ownline{stroke:#d9641e;stroke-width:1.5;fill:none}.inside{font-size:12px;fill:#ffffff}\n"
    ".lead{stroke:#9aa4af;stroke-width:1;fill:none}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.page{fill:#14181d}.small{fill:#9aa7b4}\n"
    ".step{fill:#5b9bf0}.own{fill:#f08a4b}.wrong{fill:#6b7682}\n"
    ".grid{stroke:#2b333c}.axis{stroke:#9aa7b4}.roof{stroke:#e6edf3}.line{stroke:#5b9bf0}.lead{stroke:#6b7682}\n"
    ".ownline{stroke:#f08a4b}.inside{fill:#14181d}\n"
    "}\n"
    "</style>\n";

typedef struct chart {
    FILE *file;
    const ladder_report *report;
    int part;
    double top; /* of the next panel */
} chart;

/* ----------------------------------------------------------------------------------------------- elements ----- */

static void put_text(const chart *c, double x, double y, const char *anchor, const char *class, const char *format, ...)
    FAULT_PRINTF(6, 7);

static void put_text(const chart *c, double x, double y, const char *anchor, const char *class, const char *format,
                     ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(c->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
    for (const char *p = text; *p; p++)
        if (*p == '<' || *p == '&')
            fputs(*p == '<' ? "&lt;" : "&amp;", c->file);
        else
            fputc(*p, c->file);
    fputs("</text>\n", c->file);
}

static void put_line(const chart *c, double x1, double y1, double x2, double y2, const char *class) {
    fprintf(c->file, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class);
}

static const char *class_of(const ladder_result *r) {
    return strcmp(r->step->rule, "library") == 0 ? "own" : r->step->wrong_on_purpose ? "wrong" : "step";
}

static void put_mark(const chart *c, double x, double y, const ladder_result *r) {
    const char *class = class_of(r);
    if (class[0] == 'o')
        fprintf(c->file, "<path d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\" class=\"%s\"/>\n", x, y - 6, class);
    else
        fprintf(c->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" class=\"%s\"/>\n", x, y, class);
}

static bool is_shown(const chart *c, const ladder_result *r) {
    return r->step->part == c->part && r->seconds > 0;
}

static tally_form form_of(const chart *c) {
    return c->report->work->family->parts[c->part].form;
}

static double rate_of(const chart *c, const ladder_result *r) {
    return ladder_bytes(c->report->work, form_of(c)) / r->seconds;
}

static double roof_rate(const chart *c) {
    return ladder_bytes(c->report->work, form_of(c)) / c->report->roof_seconds[c->part];
}

/* The space between ticks, 1, 2 or 5 times a power of ten, for about five ticks. */
static double tick_step(double range) {
    const double rough = range / 5, ten = pow(10, floor(log10(rough)));
    return ten * (rough / ten < 1.5 ? 1 : rough / ten < 3.5 ? 2 : rough / ten < 7.5 ? 5 : 10);
}

/* --------------------------------------------------------------------------------------------------- bars ----- */

static void draw_bars(chart *c) {
    const ladder_work *w = c->report->work;
    const double roof = roof_rate(c) * 1e-9, right = WIDTH - RIGHT - 120;
    double most = roof;
    int rows = 0;
    for (size_t i = 0; i < c->report->count; i++)
        if (is_shown(c, &c->report->results[i])) {
            most = fmax(most, rate_of(c, &c->report->results[i]) * 1e-9);
            rows++;
        }
    const double scale = (right - LEFT) / (most * 1.02), top = c->top + 78, bottom = top + rows * BAR_STEP;
    put_text(c, 24, c->top + 28, "start", "title", "%s: GB/s, longer is better", w->family->parts[c->part].title);
    put_text(c, 24, c->top + 48, "start", "small", "%s; %" PRIu64 " values of %s, %s", w->info.name, w->n,
             tally_dtype_name(w->dtype), tally_op_name(w->op));
    const double step = tick_step(most);
    for (int k = 0; k * step <= most * 1.02; k++) {
        const double tick = k * step;
        put_line(c, LEFT + tick * scale, top - 4, LEFT + tick * scale, bottom, "grid");
        put_text(c, LEFT + tick * scale, bottom + 16, "middle", "small", "%g", tick);
    }
    double y = top;
    for (size_t i = 0; i < c->report->count; i++) {
        const ladder_result *r = &c->report->results[i];
        if (!is_shown(c, r))
            continue;
        const double rate = rate_of(c, r) * 1e-9;
        put_text(c, LEFT - 8, y + BAR - 4, "end", "name", "%s", r->step->name);
        fprintf(c->file, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" class=\"%s\"/>\n", LEFT, y,
                fmax(rate * scale, 1), BAR, class_of(r));
        /* Within the bar if the roof's line would cross a figure behind it. */
        const double end = LEFT + rate * scale, line = LEFT + roof * scale;
        const bool inside = end < line + 4 && end + LABEL_WIDTH > line && end > LEFT + LABEL_WIDTH;
        put_text(c, inside ? end - 6 : end + 6, y + BAR - 4, inside ? "end" : "start", inside ? "inside" : "small",
                 rate < 0.01 * roof ? "%.4g (%.1g%%)%s" : "%.4g (%.0f%%)%s", rate, 100 * rate / roof,
                 r->step->wrong_on_purpose ? " wrong on purpose" : "");
        y += BAR_STEP;
    }
    put_line(c, LEFT + roof * scale, top - 10, LEFT + roof * scale, bottom, "roof dash");
    put_text(c, LEFT + roof * scale, top - 14, "middle", "name", "roof %.4g", roof);
    c->top = bottom + 40;
}

/* ----------------------------------------------------------------------------------------------- roofline ----- */

typedef struct log_axis {
    double low, high; /* powers of ten, as exponents */
    double from, to;  /* pixels */
} log_axis;

static double place(const log_axis *axis, double value) {
    return axis->from + (log10(value) - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

static void draw_decades(const chart *c, const log_axis *x, const log_axis *y) {
    for (int e = (int)ceil(x->low); e <= (int)floor(x->high); e++) {
        const double at = place(x, pow(10, e));
        put_line(c, at, y->from, at, y->to, "grid");
        put_text(c, at, y->from + 18, "middle", "small", "%g", pow(10, e));
    }
    for (int e = (int)ceil(y->low); e <= (int)floor(y->high); e++) {
        const double at = place(y, pow(10, e));
        put_line(c, x->from, at, x->to, at, "grid");
        put_text(c, x->from - 8, at + 4, "end", "small", "%g", pow(10, e));
    }
    put_line(c, x->from, y->from, x->to, y->from, "axis");
    put_line(c, x->from, y->from, x->from, y->to, "axis");
}

typedef struct label {
    const ladder_result *result;
    double x, y, at; /* the mark, and the label's height */
} label;

/* Places the topmost label first and each other one far enough below the one before it. */
static void place_labels(label *labels, size_t count, double lowest) {
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && labels[k].y < labels[k - 1].y; k--) {
            const label swapped = labels[k];
            labels[k] = labels[k - 1];
            labels[k - 1] = swapped;
        }
    for (size_t i = 0; i < count; i++) {
        labels[i].at = labels[i].y;
        if (i > 0 && labels[i].at < labels[i - 1].at + LABEL_STEP)
            labels[i].at = labels[i - 1].at + LABEL_STEP;
    }
    /* Pushes labels that are below the lower end up again. */
    for (size_t i = count; i-- > 0 && labels[i].at > lowest; lowest -= LABEL_STEP)
        labels[i].at = lowest;
}

static void draw_marks(const chart *c, const log_axis *x, const log_axis *y) {
    const ladder_work *w = c->report->work;
    label labels[LADDER_STEPS];
    size_t count = 0;
    double rightmost = 0;
    for (size_t i = 0; i < c->report->count; i++) {
        const ladder_result *r = &c->report->results[i];
        if (!is_shown(c, r))
            continue;
        label *l = &labels[count++];
        *l = (label){r, place(x, ladder_flops(w) / ladder_moved(w, r->step)),
                     place(y, ladder_flops(w) / r->seconds * 1e-9), 0};
        rightmost = fmax(rightmost, l->x);
    }
    place_labels(labels, count, y->from - 6);
    for (size_t i = 0; i < count; i++) {
        const label *l = &labels[i];
        fprintf(c->file, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\" class=\"lead\"/>\n", l->x + 5, l->y,
                rightmost + 26, l->at, rightmost + 34, l->at);
        put_text(c, rightmost + 38, l->at + 4, "start", "small", "%s", l->result->step->name);
    }
    for (int own = 0; own < 2; own++) /* the library's mark on top of the steps' */
        for (size_t i = 0; i < count; i++)
            if ((class_of(labels[i].result)[0] == 'o') == own)
                put_mark(c, labels[i].x, labels[i].y, labels[i].result);
}

/* The axis begins low enough for all labels to stand below the roof at the topmost mark. */
static double lowest_decade(const chart *c, double highest_decade) {
    const ladder_work *w = c->report->work;
    double least = 1e300, most = 0;
    int count = 0;
    for (size_t i = 0; i < c->report->count; i++)
        if (is_shown(c, &c->report->results[i])) {
            const double rate = ladder_flops(w) / c->report->results[i].seconds * 1e-9;
            least = fmin(least, rate);
            most = fmax(most, rate);
            count++;
        }
    double decade = floor(log10(least * 0.8));
    while ((log10(most) - decade) / (highest_decade - decade) * PLOT_HEIGHT < count * LABEL_STEP)
        decade--;
    return decade;
}

static void draw_roofline(chart *c) {
    const double roof = roof_rate(c) * 1e-9, peak = c->report->peak * 1e-9, ridge = peak / roof;
    const double highest = ceil(log10(peak * 1.5));
    const double top = c->top + 66;
    const log_axis x = {floor(log10(1.0 / 64)), ceil(log10(ridge * 4)), PLOT_LEFT, WIDTH - RIGHT};
    const log_axis y = {lowest_decade(c, highest), highest, top + PLOT_HEIGHT, top};
    put_text(c, 24, c->top + 28, "start", "title", "Roofline");
    put_text(c, 24, c->top + 48, "start", "small",
             "GFLOP/s against additions for each byte moved; below the ridge at %.1f memory is the limit", ridge);
    draw_decades(c, &x, &y);
    /* From the point where it enters the plot: at the left or at the bottom. */
    const double enters = fmax(pow(10, x.low), pow(10, y.low) / roof);
    fprintf(c->file, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\" class=\"roof\"/>\n", place(&x, enters),
            place(&y, roof * enters), place(&x, ridge), place(&y, peak), x.to, place(&y, peak));
    put_text(c, x.to - 4, place(&y, peak) - 8, "end", "name", "%.0f GFLOP/s of additions", peak);
    const double half = sqrt(ridge * enters); /* in the middle of the slope */
    put_text(c, place(&x, half) - 8, place(&y, half * roof) - 4, "end", "name", "%.4g GB/s", roof);
    draw_marks(c, &x, &y);
    put_text(c, (x.from + x.to) / 2, top + PLOT_HEIGHT + 36, "middle", "small", "additions per byte moved");
    c->top = top + PLOT_HEIGHT + 60;
}

/* -------------------------------------------------------------------------------------------------- sweep ----- */

static void draw_sweep(chart *c) {
    const ladder_work *w = c->report->work;
    const ladder_result *swept[LADDER_STEPS], *own = NULL;
    size_t count = 0;
    double most = 0, full = 0;
    for (size_t i = 0; i < c->report->count; i++) {
        const ladder_result *r = &c->report->results[i];
        if (is_shown(c, r) && class_of(r)[0] == 'o')
            own = r;
        if (!is_shown(c, r) || r->step->factor == 0)
            continue;
        swept[count++] = r;
        most = fmax(most, r->seconds * 1e6);
        if (r->facts.resident)
            full = (double)w->n / ((double)r->facts.block * r->step->items * (double)r->facts.resident);
    }
    if (count < 2)
        return;
    const double top = c->top + 66, bottom = top + PLOT_HEIGHT, low = log2(swept[0]->step->factor);
    const double width = WIDTH - RIGHT - PLOT_LEFT, span = log2(swept[count - 1]->step->factor) - low;
    const double scale = PLOT_HEIGHT / (most * 1.08);
    put_text(c, 24, c->top + 28, "start", "title", "Time against the coarsening factor C");
    put_text(c, 24, c->top + 48, "start", "small", "microseconds; a thread adds %u C elements before its block's tree",
             swept[0]->step->items);
    const double step = tick_step(most);
    for (int k = 0; k * step <= most * 1.08; k++) {
        const double tick = k * step;
        put_line(c, PLOT_LEFT, bottom - tick * scale, WIDTH - RIGHT, bottom - tick * scale, "grid");
        put_text(c, PLOT_LEFT - 8, bottom - tick * scale + 4, "end", "small", "%g", tick);
    }
    const double roof = bottom - c->report->roof_seconds[c->part] * 1e6 * scale;
    put_line(c, PLOT_LEFT, roof, WIDTH - RIGHT, roof, "roof dash");
    put_text(c, WIDTH - RIGHT, roof + 16, "end", "name", "roof %.4g us", c->report->roof_seconds[c->part] * 1e6);
    if (own) {
        const double y = bottom - own->seconds * 1e6 * scale;
        put_line(c, PLOT_LEFT, y, WIDTH - RIGHT, y, "ownline dash");
        put_text(c, PLOT_LEFT + 6, y - 6, "start", "name", "library %.4g us", own->seconds * 1e6);
    }
    if (full > 0 && log2(full) >= low && log2(full) <= low + span) {
        const double x = PLOT_LEFT + 20 + (log2(full) - low) / span * (width - 40);
        put_line(c, x, top, x, bottom, "roof dash");
        put_text(c, x + 6, top + 12, "start", "name", "C = %.3g: the blocks just fill the device", full);
    }
    fputs("<path class=\"line\" d=\"", c->file);
    for (int marks = 0; marks < 2; marks++) {
        for (size_t i = 0; i < count; i++) {
            const double x = PLOT_LEFT + 20 + (log2(swept[i]->step->factor) - low) / span * (width - 40);
            const double y = bottom - swept[i]->seconds * 1e6 * scale;
            if (marks) {
                put_mark(c, x, y, swept[i]);
                put_text(c, x, bottom + 18, "middle", "small", "%u", swept[i]->step->factor);
            } else {
                fprintf(c->file, "%s%.1f %.1f", i ? "L" : "M", x, y);
            }
        }
        fputs(marks ? "" : "\"/>\n", c->file);
    }
    put_line(c, PLOT_LEFT, bottom, WIDTH - RIGHT, bottom, "axis");
    c->top = bottom + 44;
}

/* -------------------------------------------------------------------------------------------------- whole ----- */

static bool has_results(const chart *c) {
    for (size_t i = 0; i < c->report->count; i++)
        if (is_shown(c, &c->report->results[i]))
            return c->report->work->n > 0;
    return false;
}

static void draw_all(chart *c) {
    for (c->part = 0; c->part < c->report->work->family->part_count; c->part++) {
        if (!has_results(c))
            continue;
        draw_bars(c);
        draw_roofline(c);
        draw_sweep(c);
    }
}

bool ladder_put_svg(FILE *file, const ladder_report *report) {
    char *body = NULL;
    size_t bytes = 0;
    chart c = {.file = open_memstream(&body, &bytes), .report = report};
    if (!c.file)
        return false;
    draw_all(&c); /* how high the page is, is known afterwards */
    const bool drawn = fclose(c.file) == 0;
    if (drawn)
        fprintf(file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n%s"
                "<rect width=\"%d\" height=\"%.0f\" class=\"page\"/>\n%s</svg>\n",
                WIDTH, c.top + 10, WIDTH, c.top + 10, style, WIDTH, c.top + 10, body);
    free(body);
    return drawn;
}
