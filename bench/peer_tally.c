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

/* One plan serves all calls. The result is the sum of the group in the middle. */
static double by_labels(const void *x, size_t n, void *out, size_t groups) {
    static tally_device *device;
    static tally_plan *plan;
    if (!plan) {
        tally_desc desc = TALLY_DESC_INIT;
        desc.op = TALLY_SUM;
        desc.in = TALLY_F32;
        desc.grouping = TALLY_LABELS;
        desc.index = TALLY_I32;
        if (tally_open("cpu", &device) != TALLY_OK || tally_plan_create(device, &desc, &plan) != TALLY_OK)
            return NAN;
    }
    tally_args args = TALLY_ARGS_INIT;
    args.x = x;
    args.labels = (const float *)x + n;
    args.out = out;
    args.out_bytes = groups * sizeof(float);
    args.shape = (tally_shape){.outer = 1, .extent = n, .inner = 1, .groups = groups};
    return tally_run(plan, &args, NULL) == TALLY_OK ? (double)((const float *)out)[groups / 2] : NAN;
}

static double labels_256_f32(const void *x, size_t n, void *out) {
    return by_labels(x, n, out, 256);
}

static double labels_65536_f32(const void *x, size_t n, void *out) {
    return by_labels(x, n, out, 65536);
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, sum_f32, NULL, 0},
    {"sum/f64", 0, sum_f64, NULL, 0},
    {"exact/f64", 0, exact_f64, NULL, 0},
    {"max/f32", 0, max_f32, NULL, 0},
    {"argmax/f32", 0, argmax_f32, NULL, 0},
    {"scan/f32", 4, scan_f32, NULL, 0},
    {"labels_256/f32", 0, labels_256_f32, NULL, 256},
    {"labels_65536/f32", 0, labels_65536_f32, NULL, 65536},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
