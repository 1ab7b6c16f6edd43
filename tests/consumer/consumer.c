/* The smallest user of the installed library: exits with 0 if a sum comes out right. */
#include <stdio.h>
#include <string.h>

#include <tally/tally.h>

int main(void) {
    const double x[] = {1e16, 1.0, -1e16};
    double sum = 0;
    if (tally_sum_exact_f64(x, 3, &sum) != TALLY_OK || sum != 1.0) {
        fprintf(stderr, "consumer: %g, %s\n", sum, tally_last_error());
        return 1;
    }
    return strcmp(tally_version(), "0.1.0") != 0;
}
