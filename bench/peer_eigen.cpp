/* Eigen: the reductions of a mapped array, one thread. It has no scan.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <Eigen/Core>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

extern const char *const peer_name = "Eigen";
const char *peer_version(void) {
    return TEXT(EIGEN_WORLD_VERSION) "." TEXT(EIGEN_MAJOR_VERSION) "." TEXT(EIGEN_MINOR_VERSION);
}

template <typename T> using array = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

template <typename T> static double sum(const void *x, size_t n, void *) {
    return array<T>(static_cast<const T *>(x), static_cast<Eigen::Index>(n)).sum();
}

static double max_f32(const void *x, size_t n, void *) {
    return array<float>(static_cast<const float *>(x), static_cast<Eigen::Index>(n)).maxCoeff();
}

static double argmax_f32(const void *x, size_t n, void *) {
    Eigen::Index at;
    array<float>(static_cast<const float *>(x), static_cast<Eigen::Index>(n)).maxCoeff(&at);
    return static_cast<double>(at);
}

const peer_case peer_cases[] = {
    {"sum/f32", 0, sum<float>, nullptr, 0},
    {"sum/f64", 0, sum<double>, nullptr, 0},
    {"max/f32", 0, max_f32, nullptr, 0},
    {"argmax/f32", 0, argmax_f32, nullptr, 0},
};
const size_t peer_cases_count = sizeof peer_cases / sizeof peer_cases[0];
