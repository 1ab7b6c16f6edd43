/* simd-wide: four vectors of sixteen sums.
 *
 * Removes: both the chain and the instructions: wide additions that do not wait for each other.
 * Left: one core. It can have only so many cache lines under way from memory, fewer than memory can deliver.
 * Look at: percent of the roof: the most that one core can read from memory. With a smaller --n, which stays in the
 * cache, the additions become visible. */
#include "step.h"

STEP(simd_wide) {
    vector a = {0}, b = {0}, c = {0}, d = {0};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        a += load_vector(x + i), b += load_vector(x + i + LANES);
        c += load_vector(x + i + 2 * LANES), d += load_vector(x + i + 3 * LANES);
    }
    value total = sum_of_lanes((a + b) + (c + d));
    for (; i < n; i++)
        total += x[i];
    *out = total;
}
