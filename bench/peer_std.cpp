/* The C++ standard library's parallel algorithms (with libstdc++: over oneTBB).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <algorithm>
#include <execution>
#include <numeric>

extern const char *const peer_name = "C++ std par";
const char *peer_version(void) {
    return "C++17, " __VERSION__;
}

template <typename T> static double sum(const void *data, size_t n, void *) {
    const T *x = static_cast<const T *>(data);
    return std::reduce(std::execution::par_unseq, x, x + n, T(0));
}

static double max_f32(const void *data, size_t n, void *) {
    const float *x = static_cast<const float *>(data);
    return std::reduce(std::execution::par_unseq, x, x + n, x[0], [](float a, float b) { return a > b ? a : b; });
}

static double argmax_f32(const void *data, size_t n, void *) {
    const float *x = static_cast<const float *>(data);
    return static_cast<double>(std::max_element(std::execution::par_unseq, x, x + n) - x);
}

static double scan_f32(const void *data, size_t n, void *out) {
    const float *x = static_cast<const float *>(data);
    float *y = static_cast<float *>(out);
    std::inclusive_scan(std::execution::par_unseq, x, x + n, y);
    return y[n - 1];
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, sum<float>, nullptr, 0}, {"sum/f64", 0, sum<double>, nullptr, 0},
    {"max/f32", 0, max_f32, nullptr, 0},    {"argmax/f32", 0, argmax_f32, nullptr, 0},
    {"scan/f32", 4, scan_f32, nullptr, 0},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
