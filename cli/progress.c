/* progress.c: see progress.h. One command has one line, so its state is the file's.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double first_line_s = 1.0, between_lines_s = 0.2;

static struct {
    bool on, shown;
    uint64_t expected, done;
    double began, last;
} line;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(bool results_on_terminal) {
    line.on = isatty(STDERR_FILENO) && !(results_on_terminal && isatty(STDOUT_FILENO));
    line.began = line.last = line.on ? now() : 0;
}

void progress_expect(uint64_t bytes) {
    line.expected += bytes;
}

static void show(double seconds) {
    const double gigabytes = 1e-9 * (double)line.done;
    fprintf(stderr, "\r\033[Ktally: ");
    if (line.expected > 0 && line.done <= line.expected)
        fprintf(stderr, "%3.0f%%, %.2f of %.2f GB", 100.0 * (double)line.done / (double)line.expected, gigabytes,
                1e-9 * (double)line.expected);
    else
        fprintf(stderr, "%.2f GB", gigabytes);
    fprintf(stderr, ", %.2f GB/s", gigabytes / seconds);
    fflush(stderr);
    line.shown = true;
}

void progress_add(uint64_t bytes) {
    line.done += bytes;
    if (!line.on)
        return;
    const double t = now();
    if (t - line.began < first_line_s || t - line.last < between_lines_s)
        return;
    line.last = t;
    show(t - line.began);
}

void progress_end(void) {
    if (line.shown)
        fprintf(stderr, "\r\033[K");
    line.on = line.shown = false;
}
