/* scan-serial: one loop that writes every running sum.
 *
 * Removes: nothing; the other scans are compared with it.
 * Left: the chain of additions, which here seems part of the task: every result needs the one before it.
 * Look at: nearly the speed of the serial sum: writing the results costs nothing while the additions are the limit. */
#include "step.h"

STEP(scan_serial) {
    value sum = 0;
    for (size_t i = 0; i < n; i++)
        out[i] = sum += x[i];
}
