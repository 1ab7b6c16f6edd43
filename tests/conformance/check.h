/* Runs one case - a combination on a layout with a pattern of data - on a device and compares everything that it wrote
 * with the reference, and everything that it must not write with what was there. */
#ifndef TALLY_CONFORMANCE_CHECK_H
#define TALLY_CONFORMANCE_CHECK_H

#include "../oracle/reference.h"
#include "combination.h"
#include "data.h"
#include "layout.h"
#include "memory.h"

typedef struct checker {
    tally_device *device;
    guarded x, y, index, initial, out, keys_out;
    exact_sum *exact;
    uint64_t cases, elements, failures;
    unsigned failures_shown, most_shown;
} checker;

void checker_open(checker *c, tally_device *device);
void checker_release(checker *c);

/* Prints one failure, up to a limit; counts all. */
void checker_fail(checker *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The way the input is passed: at once by tally_run, or in random pieces by tally_push and tally_finish (forward forms
 * over all values, or along an axis with outer = 1). */
typedef enum delivery { AT_ONCE, IN_PIECES } delivery;

/* true when the case passed. The plan is one for the combination. */
bool check_case(checker *c, const combination *what, tally_plan *plan, const layout *l, pattern p, delivery how,
                uint64_t seed);

#endif
