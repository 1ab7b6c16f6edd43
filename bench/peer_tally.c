/* tally among its peers: the simple calls of its public header, as a caller's first program would use them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <math.h>
#include <tally/tally.h>

const char *const peer_name = "tally";
const char *peer_version(void) {
    return tally_version();
}

static double sum_f32(const void *x, size_t n, void *out) {
    (void)out;
    float sum;
    return tally_sum_f32(x, n, &sum) == TALLY_OK ? (double)sum : NAN;
}

static double sum_f64(const void *x, size_t n, void *out) {
    (void)out;
    double sum;
    return tally_sum_f64(x, n, &sum) == TALLY_OK ? sum : NAN;
}

static double exact_f64(const void *x, size_t n, void *out) {
    (void)out;
    double sum;
    return tally_sum_exact_f64(x, n, &sum) == TALLY_OK ? sum : NAN;
}

static double max_f32(const void *x, size_t n, void *out) {
    (void)out;
    float max;
    return tally_max_f32(x, n, &max) == TALLY_OK ? (double)max : NAN;
}

static double argmax_f32(const void *x, size_t n, void *out) {
    (void)out;
    int64_t index;
    return tally_reduce(TALLY_ARGMAX, TALLY_F32, x, n, &index) == TALLY_OK ? (double)index : NAN;
}

static double scan_f32(const void *x, size_t n, void *out) {
    return tally_cumsum_f32(x, n, out) == TALLY_OK ? (double)((float *)out)[n - 1] : NAN;
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, sum_f32, NULL}, {"sum/f64", 0, sum_f64, NULL},       {"exact/f64", 0, exact_f64, NULL},
    {"max/f32", 0, max_f32, NULL}, {"argmax/f32", 0, argmax_f32, NULL}, {"scan/f32", 4, scan_f32, NULL},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
