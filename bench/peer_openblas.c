/* OpenBLAS: the sum of absolute values, and its extension for the index of the maximum. It has no scan.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <cblas.h>
#include <math.h>

const char *const peer_name = "OpenBLAS";
const char *peer_version(void) {
    return openblas_get_config();
}

/* The sum of absolute values stands in for the sum: it reads the same bytes, and cblas_ssum of OpenBLAS 0.3.21 returns
 * a wrong sum on processors with AVX-512. NaN tells bench/run not to compare the result. */
static double sum_f32(const void *x, size_t n, void *out) {
    (void)out;
    return cblas_sasum((blasint)n, x, 1) >= 0 ? NAN : -1;
}

static double sum_f64(const void *x, size_t n, void *out) {
    (void)out;
    return cblas_dasum((blasint)n, x, 1) >= 0 ? NAN : -1;
}

static double argmax_f32(const void *x, size_t n, void *out) {
    (void)out;
    return (double)cblas_ismax((blasint)n, x, 1);
}

static double max_f32(const void *x, size_t n, void *out) {
    (void)out;
    return (double)((const float *)x)[cblas_ismax((blasint)n, x, 1)];
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, sum_f32, NULL, 0},
    {"sum/f64", 0, sum_f64, NULL, 0},
    {"max/f32", 0, max_f32, NULL, 0},
    {"argmax/f32", 0, argmax_f32, NULL, 0},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
