/* accumulators: eight sums of every eighth value, added at the end.
 *
 * Removes: the wait. The eight chains do not depend on each other, so the core can start an addition in every cycle
 * while earlier ones are under way.
 * Left: each instruction adds one value, where a vector register holds up to sixteen.
 * Look at: the speed-up over serial: about the latency of an addition times the additions per cycle, unless memory is
 * the limit. */
#include "step.h"

STEP(accumulators) {
    value a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        a += x[i], b += x[i + 1], c += x[i + 2], d += x[i + 3];
        e += x[i + 4], f += x[i + 5], g += x[i + 6], h += x[i + 7];
    }
    for (; i < n; i++)
        a += x[i];
    *out = ((a + b) + (c + d)) + ((e + f) + (g + h));
}
