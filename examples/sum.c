/* The first program: a fast sum and a correctly rounded one. */
#include <stdio.h>
#include <tally/tally.h>

int main(void) {
    const double x[] = {1.0, 1e16, -1e16};
    double fast = 0, exact = 0;
    if (tally_sum_f64(x, 3, &fast) != TALLY_OK || tally_sum_exact_f64(x, 3, &exact) != TALLY_OK)
        return fprintf(stderr, "%s\n", tally_last_error()), 1;
    printf("fast %g, exact %g\n", fast, exact);
    return 0;
}
