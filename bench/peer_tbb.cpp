/* oneTBB: parallel_reduce and parallel_scan with bodies that the compiler vectorises.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <oneapi/tbb.h>

using range = oneapi::tbb::blocked_range<size_t>;

extern const char *const peer_name = "oneTBB";
const char *peer_version(void) {
    return TBB_runtime_version();
}

/* The loops stand in functions of their own: gcc does not vectorise them inside a lambda. */
template <typename T> static T sum_of(const T *x, size_t start, size_t end) {
    T total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = start; i < end; i++)
        total += x[i];
    return total;
}

static float max_of(const float *x, size_t start, size_t end) {
    float max = x[start];
#pragma omp simd reduction(max : max)
    for (size_t i = start; i < end; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

static float scan_of(const float *x, float *y, size_t start, size_t end, float total) {
#pragma omp simd reduction(inscan, + : total)
    for (size_t i = start; i < end; i++) {
        total += x[i];
#pragma omp scan inclusive(total)
        y[i] = total;
    }
    return total;
}

template <typename T> static double sum(const void *data, size_t n, void *) {
    const T *x = static_cast<const T *>(data);
    return oneapi::tbb::parallel_reduce(
        range(0, n, 16384), T(0), [x](const range &r, T total) { return total + sum_of(x, r.begin(), r.end()); },
        [](T a, T b) { return a + b; });
}

static double max_f32(const void *data, size_t n, void *) {
    const float *x = static_cast<const float *>(data);
    auto larger = [](float a, float b) { return a > b ? a : b; };
    return oneapi::tbb::parallel_reduce(
        range(0, n, 16384), x[0],
        [x, larger](const range &r, float max) { return larger(max, max_of(x, r.begin(), r.end())); }, larger);
}

static double scan_f32(const void *data, size_t n, void *out) {
    const float *x = static_cast<const float *>(data);
    float *y = static_cast<float *>(out);
    oneapi::tbb::parallel_scan(
        range(0, n, 16384), 0.0f,
        [x, y](const range &r, float total, bool is_final) {
            return is_final ? scan_of(x, y, r.begin(), r.end(), total) : total + sum_of(x, r.begin(), r.end());
        },
        [](float a, float b) { return a + b; });
    return y[n - 1];
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, sum<float>, nullptr, 0},
    {"sum/f64", 0, sum<double>, nullptr, 0},
    {"max/f32", 0, max_f32, nullptr, 0},
    {"scan/f32", 4, scan_f32, nullptr, 0},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
