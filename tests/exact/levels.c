/* See levels.h. TALLY_HAS_LEVEL_* come from the build.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "levels.h"

static int collect(const tally_exact_kernels *levels[3]) {
    int count = 0;
#if defined(TALLY_HAS_LEVEL_baseline)
    levels[count++] = &tally_exact_kernels_baseline;
#endif
#if defined(TALLY_HAS_LEVEL_avx2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        levels[count++] = &tally_exact_kernels_avx2;
#endif
#if defined(TALLY_HAS_LEVEL_avx512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        levels[count++] = &tally_exact_kernels_avx512;
#endif
    return count;
}

int levels_count(void) {
    const tally_exact_kernels *levels[3];
    return collect(levels);
}

const tally_exact_kernels *levels_at(int index) {
    const tally_exact_kernels *levels[3];
    collect(levels);
    return levels[index];
}
