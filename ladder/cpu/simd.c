/* simd: sixteen sums in the lanes of one vector.
 *
 * Removes: instructions: one addition adds sixteen values (in one register or in several, depending on the processor).
 * Left: the chain again, now of vectors: each addition still waits for the one before it.
 * Look at: the gain over accumulators, and how it depends on the width of the processor's registers: if they are
 * narrow, the vector is several registers, which are several chains. */
#include "step.h"

STEP(simd) {
    vector sum = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum += load_vector(x + i);
    value total = sum_of_lanes(sum);
    for (; i < n; i++)
        total += x[i];
    *out = total;
}
