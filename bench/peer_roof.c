/* The roof among the peers: the loops of `tally bench`, which read x or copy it. Each batch runs every loop (one thread
 * and all, plain and streaming stores, memcpy), and the best one counts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "peer.h"

#include "../cli/bench.h"

const char *const peer_name = "roof";
const char *peer_version(void) {
    return bench_roof_instructions();
}

static void start_team_once(void) {
    static bool started;
    if (!started)
        bench_team_start(bench_threads_of("cpu"));
    started = true;
}

/* The best of all ways, one after the other. */
static double seconds_of(const bench_roof *roof, size_t calls) {
    double best = bench_roof_seconds(roof, 0, calls);
    for (size_t way = 1; way < bench_roof_ways(roof); way++) {
        double seconds = bench_roof_seconds(roof, way, calls);
        best = seconds < best ? seconds : best;
    }
    return best;
}

static double read_f32(const void *x, size_t n, void *out, size_t calls) {
    (void)out;
    start_team_once();
    bench_roof roof;
    bench_roof_of(&(bench_span){(void *)x, n * sizeof(float)}, 1, NULL, 0, &roof);
    return seconds_of(&roof, calls);
}

static double read_f64(const void *x, size_t n, void *out, size_t calls) {
    return read_f32(x, 2 * n, out, calls);
}

static double copy_f32(const void *x, size_t n, void *out, size_t calls) {
    start_team_once();
    bench_roof roof;
    bench_roof_of(&(bench_span){(void *)x, n * sizeof(float)}, 1, &(bench_span){out, n * sizeof(float)}, 1, &roof);
    return seconds_of(&roof, calls);
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, NULL, read_f32, 0},          {"sum/f64", 0, NULL, read_f64, 0},
    {"exact/f64", 0, NULL, read_f64, 0},        {"max/f32", 0, NULL, read_f32, 0},
    {"argmax/f32", 0, NULL, read_f32, 0},       {"scan/f32", 4, NULL, copy_f32, 0},
    {"labels_256/f32", 0, NULL, read_f64, 256}, {"labels_65536/f32", 0, NULL, read_f64, 65536},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
