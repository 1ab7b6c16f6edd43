/* OpenMP: a parallel simd loop with a reduction clause, and a simd loop with an inscan reduction, whose parallel form
 * gcc runs slower than this serial one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <stdio.h>

const char *const peer_name = "OpenMP";
const char *peer_version(void) {
    static char version[64];
    snprintf(version, sizeof version, "%d, %s %s", _OPENMP,
#ifdef __clang__
             "clang",
#else
             "gcc",
#endif
             __VERSION__);
    return version;
}

static double sum_f32(const void *data, size_t n, void *out) {
    const float *x = data;
    float sum = 0;
    (void)out;
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return (double)sum;
}

static double sum_f64(const void *data, size_t n, void *out) {
    const double *x = data;
    double sum = 0;
    (void)out;
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static double max_f32(const void *data, size_t n, void *out) {
    const float *x = data;
    float max = x[0];
    (void)out;
#pragma omp parallel for simd reduction(max : max) schedule(static)
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return (double)max;
}

static double scan_f32(const void *data, size_t n, void *out) {
    const float *x = data;
    float *y = out;
    float sum = 0;
#pragma omp simd reduction(inscan, + : sum)
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
#pragma omp scan inclusive(sum)
        y[i] = sum;
    }
    return (double)y[n - 1];
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, sum_f32, NULL, 0},
    {"sum/f64", 0, sum_f64, NULL, 0},
    {"max/f32", 0, max_f32, NULL, 0},
    {"scan/f32", 4, scan_f32, NULL, 0},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
