/* step.h: declarations for a step of the CPU family. STEP(name) begins its one function, over n values at x. The build
 * compiles it for each type and instruction set, with the compiler's own vectoriser off, so that the processor does
 * what the file says.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_LADDER_CPU_STEP_H
#define TALLY_LADDER_CPU_STEP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tally/tally.h>

#include "bench.h"

/* ---- for the back end: the table of one type and instruction set ---- */

typedef void ladder_cpu_function(const void *x, size_t n, void *out);

typedef struct ladder_cpu_entry {
    const char *name; /* the file's, without ".c" */
    ladder_cpu_function *function;
} ladder_cpu_entry;

typedef struct ladder_cpu_level {
    const char *level;
    tally_dtype dtype;
    const ladder_cpu_entry *entries;
    size_t count;
    double (*peak)(void); /* additions a second, all threads */
} ladder_cpu_level;

/* ---- for steps ---- */

#ifdef LADDER_VALUE
typedef LADDER_VALUE value;

#define STEP(name)                                                                                                     \
    static void name(const value *x, size_t n, value *out);                                                            \
    static void step_##name(const void *x, size_t n, void *out) {                                                      \
        name(x, n, out);                                                                                               \
    }                                                                                                                  \
    static void name(const value *x, size_t n, value *out)

/* 16 values: one register of AVX-512, two of AVX2, four of SSE. */
enum { LANES = 16 };
typedef value vector __attribute__((vector_size(LANES * sizeof(value))));

static inline vector load_vector(const value *x) {
    vector v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* The lanes' sum, pair by pair. */
static inline value sum_of_lanes(vector v) {
    value lane[LANES];
    memcpy(lane, &v, sizeof v);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* Runs share(context, thread, threads) on every thread at once and returns when all are done. */
#define in_parallel bench_team_run_once
#endif

#endif
