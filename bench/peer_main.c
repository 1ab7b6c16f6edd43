/* The main program of every peer. It reads requests "CASE N SECONDS" and answers each with one line "TIME CALLS
 * RESULT": the mean time of one call in a batch that lasts at least SECONDS, and the result, so that bench/run can
 * check that all peers agree. "drop" frees the data. It answers unknown cases with "none".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "peer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cli/bench_memory.h"

typedef struct workload {
    const peer_case *work;
    size_t n;
    size_t x_bytes, out_bytes;
    void *x, *out;
    size_t calls; /* a batch */
} workload;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* splitmix64's finaliser; peer_numpy.py has the same, so that all peers sum the same numbers. */
static uint64_t hash(uint64_t z) {
    z = (z + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void drop(workload *w) {
    if (w->x)
        munmap(w->x, w->x_bytes);
    if (w->out)
        munmap(w->out, w->out_bytes);
    memset(w, 0, sizeof *w);
}

/* Values uniform in [-1, 1). */
static int make(workload *w, const peer_case *work, size_t n) {
    const int is_double = strstr(work->name, "f64") != NULL;
    drop(w);
    w->work = work;
    w->n = n;
    w->x_bytes = n * ((is_double ? sizeof(double) : sizeof(float)) + (work->groups ? sizeof(int32_t) : 0));
    w->out_bytes = work->out_per_n * n + work->groups * sizeof(double) + 64;
    w->x = bench_map(w->x_bytes);
    w->out = bench_map(w->out_bytes);
    if (!w->x || !w->out)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (is_double)
            ((double *)w->x)[i] = (double)(hash(i) >> 11) * 0x1p-52 - 1;
        else
            ((float *)w->x)[i] = (float)(hash(i) >> 40) * 0x1p-23f - 1;
    }
    int32_t *const labels = (int32_t *)((char *)w->x + n * (is_double ? sizeof(double) : sizeof(float)));
    for (size_t i = 0; work->groups && i < n; i++)
        labels[i] = (int32_t)(hash(n + i) % work->groups);
    return 1;
}

static double batch(workload *w, double *result) {
    if (!w->work->run)
        return w->work->seconds(w->x, w->n, w->out, w->calls) / (double)w->calls;
    double start = now();
    for (size_t i = 0; i < w->calls; i++)
        *result = w->work->run(w->x, w->n, w->out);
    return (now() - start) / (double)w->calls;
}

static void calibrate(workload *w, double seconds) {
    double result;
    w->calls = 1;
    for (int i = 0; i < 3; i++) {
        double calls = seconds / (batch(w, &result) + 1e-10);
        if (calls <= (double)w->calls)
            return;
        w->calls = calls > 1e7 ? 10000000 : (size_t)calls + 1;
    }
}

static void answer(workload *w, const char *name, size_t n, double seconds) {
    const peer_case *work = NULL;
    for (size_t i = 0; i < peer_cases_count; i++)
        if (strcmp(peer_cases[i].name, name) == 0)
            work = &peer_cases[i];
    if (!work) {
        puts("none");
        return;
    }
    if (w->work != work || w->n != n) {
        if (!make(w, work, n)) {
            drop(w);
            puts("none");
            return;
        }
        calibrate(w, seconds);
    }
    double result = 0;
    if (w->calls > 1 && work->run) /* wakes the threads */
        w->work->run(w->x, w->n, w->out);
    double time = batch(w, &result);
    printf("%.6e %zu %.9e\n", time, w->calls, result);
}

int main(void) {
    workload w = {0};
    char line[128], name[64];
    size_t n;
    double seconds;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%s\t%s\n", peer_name, peer_version());
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "drop", 4) == 0) {
            drop(&w);
            puts("dropped");
        } else if (sscanf(line, "%63s %zu %lf", name, &n, &seconds) == 3 && n > 0) {
            answer(&w, name, n, seconds);
        } else {
            puts("none");
        }
    }
    drop(&w);
    return 0;
}
