/* Shared by the longer examples, so that they show little else than their subject: an error ends the program. */
#ifndef TALLY_EXAMPLE_H
#define TALLY_EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <tally/tally.h>

static inline void must(tally_status status) {
    if (status != TALLY_OK) {
        fprintf(stderr, "%s: %s\n", tally_status_name(status), tally_last_error());
        exit(1);
    }
}

static inline void print_f32(const char *name, const float *x, size_t n) {
    printf("%-12s", name);
    for (size_t i = 0; i < n; i++)
        printf(" %g", (double)x[i]);
    printf("\n");
}

#endif
