/* serial: one loop, one accumulator.
 *
 * Removes: nothing; the others are compared with it.
 * Left: every addition waits for the one before it. A float addition takes about four cycles, so a core that could do
 * dozens of additions in that time does one.
 * Look at: GB/s, far below the roof and the same for every size: the chain of additions is the limit, not memory. */
#include "step.h"

STEP(serial) {
    value sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *out = sum;
}
